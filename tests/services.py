"""``recoup up`` as a process: started, listened to, killed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from command_line import RECOUP, clean_environment
from recoup.database import embedded
from recoup.settings import Settings, load

PATIENCE_S = 120
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


def until(true: Callable[[], object], what: object = "it did not happen", *, patience_s: float = PATIENCE_S) -> None:
    end = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.05)


@dataclass
class Up:
    """A service that runs, and what it has printed."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def says(self, words: str) -> None:
        """Wait until it has printed this."""
        until(lambda: words in self.text or self.process.poll() is not None, lambda: f"{words!r} not in: {self.text}")
        until(lambda: words in self.text, self.text, patience_s=2)

    @property
    def address(self) -> str:
        self.says("Stop:")
        found = ADDRESS.search(self.text)
        assert found is not None
        return found[0]

    def children(self) -> list[int]:
        """The processes of its parts: the worker, the API."""
        task = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        found = []
        for pid in Path(task).read_text().split():
            with contextlib.suppress(OSError):
                if "up_part" in Path(f"/proc/{pid}/cmdline").read_text():
                    found.append(int(pid))
        return found

    def parts(self) -> dict[str, int]:
        """The same by name: the API is the part that has the port."""
        port = int(self.address.rpartition(":")[2])
        return {"api" if _listens(pid, port) else "worker": pid for pid in self.children()}

    def ends(self, how: signal.Signals, status: int) -> str:
        """Let it end. Returns everything that it printed."""
        self.process.send_signal(how)
        assert self.process.wait(PATIENCE_S) == status, self.text
        until(lambda: self.process.stdout is not None and self.process.poll() is not None)
        time.sleep(0.1)
        return self.text


def _listens(pid: int, port: int) -> bool:
    with open("/proc/net/tcp", encoding="ascii") as lines:
        fields = [line.split() for line in lines]
    inodes = {f"socket:[{one[9]}]" for one in fields[1:] if one[1].endswith(f":{port:04X}") and one[3] == "0A"}
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{name}") in inodes:
                return True
    return False


@contextlib.contextmanager
def a_home() -> Iterator[Settings]:
    """A home of the test's own, whose server is stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="recoup-up-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = {k: v for k, v in os.environ.items() if k in ("RECOUP_SERVER_BIN", "RECOUP_SERVER_USER")}
        settings = load({**server, "RECOUP_HOME": f"{folder}/home", "RECOUP_ACTOR": "tester"})
        try:
            yield settings
        finally:
            embedded.stop(settings)


@contextlib.contextmanager
def up(*arguments: str, **environment: str) -> Iterator[Up]:
    """``recoup up`` in a process, which is killed at the end if it still runs."""
    with subprocess.Popen(
        [*RECOUP, "up", *arguments],
        env={**clean_environment(), "RECOUP_PROJECT": "none", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        running = Up(process)
        reader = threading.Thread(target=running.read, daemon=True)
        reader.start()
        try:
            yield running
        finally:
            process.kill()
            process.wait(PATIENCE_S)
            reader.join(PATIENCE_S)


def of(settings: Settings) -> dict[str, str]:
    """The environment for a service in a home."""
    found = {"RECOUP_HOME": str(settings.home)}
    return found | ({"RECOUP_SERVER_BIN": str(settings.server_bin)} if settings.server_bin else {})


def ready(address: str) -> bool:
    """Whether the service says so."""
    with contextlib.suppress(OSError, urllib.error.URLError):
        return bool(urllib.request.urlopen(f"{address}/readyz", timeout=10).status == 200)
    return False


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet has, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
