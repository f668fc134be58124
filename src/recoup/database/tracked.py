"""A connection that knows its authority, and whether its user changed the session.

Only what can outlive a transaction matters: a setting, a role, a temporary table, a lock of the session, a channel. The
tag of each statement and its text show it, so that a borrower who changed nothing costs the next one nothing. What they
cannot show is a function of somebody's own that changes the session behind a SELECT; ours change transactions only.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import lru_cache
from typing import Any, Self

import psycopg
from psycopg import Connection, Cursor, errors, postgres
from psycopg.abc import Query
from psycopg.adapt import Dumper
from psycopg.pq import Format, TransactionStatus
from psycopg.rows import tuple_row
from psycopg.sql import Composable

from recoup.database.session import pinning, pinning_locally
from recoup.lifecycles.declaration import Authority
from recoup.refusals import TransactionLost

Row = tuple[Any, ...]

_PLAIN = {"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "LOCK"}
_CHANGES_SESSION = re.compile(
    r"\bset_config\"?\s*\((?![^()]*,\s*true\s*\))"  # not for the transaction alone
    r"|advisory_lock"
    r"|;\s*\S",  # several statements, of which only one tag is seen
    re.IGNORECASE,
)
# DISCARD ALL except for prepared statements: they are the driver's, and hold no state.
_CLEAN = (
    "close all; unlisten *; select pg_advisory_unlock_all(); reset session authorization; reset role; reset all;"
    " discard temp"
)


class Length(Dumper):
    """A length of time in microseconds, without days: a day of the session's time zone can have 23 or 25 hours."""

    format = Format.BINARY
    oid = postgres.types["interval"].oid

    def dump(self, obj: timedelta) -> bytes:
        return struct.pack(">qii", obj // timedelta(microseconds=1), 0, 0)


class TrackedConnection(Connection[Row]):
    """A connection of ours, in autocommit."""

    direct = True  # no pooler between: the session is ours from login to end
    authority: Authority | None = None  # its own; None: it takes one in each transaction
    login: str = ""  # whose it is, in a pool of several logins
    since = used = own_used = 0.0  # when it logged in, was used, was used by its own authority
    changed = False  # something may be left in the session
    statements_left: int | None = None  # that may still be sent; None: any number
    afterwards: list[Callable[[], object]]  # called when its transaction has ended, committed or not
    server_pid: int | None = None  # of its transaction, where a pooler is between and somebody asked
    failed = ""  # the message of the last statement that failed

    def cursor(self, *args: Any, **given: Any) -> Any:
        if args or given.get("name"):
            self.changed = True  # a cursor of the server's may be held beyond its transaction
        return super().cursor(*args, **given)

    def commit(self) -> None:
        """Commit; or refuse, where the server would silently answer COMMIT with a rollback."""
        self._refuse_lost()
        super().commit()

    @contextlib.contextmanager
    def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> Iterator[psycopg.Transaction]:
        """As the driver's, but for a block that ends well although its transaction cannot."""
        outermost = self.pgconn.transaction_status == TransactionStatus.IDLE
        with super().transaction(savepoint_name, force_rollback) as block:
            if outermost and not self.direct:
                Cursor(self).execute(pinning_locally(self.info.server_version).encode(), prepare=False)
            yield block
            if not force_rollback:
                self._refuse_lost()

    def _refuse_lost(self) -> None:
        if self.pgconn.transaction_status == TransactionStatus.INERROR and self.statements_left is None:
            raise TransactionLost(
                "transaction_lost",
                f"An error was caught within the transaction, which ended with it: {self.failed}",
                "Nothing of the block was kept. Let the error leave the block; or try what may fail within"
                " `with tx.transaction():`, a savepoint, and catch the error around that.",
                failed=self.failed,
            )

    def cleaned(self) -> bool:
        """Reset the session to its state after login. False: it cannot be used any more."""
        try:
            if self.closed or not self.autocommit:
                return False
            if self.pgconn.transaction_status != TransactionStatus.IDLE:
                self.rollback()
            if self.changed and self.direct:
                Cursor(self).execute(f"{_CLEAN}; {pinning(self.info.server_version)}".encode(), prepare=False)
        except psycopg.Error:
            return False
        self.changed, self.row_factory = False, tuple_row
        return True


class TrackedCursor(Cursor[Row]):
    """A cursor that detects changes of the session, and ends the transaction of a single statement."""

    def execute(self, query: Query, *args: Any, **given: Any) -> Self:
        held = self.connection
        assert isinstance(held, TrackedConnection)
        if held.statements_left == 0:
            raise psycopg.ProgrammingError("This transaction is one statement, and it is done.")
        try:
            super().execute(query, *args, **given)
        except psycopg.Error as error:
            if not isinstance(error, errors.InFailedSqlTransaction):  # which only repeats the one before it
                held.failed = error.diag.message_primary or str(error)
            raise
        if (self.statusmessage or "").partition(" ")[0] not in _PLAIN or _changes_session(_text(query)):
            held.changed = True
        if held.statements_left is not None:
            held.statements_left -= 1
            if held.pgconn.transaction_status != TransactionStatus.IDLE:
                held.commit()  # committed when it returns
        return self

    def executemany(self, *args: Any, **given: Any) -> None:
        self._any_number()
        super().executemany(*args, **given)

    def stream(self, *args: Any, **given: Any) -> Any:
        self._any_number()
        return super().stream(*args, **given)

    def _any_number(self) -> None:
        held = self.connection
        assert isinstance(held, TrackedConnection)
        if held.statements_left is not None:
            raise psycopg.ProgrammingError("This transaction is one statement: use execute.")
        held.changed = True


def _text(query: Query) -> str:
    if isinstance(query, Composable):
        return query.as_string()
    return query.decode(errors="replace") if isinstance(query, bytes) else str(query)


@lru_cache(maxsize=2000)
def _changes_session(text: str) -> bool:
    return _CHANGES_SESSION.search(text) is not None
