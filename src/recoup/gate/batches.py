"""Batches: the import they came with, the recovery window, the freeze, the kill switch."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.gate.lifecycle import BatchStatus
from recoup.gate.texts import unprintable
from recoup.redaction import in_words
from recoup.refusals import InputRefused, Refusal
from recoup.worker.duty import seconds

Q = load("recoup.gate", "batches.sql")
MAX_BATCH_ID_BYTES = 500
MAX_COUNTED = 1_000  # companies of each batch that a list counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    batch_id: str
    status: str
    imported_at: datetime
    completed_at: datetime | None
    batch_freeze_at: datetime | None
    frozen_at: datetime | None
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The first companies of a batch, by status."""

    batch_id: str
    read: int
    came_in: int  # without those that re-entered
    passed: int
    waiting: int
    exhausted: int

    @property
    def is_all(self) -> bool:
        """Whether the batch has no others."""
        return self.read < MAX_COUNTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """What one freeze did."""

    batches: tuple[str, ...]  # newly frozen
    exhausted: tuple[UUID, ...]  # intakes whose recovery ended


def create_batch(tx: Transaction, batch_id: str) -> None:
    """Begin an import batch. Its recovery window opens when it is completed."""
    if problem := unprintable(batch_id):
        raise InputRefused("text_unprintable", f"The name of the batch cannot be stored. {problem}", "Remove it.")
    if not batch_id.strip() or len(batch_id.encode()) > MAX_BATCH_ID_BYTES:
        raise InputRefused(
            "batch_unnamed", "A batch needs a name, and not an endless one.", f"Use 1 to {MAX_BATCH_ID_BYTES} bytes."
        )
    if tx.execute(Q["create_batch"], {"batch_id": batch_id}).rowcount == 0:
        raise InputRefused(
            "batch_exists",
            f"There is a batch {batch_id!r} already.",
            "Choose another name.",
            batch_id=batch_id,
        )


def complete_batch(tx: Transaction, batch_id: str) -> datetime:
    """Declare the import complete. Returns when the recovery window will close; a second call changes nothing."""
    row = tx.execute(Q["complete_batch"], {"batch_id": batch_id}).fetchone()
    if row is not None:
        return row[0]  # type: ignore[no-any-return]
    batch = find_batch(tx, batch_id)
    assert batch.batch_freeze_at is not None
    return batch.batch_freeze_at


def pause_batch(tx: Transaction, batch_id: str, *, reason: str) -> bool:
    """Stop all recovery of a batch at once: no retry opens. What is in flight may finish. False: was paused before."""
    if not reason.strip():
        raise InputRefused("reason_missing", "A pause needs a reason.", "Say why; the person who resumes will ask.")
    done = tx.execute(Q["pause_batch"], {"batch_id": batch_id, "reason": in_words(reason)}).rowcount > 0
    if not done:
        find_batch(tx, batch_id)
    return done


def resume_batch(tx: Transaction, batch_id: str) -> bool:
    """Lift the pause. The transaction's reason is logged. False when it was not paused."""
    done = tx.execute(Q["resume_batch"], {"batch_id": batch_id}).rowcount > 0
    if not done:
        find_batch(tx, batch_id)
    return done


def pause_by_register(tx: Transaction, batch_id: str, reason: str) -> bool:
    """The same, for pauses by kind: the documents keep a batch's pause in its own row."""
    return pause_batch(tx, batch_id, reason=reason)


def resume_by_register(tx: Transaction, batch_id: str, reason: str) -> bool:
    tx.execute("select set_config('recoup.reason', %s, true)", (reason,))
    return resume_batch(tx, batch_id)


def freeze(tx: Transaction, *, limit: int = 1000, only: UUID | None = None) -> Frozen:
    """Close the window of every batch whose time has come, and end at most ``limit`` of its recoveries.

    Call it again until nothing is exhausted. A recovery being verified at this moment is left alone: it ends with its
    attempt. ``only`` takes one intake alone, for when a whole set was refused because of one row.
    """
    batches = tuple(row[0] for row in tx.execute(Q["freeze_batches"])) if only is None else ()
    locked = closing(tx, limit=limit, only=only)
    if not locked:
        return Frozen(batches=batches, exhausted=())
    ended = tx.execute(Q["exhaust_recoveries"], {"intakes": locked}, prepare=False)  # a set: planned each time
    return Frozen(batches=batches, exhausted=tuple(row[0] for row in ended))


def closing(tx: Transaction, *, limit: int = 1000, only: UUID | None = None) -> list[UUID]:
    """Intakes whose recovery is to end because its window closed, and locked."""
    given = {"limit": limit, "only": only}
    return [
        row[0] for row in tx.execute(Q["lock_frozen_recoveries" if only is None else "lock_frozen_recovery"], given)
    ]


def freeze_lag(tx: Transaction) -> float | None:
    """For how many seconds the window of the oldest batch that is not frozen has been closed; None: there is none."""
    return seconds(tx, Q["freeze_lag"])


def find_batch(tx: Transaction, batch_id: str) -> Batch:
    """One batch, or a refusal."""
    with tx.cursor(row_factory=class_row(Batch)) as cursor:
        batch = cursor.execute(Q["find_batch"], {"batch_id": batch_id}).fetchone()
    if batch is None:
        raise unknown_batch(batch_id)
    return batch


def list_batches(tx: Transaction, *, limit: int = 100, after: tuple[datetime, str] | None = None) -> list[Batch]:
    """Batches, newest first. ``after``, imported_at and id of the last that was listed, gives the next page."""
    at, last = after or (None, None)
    with tx.cursor(row_factory=class_row(Batch)) as cursor:
        return cursor.execute(Q["list_batches"], {"limit": limit, "at": at, "after": last}).fetchall()


def counts(tx: Transaction, batches: Sequence[str]) -> dict[str, Counts]:
    """The companies of these batches by status, for a list: of each batch the first ones are counted."""
    with tx.cursor(row_factory=class_row(Counts)) as cursor:
        given = {"batches": list(batches), "most": MAX_COUNTED}
        return {one.batch_id: one for one in cursor.execute(Q["counts"], given, prepare=False)}


def refuse_completed(batch: Batch) -> None:
    """Refuse what would join a batch that was declared complete: its window would be too short for it."""
    if batch.status != BatchStatus.OPEN:
        raise InputRefused(
            "batch_completed",
            f"Batch {batch.batch_id!r} was declared complete at {batch.completed_at}; nothing joins it any more.",
            "Take another batch name.",
            batch_id=batch.batch_id,
            status=batch.status,
        )


def overdue(tx: Transaction, *, days: int, limit: int = 100) -> list[tuple[str, datetime]]:
    """Batches that were not declared complete for this number of days, oldest first: they are never frozen."""
    return [(row[0], row[1]) for row in tx.execute(Q["overdue_batches"], {"days": days, "limit": limit})]


def unknown_batch(batch_id: str) -> Refusal:
    return InputRefused(
        "batch_unknown",
        f"There is no batch {batch_id!r}.",
        "List them: recoup gate batches",
        batch_id=batch_id,
    )
