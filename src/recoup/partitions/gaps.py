"""Gaps: partitions that consumers cannot read, and why. Nobody may take a missing day for a day without data.

Four kinds: never enqueued, pending, failed, terminal. Never enqueued is what has no row, and is expected: by the
registry, from its start_date to the last day that is ready; or by the range that was asked for, for each customer that
its source knows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.partitions import registry
from recoup.partitions.identity import Partition
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.selecting import Days, Selection, matching

Q = load("recoup.partitions", "gaps.sql")


class Kind(StrEnum):
    NEVER_ENQUEUED = "never_enqueued"  # expected, and without a row
    PENDING = "pending"  # it waits for its first verdict, or for another one
    FAILED = "failed"  # rejected; it is retried, or waits for a person
    TERMINAL = "terminal"  # given up


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A partition that cannot be read."""

    source: str
    customer_id: str
    query_name: str
    logical_date: date
    kind: str
    next_run_at: datetime | None = None
    hold: str | None = None
    terminal_causes: list[str] | None = None
    error_message: str | None = None

    @property
    def partition(self) -> Partition:
        return Partition(self.source, self.customer_id, self.query_name, self.logical_date)


class _Expected(NamedTuple):
    source: str
    query_name: str
    customer_id: str
    first: date
    last: date


def gaps(
    tx: Transaction, selection: Selection, *, kinds: Sequence[Kind] = tuple(Kind), limit: int = 1000
) -> list[Gap]:  # fmt: skip
    """Partitions of a selection that cannot be read, in the order of their keys. Changes nothing."""
    found: list[Gap] = []
    if set(kinds) - {Kind.NEVER_ENQUEUED}:
        with tx.cursor(row_factory=class_row(Gap)) as cursor:
            given = {**selection.given, "kinds": [kind.value for kind in kinds], "limit": limit}
            found += cursor.execute(matching("known", Q), given, prepare=False).fetchall()
    if Kind.NEVER_ENQUEUED in kinds and _may_be_unknown(selection):
        found += _never_enqueued(tx, selection, limit)
    return sorted(found, key=lambda gap: (gap.source, gap.query_name, gap.customer_id, gap.logical_date))[:limit]


def counted(found: Iterable[Gap]) -> dict[str, int]:
    """How many gaps of each kind, all four."""
    counts = Counter(gap.kind for gap in found)
    return {kind.value: counts[kind] for kind in Kind}


def _may_be_unknown(selection: Selection) -> bool:
    """Whether a partition without a row can match: it has no status, no verdict and no backfill."""
    return replace(selection, sources=(), customer_ids=(), query_names=(), logical_dates=()).is_empty


def _never_enqueued(tx: Transaction, selection: Selection, limit: int) -> list[Gap]:
    expected = list(_expected(tx, selection))
    given = {
        "sources": [one.source for one in expected], "queries": [one.query_name for one in expected],
        "customers": [one.customer_id for one in expected], "firsts": [one.first for one in expected],
        "lasts": [one.last for one in expected], "limit": limit,
    }  # fmt: skip
    rows = tx.execute(Q["never_enqueued"], given).fetchall() if expected else []
    return [
        Gap(source=source, customer_id=customer, query_name=query, logical_date=day, kind=Kind.NEVER_ENQUEUED)
        for source, customer, query, day in rows
    ]


def _expected(tx: Transaction, selection: Selection) -> Iterator[_Expected]:
    """What the registry expects, or the range that was asked for, for the customers that are known or asked for."""
    policy = registry.active(tx)
    (now,) = tx.execute("select recoup.now()").fetchone() or (None,)
    assert isinstance(now, datetime)
    queries = {(source, name) for source, name, _ in policy.queries}
    queries |= set(tx.execute(Q["queries"]).fetchall())
    queries = {one for one in queries if _matches(one, selection)}
    # Customers that are known count only in a range for all of them: finding them reads every partition of a query.
    known = _customers(tx, queries) if selection.logical_dates and not selection.customer_ids else {}
    for source, name in sorted(queries):
        query = policy.query(source, name)
        registered = set() if query is None else set(query.customers)
        # Without a range it is the registry that expects: its customers, and no others.
        expected = registered | known.get((source, name), set()) if selection.logical_dates else registered
        asked = set(selection.customer_ids)
        customers = sorted((asked if selection.logical_dates else asked & expected) if asked else expected)
        for days in _ranges(policy, source, name, selection, now):
            for customer in customers:
                yield _Expected(source, name, customer, *days)


def _matches(query: tuple[str, str], selection: Selection) -> bool:
    source, name = query
    is_source = not selection.sources or source in selection.sources
    return is_source and (not selection.query_names or name in selection.query_names)


def _customers(tx: Transaction, queries: Iterable[tuple[str, str]]) -> dict[tuple[str, str], set[str]]:
    chosen = list(queries)
    given = {"sources": [one[0] for one in chosen], "queries": [one[1] for one in chosen]}
    found: dict[tuple[str, str], set[str]] = {}
    for source, name, customer in tx.execute(Q["customers"], given):
        found.setdefault((source, name), set()).add(customer)
    return found


def _ranges(
    policy: PartitionPolicy, source: str, name: str, selection: Selection, now: datetime
) -> Iterator[tuple[date, date]]:
    """The days that are expected: those asked for, as far as they are ready; else from start_date on."""
    query, last = policy.query(source, name), registry.last_ready(policy, source, name, now)
    start = None if query is None else query.start_date
    for asked in selection.logical_dates or (Days(None, None),):
        first = asked.first or start
        until = min(asked.last or last, last)
        if first is not None and first <= until:
            yield first, until
