"""Signals of escalation: overdue reviews, errors that came to an owner, untaken retries, expired blocking errors."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.policy import ErrorPolicy
from recoup.policy import Policy
from recoup.signals import Reading, Signal, Source

Q = load("recoup.errors", "escalation_signals.sql")
MAX_OWNERS = 200
MAX_LATE = 1000  # overdue reviews of the last hour that are looked up
MAX_OWNER_BYTES = 200  # of the key of an alert
SLA_BREACHED = Signal(
    name="sla_breached",
    unit="count",
    description="parked errors of a table whose review is overdue, and for an hour those that left that tier since",
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
ESCALATED = Signal(
    name="escalated_unreviewed",
    unit="count",
    description="errors in tier 2 or 3 that nobody has reviewed since they came to this owner",
)
QUERIES = {SLA_BREACHED.name: "overdue", RETRIES_NOT_TAKEN.name: "untaken", EXPIRED_BLOCKING.name: "expired_blocking"}


def _measure(tx: Transaction, policy: Policy) -> Iterator[Reading]:
    errors = policy[ErrorPolicy]
    tables = [name for name, table in errors.tables.items() if not table.insert_only]
    for signal, query in QUERIES.items():
        rows = tx.execute(Q[query], {"after_s": errors.untaken_after_s, "most": MAX_LATE})
        found = {str(row[0]): row[1:] for row in rows}
        for table in tables:
            count, since, *owners = found.get(table, (0, None))
            facts: dict[str, Any] = {} if since is None else {"oldest": since.isoformat()}
            if since is not None:
                facts |= {"due_by": owners[0]} if owners else {"owner": errors.owner(table, 1)}
            yield Reading(signal=signal, value=int(count), key=table, facts=facts)
    yield from _raised(tx, errors)


def _raised(tx: Transaction, errors: ErrorPolicy) -> Iterator[Reading]:
    """By owner, so that one who owns several tables is notified once; those of the policy also while they have none."""
    owners = {errors.owner(table, tier) for table in errors.tables for tier in (2, 3)}
    found: dict[str, tuple[int, datetime | None]] = dict.fromkeys(sorted(owners), (0, None))
    for owner, count, since in tx.execute(Q["raised"], {"most": MAX_OWNERS}):
        if owner and owner.isprintable() and len(owner.encode()) <= MAX_OWNER_BYTES:  # a person may have written it
            found[owner] = (count, since)
    for owner, (count, since) in found.items():
        facts = {} if since is None else {"oldest": since.isoformat()}
        yield Reading(signal=ESCALATED.name, value=count, key=owner, facts=facts)


ESCALATION = Source(signals=(SLA_BREACHED, RETRIES_NOT_TAKEN, EXPIRED_BLOCKING, ESCALATED), measure=_measure)
