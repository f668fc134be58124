"""The signals of errors that are metrics: rates and counts by table, and what is parked or blocks overall."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.errors.metrics import METRICS, Counts, measured, rate
from recoup.policy import Policy
from recoup.signals import Reading, Signal, Source

PARKED_PER_DAY = Signal(
    name="parked_per_day", unit="count", description="Errors of a table that came to be parked within 24 hours."
)
PARKED_ERRORS = Signal(name="parked_errors", unit="count", description="Parked and escalated errors, of all tables.")
BLOCKING_ERRORS = Signal(
    name="blocking_errors", unit="count", description="Errors that block their entity, of all tables."
)
NO_PROCESSED_COUNT = Signal(
    name="no_processed_count",
    unit="count",
    description="1 where errors of a table were recorded and no processed count followed for an hour, else 0.",
)
RATES = tuple(
    Signal(name=one.name, unit="share", description=f"Within 24 hours: {one.part}; divided by {one.of}.")
    for one in METRICS
)


def readings(tx: Transaction, _: Policy) -> Iterator[Reading]:
    """All of them, read together."""
    found = measured(tx)[1]
    for table, counts in found.items():
        yield from _of_table(table, counts)
    total = sum(found.values(), start=Counts())
    yield Reading(signal=PARKED_ERRORS.name, value=total.parked_now)
    yield Reading(signal=BLOCKING_ERRORS.name, value=total.blocking_now)


def _of_table(table: str, counts: Counts) -> Iterator[Reading]:
    for metric in METRICS:
        found = rate(metric, counts)
        facts = {"part": round(found.part, 2), "of": round(found.of), "next": f"recoup errors stats --table {table}"}
        yield Reading(signal=metric.name, value=found.value, key=table, sample=int(found.of), facts=facts)
    queue = {"next": f"recoup errors list --status PARKED --table {table}"}
    yield Reading(signal=PARKED_PER_DAY.name, value=counts.parked, key=table, facts=queue)
    report = {"next": f"recoup errors processed {table} COUNT"}
    yield Reading(signal=NO_PROCESSED_COUNT.name, value=counts.uncounted, key=table, facts=report)


SIGNALS = Source(signals=(*RATES, PARKED_PER_DAY, PARKED_ERRORS, BLOCKING_ERRORS, NO_PROCESSED_COUNT), measure=readings)
