"""What is measured of Gate Zero for alerts."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.gate import batches
from recoup.gate.policy import GatePolicy
from recoup.policy import Policy
from recoup.signals import Reading, Signal, Source

MAX_COUNTED = 1000


def _overdue(tx: Transaction, policy: Policy) -> Iterator[Reading]:
    found = batches.overdue(tx, days=policy[GatePolicy].batch_open_alert_days, limit=MAX_COUNTED)
    oldest = {"oldest": found[0][0], "imported_at": found[0][1].isoformat()} if found else {}
    yield Reading(signal="batches_overdue", value=len(found), facts=oldest)


OVERDUE = Source(
    signals=(
        Signal(name="batches_overdue", unit="count", description="batches that were not declared complete in time"),
    ),
    measure=_overdue,
)
