"""Where workers are born, and killed at the boundaries between their statements."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recoup.database.connection import Transaction

sys.path.insert(0, str(Path(__file__).parent))
import nursery
from wire import Wire

PATIENCE_S = 120
KILLED = -signal.SIGKILL


@dataclass
class Worker:
    """A worker that is ready, and does nothing yet."""

    process: subprocess.Popen[str]
    pid: int

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def ends(self) -> int:
        return int(_said(self.process)["ended"])


def _said(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    said: dict[str, Any] = json.loads(process.stdout.readline())
    return said


@contextlib.contextmanager
def bearing() -> Iterator[subprocess.Popen[str]]:
    """The process that bears the workers."""
    with subprocess.Popen(
        [sys.executable, nursery.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0


@dataclass(frozen=True)
class Ground:
    """A wire to one database, and the process that forks the workers that use it."""

    wire: Wire
    bears: subprocess.Popen[str]
    admin: Transaction

    def born(self, task: str, *given: str) -> Worker:
        assert self.bears.stdin is not None
        self.bears.stdin.write(json.dumps({"task": task, "given": given, "conninfo": self.wire.conninfo}) + "\n")
        self.bears.stdin.flush()
        return Worker(self.bears, int(_said(self.bears)["ready"]))

    def struck(
        self,
        task: str,
        boundary: int,
        act: Callable[[Worker], None],
        *,
        given: tuple[str, ...] = (),
        heard: bool = True,
    ) -> int:
        """Let a worker work until this boundary, and act there. Returns how the worker ended."""
        worker = self.born(task, *given)
        self.wire.watch(at=boundary, act=lambda: act(worker), heard=heard)
        if boundary == 0:
            act(worker)
        else:
            worker.go()
        ended = worker.ends()
        self.let_go()
        return ended

    def terminate(self) -> None:
        """The server ends the connection that spoke last, as an administrator would have it."""
        assert self.admin.execute("select pg_terminate_backend(%s)", (self.wire.backend,)).fetchone() == (True,)
        self.let_go()

    def let_go(self) -> None:
        """Wait until the server has rolled back what the worker left."""
        end = time.monotonic() + PATIENCE_S
        while self.admin.execute("select 1 from pg_stat_activity where pid = %s", (self.wire.backend,)).fetchone():
            assert time.monotonic() < end, "the server does not let go"
            time.sleep(0.002)
