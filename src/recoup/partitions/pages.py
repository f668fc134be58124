"""What pages show of partitions: a grid of days and customers, a list in steps, one partition. All of it is bounded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from psycopg.rows import class_row, dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.partitions import gaps, registry
from recoup.partitions.identity import Partition
from recoup.partitions.listing import Listed, Override, status_text, with_tuple
from recoup.partitions.marks import Mark, mark
from recoup.partitions.selecting import Q as SELECTING
from recoup.partitions.selecting import Selection
from recoup.partitions.vocabulary import PartitionStatus
from recoup.refusals import InputRefused

Q = load("recoup.partitions", "pages.sql")
DAY = timedelta(days=1)
MAX_DAYS = 92  # of one grid: a quarter
DAYS = 30  # of a grid by default
MAX_CUSTOMERS = 60  # of one page
STEPS = 1_000  # customers of a source that one page passes
WINDOW = 20_000  # partitions that one page searches


@dataclass(frozen=True, slots=True, kw_only=True)
class Customers:
    """Some customers of a query, in order, and where the next ones begin."""

    names: Sequence[str]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A day of a customer, in a grid."""

    customer_id: str
    logical_date: date
    partition_id: int
    status: str
    schedule: str
    hold: str | None
    terminal_causes: tuple[str, ...] | None
    attempt_count: int

    @property
    def mark(self) -> Mark:
        return mark(self.status, self.schedule)

    @property
    def status_text(self) -> str:
        return status_text(self.status, self.schedule, hold=self.hold, causes=self.terminal_causes or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """A page of a search. ``next``: the last partition that was searched, if more follow."""

    partitions: list[Listed]
    next: Partition | None
    is_cut: bool  # the search ended before the page was full


def queries(tx: Transaction) -> list[tuple[str, str]]:
    """The queries that are registered or have partitions, by source; for a hub, those of its own sources."""
    known = {(source, name) for source, name in tx.execute(gaps.Q["queries"]).fetchall()}
    known |= {(source, name) for source, name, _ in registry.active(tx).queries}
    (limited,) = tx.execute(Q["limited_to"]).fetchone() or (None,)
    return sorted(one for one in known if limited is None or one[0] in limited)


def days(
    tx: Transaction, source: str, query: str, first: date | None = None, last: date | None = None
) -> tuple[date, date]:
    """The days that a grid shows: those asked for, no more than it can show; else the last ones that there are."""
    if last is None:
        last = first + (DAYS - 1) * DAY if first is not None else _last_day(tx, source, query)
    if first is None:
        first = _back(last, DAYS - 1)
    if first > last:
        raise InputRefused("range_empty", f"{first} is after {last}.", "Give the earlier day first.")
    if (last - first).days >= MAX_DAYS:
        raise InputRefused(
            "grid_too_long", f"{first} to {last} are more than {MAX_DAYS} days.", f"Show {MAX_DAYS} days at once."
        )
    return first, last


def shifted(first: date, last: date, by: int) -> tuple[date, date] | None:
    """As many days before (-1) or after (1) these; None where the calendar ends."""
    length = (last - first + DAY) * by
    try:
        return first + length, last + length
    except OverflowError:
        return None


def customers(
    tx: Transaction, source: str, query: str, *, after: str = "", limit: int = MAX_CUSTOMERS, steps: int = STEPS
) -> Customers:
    """The next customers of a query: that have partitions of it, or that the policy names."""
    registered = registry.active(tx).query(source, query)
    given = {
        "source": source, "query": query, "after": after, "limit": limit + 1, "steps": steps,
        "registered": [] if registered is None else registered.customers,
    }  # fmt: skip
    rows = tx.execute(Q["customers"], given, prepare=False).fetchall()
    names = [row[0] for row in rows if row[0] is not None]
    if len(names) > limit:
        return Customers(names=names[:limit], next=names[limit - 1])
    return Customers(names=names, next=rows[0][1] if rows else None)


def cells(
    tx: Transaction, source: str, query: str, names: Sequence[str], first: date, last: date
) -> Mapping[tuple[str, date], Cell]:
    """The partitions of some days and customers of a query. What is not there was never enqueued."""
    given = {
        "source": source, "query": query, "customers": list(names), "first": first, "last": last, "days": MAX_DAYS,
    }  # fmt: skip
    with tx.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(Q["cells"], given, prepare=False).fetchall()
    return {(row["customer_id"], row["logical_date"]): Cell(**with_tuple(row)) for row in rows}


def scan(
    tx: Transaction, selection: Selection, *, limit: int = 50, after: Partition | None = None, window: int = WINDOW
) -> Scanned:
    """Partitions that match, in the order of their keys, in steps: reads no more than a window of them."""
    source, customer, query, day = after or (None, None, None, None)
    one = selection
    given = {
        **one.given, "limit": limit, "window": window,
        "after_source": source, "after_customer": customer, "after_query": query, "after_day": day,
        "source": one.sources[0] if len(one.sources) == 1 else None,
        "customer": one.customer_ids[0] if len(one.customer_ids) == 1 else None,
        "failed": one.statuses == (PartitionStatus.FAILED,),
    }  # fmt: skip
    with tx.cursor(row_factory=dict_row) as cursor:
        query_ = Q["scan"].format(keys=Q["keys"], matching=SELECTING["matching"])
        found = [Listed(**with_tuple(row)) for row in cursor.execute(query_, given, prepare=False).fetchall()]
    if len(found) >= limit:
        return Scanned(partitions=found, next=found[-1].partition, is_cut=False)
    row = tx.execute(Q["scanned_to"].format(keys=Q["keys"]), given, prepare=False).fetchone()
    return Scanned(partitions=found, next=None if row is None else Partition(*row), is_cut=row is not None)


def key(tx: Transaction, partition_id: int) -> Partition:
    """The key of a partition, by its id."""
    row = tx.execute(Q["key"], {"partition_id": partition_id}).fetchone()
    if row is None:
        raise InputRefused("partition_unknown", f"There is no partition {partition_id}.", "Open it from a list.")
    return Partition(*row)


def overrides_of(tx: Transaction, partition_id: int, *, limit: int = 50) -> list[Override]:
    """What somebody asked for of one partition, the latest first."""
    with tx.cursor(row_factory=class_row(Override)) as cursor:
        given = {"partition_id": partition_id, "limit": limit}
        return cursor.execute(Q["overrides_of"], given, prepare=False).fetchall()


def _last_day(tx: Transaction, source: str, query: str) -> date:
    """The last day with a partition; else the last that the policy expects by now."""
    row = tx.execute(Q["last_day"], {"source": source, "query": query}).fetchone()
    if row is not None:
        return row[0]  # type: ignore[no-any-return]
    (now,) = tx.execute("select recoup.now()").fetchone() or (None,)
    assert isinstance(now, datetime)
    return registry.last_ready(registry.active(tx), source, query, now)


def _back(day: date, by: int) -> date:
    return date.fromordinal(max(day.toordinal() - by, 1))
