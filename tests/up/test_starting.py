"""``recoup up`` before it serves: who is refused, before what, and what an interrupt leaves."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator

import psycopg
import pytest

from command_line import run_in
from recoup.database import embedded
from recoup.settings import Settings
from recoup.up import home
from services import ADDRESS, PATIENCE_S, a_home, of, until, up


@pytest.fixture(scope="module")
def own() -> Iterator[Settings]:
    with a_home() as settings:
        yield settings


def connected(settings: Settings) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(embedded.start(settings).uri("recoup", admin=True), autocommit=True)


@contextlib.contextmanager
def migrating(settings: Settings) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Nobody can create a function: a migration that has created its tables waits."""
    with connected(settings) as admin, admin.transaction(force_rollback=True):
        admin.execute("lock table pg_catalog.pg_proc in share mode")
        yield admin


def waits(admin: psycopg.Connection[tuple[object, ...]]) -> bool:
    return admin.execute("select 1 from pg_locks where not granted").fetchone() is not None


def test_a_taken_port_is_refused_before_anything_is_touched(own: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_in(of(own))("up", "--port", port, fails=True)
    assert done.stderr.startswith("refused: port_taken")
    assert {path.name for path in own.home.iterdir()} <= {home.FILE}, "no server, no data"
    assert home.serving(own) is None


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_migration_is_rolled_back_whole(own: Settings, how: signal.Signals, status: int) -> None:
    """In its middle: tables are there, for itself, and functions are not yet."""
    with migrating(own) as admin, up("--port", "0", **of(own)) as service:
        until(lambda: waits(admin), lambda: service.text)
        said = service.ends(how, status)
        assert "interrupted" in said
        assert "left running" in said
        assert admin.execute("select to_regnamespace('recoup')").fetchone() == (None,)
    with connected(own) as admin:
        assert admin.execute("select nspname from pg_namespace where nspname = 'recoup'").fetchone() is None


def test_a_second_one_on_a_home_is_told_of_the_first(own: Settings) -> None:
    """Also while the first one starts; and so is whoever would stop its server."""
    with migrating(own) as admin, up("--port", "0", **of(own)) as service:
        until(lambda: waits(admin), lambda: service.text)
        run = run_in(of(own))
        for command in (("up", "--port", "0"), ("db", "stop")):
            said = run(*command, fails=True).stderr
            assert said.startswith("refused: home_served")
            assert ADDRESS.search(said)
            assert said.count(str(service.process.pid)) == 2, "who it is, and how to stop it"


def test_a_demo_that_is_served_is_not_built_again(own: Settings) -> None:
    """Nor while it is about to be: the database would be dropped under it. The main one is another matter."""
    with migrating(own) as admin, up("--demo", "--port", "0", **of(own)) as service:
        until(lambda: waits(admin), lambda: service.text)
        said = run_in(of(own))("demo", "--fresh", fails=True).stderr
        assert said.startswith("refused: home_served")
        assert "the demo" in said
        home.refuse_if_served(own, "its data", demo=False)


def test_a_part_that_cannot_start_ends_it_and_the_server_it_started(own: Settings) -> None:
    """The worker's own refusal is printed; everything is as it was before."""
    embedded.stop(own)
    with up("--port", "0", **of(own), RECOUP_WORKER_DUTIES="nonsense") as service:
        assert service.process.wait(PATIENCE_S) == 1, service.text
        service.says("server     stopped")
        for words in ("refused: duty_unknown", "refused: service_not_started", "recoup worker"):
            assert words in service.text
        until(lambda: not service.lines or embedded.status(own) is None)
    assert embedded.status(own) is None
