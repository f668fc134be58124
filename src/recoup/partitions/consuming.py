"""What consumers read: the current data of partitions that succeeded, and nothing else.

The files of a partition are those of its current run. Other folders of the raw sink hold runs that were rejected,
superseded or have no verdict yet, so nobody should search it by a pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.partitions import sinks
from recoup.partitions.identity import Partition
from recoup.partitions.selecting import Selection, matching
from recoup.partitions.sink import Sink
from recoup.partitions.vocabulary import RunStatus
from recoup.refusals import InputRefused, LawRefused
from recoup.settings import Settings

if TYPE_CHECKING:  # an extra
    import pyarrow  # type: ignore[import-untyped,unused-ignore]

Q = load("recoup.partitions", "consuming.sql")
KEY = ("source", "customer_id", "query_name", "logical_date")
MAX_PARTITIONS = 1_000_000
EVENT = "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """The current data of a partition: its run, and where in the raw sink that is."""

    source: str
    customer_id: str
    query_name: str
    logical_date: date
    partition_id: int
    run_id: UUID
    sink_id: UUID
    location: str  # in the sink
    digest: str  # of its manifest
    format: str  # parquet or jsonl
    rows: int
    bytes: int
    published_at: datetime
    accepted_at: datetime

    @property
    def partition(self) -> Partition:
        return Partition(self.source, self.customer_id, self.query_name, self.logical_date)


def current(tx: Transaction, selection: Selection, *, limit: int = MAX_PARTITIONS) -> list[Current]:
    """The current runs of partitions that succeeded, from one snapshot."""
    with tx.cursor(row_factory=class_row(Current)) as cursor:
        return cursor.execute(matching("current", Q), {**selection.given, "limit": limit}, prepare=False).fetchall()


def accepted(tx: Transaction, selection: Selection, runs: Sequence[UUID]) -> list[Current]:
    """Those of these runs that are the current ones of partitions that match."""
    with tx.cursor(row_factory=class_row(Current)) as cursor:
        return cursor.execute(
            matching("accepted", Q), {**selection.given, "runs": list(runs)}, prepare=False
        ).fetchall()  # fmt: skip


def sink(settings: Settings) -> Sink:
    """The raw sink of this machine, as the settings have it."""
    return Sink.open(sinks.folder(settings))


def files(sink: Sink, one: Current) -> tuple[Path, ...]:
    """The files of a current run, in order. Refused when they are not there, or not those that were accepted."""
    if one.sink_id != sink.sink_id:
        raise InputRefused(
            "sink_of_another",
            f"The data of {one.partition} is in the sink {one.sink_id}, and {sink.root} is {sink.sink_id}.",
            "Set RECOUP_SINK to the folder of that sink, or mount it.",
            partition=str(one.partition),
        )
    found = sink.published(one.partition, one.run_id)
    if found is None or found.digest != one.digest:
        raise LawRefused(
            "raw_missing" if found is None else "raw_changed",
            f"The current run of {one.partition} {'is not' if found is None else 'was changed'} in the raw sink"
            f" {sink.root}.",
            "See what else differs: recoup state verify; to extract it again: recoup state reprocess --re-extract",
            partition=str(one.partition), run_id=str(one.run_id),
        )  # fmt: skip
    return sink.files(found)


def table(sink: Sink, found: Sequence[Current], *, with_key: bool = True) -> pyarrow.Table:
    """The rows of partitions as one Arrow table; with the columns of their keys, where the data has none so named."""
    pyarrow = _arrow()
    parts = [_read(files(sink, one), one, with_key=with_key) for one in found]
    if not parts:
        return pyarrow.table({})
    return pyarrow.concat_tables(parts, promote_options="default")


def _read(paths: Sequence[Path], one: Current, *, with_key: bool) -> pyarrow.Table:
    pyarrow = _arrow()
    from pyarrow import json, parquet

    # Not as a dataset: that would take key=value in the path for columns, with types of its own.
    read = [parquet.ParquetFile(path).read() if one.format == "parquet" else json.read_json(path) for path in paths]
    found = pyarrow.concat_tables(read, promote_options="default") if read else pyarrow.table({})
    values: dict[str, Any] = dict(zip(KEY, one.partition, strict=True)) if with_key else {}
    for name, value in values.items():
        if name not in found.column_names:
            kind = pyarrow.date32() if name == "logical_date" else pyarrow.string()
            found = found.append_column(name, pyarrow.array([value] * found.num_rows, kind))
    return found


def _arrow() -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise InputRefused(
            "partitions_extra_missing",
            "To read partitions as Arrow tables needs the extra `partitions`.",
            "Install it: pip install 'recoup[partitions]'; or use the paths: recoup state paths",
        ) from error
    return pyarrow


class Kind(StrEnum):
    """How the raw sink differs from the database."""

    WITHOUT_VERDICT = "without_verdict"  # published, and not judged; or its dispatch was lost
    MISSING = "missing"  # the database has it, the sink has not
    CHANGED = "changed"  # not what was published
    FOREIGN = "foreign"  # the sink has it, the database does not know it


@dataclass(frozen=True, slots=True, kw_only=True)
class Differs:
    """A run, or something else in the sink, that is not as the database says."""

    kind: str
    location: str
    run_id: UUID | None
    status: str | None  # of the run
    message: str


def verify(transaction: Callable[[], AbstractContextManager[Transaction]], sink: Sink) -> Iterator[Differs]:
    """Everything in which the raw sink differs from the database, and what has no verdict. Reads all data.

    No transaction is open meanwhile, which may be long. What is published meanwhile is no difference.
    """
    with transaction() as tx:
        rows = [row for row in tx.execute(Q["published"]) if row[9] == sink.sink_id]
    statuses = {row[4]: row[6] for row in rows}
    for *_, run_id, _digest, status, location, at, _sink in rows:
        if status in ("published", "lost"):
            message = f"Published at {at:%Y-%m-%d %H:%M}Z, and without a verdict."
            yield _differs(Kind.WITHOUT_VERDICT, location, run_id, status, message)
    foreign = []
    for found in sink.verify((Partition(*row[:4]), row[4], row[5]) for row in rows):
        if found.kind.value == Kind.FOREIGN:
            foreign.append(found)
        else:
            yield _differs(found.kind, found.location, found.run_id, statuses[found.run_id], found.message)
    given = {"runs": [one.run_id for one in foreign if one.run_id is not None], "sink": sink.sink_id}
    with transaction() as tx:
        known = {run_id: (status, meanwhile) for run_id, status, meanwhile in tx.execute(Q["statuses"], given)}
    for one in foreign:
        status, meanwhile = known.get(one.run_id, (None, False))
        if status is None:
            yield _differs(Kind.FOREIGN, one.location, one.run_id, None, one.message)
        elif not meanwhile:
            message = (
                "Its run is open: it is being published, or its worker is gone."
                if status == RunStatus.OPEN
                # The database knows a run whose lease expired before it could report what it published.
                else "Published after its lease had expired: its run does not count."
            )
            yield _differs(Kind.WITHOUT_VERDICT, one.location, one.run_id, status, message)


def _differs(kind: str, location: str, run_id: UUID | None, status: str | None, message: str) -> Differs:
    return Differs(kind=kind, location=location, run_id=run_id, status=status, message=message)
