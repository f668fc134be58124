"""A server of somebody else, reached through a plain login: no superuser has a hand in anything below.

The tests have servers of their own, because roles belong to a whole server: on one of them Recoup is at home, on the
other it must never appear.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import struct
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, quote

from company import acting, failed_intake, intake_in, new_batch, new_error
from product import RELEASES, apply_policy, check_schema, migrate
from recoup import gate
from recoup.database import embedded
from recoup.database.backup import backup, restore
from recoup.database.connection import Actor, Database, Transaction, connect
from recoup.domain import Domain
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused, MigrationRefused, Refusal, ServerRefused
from recoup.schema import around
from recoup.schema import migrate as migrations
from recoup.schema.describe import SCHEMA_FILE, describe
from recoup.schema.migrate import Migrated
from recoup.settings import Settings
from servers import removed, started

PASSWORD = "it's a password"
SERVER_BIN = Path(os.environ["RECOUP_SERVER_BIN"]) if os.environ.get("RECOUP_SERVER_BIN") else None
WithMigration = Callable[[str], tuple[Domain, ...]]
NOTHING = Migrated(applied=(), routines=(), domains=(), kept=(), policy=None, made=())
SCHEMAS = ["cl", "company", "outreach", "partitions", "people", "recoup", "recovery"]
AROUND = (around.members, around.settings, around.strangers)
ROLES = [f"recoup_{authority}" for authority in Authority] + ["recoup_owner"]


@dataclass(frozen=True)
class Elsewhere:
    """A server that is not ours, with logins on it."""

    server: embedded.Server
    settings: Settings
    templates: list[str] = field(default_factory=list)

    def uri(self, database: str, login: str = "app", password: str = PASSWORD) -> str:
        return make_conninfo(self.server.uri(database, admin=True), user=login, password=password)

    def connect(self, database: str, login: str = "app") -> contextlib.closing[Transaction]:
        return contextlib.closing(connect(self.uri(database, login), self.settings))

    def database(self, *, owner: str = "app") -> str:
        """What an administrator gives: an empty database that belongs to the login."""
        name = f"given_{uuid.uuid4().hex[:8]}"
        self.ask(SQL("create database {} owner {}").format(Identifier(name), Identifier(owner)).as_string())
        return name

    def migrated(self, *, login: str = "app") -> str:
        name = self.database()
        with self.connect(name) as connection:
            migrate(connection, login=login)
        return name

    def copied(self) -> str:
        """A copy of what ``app`` migrated once: the same database in a thirtieth of the time."""
        if not self.templates:
            self.templates.append(self.migrated())
        name = f"given_{uuid.uuid4().hex[:8]}"
        copy = SQL("create database {} owner app template {}")
        self.ask(copy.format(Identifier(name), Identifier(self.templates[0])).as_string())
        return name

    def ask(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """The administrator's word."""
        with psycopg.connect(self.server.uri(database, admin=True), autocommit=True) as admin:
            cursor = admin.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def roles(self) -> list[str]:
        return [str(name) for (name,) in self.ask("select rolname from pg_roles where starts_with(rolname, 'recoup_')")]

    def schemas(self, database: str) -> list[str]:
        found = self.ask("select nspname from pg_namespace where oid >= 16384 order by 1", database)
        return [str(name) for (name,) in found]


@contextlib.contextmanager
def elsewhere() -> Iterator[Elsewhere]:
    settings = Settings(home=Path(tempfile.mkdtemp(prefix="recoup-test-")), actor="tester", server_bin=SERVER_BIN)
    try:
        place = Elsewhere(started(settings), settings)
        for login, rights in {"app": "createrole", "weak": "", "mover": "createrole createdb"}.items():
            place.ask(f"create role {login} login noinherit {rights} password {quote(PASSWORD)}")
        yield place
    finally:
        removed(settings)


@pytest.fixture(scope="module")
def home() -> Iterator[Elsewhere]:
    """The server on which the login ``app`` has made Recoup's roles."""
    with elsewhere() as place:
        place.migrated()
        yield place


@pytest.fixture(scope="module")
def settled(home: Elsewhere) -> str:
    """A database that ``app`` migrates and in which ``weak`` may act too."""
    name = home.migrated()
    with home.connect(name) as connection:
        migrate(connection, login="weak")
    return name


@pytest.fixture(scope="module")
def bare() -> Iterator[Elsewhere]:
    """The server on which everything is refused, so that nothing of Recoup is ever there."""
    with elsewhere() as place:
        yield place
        assert sorted(place.roles()) == ["recoup_admin", "recoup_app"]  # the server's own


@pytest.fixture
def with_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WithMigration]:
    """The domains, and one more whose only migration is this."""

    def make(sql: str) -> tuple[Domain, ...]:
        folder = tmp_path / "one_more" / "migrations"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").touch()
        (folder / "0999_more.sql").write_text(sql)
        monkeypatch.syspath_prepend(tmp_path)
        return (*DOMAINS, Domain(name="one more", package="one_more", description="for a test", release=1))

    yield make
    sys.modules.pop("one_more", None)


def refused(kind: type[Refusal], code: str, attempt: Callable[[], object]) -> Refusal:
    with pytest.raises(kind) as caught:
        attempt()
    assert caught.value.code == code
    assert caught.value.happened
    assert caught.value.next_step
    assert PASSWORD not in caught.value.happened + caught.value.next_step
    return caught.value


# What a plain login can do -------------------------------------------------------------------------------------------


def test_a_plain_login_migrates_and_works(home: Elsewhere) -> None:
    """CREATEROLE and a database of its own are enough, for the schema and for every verb."""
    name = home.database()
    with home.connect(name) as connection:
        done = migrate(connection, login="app")
        assert done.applied
        assert migrate(connection, login="app") == NOTHING
        check_schema(connection)
        assert describe(connection) == SCHEMA_FILE.read_text(encoding="utf-8")
    with Database(home.uri(name), home.settings) as database:
        with database.transaction(Authority.HUB) as tx:
            batch = new_batch(tx)
        with database.transaction(Authority.GATE, actor=Actor("human", "ann")) as tx:
            intake = failed_intake(tx, batch_id=batch)
            intake_in(tx, "AUTHORIZED")
        with database.transaction(Authority.OPERATOR) as tx:
            assert gate.pause_batch(tx, batch, reason="a test")
        with database.transaction(Authority.READER) as tx:
            said = [(event.event_type, event.actor, event.actor_id) for event in gate.history(tx, [intake])]
        assert said == [("ATTEMPT", "human", "ann"), ("FAIL", "human", "ann")]
        with pytest.raises(LawRefused) as caught, database.transaction(Authority.HUB) as tx:
            tx.execute("update cl.gate_zero_intake set status = 'AUTHORIZED'")
        assert caught.value.code == "authority_lacks_right"


OWN_TABLE = """
[errors.tables."{}"]
ttl = "SHORT"
default = "RETRY"
allowed = ["RETRY", "ARCHIVE"]
blocks = true
owner = "sales"
archive_years = 1
"""


def test_error_tables_lie_in_schemas_of_others(home: Elsewhere) -> None:
    """In public from the start, and in whichever a policy names: the login that owns it lets Recoup in."""
    name = home.database()
    with home.connect(name) as connection:
        connection.execute("create schema crm; create table crm.customers (x integer)")
        migrate(connection, login="app")
        with connection.transaction(), acting(connection, Authority.OPERATOR):
            apply_policy(connection, OWN_TABLE.format("crm.failures"), reason="a hub of our own")
        assert migrate(connection, login="app") == dataclasses.replace(NOTHING, made=("crm.failures",))
        assert migrate(connection, login="app") == NOTHING
    with Database(home.uri(name), home.settings) as database:
        with database.transaction(Authority.HUB) as tx:
            recorded = [new_error(tx, table=table, want=None) for table in ("public.shq_error_log", "crm.failures")]
        with database.transaction(Authority.READER) as tx:
            read = "select error_id from public.shq_error_log union all select error_id from crm.failures"
            assert tx.execute(read).fetchall() == [(error,) for error in recorded]
        for statement in ("select from crm.customers", "create table public.mine ()", "drop table crm.failures"):
            with pytest.raises(LawRefused), database.transaction(Authority.HUB) as tx:
                tx.execute(statement.encode())


@pytest.mark.parametrize("schema", ["public", "crm"])
def test_a_schema_that_the_login_may_not_lend_is_named(home: Elsewhere, schema: str) -> None:
    """With the words for its owner, and nothing is made. Then it goes on."""
    name = home.database()
    home.ask(f"create schema if not exists {schema}; alter schema {schema} owner to recoup_admin", name)
    home.ask(f"grant usage on schema {schema} to public", name)
    with home.connect(name) as connection:
        if schema != "public":
            migrate(connection, login="app")
            with connection.transaction(), acting(connection, Authority.OPERATOR):
                apply_policy(connection, OWN_TABLE.format("crm.failures"), reason="a hub of our own")
        before = home.schemas(name)
        told = refused(MigrationRefused, "schema_not_lent", lambda: migrate(connection, login="app"))
        assert told.facts == {"schema": schema, "login": "app"}
        assert home.schemas(name) == before
        for said in told.next_step.partition(": ")[2].split(";")[:2]:
            home.ask(said, name)
        assert ("crm.failures" if schema == "crm" else "public.shq_error_log") in migrate(connection, login="app").made


@pytest.mark.parametrize(
    "statement",
    [
        "set role recoup_owner",
        "alter table cl.gate_zero_intake disable trigger a_guard_moves",
        "alter table cl.gate_zero_air disable trigger all",
        "set session_replication_role = replica",
        "drop table cl.gate_zero_air",
        "drop schema cl cascade",
        "alter table cl.gate_zero_air owner to app",
        "create or replace function recoup.guard_moves() returns trigger language plpgsql as 'begin return null; end'",
        "drop function recoup.guard_moves() cascade",
        "create table recoup.mine ()",
        "select * from cl.gate_zero_intake",
        "select * from recoup.migration",
        "insert into cl.gate_zero_intake (company_name) values ('x')",
        "select recoup.present_incarnation()",
        "select nextval('recoup.event_seq')",
    ],
)  # fmt: skip
@pytest.mark.parametrize("login", ["app", "weak"])
def test_the_login_owns_nothing_and_has_no_rights_of_its_own(
    home: Elsewhere, settled: str, login: str, statement: str
) -> None:
    """Membership of the owner ended with the migration; without taking an authority a login can do nothing at all."""
    with home.connect(settled, login) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_the_login_is_no_member_of_the_owner_after_a_migration_failed_either(
    home: Elsewhere, with_migration: WithMigration
) -> None:
    """The membership is part of the transaction that is rolled back."""
    domains = with_migration("create table recoup.half (); select 1 / 0")
    with home.connect(home.database()) as connection:
        with pytest.raises(errors.DivisionByZero):
            migrations.migrate(connection, domains, login="app")
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("set role recoup_owner")


def test_a_membership_that_was_left_behind_ends_with_the_next_migration(home: Elsewhere) -> None:
    """As a backup leaves it that is killed."""
    with home.connect(home.copied()) as connection:
        connection.execute("grant recoup_owner to app")
        connection.execute("set role recoup_owner; reset role")
        migrate(connection, login="app")
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("set role recoup_owner")


def test_what_a_plain_login_has_is_lawful_and_what_it_keeps_is_found(home: Elsewhere) -> None:
    """Who made the roles may grant them, and owns the database: that is how it migrates. To be the owner is more."""
    with home.connect(home.copied()) as connection:

        def found() -> list[str]:
            return [finding.verdict for check in AROUND for finding in check(connection)]

        assert found() == ["ok", "ok", "ok"]
        connection.execute("grant recoup_owner to app")
        assert found() == ["error", "ok", "ok"]
        connection.execute("revoke recoup_owner from app")
        assert found() == ["ok", "ok", "ok"]


def test_a_weaker_login_takes_authorities_and_cannot_migrate(home: Elsewhere, settled: str) -> None:
    """Everyday work needs no right but membership; whoever migrates does so with another login."""
    with Database(home.uri(settled, "weak"), home.settings) as database:
        for authority in Authority:
            with database.transaction(authority) as tx:
                assert tx.execute("select current_user::text").fetchone() == (authority.role,)
        with database.transaction(Authority.GATE) as tx:
            failed_intake(tx)
    with home.connect(settled, "weak") as connection:
        check_schema(connection)
        told = refused(ServerRefused, "login_lacks_rights", lambda: migrate(connection, login="weak"))
        assert "RECOUP_ADMIN_DSN" in told.next_step
        assert told.facts["login"] == "weak"


def test_a_login_without_authorities_is_told_who_can_give_them(home: Elsewhere) -> None:
    """As after a migration for another login."""
    name = home.copied()
    home.ask("create role stranger login noinherit password 'x'")
    with Database(home.uri(name, "stranger", "x"), home.settings) as database:

        def act() -> None:
            with database.transaction(Authority.GATE):
                pass

        assert "RECOUP_ADMIN_DSN" in refused(MigrationRefused, "login_lacks_authority", act).next_step


def test_migrating_for_a_login_that_does_not_exist_is_refused(home: Elsewhere) -> None:
    """A misspelt name is told as such, and nothing is made."""
    name = home.database()
    with home.connect(name) as connection:
        told = refused(MigrationRefused, "login_unknown", lambda: migrate(connection, login="ap"))
    assert "ap" in told.happened
    assert home.schemas(name) == []


# What it is told when it cannot --------------------------------------------------------------------------------------


def test_a_login_that_may_not_create_roles_is_refused(bare: Elsewhere) -> None:
    """With the words an administrator needs. Nothing is made, not even the first role."""
    name = bare.database(owner="weak")
    with bare.connect(name, "weak") as connection:
        told = refused(ServerRefused, "login_lacks_rights", lambda: migrate(connection, login="weak"))
    assert "ALTER ROLE weak CREATEROLE" in told.next_step
    assert bare.schemas(name) == []
    assert sorted(bare.roles()) == ["recoup_admin", "recoup_app"]


@pytest.mark.parametrize("right", ["", "create"])
def test_a_login_that_may_not_create_schemas_is_refused(bare: Elsewhere, right: str) -> None:
    """Nor if it may itself but cannot let the owner. No role is left behind that nobody asked for."""
    name = bare.database(owner="weak")
    if right:
        bare.ask(f"grant {right} on database {name} to app")
    with bare.connect(name) as connection:
        told = refused(ServerRefused, "login_lacks_rights", lambda: migrate(connection, login="app"))
    assert f"ALTER DATABASE {name} OWNER TO app" in told.next_step
    assert bare.schemas(name) == []
    assert sorted(bare.roles()) == ["recoup_admin", "recoup_app"]


def test_a_schema_of_others_is_not_touched(home: Elsewhere) -> None:
    """Of our name: the refusal says so, and nothing of ours is created. Other schemas are adopted."""
    name, schema = home.database(), "recoup"
    with home.connect(name) as connection:
        connection.execute(f"create schema {schema}; create table {schema}.letters ()".encode())
        told = refused(MigrationRefused, "name_taken", lambda: migrate(connection, login="app"))
        assert schema in told.happened
        connection.execute(f"select from {schema}.letters".encode())
    assert home.schemas(name) == [schema]


def test_a_migration_that_was_changed_is_refused(home: Elsewhere, with_migration: WithMigration) -> None:
    """After it was applied, a file is history: a change belongs into a new one."""
    domains = with_migration("create table recoup.later ()")
    with home.connect(home.database()) as connection:
        assert migrations.migrate(connection, domains, login="app").applied[-1] == "0999_more.sql"
        (changed,) = domains[-1].migrations
        path = Path(str(files(changed.package).joinpath(changed.path)))
        path.write_text(path.read_text() + "-- an afterthought\n")
        attempt = lambda: migrations.migrate(connection, domains, login="app")  # noqa: E731
        told = refused(MigrationRefused, "migration_changed", attempt)
    assert told.facts["migration"] == "0999_more.sql"


def test_a_schema_of_a_newer_epoch_is_refused(home: Elsewhere) -> None:
    """By migrate and by everything that looks at the schema first. Both say which release it takes."""
    *others, last = DOMAINS
    newer = (*others, dataclasses.replace(last, epoch=last.epoch + 1, release=last.release + 1))
    with home.connect(home.database()) as connection:
        migrations.migrate(connection, newer, login="app")
        for attempt in (lambda: migrate(connection, login="app"), lambda: check_schema(connection)):
            told = refused(MigrationRefused, "schema_newer", attempt)
            assert (told.facts["domain"], told.facts["release"]) == (last.name, last.release + 1)
            assert str(newer[-1].at) in told.next_step


def test_a_newer_release_of_the_same_epoch_is_kept_and_worked_with(
    home: Elsewhere, with_migration: WithMigration
) -> None:
    """An older program checks, migrates and works; it puts nothing of its own back."""
    *others, last = DOMAINS
    newer = (*others, dataclasses.replace(last, release=last.release + 1, checks=()))
    more = with_migration("create table recoup.later ()")[-1]
    with home.connect(home.database()) as connection:
        migrations.migrate(connection, (*newer, more), login="app")
        connection.execute("set role none")
        schema = describe(connection)
        check_schema(connection)
        assert migrate(connection, login="app") == dataclasses.replace(NOTHING, kept=(newer[-1].at,))
        assert describe(connection) == schema


def test_a_release_that_adds_a_file_and_nothing_else_is_recorded(home: Elsewhere) -> None:
    """Its declarations are those of the release before. Without it every command would ask for a migration."""
    *others, last = DOMAINS
    newer = (*others, dataclasses.replace(last, release=last.release + 1, checks=()))
    with home.connect(home.copied()) as connection:
        done = migrations.migrate(connection, newer, login="app")
        assert done == dataclasses.replace(NOTHING, domains=(newer[-1].at,))
        assert migrations.migrate(connection, newer, login="app") == NOTHING


def test_an_older_program_does_not_put_its_routine_over_a_later_ones(home: Elsewhere) -> None:
    """Where the release is the same and a text differs: it says which version wrote it, and changes nothing."""
    name, file = home.copied(), DOMAINS[-1].routines[0].name
    forged = f"update recoup.routine set checksum = 'another', recoup_version = '{{}}' where name = '{file}'"
    home.ask(forged.format("9.9.9"), name)
    with home.connect(name) as connection:
        told = refused(MigrationRefused, "routine_newer", lambda: migrate(connection, login="app"))
        assert (told.facts["routine"], "9.9.9" in told.next_step) == (file, True)
        assert home.ask(f"select checksum from recoup.routine where name = '{file}'", name) == [("another",)]
        home.ask(forged.format("0.0.9"), name)
        assert migrate(connection, login="app").routines == (file,)


@pytest.mark.parametrize("before", ["empty", "migrated"])
def test_a_migration_that_fails_leaves_nothing(home: Elsewhere, with_migration: WithMigration, before: str) -> None:
    """Neither its own first half nor the migrations before it."""
    name = home.database() if before == "empty" else home.copied()
    with home.connect(name) as connection:
        schema = describe(connection)
        domains = with_migration("create table recoup.half (); create table recoup.half (one nothing)")
        with pytest.raises(errors.UndefinedObject):
            migrations.migrate(connection, domains, login="app")
        assert describe(connection) == schema
    assert home.schemas(name) == ([] if before == "empty" else SCHEMAS)


# Connections ---------------------------------------------------------------------------------------------------------


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def test_a_wrong_password_is_told(home: Elsewhere, settled: str) -> None:
    """As a matter of the login, not of the server."""
    told = refused(
        ServerRefused, "login_refused", lambda: connect(home.uri(settled, password="another"), home.settings)
    )
    assert "another" not in told.happened


def test_an_unknown_login_is_told(home: Elsewhere, settled: str) -> None:
    """In the same words: a server does not tell which of the two is wrong."""
    refused(ServerRefused, "login_refused", lambda: connect(home.uri(settled, "nobody"), home.settings))


def test_a_missing_database_is_told(home: Elsewhere) -> None:
    told = refused(ServerRefused, "database_missing", lambda: connect(home.uri("nowhere"), home.settings))
    assert "nowhere" in told.happened


def test_a_closed_port_is_told_at_once(home: Elsewhere) -> None:
    began = time.monotonic()
    uri = f"postgresql://app:secret@127.0.0.1:{closed_port()}/recoup"
    told = refused(ServerRefused, "server_unreachable", lambda: connect(uri, home.settings))
    assert "secret" not in told.happened
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("dsn", ["postgresql://[half", "host", "nonsense=1 dbname=x", "postgresql://a:b@c/d?what=1"])
def test_a_malformed_connection_string_is_told(home: Elsewhere, dsn: str) -> None:
    assert "postgresql://" in refused(ServerRefused, "dsn_unreadable", lambda: connect(dsn, home.settings)).next_step


@pytest.fixture
def old_server() -> Iterator[int]:
    """Speaks just enough of PostgreSQL's protocol to be taken for version 13.4. Its port."""

    def message(kind: bytes, content: bytes) -> bytes:
        return kind + struct.pack("!i", len(content) + 4) + content

    def serve() -> None:
        client, _ = listening.accept()
        with client:
            while True:
                (length,) = struct.unpack("!i", client.recv(4))
                (code,) = struct.unpack("!i", client.recv(length - 4)[:4])
                if code >> 16 == 3:  # a startup message; what comes before it asks for encryption
                    break
                client.sendall(b"N")
            client.sendall(
                message(b"R", struct.pack("!i", 0))
                + message(b"S", b"server_version\x0013.4\x00")
                + message(b"S", b"client_encoding\x00UTF8\x00")
                + message(b"K", struct.pack("!ii", 1, 1))
                + message(b"Z", b"I")
            )
            client.recv(1000)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(10)


def test_a_server_that_is_too_old_is_told(home: Elsewhere, old_server: int) -> None:
    """Before anything is asked of it that it would not understand."""
    uri = f"postgresql://app:x@127.0.0.1:{old_server}/recoup"
    told = refused(ServerRefused, "server_too_old", lambda: connect(uri, home.settings))
    assert told.facts["server_version"] == 130004
    assert "13" in told.happened


# Waits ---------------------------------------------------------------------------------------------------------------


def bounded(home: Elsewhere, **waits: int) -> Settings:
    return dataclasses.replace(home.settings, **waits)  # type: ignore[arg-type]


def test_every_connection_has_its_bounds(home: Elsewhere, settled: str) -> None:
    """The single ones and those of a pool, also after a transaction that was rolled back."""
    settings = bounded(home, statement_timeout_ms=1001, lock_timeout_ms=1002, idle_in_transaction_timeout_ms=1003)
    show = "select current_setting('statement_timeout'), current_setting('lock_timeout'),"
    show += " current_setting('idle_in_transaction_session_timeout')"
    with contextlib.closing(connect(home.uri(settled), settings)) as connection:
        assert connection.execute(show.encode()).fetchone() == ("1001ms", "1002ms", "1003ms")
    with Database(home.uri(settled), settings) as database:
        for _ in range(2):
            with contextlib.suppress(ZeroDivisionError), database.transaction(Authority.READER) as tx:
                assert tx.execute(show.encode()).fetchone() == ("1001ms", "1002ms", "1003ms")
                raise ZeroDivisionError


def test_a_long_statement_is_cut(home: Elsewhere, settled: str) -> None:
    settings = bounded(home, statement_timeout_ms=100)
    with (
        Database(home.uri(settled), settings) as database,
        pytest.raises(errors.QueryCanceled),
        database.transaction(Authority.READER) as tx,
    ):
        tx.execute("select pg_sleep(30)")


def test_a_long_wait_for_a_lock_is_cut(home: Elsewhere, settled: str) -> None:
    """It leaves as PostgreSQL's own error, for the caller to try again; the holder is not disturbed."""
    with Database(home.uri(settled), bounded(home, lock_timeout_ms=100)) as database:
        with database.transaction(Authority.GATE) as tx:
            intake = failed_intake(tx)
        change = "update cl.gate_zero_intake set updated_at = updated_at where intake_id = %s"
        with psycopg.connect(home.uri(settled)) as holder, acting(holder, Authority.GATE):
            holder.execute("select from cl.gate_zero_intake where intake_id = %s for update", (intake,))
            with pytest.raises(errors.LockNotAvailable), database.transaction(Authority.GATE) as tx:
                tx.execute(change, (intake,))
            assert holder.execute("select 1").fetchone() == (1,)


def test_an_idle_transaction_is_ended_and_the_pool_goes_on(home: Elsewhere, settled: str) -> None:
    """Whoever forgets a transaction loses it; its locks are free, and the next one gets a living connection."""
    settings = bounded(home, idle_in_transaction_timeout_ms=100)
    with Database(home.uri(settled), settings) as database:

        def forget() -> None:
            with database.transaction(Authority.READER) as tx:
                tx.execute("select 1")
                time.sleep(0.4)
                tx.execute("select 2")

        with pytest.raises(errors.IdleInTransactionSessionTimeout):
            forget()
        with database.transaction(Authority.READER) as tx:
            assert tx.execute("select 1").fetchone() == (1,)


# Backup and restore --------------------------------------------------------------------------------------------------


def members(home: Elsewhere, login: str) -> list[tuple[object, ...]]:
    """Which roles a login can become, and which it may hand on."""
    return home.ask(
        "select r.rolname, to_jsonb(m) ->> 'set_option', m.admin_option from pg_auth_members m"
        f" join pg_roles r on r.oid = m.roleid where m.member = '{login}'::regrole order by 1, 2, 3"
    )


@pytest.mark.parametrize("everyday", ["app", "weak"])
def test_a_plain_login_that_may_create_databases_backs_up_and_restores(
    home: Elsewhere, tmp_path: Path, everyday: str
) -> None:
    """For itself or for a weaker one. Afterwards it is as little the owner as before."""
    home.ask("alter role app createdb")
    try:
        name = home.migrated(login=everyday)
        with Database(home.uri(name, everyday), home.settings) as database, database.transaction(Authority.GATE) as tx:
            failed_intake(tx)
        before = members(home, "app")
        source = backup(home.settings, home.uri(name), tmp_path / "one")
        assert members(home, "app") == before
        with home.connect(name) as connection:
            schema = describe(connection)
        done = restore(home.settings, home.uri(name), source, RELEASES, replace=True, login=everyday)
        assert members(home, "app") == before
    finally:
        home.ask("alter role app nocreatedb")
    assert done.set_aside is not None
    with home.connect(name) as connection:
        assert describe(connection) == schema
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("set role recoup_owner")
        assert migrate(connection, login=everyday) == NOTHING
    with Database(home.uri(name, everyday), home.settings) as database:
        with database.transaction(Authority.GATE) as tx:
            failed_intake(tx)
            assert tx.execute("select count(*) from cl.gate_zero_intake").fetchone() == (2,)
        with pytest.raises(LawRefused), database.transaction(Authority.GATE) as tx:
            tx.execute("update cl.gate_zero_intake set status = 'AUTHORIZED'")


def test_a_login_that_may_not_is_refused_a_backup_and_a_restore(home: Elsewhere, settled: str, tmp_path: Path) -> None:
    """Before anything is made; and in words that say what is missing."""
    source = backup(home.settings, home.uri(settled), tmp_path / "one")
    databases = home.ask("select datname from pg_database order by 1")
    told = refused(
        ServerRefused,
        "login_lacks_rights",
        lambda: restore(home.settings, home.uri(settled), source, RELEASES, replace=True, login="app"),
    )
    assert "ALTER ROLE app CREATEDB" in told.next_step
    told = refused(
        ServerRefused,
        "login_lacks_rights",
        lambda: restore(home.settings, home.uri(settled, "mover"), source, RELEASES, replace=True, login="app"),
    )
    assert f"ALTER DATABASE {settled} OWNER TO mover" in told.next_step
    told = refused(
        ServerRefused,
        "login_lacks_rights",
        lambda: backup(home.settings, home.uri(settled, "weak"), tmp_path / "two"),
    )
    assert "RECOUP_ADMIN_DSN" in told.next_step
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    assert home.ask("select datname from pg_database order by 1") == databases


def test_a_plain_login_brings_a_backup_to_a_server_without_recoup(
    home: Elsewhere, settled: str, tmp_path: Path
) -> None:
    """The roles are made as a migration makes them; there was no database of that name before."""
    source = backup(home.settings, home.uri(settled), tmp_path / "one")
    with elsewhere() as other:
        done = restore(other.settings, other.uri("brought", "mover"), source, RELEASES, replace=False, login="weak")
        assert done.set_aside is None
        with (
            Database(other.uri("brought", "weak"), other.settings) as database,
            database.transaction(Authority.GATE) as tx,
        ):
            failed_intake(tx)
        with other.connect("brought", "mover") as connection:
            assert describe(connection) == SCHEMA_FILE.read_text(encoding="utf-8")
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute("set role recoup_owner")
