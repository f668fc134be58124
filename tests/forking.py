"""Commands as real processes, forked from one that has imported the command line.

Each has a process, arguments, environment, folder, input, output and end of its own, as if it had been started; what is
saved is the time in which Python would import the same modules again, three quarters of that of most commands. That
each command imports what it needs is shown where they are started: by the pages of the docs, run as printed.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

PARENT = "import sys; sys.path.insert(0, sys.argv[1]); import forking; del sys.path[0]; forking.bear(int(sys.argv[2]))"
PID_BYTES = 8
_lock = threading.Lock()


def run(
    arguments: list[str], *, env: dict[str, str], given: str | None, timeout: float
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run`` of recoup with these arguments, its output captured as text."""
    with ExitStack() as stack, ThreadPoolExecutor(3) as pool:
        answer, told = map(stack.enter_context, socket.socketpair())
        asked = stack.enter_context(os.fdopen(os.memfd_create("asked"), "w+"))
        json.dump({"arguments": arguments, "env": env, "folder": str(Path.cwd())}, asked)
        asked.seek(0)
        (in_, writes), (reads_out, out), (reads_err, err) = os.pipe(), os.pipe(), os.pipe()
        with _lock:
            socket.send_fds(_parent(), [b"!"], [asked.fileno(), in_, out, err, told.fileno()])
        told.close()
        for one in (in_, out, err):
            os.close(one)
        captured = [pool.submit(_read, one) for one in (reads_out, reads_err)]
        pool.submit(_write, writes, given or "")
        answer.settimeout(timeout)
        pid = int.from_bytes(answer.recv(PID_BYTES))
        try:
            status = int.from_bytes(answer.recv(PID_BYTES), signed=True)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(arguments, status, *(one.result() for one in captured))


class Begun:
    """A command that runs: its process, and its end. Its input is empty, and its output goes nowhere."""

    def __init__(self, arguments: list[str], env: dict[str, str]) -> None:
        self._ended: int | None = None
        self._answer, told = socket.socketpair()
        with told, open(os.devnull, "r+b") as nowhere, os.fdopen(os.memfd_create("asked"), "w+") as asked:
            json.dump({"arguments": arguments, "env": env, "folder": str(Path.cwd())}, asked)
            asked.seek(0)
            with _lock:
                socket.send_fds(_parent(), [b"!"], [asked.fileno(), *[nowhere.fileno()] * 3, told.fileno()])
        self.pid = int.from_bytes(self._answer.recv(PID_BYTES))

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """One that has ended is left be: its number may be another's."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        if self._ended is None:
            with suppress(BlockingIOError):
                self._hear(socket.MSG_DONTWAIT)
        return self._ended

    def wait(self, timeout: float | None = None) -> int:
        if self._ended is None:
            self._answer.settimeout(timeout)
            self._hear(0)
        assert self._ended is not None
        return self._ended

    def _hear(self, how: int) -> None:
        self._ended = int.from_bytes(self._answer.recv(PID_BYTES, how), signed=True)
        self._answer.close()


def _read(descriptor: int) -> str:
    with open(descriptor, encoding="utf-8") as file:
        return file.read()


def _write(descriptor: int, text: str) -> None:
    with suppress(BrokenPipeError), open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


@cache
def _parent() -> socket.socket:
    """The process that bears the commands, which ends when this one does."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(Path(__file__).parent), str(theirs.fileno())],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
            env={k: v for k, v in os.environ.items() if not k.startswith(("RECOUP_", "TEST_RECOUP_", "PG"))},
        )  # fmt: skip

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def bear(channel: int) -> None:
    """Fork a command for each request. Returns in none of them but by the end of its command."""
    from recoup import cli
    from recoup.cli.main import main

    for module in pkgutil.iter_modules(cli.__path__):
        importlib.import_module(f"{cli.__name__}.{module.name}")
    gc.freeze()  # what is looked at is copied
    with socket.socket(fileno=channel) as requests:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how those ended that wait for a command
        while True:
            said, descriptors, _, _ = socket.recv_fds(requests, 1, 5)
            if not said:
                return
            if os.fork() == 0:
                break
            for one in descriptors:
                os.close(one)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    asked, *streams, told = descriptors
    child = os.fork()
    if child != 0:
        for one in streams:
            os.close(one)
        with socket.socket(fileno=told) as answer:
            answer.sendall(child.to_bytes(PID_BYTES))
            _, status = os.waitpid(child, 0)
            with suppress(BrokenPipeError):
                answer.sendall(os.waitstatus_to_exitcode(status).to_bytes(PID_BYTES, signed=True))
        os._exit(0)
    for number, one in enumerate(streams):
        os.dup2(one, number)
        os.close(one)
    os.close(told)
    with open(asked, encoding="utf-8") as file:
        given = json.load(file)
    os.environ.clear()
    os.environ.update(given["env"])
    os.chdir(given["folder"])
    sys.argv[1:] = given["arguments"]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
