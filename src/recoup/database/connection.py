"""Connections: one pool, one way into a transaction, and clear words when a server cannot be used.

Every change happens inside :meth:`Database.transaction`, under one authority. The authority is the transaction's
database role, so it cannot be claimed by writing its name; forgetting it means having no rights. What the database
refuses comes out as a :class:`~recoup.refusals.Refusal`.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL

from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused, MigrationRefused, Refusal, ServerRefused, from_database
from recoup.settings import Settings

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

OLDEST_SERVER = 150000
TRUSTED_S = 1.0  # a connection used so lately is taken for granted; if it broke meanwhile, one transaction fails

Row = tuple[Any, ...]
Transaction = Connection[Row]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, as the logs name them: a kind (system, ai, human) and an id."""

    kind: str
    id: str


class Database:
    """One database: hands out transactions from a pool. Safe to share between threads."""

    def __init__(self, conninfo: str, settings: Settings) -> None:
        self.conninfo = conninfo
        self.settings = settings
        self._pool: ConnectionPool[Transaction] | None = None
        self._opening = threading.Lock()
        self._used: WeakKeyDictionary[Transaction, float] = WeakKeyDictionary()

    @contextlib.contextmanager
    def transaction(
        self, authority: Authority, *, actor: Actor | None = None, reason: str | None = None
    ) -> Iterator[Transaction]:
        """One transaction under one authority. Commits at the end of the block, rolls back on any exception."""
        actor = actor or Actor("system", self.settings.actor)
        with _as_refusals(self.conninfo), self._opened().connection() as connection:
            connection.execute(_begun(authority, actor, reason))
            yield connection

    def _opened(self) -> ConnectionPool[Transaction]:
        with self._opening:
            if self._pool is None:
                self._pool = self._opened_pool()
            return self._pool

    def _opened_pool(self) -> ConnectionPool[Transaction]:
        from psycopg_pool import ConnectionPool

        # The first connection is made here and not by the pool, whose own complaint would be a bare timeout.
        with contextlib.closing(connect(self.conninfo, self.settings)) as connection, _as_refusals(self.conninfo):
            begin_incarnation(connection)
        return ConnectionPool(
            self.conninfo,
            kwargs={"autocommit": True, "connect_timeout": self.settings.connect_timeout_s},
            configure=lambda connection: bound_waits(connection, self.settings),
            check=self._check,
            min_size=1,
            max_size=self.settings.pool_max,
            timeout=self.settings.connect_timeout_s,
            open=True,
            name="recoup",
        )

    def _check(self, connection: Transaction) -> None:
        """Before a connection is handed out: is it still there? Not asked of one that was used a moment ago."""
        now, used = time.monotonic(), self._used.get(connection, float("-inf"))
        if now - used > TRUSTED_S:
            connection.execute("")
        self._used[connection] = now

    def close(self) -> None:
        """Give the connections back. The object can be used again."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@lru_cache(maxsize=1000)
def _begun(authority: Authority, actor: Actor, reason: str | None) -> str:
    """BEGIN, the role and the actor, in one message.

    Not as a pipeline: what ends one leaves the server's timer for idle transactions off.
    """
    told = {"role": authority.role, "recoup.actor_kind": actor.kind, "recoup.actor_id": actor.id}
    told["recoup.reason"] = reason or ""
    settings = (SQL("set_config({}, {}, true)").format(name, value) for name, value in told.items())
    return SQL("begin; select {}").format(SQL(", ").join(settings)).as_string()


def connect(conninfo: str, settings: Settings) -> Transaction:
    """One connection in autocommit, with bounded waits, to a server that is new enough; or a refusal."""
    given = options_of(conninfo)
    try:
        timeout = given.get("connect_timeout") or settings.connect_timeout_s
        name = given.get("application_name") or "recoup"
        connection = psycopg.connect(
            make_conninfo(conninfo, connect_timeout=timeout, application_name=name), autocommit=True
        )
    except psycopg.Error as error:
        raise _unreachable(conninfo, error) from error
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        connection.close()
        raise ServerRefused(
            "server_too_old",
            f"The server at {where(conninfo)} is PostgreSQL {version // 10000}; Recoup needs 15 or later.",
            "Point RECOUP_DSN at a newer server, or unset it to use the embedded one.",
            server_version=version, oldest=OLDEST_SERVER,
        )  # fmt: skip
    bound_waits(connection, settings)
    return connection


def begin_incarnation(connection: Transaction) -> None:
    """Notice a restore into another cluster, in a transaction of its own, before anyone writes or reads a log."""
    with connection.transaction():
        connection.execute("select set_config('role', %s, true)", (Authority.READER.role,))
        if connection.execute("select to_regproc('recoup.present_incarnation')").fetchone() != (None,):
            connection.execute("select recoup.present_incarnation()")


def options_of(conninfo: str) -> dict[str, str | int | None]:
    """A connection string taken apart, or a refusal that does not repeat its password."""
    try:
        return dict(conninfo_to_dict(conninfo))
    except psycopg.ProgrammingError as error:
        raise ServerRefused(
            "dsn_unreadable",
            # Not what libpq quotes: it may be the password.
            f"RECOUP_DSN is not a connection string: {' '.join(str(error).split()).split(chr(34))[0].strip()}",
            "Write it as postgresql://user:password@host:port/database.",
        ) from error


def bound_waits(connection: Transaction, settings: Settings) -> None:
    """Put a bound on statements, locks and idle transactions: nothing of ours may hold others up for ever."""
    connection.execute(
        "select set_config('statement_timeout', %s, false), set_config('lock_timeout', %s, false),"
        " set_config('idle_in_transaction_session_timeout', %s, false)",
        (
            str(settings.statement_timeout_ms),
            str(settings.lock_timeout_ms),
            str(settings.idle_in_transaction_timeout_ms),
        ),
    )


def where(conninfo: str) -> str:
    """A connection string in words, without its password."""
    parts = options_of(conninfo)
    host = parts.get("host") or "the local socket"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{parts.get('user') or 'the current user'}@{host}{port}/{parts.get('dbname') or ''}"


def _unreachable(conninfo: str, error: psycopg.Error) -> ServerRefused:
    said = " ".join(str(error).split())
    at = where(conninfo)
    # A failed connection carries no SQLSTATE in libpq; its words are the server's own.
    for words, code, next_step in (
        ("password authentication failed", "login_refused", "Check user and password in the connection string."),
        ("no password supplied", "login_refused", "Put the password into the connection string, or a .pgpass file."),
        (r'role ".*" does not exist', "login_refused", "Check the user in the connection string."),
        (r'database ".*" does not exist', "database_missing", "Create the database, or name another one."),
    ):
        if re.search(words, said):
            return ServerRefused(code, f"The server refused the login as {at}: {said}", next_step, at=at)
    return ServerRefused(
        "server_unreachable",
        f"No PostgreSQL server answers as {at}: {said}",
        "Start the server, or correct RECOUP_DSN; unset it to use the embedded server.",
        at=at,
    )


@contextlib.contextmanager
def _as_refusals(conninfo: str) -> Iterator[None]:
    """What the database refuses leaves as a refusal; anything else leaves as it is."""
    try:
        yield
    except Refusal:
        raise
    except errors.InsufficientPrivilege as error:
        raise _lacks_right(conninfo, error) from error
    except (errors.InvalidParameterValue, errors.UndefinedObject) as error:
        if 'role "recoup_' not in str(error):
            raise
        raise MigrationRefused(
            "not_migrated",
            f"The roles of Recoup do not exist on the server at {where(conninfo)}.",
            "Run: recoup migrate",
        ) from error
    except psycopg.Error as error:
        refusal = from_database(error)
        if refusal is None:
            raise
        raise refusal from error


def _lacks_right(conninfo: str, error: errors.InsufficientPrivilege) -> Refusal:
    said = error.diag.message_primary or str(error)
    if "set role" in said:
        return MigrationRefused(
            "login_lacks_authority",
            f"The login {where(conninfo)} may not act for Recoup: {said}.",
            "Run recoup migrate with RECOUP_ADMIN_DSN set to a login that may grant roles.",
        )
    return LawRefused(
        "authority_lacks_right",
        f"This authority has no right to do that: {said}.",
        "docs/lifecycles.md lists which authority may make which move.",
        sqlstate=error.sqlstate,
    )
