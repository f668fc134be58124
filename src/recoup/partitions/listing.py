"""Partitions, listed and inspected: status, attempts, next retry, history, overrides. Changes nothing."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any, TypeVar
from uuid import UUID

from psycopg.rows import class_row, dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.partitions.identity import Partition
from recoup.partitions.selecting import Selection, matching
from recoup.partitions.vocabulary import PartitionStatus, ScheduleStatus
from recoup.refusals import InputRefused

Q = load("recoup.partitions", "listing.sql")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A partition, in a list. Reason, rule and category are those of its last verdict."""

    source: str
    customer_id: str
    query_name: str
    logical_date: date
    partition_id: int
    status: str
    schedule: str  # of its schedule: waiting, open, held, terminal, idle
    attempt_count: int
    next_run_at: datetime | None
    hold: str | None
    terminal_causes: tuple[str, ...] | None
    terminal_at: datetime | None
    error_message: str | None
    reason: str | None
    rule: str | None
    category: str | None
    error_signature: str | None
    validator_version: str | None
    current_run_id: UUID | None
    rows: int | None  # of its current run
    dispatches: int  # since the last verdict
    lane: str
    backfill_id: UUID | None
    created_at: datetime
    updated_at: datetime

    @property
    def partition(self) -> Partition:
        return Partition(self.source, self.customer_id, self.query_name, self.logical_date)

    @property
    def status_text(self) -> str:
        """Its status, and what the control plane does about it."""
        return status_text(self.status, self.schedule, hold=self.hold, causes=self.terminal_causes or ())


def status_text(status: str, schedule: str, *, hold: str | None = None, causes: Sequence[str] = ()) -> str:
    """A status and what the control plane does about it, in words: pending (held: PAUSED), failed (terminal: AGE)."""
    match schedule:
        case ScheduleStatus.TERMINAL:
            return f"{status} (terminal: {', '.join(causes)})"
        case ScheduleStatus.HELD:
            return f"{status} (held: {hold})"
        case ScheduleStatus.OPEN:
            return f"{status} (reprocessing)" if status == PartitionStatus.SUCCESS else f"{status} (running)"
        case ScheduleStatus.WAITING if status == PartitionStatus.SUCCESS:
            return f"{status} (reprocessing)"
        case _:
            return status


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptMade:
    """One verdict."""

    number: int
    run_id: UUID
    verdict: str
    reason: str | None
    rule: str | None
    message: str | None
    error_signature: str | None
    category: str | None
    rows: int | None
    bytes: int | None
    digest: str | None
    location: str | None
    validator: str | None
    validator_version: str | None
    contract_digest: str | None
    policy_version: int
    opened_at: datetime
    published_at: datetime | None
    judged_at: datetime
    actor_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LostDispatch:
    """A dispatch that came to nothing: no attempt."""

    run_id: UUID
    reason: str | None
    message: str | None
    worker: str
    opened_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected(Listed):
    """A partition with everything that is known of it."""

    max_attempts: int
    granted_attempts: int
    dispatch_cap: int
    max_age_hours: int
    aged_from: datetime | None  # since when its age counts
    first_enqueued_at: datetime
    first_dispatched_at: datetime | None
    requested_at: datetime | None  # when somebody asked for it
    requested_by: str | None
    held_at: datetime | None
    terminal_policy: int | None  # the version of the policy that decided
    reprocesses: bool
    priority: int
    backoff_strategy: str
    run: Mapping[str, Any] | None  # the one that is under way
    attempts: list[AttemptMade]
    lost: list[LostDispatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """An event of a partition, its runs or its schedule."""

    logged_at: datetime
    source: str
    customer_id: str
    query_name: str
    logical_date: date
    subject: str
    event_type: str
    from_status: str | None
    to_status: str | None
    run_id: UUID | None
    reason: str | None
    facts: Any
    actor_id: str
    authority: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A partition that is given up, and why: too many attempts, too old, or marked by a person."""

    source: str
    customer_id: str
    query_name: str
    logical_date: date
    partition_id: int
    terminal_causes: tuple[str, ...]
    terminal_at: datetime
    terminal_policy: int
    attempt_count: int
    aged_from: datetime | None
    reason: str | None
    category: str | None
    error_message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What somebody asked for, over one partition or many."""

    seq: int
    logged_at: datetime
    actor: str
    actor_id: str
    command: str
    selection: str | None
    partitions: int
    before: Mapping[str, int]
    after: Mapping[str, Any]
    reason: str | None
    login: str


def list_partitions(
    tx: Transaction, selection: Selection, *, limit: int = 100, after: Partition | None = None
) -> list[Listed]:
    """Partitions, in the order of source, query, customer and day. ``after``, the last listed, gives the next page."""
    source, customer, query, day = after or (None, None, None, None)
    given = {"after_source": source, "after_query": query, "after_customer": customer, "after_day": day}
    return [Listed(**with_tuple(row)) for row in _rows(tx, "list", selection, limit, given)]


def cells(tx: Transaction, selection: Selection, *, limit: int) -> list[tuple[str, str, str, date, str, str]]:
    """Source, query, customer, day, status and schedule of partitions, for a grid."""
    return tx.execute(matching("grid", Q), {**selection.given, "limit": limit}, prepare=False).fetchall()


def count(tx: Transaction, selection: Selection) -> int:
    """How many partitions match."""
    (found,) = tx.execute(matching("count", Q), selection.given, prepare=False).fetchone() or (0,)
    return int(found)


def inspect(tx: Transaction, selection: Selection, *, limit: int = 20) -> list[Inspected]:
    """Partitions in full: attempts, messages, times and the next retry. Refused when there is none."""
    found = list_partitions(tx, selection, limit=limit)
    if not found:
        raise unknown(selection)
    ids = {"ids": [one.partition_id for one in found]}
    with tx.cursor(row_factory=dict_row) as cursor:
        more = {row.pop("partition_id"): row for row in cursor.execute(Q["more"], ids)}
        attempts = _grouped(AttemptMade, cursor.execute(Q["attempts"], ids).fetchall())
        lost = _grouped(LostDispatch, cursor.execute(Q["lost"], ids).fetchall())
    return [
        Inspected(
            **asdict(one), **more[one.partition_id], attempts=attempts[one.partition_id], lost=lost[one.partition_id]
        )
        for one in found
    ]


def history(tx: Transaction, selection: Selection, *, limit: int = 1000) -> list[Happened]:
    """Every event of partitions, in order; verdicts that came too late as late_verdict. Refused when there is none."""
    with tx.cursor(row_factory=class_row(Happened)) as cursor:
        found = cursor.execute(matching("history", Q), {**selection.given, "limit": limit}, prepare=False).fetchall()
    if not found:
        raise unknown(selection)
    return found


def terminal(
    tx: Transaction, selection: Selection, *, limit: int = 100, after: tuple[datetime, int] | None = None
) -> list[Terminal]:
    """Partitions that are given up, the latest first, with their causes.

    ``after``, terminal_at and partition_id of the last that was listed, gives the next page.
    """
    at, last = after or (None, None)
    return [Terminal(**with_tuple(row)) for row in _rows(tx, "terminal", selection, limit, {"at": at, "id": last})]


def terminal_causes(tx: Transaction, selection: Selection) -> dict[str, int]:
    """How many partitions are given up, by cause. One may have several."""
    return dict(tx.execute(matching("terminal_causes", Q), selection.given, prepare=False).fetchall())


def overrides(
    tx: Transaction, *, selection: Selection | None = None, limit: int = 50, after: int | None = None
) -> list[Override]:
    """What people and recovery asked for, the latest first; of the partitions of a selection, or all.

    ``after``, the seq of the last that was listed, gives the next page.
    """
    ids = None
    if selection is not None and not selection.is_empty:
        ids = [one.partition_id for one in list_partitions(tx, selection, limit=100_000)]
    with tx.cursor(row_factory=class_row(Override)) as cursor:
        return cursor.execute(Q["overrides"], {"partition": ids, "limit": limit, "after": after}).fetchall()


def unknown(selection: Selection) -> InputRefused:
    """The refusal when nothing matches."""
    return InputRefused(
        "partition_unknown",
        "No partition matches" + (f": {selection}." if not selection.is_empty else "."),
        "List them: recoup state list; those that were never enqueued: recoup state gaps",
    )


def _rows(
    tx: Transaction, query: str, selection: Selection, limit: int, more: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    given = {**selection.given, "limit": limit, **(more or {})}
    with tx.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(matching(query, Q), given, prepare=False).fetchall()


def with_tuple(row: dict[str, Any]) -> dict[str, Any]:
    causes = row["terminal_causes"]
    return {**row, "terminal_causes": None if causes is None else tuple(causes)}


def _grouped(kind: type[T], rows: Sequence[dict[str, Any]]) -> defaultdict[int, list[T]]:
    found: defaultdict[int, list[T]] = defaultdict(list)
    for row in rows:
        found[row.pop("partition_id")].append(kind(**row))
    return found
