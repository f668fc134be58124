"""The scratch database of a workload: migrated, and always dropped at the end."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from recoup.database import access
from recoup.database.connection import Database, Transaction, connect
from recoup.database.queries import load
from recoup.domains import DOMAINS
from recoup.refusals import ServerRefused
from recoup.schema.migrate import migrate
from recoup.settings import Settings
from recoup_bench.machine import processor_us
from recoup_bench.measure import OURS, RAW

PREFIX = "recoup_bench_"
WORKER = "bench"  # not the login's name: results and rows contain no personal names
Q = load("recoup_bench", "ground.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """Our tables that raw gets copies of: the same without triggers and foreign keys."""

    schema: str  # of ours
    tables: tuple[str, ...]
    tally: SQL  # rows by table and status, of one schema
    more: SQL | None = None  # what raw has that ours keeps elsewhere
    new: str  # which rows a copy takes, and the order in which they were made: both sides have the same order on disk

    @property
    def names(self) -> list[str]:
        return [f"{self.schema}.{table}" for table in self.tables]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A scratch database: ours with its guards and roles, raw without them, one connection each."""

    conninfo: str  # as the administrator; what a peer gets
    ours: Database
    raw: Transaction  # autocommit, cached plans: one statement is one transaction and one round trip
    admin: Transaction

    def by_hand(self, query: SQL, **given: Any) -> list[tuple[Any, ...]]:
        """A statement of raw's side, whose plan is cached from its first use on."""
        return self.raw.execute(query, given, prepare=True).fetchall()

    def make_raw(self, domain: Twins) -> None:
        """Make raw's tables. Without them a domain has one side only."""
        self.admin.execute("create schema raw")
        for (statement,) in self.admin.execute(Q["make_twins"], {"tables": domain.names}).fetchall():
            self.admin.execute(statement)
        if domain.more is not None:
            self.admin.execute(domain.more)

    def copy(self, domain: Twins, given: Mapping[str, Any]) -> None:
        """Copy the rows of ours to raw."""
        if RAW in self._sides(domain):
            for (statement,) in self.admin.execute(Q["copy"], {"tables": domain.names}).fetchall():
                self.admin.execute(statement + domain.new, given)

    def tidy(self, domain: Twins) -> None:
        """Vacuum and analyse both sides alike, so that both are planned with statistics of the same age."""
        for schema in self._sides(domain).values():
            for table in domain.tables:
                self.admin.execute(SQL("vacuum (analyze) {}").format(Identifier(schema, table)))

    def tallies(self, domain: Twins) -> dict[str, dict[str, int]]:
        """The rows of each side, by what they must agree on."""
        return {
            side: dict(self.admin.execute(domain.tally.format(schema=Identifier(schema))).fetchall())
            for side, schema in self._sides(domain).items()
        }

    def processor_us(self, side: str) -> float:
        """How long the server's processes have worked for a side; 0 where that cannot be seen."""
        raw, admin = self.raw.info.backend_pid, self.admin.info.backend_pid
        if side == RAW:
            return processor_us(raw)
        # Those of peers do nothing meanwhile.
        return sum(processor_us(pid) for (pid,) in self.admin.execute(Q["backends"], {"but": [raw, admin]}))

    def read_wal(self) -> None:
        """Prepare to measure the WAL, and keep checkpoints from removing it meanwhile."""
        try:
            self.admin.execute("create extension pg_walinspect")
            self.admin.execute(Q["hold_wal"])
        except errors.Error as error:
            raise ServerRefused(
                "bench_needs_wal",
                f"The server cannot measure how much WAL a unit writes: {error}",
                "Install pg_walinspect, one of PostgreSQL's contrib modules, and a free replication slot; or unset "
                "RECOUP_DSN to measure on the embedded server.",
            ) from error

    def wal_position(self) -> str:
        """Where the WAL ends."""
        (position,) = self.admin.execute(Q["wal_position"]).fetchone() or ("",)
        return str(position)

    def wal_metrics(self, since: str, *, units: int) -> dict[str, float]:
        """What was written since then per unit. Full-page images come from checkpoints and are counted separately."""
        ((records, images, commits),) = self.admin.execute(Q["wal_since"], {"since": since}).fetchall()
        written = {"wal_bytes": records, "wal_image_bytes": images, "commits": commits}
        return {name: float(value) / units for name, value in written.items()}

    def _sides(self, domain: Twins) -> dict[str, str]:
        (raw,) = self.admin.execute(Q["raw_made"]).fetchone() or (0,)
        return {OURS: domain.schema} | ({RAW: "raw"} if raw else {})

    @contextlib.contextmanager
    def unguarded(self, tables: Sequence[str]) -> Iterator[Transaction]:
        """A transaction in which these have no triggers, for filling them; afterwards they are as they were."""
        given = {"tables": list(tables)}
        with self.admin.transaction():
            before = self.admin.execute(Q["triggers"], given).fetchall()
            self.admin.execute("set local session_replication_role = replica")  # foreign keys: our rows are right
            for table in tables:
                self.admin.execute(SQL("alter table {} disable trigger user").format(Identifier(*table.split("."))))
            yield self.admin
            for schema, table, trigger, fires in before:
                enable = SQL("alter table {} enable {} trigger {}")
                self.admin.execute(enable.format(Identifier(schema, table), SQL(fires), Identifier(trigger)))
            assert self.admin.execute(Q["triggers"], given).fetchall() == before, "the guards are not as they were"


@contextlib.contextmanager
def migrated(settings: Settings) -> Iterator[str]:
    """A migrated database, for workloads to copy: that takes a thirtieth of the time of migrating."""
    with _created(settings) as name:
        with _administered(settings, name) as admin:
            migrate(admin, DOMAINS, login=access.login(settings))
        yield name


@contextlib.contextmanager
def scratch(
    settings: Settings, *, template: str | None = None, simulated_from: datetime | None = None
) -> Iterator[Ground]:
    """A migrated database for the bench, on the server of the settings: a copy of the template, if it is given."""
    settings = replace(settings, actor=WORKER, pool_max=4, statement_timeout_ms=0, idle_in_transaction_timeout_ms=0)
    with contextlib.ExitStack() as stack:
        name = stack.enter_context(_created(settings, template=template))
        admin = stack.enter_context(_administered(settings, name))
        if template is None:
            migrate(admin, DOMAINS, login=access.login(settings), simulated_from=simulated_from)
        ours = stack.enter_context(Database(make_conninfo(access.uri(settings), dbname=name), settings))
        raw = stack.enter_context(_administered(settings, name))
        raw.execute("set plan_cache_mode = force_generic_plan")  # as our functions have it; see docs/explain/speed.md
        yield Ground(conninfo=_conninfo(settings, name), ours=ours, raw=raw, admin=admin)


@contextlib.contextmanager
def _created(settings: Settings, *, template: str | None = None) -> Iterator[str]:
    """The name of a new database, which is dropped at the end."""
    name = PREFIX + uuid.uuid4().hex[:12]
    with access.administration(settings) as home:
        _check_rights(home)
        copied = Identifier(template or "template1")
        home.execute(SQL("create database {} template {}").format(Identifier(name), copied))
        try:
            yield name
        finally:
            home.execute(SQL("drop database if exists {} with (force)").format(Identifier(name)))


def _administered(settings: Settings, name: str) -> contextlib.closing[Transaction]:
    return contextlib.closing(connect(_conninfo(settings, name), settings))


def _conninfo(settings: Settings, name: str) -> str:
    return make_conninfo(access.uri(settings, admin=True), dbname=name)


def _check_rights(connection: Transaction) -> None:
    (superuser,) = connection.execute(Q["superuser"]).fetchone() or (False,)
    if not superuser:
        raise ServerRefused(
            "bench_needs_superuser",
            f"The login {connection.info.user} is no superuser; the bench creates databases and fills guarded tables.",
            "Unset RECOUP_DSN to measure on the embedded server, or set RECOUP_ADMIN_DSN to a superuser's login.",
            login=connection.info.user,
        )
