"""Celery: a real worker, Debian's redis-server, and a worker of Recoup that sends failed tasks again."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import recoup
from command_line import clean_environment
from hub import DOL, MINUTE, Hub
from recoup.client import Client

REDIS = shutil.which("redis-server")
MISSING = [
    what
    for what, is_there in (
        ("celery and redis of the extra `dev`", all(map(importlib.util.find_spec, ("celery", "redis")))),
        ("redis-server (Debian: apt-get install redis-server)", REDIS),
    )
    if not is_there
]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
PATIENCE_S = 60
SHOP = """\
import os, uuid
from pathlib import Path
from celery import Celery
from recoup.adapters.celery import record_failures, resend

app = Celery("shop", broker=os.environ["BROKER"])
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True, worker_prefetch_multiplier=1)
record_failures(app, "outreach.dol_errors", entity=lambda task, args, kwargs: args[0])
retry = resend(app)

@app.task(name="shop.match")
def match(company, folder, password=None):
    assert isinstance(company, uuid.UUID), company
    with (Path(folder) / "calls").open("a") as calls:
        calls.write("called\\n")
    if (Path(folder) / "dies").exists():
        os._exit(1)
    if not (Path(folder) / "fixed").exists():
        raise TimeoutError("the registry does not answer")
"""


class Shop:
    """The application of a test, its Celery worker, and a worker of Recoup in this process."""

    def __init__(self, app: Any, retry: Any, hub: Hub, client: Client, folder: Path) -> None:
        self.app, self.retry, self.hub, self.client, self.folder = app, retry, hub, client, folder

    def send(self, **kwargs: Any) -> tuple[uuid.UUID, Path]:
        """A task of a company of its own, and the folder that decides how it ends."""
        company = uuid.uuid4()
        folder = self.folder / str(company)
        folder.mkdir()
        self.app.send_task("shop.match", args=[company, str(folder)], kwargs=kwargs)
        return company, folder

    def recorded(self, company: uuid.UUID) -> dict[str, Any]:
        query = "select error_id from recoup.error where outreach_id = %s"
        until(lambda: bool(self.hub.rows(query, company)))
        return self.hub.row_of(company)

    def retry_due(self) -> None:
        self.hub.advance(MINUTE)
        recoup.Worker(self.client, handlers={DOL: self.retry}, duties=["error-retry"]).run_once()

    def of(self, company: uuid.UUID) -> list[tuple[Any, ...]]:
        return self.hub.rows("select error_id, status, retry_count from recoup.error where outreach_id = %s", company)


def until(true: Callable[[], bool]) -> None:
    patience = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < patience, "nothing happened"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def shop(hub: Hub, client: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(SHOP, encoding="utf-8")
    socket = folder / "redis.sock"
    broker = f"redis+socket://{socket}"
    assert REDIS is not None
    server = [REDIS, "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)]
    celery = [sys.executable, "-m", "celery", "--app", "shop", "worker", "--concurrency", "1", "--without-gossip"]
    environment = {**clean_environment(), "BROKER": broker, "RECOUP_DSN": client.conninfo, "C_FORCE_ROOT": "1"}
    with (folder / "log").open("w") as log, subprocess.Popen(server, stdout=log, stderr=log) as redis:
        until(socket.exists)
        with subprocess.Popen(celery, cwd=folder, env=environment, stdout=log, stderr=log) as worker:
            try:
                from celery import Celery

                from recoup.adapters.celery import resend

                app = Celery("shop", broker=broker)
                yield Shop(app, resend(app, client), hub, client, folder)
                app.close()
            finally:
                worker.terminate()
                worker.wait(PATIENCE_S)
                redis.terminate()
    if os.environ.get("TEST_SHOW_LOGS"):
        print((folder / "log").read_text())


def test_a_task_that_fails_is_recorded_sent_again_and_resolved_once(shop: Shop) -> None:
    company, folder = shop.send()
    row = shop.recorded(company)
    assert (row["error_code"], row["status"]) == ("TimeoutError", "RETRY_PENDING")
    assert row["work_key"].startswith("shop.match/")
    assert row["payload"]["celery"]["task"] == "shop.match"
    shop.retry_due()
    again = shop.hub.row_of(company)
    assert (again["error_id"], again["retry_count"], again["status"]) == (row["error_id"], 1, "RETRY_PENDING")
    assert again["last_failure"] == "TimeoutError: the registry does not answer"
    (folder / "fixed").touch()
    shop.retry_due()
    assert shop.of(company) == [(row["error_id"], "RESOLVED", 2)], "one error, and each retry counted once"
    assert len((folder / "calls").read_text().splitlines()) == 3
    assert shop.hub.rows("select * from recoup.late_result where unit_id = %s", str(row["error_id"])) == []


def test_a_process_that_dies_in_the_task_that_was_sent_again_is_a_failed_retry(shop: Shop) -> None:
    """Its parent reports it, which knows nothing of the task but its id."""
    company, folder = shop.send()
    row = shop.recorded(company)
    (folder / "dies").touch()
    shop.retry_due()
    ((error_id, status, retries),) = shop.of(company)
    assert (error_id, status, retries) == (row["error_id"], "RETRY_PENDING", 1)
    assert "WorkerLostError" in shop.hub.row_of(company)["last_failure"]


def test_a_task_that_died_at_once_is_recorded_by_its_parent(shop: Shop) -> None:
    company = uuid.uuid4()
    folder = shop.folder / str(company)
    folder.mkdir()
    (folder / "dies").touch()
    shop.app.send_task("shop.match", args=[company, str(folder)])
    assert shop.recorded(company)["error_code"] == "WorkerLostError"


def test_arguments_with_a_secret_are_neither_stored_nor_sent(shop: Shop) -> None:
    company, folder = shop.send(password="hunter2-hunter2")
    row = shop.recorded(company)
    assert "hunter2" not in str(row)
    shop.retry_due()
    assert "hold a secret" in shop.hub.row_of(company)["last_failure"]
    assert len((folder / "calls").read_text().splitlines()) == 1


def test_a_retry_that_a_person_ends_meanwhile_is_cut_off(shop: Shop) -> None:
    """Nobody reports it any more: the handler returns, and writes nothing."""
    from recoup.errors.retrying import Reported

    company, _ = shop.send()
    row = shop.recorded(company)
    shop.hub.advance(MINUTE)
    claimed = shop.hub.claim_one(row["error_id"])
    shop.client.errors.park([row["error_id"]], reason="the vendor is closed today")
    assert shop.retry(claimed) == Reported("PARKED", "The retry was cut off.")
