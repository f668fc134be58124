"""A whole service on one machine: what is started in which order, what is tended, and how it ends."""

import http.client
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from recoup.refusals import Refusal, ServerRefused
from recoup.settings import OPTIONS, Settings
from recoup.up.home import locked
from recoup.up.parts import Part
from recoup.up.server import EmbeddedServer

TEND_EVERY_S = 0.5
READY_EVERY_S = 0.1
ANSWER_S = 10.0
API_STOP_S = 10.0  # for requests in progress
WORKER_STOP_S = 35.0  # for batches in progress: a statement takes at most 30 s by default
PARTS = ("worker", "api")  # in the order in which they start; they stop in the opposite one


@dataclass(frozen=True, kw_only=True)
class Service:
    """What is to be served, and how the parts are run."""

    settings: Settings
    demo: bool
    listen: Callable[[], AbstractContextManager[socket.socket]]  # refused where it cannot be
    address: Callable[[socket.socket], str]
    module: str  # run with -m, it is a part: its instructions say which
    prepare: Callable[[], None]  # makes the database ready: migrates it, or plays the demo
    say: Callable[[str, str], None]  # a subject, and what is known of it
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self, ready: Callable[[str], None]) -> None:
        """Serve until ``stopping`` is set. ``ready`` is called once, with the address, when everything answers."""
        with ExitStack() as stack:
            lock = stack.enter_context(locked(self.settings, demo=self.demo)) if self.settings.dsn is None else None
            sock = stack.enter_context(self.listen())
            at = self.address(sock)
            server: EmbeddedServer | None = None
            if lock is not None:
                lock.write(address=at)
                server = EmbeddedServer(self.settings, lock)
                stack.callback(self._stop_server, server)
                started = server.start()
                how = "started" if started.started_here else "already running"
                self.say("server", f"{how}, process {started.pid}, log {started.log}")
            self.prepare()
            parts = stack.enter_context(self._parts(sock))
            self._wait_until_ready(parts, at)
            ready(at)
            while not self.stopping.wait(TEND_EVERY_S):
                if server is not None:
                    server.tend()
                for part in parts:
                    part.tend()

    def _stop_server(self, server: EmbeddedServer) -> None:
        try:
            self.say("server", server.stop())
        except Refusal as refusal:  # it is not what this ends with
            self.say("server", f"not stopped: {refusal.happened}")

    @contextmanager
    def _parts(self, sock: socket.socket) -> Iterator[Sequence[Part]]:
        """Worker and API, until the end of the block."""
        command = (sys.executable, "-m", self.module)
        known = {"options": dict(OPTIONS), "demo": self.demo, "socket": sock.fileno()}
        files = {"api": (sock.fileno(),)}
        parts = [Part(name, command, {**known, "part": name}, files=files.get(name, ())) for name in PARTS]
        try:
            for part in parts:
                part.start()
            yield parts
        except BaseException:
            for part in parts:
                part.ask_to_stop()
            raise
        finally:
            for part in reversed(parts):
                if not part.stop(API_STOP_S if part.name == "api" else WORKER_STOP_S):
                    self.say(part.name, "killed: it did not stop in time; what it had not committed is rolled back")

    def _wait_until_ready(self, parts: Sequence[Part], at: str) -> None:
        """Until the API says that everything is there; or a refusal."""
        deadline, last = time.monotonic() + self.settings.start_timeout_s, "no answer"
        while True:
            for part in parts:
                if (status := part.ended()) is not None:
                    raise ServerRefused(
                        "service_not_started",
                        f"The {part.name} ended with status {status}.",
                        f"Fix what it printed above; alone it is run by: recoup {part.name}",
                        part=part.name, status=status,
                    )  # fmt: skip
            is_ready, last = _asked(at, last)
            if is_ready:
                return
            if time.monotonic() > deadline:
                raise ServerRefused(
                    "service_not_ready",
                    f"The service was not ready within {self.settings.start_timeout_s} s. The last answer: {last}",
                    "Raise RECOUP_START_TIMEOUT_S on a slow machine; or run recoup doctor.",
                    last=last,
                )  # fmt: skip
            if self.stopping.wait(READY_EVERY_S):
                raise KeyboardInterrupt


def _asked(at: str, before: str) -> tuple[bool, str]:
    """Whether it is ready, and what it says."""
    place = urlsplit(at)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=ANSWER_S)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        said = answer.read(2000).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return False, before
    finally:
        connection.close()
    return answer.status == 200, f"{answer.status} {said}"
