"""The processes of a service: started, started again when they die, stopped in order.

Each gets a pipe as its standard input. What it needs to know is the first line; after that nothing comes, and the end
of the pipe is the end of the process that started it, however that ended.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence

from recoup import observe

FIRST_PAUSE_S = 0.5  # before a part that died is started again; doubled each time
MAX_PAUSE_S = 30.0
STEADY_S = 60.0  # a part that lived this long starts again without a long pause
KILLED_S = 10.0


class Part:
    """One process. ``command`` and ``instructions`` are the same at each start."""

    def __init__(
        self, name: str, command: Sequence[str], instructions: Mapping[str, object], *, files: Sequence[int] = ()
    ) -> None:
        self.name = name
        self.process: subprocess.Popen[bytes] | None = None
        self._command, self._instructions, self._files = command, instructions, files
        self._pause_s, self._started_at, self._again_at = FIRST_PAUSE_S, 0.0, 0.0
        self._asked = False  # a second request would end it at once

    def start(self) -> None:
        # In a group of its own: Ctrl-C of the terminal reaches the process that stops the parts in order.
        self.process = subprocess.Popen(self._command, stdin=subprocess.PIPE, pass_fds=self._files, process_group=0)
        self._started_at = time.monotonic()
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died at once, which is seen later
            self.process.stdin.write(json.dumps(dict(self._instructions)).encode() + b"\n")
            self.process.stdin.flush()

    def ended(self) -> int | None:
        """Its exit status if it ended."""
        assert self.process is not None
        return self.process.poll()

    def tend(self) -> None:
        """Start it again if it died, after a pause that grows while it dies soon."""
        status, now = self.ended(), time.monotonic()
        if status is None:
            return
        log = observe.logger(part=self.name)
        if not self._again_at:
            if now - self._started_at > STEADY_S:
                self._pause_s = FIRST_PAUSE_S
            self._again_at = now + self._pause_s
            assert self.process is not None
            log.error("a process ended", pid=self.process.pid, status=status, again_in_s=self._pause_s)
            self._pause_s = min(self._pause_s * 2, MAX_PAUSE_S)
        elif now >= self._again_at:
            self._again_at = 0.0
            self._close()
            self.start()
            log.warning("a process was started again", pid=self.process.pid if self.process else None)

    def ask_to_stop(self) -> None:
        if self.process is not None and not self._asked:
            self._asked = True
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGTERM)

    def stop(self, patience_s: float) -> bool:
        """Let it finish what is in progress. Returns False if it had to be killed."""
        if self.process is None:
            return True
        self.ask_to_stop()
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        self._close()
        return True

    def kill(self) -> None:
        """End it at once: what it had not committed is rolled back."""
        if self.process is not None:
            self.process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(KILLED_S)
            self._close()

    def _close(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()


def instructions() -> dict[str, object]:
    """In a part: what it is to do. From here on it ends with the process that started it."""
    pipe = sys.stdin.fileno()  # not through a buffer, whose lock a thread that reads would hold at the end
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(pipe, 1)):
        line += byte
    known: dict[str, object] = json.loads(line)
    threading.Thread(target=_watch, args=(pipe,), name="parent", daemon=True).start()
    return known


def _watch(pipe: int) -> None:
    """At the end of the pipe nobody is left who would start this part again, or stop it: end as if killed."""
    with contextlib.suppress(OSError):
        while os.read(pipe, 1):
            pass
    os._exit(128 + signal.SIGKILL)
