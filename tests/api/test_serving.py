"""``recoup api``: what it refuses to start with, how it ends, and how it answers many at once from another process."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import httpx2

from recoup.database.connection import Database
from recoup.errors import promotion
from recoup.lifecycles.declaration import Authority

PROGRAM = [sys.executable, "-c", "from recoup.cli.main import main; main()"]
TABLE = "outreach.dol_errors"
SECONDS, CALLERS = 2.0, 4


def command(db: Database, *more: str) -> list[str]:
    return [*PROGRAM, "--dsn", db.conninfo, "api", *more]


@contextlib.contextmanager
def serving(db: Database) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    process = subprocess.Popen(command(db, "--port", "0"), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with process.stderr:
        try:
            yield process.stderr.readline().split(" at ")[1].split("/v1/")[0], process
        finally:
            process.terminate()
            process.wait(20)


def refused(db: Database, *more: str) -> str:
    done = subprocess.run(command(db, *more), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1, done.stderr
    return done.stderr


def test_a_taken_port_and_an_open_address_without_keys_are_refused(db: Database) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "refused: port_taken" in refused(db, "--port", str(taken.getsockname()[1]))
    assert "refused: keys_missing" in refused(db, "--host", "0.0.0.0", "--port", "0")


def test_it_ends_at_sigterm_after_the_requests_in_progress(db: Database) -> None:
    with serving(db) as (at, process), db.transaction(Authority.OPERATOR) as tx, ThreadPoolExecutor(1) as pool:
        made = httpx2.post(f"{at}/v1/gate/batches", json={"batch_id": str(uuid4())}).json()["batch_id"]
        tx.execute("select from cl.gate_zero_batch where batch_id = %s for update", (made,))
        url = f"{at}/cl/gate-zero/kill-switch?batch_id={made}"
        waiting = pool.submit(httpx2.post, url, json={"reason": "x"}, timeout=30)
        while tx.execute("select from pg_locks where not granted").rowcount == 0:
            time.sleep(0.01)
        process.terminate()
        time.sleep(0.2)
        tx.rollback()
        assert waiting.result(30).status_code == 200
        assert process.wait(20) == 0


def test_many_callers_at_once_get_answers_and_nothing_is_lost_or_blocks_wrongly(db: Database) -> None:
    """Record, ask and claim from another process; every entity that was answered is blocked afterwards."""

    def caller(number: int) -> tuple[Counter[int], list[str], list[float]]:
        seen: Counter[int] = Counter()
        entities: list[str] = []
        took: list[float] = []
        with httpx2.Client(base_url=at, timeout=30) as client:
            while time.monotonic() < until:
                mine = [str(uuid4()) for _ in range(20)]
                errors = [{"table": TABLE, "message": "the registry is down", "outreach_id": one} for one in mine]
                for answer in (
                    client.post("/v1/errors/bulk", json={"errors": errors}, headers={"Idempotency-Key": mine[0]}),
                    client.get("/v1/blocked", params={"entity": mine[:10]}),
                    client.post("/v1/errors/claim", json={"worker": f"w{number}", "limit": 5}),
                ):
                    seen[answer.status_code] += 1
                    took.append(answer.elapsed.total_seconds())
                entities += mine
        return seen, entities, took

    with serving(db) as (at, process), ThreadPoolExecutor(CALLERS) as pool:
        until = time.monotonic() + SECONDS
        done = list(pool.map(caller, range(CALLERS)))
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    seen = sum((one for one, _, _ in done), Counter[int]())
    assert set(seen) == {200, 201}
    entities = [UUID(entity) for _, mine, _ in done for entity in mine]
    with db.transaction(Authority.READER) as tx:
        assert {one.outreach_id for one in promotion.blocking(tx, entities)} == set(entities)
    took = sorted(one for _, _, each in done for one in each)
    print(f"{len(took) / SECONDS:.0f} requests/s, p50 {took[len(took) // 2] * 1000:.0f} ms, "
          f"p99 {took[len(took) * 99 // 100] * 1000:.0f} ms")  # fmt: skip
