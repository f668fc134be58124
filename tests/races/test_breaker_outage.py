"""A hundred workers call a real dependency that goes down and comes back: a breaker bounds their calls.

The dependency is a server on this machine, and the clock is the real one. In `make test` the workers share fewer
connections; in `make soak` (--cases) each has its own, on a server with room for them, and there are more errors and a
longer outage. One worker is a process of its own, killed while it probes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from psycopg.rows import dict_row

from hub import DOL, TRANSIENT, Hub
from recoup.database import embedded
from recoup.database.connection import Actor, Database, connect
from recoup.domains import DOMAINS
from recoup.errors import retrying
from recoup.errors.recording import NewError
from recoup.lifecycles.declaration import Authority
from recoup.recovery import breakers
from recoup.schema.migrate import migrate
from recoup.settings import Settings
from servers import roomy

WORKERS = 100
LONG, SHORT = (WORKERS, 3_000, 20.0), (32, 400, 4.0)  # connections, errors, seconds that it is down
WAIT_S, MAX_WAIT_S = 1, 2
IDLE_S = 0.02
PATIENCE_S = 120.0
POLICY = f"""
[recovery.breakers.vendor]
tables = ["{DOL}"]
wait_s = {WAIT_S}
max_wait_s = {MAX_WAIT_S}
[errors.retry.TRANSIENT]
max_retries = 50
backoff = "linear"
base_s = 1
cap_s = 1
"""
# A worker that claims the probe, calls the dependency, and never hears from it.
PROBES = """
import sys, urllib.request
from datetime import timedelta
from pathlib import Path
from recoup.database.connection import Database
from recoup.errors import retrying
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings
with Database(sys.argv[1], Settings(home=Path("nowhere"), actor="doomed", pool_max=1)) as db:
    with db.transaction(Authority.ERROR_WORKER) as tx:
        claimed = retrying.claim(tx, limit=10, worker="doomed", lease=timedelta(seconds=2))
    print(len(claimed), flush=True)
    urllib.request.urlopen(sys.argv[2], timeout=60)
"""


@dataclass
class Dependency:
    """A server that is up, down (500), or never answers; it knows who called when, and how many at once."""

    mode: str = "up"
    calls: list[float] = field(default_factory=list)
    most_at_once: int = 0
    url: str = ""
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)

    def called(self) -> int:
        with self._lock:
            self.calls.append(time.monotonic())
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        if self.mode == "mute":
            self._over.wait(60)
        time.sleep(0.01)
        with self._lock:
            self._now -= 1
        return 200 if self.mode == "up" else 500

    def forget(self) -> None:
        with self._lock:
            self.calls.clear()
            self.most_at_once = 0

    @contextlib.contextmanager
    def serving(self) -> Iterator[Dependency]:
        dependency = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status = dependency.called()
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

        server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}/"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield self
        finally:
            self._over.set()
            server.shutdown()
            server.server_close()


@dataclass
class Workers:
    """Each claims one error, calls the dependency for it, and writes the outcome, until it is told to stop."""

    db: Database
    url: str
    stopping: threading.Event = field(default_factory=threading.Event)
    raised: list[BaseException] = field(default_factory=list)
    turns: dict[str, int] = field(default_factory=dict)  # of each worker, which one it is at

    def work(self) -> None:
        name = threading.current_thread().name
        try:
            while not self.stopping.is_set():
                self.turns[name] = self.turns.get(name, 0) + 1
                with self.db.transaction(Authority.ERROR_WORKER) as tx:
                    claimed = retrying.claim(tx, limit=1, worker=name)
                for one in claimed:
                    self._call(one)
                if not claimed:
                    time.sleep(IDLE_S)
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.raised.append(error)

    def _call(self, one: retrying.Claimed) -> None:
        given: dict[str, Any] = {"error_table": one.error_table, "error_id": one.error_id, "token": one.token}
        outcome: retrying.Succeeded | retrying.Failed = retrying.Succeeded(**given)
        try:
            urllib.request.urlopen(self.url, timeout=30).close()
        except OSError as error:
            outcome = retrying.Failed(**given, failure=str(error))
        with self.db.transaction(Authority.ERROR_WORKER) as tx:
            retrying.finish(tx, [outcome])

    def began_anew(self) -> Callable[[], bool]:
        """Whether each has begun another turn since this call: whatever it does then, it claimed since."""
        before = dict(self.turns)
        return lambda: all(self.turns[name] > turn for name, turn in before.items())

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        threads = [threading.Thread(target=self.work, name=f"w{n}") for n in range(WORKERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stopping.set()
            for thread in threads:
                thread.join(PATIENCE_S)
        assert self.raised == []


@pytest.fixture
def is_long(pytestconfig: pytest.Config) -> bool:
    return int(pytestconfig.getoption("--cases")) > 200


@pytest.fixture
def hub(new_database: Callable[..., str], server: embedded.Server, settings: Settings, is_long: bool) -> Iterator[Hub]:
    own = dataclasses.replace(settings, pool_max=(LONG if is_long else SHORT)[0])
    with contextlib.ExitStack() as stack:
        if is_long:
            roomy_server = stack.enter_context(roomy(settings, connections=WORKERS + 50))
            uri = roomy_server.uri(embedded.DATABASE)
            with contextlib.closing(connect(roomy_server.uri(embedded.DATABASE, admin=True), settings)) as admin:
                migrate(admin, DOMAINS, login=roomy_server.app)
        else:
            uri = server.uri(new_database(simulated_from=None))
        hub = Hub(stack.enter_context(Database(uri, own)))
        hub.apply_policy(POLICY)
        yield hub


@pytest.fixture
def dependency() -> Iterator[Dependency]:
    with Dependency().serving() as serving:
        yield serving


def record(hub: Hub, number: int) -> None:
    hub.record_all([NewError(table=DOL, message=TRANSIENT, outreach_id=uuid.uuid4()) for _ in range(number)])


def breaker(hub: Hub) -> dict[str, Any]:
    with hub.db.transaction(Authority.READER) as tx, tx.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute("select * from recovery.breaker where name = 'vendor'").fetchone()
    assert row is not None
    return row


def trip(hub: Hub) -> None:
    with hub.db.transaction(Authority.OPERATOR, actor=Actor("human", "olga"), reason="it is down") as tx:
        assert breakers.open_breaker(tx, "vendor", reason="it is down")


def until(what: Callable[[], bool], patience_s: float = PATIENCE_S) -> float:
    """Seconds until it was true."""
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < patience_s
        time.sleep(0.02)
    return time.monotonic() - began


def left(hub: Hub) -> int:
    with hub.db.transaction(Authority.READER) as tx:
        row = tx.execute("select count(*) from recoup.error_queue").fetchone()
    assert row is not None
    return int(row[0])


def test_calls_during_an_outage_are_bounded_and_end_with_it(hub: Hub, dependency: Dependency, is_long: bool) -> None:
    _, errors, down_s = LONG if is_long else SHORT
    record(hub, errors)
    workers = Workers(hub.db, dependency.url)
    with workers.busy():
        until(lambda: len(dependency.calls) > errors // 20)
        dependency.mode = "down"
        trip(hub)
        until(workers.began_anew())  # what was claimed before has finished
        dependency.forget()
        began = time.monotonic()
        time.sleep(down_s)
        calls, most = len(dependency.calls), dependency.most_at_once
        probes = breaker(hub)["probes"]
        dependency.mode = "up"
        lasted = time.monotonic() - began
        # One probe after 1 s, then every 2 s at most.
        assert 1 <= calls <= lasted / MAX_WAIT_S + 2, (calls, lasted)
        assert most == 1
        recovered = until(lambda: breaker(hub)["status"] == "closed")
        assert breaker(hub)["probes"] <= probes + 1  # the next probe closes it, and its wait is 2 s at most
        assert not is_long or recovered <= MAX_WAIT_S + 1.0  # on a machine that has nothing else to do
        until(lambda: left(hub) == 0)
    row = breaker(hub)
    assert (row["closed_by"], row["wait_s"]) == ("probe", MAX_WAIT_S)
    with hub.db.transaction(Authority.READER) as tx:
        told = tx.execute(
            "select to_status, count(*) from recoup.control_log where subject = 'recovery.breaker' group by 1"
        ).fetchall()
    counts = dict(told)
    assert counts["closed"] == 1
    assert counts["half_open"] == row["probes"] == counts["open"]  # each probe but the last opened it again
    print(f"{calls} calls in {lasted:.1f} s of outage, one at a time; closed {recovered:.2f} s after its end")


def test_a_worker_killed_while_it_probes(hub: Hub, dependency: Dependency) -> None:
    record(hub, 20)
    time.sleep(1.1)
    trip(hub)
    time.sleep(WAIT_S + 0.1)
    dependency.mode = "mute"
    with subprocess.Popen(
        [sys.executable, "-c", PROBES, hub.db.conninfo, dependency.url], stdout=subprocess.PIPE, text=True
    ) as doomed:
        assert doomed.stdout is not None
        assert doomed.stdout.readline() == "1\n"
        until(lambda: len(dependency.calls) == 1)
        os.kill(doomed.pid, signal.SIGKILL)
    assert breaker(hub)["status"] == "half_open"
    with hub.db.transaction(Authority.ERROR_WORKER) as tx:
        assert retrying.claim(tx, limit=10, worker="next") == []  # its lease holds
    dependency.mode = "up"
    workers = Workers(hub.db, dependency.url)
    with workers.busy():
        until(lambda: breaker(hub)["status"] == "closed")
        # Its lease expired, then twice the first wait, and the next probe closed it.
        assert (breaker(hub)["probes"], breaker(hub)["wait_s"]) == (2, 2 * WAIT_S)
        with hub.db.transaction(Authority.ERROR_WORKER) as tx:
            retrying.lapse(tx)
        until(lambda: left(hub) == 0)


def test_of_many_claims_at_one_moment_one_takes_the_probe(hub: Hub, is_long: bool) -> None:
    connections = (LONG if is_long else SHORT)[0]
    record(hub, 200)
    trip(hub)
    for round_ in range(10 if is_long else 3):
        time.sleep(MAX_WAIT_S + 0.2)
        line = threading.Barrier(connections)
        taken: list[retrying.Claimed] = []

        def claim(line: threading.Barrier = line, taken: list[retrying.Claimed] = taken) -> None:
            with hub.db.transaction(Authority.ERROR_WORKER) as tx:
                line.wait(PATIENCE_S)
                taken += retrying.claim(tx, limit=5, worker="w")

        threads = [threading.Thread(target=claim) for _ in range(connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        (probe,) = taken
        assert breaker(hub)["probe_token"] == probe.token
        given: dict[str, Any] = {"error_table": probe.error_table, "error_id": probe.error_id, "token": probe.token}
        with hub.db.transaction(Authority.ERROR_WORKER) as tx:
            retrying.finish(tx, [retrying.Failed(**given, failure="down")])
        with hub.db.transaction(Authority.EVALUATOR) as tx:
            assert breakers.settle(tx) == 1
        assert breaker(hub)["probes"] == round_ + 1
