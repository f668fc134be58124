"""Which process serves a home: one at a time, known by a lock that the kernel frees when the process ends."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from recoup.database import server_user
from recoup.database.data_folder import home_of
from recoup.database.postmaster import came_true
from recoup.database.server_user import opened_itself, read_itself
from recoup.refusals import ServerRefused
from recoup.settings import Settings

FILE = "up.lock"
PATIENCE_S = 1.0  # for those who only look, and for the last moment of one that was killed
MAX_BYTES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What a serving process recorded about itself."""

    pid: int
    demo: bool = False
    address: str | None = None  # None: it is starting
    server_pid: int | None = None  # of the embedded server, if a process that served this home started it


class HomeLock:
    """The lock of a home, while it is held. What is written into it is for those who find it taken."""

    def __init__(self, file: int, before: Serving | None, serving: Serving) -> None:
        self._file, self.before, self._serving = file, before, serving
        self.write()

    def write(self, *, address: str | None = None, server_pid: int | None = None) -> None:
        """Record what is known by now."""
        self._serving = replace(
            self._serving,
            address=address or self._serving.address,
            server_pid=server_pid or self._serving.server_pid,
        )
        with contextlib.suppress(OSError):  # only information: a full disk must not keep a service from starting
            text = json.dumps(asdict(self._serving)).encode()
            os.pwrite(self._file, text, 0)
            os.truncate(self._file, len(text))


@contextlib.contextmanager
def locked(settings: Settings, *, demo: bool) -> Iterator[HomeLock]:
    """Hold the lock of a home until the end of the block; refused while another process holds it."""
    home = home_of(settings)
    server_user.refuse_home_of_others(home)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = opened_itself(home / FILE, os.O_RDWR | os.O_CREAT)
    try:
        if not came_true(lambda: _took(file), PATIENCE_S):
            raise _taken(home, _read(home))
        yield HomeLock(file, _read(home), Serving(pid=os.getpid(), demo=demo))
        with contextlib.suppress(OSError):
            os.truncate(file, 0)  # only one that was killed leaves something behind
    finally:
        os.close(file)  # nobody inherits it


def serving(settings: Settings) -> Serving | None:
    """The process that serves this home; None: nobody does. Takes and changes nothing that lasts."""
    home = home_of(settings)
    try:
        file = opened_itself(home / FILE, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):  # what cannot be a home is refused when its server is started
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(home) or Serving(pid=0)
    else:
        return None
    finally:
        os.close(file)


def refuse_if_served(settings: Settings, verb: str, *, demo: bool | None = None) -> None:
    """Refuse what would end or replace what another process serves. ``demo``: only if it serves the demo, or not it."""
    if settings.dsn is not None:
        return
    found = serving(settings)
    if found is None or found.pid == os.getpid() or demo not in (None, found.demo):
        return
    raise ServerRefused(
        "home_served",
        f"recoup up, process {found.pid or '(unknown)'}, serves {'the demo of ' if found.demo else ''}"
        f"{home_of(settings)}{f' at {found.address}' if found.address else ''}: it would lose {verb}.",
        f"Stop it first: kill {found.pid or 'PID'}",
        home=str(home_of(settings)), pid=found.pid, address=found.address,
    )  # fmt: skip


def _took(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(home: Path) -> Serving | None:
    """What the file says. None where it says nothing, or what an older or a later release wrote."""
    try:
        return Serving(**json.loads(read_itself(home / FILE)[:MAX_BYTES]))
    except (OSError, ValueError, TypeError):
        return None


def _taken(home: Path, found: Serving | None) -> ServerRefused:
    who = f"process {found.pid}" if found is not None else "another process"
    where = f" at {found.address}" if found is not None and found.address else ", which is starting"
    return ServerRefused(
        "home_served",
        f"recoup up, {who}, already serves {home}{where}.",
        f"Use that one, or stop it first: kill {found.pid}" if found is not None else "Stop it first.",
        home=str(home), pid=None if found is None else found.pid, address=None if found is None else found.address,
    )  # fmt: skip
