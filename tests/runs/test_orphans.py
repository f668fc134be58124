"""Orphans: what nobody runs any more is marked crashed, with its reason, and nothing else is."""

from __future__ import annotations

import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from command_line import RECOUP, clean_environment
from recoup import pauses, policy
from recoup.client import Client
from recoup.database import embedded
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused, SettingRefused
from recoup.runs import NewRun, Succeeded, checks, orphans, running
from recoup.runs.duties import DUTIES
from recoup.settings import Settings
from recoup.worker import register
from runs.track import HOUR, MINUTE, advance, lose_workers, new_worker, read, sweep, trace

DAY = timedelta(days=1)
PATIENCE_S = 120.0


@pytest.fixture
def client(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Client]:
    """Of each test's own: sweeps see every run, and wait for every worker."""
    with Client(server.uri(new_database()), settings) as one:
        yield one


def until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


def marked(client: Client) -> dict[uuid.UUID, str]:
    return {one.run_id: one.reason for one in sweep(client)}


def test_silence_not_age_makes_an_orphan(client: Client) -> None:
    silent, beating = client.runs.start("import"), client.runs.start("import")
    for _ in range(3):
        advance(client, 20 * MINUTE)
        client.runs.heartbeat(beating)
    assert [one.run_id for one in client.runs.orphans()] == [silent.run_id]
    assert marked(client) == {silent.run_id: "silent since 2026-01-01 09:00:00Z"}
    assert marked(client) == {}
    assert trace(client, silent.run_id) == ["started", "crashed"]
    assert client.runs.show(silent).message == "silent since 2026-01-01 09:00:00Z"
    assert client.runs.show(beating).status == "running"


def test_a_run_whose_worker_is_lost_is_an_orphan_at_once(client: Client) -> None:
    worker = new_worker(client, "worker-1")
    run = client.runs.start("import", worker_id=worker)
    with client.transaction(Authority.RUNNER) as tx:
        queued = client.runs.queue("import", tx=tx)
    advance(client, 2 * MINUTE)
    lose_workers(client)
    assert marked(client) == {run.run_id: "its worker worker-1 is lost"}
    assert client.runs.show(queued).status == "queued"


def test_a_run_heard_of_after_its_worker_was_lost_is_alive(client: Client) -> None:
    run = client.runs.start("import", worker_id=new_worker(client))
    advance(client, 2 * MINUTE)
    lose_workers(client)
    advance(client, MINUTE / 60)
    client.runs.heartbeat(run)
    assert marked(client) == {}
    advance(client, HOUR)
    assert marked(client).keys() == {run.run_id}


def test_a_queued_run_of_a_stopped_worker_is_an_orphan(client: Client) -> None:
    worker = new_worker(client, "w2")
    with client.transaction(Authority.RUNNER) as tx:
        (run,) = running.queue(tx, [NewRun(kind="import")], worker_id=worker)
        register.stop(tx, worker)
    assert marked(client) == {run: "its worker w2 has stopped"}
    assert trace(client, run) == ["queued", "crashed"]


def test_a_backlog_is_not_an_orphan(client: Client) -> None:
    """Queued for days, while its kind is being claimed; another kind that nobody claims is."""
    worked = [client.runs.queue("worked-on") for _ in range(4)]
    forgotten = client.runs.queue("forgotten")
    for _ in range(2):
        advance(client, 13 * HOUR)
        (claimed,) = client.runs.claim("worked-on")
        client.runs.finish(Succeeded(run_id=claimed.run_id, token=claimed.token))
    found = marked(client)
    assert found == {forgotten: "nobody claimed a run of kind forgotten for 24 hours"}
    advance(client, 25 * HOUR)
    assert set(worked[2:]) <= marked(client).keys()


def test_what_cannot_be_claimed_because_of_a_pause_is_no_orphan(client: Client) -> None:
    run = client.runs.queue("import")
    with client.transaction(Authority.OPERATOR) as tx:
        pauses.pause(tx, "table", "recovery.run", reason="maintenance")
    advance(client, 3 * DAY)
    assert marked(client) == {}
    with client.transaction(Authority.OPERATOR) as tx:
        pauses.resume(tx, "table", "recovery.run", reason="done")
    assert marked(client) == {}
    advance(client, DAY)
    assert marked(client).keys() == {run}


def test_after_the_clock_moved_the_sweep_waits_for_living_workers(client: Client) -> None:
    worker = new_worker(client)
    run = client.runs.start("import", worker_id=worker)
    advance(client, HOUR)
    assert marked(client) == {}
    with client.transaction(Authority.RUNNER) as tx:
        register.beat(tx, worker)
    assert marked(client).keys() == {run.run_id}


CRASH = "update recovery.run set status = 'crashed', crash_reason = 'x', finished_at = recoup.now() where run_id = %s"


def test_the_database_refuses_to_crash_what_is_not_silent(client: Client) -> None:
    run, queued = client.runs.start("import", worker_id=new_worker(client)), client.runs.queue("import")
    advance(client, timedelta(seconds=59))
    for one in (run.run_id, queued):
        with pytest.raises(LawRefused) as refused, client.transaction(Authority.ORPHAN_RECOVERY) as tx:
            tx.execute(CRASH, (one,))
        assert refused.value.code == "run_not_orphaned"
    advance(client, timedelta(seconds=1))
    with client.transaction(Authority.ORPHAN_RECOVERY) as tx:
        tx.execute(CRASH, (run.run_id,))


def test_a_worker_marks_them_when_it_starts_and_while_it_works(client: Client) -> None:
    """A real one: what was left behind before it came, and what goes silent afterwards. Each becomes a match."""
    first = client.runs.start("import").run_id
    advance(client, HOUR)
    duties = ("lost-workers", "orphaned-runs", "match-subjects")
    command = [*RECOUP, "--dsn", client.conninfo, "worker", *(word for one in duties for word in ("--duty", one))]
    with subprocess.Popen(command, env=clean_environment(), stderr=subprocess.PIPE) as worker:
        try:
            until(lambda: trace(client, first)[-1] == "crashed")
            second = client.runs.start("import").run_id
            advance(client, HOUR)
            until(lambda: trace(client, second)[-1] == "crashed")
            found = "select count(*) from recovery.failure_match where subject_ref = any(%s) and subject_kind = 'run'"
            until(lambda: read(client, found, [str(first), str(second)]) == [(2,)])
        finally:
            worker.terminate()
            _, said = worker.communicate(timeout=PATIENCE_S)
    assert said.count(b"run marked crashed") == 2  # its log tells the operator
    assert (trace(client, first), trace(client, second)) == (["started", "crashed"],) * 2


def test_the_environment_overrides_the_threshold_and_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run = client.runs.start("import")
    advance(client, 6 * MINUTE)
    assert marked(client) == {}
    monkeypatch.setenv("ORPHAN_THRESHOLD_MINUTES", "5")
    (duty,) = DUTIES
    assert duty.note is not None
    with client.transaction(Authority.READER) as tx:
        assert duty.note(tx) == "ORPHAN_THRESHOLD_MINUTES overrides the policy here: 5 minutes"
    assert marked(client).keys() == {run.run_id}


@pytest.mark.parametrize("text", ["", "0", "x", "-5", "1.5", "99999", "9" * 5000])
def test_a_threshold_that_is_no_number_of_minutes_is_refused(text: str) -> None:
    with pytest.raises(SettingRefused, match="ORPHAN_THRESHOLD_MINUTES"):
        orphans.override({"ORPHAN_THRESHOLD_MINUTES": text})


def test_the_sweep_is_bounded_and_goes_on(client: Client) -> None:
    with client.transaction(Authority.RUNNER) as tx:
        for _ in range(7):
            client.runs.start("import", tx=tx)
    advance(client, HOUR)
    with client.transaction(Authority.ORPHAN_RECOVERY) as tx:
        values = policy.in_force(tx).policy
        assert [len(orphans.sweep(tx, values, limit=3)) for _ in range(4)] == [3, 3, 1, 0]
    assert read(client, "select count(*) from recovery.run where status = 'crashed'") == [(7,)]


def test_the_doctor_warns_of_silent_runs_that_nobody_marks(client: Client) -> None:
    client.runs.start("import")
    advance(client, 3 * HOUR)
    with client.transaction(Authority.READER) as tx:
        (found,) = checks.runs(tx)
    assert found.verdict == "warning"
    assert "1 silent since 2026-01-01 09:00Z" in found.found
