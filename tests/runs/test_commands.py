"""``recoup runs`` at the command line: from a start to its end, and what is refused."""

from __future__ import annotations

import json
import subprocess
import uuid
from typing import Any

import pytest

from command_line import Run, refusal, run_in
from recoup.client import Client
from runs.track import HOUR, advance


@pytest.fixture
def cli(client: Client) -> Run:
    return run_in({"RECOUP_DSN": client.conninfo, "RECOUP_ACTOR": "ada", "COLUMNS": "250"}, "runs")


@pytest.fixture
def recoup(client: Client) -> Run:
    return run_in({"RECOUP_DSN": client.conninfo, "RECOUP_ACTOR": "ada", "COLUMNS": "250"})


def parsed(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def test_a_run_from_its_start_to_its_end(cli: Run) -> None:
    one = parsed(cli("start", "import", "--input", '{"day": 1}', "--source", "crm", "--json"))
    run, token = one["run_id"], ("--token", one["token"])
    cli("heartbeat", run, *token)
    assert parsed(cli("note", run, "half of it", *token, "--json"))["note"] == 1
    ended = cli("finish", run, *token, "--status", "succeeded", "--result", '{"rows": 3}', "--json")
    assert parsed(ended)["status"] == "succeeded"
    shown = cli("show", run).stdout
    assert "half of it" in shown
    found = parsed(cli("show", run, "--json"))
    assert (found["result"], found["input"]) == ({"rows": 3}, {"day": 1})
    assert [event["event_type"] for event in found["trace"]] == ["started", "note", "succeeded"]
    assert run in cli("list", "--status", "succeeded", "--kind", "import").stdout


def test_a_queued_run_is_claimed(cli: Run) -> None:
    kind = f"k-{uuid.uuid4().hex[:6]}"
    assert cli("claim", "--kind", kind).stdout == "No run of this kind is queued.\n"
    queued = parsed(cli("start", kind, "--queue", "--json"))
    (claimed,) = parsed(cli("claim", "--kind", kind, "--owner", "w1", "--json"))
    assert claimed["run_id"] == queued["run_id"]
    failed = ("finish", claimed["run_id"], "--token", claimed["token"], "--status", "failed", "--message", "no")
    assert "failed" in cli(*failed).stdout
    assert parsed(cli("show", claimed["run_id"], "--json"))["owner"] == "w1"


def test_a_crashed_run_is_listed_and_refused(cli: Run, recoup: Run, client: Client) -> None:
    one = parsed(cli("start", "import", "--json"))
    advance(client, HOUR)
    assert one["run_id"] in cli("orphans").stdout
    recoup("worker", "--once", "--duty", "lost-workers", "--duty", "orphaned-runs")
    assert cli("orphans").stdout == "No run is orphaned.\n"
    assert one["run_id"] in [row["run_id"] for row in parsed(cli("orphans", "--marked", "--json"))]
    refused = refusal(cli("heartbeat", one["run_id"], "--token", one["token"], "--json", fails=True))
    assert refused["refused"] == "run_over"
    late = cli("finish", one["run_id"], "--token", one["token"], "--status", "succeeded", "--json", ends=1)
    assert parsed(late)["status"] == "late"
    assert one["run_id"] in recoup("find", one["run_id"][:13]).stdout


def test_a_worker_shows_the_threshold_of_its_environment(recoup: Run) -> None:
    listed = parsed(recoup("duties", "--json", ORPHAN_THRESHOLD_MINUTES="5"))
    (note,) = (one["note"] for one in listed if one["duty"] == "orphaned-runs")
    assert note == "ORPHAN_THRESHOLD_MINUTES overrides the policy here: 5 minutes"
    refused = refusal(recoup("duties", "--json", fails=True, ORPHAN_THRESHOLD_MINUTES="soon"))
    assert refused["refused"] == "bad_setting"


@pytest.mark.parametrize(
    "arguments",
    [
        ("start", "x" * 300),
        ("start", "import", "--input", "{"),
        ("start", "import", "--input", "[1]"),
        ("start", "import", "--input", "[" * 100_000),
        ("show", str(uuid.uuid4())),
        ("heartbeat", str(uuid.uuid4()), "--token", str(uuid.uuid4())),
        ("note", str(uuid.uuid4()), "x", "--token", str(uuid.uuid4())),
        ("finish", str(uuid.uuid4()), "--token", str(uuid.uuid4()), "--status", "failed"),
    ],
)
def test_what_is_refused(cli: Run, arguments: tuple[str, ...]) -> None:
    assert refusal(cli(*arguments, "--json", fails=True))["next_step"]


@pytest.mark.parametrize(
    "arguments",
    [("show", "7"), ("finish", str(uuid.uuid4()), "--status", "gone"), ("claim",), ("list", "--limit", "0")],
)
def test_what_is_misspelt(cli: Run, arguments: tuple[str, ...]) -> None:
    cli(*arguments, fails=True)
