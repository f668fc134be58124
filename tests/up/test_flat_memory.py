"""The API under the load of another process: its memory stays as large as it was once it was warm.

Calls of every kind, those that are refused among them: strangers must not fill it either. Short here; as long as
``--stress-seconds`` says in ``make soak-stress``, with the same bound.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

import product
from command_line import RECOUP, clean_environment
from hub import DOL
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.service import keys
from recoup.service.roles import Role

CALLERS = 4
STREAM = "/v1/logs/recoup.error_event/stream"
JSON = {"Content-Type": "application/json"}
WARM_ROUNDS, LEAST_ROUNDS = 8, 12  # of each caller; a round is some calls of each kind
# Much more than an allocator's moods, and much less than what a leak of a kilobyte for each call is after minutes.
MAX_GROWTH = 24_000_000
PAGE = os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def serving(db: Database) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with subprocess.Popen(
        [*RECOUP, "--dsn", db.conninfo, "api", "--port", "0"],
        env=clean_environment(),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().split(" at ")[1].split("/v1/")[0], process
        finally:
            process.terminate()
            process.wait(30)


class Caller:
    """Calls of every kind, one round after another."""

    def __init__(self, at: str, number: int, producer: str, viewer: str) -> None:
        self.at, self.producer, self.viewer = at, producer, viewer
        self.rounds, self.statuses = 0, Counter[int]()
        self.took: list[float] = []
        self._chance = random.Random(number)

    def run(self, until: Callable[[Caller], bool]) -> None:
        headers = {"Authorization": f"Bearer {self.producer}"}
        with httpx2.Client(base_url=self.at, headers=headers, timeout=60) as client:
            while not until(self):
                self._round(client)
                self.rounds += 1

    def _round(self, client: httpx2.Client) -> None:
        error = {"table": DOL, "message": f"the registry is down {uuid4()}", "outreach_id": str(uuid4())}
        key = {"Idempotency-Key": str(uuid4())}
        stranger = {"Authorization": "Bearer rcp_" + "".join(self._chance.choices("abc234", k=8)) + "_" + "x" * 43}
        calls: list[tuple[str, str, dict[str, object]]] = [
            ("POST", "/v1/errors", {"json": error, "headers": key}),
            ("POST", "/v1/errors", {"json": error, "headers": key}),
            ("POST", "/v1/errors", {"json": {"table": f"t{uuid4()}", "message": "x"}}),
            ("POST", "/v1/errors", {"content": b"{" * self._chance.randrange(1, 9000), "headers": JSON}),
            ("GET", "/v1/errors", {"params": {"limit": 20}}),
            ("GET", f"/v1/errors/{self._chance.randrange(1, 10**12)}", {}),
            ("GET", "/v1/blocked", {"params": {"entity": error["outreach_id"]}}),
            ("GET", f"/nowhere/{uuid4()}", {}),
            ("GET", "/v1/errors", {"headers": stranger}),
            ("GET", "/v1/errors", {"params": {"after": "A" * self._chance.randrange(900)}}),
            ("GET", "/metrics", {}),
            ("GET", "/readyz", {}),
        ]
        for method, path, given in calls:
            answer = client.request(method, path, **given)  # type: ignore[arg-type]
            self.statuses[answer.status_code] += 1
            self.took.append(answer.elapsed.total_seconds())
        reader = {"Authorization": f"Bearer {self.viewer}"}
        with client.stream("GET", STREAM, params={"start": "now"}, headers=reader) as answer:
            self.statuses[answer.status_code] += 1


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system has no /proc")
@pytest.mark.timeout(0)
def test_memory_is_flat_under_load(fresh: Callable[..., Database], pytestconfig: pytest.Config) -> None:
    seconds = float(pytestconfig.getoption("--stress-seconds"))
    db = fresh(simulated_from=None)
    ada = Actor("human", "ada")
    with db.transaction(Authority.OPERATOR, actor=ada) as tx:
        product.apply_policy(tx, "[service]\nrate_per_s = 100000\nburst = 100000\n", reason="a load")
    with db.transaction(Authority.KEY_MANAGER, actor=ada) as tx:
        secrets = [
            [keys.add(tx, f"{role}-{number}", role).secret for role in (Role.PRODUCER, Role.VIEWER)]
            for number in range(CALLERS)
        ]
    with serving(db) as (at, process), ThreadPoolExecutor(CALLERS) as pool:
        callers = [Caller(at, number, *mine) for number, mine in enumerate(secrets)]

        def together(until: Callable[[Caller], bool]) -> None:
            for done in [pool.submit(caller.run, until) for caller in callers]:
                done.result()

        together(lambda one: one.rounds >= WARM_ROUNDS)
        warm, begun = resident(process.pid), time.monotonic()
        for caller in callers:
            caller.took.clear()
        seen = [warm]
        watching = threading.Event()

        def watch() -> None:
            while not watching.wait(1):
                seen.append(resident(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            least, end = WARM_ROUNDS + LEAST_ROUNDS, begun + seconds
            together(lambda one: one.rounds >= least and time.monotonic() > end)
        finally:
            watching.set()
            watcher.join()
        took = sorted(one for caller in callers for one in caller.took)
        grown = resident(process.pid) - warm
        statuses = sum((caller.statuses for caller in callers), Counter[int]())
        print(json.dumps({
            "requests": len(took), "per_s": round(len(took) / (time.monotonic() - begun)),
            "p50_ms": round(took[len(took) // 2] * 1000, 1), "p99_ms": round(took[len(took) * 99 // 100] * 1000, 1),
            "warm_mb": round(warm / 1e6, 1), "most_mb": round(max(seen) / 1e6, 1), "grown_mb": round(grown / 1e6, 1),
        }))  # fmt: skip
        # No worker runs, so that /readyz says 503; nothing else does.
        assert statuses[503] == sum(caller.rounds for caller in callers), statuses
        assert not {one for one in statuses if one >= 500} - {503}, statuses
        assert {200, 201, 400, 401, 404, 422} <= set(statuses), statuses
        assert grown < MAX_GROWTH
