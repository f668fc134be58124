"""Handlers as their author meets them: named in recoup.toml, retried in the foreground, failing with a traceback."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import recoup
from command_line import RECOUP, clean_environment
from hub import DOL, MINUTE, PEOPLE, SECOND, TARGET, TRANSIENT, Hub, NewHub
from recoup import pauses
from recoup.errors import erasing, foreground, handlers, tracebacks
from recoup.errors.lookup import ErrorKey
from recoup.errors.retrying import Claimed
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

PIPELINE = """\
import sys
def good(error): print("retried", error.key)
def bad(error):
    token = "sk-live-0123456789abcdef0123456789"
    raise ConnectionError("vendor is down")
def slow(error):
    print("running", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with handlers for three tables; one of them cannot be imported."""
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "recoup.toml").write_text(
        f'[handlers]\n"{DOL}" = "pipeline:bad"\n"{TARGET}" = "pipeline:good"\n"{PEOPLE}" = "pipeline:missing"\n'
    )
    for path in (tmp_path, tmp_path / "recoup.toml"):
        path.chmod(0o755)
    return tmp_path


def cli(hub: Hub, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RECOUP, "--dsn", hub.db.conninfo, *map(str, arguments)],
        cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def due(hub: Hub, *tables: str) -> list[int]:
    found = [hub.record(TRANSIENT, table=table) for table in tables]
    hub.advance(3 * SECOND)
    return found


def traced(hub: Hub, error_id: int, table: str = DOL) -> list[tracebacks.RetryTraceback]:
    with hub.db.transaction(Authority.READER) as tx:
        return tracebacks.tracebacks(tx, [ErrorKey(table, error_id)])


def test_the_command_calls_the_handler_of_the_project_file_and_shows_its_traceback(hub: Hub, project: Path) -> None:
    bad, good = due(hub, DOL, TARGET)
    done = cli(hub, project, "errors", "retry", bad)
    assert done.returncode == 1, done.stderr
    assert 'pipeline.py", line 5, in bad' in done.stderr
    assert "handling.py" not in done.stderr, "it begins in the handler"
    assert "RETRY_PENDING" in done.stdout
    assert "ConnectionError: vendor is down" in done.stdout
    (kept,) = traced(hub, bad)
    assert (kept.retry, kept.traceback.splitlines()[-1]) == (1, "ConnectionError: vendor is down")
    assert "sk-live" not in kept.traceback, "a traceback has the lines of the source, and no known secret"
    assert 'pipeline.py", line 5, in bad' in cli(hub, project, "errors", "show", bad).stdout
    done = cli(hub, project, "errors", "retry", good, "--json")
    assert (done.returncode, hub.row(good)["status"]) == (0, "RESOLVED"), done.stderr
    assert f"retried {TARGET}/{good}/1" in done.stdout


def test_worker_doctor_and_duties_say_which_handler_serves_which_table(new_hub: NewHub, project: Path) -> None:
    """D3: what nobody retries is said at the start, and a handler that cannot be imported is an error."""
    hub = new_hub()
    bad, _ = due(hub, DOL, PEOPLE)
    done = cli(hub, project, "worker", "--once", "--duty", "error-retry")
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    said = {(line["event"], line.get("table")): line for line in lines}
    assert said["handler", DOL]["handler"] == "pipeline:bad"
    assert said["handler", DOL]["source"] == str(project / "recoup.toml")
    assert said["no handler here for due retries", PEOPLE]["due"] == 1
    assert "has no attribute 'missing'" in said["handler cannot be loaded", PEOPLE]["failure"]
    failed = said["retry failed", DOL]
    assert (failed["level"], failed["error_id"], failed["attempt"]) == ("warning", bad, "1 of 5")
    assert failed["failure"] == "ConnectionError: vendor is down"
    found = json.loads(cli(hub, project, "doctor", "--json").stdout)
    checks = [(one["verdict"], one["found"]) for one in found if one["check"] == "handlers"]
    assert [verdict for verdict, _ in checks] == ["error", "warning"]
    assert f"{PEOPLE} (1 due)" in checks[1][1]
    (settings,) = [one["found"] for one in found if one["check"] == "settings"]
    assert f"project file {project / 'recoup.toml'}; dsn from --dsn" in settings
    duties = {one["duty"]: one for one in json.loads(cli(hub, project, "duties", "--json").stdout)}
    assert duties["error-retry"]["note"] == f"no handler for {PEOPLE} (1 due)"
    assert duties["error-retry"]["lag_s"] is not None


def test_a_folder_that_others_can_write_gives_no_handler(hub: Hub, project: Path) -> None:
    (error,) = due(hub, TARGET)
    project.chmod(0o777)
    done = cli(hub, project, "errors", "retry", error, "--json")
    assert json.loads(done.stderr.splitlines()[-1])["refused"] == "handler_missing"
    assert "can be written by other users" in done.stderr


def test_the_last_failed_retry_says_that_the_error_is_parked(new_hub: NewHub, caplog: pytest.LogCaptureFixture) -> None:
    """In the log, as a warning; every retry keeps its own traceback."""
    hub = new_hub()
    error = hub.record(TRANSIENT)

    def down(claimed: Claimed) -> None:
        raise ConnectionError(f"down at {claimed.retry_count}")

    worker = recoup.Worker(hub.db, handlers={DOL: down}, duties=["error-retry"], name="w")
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            hub.advance(MINUTE)
            worker.run_once()
    assert hub.row(error)["status"] == "PARKED"
    assert caplog.text.count("retry failed") == 5
    assert "last retry failed: the error is PARKED now" in caplog.records[-1].message
    assert [one.traceback.splitlines()[-1] for one in traced(hub, error)] == [
        f"ConnectionError: down at {retry}" for retry in range(5)
    ]
    assert hub.broken() == []


def test_a_worker_in_the_program_calls_the_handlers_that_it_is_given_until_it_is_told(new_hub: NewHub) -> None:
    hub = new_hub()
    mine, other = due(hub, DOL, TARGET)
    called = threading.Event()
    seen: list[int] = []

    def handler(error: Claimed) -> None:
        seen.append(error.error_id)
        called.set()

    recoup.Worker(hub.db, handlers={DOL: handler}, duties=["error-retry"]).run(until=called)
    assert (seen, hub.row(mine)["status"], hub.row(other)["retry_count"]) == ([mine], "RESOLVED", 0)
    with pytest.raises(InputRefused, match="no duty 'retry'"):
        recoup.Worker(hub.db, duties=["retry"])
    with pytest.raises(TypeError, match="a handler is a function"):
        recoup.Worker(hub.db, handlers={DOL: 7})  # type: ignore[dict-item]


def refused(hub: Hub, error: int, functions: dict[str, Callable[[Claimed], object]] | None = None) -> str:
    with pytest.raises(InputRefused) as refusal:
        foreground.retry(hub.db, str(error), functions=functions or {DOL: lambda _: None})
    return f"{refusal.value.happened} {refusal.value.next_step}"


def test_what_cannot_be_retried_now_says_why_and_is_not_claimed(new_hub: NewHub) -> None:
    hub = new_hub()
    error = hub.record(TRANSIENT)
    assert "its next retry is due at 2026-01-01 09:00:02Z" in refused(hub, error)
    hub.advance(3 * SECOND)
    assert f"There is no handler for {DOL}" in refused(hub, error, {TARGET: lambda _: None})
    with hub.db.transaction(Authority.OPERATOR, reason="x") as tx:
        pauses.pause(tx, "table", DOL, reason="vendor is down", kinds=())
    assert "retries are paused by tester: vendor is down" in refused(hub, error)
    with hub.db.transaction(Authority.OPERATOR, reason="x") as tx:
        pauses.resume(tx, "table", DOL, reason="back", kinds=())
    (claimed,) = hub.claim(worker="worker-3")
    assert "it is claimed by worker-3 until 2026-01-01 09:05:03Z" in refused(hub, error)
    hub.succeed(claimed)
    assert "it was closed at" in refused(hub, error)
    hub.sweep_all()
    assert "it is in the archive" in refused(hub, error)
    parked, ignored = hub.record("no such column: ein"), hub.record(TRANSIENT, want="ARCHIVE")
    assert "it has been parked since 2026-01-01 09:00:03Z (NON_RETRYABLE_ERROR)" in refused(hub, parked)
    assert f"recoup errors unpark {parked}" in refused(hub, parked)
    assert "it is not to be retried (ARCHIVE)" in refused(hub, ignored)
    late = hub.record(TRANSIENT)
    hub.advance(timedelta(hours=25))
    assert "its retry window closed" in refused(hub, late)
    assert hub.broken() == []


def test_a_worker_and_a_person_at_once_retry_it_once(hub: Hub) -> None:
    (error,) = due(hub, DOL)
    meanwhile: list[object] = []

    def handler(_: Claimed) -> None:
        meanwhile.append([one for one in hub.claim(tables=[DOL]) if one.error_id == error])
        meanwhile.append("claimed by" in refused(hub, error))

    done = foreground.retry(hub.db, f"{DOL}/{error}", functions={DOL: handler})
    assert (done.status, meanwhile) == ("RESOLVED", [[], True])


def test_a_result_after_the_lease_is_late(new_hub: NewHub) -> None:
    hub = new_hub()
    (error,) = due(hub, DOL)
    lease = timedelta(seconds=30)
    done = foreground.retry(hub.db, str(error), functions={DOL: lambda _: hub.advance(MINUTE)}, lease=lease)
    assert (done.status, done.failure) == ("late", None)
    assert hub.lapse() == 1
    assert (hub.row(error)["last_outcome"], hub.broken()) == ("LAPSED", [])


def test_ctrl_c_counts_as_a_failed_retry_and_a_kill_when_the_lease_expires(new_hub: NewHub, project: Path) -> None:
    hub = new_hub()
    (project / "recoup.toml").write_text(f'[handlers]\n"{DOL}" = "pipeline:slow"\n')
    for number, outcome in ((signal.SIGINT, "FAILED"), (signal.SIGKILL, None)):
        (error,) = due(hub, DOL)
        process = subprocess.Popen(
            [*RECOUP, "errors", "retry", str(error)], cwd=project, text=True, stdin=subprocess.PIPE,
            env={**clean_environment(), "RECOUP_DSN": hub.db.conninfo}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            os.kill(process.pid, number)
            process.communicate(timeout=30)
        finally:
            process.kill()
        row = hub.row(error)
        assert (row["last_outcome"], row["held"] is None) == (outcome, outcome is not None)
        if number == signal.SIGINT:
            assert (process.returncode, row["last_failure"]) == (130, "Interrupted.")
    hub.advance(6 * MINUTE)
    assert hub.lapse() == 1
    assert (hub.row(error)["last_outcome"], hub.broken()) == ("LAPSED", [])


def test_erasing_a_secret_reaches_the_tracebacks(new_hub: NewHub) -> None:
    hub = new_hub()
    (error,) = due(hub, DOL)

    def leaks(_: Claimed) -> None:
        raise ConnectionError("Mr Secretive called")

    foreground.retry(hub.db, str(error), functions={DOL: leaks})
    with hub.db.transaction(Authority.OPERATOR, reason="a name") as tx:
        (erased,) = erasing.erase(tx, [ErrorKey(DOL, error)], "Secretive")
    assert erased.erased == ("last_failure", "traceback")
    assert (traced(hub, error), hub.broken()) == ([], [])
    ((reason,),) = hub.rows(
        "select reason from recoup.control_log where subject = 'recoup.retry_traceback' and event_type = 'EXIT'"
    )
    assert reason == "a name"


def test_the_demo_calls_no_handler_of_yours(hub: Hub) -> None:
    """D6: its worker is given the demo's handlers, and only these."""
    from recoup.cli.demo import handlers as demo_handlers

    mine = handlers.given({DOL: lambda _: None})
    assert {one.source for one in mine} == {"this program"}
    assert {function.__module__ for function in demo_handlers().values()} == {"recoup_demo.handlers"}
    worker = recoup.Worker(hub.db, handlers=demo_handlers())
    assert {one.name for one in worker.handlers} == {"recoup_demo.handlers:_retry"}


def test_due_tables_are_counted_up_to_a_bound(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "MAX_COUNTED", 2)
    due(hub, *[PEOPLE] * 3)
    with hub.db.transaction(Authority.READER) as tx:
        found = handlers.due(tx)
    assert sum(one.due for one in found) == 2
    assert "at least 2 due" in handlers.counted([handlers.DueTable(PEOPLE, 2)])


def test_importing_recoup_stays_quick_and_its_worker_is_there() -> None:
    code = "import sys, recoup; assert 'recoup.errors' not in sys.modules; recoup.Worker"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with pytest.raises(AttributeError):
        recoup.Working  # noqa: B018
