"""What is measured of workers for alerts."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.policy import Policy
from recoup.signals import Reading, Signal, Source

Q = load("recoup.worker", "worker.sql")
MAX_CHARS = 300  # of a failure, in a notice


def _workers(tx: Transaction, _policy: Policy) -> Iterator[Reading]:
    lost, last = tx.execute(Q["lately_lost"]).fetchone() or (0, None)
    yield Reading(signal="workers_lost", value=lost, facts={"last": last} if last else {})
    for duty, failing, failure in tx.execute(Q["failing_duties"]):
        facts = {"last_failure": str(failure)[:MAX_CHARS]} if failing and failure else {}
        yield Reading(signal="duties_failing", key=str(duty), value=failing, facts=facts)


WORKERS = Source(
    signals=(
        Signal(name="workers_lost", unit="count", description="workers that fell silent within the last hour"),
        Signal(name="duties_failing", unit="count", description="workers whose last run of a duty failed"),
    ),
    measure=_workers,
)
