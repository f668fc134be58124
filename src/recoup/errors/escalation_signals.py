"""Signals of escalation: reviews that are overdue, retries that nobody takes, blocking errors that expired."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.policy import MAX_TIER, ErrorPolicy
from recoup.policy import Policy
from recoup.signals import Reading, Signal, Source

Q = load("recoup.errors", "escalation_signals.sql")
SLA_BREACHED = Signal(
    name="sla_breached", unit="count", description="parked errors of a table whose review is overdue in their tier"
)
RETRIES_NOT_TAKEN = Signal(
    name="retries_not_taken",
    unit="count",
    description="retries of a table that have been due for errors.untaken_after_s, and that nobody claims",
)
EXPIRED_BLOCKING = Signal(
    name="expired_blocking",
    unit="count",
    description="errors of a table that expired within 24 hours while they blocked their entity",
)
QUERIES = {SLA_BREACHED.name: "overdue", RETRIES_NOT_TAKEN.name: "untaken", EXPIRED_BLOCKING.name: "expired_blocking"}


def _measure(tx: Transaction, policy: Policy) -> Iterator[Reading]:
    errors = policy[ErrorPolicy]
    tables = [name for name, table in errors.tables.items() if not table.insert_only]
    for signal, query in QUERIES.items():
        rows = tx.execute(Q[query], {"after_s": errors.untaken_after_s})
        found = {str(table): (int(count), since) for table, count, since in rows}
        for table in tables:
            count, since = found.get(table, (0, None))
            owner = errors.owner(table, MAX_TIER if signal == SLA_BREACHED.name else 1)
            facts = {} if since is None else {"oldest": since.isoformat(), "owner": owner}
            yield Reading(signal=signal, value=count, key=table, facts=facts)


ESCALATION = Source(signals=(SLA_BREACHED, RETRIES_NOT_TAKEN, EXPIRED_BLOCKING), measure=_measure)
