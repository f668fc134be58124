"""Connections: one pool, one way into a transaction, and refusals if a server cannot be used.

Every change happens inside :meth:`Database.transaction`, under one authority: the database role of the transaction.
Without one, a session has no rights. What the database refuses is raised as a :class:`~recoup.refusals.Refusal`.

A connection has its authority and its actor from its login on, so that a transaction does not have to set them. Behind
a pooler that gives each transaction another session, every transaction sets them.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, lru_cache

import psycopg
from psycopg import Connection, Cursor, IsolationLevel
from psycopg.conninfo import make_conninfo

from recoup.database.failures import as_refusals, options_of, unreachable, where
from recoup.database.pool import Pool
from recoup.database.session import configured, pinned, startup_options, waits, without_reader
from recoup.database.tracked import Length, Row, TrackedConnection, TrackedCursor
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words
from recoup.refusals import ServerRefused
from recoup.settings import Settings

OLDEST_SERVER = 150000

NO_HUB = "-"  # no hub is called so
Transaction = Connection[Row]
_POOLS = threading.Lock()  # held while one is made
# The transactions that are open around this code, in this thread or task.
OPEN: ContextVar[tuple[TrackedConnection, ...]] = ContextVar("open transactions", default=())


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, as the logs name them: a kind (system, ai, human) and an id."""

    kind: str
    id: str
    hub: str | None = None  # sees and changes the rows of this hub alone; empty: of every hub; None: as the database


class Database:
    """One database: hands out transactions from a pool. Safe to share between threads.

    ``hub``: of transactions whose actor has none. With :data:`NO_HUB` they see no row of any: what forgets to say who
    acts gets nothing, instead of everything.
    """

    def __init__(self, conninfo: str, settings: Settings, *, hub: str | None = None) -> None:
        self.conninfo = conninfo
        self.settings = settings
        self.hub = hub
        self.direct = True  # a session is ours from login to end; known once it was used
        self._pool: Pool | None = None
        self._shares: Database | None = None  # the connections of this one
        self._known = False  # whether it was used before
        self._opening = threading.Lock()

    def through(self, conninfo: str, *, hub: str | None = None) -> Database:
        """The same database through another login. All share the bound of this one, and close with it."""
        other = Database(conninfo, self.settings, hub=hub)
        other._shares = self
        return other

    @contextlib.contextmanager
    def transaction(
        self, authority: Authority, *, actor: Actor | None = None, reason: str | None = None
    ) -> Iterator[Transaction]:
        """One transaction under one authority. Commits at the end of the block, rolls back on any exception.

        An error of the server that is caught within the block has ended the transaction: then the block ends with
        :class:`~recoup.refusals.TransactionLost`. Try what may fail within ``with tx.transaction():``, a savepoint.
        """
        afterwards: list[Callable[[], object]] = []
        try:
            with (
                as_refusals(self.conninfo, authority.role),
                self._opened().borrowed(authority, self.conninfo, self._login) as held,
                self._begun(held, self._unsaid(held, authority, actor, reason)),
                _open_here(held, afterwards),
            ):
                yield held
        finally:
            for act in afterwards:
                act()

    @contextlib.contextmanager
    def one_statement(
        self, authority: Authority, *, actor: Actor | None = None, reason: str | None = None
    ) -> Iterator[Transaction]:
        """A transaction of one statement, in one round trip if the connection is the authority's and the actor its own.

        It is committed when it returns: an exception after it rolls nothing back. A second statement is refused.
        """
        with (
            as_refusals(self.conninfo, authority.role),
            self._opened().borrowed(authority, self.conninfo, self._login) as held,
        ):
            unsaid = self._unsaid(held, authority, actor, reason)
            held.statements_left = 1
            try:
                with self._begun(held, unsaid) if unsaid else contextlib.nullcontext():
                    yield held
            finally:
                held.statements_left = None

    def close(self) -> None:
        """Close the connections. The object can be used again."""
        self._known = False
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @cached_property
    def _actor(self) -> Actor:
        return Actor("system", self.settings.actor, self.hub)

    def _unsaid(
        self, held: TrackedConnection, authority: Authority, actor: Actor | None, reason: str | None
    ) -> dict[str, str]:
        """The settings of a transaction that its connection does not have by itself."""
        if held.authority is None:
            every = waits(self.settings) | pinned(held.info.server_version)
            return identity(authority, actor or self._actor, reason) | every
        unsaid = {} if held.authority is authority else {"role": authority.role}
        if actor not in (None, self._actor) or reason:
            unsaid |= identity(authority, actor or self._actor, reason)
        return unsaid

    @contextlib.contextmanager
    def _begun(self, held: TrackedConnection, unsaid: dict[str, str]) -> Iterator[None]:
        # In one message, and not as a pipeline: what ends one leaves the server's timer for idle transactions off.
        Cursor(held).execute(_beginning(tuple(unsaid.items())), prepare=False)
        try:
            yield
            held.commit()
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                held.rollback()
            raise

    def _opened(self) -> Pool:
        with self._opening:
            if not self._known:
                # Not by the pool, which would wait for a server that does not answer.
                with contextlib.closing(connect(self.conninfo, self.settings)) as first, as_refusals(self.conninfo):
                    self.direct = first.direct
                    begin_incarnation(first)
                self._known = True
            if self._shares is not None:
                return self._shares._bounded_pool()
            return self._bounded_pool()

    def _bounded_pool(self) -> Pool:
        with _POOLS:
            if self._pool is None:
                self._pool = Pool(most=self.settings.pool_max, patience_s=self.settings.connect_timeout_s)
            return self._pool

    def _login(self, authority: Authority) -> TrackedConnection:
        """A connection of this authority; or, behind a pooler, one that takes it in each transaction."""
        if not self.direct:
            return connect(self.conninfo, self.settings)
        wanted = identity(authority, self._actor, None)
        try:
            held = connect(self.conninfo, self.settings, wanted)
        except ServerRefused as refusal:
            # A refused login has no SQLSTATE. A transaction shows whether it is because of the role.
            plain = self._asked_plainly(authority)
            if self.settings.pooler != "auto" or "startup parameter" not in refusal.happened:
                plain.close()
                raise
            self.direct = False
            return plain
        if _has(held, wanted):
            held.authority = authority
        elif self.settings.pooler == "auto":  # a pooler dropped our settings
            self.direct, held.direct = False, False
        else:
            held.close()
            raise ServerRefused(
                "session_not_ours",
                f"A pooler in front of the server at {where(self.conninfo)} drops the settings of a login.",
                "Set RECOUP_POOLER to transaction, or to auto.",
            )
        return held

    def _asked_plainly(self, authority: Authority) -> TrackedConnection:
        plain = connect(self.conninfo, self.settings)
        try:
            with self._begun(plain, {"role": authority.role}):
                pass
        except BaseException:
            plain.close()
            raise
        return plain


@contextlib.contextmanager
def _open_here(held: TrackedConnection, afterwards: list[Callable[[], object]]) -> Iterator[None]:
    held.afterwards, held.server_pid = afterwards, None
    OPEN.set((*OPEN.get(), held))
    try:
        yield
    finally:
        OPEN.set(tuple(one for one in OPEN.get() if one is not held))


def identity(authority: Authority, actor: Actor, reason: str | None) -> dict[str, str]:
    """The settings that say who acts, under which authority, and why."""
    who = {"role": authority.role, "recoup.actor_kind": actor.kind, "recoup.actor_id": actor.id}
    limited = {} if actor.hub is None else {"recoup.hub": actor.hub}
    return who | limited | {"recoup.reason": in_words(reason or "")}


@lru_cache(maxsize=1000)
def _beginning(unsaid: tuple[tuple[str, str], ...]) -> str:
    begin = "begin isolation level read committed"
    return f"{begin}; select {configured(dict(unsaid), 'true')}" if unsaid else begin


def _has(held: TrackedConnection, wanted: dict[str, str]) -> bool:
    """Whether its session has the requested settings. If so, what we depend on is pinned in it."""
    role, *names = wanted
    asked = ", ".join(f"pg_catalog.current_setting('{name}', true)" for name in names)
    pins = configured(pinned(held.info.server_version), f"current_user <> '{wanted[role]}'")
    row = Cursor(held).execute(f"select current_user, {asked}, {pins}".encode(), prepare=False).fetchone()
    return row is not None and row[: len(wanted)] == tuple(wanted.values())


def connect(conninfo: str, settings: Settings, given: dict[str, str] | None = None) -> TrackedConnection:
    """One connection in autocommit, with bounded waits, to a server that is new enough; or a refusal.

    What we depend on is pinned in its session, or where that is a pooler's, in each transaction. ``given``: settings
    that it has from its login on, and falls back to.
    """
    known = options_of(conninfo)
    options = without_reader(str(known.get("options", os.environ.get("PGOPTIONS")) or ""))
    if given is not None:
        options = " ".join((options, *startup_options(given | waits(settings)))).strip()
    try:
        connection = TrackedConnection.connect(
            make_conninfo(
                conninfo,
                connect_timeout=known.get("connect_timeout") or settings.connect_timeout_s,
                application_name=known.get("application_name") or "recoup",
                client_encoding="UTF8",
                options=options,
            ),
            autocommit=True,
            cursor_factory=TrackedCursor,
        )
    except psycopg.Error as error:
        raise unreachable(conninfo, error) from error
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        connection.close()
        raise ServerRefused(
            "server_too_old",
            f"The server at {where(conninfo)} is PostgreSQL {version // 10000}; Recoup needs 15 or later.",
            "Point RECOUP_DSN at a newer server, or unset it to use the embedded one.",
            server_version=version, oldest=OLDEST_SERVER,
        )  # fmt: skip
    connection.adapters.register_dumper(timedelta, Length)
    connection.since = connection.used = connection.own_used = time.monotonic()
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    if given is None:
        connection.direct = _bounded(connection, settings)
    if not connection.direct:
        connection.prepare_threshold = None  # statements prepared in one session do not exist in the next
    return connection


def _bounded(connection: TrackedConnection, settings: Settings) -> bool:
    """Bound its waits and pin what we depend on, if the session is ours.

    A pooler's is detected by its process, which is not the one that the login reported.
    """
    if settings.pooler == "transaction":
        return False
    pid = connection.info.backend_pid if settings.pooler == "auto" else None
    bounds = configured(waits(settings) | pinned(connection.info.server_version), "false")
    query = f"select {bounds} where %s::integer is null or pg_catalog.pg_backend_pid() = %s"
    return Cursor(connection).execute(query.encode(), (pid, pid), prepare=False).rowcount == 1


def begin_incarnation(connection: Transaction) -> None:
    """Detect a restore into another cluster, in a transaction of its own, before a log is read or written."""
    with connection.transaction():
        connection.execute("select set_config('role', %s, true)", (Authority.READER.role,))
        if connection.execute("select to_regproc('recoup.present_incarnation')").fetchone() != (None,):
            connection.execute("select recoup.present_incarnation()")
