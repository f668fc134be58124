"""Metrics of errors: what happened within the last 24 hours, by table and overall, and what there is now.

Rates are over the events of the window, whether their errors are still live or archived. A rate whose denominator is 0
has no value: nothing was measured, which is not the same as 0 %. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL, Composed, Identifier, Literal

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.listing import visible_tables
from recoup.signals import OVERALL
from recoup.worker.duty import seconds

Q = load("recoup.errors", "metrics.sql")
WINDOW = timedelta(hours=24)
# The average use of time to live is that of all errors of a table. Of a table with more pages it is that of some pages:
# some 20,000 errors, whose average is off by about one hundredth at most.
MAX_PAGES, SAMPLED_PAGES = 3000, 1000
# What recoup.event_flags has of an event.
RECORDED = 1
FLAGS = {
    RECORDED: "recorded", 2: "ignored", 4: "parked", 8: "ended", 16: "exhausted", 32: "left_parking", 64: "left_raised",
}  # fmt: skip
UNCOUNTED_AFTER = timedelta(hours=1)  # errors without a processed count for so long


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the metrics of a table are computed from. Those of several tables add up."""

    # Within the window.
    recorded: int = 0
    ignored: int = 0  # of those, with the disposition IGNORE
    parked: int = 0  # came to be parked
    ended: int = 0  # their retries ended
    exhausted: int = 0  # of those, because no retry was left
    left_parking: int = 0  # were parked, and are not any more
    left_raised: int = 0  # of those, at level 2 or higher, or escalated by a person
    processed: float | None = None  # units of work; None: nothing was reported
    rated: int = 0  # recorded in a table whose hub reports
    stale: float = 0.0  # processed units of tables whose hubs report no more
    uncounted: int = 0  # tables with errors that no processed count followed for an hour
    # Now.
    parked_now: int = 0
    raised_now: int = 0  # of those, at level 2 or higher, or escalated by a person
    blocking_now: int = 0  # to be retried or parked, in a table that blocks
    # Live, or closed within the window, as far as they expire.
    aged: int = 0
    used: float = 0.0  # shares of their time that were used, added up

    def __add__(self, other: Counts) -> Counts:
        return Counts(**{field.name: _added(self, other, field.name) for field in fields(self)})


def _added(one: Counts, other: Counts, name: str) -> Any:
    given = [value for value in (getattr(one, name), getattr(other, name)) if value is not None]
    return sum(given) if given else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share, and what it was computed from."""

    value: float | None  # None: there was nothing to compute it from
    part: float
    of: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A rate: which counts it is made of, in words and as a function."""

    name: str
    part: str
    of: str
    threshold: float  # of the documents; the alerts of the policy decide
    counted: Callable[[Counts], tuple[float, float]]


METRICS = (
    Metric(
        name="error_rate",
        part="errors recorded, those that are ignored included",
        of="units of work processed, as the hubs reported",
        threshold=0.05,
        counted=lambda of: (of.rated, (of.processed or 0) - of.stale),
    ),
    Metric(
        name="park_rate",
        part="errors that came to be parked",
        of="errors recorded",
        threshold=0.20,
        counted=lambda of: (of.parked, of.recorded),
    ),
    Metric(
        name="retry_exhaustion_rate",
        part="errors whose retries ended because none was left",
        of="errors whose retries ended",
        threshold=0.30,
        counted=lambda of: (of.exhausted, of.ended),
    ),
    Metric(
        name="average_ttl_utilization",
        part="age of each error, when it was closed or now, divided by its time to live, added up",
        of="errors that are live, or were closed in the window, and that expire",
        threshold=0.80,
        counted=lambda of: (of.used, of.aged),
    ),
    Metric(
        name="escalation_rate",
        part="of these, errors at level 2 or higher, or escalated by a person",
        of="errors that were parked at any time in the window",
        threshold=0.10,
        counted=lambda of: (of.raised_now + of.left_raised, of.parked_now + of.left_parking),
    ),
)


def rate(metric: Metric, of: Counts) -> Rate:
    """One rate of one table."""
    part, whole = metric.counted(of)
    return Rate(value=part / whole if whole else None, part=part, of=whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMetrics:
    """The metrics of a table, or of all."""

    error_table: str
    error_rate: Rate
    park_rate: Rate
    retry_exhaustion_rate: Rate
    average_ttl_utilization: Rate
    escalation_rate: Rate
    parked_per_day: int
    parked_errors: int
    blocking_errors: int
    recorded: int
    ignored: int  # of those recorded
    processed: int | None
    no_processed_count: bool  # errors were recorded, and for an hour no processed count came


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Metrics over a window that ends now."""

    since: datetime
    until: datetime
    overall: TableMetrics
    tables: tuple[TableMetrics, ...]


def metrics(tx: Transaction, *, tables: Sequence[str] | None = None) -> Metrics:
    """The metrics of every table, or of some, and of these together. Reads every live error once, from an index."""
    until, found = measured(tx, tables=tables)
    return Metrics(
        since=until - WINDOW,
        until=until,
        overall=table_metrics(OVERALL, sum(found.values(), start=Counts())),
        tables=tuple(table_metrics(name, counts) for name, counts in found.items()),
    )


def table_metrics(name: str, counts: Counts) -> TableMetrics:
    """The metrics that counts give."""
    return TableMetrics(
        error_table=name,
        **{metric.name: rate(metric, counts) for metric in METRICS},
        parked_per_day=counts.parked,
        parked_errors=counts.parked_now,
        blocking_errors=counts.blocking_now,
        recorded=counts.recorded,
        ignored=counts.ignored,
        processed=None if counts.processed is None else round(counts.processed),
        no_processed_count=counts.uncounted > 0,
    )


def tally(tx: Transaction) -> int:
    """Count what has happened since the last time, as a worker. Returns how many events."""
    (counted,) = tx.execute(Q["tally"]).fetchone() or (0,)
    return int(counted)


def tally_lag(tx: Transaction) -> float | None:
    """How long ago events should have been counted."""
    return seconds(tx, Q["tally_lag"])


def measured(tx: Transaction, *, tables: Sequence[str] | None = None) -> tuple[datetime, dict[str, Counts]]:
    """The counts of each table, and the time at which they were taken."""
    names = visible_tables(tx, tables or ())
    (until, blocking) = tx.execute(Q["now"]).fetchone() or (None, ())
    given = {"until": until, "since": until - WINDOW, "hour_ago": until - UNCOUNTED_AFTER}
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    queries: list[SQL | Composed] = [Q[name] for name in ("again", "closed", "processed")]
    with tx.cursor(row_factory=dict_row) as cursor:
        # Not prepared: planned for this window, which is a small part of the log, or all of it.
        for row in cursor.execute(*_happened(tx, given), prepare=False):
            _merge_flagged(found.get(row["error_table"], {}), **row)
        for query in (*queries, *_gauges(tx, names)):
            for row in cursor.execute(query, given, prepare=False):
                _merge(found.get(row.pop("error_table"), {}), row)
        firsts = {name: counted.pop("first_from") for name, counted in found.items() if "first_from" in counted}
        if firsts:  # on the first day of a hub that reports
            new = {**given, "tables": list(firsts), "firsts": list(firsts.values())}
            for row in cursor.execute(Q["unrated"], new, prepare=False):
                _merge(found[row.pop("error_table")], row)
    pending = _pending(tx, [name for name in names if name in blocking])
    return until, {name: _counts(counted, pending.get(name)) for name, counted in found.items()}


def _happened(tx: Transaction, given: Mapping[str, Any]) -> tuple[SQL, dict[str, Any]]:
    """The query for what happened: from counts as far as a worker has counted, and else from every event."""
    mark = tx.execute(Q["mark"], given).fetchone()
    if mark is None:
        return Q["happened"], dict(given)
    return Q["tallied"], {**given, **dict(zip(("counted_before", "incarnation", "first_slot"), mark, strict=True))}


def _merge_flagged(
    into: dict[str, Any], *, error_table: str, flags: int, events: int, last_old: datetime | None
) -> None:
    """Events with the same flags into the counts of their table."""
    for bit, name in FLAGS.items():
        if flags & bit:
            into[name] = into.get(name, 0) + events
    if flags & RECORDED and last_old is not None:
        into["last_old"] = max(last_old, into.get("last_old", last_old))


def _pending(tx: Transaction, tables: Sequence[str]) -> dict[str, int]:
    """How many errors of these tables are to be retried."""
    if not tables:
        return {}
    counts = SQL(", ").join(Q["pending_of"].format(name=Literal(name)) for name in tables)
    ((found,),) = tx.execute(Q["pending"].format(counts=counts), prepare=False).fetchall()
    return dict(zip(tables, found, strict=True))


def _gauges(tx: Transaction, tables: Sequence[str]) -> list[Composed]:
    """One statement for all tables. Of a large one, the average age is that of a sample."""
    parts = []
    for name, pages in tx.execute(Q["pages"], {"tables": list(tables)}):
        share = min(1.0, SAMPLED_PAGES / max(pages, 1)) if pages > MAX_PAGES else 1.0
        sample = Q["sample"].format(percent=Literal(100 * share)) if share < 1 else SQL("")
        table = Identifier(*name.split("."))
        parts.append(Q["gauges"].format(name=Literal(name), table=table, share=Literal(share), sample=sample))
    return [SQL(" union all ").join(parts)] if parts else []


def _merge(into: dict[str, Any], row: Mapping[str, Any]) -> None:
    """The results of one query into those of a table. Live and closed errors are both counted by age: they add up."""
    for name, value in row.items():
        if value is not None:
            into[name] = into[name] + value if name in into else value


def _counts(found: Mapping[str, Any], pending: int | None) -> Counts:
    """The counts of a table, from what the queries found. ``pending``: to be retried, if the table blocks."""
    there = {name: value for name, value in found.items() if value is not None}
    last_old, last_to = there.pop("last_old", None), there.pop("last_to", None)
    unrated = there.pop("unrated", 0)
    counts = Counts(**there)
    uncounted = last_old is not None and (last_to is None or last_old > last_to)
    # Errors of hours whose processed units nobody reported are not a share of those before: such a rate would rise.
    is_rated = counts.processed is not None and not uncounted
    return replace(
        counts,
        rated=counts.recorded - unrated if is_rated else 0,
        stale=0.0 if is_rated else counts.processed or 0.0,
        uncounted=int(uncounted),
        blocking_now=counts.parked_now + pending if pending is not None else 0,
    )
