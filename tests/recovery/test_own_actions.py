"""Actions of a user's own: named in the project file, called by a worker with a key, and how they end."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import recoup
from command_line import RECOUP, clean_environment
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


def cli(stage: Stage, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RECOUP, "--dsn", stage.db.conninfo, *arguments],
        cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False,
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
