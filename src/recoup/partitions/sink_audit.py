"""The audit of the raw sink: what partitions point at is there, and unchanged. It reads the files themselves."""

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from psycopg.rows import class_row

from recoup.audit.invariant import NotChecked, Offending
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.partitions.identity import Partition
from recoup.partitions.sink import Sink, SinkUnavailable
from recoup.partitions.sinks import folder
from recoup.settings import Settings

Q = load("recoup.partitions", "invariants_sink.sql")


class Current(NamedTuple):
    """What a partition points at."""

    partition_id: int
    source: str
    customer_id: str
    query_name: str
    logical_date: object
    run_id: UUID
    sink_id: UUID | None
    location: str | None
    digest: str | None


def check_sink(tx: Transaction, settings: Settings) -> Iterator[Offending]:
    """Current runs that are not in the raw sink of these settings as they were published.

    Says so when some are in other sinks. A sink that is configured and cannot be used is an error.
    """
    with tx.cursor(row_factory=class_row(Current)) as cursor:
        runs = cursor.execute(Q["current_runs"]).fetchall()
    if not runs:
        return
    sink, why = _opened(settings)
    elsewhere = 0
    for run in runs:
        if sink is None or run.sink_id != sink.sink_id:
            elsewhere += 1
            continue
        partition = Partition(run.source, run.customer_id, run.query_name, run.logical_date)  # type: ignore[arg-type]
        problem = sink.check(partition, run.run_id, run.digest or "")
        if problem is not None:
            yield {
                "partition_id": run.partition_id, "partition": str(partition), "run_id": run.run_id,
                "location": run.location, "problem": problem,
            }  # fmt: skip
    if elsewhere:
        raise NotChecked(
            f"{elsewhere:,} of {len(runs):,} current runs are not in the raw sink {folder(settings)}{why}."
        )


def _opened(settings: Settings) -> tuple[Sink | None, str]:
    """The sink of this process; none, and why, if it has none."""
    try:
        return Sink.open(folder(settings)), ""
    except SinkUnavailable as problem:
        if settings.sink is not None:
            raise
        return None, f": none is configured here, and there {problem.detail.removeprefix('there ')}"
