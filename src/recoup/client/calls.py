"""How a verb of the client runs: in a transaction of its own, or in the caller's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from psycopg import AsyncConnection, Connection

from recoup.database.callers import borrowed
from recoup.database.connection import Actor, Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.operations import Act, Operation, Subject, begin, find

Result = TypeVar("Result")
# The caller's own connection, whose transaction the call becomes a part of. An AsyncConnection for ``db.aio``.
Tx: TypeAlias = Connection[Any] | AsyncConnection[Any] | None
Who: TypeAlias = Actor | str | None


class Verbs:
    """Verbs of one part of the product. Each runs under the authority that owns it.

    ``tx``: a psycopg connection of the caller's. The call becomes a part of its transaction, and the caller's next
    statement has the role and the settings that it had before. Without it, the call is a transaction of its own.
    ``actor``: who acts, as the log names them; a text is a person's or a program's id. Default: RECOUP_ACTOR.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def _call(
        self,
        authority: Authority,
        act: Callable[[Transaction], Result],
        *,
        tx: Tx = None,
        actor: Who = None,
        reason: str | None = None,
        locks: bool = False,
    ) -> Result:
        who = self._actor(authority, actor)
        if tx is None:
            with self._database.transaction(authority, actor=who, reason=reason) as own:
                return act(own)
        if isinstance(tx, AsyncConnection):
            raise TypeError("This is an AsyncConnection: use the async twin, `await db.aio.…(…, tx=connection)`.")
        with borrowed(tx, authority, actor=who, reason=reason, locks=locks) as theirs:
            return act(theirs)

    def _begun(
        self,
        subject: Subject,
        act: Act,
        units: Callable[[Transaction], Sequence[str]],
        *,
        canary: int,
        rate: int | None,
        tx: Tx,
        actor: Actor,
    ) -> Operation:
        """An operation with a canary: a worker lets its items go, step by step."""

        def begun(on: Transaction) -> Operation:
            return find(on, begin(on, subject, act, units(on), canary=canary, rate=rate))

        return self._call(Authority.OPERATOR, begun, tx=tx, actor=actor, reason=act.reason)

    def _person(self, actor: Who) -> Actor:
        """People decide: the actor is one, unless the caller gives an Actor."""
        if isinstance(actor, Actor):
            return actor
        return Actor("human", self._database.settings.actor if actor is None else actor)

    def _actor(self, authority: Authority, actor: Who) -> Actor:
        if isinstance(actor, Actor):
            return actor
        if actor is None:
            return Actor("system", self._database.settings.actor)
        return Actor("human" if authority is Authority.OPERATOR else "system", actor)
