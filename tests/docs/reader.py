"""Somebody who types what the pages print: one shell and one Python for each page."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
import uuid
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE_S = 600  # the whole demo takes minutes on a busy machine; what hangs ends the test all the same
# Commands that run until they are stopped: a reader presses Ctrl-C.
ENDLESS = re.compile(r"^recoup .*--watch")
WORKING = re.compile(r"^recoup worker\b(?!.*(--once|--help))")
STARTED, WORKS_S = re.compile(r"worker started"), 3.0  # so long from when it has started, however busy the machine is
# Commands that serve until they are stopped, while the reader goes on in another terminal.
SERVING = re.compile(r"(^|\n)(recoup (up|api)(?!.*--help)|make run)\b")
SERVES = re.compile(r"Ctrl-C")
INTERPRETER = """
import signal, sys, traceback
sys.path.insert(0, "")
signal.signal(signal.SIGINT, signal.default_int_handler)
names, mark = {"__name__": "__main__"}, sys.argv[1]
while size := sys.stdin.readline():
    status = 0
    try:
        exec(compile(sys.stdin.read(int(size)), "page", "exec"), names)
    except BaseException:
        status = 1
        traceback.print_exc()
    sys.stderr.flush()
    print(f"\\n{mark} {status}", flush=True)
"""


# In the background of a script Ctrl-C is ignored, for its children too; at a terminal it is not.
INTERRUPTIBLE = "trap - INT; "


def _interrupt(serving: subprocess.Popen[bytes], output: Path) -> None:
    """Press Ctrl-C, and wait until everything has stopped."""
    if serving.poll() is None:
        os.killpg(serving.pid, signal.SIGINT)
        serving.wait(PATIENCE_S)
    said = output.read_text(encoding="utf-8", errors="replace")
    output.unlink()
    assert "Traceback" not in said, said


class Reader:
    """Works in one folder, with an environment that has nothing of the tests' own."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder, self._environment = folder, environment
        self._mark = f"mark-{uuid.uuid4().hex}"
        self._open = ExitStack()
        self._shell = self._start("bash", "--norc", "--noprofile", environment=environment)
        self._python: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, at: TracebackType | None
    ) -> None:
        self._open.close()

    def run(self, command: str) -> tuple[int, str]:
        """The exit status of a command, and what it printed, errors included."""
        if SERVING.search(command):
            return self._serve(command, SERVES)
        if WORKING.match(command):
            return self._serve(command, STARTED, for_s=WORKS_S)
        if ENDLESS.match(command):
            command = f"timeout --preserve-status --signal INT --kill-after 30 5 {command}"
        ends = f"printf '\\n%s %d\\n' {self._mark} $?"
        return self._answer(self._shell, f"{{ {command}\n}} </dev/null 2>&1; {ends}\n", command)

    def _serve(self, command: str, serves: re.Pattern[str], *, for_s: float | None = None) -> tuple[int, str]:
        """What it prints until it serves. It gets Ctrl-C after so long, or at the end of the page."""
        output = self._folder / f"served-{uuid.uuid4().hex}"
        _, exported = self.run("env -0")
        pairs = (pair.split("=", 1) for pair in exported.strip("\n").split("\0") if "=" in pair)
        with output.open("wb") as file:
            serving = subprocess.Popen(
                ["bash", "-c", INTERRUPTIBLE + command], cwd=self._folder, env=dict(pairs), stdin=subprocess.DEVNULL,
                stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self._open.callback(_interrupt, serving, output)
        given_up = time.monotonic() + PATIENCE_S
        while serving.poll() is None and not serves.search(output.read_text(encoding="utf-8", errors="replace")):
            assert time.monotonic() < given_up, f"it does not serve: {command}\n{output.read_text()}"
            time.sleep(0.1)
        if for_s is not None and serving.poll() is None:
            time.sleep(for_s)
            os.killpg(serving.pid, signal.SIGINT)
            serving.wait(PATIENCE_S)
        return serving.poll() or 0, output.read_text(encoding="utf-8", errors="replace")

    def execute(self, program: str) -> tuple[int, str]:
        """0, or 1 if a block of Python raised, and what it printed. It has the variables that the shell exports."""
        if self._python is None:
            _, exported = self.run("env -0")
            pairs = (pair.split("=", 1) for pair in exported.strip("\n").split("\0") if "=" in pair)
            self._python = self._start(sys.executable, "-c", INTERPRETER, self._mark, environment=dict(pairs))
        return self._answer(self._python, f"{len(program)}\n{program}", program)

    def write(self, name: str, text: str) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _start(self, *command: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        started = self._open.enter_context(
            subprocess.Popen(
                command,
                cwd=self._folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )
        assert started.stdin is not None
        self._open.callback(started.stdin.close)
        return started

    def _answer(self, process: subprocess.Popen[bytes], text: str, about: str) -> tuple[int, str]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text.encode())
        process.stdin.flush()
        given_up = time.monotonic() + PATIENCE_S
        printed, end = b"", re.compile(rb"\n" + self._mark.encode() + rb" (\d+)\n\Z")
        while (found := end.search(printed)) is None:
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, given_up - time.monotonic()))
            read = os.read(process.stdout.fileno(), 65536) if ready else b""
            assert read, f"no end of: {about}\n{printed.decode(errors='replace')}"
            printed += read
        return int(found[1]), printed[: found.start()].decode()
