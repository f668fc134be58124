"""A caller's own connection, used for one call of ours and given back as it was.

Around our statements the connection has the authority's role, the actor, and the settings that they depend on. Then it
has what the caller had before: role, search path, time zone, row factory. All of it is inside a savepoint: a refusal
rolls back what we did, and leaves the caller's transaction as it was.

Nothing is committed here: what we write commits with the caller's own writes. On a connection in autocommit, outside a
transaction, the call is a transaction of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache
from typing import Any, cast

import psycopg
from psycopg import Connection, Cursor, errors
from psycopg.adapt import AdaptersMap
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row
from psycopg.sql import SQL, Identifier, Literal

from recoup.database.connection import Actor, Transaction, identity
from recoup.database.failures import as_refusals
from recoup.database.session import PINNED, configured
from recoup.database.tracked import Length, Row
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, MigrationRefused

PAGE = "docs/howto/ask-before-you-promote.md"
ADAPTERS = AdaptersMap(psycopg.adapters)
ADAPTERS.register_dumper(timedelta, Length)
# Not the isolation of later transactions, which is the caller's own choice and means nothing within this one.
_OURS = {name: value for name, value in PINNED.items() if name != "default_transaction_isolation"}
_BACK = "rollback to savepoint recoup_call; release savepoint recoup_call"


class OwnCursor(Cursor[Row]):
    """A cursor whose values are read as ours are, whatever the caller's connection has registered."""

    @property
    def adapters(self) -> AdaptersMap:
        return ADAPTERS


@contextlib.contextmanager
def borrowed(
    connection: Connection[Any], authority: Authority, *, actor: Actor, reason: str | None = None, locks: bool = False
) -> Iterator[Transaction]:
    """The caller's connection, under one authority, until the end of the block.

    Leaves through an exception: what the block wrote is rolled back, the caller's transaction continues. ``locks``: the
    call takes a lock that ends with the transaction, so it is refused where there is none.
    """
    check_usable(connection, locks=locks)
    idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
    own = connection.transaction() if idle and connection.autocommit else contextlib.nullcontext()
    with _refusals(connection, authority), own, _own_rows(connection):
        before = _entered(connection, identity(authority, actor, reason) | _OURS, authority)
        try:
            yield cast("Transaction", connection)
            _send(connection, _leaving(before))
        except BaseException:
            with contextlib.suppress(psycopg.Error):  # a lost connection has nothing to go back to
                _send(connection, _BACK)
            raise


def check_usable(connection: Any, *, locks: bool) -> None:
    """Refuse a connection on which our statements would fail, or mean nothing."""
    status, pgconn = connection.pgconn.transaction_status, connection.pgconn
    if status == TransactionStatus.INERROR:
        raise InputRefused(
            "transaction_failed",
            "A statement failed earlier in this transaction, and PostgreSQL accepts no other until it is rolled back.",
            "Roll it back, or run what may fail within `with connection.transaction():`, a savepoint.",
        )
    if pgconn.pipeline_status != PipelineStatus.OFF:
        raise InputRefused(
            "connection_in_pipeline",
            "The connection is in pipeline mode, in which results come later.",
            "Call Recoup outside `with connection.pipeline():`.",
        )
    if locks and connection.autocommit and status == TransactionStatus.IDLE:
        raise InputRefused(
            "lock_outside_transaction",
            "The connection is in autocommit: the lock would be released before anything is promoted.",
            "Ask within `with connection.transaction():`, and promote in the same block.",
            page=PAGE,
        )


@contextlib.contextmanager
def _refusals(connection: Connection[Any], authority: Authority) -> Iterator[None]:
    try:
        yield
    except psycopg.Error:
        if connection.closed:
            raise
        with as_refusals(connection.info.dsn, authority.role):  # here only: entering it takes half a millisecond
            raise


@contextlib.contextmanager
def _own_rows(connection: Connection[Any]) -> Iterator[None]:
    before = connection.row_factory, connection.cursor_factory
    connection.row_factory, connection.cursor_factory = tuple_row, OwnCursor
    try:
        yield
    finally:
        connection.row_factory, connection.cursor_factory = before


def _entered(connection: Connection[Any], wanted: dict[str, str], authority: Authority) -> tuple[tuple[str, str], ...]:
    """Give the connection these settings, behind a savepoint. Returns those that differed, with their values before."""
    try:
        cursor = _send(connection, _entering(tuple(wanted.items())))
    except psycopg.Error as error:
        with contextlib.suppress(psycopg.Error):
            _send(connection, _BACK)
        if isinstance(error, errors.InsufficientPrivilege):
            raise _may_not_act(connection, authority) from error
        raise
    cursor.nextset()  # behind the savepoint's
    return tuple((name, before) for name, before, _ in cursor.fetchall())


@lru_cache(maxsize=1000)
def _entering(wanted: tuple[tuple[str, str], ...]) -> str:
    values = SQL(", ").join(SQL("({}, {})").format(Literal(name), Literal(value)) for name, value in wanted)
    # Only what differs is set. Materialized: read before anything is set.
    query = SQL(
        "savepoint recoup_call; with before as materialized (select w.name, w.wanted,"
        " coalesce(pg_catalog.current_setting(w.name, true), '') as present from (values {}) w (name, wanted))"
        " select b.name, b.present, pg_catalog.set_config(b.name, b.wanted, true) from before b"
        " where b.present operator(pg_catalog.<>) b.wanted"
    )
    return query.format(values).as_string()


@lru_cache(maxsize=1000)
def _leaving(before: tuple[tuple[str, str], ...]) -> str:
    return f"select {configured(dict(before), 'true')}; release savepoint recoup_call"


def _send(connection: Connection[Any], statements: str) -> Cursor[Row]:
    """Several statements in one message."""
    return connection.cursor().execute(statements.encode(), prepare=False)


def _may_not_act(connection: Connection[Any], authority: Authority) -> MigrationRefused:
    login, role = connection.info.user, authority.role
    how = " with inherit false, set true" if connection.info.server_version >= 160000 else ""
    grant = SQL("grant {} to {}").format(Identifier(role), Identifier(login)).as_string()
    return MigrationRefused(
        "login_lacks_authority",
        f"The login {login} is not a member of {role}, so it cannot act for Recoup.",
        f"As an administrator: {grant}{how}; Then try again. {PAGE} explains it.",
        login=login, role=role,
    )  # fmt: skip
