"""Backfills: many partitions asked for as one, planned in chunks, with progress, pause, resume and cancel."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.partitions import registry
from recoup.partitions.backfill_lifecycle import BackfillStatus
from recoup.partitions.identity import Partition
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.sink.paths import folders
from recoup.policy import in_force
from recoup.refusals import InputRefused
from recoup.worker.duty import Duty, seconds

Q = load("recoup.partitions", "backfill.sql")
CHUNK = 10_000
HOLD_BATCH = 1_000
MAX_MEMBERS = 5_000_000
DEFAULT_PRIORITY = 5
SAMPLE = 1_000  # members of one backfill that a page counts
WINDOW = 20_000  # members that one page searches


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which partitions: dates (both ends included) by customers by queries of one source."""

    source: str
    queries: tuple[str, ...]
    customers: tuple[str, ...]
    first: date
    last: date

    @property
    def size(self) -> int:
        return ((self.last - self.first).days + 1) * len(self.customers) * len(self.queries)

    @property
    def document(self) -> dict[str, Any]:
        return {
            "source": self.source, "queries": list(self.queries), "customers": list(self.customers),
            "from": self.first.isoformat(), "to": self.last.isoformat(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How many partitions of a selection were found in one condition, and one of them."""

    found: str
    partitions: int
    example: str
    other: UUID | None  # the backfill they belong to


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """A backfill and its progress."""

    backfill_id: UUID
    status: str
    source: str
    queries: list[str]
    customers: int
    first: date
    last: date
    expected: int
    planned: int
    waiting: int
    held: int
    succeeded: int
    failed: int
    terminal: int
    cancelled: int
    left: int
    reason: str
    requested_by: str
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None

    @property
    def ended(self) -> int:
        """How many members have ended, or were left as they were."""
        return self.succeeded + self.failed + self.terminal + self.cancelled + self.left


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A partition of a backfill: how it was found when it was planned, and how it ended."""

    place: int
    found: str
    status: str
    other: UUID | None  # the backfill that has it
    ended_at: datetime | None
    partition_id: int | None
    source: str | None
    customer_id: str | None
    query_name: str | None
    logical_date: date | None
    error_message: str | None


def checked(selection: Selection) -> Selection:
    """The selection, if it can be planned; or a refusal."""
    if selection.last < selection.first:
        raise InputRefused(
            "backfill_range", f"{selection.first} is after {selection.last}.", "Give the earlier date first."
        )
    for what, names in (("customer", selection.customers), ("query", selection.queries)):
        if not names:
            raise InputRefused(
                "backfill_empty", f"No {what} of {selection.source} is known or given.", f"Name at least one {what}."
            )
        if len(set(names)) < len(names):
            raise InputRefused("backfill_twice", f"A {what} is named twice.", "Name each once.")
    if selection.size > MAX_MEMBERS:
        raise InputRefused(
            "backfill_size", f"That is {selection.size:,} partitions.", f"Ask for at most {MAX_MEMBERS:,} at a time."
        )
    # Before anything is planned: a key that cannot be a folder would stop its planning for ever.
    one = Partition(selection.source, selection.customers[0], selection.queries[0], selection.first)
    for customer in selection.customers:
        folders(one._replace(customer_id=customer))
    for query in selection.queries:
        folders(one._replace(query_name=query))
    return selection


def selected(
    tx: Transaction, source: str, first: date, last: date, *, customers: Sequence[str] = (), queries: Sequence[str] = ()
) -> Selection:
    """Days of customers of queries of a source: of all that are registered or known, where none are named.

    Refused for queries that nobody would extract, and for days that have not begun.
    """
    policy = in_force(tx).policy[PartitionPolicy]
    registered = policy.sources.get(source)
    if not queries and registered is None:
        raise InputRefused(
            "source_unknown",
            f"The policy registers no source {source[:200]!r}, so its queries are not known.",
            "Register it under [partitions.sources]: recoup policy edit",
        )
    names = list(queries) or sorted(registered.queries if registered else ())
    for name in names:
        registry.begun(tx, policy, source, name, last)
    if not customers:
        listed = {one for name in names if registered and name in registered.queries
                  for one in registered.queries[name].customers}  # fmt: skip
        customers = sorted(listed | set(known_customers(tx, source)))
    return checked(Selection(source=source, queries=tuple(names), customers=tuple(customers), first=first, last=last))


def known_customers(tx: Transaction, source: str, query: str | None = None) -> tuple[str, ...]:
    """The customers that have partitions of the source."""
    return tuple(row[0] for row in tx.execute(Q["customers"], {"source": source, "query": query}))


def preview(tx: Transaction, selection: Selection) -> list[Found]:
    """What a backfill of this selection would find. Changes nothing."""
    with tx.cursor(row_factory=class_row(Found)) as cursor:
        return cursor.execute(Q["preview"], {"selection": Jsonb(checked(selection).document)}).fetchall()


def start(
    tx: Transaction,
    selection: Selection,
    *,
    reason: str,
    priority: int = DEFAULT_PRIORITY,
    reprocess: bool = False,
    with_terminal: bool = False,
    only_failed: bool = False,
) -> UUID:
    """Begin a backfill. It is planned in chunks: call :func:`plan` until it returns False, or leave it to a worker."""
    given = {
        "selection": Jsonb(checked(selection).document), "reason": reason, "priority": priority,
        "reprocess": reprocess, "with_terminal": with_terminal, "only_failed": only_failed,
        "expected": selection.size,
    }  # fmt: skip
    (backfill,) = tx.execute(Q["start"], given).fetchone() or (None,)
    assert isinstance(backfill, UUID)
    return backfill


def plan(tx: Transaction, backfill: UUID, *, chunk: int = CHUNK) -> bool:
    """Plan the next chunk, in one call. Whether more is left."""
    row = tx.execute(Q["plan"], {"backfill": backfill, "most": min(chunk, CHUNK)}).fetchone()
    return row is not None and row[1] == BackfillStatus.PLANNING


def pause(tx: Transaction, backfill: UUID) -> str:
    """Pause a backfill: none of its members is dispatched. Its status before."""
    return _moved(tx, backfill, BackfillStatus.PAUSED, "It is paused while it runs.")


def resume(tx: Transaction, backfill: UUID) -> str:
    """Resume a paused backfill. Its status before."""
    return _moved(tx, backfill, BackfillStatus.RUNNING, "Only a paused one is resumed.")


def cancel(tx: Transaction, backfill: UUID) -> str:
    """Cancel a backfill: open runs finish, what waits is held. Its status before."""
    return _moved(tx, backfill, BackfillStatus.CANCELLED, "It has ended.")


def _moved(tx: Transaction, backfill: UUID, to: BackfillStatus, otherwise: str) -> str:
    was, became = tx.execute(Q["move"], {"backfill": backfill, "to": to.value}).fetchone() or (None, None)
    if was is None:
        raise _unknown(backfill)
    if became != to:
        raise InputRefused(
            "backfill_status", f"Backfill {backfill} is {was}. {otherwise}", "See: recoup backfill status",
            backfill=str(backfill), status=was,
        )  # fmt: skip
    return str(was)


def settle(tx: Transaction, backfill: UUID, *, limit: int = HOLD_BATCH) -> int:
    """Hold or release members after a pause, a cancellation or a resume. Call again until it returns 0."""
    (count,) = tx.execute(Q["settle_holds"], {"backfill": backfill, "most": limit}).fetchone() or (0,)
    return int(count)


def unsettled(tx: Transaction) -> list[UUID]:
    """Backfills for which something is to be done: planned, held, released or ended."""
    return [row[0] for row in tx.execute(Q["unsettled"])]


def continue_one(tx: Transaction, backfill: UUID, *, limit: int = HOLD_BATCH) -> int:
    """Continue a backfill by a step. 0: nothing to do."""
    (count,) = tx.execute(Q["settle"], {"backfill": backfill, "most": limit}).fetchone() or (0,)
    return int(count)


def continue_all(tx: Transaction, *, limit: int = HOLD_BATCH) -> int:
    """Continue every backfill by a step. Call again until it returns 0."""
    return sum(continue_one(tx, backfill, limit=limit) for backfill in unsettled(tx))


def backfills(
    tx: Transaction,
    *,
    only: UUID | None = None,
    open_only: bool = False,
    limit: int = 50,
    after: UUID | None = None,
) -> list[Backfill]:
    """Backfills, newest first, with their progress. ``after``, the id of the last one, gives the next page."""
    given: Mapping[str, Any] = {"only": only, "open_only": open_only, "limit": limit, "after": after}
    with tx.cursor(row_factory=class_row(Backfill)) as cursor:
        return cursor.execute(Q["list"], given).fetchall()


def progress(
    tx: Transaction, *, only: UUID | None = None, open_only: bool = False, limit: int = 50, sample: int = SAMPLE
) -> list[Backfill]:
    """The same for a page, which counts no more than a sample: of a larger backfill the counts are estimates."""
    given: Mapping[str, Any] = {"only": only, "open_only": open_only, "limit": limit, "sample": sample}
    with tx.cursor(row_factory=class_row(Backfill)) as cursor:
        found = cursor.execute(Q["progress"], given, prepare=False).fetchall()
    return [_scaled(one, sample) for one in found]


def _scaled(one: Backfill, sample: int) -> Backfill:
    if one.planned <= sample:
        return one
    names = ("waiting", "held", "succeeded", "failed", "terminal", "cancelled", "left")
    return replace(one, **{name: round(getattr(one, name) * one.planned / sample) for name in names})


def members(
    tx: Transaction, backfill: UUID, *, status: str | None = None, limit: int = 100, after: int = 0,
    window: int = WINDOW,
) -> list[Member]:  # fmt: skip
    """The next members of a backfill, in the order of its plan, of those in a window of places after one."""
    given = {"backfill": backfill, "status": status, "limit": limit, "after": after, "window": window}
    with tx.cursor(row_factory=class_row(Member)) as cursor:
        return cursor.execute(Q["members"], given, prepare=False).fetchall()


def show(tx: Transaction, backfill: UUID) -> Backfill:
    """One backfill."""
    return _only(backfill, backfills(tx, only=backfill))


def show_progress(tx: Transaction, backfill: UUID, *, sample: int = SAMPLE) -> Backfill:
    """One backfill, for a page."""
    return _only(backfill, progress(tx, only=backfill, sample=sample))


def _only(backfill: UUID, found: Sequence[Backfill]) -> Backfill:
    if not found:
        raise _unknown(backfill)
    return found[0]


def left_out(tx: Transaction, backfill: UUID, *, limit: int = 20) -> Sequence[tuple[str, UUID | None, int]]:
    """What was found and left as it was: how, of which other backfill, how many."""
    return tx.execute(Q["left_out"], {"backfill": backfill, "limit": limit}).fetchall()


def plan_all(
    transaction: Callable[[], Any], backfill: UUID, *, chunk: int = CHUNK, planned: Callable[[], None] = lambda: None
) -> None:
    """Plan a backfill to its end, a chunk a transaction."""
    more = True
    while more:
        with transaction() as tx:
            more = plan(tx, backfill, chunk=chunk)
        planned()


def lag(tx: Transaction) -> float | None:
    """Seconds that the oldest backfill for which something is to be done has been waiting; None: there is none."""
    return seconds(tx, Q["lag"])


def _unknown(backfill: UUID) -> InputRefused:
    return InputRefused(
        "backfill_unknown", f"There is no backfill {backfill}.", "List them: recoup backfill status",
        backfill=str(backfill),
    )  # fmt: skip


DUTY = Duty(
    name="backfills",
    authority=Authority.CONTROL_PLANE,
    cadence_s=5,
    description="plans backfills further, holds and releases their partitions, and ends those that are done",
    batch=lambda tx, _: continue_all(tx),
    lag=lag,
    # One that cannot be continued stops only itself.
    units=unsettled,
    one=lambda tx, backfill: continue_one(tx, backfill),
)
