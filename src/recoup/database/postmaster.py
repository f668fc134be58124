"""The postmaster of a data folder, by its pid file and the kernel."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from recoup.database.server_user import read_itself
from recoup.refusals import ServerRefused

PID_FILE = "postmaster.pid"
POLL_S = 0.05
QUIT_PATIENCE_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What a postmaster wrote into its pid file. It may have ended since."""

    pid: int
    port: int
    socket_folder: Path
    ready: bool


def noted_in(data: Path) -> Noted | None:
    """What the pid file says; None when there is none, or when it is being written or spoiled."""
    try:
        lines = os.fsdecode(read_itself(data / PID_FILE)).splitlines()
    except FileNotFoundError:
        return None
    if len(lines) < 5 or not lines[4] or not (lines[0].isdecimal() and lines[3].isdecimal()):
        return None
    ready = len(lines) > 7 and lines[7].strip() == "ready"
    return Noted(pid=int(lines[0]), port=int(lines[3]), socket_folder=Path(lines[4]), ready=ready)


def remove_spoiled(data: Path) -> None:
    """Remove a pid file without a number, as a power failure leaves it: with it, no postmaster would start.

    To be called under the lock. Not while a postmaster of this folder lives, which may be about to write it.
    """
    try:
        first = read_itself(data / PID_FILE).split(b"\n")[0].strip()
    except FileNotFoundError:
        return
    if not first.isdigit() and not any(_serves(int(one.name), data) for one in Path("/proc").glob("[0-9]*")):
        (data / PID_FILE).unlink()


def alive(noted: Noted | None, data: Path) -> bool:
    """Whether that process is this folder's postmaster: numbers are reused, and zombies have no arguments."""
    return noted is not None and _serves(noted.pid, data)


def _serves(pid: int, data: Path) -> bool:
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return os.path.basename(arguments[0]) == b"postgres" and os.fsencode(data.resolve()) in arguments


def ended(data: Path, patience_s: int, *, politely_s: int = 0) -> bool:
    """Stop the postmaster of this data folder, by force if needed. False if there is none.

    ``politely_s``: first wait that long for sessions to end by themselves, while nobody new is let in.
    """
    noted = noted_in(data)
    if noted is None or not alive(noted, data):
        return False
    ways = ((signal.SIGTERM, politely_s), (signal.SIGINT, patience_s), (signal.SIGQUIT, QUIT_PATIENCE_S))
    for how, wait_s in ways if politely_s else ways[1:]:
        with suppress(ProcessLookupError):
            os.kill(noted.pid, how)
        if came_true(lambda: not alive(noted, data), wait_s):
            with suppress(OSError):  # it is not empty after SIGQUIT, and does no harm
                noted.socket_folder.rmdir()
            return True
    raise ServerRefused(
        "server_stop_failed",
        f"The embedded server, process {noted.pid}, did not stop within {patience_s + QUIT_PATIENCE_S} s.",
        "Check its log, server.log, for what it waits for, then try again.",
        pid=noted.pid, data=str(data),
    )  # fmt: skip


def end_stranded(data: Path, patience_s: int) -> None:
    """Stop a server whose socket was removed, by a logout or a cleaner of /tmp: nothing can connect to it."""
    noted = noted_in(data)
    if noted is None or not noted.ready:
        return
    if not (noted.socket_folder / f".s.PGSQL.{noted.port}").exists():
        ended(data, patience_s)


def came_true(condition: Callable[[], bool], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
