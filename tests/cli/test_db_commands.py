"""``recoup db``: URIs that can read, further databases, and logins of one's own."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from command_line import Run, run_in
from product import RELEASES
from recoup.database import access, embedded, logins
from recoup.database.connection import Database, connect
from recoup.database.session import not_reading, reading, without_reader
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused, Refusal, ServerRefused
from recoup.settings import Settings


@pytest.fixture
def run(settings: Settings, server: embedded.Server) -> Run:
    """The command line on the server that the tests share, as the embedded one."""
    return run_in({"RECOUP_HOME": str(settings.home), "COLUMNS": "160"}, "db")


@pytest.fixture(scope="module")
def weak(server: embedded.Server, settings: Settings, database_name: str) -> Iterator[Settings]:
    """Settings of a login that may neither create databases nor roles, and has the authorities."""
    name = f"weak_{uuid.uuid4().hex[:8]}"
    with contextlib.closing(connect(server.uri(database_name, admin=True), settings)) as admin:
        logins.add(admin, name, tuple(Authority), password="secret")
        uri = server.uri(database_name).replace(f"{server.app}:{server.app_password}", f"{name}:secret")
        yield Settings(home=settings.home, actor="tester", dsn=uri)
        logins.remove(admin, name)


def refused(kind: type[Refusal], code: str, *words: str) -> pytest.RaisesExc[Refusal]:
    """A refusal with this code, whose next step has these words."""
    return pytest.RaisesExc(
        kind, check=lambda error: error.code == code and all(word in error.next_step for word in words)
    )


@pytest.mark.parametrize(
    "conninfo",
    [
        "postgresql://a:b@h:1/d",
        "postgresql://a:b@/d?host=%2Ftmp&options=",
        "host=h dbname=d",
        "dbname=d options='-c x=1'",
    ],
)
def test_the_reader_is_added_to_a_connection_string_and_taken_away(conninfo: str) -> None:
    """Other options stay. What we read ourselves never has the role."""
    read = reading(conninfo)
    assert str(conninfo_to_dict(read)["options"]).endswith("-c role=recoup_reader")
    assert conninfo_to_dict(not_reading(read)).get("options", "") == conninfo_to_dict(conninfo).get("options", "")
    assert without_reader("-c role=recoup_reader_of_mine -crole=recoup_reader") == "-c role=recoup_reader_of_mine"


def test_the_uri_reads_and_works_for_everything(
    weak: Settings, server: embedded.Server, settings: Settings, database_name: str, tmp_path: Path
) -> None:
    """In any client as the reader, who may not write; in RECOUP_DSN as before: work, migrations, backups."""
    uri = access.reading_uri(weak)
    with psycopg.connect(uri) as connection:
        assert connection.execute("select current_user, count(*) >= 0 from outreach.dol_errors").fetchone() == (
            "recoup_reader",
            True,
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("insert into recoup.policy default values")
    same = Settings(home=settings.home, actor="tester", dsn=uri, admin_dsn=reading(server.uri("postgres", admin=True)))
    with access.opened(same, RELEASES) as database, database.transaction(Authority.HUB) as tx:
        assert tx.execute("select current_user").fetchone() == ("recoup_hub",)
    with access.administration(same) as admin:
        found = admin.execute("select current_user, current_database()").fetchone()
    assert found == ("recoup_admin", database_name)
    assert access.uri(same) == weak.dsn
    psql = run_in({"RECOUP_DSN": uri}, "db", "psql")
    assert psql("--", "-XAtc", "select current_user").stdout == "recoup_reader\n"


def test_where_the_role_cannot_be_had_the_uri_is_plain(settings: Settings) -> None:
    """No server answers there."""
    dsn = "postgresql://a:b@127.0.0.1:1/d"
    assert access.reading_uri(Settings(home=settings.home, actor="t", dsn=dsn)) == dsn


def test_a_missing_right_names_role_object_and_grant(
    weak: Settings, server: embedded.Server, database_name: str
) -> None:
    """A table of the user's own, first its schema, then itself; with both grants it works."""
    schema = f"app_{uuid.uuid4().hex[:8]}"
    promote = SQL("insert into {} values (1)").format(Identifier(schema, "promoted"))
    with (
        psycopg.connect(server.uri(database_name, admin=True), autocommit=True) as admin,
        access.opened(weak, RELEASES) as database,
    ):
        admin.execute(SQL("create schema {0}; create table {0}.promoted (x integer)").format(Identifier(schema)))
        for name, grant in (
            (schema, f"GRANT USAGE ON SCHEMA {schema} TO recoup_hub"),
            ("promoted", "GRANT SELECT, INSERT, UPDATE, DELETE ON promoted TO recoup_hub"),
        ):
            with (
                refused(LawRefused, "authority_lacks_right", grant, "docs/lifecycles.md") as caught,
                database.transaction(Authority.HUB) as tx,
            ):
                tx.execute(promote)
            assert "The role recoup_hub has no right to do that: permission denied for" in str(caught.value)
            assert name in str(caught.value)
            admin.execute(grant.replace("promoted", f"{schema}.promoted").encode())
        with database.transaction(Authority.HUB) as tx:
            tx.execute(promote)


def test_another_database_is_created_and_used_as_printed(run: Run, server: embedded.Server, settings: Settings) -> None:
    """Migrated, with its own policy if wanted. A second of that name is refused."""
    name = f"sim {uuid.uuid4().hex[:8]}"
    said = run("create", name, "--profile", "none").stdout
    assert f"recoup db uri --database '{name}'" in said
    uri = run("uri", "--database", name).stdout.strip()
    with Database(uri, settings) as database, database.transaction(Authority.READER) as tx:
        assert tx.execute("select to_regclass('outreach.dol_errors'), recoup.policy_version()").fetchone() == (None, 1)
    with refused(InputRefused, "database_exists", "recoup db uri"), access.created(settings, name):
        pass
    with refused(InputRefused, "database_unnamed"), access.created(settings, "x" * 64):
        pass


def test_what_fails_in_a_new_database_leaves_none(server: embedded.Server, settings: Settings) -> None:
    with pytest.raises(ZeroDivisionError), access.created(settings, "test_left") as connection:
        assert connection.info.dbname == "test_left"
        raise ZeroDivisionError
    with psycopg.connect(server.uri("postgres", admin=True)) as admin:
        assert admin.execute("select from pg_database where datname = 'test_left'").rowcount == 0


def test_a_login_without_the_right_is_told_which(weak: Settings) -> None:
    """CREATEDB for databases, the demo's too; CREATEROLE for logins."""
    with refused(ServerRefused, "login_lacks_rights", "CREATEDB"), access.created(weak, "test_weak"):
        pass
    with refused(ServerRefused, "login_lacks_rights", "CREATEDB"):
        access.ensure_demo_database(weak, anew=False)
    with access.administration(weak) as connection:
        with refused(ServerRefused, "login_lacks_rights", "CREATEROLE"):
            logins.add(connection, "another", [Authority.READER], password="x")
        with refused(ServerRefused, "login_lacks_rights", "CREATEROLE"):
            logins.remove(connection, str(connection.info.user))


def test_a_login_has_the_authorities_it_was_granted(run: Run, server: embedded.Server, settings: Settings) -> None:
    """Its password is shown once, or given; with it one can record and not decide. Then it is removed."""
    name = f"billing_{uuid.uuid4().hex[:8]}"
    made = json.loads(run("login", "add", name, "--authority", "hub", "--json").stdout)
    assert made["authorities"] == ["hub"]
    dsn = make_conninfo(made["dsn"], dbname=embedded.DATABASE)
    with psycopg.connect(dsn) as connection:
        connection.execute("set role recoup_hub")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("set role recoup_operator")
    with contextlib.closing(connect(server.uri("postgres", admin=True), settings)) as admin:
        assert next(one.authorities for one in logins.logins(admin) if one.login == name) == ("hub",)
        (stored,) = admin.execute("select rolpassword from pg_authid where rolname = %s", (name,)).fetchone() or ("",)
        assert stored.startswith("SCRAM-SHA-256$")
        with refused(InputRefused, "login_exists"):
            logins.add(admin, name, [Authority.READER], password="x")
        for wrong in ("recoup_me", "pg_me", "", "x" * 64):
            with refused(InputRefused, "login_name"):
                logins.add(admin, wrong, [Authority.READER], password="x")
        admin.execute(SQL("create schema {0} authorization {0}").format(Identifier(name)))
        with refused(ServerRefused, "login_owns", "REASSIGN OWNED"):
            logins.remove(admin, name)
        admin.execute(SQL("drop schema {}").format(Identifier(name)))
    assert run("login", "remove", name).stdout == f"removed login {name}\n"
    with contextlib.closing(connect(server.uri("postgres", admin=True), settings)) as admin:
        with refused(InputRefused, "login_not_found", "recoup db login list"):
            logins.remove(admin, name)
        with refused(InputRefused, "login_reserved"):
            logins.remove(admin, server.app)
