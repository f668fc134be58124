"""Worker, API, server and the service itself are killed in turn, under load: what was acknowledged is there, once.

Clients send each failure with an idempotency key, and send it again until it is acknowledged. Short here; as long as
``--stress-seconds`` says in ``make soak-stress``.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
import pytest

from command_line import run_in
from hub import DOL
from recoup.database import embedded
from recoup.settings import Settings
from services import Up, a_home, gone, of, ready, until, up

CLIENTS = 4
KILLS = ("api", "worker", "server", "service")


@dataclass
class Client:
    """Records one failure after another, each until it is acknowledged."""

    address: str
    stopping: threading.Event
    sent: list[UUID] = field(default_factory=list)
    acknowledged: list[UUID] = field(default_factory=list)
    repeated: int = 0
    refused: list[str] = field(default_factory=list)

    def run(self) -> None:
        for number in count():
            if self.stopping.is_set():
                return
            entity = uuid.uuid4()
            self.sent.append(entity)
            error = {"table": DOL, "message": f"the request timed out ({number})", "outreach_id": str(entity)}
            body, key = json.dumps(error), str(uuid.uuid4())
            while not self.stopping.is_set() and not self.refused:
                if self.acknowledges(body, key):
                    self.acknowledged.append(entity)
                    break
                self.repeated += 1
                time.sleep(0.02)

    def acknowledges(self, body: str, key: str) -> bool:
        """Whether the answer is that it was recorded. No answer, and one that a server is away, are no refusals."""
        place = urlsplit(self.address)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        try:
            headers = {"Content-Type": "application/json", "Idempotency-Key": key}
            connection.request("POST", "/v1/errors", body, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        if answer.status < 500 and answer.status // 100 != 2:
            self.refused.append(f"{answer.status} {text}")
        return answer.status // 100 == 2


@dataclass
class Field:
    """A service, its clients, and what is killed of it."""

    settings: Settings
    stack: ExitStack
    service: Up
    clients: list[Client] = field(default_factory=list)

    def kill(self, what: str) -> None:
        """Kill it, and wait until the clients are served again by what took its place."""
        begun = time.monotonic()
        self._kill(what)
        print(f"{what}: {time.monotonic() - begun:.1f} s")

    def _kill(self, what: str) -> None:
        before = self.service.parts()
        if what == "server":
            server = embedded.status(self.settings)
            assert server is not None
            os.kill(server.pid, signal.SIGKILL)
        elif what == "service":
            port = self.service.address.rpartition(":")[2]
            self.service.process.kill()
            self.service.process.wait(30)
            until(lambda: all(map(gone, before.values())), "its parts live on", patience_s=10)
            self.service = self.stack.enter_context(up("--port", port, **of(self.settings)))
            assert self.service.address.endswith(port), "the same port"
            assert "already running" in self.service.text, "the server that the killed one started"
        else:
            os.kill(before[what], signal.SIGKILL)
            until(lambda: self.service.parts().get(what, before[what]) != before[what], lambda: self.service.text)
        self.progress(self.answered)
        if what == "server":
            until(lambda: ready(self.service.address), lambda: self.service.text)

    def answered(self) -> int:
        return sum(len(client.acknowledged) for client in self.clients)

    def progress(self, of: Callable[[], int]) -> None:
        begun = of()
        until(lambda: of() >= begun + 2 * CLIENTS or self.refused(), lambda: self.service.text)

    def refused(self) -> list[str]:
        return [refusal for client in self.clients for refusal in client.refused]


@pytest.mark.timeout(0)
def test_what_was_acknowledged_is_there_once(pytestconfig: pytest.Config) -> None:
    seconds = float(pytestconfig.getoption("--stress-seconds"))
    with ExitStack() as stack:
        settings = stack.enter_context(a_home())
        service = stack.enter_context(up("--port", "0", **of(settings)))
        own = Field(settings, stack, service)
        stopping = threading.Event()
        stack.callback(stopping.set)
        own.clients = [Client(service.address, stopping) for _ in range(CLIENTS)]
        threads = [threading.Thread(target=client.run) for client in own.clients]
        for thread in threads:
            thread.start()
        own.progress(own.answered)
        until_, kills = time.monotonic() + seconds, 0
        for what in (KILLS[number % len(KILLS)] for number in count()):
            own.kill(what)
            kills += 1
            if kills >= len(KILLS) and time.monotonic() > until_:
                break
        stopping.set()
        for thread in threads:
            thread.join(60)
        assert own.refused() == []
        compare(own)
        until(lambda: ready(own.service.address), lambda: own.service.text)
        run_in(of(settings))("audit")  # exits with status 1 for a single row that breaks a rule
        said = own.service.ends(signal.SIGTERM, 0)
        assert "server     stopped" in said
        assert embedded.status(settings) is None
        repeated = sum(client.repeated for client in own.clients)
        print(f"{kills} kills, {own.answered()} acknowledged, {repeated} tries without an answer")
        assert repeated > 0, "nothing was interrupted: this showed nothing"


def compare(own: Field) -> None:
    sent = [entity for client in own.clients for entity in client.sent]
    acknowledged = {entity for client in own.clients for entity in client.acknowledged}
    found = "select outreach_id, count(*) from recoup.{} where outreach_id = any(%s) group by 1"
    with psycopg.connect(embedded.start(own.settings).uri("recoup", admin=True)) as admin:
        rows = [
            row
            for table in ("error", "error_archive")
            for row in admin.execute(found.format(table).encode(), (sent,)).fetchall()
        ]
    written: dict[UUID, int] = dict(rows)
    assert [entity for entity in acknowledged if entity not in written] == [], "acknowledged, and missing"
    assert [entity for entity, times in rows if times != 1] == [], "recorded twice"
    assert len(rows) == len(written), "in a table and in its archive"
