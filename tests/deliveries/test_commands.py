"""``recoup deliveries`` and the doctor's check, each command a process of its own."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Run, run_in
from recoup.database import embedded

ROUTES = '[deliveries.routes.ops]\nkind = "webhook"\nurl_env = "OPS_URL"\nmax_tries = 1\nallow_http = true\n'


@pytest.fixture
def recoup(new_database: Callable[..., str], server: embedded.Server, tmp_path: Path) -> Run:
    environment = {
        "RECOUP_DSN": server.uri(new_database()), "RECOUP_ACTOR": "ada", "RECOUP_PROJECT": "none",
        "RECOUP_HOME": str(tmp_path),
    }  # fmt: skip
    return run_in(environment)


def test_a_person_tests_a_route(recoup: Run, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(ROUTES)
    recoup("policy", "apply", tmp_path / "p.toml", "--reason", "a route", "--yes")
    routes = {row["route"]: row for row in json.loads(recoup("deliveries", "routes", "--json").stdout)}
    assert routes["log"]["usable"] == "yes"
    assert routes["ops"]["usable"] == "no: the environment variable OPS_URL is not set"
    sent = json.loads(recoup("deliveries", "send", "log", "a test", "--body", '{"n": 1}', "--json").stdout)
    made = sent["delivery_id"]
    told = recoup("worker", "--once", "--duty", "deliver").stderr
    assert made in told
    shown = json.loads(recoup("deliveries", "show", made, "--json").stdout)
    assert (shown["status"], shown["body"], len(shown["events"])) == ("delivered", {"n": 1}, 2)
    assert "History" in recoup("deliveries", "show", made).stdout


def test_what_is_dead_is_visible_and_can_be_sent_again(recoup: Run, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(ROUTES)
    recoup("policy", "apply", tmp_path / "p.toml", "--reason", "a route", "--yes")
    there = {"OPS_URL": "http://127.0.0.1:9/S3CR3TPATH"}
    made = json.loads(recoup("deliveries", "send", "ops", "it failed", "--json").stdout)["delivery_id"]
    assert "S3CR3TPATH" not in recoup("worker", "--once", "--duty", "deliver", **there).stderr
    (dead,) = json.loads(recoup("deliveries", "list", "--status", "dead", "--json").stdout)
    assert (dead["delivery_id"], dead["last_failure"]) == (made, "connection refused")
    checks = {row["check"]: row for row in json.loads(recoup("doctor", "--json", ends=0).stdout)}
    assert checks["deliveries"]["found"] == "1 delivery of the last 7 days dead"
    assert checks["routes"]["verdict"] == "warning"
    again = json.loads(recoup("deliveries", "retry", made, "--reason", "fixed", "--json").stdout)["delivery_id"]
    told = json.loads(recoup("deliveries", "cancel", again, "--reason", "enough", "--json").stdout)
    assert told == {"delivery_id": again, "status": "dead"}
    assert "delivery_ended" in recoup("deliveries", "cancel", again, "--reason", "enough", fails=True).stderr
    assert "No deliveries match." in recoup("deliveries", "list", "--status", "queued").stdout


def test_what_makes_no_sense_is_refused(recoup: Run) -> None:
    assert "route_unknown" in recoup("deliveries", "send", "nowhere", "s", fails=True).stderr
    assert "subject_unusable" in recoup("deliveries", "send", "log", " ", fails=True).stderr
    assert "body_not_object" in recoup("deliveries", "send", "log", "s", "--body", "[1]", fails=True).stderr
    assert "delivery_unknown" in recoup("deliveries", "show", uuid.uuid4(), fails=True).stderr
    assert "delivery_unknown" in recoup("deliveries", "cancel", uuid.uuid4(), "--reason", "x", fails=True).stderr
    recoup("deliveries", "send", "log", "s", "--dedup-key", "k")
    assert "delivery_open" in recoup("deliveries", "send", "log", "s", "--dedup-key", "k", fails=True).stderr
