"""The ground a workload runs on: a scratch database of its own, migrated, and dropped at the end whatever happens."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Composed, Identifier

from recoup.database import access
from recoup.database.connection import Database, Transaction, connect
from recoup.database.migrate import migrate
from recoup.database.queries import load
from recoup.refusals import ServerRefused
from recoup.settings import Settings

PREFIX = "recoup_bench_"
TABLES = ("gate_zero_batch", "gate_zero_intake", "gate_zero_attempt", "gate_zero_recovery", "gate_zero_air")
GATE_ZERO = tuple(f"cl.{table}" for table in TABLES)
ACTOR = "bench"  # and not the login's name: results and rows name nobody
Q = load("recoup_bench", "ground.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A scratch database: ours behind its guards and roles, raw beside it, one connection each."""

    name: str
    conninfo: str  # as the administrator; what a peer gets
    ours: Database
    raw: Transaction  # autocommit: one statement is one transaction and one round trip
    admin: Transaction

    def twin_tables(self) -> None:
        """Make raw's tables: columns, checks, defaults, indexes and fill factor alike; no foreign keys, no triggers."""
        self.admin.execute("create schema raw")
        for table in TABLES:
            self.admin.execute(SQL("create table {} (like {} including all)").format(_raw(table), _ours(table)))
            # LIKE leaves out storage parameters.
            self.admin.execute(SQL("alter table {} set (fillfactor = {})").format(_raw(table), self._fillfactor(table)))

    def _fillfactor(self, table: str) -> int:
        row = self.admin.execute(Q["fillfactor"], {"table": f"cl.{table}"}).fetchone()
        return int(row[0]) if row else 100

    def copy_to_raw(self, table: str, *, batch_id: str | None = None) -> None:
        """Give raw the rows that ours has: all, or those of one import batch."""
        self.admin.execute(
            Q["copy"].format(raw=_raw(table), ours=_ours(table), columns=self.columns(f"cl.{table}")),
            {"batch_id": batch_id},
        )

    def tidy(self, *, raw: bool = True) -> None:
        """Vacuum and analyse both sides alike, so that neither is planned on older figures than the other."""
        for table in TABLES:
            self.vacuum(_ours(table))
            if raw:
                self.vacuum(_raw(table))

    def vacuum(self, table: Identifier) -> None:
        self.admin.execute(SQL("vacuum (analyze) {}").format(table))

    def append_events(self, rows: int, *, transactions: int) -> None:
        """Put events into Gate Zero's log, without their moves: for workloads that read it."""
        for _ in range(transactions):
            with self.unguarded() as tx:
                tx.execute(Q["append_events"], {"rows": rows // transactions})
        self.vacuum(_ours("gate_zero_air"))

    @contextlib.contextmanager
    def unguarded(self, tables: Sequence[str] = GATE_ZERO) -> Iterator[Transaction]:
        """A transaction in which these have no triggers, for filling them; afterwards they are as they were."""
        given = {"tables": list(tables)}
        with self.admin.transaction():
            before = self.admin.execute(Q["triggers"], given).fetchall()
            self.admin.execute("set local session_replication_role = replica")  # foreign keys: our rows are right
            for table in tables:
                self.admin.execute(SQL("alter table {} disable trigger user").format(Identifier(*table.split("."))))
            yield self.admin
            for schema, table, trigger in before:
                self.admin.execute(
                    SQL("alter table {} enable always trigger {}").format(
                        Identifier(schema, table), Identifier(trigger)
                    )
                )
            assert self.admin.execute(Q["triggers"], given).fetchall() == before, "the guards are not as they were"

    def columns(self, table: str) -> Composed:
        """The columns of a table that can be written."""
        found = self.admin.execute(Q["columns"], {"table": table}).fetchall()
        return SQL(", ").join(Identifier(column) for (column,) in found)


def _ours(table: str) -> Identifier:
    return Identifier("cl", table)


def _raw(table: str) -> Identifier:
    return Identifier("raw", table)


@contextlib.contextmanager
def scratch(settings: Settings, *, simulated_from: datetime | None = None) -> Iterator[Ground]:
    """A migrated database of the bench's own, on the server of the settings."""
    settings = replace(settings, actor=ACTOR, pool_max=1, statement_timeout_ms=0, idle_in_transaction_timeout_ms=0)
    name = PREFIX + uuid.uuid4().hex[:12]
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(access.administration(settings))
        _check_rights(home)
        home.execute(SQL("create database {}").format(Identifier(name)))
        stack.callback(home.execute, SQL("drop database if exists {} with (force)").format(Identifier(name)))
        conninfo = make_conninfo(access.uri(settings, admin=True), dbname=name)
        admin = stack.enter_context(contextlib.closing(connect(conninfo, settings)))
        migrate(admin, login=access.login(settings), simulated_from=simulated_from)
        yield Ground(
            name=name,
            conninfo=conninfo,
            ours=stack.enter_context(Database(make_conninfo(access.uri(settings), dbname=name), settings)),
            raw=stack.enter_context(contextlib.closing(connect(conninfo, settings))),
            admin=admin,
        )


def _check_rights(connection: Transaction) -> None:
    (superuser,) = connection.execute(Q["superuser"]).fetchone() or (False,)
    if not superuser:
        raise ServerRefused(
            "bench_needs_superuser",
            f"The login {connection.info.user} is no superuser; the bench makes a database and fills guarded tables.",
            "Unset RECOUP_DSN to measure on the embedded server, or set RECOUP_ADMIN_DSN to a superuser's login.",
            login=connection.info.user,
        )
