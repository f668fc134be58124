"""Recording that tries again: for failures that nobody would report a second time.

It is tried once more when a promotion was in the way, or when the connection was lost (if the first try was recorded
after all, the second one supersedes it). Values that cannot be stored go into the payload; the rest is recorded. If a
transaction around this code holds the entity, the failure is recorded when that transaction has ended.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any, Literal, TypeVar
from uuid import UUID

import psycopg
from psycopg import errors

from recoup.database.connection import OPEN, Database
from recoup.database.failures import ConnectionRefused
from recoup.database.queries import load
from recoup.database.tracked import TrackedConnection
from recoup.errors.active_policy import named_table
from recoup.errors.inputs import entity, word
from recoup.errors.plain import plain
from recoup.errors.promotion import promoting_here
from recoup.errors.recording import MAX_CODE, NewError, Recorded, record, usable_work_key
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words
from recoup.refusals import InputRefused, LawRefused, Refusal

Q = load("recoup.errors", "promotion.sql")
HELD = "entity_held"  # the refusal of an error whose entity is being promoted
Given = TypeVar("Given")


def retried(act: Callable[[], Given]) -> Given:
    """Call it; once more if a promotion was in the way, or the connection was lost."""
    try:
        return act()
    except (psycopg.OperationalError, psycopg.InterfaceError, LawRefused) as error:
        if isinstance(error, errors.QueryCanceled) or (isinstance(error, Refusal) and error.code != HELD):
            raise
    return act()


def record_resilient(
    database: Database, new: NewError, *, fallback: Literal["orphan_table", "fallback_table"]
) -> Recorded:
    """Record a failure, in a transaction of its own; in the table that the policy names if its own refuses it."""
    new = usable(new)
    try:
        return retried(lambda: _recorded(database, new))
    except (InputRefused, LawRefused) as refusal:
        if refusal.code == HELD or new.table == (other := named_table(database, fallback)):
            raise
        why = {"meant_for": new.table, "refused": f"{refusal.happened} {refusal.next_step}"}
    moved = replace(new, table=other, payload=with_more(new.payload, why))
    return retried(lambda: _recorded(database, moved))


def usable(new: NewError) -> NewError:
    """The same failure, with values that cannot be stored in its payload."""
    words = {"severity": Severity, "category": Category, "want": Want}
    fields = {name: _word(kind, getattr(new, name)) for name, kind in words.items()}
    fields["outreach_id"] = _entity(new.outreach_id)
    fields["code"] = _code(new.code)
    fields["work_key"] = _work_key(new.work_key)
    unread = {
        f"{name}_given": in_words(plain(given))
        for name, one in fields.items()
        if (given := getattr(new, name)) is not None and (one is None or (name == "code" and one != given))
    }
    return replace(new, **fields, payload=with_more(new.payload, unread) if unread else new.payload)


def transaction_in_the_way(database: Database, of: UUID | str | None) -> TrackedConnection | None:
    """The transaction around this code that promotes an entity. To wait for it here would be to wait for oneself."""
    around = OPEN.get()
    callers = promoting_here()
    if of is None or not (around or callers):
        return None
    try:
        with database.transaction(Authority.READER) as tx:
            pids = {pid for (pid,) in tx.execute(Q["who_promotes"], {"entity": of})}
    except ConnectionRefused:  # all connections of this process are in use, and those around this code among them
        if not around:
            raise
        return around[0]
    if pids & callers:
        raise InputRefused(
            "promotion_around",
            f"The transaction around it promotes entity {of}, on a connection of your own.",
            "Put `failures` around that transaction, not inside it.",
        )
    return next((held for held in around if pids & {held.server_pid, held.info.backend_pid}), None)


def _recorded(database: Database, new: NewError) -> Recorded:
    with database.transaction(Authority.HUB) as tx:
        (recorded,) = record(tx, [new])
    return recorded


def with_more(payload: object, more: dict[str, Any]) -> dict[str, Any]:
    """A payload of any kind, with more keys."""
    read = payload if type(payload) is dict else plain(payload)
    return {**(read if isinstance(read, dict) else {} if read is None else {"left_out": read}), **more}


def _entity(given: object) -> Any:
    try:
        return entity(given)
    except InputRefused:
        return None


def _word(words: type[StrEnum], given: object) -> Any:
    try:
        return word(words, given)
    except InputRefused:
        return None


def _work_key(given: object) -> str | None:
    try:
        return usable_work_key(None if given is None else in_words(plain(given)))
    except InputRefused:
        return None


def _code(given: object) -> str | None:
    if given is None:
        return None
    text = in_words(plain(given)).encode()[:MAX_CODE].decode("utf-8", "ignore")
    return text or None
