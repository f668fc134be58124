"""What is measured of recovery for alerts."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.policy import Policy
from recoup.recovery.checks import MAX_COUNTED, STUCK
from recoup.signals import Reading, Signal, Source


def _stuck(tx: Transaction, _policy: Policy) -> Iterator[Reading]:
    count, since = tx.execute(STUCK, {"most": MAX_COUNTED}).fetchone() or (0, None)
    yield Reading(signal="matches_stuck", value=count, facts={"since": since.isoformat()} if since else {})


STUCK_MATCHES = Source(
    signals=(Signal(name="matches_stuck", unit="count", description="matches whose evaluations fail"),),
    measure=_stuck,
)
