"""``recoup alerts`` and the doctor's check, each command a process of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from command_line import Run, run_in
from recoup.database import embedded

POLICY = """
[deliveries.routes.ops]
kind = "webhook"
url_env = "OPS_URL"
[alerts]
recover_after_s = 0
every_s = 1
[alerts.actions.notify-operators]
routes = ["ops", "log"]
[alerts.rules.few-routes]
signal = "workers_lost"
above = 0
severity = "WARNING"
action = "notify-operators"
for_s = 0
"""


@pytest.fixture
def recoup(new_database: Callable[..., str], server: embedded.Server, tmp_path: Path) -> Run:
    environment = {
        "RECOUP_DSN": server.uri(new_database()), "RECOUP_ACTOR": "ada", "RECOUP_PROJECT": "none",
        "RECOUP_HOME": str(tmp_path),
    }  # fmt: skip
    run = run_in(environment)
    (tmp_path / "p.toml").write_text(POLICY)
    run("policy", "apply", tmp_path / "p.toml", "--reason", "a test", "--yes")
    return run


def test_rules_and_routes_are_shown_before_anything_happens(recoup: Run) -> None:
    assert "No alert fires." in recoup("alerts", "list").stdout
    recoup("worker", "--once", "--duty", "alerts")
    rules = {row["rule"]: row for row in json.loads(recoup("alerts", "rules", "--json").stdout)}
    assert (rules["parked-errors"]["condition"], rules["parked-errors"]["value"]) == ("ok", 0)
    assert "1,000" in recoup("alerts", "rules").stdout
    routes = json.loads(recoup("alerts", "routes", "--json").stdout)
    ops = next(row for row in routes if row["route"] == "ops")
    assert (ops["action"], ops["usable"]) == (
        "notify-operators", "no: the environment variable OPS_URL is not set"
    )  # fmt: skip
    checks = {row["check"]: row for row in json.loads(recoup("doctor", "--json", ends=0).stdout)}
    assert checks["alerts"]["verdict"] == "ok"
    assert "no heartbeat route" in checks["alerts"]["found"]
    assert checks["signals"]["verdict"] == "ok"


def test_a_silence_says_what_it_covers(recoup: Run) -> None:
    """A key that is mistyped silences nothing, and that is seen at once."""
    recoup("worker", "--once", "--duty", "alerts")
    given = ("--for", "2h", "--reason", "we know")
    assert "covers 1 rule and key; 0 of them fire now" in recoup("alerts", "silence", "few-*", *given).stdout
    assert "covers nothing" in recoup("alerts", "silence", "few-*", "--key", "overal", *given).stdout


def test_a_silence_by_hand(recoup: Run) -> None:
    made = json.loads(
        recoup("alerts", "silence", "few-*", "--for", "2h", "--reason", "we know", "--json").stdout
    )["silence_id"]  # fmt: skip
    assert "few-*" in recoup("alerts", "silences").stdout
    assert "ended" in recoup("alerts", "unsilence", made, "--reason", "enough").stdout
    assert "silence_ended" in recoup("alerts", "unsilence", made, "--reason", "enough", fails=True).stderr
    assert "No silence is active." in recoup("alerts", "silences").stdout
    (row,) = json.loads(recoup("alerts", "silences", "--all", "--json").stdout)
    assert (row["status"], row["created_by"], row["reason"]) == ("ended", "ada", "we know")


def test_a_test_is_sent(recoup: Run) -> None:
    assert "is queued" in recoup("alerts", "test", "few-routes").stdout
    made = json.loads(recoup("alerts", "test", "--route", "log", "--json").stdout)["deliveries"]
    told = recoup("worker", "--once", "--duty", "deliver").stderr
    assert made[0] in told
    assert "nothing is wrong" in told


def test_what_makes_no_sense_is_refused(recoup: Run) -> None:
    assert "rule_unknown" in recoup("alerts", "test", "few", fails=True).stderr
    assert "few-routes" in recoup("alerts", "silence", "few-route", "--for", "1h", "--reason", "x", fails=True).stderr
    assert "rule_unknown" in recoup("alerts", "list", "--rule", "few", fails=True).stderr
    assert "No alert has fired yet." in recoup("alerts", "list", "--all", "--rule", "few-routes").stdout
    assert "bad_duration" in recoup("alerts", "silence", "few-*", "--for", "soon", "--reason", "x", fails=True).stderr
    assert "alert_unknown" in recoup("alerts", "show", str(uuid4()), fails=True).stderr
