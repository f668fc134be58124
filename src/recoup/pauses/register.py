"""The pause register: one lever for whatever has to stop, with who and why.

A pause holds for every claim that begins after it has committed, whoever claims; what was claimed before may finish.
It waits for nobody, so that nothing it is to stop can hold it up.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.refusals import InputRefused

Q = load("recoup.pauses")
EVERYTHING = "everything"


class Scope(StrEnum):
    """What can be paused."""

    GLOBAL = "global"  # every claim, of every domain
    DUTY = "duty"  # one duty of the workers
    TABLE = "table"  # the work on one guarded table
    BATCH = "batch"  # all recovery of one import batch: Gate Zero's kill switch
    SOURCE = "source"  # the partitions of one source
    ACTION = "action"  # one recovery action


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Something that is paused."""

    scope: str
    scope_id: str
    paused_at: datetime
    paused_by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseEvent:
    """One line of the pause log."""

    logged_at: datetime
    event_type: str
    scope: str
    scope_id: str
    reason: str
    actor: str
    actor_id: str


def pause(tx: Transaction, scope: Scope, scope_id: str | None = None, *, reason: str) -> bool:
    """Stop all claims within a scope, as operator. False: it was paused before, and stays so with its first reason."""
    return _changed(tx, "pause", scope, scope_id, reason)


def resume(tx: Transaction, scope: Scope, scope_id: str | None = None, *, reason: str) -> bool:
    """Let claims go on. False: it was not paused."""
    return _changed(tx, "resume", scope, scope_id, reason)


def pauses(tx: Transaction, *, limit: int = 1000) -> list[Pause]:
    """Everything that is paused now, latest first."""
    with tx.cursor(row_factory=class_row(Pause)) as cursor:
        return cursor.execute(Q["list_pauses"], {"limit": limit}).fetchall()


def log(tx: Transaction, *, limit: int = 100) -> list[PauseEvent]:
    """Who paused and resumed what, latest first."""
    with tx.cursor(row_factory=class_row(PauseEvent)) as cursor:
        return cursor.execute(Q["list_log"], {"limit": limit}).fetchall()


def paused(tx: Transaction, *scopes: str) -> Pause | None:
    """The pause that stops a claim within any of these scopes (``duty:seal``), the global one included."""
    with tx.cursor(row_factory=class_row(Pause)) as cursor:
        return cursor.execute(Q["paused"], {"scopes": list(scopes)}).fetchone()


def _changed(tx: Transaction, verb: str, scope: Scope, scope_id: str | None, reason: str) -> bool:
    if not reason.strip():
        raise InputRefused(
            "reason_missing", f"To {verb} something needs a reason.", "Say why; the next person will ask.", scope=scope
        )
    named = _named(scope, scope_id)
    if scope is Scope.BATCH:
        from recoup import gate  # its pause lives in its own row: the documents name the columns

        if verb == "pause":
            return gate.pause_batch(tx, named, reason=reason)
        tx.execute("select set_config('recoup.reason', %s, true)", (reason,))
        return gate.resume_batch(tx, named)
    return tx.execute(Q[verb], {"scope": scope, "scope_id": named, "reason": reason}).rowcount > 0


def _named(scope: Scope, scope_id: str | None) -> str:
    if scope is Scope.GLOBAL:
        if scope_id not in (None, EVERYTHING):
            raise InputRefused(
                "pause_scope",
                f"global means everything, not {scope_id!r}.",
                "Leave the name away, or choose a narrower scope.",
            )
        return EVERYTHING
    if scope_id is None or not scope_id.strip():
        raise InputRefused("pause_scope", f"Which {scope}?", f"Name it: recoup pause {scope} NAME.", scope=scope)
    if scope is Scope.DUTY:
        from recoup.worker.duties import DUTIES

        known = [duty.name for duty in DUTIES]
        if scope_id not in known:
            raise InputRefused(
                "duty_unknown", f"There is no duty {scope_id!r}.", f"Duties are: {', '.join(known)}.", duty=scope_id
            )
    return scope_id
