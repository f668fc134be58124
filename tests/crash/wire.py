"""A wire between a worker and the server, on which every end of a statement can be seen.

The server ends its answer to each statement with ReadyForQuery, and says in it whether a transaction is open. These are
the boundaries: what came before has happened in the server, what comes after has not been asked for. Driver and worker
are as they always are.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

READY_FOR_QUERY, BACKEND_KEY_DATA, EMPTY_QUERY = b"Z", b"K", b"I"
PATIENCE_S = 20


class Wire:
    """Passes on what either side says. Watched, it counts boundaries, and acts at one of them before it goes on."""

    def __init__(self, conninfo: str, folder: Path) -> None:
        given = conninfo_to_dict(conninfo)
        name = f".s.PGSQL.{given['port']}"
        self._server = str(Path(str(given["host"])) / name)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / name))
        self._listener.listen()
        self.conninfo = make_conninfo(conninfo, host=str(folder))
        self.backend: int | None = None  # process of the server that spoke last
        self.passed = ""  # a letter for each boundary: I outside, T inside a transaction, E inside a failed one
        self._at = 0
        self._act: Callable[[], None] | None = None
        self._heard = True
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def watch(self, *, at: int, act: Callable[[], None], heard: bool = True) -> None:
        """Count from here, and act at this boundary: the first is 1. The worker hears what ended there, or does not."""
        self.passed, self._at, self._act, self._heard = "", at, act, heard

    def leave_be(self) -> None:
        """Act no more. What was counted stays."""
        self._act = None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._open:
            _hang_up(end)
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                worker, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            self._open += [worker, server]
            for pump in (self._say, self._answer):
                thread = threading.Thread(target=pump, args=(worker, server))
                self._threads.append(thread)
                thread.start()

    def _say(self, worker: socket.socket, server: socket.socket) -> None:
        """What the worker says. When it is no more, the server learns it as it would without us."""
        with contextlib.suppress(OSError):
            while said := worker.recv(65536):
                server.sendall(said)
        _hang_up(server)

    def _answer(self, worker: socket.socket, server: socket.socket) -> None:
        """What the server answers, message by message."""
        backend = None
        is_empty = False  # whether it is there at all is asked of a connection that was idle, and is no statement
        try:
            with contextlib.suppress(OSError), server.makefile("rb") as answers:
                while message := _message(answers):
                    if message[:1] == BACKEND_KEY_DATA:
                        backend = int.from_bytes(message[5:9], "big")
                    elif message[:1] == EMPTY_QUERY:
                        is_empty = True
                    elif message[:1] == READY_FOR_QUERY:
                        self.backend = backend
                        if not is_empty and not self._boundary(message[5:].decode()):
                            break
                        is_empty = False
                    worker.sendall(message)
        finally:
            _hang_up(worker)

    def _boundary(self, status: str) -> bool:
        """Whether the worker hears of it."""
        self.passed += status
        if self._act is None or len(self.passed) != self._at:
            return True
        self._act()
        return self._heard


def _message(answers: BinaryIO) -> bytes:
    """One message: a letter, a length that counts itself, the rest."""
    head = answers.read(5)
    return head + answers.read(int.from_bytes(head[1:], "big") - 4) if len(head) == 5 else b""


def _hang_up(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
