"""What is measured of runs for alerts."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.policy import Policy
from recoup.signals import Reading, Signal, Source

MAX_COUNTED = 10_000
CRASHED = """
select count(*), max(r.finished_at)
  from (select r.finished_at from recovery.run r
         where r.status = 'crashed' and r.finished_at > (select recoup.now()) - interval '24 hours'
         order by r.finished_at desc limit %(most)s) r
"""


def _orphaned(tx: Transaction, _policy: Policy) -> Iterator[Reading]:
    count, last = tx.execute(CRASHED, {"most": MAX_COUNTED}).fetchone() or (0, None)
    yield Reading(signal="runs_orphaned", value=count, facts={"last": last.isoformat()} if last else {})


ORPHANED = Source(
    signals=(Signal(name="runs_orphaned", unit="count", description="runs that were marked crashed in 24 hours"),),
    measure=_orphaned,
)
