"""Two processes of the API over one database, killed at random: a request that is sent again has one effect.

Clients with a key each send every request with an idempotency key, to either process, until it is answered. What they
were answered is what a replay answers, and an operation over many rows is begun once.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest

from command_line import RECOUP, clean_environment
from hub import DOL
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.service import keys
from recoup.service.roles import Role
from services import until

KILLED = ((0,), (1,), (0, 1))  # which processes, in which order after the last
CLIENTS, ROWS = 3, 5
PAUSE_S = 0.1  # of a client, between two rounds: what is shown is the kill, and not the load
KEYED = (Role.PRODUCER, Role.OPERATOR)


class Api:
    """A process of the API on a port of its own, started again under the same address."""

    def __init__(self, db: Database) -> None:
        self._command = [*RECOUP, "--dsn", db.conninfo, "api", "--port"]
        self.port = 0
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [*self._command, str(self.port)], env={**clean_environment(), "RECOUP_LOG_LEVEL": "error"},
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def serves(self) -> None:
        """Wait until it does."""
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert "serving the API at" in line, line
        self.port = int(line.split(" at ")[1].split("/v1/")[0].rpartition(":")[2])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)
        assert self.process.stderr is not None
        self.process.stderr.close()


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request, and what it was answered."""

    path: str
    body: str
    key: str
    secret: str
    status: int = 0
    answer: str = ""


@dataclass
class Client:
    """Sends one request after another, each until it is answered."""

    number: int
    ports: tuple[int, int]
    producer: str
    operator: str
    stopping: threading.Event
    answered: list[Request] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    unanswered: int = 0
    replayed: int = 0  # first answers that were those of a try before

    def run(self) -> None:
        for number in itertools.count():
            if self.stopping.is_set():
                return
            code = f"C{self.number}_{number}"
            errors = [self.error(code) for _ in range(ROWS)]
            self.send("/v1/errors/bulk", {"errors": errors}, self.producer)
            self.send("/v1/errors", self.error(f"{code}_ONE"), self.producer)
            self.codes.append(code)
            self.send("/v1/errors/park", {"filter": {"code": [code]}, "reason": "the registry is down"}, self.operator)
            time.sleep(PAUSE_S)

    def error(self, code: str) -> dict[str, object]:
        entity = str(uuid4())
        self.entities.append(entity)
        return {"table": DOL, "message": "no filing matches", "code": code, "outreach_id": entity}

    def send(self, path: str, body: object, secret: str) -> None:
        asked = Request(path=path, body=json.dumps(body), key=str(uuid4()), secret=secret)
        if len(self.answered) % 3 == 0:  # its answer is lost, as by a process that is killed behind its commit
            send(asked, self.ports[0], reads=False)
        for attempt in itertools.count(self.number):
            found = send(asked, self.ports[attempt % 2])
            if found is not None and found[0] < 500 and found[0] != 429:
                status, answer, is_replay = found
                self.replayed += is_replay
                self.answered.append(Request(**{**asked.__dict__, "status": status, "answer": answer}))
                return
            self.unanswered += 1
            time.sleep(0.02)


def send(asked: Request, port: int, *, reads: bool = True) -> tuple[int, str, bool] | None:
    """Status, answer, and whether it is a replay; None: there was no answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {
        "Content-Type": "application/json", "Idempotency-Key": asked.key, "Authorization": f"Bearer {asked.secret}",
    }  # fmt: skip
    with contextlib.closing(connection):
        try:
            connection.request("POST", asked.path, asked.body, headers)
            if not reads:
                return None
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers.get("Idempotent-Replayed") == "true"
        except (OSError, http.client.HTTPException):
            return None


@contextlib.contextmanager
def serving_twice(db: Database) -> Iterator[tuple[Api, Api]]:
    with contextlib.ExitStack() as stack:
        first = Api(db)
        stack.callback(lambda: first.kill())
        second = Api(db)
        stack.callback(lambda: second.kill())
        first.serves()
        second.serves()
        yield first, second


def new_key(db: Database, role: Role, name: str) -> str:
    with db.transaction(Authority.KEY_MANAGER, actor=Actor("human", "ada")) as tx:
        return keys.add(tx, name, role).secret


def rows(db: Database, query: str, *given: Any) -> list[tuple[Any, ...]]:
    with db.transaction(Authority.READER) as tx:
        return tx.execute(query.encode(), given).fetchall()


@pytest.mark.timeout(600)
def test_a_request_that_is_sent_until_it_is_answered_has_one_effect(fresh: Callable[..., Database], seed: int) -> None:
    db, stopping, chance = fresh(simulated_from=None), threading.Event(), random.Random(seed)
    with serving_twice(db) as apis, contextlib.ExitStack() as stack:
        ports = apis[0].port, apis[1].port
        # The processes began without keys: whoever sends one is nobody else for as long as that is not noticed.
        secrets = [[new_key(db, role, f"{role}-{number}") for role in KEYED] for number in range(CLIENTS)]
        stack.callback(stopping.set)
        clients = [Client(number, ports, mine[0], mine[1], stopping) for number, mine in enumerate(secrets)]
        threads = [threading.Thread(target=client.run) for client in clients]
        for thread in threads:
            thread.start()
        for which in KILLED:
            goal = sum(len(one.answered) for one in clients) + 5 * CLIENTS
            until(lambda: sum(len(one.answered) for one in clients) >= goal, "no progress")  # noqa: B023
            time.sleep(chance.uniform(0, 0.2))
            for number in which:
                apis[number].kill()
            for number in which:
                apis[number].start()
            for number in which:
                apis[number].serves()
        stopping.set()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive(), "a request was never answered"
        answered = [one for client in clients for one in client.answered]
        assert {one.status for one in answered} == {201, 202}
        for number, one in enumerate(answered):
            replay = send(one, ports[number % 2])
            while replay is not None and replay[0] == 429:
                time.sleep(0.2)
                replay = send(one, ports[number % 2])
            assert replay == (one.status, one.answer, True), one
        begun = [json.loads(one.answer)["operation_id"] for one in answered if one.path == "/v1/errors/park"]
        for operation in begun:  # what a killed process had begun waits until somebody resumes it
            path, reason = f"/v1/operations/{operation}/resume", json.dumps({"reason": "its process was killed"})
            send(Request(path=path, body=reason, key=str(uuid4()), secret=clients[0].operator), ports[0])
        _compare(db, clients, answered, begun)
    unanswered, replayed = (sum(counts) for counts in zip(*((c.unanswered, c.replayed) for c in clients), strict=True))
    print(f"{len(answered)} answered, {unanswered} tries without an answer, {replayed} answered by the try before")
    assert unanswered > 0, "nothing was interrupted: this showed nothing"
    assert replayed > 0, "no answer was lost: this showed nothing"


def _compare(db: Database, clients: list[Client], answered: list[Request], begun: list[str]) -> None:
    entities = [one for client in clients for one in client.entities]
    found = Counter(str(one) for (one,) in rows(db, "select outreach_id from recoup.error"))
    assert found == Counter(entities), "each failure is recorded once"
    recorded = rows(db, "select count(*) from recoup.error_event where event_type = 'RECORDED'")
    assert recorded == [(len(entities),)]
    codes = [code for client in clients for code in client.codes]
    operations = [str(one) for (one,) in rows(db, "select operation_id from recoup.operation")]
    assert len(begun) == len(codes)
    assert Counter(operations) == Counter(begun), "each operation is begun once"
    of_parking = "select count(*) from recoup.error_event where event_type = 'PARKED'"
    until(lambda: rows(db, of_parking) == [(ROWS * len(codes),)], lambda: f"{rows(db, of_parking)} of {len(codes)}")
    parked = rows(db, "select count(*) from recoup.error where status = 'PARKED'")
    assert parked == [(ROWS * len(codes),)]
    kept = rows(db, "select count(*) from recoup.idempotency where method = 'POST' and path !~ '^/v1/operations'")
    assert kept == [(len(answered),)]
