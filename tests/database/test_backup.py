"""Backup and restore, with the real programs: nothing is lost, nothing half done is left, and the laws still hold.

The second cluster is always the embedded one. With RECOUP_SERVER_BIN set to an older PostgreSQL, its backup is thus
taken over by a newer server.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from company import failed_intake, intake_in, new_batch, new_intake, open_attempt
from product import RELEASES
from recoup import clock, doctor, gate
from recoup.database import backup as backup_module
from recoup.database import client, embedded
from recoup.database.backup import BEING_RESTORED, Restored, backup, restore
from recoup.database.connection import Database, Transaction, connect
from recoup.database.postmaster import came_true
from recoup.ledger import Log, acknowledge, read, subscribe
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused, MigrationRefused, Refusal, ServerRefused
from recoup.schema import declarations
from recoup.schema.describe import describe
from recoup.settings import Settings
from servers import removed

AIR = Log(table="cl.gate_zero_air", columns=("seq", "entity_id", "event_type", "reason_code"))


@pytest.fixture(scope="module")
def lived(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> Iterator[tuple[str, Database]]:
    """A database in which things have happened, and whose simulated clock has moved."""
    name = new_database()
    with Database(server.uri(name), settings) as database:
        with database.transaction(Authority.GATE) as tx:
            for status in ("PENDING", "AUTHORIZED", "FAILED", "REENTER_SUCCEEDED", "EXHAUSTED"):
                intake_in(tx, status)
            open_attempt(tx, new_intake(tx, batch_id=new_batch(tx)))
        with database.transaction(Authority.CONSUMER) as tx:
            subscribe(tx, AIR, "reader")
        yield name, database


@pytest.fixture(scope="module")
def kept(lived: tuple[str, Database], server: embedded.Server, settings: Settings) -> Iterator[Path]:
    """A backup of it."""
    with tempfile.TemporaryDirectory(prefix="recoup-test-") as folder:
        yield backup(settings, server.uri(lived[0], admin=True), Path(folder, "kept.recoup"))


@pytest.fixture
def uri_of(server: embedded.Server) -> Iterator[Callable[[str], str]]:
    """The superuser's connection string to a database; those of the test, and all beside them, are dropped after it."""
    names: list[str] = []

    def make(name: str) -> str:
        names.append(name)
        return server.uri(name, admin=True)

    yield make
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        for name in names:
            for found in databases(server, name):
                admin.execute(SQL("drop database {} with (force)").format(Identifier(found)))


@pytest.fixture(scope="module")
def second() -> Iterator[tuple[Settings, embedded.Server]]:
    """Another cluster, of the embedded version."""
    settings = Settings(home=Path(tempfile.mkdtemp(prefix="recoup-test-")), actor="tester")
    try:
        yield settings, embedded.start(settings)
    finally:
        removed(settings)


def databases(server: embedded.Server, beginning: str) -> list[str]:
    with psycopg.connect(server.uri("postgres", admin=True)) as admin:
        found = admin.execute("select datname from pg_database where starts_with(datname, %s) order by 1", (beginning,))
        return [name for (name,) in found]


def counted(uri: str) -> dict[str, int]:
    """Rows of every table, and the next value of the sequence of events."""
    with psycopg.connect(uri) as connection:
        tables = connection.execute(
            "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspowner = 'recoup_owner'::regrole and c.relkind = 'r'"
        ).fetchall()
        counts = {name: value(connection, f"select count(*) from {name}") for (name,) in tables}
        return {**counts, "event_seq": value(connection, "select last_value from recoup.event_seq")}


def value(connection: Transaction, question: str) -> int:
    row = connection.execute(question.encode()).fetchone()
    assert row is not None
    return int(row[0])


def described(uri: str, settings: Settings) -> str:
    with contextlib.closing(connect(uri, settings)) as connection:
        return describe(connection)


def refused(kind: type[Refusal], code: str, attempt: Callable[[], object]) -> Refusal:
    with pytest.raises(kind) as caught:
        attempt()
    assert caught.value.code == code
    assert caught.value.happened
    assert caught.value.next_step
    return caught.value


def assert_the_laws_hold(database: Database, admin_uri: str) -> None:
    """Guards and logs refuse, a superuser in replica mode too; a listed birth is let through and writes its event."""
    with pytest.raises(LawRefused) as caught, database.transaction(Authority.GATE) as tx:
        tx.execute("update cl.gate_zero_intake set status = 'AUTHORIZED'")
    assert caught.value.code == "move_not_listed"
    with psycopg.connect(admin_uri) as admin, admin.transaction(force_rollback=True):
        admin.execute("set session_replication_role = replica")
        for statement, sqlstate in (
            ("update cl.gate_zero_intake set status = 'AUTHORIZED'", "RC070"),
            ("delete from cl.gate_zero_air", "RC009"),
            ("truncate recoup.incarnation", "RC009"),
            ("insert into cl.gate_zero_air select * from cl.gate_zero_air", "RC010"),
        ):
            with pytest.raises(psycopg.Error) as refusal, admin.transaction():
                admin.execute(statement.encode())
            assert refusal.value.sqlstate == sqlstate
    with database.transaction(Authority.GATE) as tx:
        newest = value(tx, "select max(seq) from cl.gate_zero_air")
        attempt = open_attempt(tx, new_intake(tx))
        (event,) = gate.history(tx, [attempt.intake_id])
        assert value(tx, "select max(seq) from cl.gate_zero_air") > newest
    assert event.event_type == "ATTEMPT"


def test_a_restored_database_is_the_one_that_was_backed_up(
    lived: tuple[str, Database],
    kept: Path,
    settings: Settings,
    server: embedded.Server,
    uri_of: Callable[[str], str],
) -> None:
    """Its schema to the letter, its rows, its sequence, its clock; and its guards are on."""
    uri = uri_of("test_restored")
    before = server.uri(lived[0], admin=True)
    assert restore(settings, uri, kept, RELEASES, replace=False, login=server.app) == Restored(
        database="test_restored", set_aside=None, lacks=()
    )
    assert databases(server, "test_restored") == ["test_restored"]
    assert described(uri, settings) == described(before, settings)
    assert counted(uri) == {**counted(before), "recoup.incarnation": 2}  # a restore begins the next
    with Database(server.uri("test_restored"), settings) as restored:
        with lived[1].transaction(Authority.READER) as tx, restored.transaction(Authority.READER) as restored_tx:
            assert clock.read(restored_tx) == clock.read(tx)
        assert_the_laws_hold(restored, uri)
        with restored.transaction(Authority.OPERATOR) as tx:
            before_move = clock.read(tx).now
            assert clock.advance(tx, timedelta(hours=1)).now == before_move + timedelta(hours=1)
    with contextlib.closing(connect(uri, settings)) as connection:
        assert value(connection, "select count(*) from recoup.incarnation") == 2  # also in the same cluster


def test_a_database_that_is_there_is_replaced_only_on_request_and_kept(
    lived: tuple[str, Database], kept: Path, settings: Settings, server: embedded.Server, uri_of: Callable[[str], str]
) -> None:
    """Twice: each earlier one is there under the name that the result tells."""
    uri = uri_of("test_replaced")
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        admin.execute("create database test_replaced")
    with psycopg.connect(uri) as old:
        old.execute("create table precious ()")
    told = refused(
        InputRefused, "database_exists", lambda: restore(settings, uri, kept, RELEASES, replace=False, login=server.app)
    )
    assert "--replace" in told.next_step
    asides = [restore(settings, uri, kept, RELEASES, replace=True, login=server.app).set_aside for _ in range(2)]
    assert databases(server, "test_replaced") == ["test_replaced", *asides]
    with psycopg.connect(server.uri(str(asides[0]), admin=True)) as old:
        assert old.execute("select to_regclass('precious')").fetchone() == ("precious",)
    assert described(uri, settings) == described(server.uri(str(asides[1]), admin=True), settings)


def test_an_empty_database_gives_way(
    kept: Path, settings: Settings, server: embedded.Server, uri_of: Callable[[str], str]
) -> None:
    """As a new server has one. There is nothing to keep of it, not even its name."""
    uri = uri_of("test_empty")
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        admin.execute("create database test_empty owner recoup_app")
    assert restore(settings, uri, kept, RELEASES, replace=False, login=server.app).set_aside is None
    assert databases(server, "test_empty") == ["test_empty"]
    with psycopg.connect(uri) as connection:
        assert connection.execute(
            "select pg_get_userbyid(datdba) from pg_database where datname = current_database()"
        ).fetchone() == ("recoup_app",)


@pytest.mark.parametrize("comes", ["before", "meanwhile"])
def test_a_database_in_use_is_refused_and_its_sessions_live(
    kept: Path,
    settings: Settings,
    server: embedded.Server,
    uri_of: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    comes: str,
) -> None:
    """Whoever is connected stays so; nothing of the restore is left. Also when they came while it ran."""
    uri = uri_of("test_used")
    restore(settings, uri, kept, RELEASES, replace=False, login=server.app)
    with contextlib.ExitStack() as stack:

        def use() -> Transaction:
            return stack.enter_context(psycopg.connect(server.uri("test_used"), autocommit=True))

        if comes == "before":
            use()
        else:
            fill = backup_module._fill
            monkeypatch.setattr(backup_module, "_fill", lambda *given: (use(), fill(*given))[1])
        told = refused(
            ServerRefused,
            "database_in_use",
            lambda: restore(settings, uri, kept, RELEASES, replace=True, login=server.app),
        )
        assert "test_used" in told.happened
        assert "pg_stat_activity" in told.next_step
        with psycopg.connect(server.uri("postgres", admin=True)) as admin:
            mine = "datname = 'test_used' and backend_type = 'client backend'"  # the server's own may be at it too
            assert value(admin, f"select count(*) from pg_stat_activity where {mine}") == 1
    assert databases(server, "test_used") == ["test_used"]


@pytest.mark.parametrize("spoiled", ["cut", "not a backup", "empty", "missing"])
def test_a_spoiled_backup_leaves_everything_as_it_was(
    kept: Path,
    settings: Settings,
    server: embedded.Server,
    uri_of: Callable[[str], str],
    tmp_path: Path,
    spoiled: str,
) -> None:
    """The refusal has the program's own words; the database beside is gone, the one that is there untouched."""
    uri = uri_of("test_spoiled")
    restore(settings, uri, kept, RELEASES, replace=False, login=server.app)
    before = counted(uri)
    content = {"cut": kept.read_bytes()[:-2000], "not a backup": b"hello\n" * 1000, "empty": b""}.get(spoiled)
    if content is not None:
        (tmp_path / "spoiled").write_bytes(content)
    with pytest.raises(Refusal) as caught:
        restore(settings, uri, tmp_path / "spoiled", RELEASES, replace=True, login=server.app)
    assert caught.value.code == ("backup_missing" if spoiled == "missing" else "program_failed")
    if spoiled != "missing":
        assert "pg_restore" in str(caught.value.facts["said"])
        assert caught.value.happened.startswith("pg_restore exited with status 1: pg_restore: error: ")
    assert databases(server, "test_spoiled") == ["test_spoiled"]
    assert counted(uri) == before


def test_a_backup_of_a_newer_schema_is_refused_and_of_an_older_one_restored(
    settings: Settings,
    server: embedded.Server,
    uri_of: Callable[[str], str],
    new_database: Callable[..., str],
    tmp_path: Path,
) -> None:
    """An older one lacks something that `recoup migrate` brings. A newer one this program does not understand."""
    name = new_database()
    source = server.uri(name, admin=True)
    with psycopg.connect(source, autocommit=True) as connection:
        for table in (*declarations.TABLES, "domain"):
            connection.execute(f"alter table recoup.{table} disable trigger user".encode())
        for table in (*reversed(declarations.TABLES), "domain"):
            column = "name" if table == "domain" else "domain"
            connection.execute(f"delete from recoup.{table} where {column} = 'mint'".encode())
        older = backup(settings, source, tmp_path / "older")
        connection.execute("update recoup.domain set epoch = 99 where name = 'errors'")
        newer = backup(settings, source, tmp_path / "newer")
    uri = uri_of("test_versions")
    restored = restore(settings, uri, older, RELEASES, replace=False, login=server.app)
    assert restored.lacks == ("mint",)
    refused(
        MigrationRefused,
        "schema_newer",
        lambda: restore(settings, uri, newer, RELEASES, replace=True, login=server.app),
    )
    assert databases(server, "test_versions") == ["test_versions"]


def test_a_backup_is_whole_closed_and_replaces_nothing(
    lived: tuple[str, Database], kept: Path, settings: Settings, server: embedded.Server, tmp_path: Path
) -> None:
    """Its owner alone can read it; an existing file, a dangling link too, is left alone; so is a missing folder."""
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    uri = server.uri(lived[0], admin=True)
    (tmp_path / "there").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name, code in (("there", "target_exists"), ("link", "target_exists"), ("no/folder", "target_unwritable")):
        refused(InputRefused, code, lambda name=name: backup(settings, uri, tmp_path / name))  # type: ignore[misc]
    assert (tmp_path / "there").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "there"]


def test_a_database_without_recoup_is_not_backed_up(
    settings: Settings, server: embedded.Server, tmp_path: Path
) -> None:
    """A backup of the wrong database would comfort until the day it is needed."""
    uri = server.uri("postgres", admin=True)
    refused(MigrationRefused, "not_migrated", lambda: backup(settings, uri, tmp_path / "nothing"))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def pretenders(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a folder of programs in which pg_dump and pg_restore are the given lines of shell."""

    def make(lines: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in ("postgres", "initdb", "pg_dump", "pg_restore"):
            (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
            (folder / name).chmod(0o755)
        return folder

    return make


def test_a_failed_pg_dump_is_told_in_its_own_words_and_leaves_no_file(
    lived: tuple[str, Database],
    settings: Settings,
    server: embedded.Server,
    tmp_path: Path,
    pretenders: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither the file nor part of it. No password is among its arguments, nor our settings around it."""
    monkeypatch.setenv("RECOUP_DSN", "postgresql://a:secret@b/c")
    folder = pretenders(
        f'echo "$@" > {tmp_path}/arguments; env > {tmp_path}/around\n'
        'echo "pg_dump: error: the disk is tired" >&2; exit 3'
    )
    (tmp_path / "backups").mkdir()
    told = refused(
        ServerRefused,
        "program_failed",
        lambda: backup(
            dataclasses.replace(settings, server_bin=folder),
            server.uri(lived[0], admin=True),
            tmp_path / "backups" / "one",
        ),
    )
    assert told.happened == "pg_dump exited with status 3: pg_dump: error: the disk is tired"
    assert told.facts["said"] == "pg_dump: error: the disk is tired"
    assert list((tmp_path / "backups").iterdir()) == []
    arguments, around = (tmp_path / "arguments").read_text(), (tmp_path / "around").read_text()
    assert f"dbname={lived[0]}" in arguments
    assert server.admin_password not in arguments
    assert f"PGPASSWORD={server.admin_password}" in around
    assert "RECOUP_DSN" not in around


def test_a_file_that_appears_meanwhile_is_not_replaced(
    lived: tuple[str, Database],
    settings: Settings,
    server: embedded.Server,
    tmp_path: Path,
    pretenders: Callable[[str], Path],
) -> None:
    """The target is looked at once more before the finished backup takes its name."""
    folder = pretenders(f"echo quicker > {tmp_path}/one")
    quick = dataclasses.replace(settings, server_bin=folder)
    uri = server.uri(lived[0], admin=True)
    refused(InputRefused, "target_exists", lambda: backup(quick, uri, tmp_path / "one"))
    assert (tmp_path / "one").read_text() == "quicker\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "one"]


def test_the_programs_of_a_server_of_others_may_be_on_the_path(
    settings: Settings, tmp_path: Path, pretenders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With RECOUP_DSN and without the extra. Without either the refusal says what to install."""
    folder = pretenders("exit 0")
    found = dataclasses.replace(settings, server_bin=None, dsn="postgresql://somewhere/x")

    def no_extra(settings: Settings) -> Path:
        raise ServerRefused("embedded_missing", "Not installed.", "Install it.")

    monkeypatch.setattr(client, "binaries", no_extra)
    monkeypatch.setenv("PATH", str(folder))
    assert client.program(found, "pg_dump") == folder / "pg_dump"
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(ServerRefused, "programs_missing", lambda: client.program(found, "pg_dump"))
    ours = dataclasses.replace(found, dsn=None)
    refused(ServerRefused, "embedded_missing", lambda: client.program(ours, "pg_dump"))


def test_newer_programs_restore_into_an_older_server(
    lived: tuple[str, Database],
    settings: Settings,
    server: embedded.Server,
    tmp_path: Path,
    uri_of: Callable[[str], str],
) -> None:
    """pg_restore of 17 and later sends a setting that older servers refuse; their own cannot read its file."""
    newer = dataclasses.replace(settings, server_bin=None)
    uri = uri_of("test_older_server")
    source = backup(newer, server.uri(lived[0], admin=True), tmp_path / "by newer programs")
    restore(newer, uri, source, RELEASES, replace=False, login=server.app)
    assert described(uri, settings) == described(server.uri(lived[0], admin=True), settings)
    assert counted(uri) == {**counted(server.uri(lived[0], admin=True)), "recoup.incarnation": 2}


def test_a_restore_by_script_is_the_same_and_all_or_nothing(
    lived: tuple[str, Database], kept: Path, settings: Settings, server: embedded.Server, uri_of: Callable[[str], str]
) -> None:
    """The way taken for older servers, here on any. A second one into the same database is refused as a whole."""
    uri = uri_of("test_script")
    before = server.uri(lived[0], admin=True)
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        admin.execute("create database test_script template template0")
    backup_module._fill_by_script(settings, uri, kept, as_owner=False)
    assert (described(uri, settings), counted(uri)) == (described(before, settings), counted(before))
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("drop schema cl, company cascade")  # restored first, so that the failure comes later
    again = lambda: backup_module._fill_by_script(settings, uri, kept, as_owner=False)  # noqa: E731
    assert 'schema "outreach" already exists' in refused(ServerRefused, "program_failed", again).happened
    with psycopg.connect(uri) as connection:
        assert connection.execute("select to_regnamespace('cl')").fetchone() == (None,)


def test_a_long_name_stays_within_the_servers_bound() -> None:
    """A name that the server cut could be that of another database."""
    assert backup_module._name_with_ending("recoup", "_x") == "recoup_x"
    for name in ("n" * 63, "ü" * 31):
        longer = backup_module._name_with_ending(name, "_restoring_01234567")
        assert len(longer.encode()) <= 63
        assert longer.endswith("_restoring_01234567")


def test_a_backup_waits_for_a_lock_only_so_long(
    lived: tuple[str, Database], settings: Settings, server: embedded.Server, tmp_path: Path
) -> None:
    """A migration that holds a table makes a backup fail, with a word about the lock, and not hang."""
    impatient = dataclasses.replace(settings, lock_timeout_ms=200)
    uri = server.uri(lived[0], admin=True)
    with psycopg.connect(uri) as migration:
        migration.execute("lock table recoup.clock in access exclusive mode")
        told = refused(ServerRefused, "program_failed", lambda: backup(impatient, uri, tmp_path / "one"))
    assert "LOCK TABLE" in str(told.facts["said"])
    assert list(tmp_path.iterdir()) == []


def drained(database: Database, *, limit: int = 100, pages: int | None = None) -> list[int]:
    seen: list[int] = []
    while pages is None or pages > 0:
        with database.transaction(Authority.CONSUMER) as tx:
            page = read(tx, AIR, "reader", limit=limit)
            acknowledge(tx, page)
        seen.extend(event["seq"] for event in page.events)
        if page.caught_up:
            break
        pages = pages - 1 if pages is not None else None
    return seen


@pytest.mark.parametrize("stands", ["at the beginning", "in the middle", "at the end"])
def test_a_subscription_reads_on_in_another_cluster(
    fresh: Callable[..., Database],
    settings: Settings,
    server: embedded.Server,
    second: tuple[Settings, embedded.Server],
    tmp_path: Path,
    stands: str,
) -> None:
    """Each event once, those from before the backup and those from after it, wherever the subscriber stood."""
    database = fresh()
    name = database.conninfo.split("/")[-1].split("?")[0]
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        for _ in range(1000):  # the first cluster is ahead, as one with a past is
            admin.execute("select pg_current_xact_id()")
    with database.transaction(Authority.CONSUMER) as tx:
        subscribe(tx, AIR, "reader")
    for _ in range(3):
        with database.transaction(Authority.GATE) as tx:
            failed_intake(tx)
    pages = {"at the beginning": 0, "in the middle": 2, "at the end": None}[stands]
    read_before = drained(database, limit=2, pages=pages)
    if stands == "at the end":  # and something more, which nobody has read when the backup is made
        with database.transaction(Authority.GATE) as tx:
            failed_intake(tx)
    source = backup(settings, server.uri(name, admin=True), tmp_path / "moved")

    there, other = second
    restore(there, other.uri(name, admin=True), source, RELEASES, replace=False, login=other.app)
    assert described(other.uri(name, admin=True), there) == described(server.uri(name, admin=True), settings)
    with Database(other.uri(name), there) as moved:
        assert_the_laws_hold(moved, other.uri(name, admin=True))
        for _ in range(2):
            with moved.transaction(Authority.GATE) as tx:
                failed_intake(tx)
        read_after = drained(moved, limit=2)
        assert drained(moved) == []
        with moved.transaction(Authority.GATE) as tx:
            failed_intake(tx)
        read_after += drained(moved)
        with moved.transaction(Authority.READER) as tx:
            written = [seq for (seq,) in tx.execute("select seq from cl.gate_zero_air order by seq")]
            lower = value(tx, "select count(*) from cl.gate_zero_air a where incarnation = 2 and xid <"
                              " (select min(xid) from cl.gate_zero_air where incarnation = 1)")  # fmt: skip
            assert value(tx, "select count(*) from recoup.incarnation") == 2
    assert read_before + read_after == written, "each once, in order"
    assert lower > 0, "the second cluster's ids were to be lower than the first one's"


# Killed --------------------------------------------------------------------------------------------------------------

VICTIM = """
import sys, time
from pathlib import Path
from product import RELEASES
from recoup.database import backup
from recoup.settings import Settings
def fill(settings, uri, *others):
    print(backup._named(uri), flush=True)
    time.sleep(60)
backup._fill = fill
home, uri, source, login = sys.argv[1:]
backup.restore(Settings(home=Path(home), actor="t"), uri, Path(source), RELEASES, replace=False, login=login)
"""


def test_what_a_killed_restore_left_is_named_and_removed(
    kept: Path,
    settings: Settings,
    server: embedded.Server,
    uri_of: Callable[[str], str],
) -> None:
    """By the next one, and not while it is being filled; nor is anything that only has such a name."""
    uri, name = uri_of("test_killed"), "test_killed_restoring_0badcafe"
    around = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        admin.execute(SQL("create database {}").format(Identifier(name)))
        command = [sys.executable, "-c", VICTIM, str(settings.home), uri, str(kept), server.app]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=around) as victim:
            try:
                assert victim.stdout is not None
                left = victim.stdout.readline().strip()
                assert databases(server, "test_killed") == sorted([left, name])
                assert backup_module.left_behind(admin) == []
                assert backup_module._removed(admin) == ()
            finally:
                victim.kill()
        assert came_true(lambda: backup_module.left_behind(admin) == [left], 10)
        with contextlib.closing(connect(server.uri("postgres"), settings)) as everyday:
            (finding,) = doctor._restores(everyday)
        assert left in finding.found
    restored = restore(settings, uri, kept, RELEASES, replace=False, login=server.app)
    assert restored.removed == (left,)
    assert databases(server, "test_killed") == ["test_killed", name]
    with psycopg.connect(server.uri("postgres", admin=True)) as admin:
        assert admin.execute("select from pg_shdescription where description = %s", (BEING_RESTORED,)).rowcount == 0
