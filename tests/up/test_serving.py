"""``recoup up`` while it serves: what it prints works, what dies is started again, and it stops clean."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator

import psycopg
import pytest

from command_line import run_in
from recoup.database import embedded
from recoup.service import logins
from recoup.settings import Settings
from services import Up, a_home, of, ready, up

LINE = re.compile(r"^Try: +(curl .*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def own() -> Iterator[Settings]:
    with a_home() as settings:
        yield settings


@pytest.fixture(scope="module")
def service(own: Settings) -> Iterator[Up]:
    with up("--port", "0", **of(own)) as running:
        assert running.address
        yield running


def test_the_first_curl_works_as_printed(service: Up) -> None:
    service.says("Stop:")
    found = LINE.search(service.text)
    assert found is not None
    done = subprocess.run(shlex.split(found[1]), capture_output=True, text=True, check=True, timeout=30)
    assert json.loads(done.stdout)["items"] == []


def test_its_api_acts_through_logins_of_its_own(service: Up, own: Settings) -> None:
    """What it does itself does not go through the worker's login; and it made one for each role of keys."""
    assert ready(service.address)
    server = embedded.start(own)
    with psycopg.connect(server.uri("recoup", admin=True), autocommit=True) as admin:
        users = {row[0] for row in admin.execute("select distinct usename from pg_stat_activity where usename like"
                                                 " 'recoup_%'")}  # fmt: skip
    assert {"recoup_api_service", "recoup_app"} <= users
    for name, conninfo in logins.of_embedded(server.uri("recoup")).items():
        with psycopg.connect(conninfo) as connection:
            connection.execute("set role recoup_reader")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("set role recoup_claim_worker")
        assert name in logins.wanted()


def test_the_home_of_a_service_is_not_replaced(service: Up, own: Settings) -> None:
    done = run_in(of(own))("db", "stop", fails=True)
    assert "refused: home_served" in done.stderr
    assert f"kill {service.process.pid}" in done.stderr


def test_a_backup_is_not_restored_over_a_database_that_is_served(service: Up, own: Settings) -> None:
    """Also in a moment in which no part of it is connected; a backup of it can be written, and the demo restored."""
    run, file = run_in(of(own)), own.home / "a.backup"
    run("db", "backup", file)
    with _nobody_connected(own, service):
        for more in ((), ("--replace",)):
            said = run("db", "restore", file, *more, fails=True).stderr
            assert said.startswith("refused: home_served"), said
            assert "recoup up" in said
            assert f"kill {service.process.pid}" in said
    run("db", "restore", file, "--demo")
    assert ready(service.address)


@contextlib.contextmanager
def _nobody_connected(own: Settings, service: Up) -> Iterator[None]:
    """The parts stand still, and have lost their connections."""
    parts = service.children()
    with psycopg.connect(embedded.start(own).uri("postgres", admin=True), autocommit=True) as admin:
        for pid in parts:
            os.kill(pid, signal.SIGSTOP)
        try:
            admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'recoup'")
            yield
        finally:
            for pid in parts:
                os.kill(pid, signal.SIGCONT)


def test_it_is_not_ready_without_a_worker(service: Up, own: Settings) -> None:
    """A worker that hangs is not restarted: it is not dead. It is silent, and that is seen."""
    uri = embedded.start(own).uri("recoup", admin=True)
    worker = service.parts()["worker"]
    with psycopg.connect(uri, autocommit=True) as admin, contextlib.suppress(psycopg.Error):
        os.kill(worker, signal.SIGSTOP)
        try:
            admin.execute(
                "alter table recoup.worker disable trigger user;"
                "update recoup.worker set heartbeat_at = heartbeat_at - interval '1 hour' where status = 'running';"
                "alter table recoup.worker enable trigger user"
            )
            assert not ready(service.address)
        finally:
            os.kill(worker, signal.SIGCONT)
    deadline = time.monotonic() + 60
    while not ready(service.address) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert ready(service.address), "it was lost, and came back under a new id"


def test_it_leaves_the_server_to_others(service: Up, own: Settings) -> None:
    """A psql of somebody keeps it; a server that ran before is never stopped."""
    server = embedded.status(own)
    assert server is not None
    with psycopg.connect(server.uri("recoup", admin=True)) as other:
        said = service.ends(signal.SIGINT, 0)
        assert "left running: 1 other session is connected" in said
        assert other.execute("select 1").fetchone() == (1,)
    with up("--port", "0", **of(own)) as second:
        assert second.address
        assert "already running" in second.text
        assert "left running: it ran before" in second.ends(signal.SIGINT, 0)
    assert embedded.status(own) is not None
    embedded.stop(own)
