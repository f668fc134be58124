"""The pause register: stops anything that claims work, with who and why.

A pause applies to every claim that begins after its commit; work that was claimed before may finish. Setting a pause
waits for no other transaction, so the work that it stops cannot delay it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.pauses.scopes import EVERYTHING, GLOBAL, Pausable
from recoup.redaction import in_words
from recoup.refusals import InputRefused

Q = load("recoup.pauses", "pauses.sql")
AT = load("recoup.pauses", "at.sql")
Kinds = Iterable[Pausable]


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
    seq: int


class Place(NamedTuple):
    """A pause by its place in the list of pauses, for the next page."""

    paused_at: datetime
    scope: str
    scope_id: str

    @classmethod
    def of(cls, one: Pause) -> Place:
        return cls(one.paused_at, one.scope, one.scope_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class PausableName:
    """Something that can be paused."""

    scope: str
    name: str
    paused: bool


def pause(tx: Transaction, scope: str, scope_id: str | None = None, *, reason: str, kinds: Kinds = ()) -> bool:
    """Stop all claims within a scope, as operator. False: it was already paused, and keeps its first reason.

    ``kinds`` are declared by domains; some store the pause in their own rows.
    """
    return _changed(tx, "pause", scope, scope_id, reason, kinds)


def resume(tx: Transaction, scope: str, scope_id: str | None = None, *, reason: str, kinds: Kinds = ()) -> bool:
    """Resume claims. False: it was not paused."""
    return _changed(tx, "resume", scope, scope_id, reason, kinds)


def pauses(tx: Transaction, *, limit: int = 1000, after: Place | None = None) -> list[Pause]:
    """Everything that is paused now, latest first. ``after``, the place of the last one, gives the next page."""
    at, scope, scope_id = after or (None, None, None)
    with tx.cursor(row_factory=class_row(Pause)) as cursor:
        given = {"limit": limit, "at": at, "scope": scope, "scope_id": scope_id}
        return cursor.execute(Q["list_pauses"], given).fetchall()


def log(tx: Transaction, *, limit: int = 100, after: int | None = None) -> list[PauseEvent]:
    """Who paused and resumed what, latest first. ``after``, the seq of the last one, gives the next page."""
    with tx.cursor(row_factory=class_row(PauseEvent)) as cursor:
        return cursor.execute(Q["list_log"], {"limit": limit, "after": after}).fetchall()


def names(
    tx: Transaction, *, scope: str | None = None, text: str | None = None, limit: int = 100
) -> list[PausableName]:
    """What can be paused, by scope and name: of one scope, or whose name contains a text, regardless of case."""
    with tx.cursor(row_factory=class_row(PausableName)) as cursor:
        return cursor.execute(Q["names"], {"scope": scope, "text": text, "limit": limit}).fetchall()


def pausable_scopes(tx: Transaction) -> list[str]:
    """The scopes that can be paused, everything first."""
    return [scope for (scope,) in tx.execute(Q["scopes"])]


def paused(tx: Transaction, *scopes: str) -> Pause | None:
    """The pause that stops a claim within any of these scopes (``duty:seal``), the global one included."""
    with tx.cursor(row_factory=class_row(Pause)) as cursor:
        return cursor.execute(Q["paused"], {"scopes": list(scopes)}).fetchone()


def paused_at(tx: Transaction, scopes: Iterable[tuple[str, str]], until: datetime) -> list[Pause]:
    """The pauses of these scopes (kind and name) that had not ended at a time, the global one included."""
    asked = [(GLOBAL, EVERYTHING), *dict.fromkeys(scopes)]
    given = {"scopes": [scope for scope, _ in asked], "names": [name for _, name in asked], "until": until}
    with tx.cursor(row_factory=class_row(Pause)) as cursor:
        return cursor.execute(AT["paused_at"], given, prepare=False).fetchall()


def _changed(tx: Transaction, verb: str, scope: str, scope_id: str | None, reason: str, kinds: Kinds) -> bool:
    if not reason.strip():
        raise InputRefused(
            "reason_missing", f"To {verb} something needs a reason.", "Give one with --reason.", scope=scope
        )
    named, reason = _named(scope, scope_id), in_words(reason)
    for kind in kinds:
        own = kind.pause if verb == "pause" else kind.resume
        if kind.scope == scope and own is not None:
            return own(tx, named, reason)
    return tx.execute(Q[verb], {"scope": scope, "scope_id": named, "reason": reason}).rowcount > 0


def _named(scope: str, scope_id: str | None) -> str:
    if scope == GLOBAL:
        if scope_id not in (None, EVERYTHING):
            raise InputRefused(
                "pause_scope",
                f"global means everything, not {scope_id!r}.",
                "Omit the name, or choose a narrower scope.",
            )
        return EVERYTHING
    if scope_id is None or not scope_id.strip():
        raise InputRefused("pause_scope", f"Which {scope}?", f"Name it: recoup pause {scope} NAME.", scope=scope)
    return scope_id
