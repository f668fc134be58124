"""``recoup.run``: a run around a block of code, kept alive by a thread, crashed when its process is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID

import pytest

import recoup
from command_line import clean_environment
from recoup.client import Client
from recoup.database import embedded
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from recoup.settings import Settings
from runs.track import HOUR, advance, read, sweep, trace

PATIENCE_S = 120


@pytest.fixture(scope="module")
def client(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Client]:
    """With heartbeats every second."""
    with Client(server.uri(new_database()), settings) as one:
        one.policy.apply("[runs]\nheartbeat_s = 1\n", reason="tests")
        yield one


def test_a_block_that_ends_succeeds(client: Client) -> None:
    with recoup.run(client, "import", input={"day": 1}, source="crm") as run:
        assert client.runs.show(run.run_id).status == "running"
        run.note("half")
        run.result = {"rows": 2}
    shown = client.runs.show(run.run_id)
    assert (shown.status, shown.result, shown.source, shown.input) == ("succeeded", {"rows": 2}, "crm", {"day": 1})
    assert trace(client, run.run_id) == ["started", "note", "succeeded"]


def test_a_block_that_raises_fails_without_its_secrets(client: Client) -> None:
    with pytest.raises(ValueError, match="refused"), recoup.run(client, "import") as run:
        raise ValueError("refused: password=hunter2")
    shown = client.runs.show(run.run_id)
    assert shown.status == "failed"
    assert shown.message is not None
    assert shown.message.startswith("ValueError: refused")
    assert "hunter2" not in shown.message


def test_an_interrupted_block_fails_too(client: Client) -> None:
    with pytest.raises(KeyboardInterrupt), recoup.run(client, "import") as run:
        raise KeyboardInterrupt
    assert client.runs.show(run.run_id).message == "KeyboardInterrupt"


def test_a_thread_sends_heartbeats(client: Client) -> None:
    with recoup.run(client, "import") as run:
        advance(client, timedelta(minutes=5))
        wait_for(lambda: read(client, BEATEN, run.run_id) == [(True,)])


BEATEN = "select heartbeat_at = recoup.now() from recovery.run where run_id = %s"


def test_a_block_whose_run_was_marked_crashed_raises(client: Client) -> None:
    with pytest.raises(LawRefused) as refused, recoup.run(client, "import") as run:
        crash(client, run.run_id)
        run.result = {"rows": 2}
    assert refused.value.code == "run_over"
    assert client.runs.show(run.run_id).status == "crashed"
    assert read(client, "select token is not null from recoup.late_result where unit_id = %s", str(run.run_id))


def test_a_block_can_ask_and_is_told_in_the_middle(client: Client) -> None:
    with pytest.raises(LawRefused, match="was marked crashed"), recoup.run(client, "import") as run:
        run.check()
        crash(client, run.run_id)
        with pytest.raises(LawRefused, match="was marked crashed"):
            run.heartbeat()
        wait_for(lambda: run._lost is not None)
        run.check()


def test_what_failed_is_raised_even_if_its_run_was_marked_crashed(client: Client) -> None:
    with pytest.raises(ValueError, match="no") as raised, recoup.run(client, "import") as run:
        crash(client, run.run_id)
        raise ValueError("no")
    assert "was not recorded" in raised.value.__notes__[0]


def test_in_asyncio(client: Client) -> None:
    async def work() -> UUID:
        async with recoup.run(client, "import") as run:
            run.result = 1
        return run.run_id

    assert client.runs.show(asyncio.run(work())).status == "succeeded"


def test_a_killed_process_leaves_a_run_that_is_marked_crashed(client: Client) -> None:
    program = (
        "import os, sys, time, recoup\n"
        "db = recoup.connect(os.environ['RECOUP_DSN'])\n"
        "with recoup.run(db, 'killed') as run:\n"
        "    print(run.run_id, flush=True)\n"
        "    time.sleep(600)\n"
    )
    environment = {**clean_environment(), "RECOUP_DSN": client.conninfo}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        run = UUID(it.stdout.readline().strip())
        os.kill(it.pid, signal.SIGKILL)
    assert client.runs.show(run).status == "running"
    advance(client, HOUR)
    assert run in {one.run_id for one in sweep(client)}
    assert trace(client, run) == ["started", "crashed"]


def crash(client: Client, run: UUID) -> None:
    """What the sweep does. In one transaction, because the thread sends heartbeats meanwhile."""
    with client.transaction(Authority.ORPHAN_RECOVERY) as tx:
        tx.execute("select from recovery.run where run_id = %s for no key update", (run,))
        tx.execute("set local role recoup_operator")
        tx.execute("update recoup.clock set at = at + interval '1 hour'")
        tx.execute("set local role recoup_orphan_recovery")
        tx.execute(
            "update recovery.run set status = 'crashed', crash_reason = 'silent', finished_at = recoup.now()"
            " where run_id = %s", (run,),
        )  # fmt: skip


def wait_for(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.05)
