"""The registry: which partitions the policy expects, and when. A background task enqueues them; people may, too.

A day is expected once it has ended in the time zone of its query, and a while has passed for the source to be complete.
"""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import product
from typing import NamedTuple
from zoneinfo import ZoneInfo

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.partitions import control_plane
from recoup.partitions.control_plane import Enqueued
from recoup.partitions.identity import Partition
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.sink.paths import folders
from recoup.partitions.vocabulary import Lane
from recoup.partitions.windows import window
from recoup.policy import Policy, versions
from recoup.refusals import InputRefused
from recoup.worker.duty import MAX_BATCH, Duty

Q = load("recoup.partitions", "registry.sql")
DAY = timedelta(days=1)
RECENT_DAYS = 7  # an expected day that is older is enqueued in the lane of backfills
MAX_CHECKED = 200_000  # keys that one batch compares with what is there
MAX_ENQUEUED = 100_000  # of one call by a person or a program
CHUNK = 10_000  # of one statement


def today(policy: PartitionPolicy, source: str, query: str, now: datetime) -> date:
    """The day that it is for a query."""
    return now.astimezone(ZoneInfo(policy.zone(source, query))).date()


def last_ready(policy: PartitionPolicy, source: str, query: str, now: datetime) -> date:
    """The last day of a query that has ended, long enough ago to be enqueued."""
    return today(policy, source, query, now - timedelta(minutes=policy.ready_after(source, query))) - DAY


def registered(policy: PartitionPolicy, source: str, query: str) -> None:
    """Refuse a query that the policy does not have: nobody would extract it."""
    if policy.query(source, query) is not None:
        return
    known = [f"{one}/{name}" for one, name, _ in policy.queries]
    near = difflib.get_close_matches(f"{source}/{query}", known, n=1, cutoff=0.5)
    raise InputRefused(
        "query_unregistered",
        f"The policy has no query {query!r} of a source {source!r}.",
        (f"Did you mean {near[0]}? " if near else "")
        + f"Register it under [partitions.sources.{source}.queries.{query}]: recoup policy edit",
        source=source, query_name=query,
    )  # fmt: skip


def keys(
    policy: PartitionPolicy,
    *,
    source: str,
    query_name: str,
    days: Iterable[date],
    customers: Sequence[str] = (),
) -> list[Partition]:
    """The keys of these days and customers; without customers, those that the registry has."""
    registered(policy, source, query_name)
    query = policy.query(source, query_name)
    assert query is not None
    chosen = list(dict.fromkeys(customers)) or query.customers
    if not chosen:
        raise InputRefused(
            "customers_missing",
            f"The policy names no customers for {source}/{query_name}.",
            "Name them: --customer-id …; or in the policy, under customers.",
        )
    found: list[Partition] = []
    for day, customer in product(days, chosen):
        if len(found) == MAX_ENQUEUED:
            raise InputRefused(
                "enqueue_too_large",
                f"These are more than {MAX_ENQUEUED:,} partitions.",
                "Enqueue them in parts, or as a backfill, which leaves room for fresh ones: recoup backfill plan",
            )
        found.append(Partition(source, customer, query_name, day))
    return found


def begun(tx: Transaction, policy: PartitionPolicy, source: str, query: str, day: date) -> None:
    """Refuse a query that the policy does not have, and a day of it that has not begun."""
    registered(policy, source, query)
    (now,) = tx.execute("select recoup.now()").fetchone() or (None,)
    assert isinstance(now, datetime)
    if day > today(policy, source, query, now):
        zone = policy.zone(source, query)
        raise InputRefused(
            "day_not_begun",
            f"{day} has not begun in {zone}, the time zone of {source}/{query}.",
            "Enqueue it when it has ended. A worker does that for days from start_date on.",
            logical_date=str(day), time_zone=zone,
        )  # fmt: skip


def enqueue(
    tx: Transaction,
    policy: PartitionPolicy,
    partitions: Sequence[Partition],
    *,
    lane: Lane = Lane.FRESH,
    priority: int | None = None,
) -> list[Enqueued]:
    """Enqueue partitions of registered queries, as the control plane. Those that are known are left as they are."""
    if priority is not None and not 0 <= priority <= 9:
        raise InputRefused("priority_unusable", f"There is no priority {priority}.", "Give 0 (first) to 9 (last).")
    last: dict[tuple[str, str], date] = {}
    for one in partitions:
        folders(one)
        query_of = (one.source, one.query_name)
        last[query_of] = max(one.logical_date, last.get(query_of, one.logical_date))
    for (source, query), day in last.items():
        begun(tx, policy, source, query, day)
    found: list[Enqueued] = []
    for at in range(0, len(partitions), CHUNK):
        found += control_plane.enqueue(tx, partitions[at : at + CHUNK], lane=lane, priority=priority)
    return found


# What is expected -----------------------------------------------------------------------------------------------------


class _Range(NamedTuple):
    source: str
    query_name: str
    first: date
    last: date


@dataclass(slots=True)
class _Seen:
    """Up to which day everything that a policy expects was there. Partitions are never deleted, so it stays there."""

    version: int
    through: dict[tuple[str, str], date] = field(default_factory=dict)


_SEEN: dict[tuple[object, ...], _Seen] = {}  # by database


def enqueue_expected(tx: Transaction, policy: Policy) -> int:
    """Enqueue a batch of what the registry expects and the database has not; how many. Costs nothing when all is there.

    What was found complete is not compared again by this process, until the policy changes.
    """
    figures = policy[PartitionPolicy]
    if not any(query.start_date for _, _, query in figures.queries):
        return 0
    *place, version, now = tx.execute(Q["place"]).fetchone() or ()
    seen = _SEEN.setdefault(tuple(place), _Seen(version))
    if seen.version != version:
        _SEEN[tuple(place)] = seen = _Seen(version)
    left = MAX_CHECKED
    while left > 0 and (ranges := list(_unchecked(figures, seen, now, left))):
        missing = _missing(tx, ranges)
        if missing:
            return _enqueued(tx, figures, missing, now)
        for one in ranges:
            at = (one.source, one.query_name)
            if one.first <= _first_unseen(figures, seen, *at):
                seen.through[at] = max(one.last, seen.through.get(at, one.last))
        left -= sum(_size(figures, one) for one in ranges)
    return 0


def _first_unseen(policy: PartitionPolicy, seen: _Seen, source: str, query_name: str) -> date:
    query = policy.query(source, query_name)
    assert query is not None
    assert query.start_date is not None
    through = seen.through.get((source, query_name))
    return query.start_date if through is None else through + DAY


def _unchecked(policy: PartitionPolicy, seen: _Seen, now: datetime, most: int) -> Iterator[_Range]:
    """Days of queries that are to be compared next: the recent ones, and a piece of those before."""
    for source, name, query in policy.queries:
        if query.start_date is None:
            continue
        first, last = _first_unseen(policy, seen, source, name), last_ready(policy, source, name, now)
        if first > last or most <= 0:
            continue
        days = max(most // len(query.customers), 1)
        recent = last - (RECENT_DAYS - 1) * DAY
        if first + (days - 1) * DAY < recent:
            yield _Range(source, name, recent, last)
        piece = _Range(source, name, first, min(first + (days - 1) * DAY, last))
        most -= _size(policy, piece)
        yield piece


def _size(policy: PartitionPolicy, one: _Range) -> int:
    query = policy.query(one.source, one.query_name)
    return 0 if query is None else len(query.customers) * ((one.last - one.first).days + 1)


def _missing(tx: Transaction, ranges: Sequence[_Range]) -> list[Partition]:
    given = {name: [getattr(one, name) for one in ranges] for name in _Range._fields}
    return [Partition(*row) for row in tx.execute(Q["missing"], {**given, "limit": MAX_BATCH})]


def _enqueued(tx: Transaction, policy: PartitionPolicy, missing: Sequence[Partition], now: datetime) -> int:
    """Recent days as fresh ones; a long history must not keep fresh ones waiting."""
    days = {one: last_ready(policy, *one, now) for one in {(p.source, p.query_name) for p in missing}}
    lanes: dict[Lane, list[Partition]] = {Lane.FRESH: [], Lane.BACKFILL: []}
    for one in missing:
        is_recent = (days[one.source, one.query_name] - one.logical_date).days < RECENT_DAYS
        lanes[Lane.FRESH if is_recent else Lane.BACKFILL].append(one)
    for lane, partitions in lanes.items():
        if partitions:
            control_plane.enqueue(tx, partitions, lane=lane)
    return len(missing)


def lag(tx: Transaction) -> float | None:
    """Seconds since the last ready day of a query was to be enqueued, and was not."""
    policy = active(tx)
    (now,) = tx.execute("select recoup.now()").fetchone() or (None,)
    assert isinstance(now, datetime)
    ranges = [
        _Range(source, name, last, last)
        for source, name, query in policy.queries
        if query.start_date is not None and query.start_date <= (last := last_ready(policy, source, name, now))
    ]
    late = []
    for one in _missing(tx, ranges) if ranges else ():
        ended = window(one.logical_date, policy.zone(one.source, one.query_name)).end
        due = ended + timedelta(minutes=policy.ready_after(one.source, one.query_name))
        late.append((now - due).total_seconds())
    return max(late, default=None)


def active(tx: Transaction) -> PartitionPolicy:
    """The section on partitions of the active policy."""
    return versions.active(tx).policy[PartitionPolicy]


EXPECTED = Duty(
    name="partition-expected",
    authority=Authority.CONTROL_PLANE,
    cadence_s=60,
    description="enqueues the partitions that the registry expects, once their day has ended",
    batch=enqueue_expected,
    lag=lag,
)
