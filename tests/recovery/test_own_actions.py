"""Actions of a user's own: named in the project file, called by a worker with a key, and how they end."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

import recoup
from command_line import RECOUP, clean_environment
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.recovery import undoing as undoing_
from recoup.recovery.executing import Claimed, Executor, Failed, Subject
from recoup.recovery.policy import RecoveryPolicy
from recovery.stage import NewStage, Stage

PIPELINE = """
from recoup.recovery.executing import Failed

def restart(one, subject):
    print("restart", subject.subject_ref, one.idempotency_key, one.timeout_s, one.parameters["unit"], flush=True)
    return {"unit": one.parameters["unit"]}

def call(one, subject):
    return Failed("HTTP 503")

NUMBER = 7
"""
POLICY = """
[recovery.actions.restart_unit]
type = "retry"
is_automated = false
requires_approval = true
cost = 2
timeout_s = 20
parameters = { unit = "billing.service" }
[recovery.actions.call_webhook]
type = "retry"
is_automated = false
requires_approval = true
cost = 1
timeout_s = 20
[recovery.plan]
outside = ["restart_unit", "call_webhook"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "recoup.toml").write_text(
        '[actions]\nrestart_unit = "pipeline:restart"\ncall_webhook = "pipeline:call"\nother = "pipeline:NUMBER"\n'
    )
    for path in (tmp_path, tmp_path / "recoup.toml"):
        path.chmod(0o755)
    return tmp_path


def cli(stage: Stage, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RECOUP, "--dsn", stage.db.conninfo, *arguments],
        cwd=folder, env=clean_environment() | environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def waiting(stage: Stage) -> UUID:
    """A failure whose first candidate was approved: its action is the user's own."""
    stage.apply(POLICY)
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match, actions=["restart_unit", "call_webhook"])
    stage.settle()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    return match


def logged(done: subprocess.CompletedProcess[str]) -> dict[tuple[str, Any], dict[str, Any]]:
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return {(line["event"], line.get("action")): line for line in lines}


def test_a_worker_calls_the_function_of_the_project_file_and_says_which(new_stage: NewStage, project: Path) -> None:
    stage = new_stage()
    match = waiting(stage)
    done = cli(stage, project, "worker", "--once", "--duty", "recovery-execute")
    assert done.returncode == 0, done.stderr
    candidate = stage.candidate(match)
    assert f"restart 0 {candidate['idempotency_key']} 20 billing.service" in done.stdout
    assert (candidate["status"], candidate["result"], candidate["cost"]) == (
        "succeeded", {"unit": "billing.service"}, 2,
    )  # fmt: skip
    said = logged(done)
    assert said["executor", "restart_unit"]["executor"] == "pipeline:restart"
    assert said["executor", "restart_unit"]["source"] == str(project / "recoup.toml")
    assert "this is of type int" in said["executor cannot be loaded", "other"]["failure"]
    stage.settle(executing=False)
    assert stage.status(match) == ("recovered", "recovered by restart_unit")
    assert stage.broken() == []


def test_an_action_that_is_begun_from_the_template_works_when_it_is_written(
    new_stage: NewStage, tmp_path: Path
) -> None:
    """As it is, it fails and says so: nothing is taken for recovered by a function that nobody wrote."""
    stage = new_stage()

    def run(*arguments: str) -> str:
        done = cli(stage, tmp_path, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = run("recovery", "actions", "new", "restart_billing")
    lines = told.split("recoup.toml, which lies next to the module:")[1].split("Then:")[0]
    (tmp_path / "recoup.toml").write_text("\n".join(line.strip() for line in lines.splitlines()))
    assert "valid" in run("policy", "check", "restart_billing.toml")
    run("policy", "apply", "restart_billing.toml", "--reason", "a test", "--yes")
    with stage.db.transaction(Authority.READER) as tx:
        assert versions.active(tx).policy[RecoveryPolicy].actions["restart_billing"].requires_approval

    def executed() -> dict[str, Any]:
        (match,) = stage.outside()
        stage.settle(executing=False)
        stage.scope(match, actions=["restart_billing"])
        assert stage.approve(stage.propose(match, "restart_billing")) == [None]
        run("worker", "--once", "--duty", "recovery-execute")
        return stage.candidate(match)

    row = executed()
    assert (row["status"], row["error"]) == ("failed", "NotImplementedError: restart_billing does nothing yet")
    module = tmp_path / "restart_billing.py"
    text = module.read_text()
    written = text.replace('raise NotImplementedError("restart_billing does nothing yet")', 'return {"done": True}')
    assert written != text
    module.write_text(written)
    row = executed()
    assert (row["status"], row["result"]) == ("succeeded", {"done": True})
    for given, code in (("restart_billing", "file_exists"), ("Restart", "action_name"), ("import", "action_name"),
                        ("notify_ops", "action_exists")):  # fmt: skip
        refused = cli(stage, tmp_path, "recovery", "actions", "new", given)
        assert (refused.returncode != 0, f"refused: {code}" in refused.stderr) == (True, True), refused.stderr
    assert module.read_text() == written
    stage.whole()


@pytest.mark.parametrize(("state", "ends"), [("active", "succeeded"), ("failed", "failed")])
def test_the_unit_of_the_how_to_is_restarted(new_stage: NewStage, tmp_path: Path, state: str, ends: str) -> None:
    """The function as the page prints it, called by a worker; systemctl is a program that answers as systemd's does."""
    page = (Path(__file__).parents[2] / "docs/howto/write-your-own-action.md").read_text()
    (tmp_path / "actions.py").write_text(page.split("```python\n# actions.py\n")[1].split("```")[0])
    (tmp_path / "recoup.toml").write_text('[actions]\nrestart_unit = "actions:restart_unit"\n')
    (tmp_path / "bin").mkdir()
    systemctl, calls = tmp_path / "bin" / "systemctl", tmp_path / "calls"
    systemctl.write_text(
        f'#!/bin/sh\necho "$@" >> {calls}\n[ $1 = restart ] || {{ echo {state}; [ {state} = active ]; }}\n'
    )
    systemctl.chmod(0o755)
    stage = new_stage()
    match = waiting(stage)
    path = f"{systemctl.parent}:{os.environ['PATH']}"
    assert cli(stage, tmp_path, "worker", "--once", "--duty", "recovery-execute", PATH=path).returncode == 0
    assert calls.read_text().splitlines() == ["restart -- billing.service", "is-active -- billing.service"]
    candidate = stage.candidate(match)
    assert candidate["status"] == ends
    assert candidate["result"] == ({"unit": "billing.service", "state": "active"} if ends == "succeeded" else None)
    assert stage.broken() == []


def test_an_installed_package_names_its_actions_by_entry_points(new_stage: NewStage, tmp_path: Path) -> None:
    """As a user has it: a package that is installed, and no project file. What undoes an action comes with it."""
    (tmp_path / "repairs.py").write_text(
        "from recoup.recovery.executing import Executor\n"
        "def restart(one, subject):\n"
        "    print('restart', one.idempotency_key, one.parameters['unit'], flush=True)\n"
        "def undo(one, subject):\n"
        "    print('undo', subject.undoes['action'], subject.undoes['parameters']['unit'], flush=True)\n"
        "RESTART = Executor(restart, undo=undo)\n"
    )
    info = tmp_path / "repairs-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: repairs\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[recoup.actions]\nrestart_unit = repairs:RESTART\ncall_webhook = repairs:missing\n"
    )
    stage = new_stage()
    match = waiting(stage)
    stage.apply(POLICY.replace("timeout_s = 20", "timeout_s = 20\nundo = true", 1))
    candidate = stage.candidate(match)["candidate_id"]
    command = ("worker", "--once", "--duty", "recovery-execute")
    done = cli(stage, tmp_path, *command, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert f"restart {stage.candidate(match)['idempotency_key']} billing.service" in done.stdout
    assert logged(done)["executor", "restart_unit"]["source"] == "package repairs"
    assert logged(done)["executor cannot be loaded", "call_webhook"]["source"] == "package repairs"
    assert stage.candidate(match)["status"] == "succeeded"
    stage.settle(executing=False)
    with stage.person("paul", Authority.OPERATOR) as tx:
        undoing = undoing_.rollback(tx, candidate, stage.policy, reason="the wrong unit")
    (made,) = stage.rows("select * from recovery.candidate where candidate_id = %s", undoing)
    stage.scope(made["failure_match_id"], actions=["rollback"])
    stage.settle(executing=False)
    assert stage.approve(undoing) == [None]
    done = cli(stage, tmp_path, *command, PYTHONPATH=str(tmp_path))
    assert "undo restart_unit billing.service" in done.stdout, done.stderr
    (made,) = stage.rows("select * from recovery.candidate where candidate_id = %s", undoing)
    assert made["status"] == "succeeded"


def test_what_nobody_executes_here_is_said_by_worker_doctor_and_duties(
    new_stage: NewStage, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stage = new_stage()
    match = waiting(stage)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = cli(stage, elsewhere, "worker", "--once", "--duty", "recovery-execute")
    assert logged(done)["no executor here for candidates that may start", "restart_unit"]["candidates"] == 1
    assert stage.candidate(match)["status"] == "approved", "what cannot be called is not started"
    (duty,) = [
        one for one in json.loads(cli(stage, elsewhere, "duties", "--json").stdout)
        if one["duty"] == "recovery-execute"
    ]  # fmt: skip
    assert duty["note"] == "no executor for restart_unit (1)"
    found = [
        (one["verdict"], one["found"]) for one in json.loads(cli(stage, project, "doctor", "--json").stdout)
        if one["check"] == "actions"
    ]  # fmt: skip
    assert [verdict for verdict, _ in found] == ["error", "ok"]
    assert "pipeline:NUMBER for other cannot be used" in found[0][1]
    assert "restart_unit → pipeline:restart" in found[1][1]


def test_a_worker_in_a_program_calls_what_it_is_given_and_a_reported_failure_is_one(new_stage: NewStage) -> None:
    stage = new_stage()
    match = waiting(stage)
    called: list[str] = []

    def restart(one: Any, subject: Any) -> Any:
        called.append(subject.error_message)
        raise ConnectionError("the unit did not start")

    recoup.Worker(stage.db, actions={"restart_unit": restart}, duties=["recovery-execute"], name="w").run_once()
    assert called == ["vendor is down"]
    (one,) = stage.candidates(match)
    assert (one["status"], one["error"]) == ("failed", "ConnectionError: the unit did not start")
    with pytest.raises(TypeError, match="an executor is a function"):
        recoup.Worker(stage.db, actions={"restart_unit": 7})  # type: ignore[dict-item]


@pytest.mark.parametrize("database", [False, True])
@pytest.mark.parametrize("kind", ["coroutine", "generator", "stream"])
def test_what_has_not_begun_when_it_returns_has_not_succeeded(new_stage: NewStage, kind: str, database: bool) -> None:
    stage = new_stage()
    match = waiting(stage)

    async def coroutine(*_: Any) -> None: ...

    def generator(*_: Any) -> Iterator[int]:
        yield 1

    async def stream(*_: Any) -> AsyncIterator[int]:
        yield 1

    function: Any = {"coroutine": coroutine, "generator": generator, "stream": stream}[kind]
    stage.executors["restart_unit"] = Executor(function, database=database)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nobody awaits it
        stage.execute()
        gc.collect()
    one = stage.candidate(match)
    assert one["status"] == "failed"
    assert one["error"].startswith("TypeError: an executor is a plain function")


def test_what_follows_an_ended_match_repeats_under_the_same_key(new_stage: NewStage) -> None:
    """Nobody knows whether the effect of a crashed action was made: also after its match has ended."""
    stage = new_stage()
    stage.apply(POLICY + "[recovery]\nheld_share = 0.0\n")
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match, actions=["restart_unit", "call_webhook"])
    stage.settle()
    stage.reject(stage.propose(match, "call_webhook"))
    stage.settle()
    first = stage.candidate(match)
    assert stage.approve(first["candidate_id"]) == [None]
    assert len(stage.claim()) == 1  # by a worker that dies
    stage.advance(hours=1)
    stage.settle()
    assert stage.status(match)[0] == "unrecovered"
    proposed = stage.propose(match, "restart_unit")
    (again,) = stage.rows("select * from recovery.candidate where candidate_id = %s", proposed)
    assert again["failure_match_id"] != match
    assert again["idempotency_key"] == str(first["candidate_id"])
    # What the machine proposes next, too, and it is held for a person.
    stage.reject(stage.propose(again["failure_match_id"], "call_webhook"))
    stage.settle()
    machine = stage.candidate(again["failure_match_id"])
    assert (machine["action_name"], machine["proposed_by"]) == ("restart_unit", None)
    assert (machine["idempotency_key"], machine["held_for_review"]) == (str(first["candidate_id"]), True)


def test_what_a_function_for_the_database_wrote_is_not_kept_without_its_outcome(new_stage: NewStage) -> None:
    stage = new_stage()
    stage.apply(POLICY)
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match, actions=["restart_unit", "call_webhook"])
    stage.settle()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]

    def slow(tx: Transaction, one: Claimed, subject: Subject) -> None:
        tx.execute("insert into recoup.late_result (subject, unit_id, token, result) values ('mine', 'x', %s, '1')",
                   (one.token,))  # fmt: skip
        stage.advance(hours=1)  # its lease expires meanwhile

    stage.executors["restart_unit"] = Executor(slow, database=True)
    stage.execute()
    (late,) = stage.rows("select subject, result from recoup.late_result")
    assert late["subject"] == "recovery.candidate"
    assert "longer than its lease" in late["result"]["failure"]
    stage.settle()
    assert stage.told(match)[0] == ("restart_unit", "failed", "CRASHED")


@pytest.mark.parametrize(
    "trouble", ["its query is cut", "it waits for a lock", "its own server is away", "it is cut off"]
)
def test_a_function_for_the_database_in_trouble_fails_alone(new_stage: NewStage, trouble: str) -> None:
    """Not with all that is claimed with it, and not again and again: that would be every action of this worker."""
    stage = new_stage()
    called: list[str] = []

    def in_trouble(tx: Transaction, *_: object) -> None:
        called.append(trouble)
        match trouble:
            case "its query is cut":
                tx.execute("set local statement_timeout = '20ms'")
                tx.execute("select pg_sleep(5)")
            case "it waits for a lock":
                raise psycopg.errors.LockNotAvailable
            case "its own server is away":
                raise psycopg.OperationalError("connection refused")
            case "it is cut off":
                tx.close()  # as the server does with a transaction that idles too long

    match = waiting(stage)
    (other,) = stage.outside(source=stage.match(match)["source"], prefix="other")
    stage.settle()
    stage.approve(stage.propose(other, "call_webhook"))
    stage.executors["restart_unit"] = Executor(in_trouble, database=True)
    stage.executors["call_webhook"] = Executor(lambda *_: called.append("good"), database=True)
    for _ in range(2 if trouble == "it is cut off" else 0):
        with pytest.raises((psycopg.OperationalError, psycopg.InterfaceError)):
            stage.execute()
        assert stage.told(match) == [("restart_unit", "approved", None)]
    stage.execute()
    (ended,) = stage.candidates(match)
    assert (ended["status"], stage.told(other)[-1][1]) == ("failed", "succeeded")
    assert "connection" in ended["error"] or "timeout" in ended["error"] or "LockNotAvailable" in ended["error"]
    assert called.count(trouble) == (2 if trouble == "it is cut off" else 1)
    stage.whole()


def test_what_undoes_has_the_time_that_its_action_is_given(new_stage: NewStage) -> None:
    stage = new_stage()
    stage.apply(POLICY.replace("timeout_s = 20", "timeout_s = 20\nundo = true", 1)
                + "[recovery.actions.rollback]\ntimeout_s = 1000\n")  # fmt: skip
    (match,) = stage.outside()
    stage.settle()
    scope = stage.scope(match, actions=["restart_unit", "call_webhook"])
    stage.settle()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    stage.executors["restart_unit"] = Executor(lambda *_: None, undo=lambda *_: None)
    stage.settle()
    done = stage.candidate(match)
    assert done["status"] == "succeeded", scope
    with stage.person("paul", Authority.OPERATOR) as tx:
        undoing = undoing_.rollback(tx, done["candidate_id"], stage.policy, reason="wrong")
    (made,) = stage.rows("select * from recovery.candidate where candidate_id = %s", undoing)
    stage.scope(made["failure_match_id"], actions=["rollback"])
    stage.settle()
    assert stage.approve(undoing) == [None]
    stage.settle()
    (made,) = stage.rows("select * from recovery.candidate where candidate_id = %s", undoing)
    assert made["status"] == "succeeded"
    assert (made["lease_until"] - made["executed_at"]).total_seconds() >= made["timeout_s"] == 1000


def test_the_longest_timeout_of_a_policy_is_usable(new_stage: NewStage) -> None:
    stage = new_stage()
    stage.apply(POLICY.replace("timeout_s = 20", "timeout_s = 86400"))
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match, actions=["restart_unit"])
    stage.settle()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    stage.executors["restart_unit"] = Executor(lambda *_: None)
    stage.settle()
    assert stage.status(match)[0] == "recovered"


@pytest.mark.parametrize("database", [False, True])
def test_no_secret_of_a_failure_is_logged_or_stored(
    new_stage: NewStage, caplog: pytest.LogCaptureFixture, database: bool
) -> None:
    stage = new_stage()
    stage.apply(POLICY)
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match, actions=["restart_unit"])
    stage.settle()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    stage.executors["restart_unit"] = Executor(lambda *_: Failed("HTTP 401: password=hunter2"), database=database)
    stage.execute()
    assert stage.candidate(match)["error"] == "HTTP 401: password=[redacted]"
    assert not any("hunter2" in line for line in caplog.messages)
    assert database or any("HTTP 401" in line for line in caplog.messages)
