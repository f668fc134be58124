"""Rules at the command line: listed, shown, tested; readable at 80 columns; and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from command_line import Run, refusal, run_in
from recoup.client import Client
from recoup.database import embedded
from recoup.settings import Settings
from recovery.desk import NOTIFY, RETRY, Desk

RULES = """
[recovery.rules.vendor_is_down]
when = "message.contains('503')"
action = "notify_ops"
weight = 0.9
[recovery.rules.asks_for_what_is_not_there]
when = "context.vendor == 'x'"
action = "manual_intervention"
"""


@pytest.fixture(scope="module")
def desk(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Desk]:
    with Client(server.uri(new_database()), settings) as client:
        yield Desk(client)


@pytest.fixture
def recoup(desk: Desk) -> Run:
    return run_in({"RECOUP_DSN": desk.client.conninfo, "RECOUP_ACTOR": "ada", "COLUMNS": "80"})


def test_rules_are_tested_applied_listed_and_shown(desk: Desk, recoup: Run, tmp_path: Path) -> None:
    desk.new(message="the vendor answered 503", source="billing")
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    assert recoup("recovery", "rules", "list").stdout == "The active policy has no rules: recovery.plan decides.\n"
    tested = recoup("recovery", "rules", "test", "--file", str(file))
    assert tested.returncode == 0, tested.stderr
    assert max(map(len, tested.stdout.splitlines())) <= 80
    assert "1 of 1 change against the active policy" in tested.stdout
    found = json.loads(recoup("recovery", "rules", "test", "--file", str(file), "--since", "1h", "--json").stdout)
    assert (found["failures"], found["changed"], found["recommended"]) == (1, 1, {NOTIFY: 1})
    assert (found["changes"][0]["now"], found["changes"][0]["then"]) == (RETRY, NOTIFY)
    assert [(one["rule_name"], one["fired"], one["failed"]) for one in found["rules"]] == [
        ("asks_for_what_is_not_there", 0, 1), ("vendor_is_down", 1, 0),
    ]  # fmt: skip
    by_hand = recoup("recovery", "rules", "test", "--when", "attempts == 0", "--action", NOTIFY, "--json")
    assert json.loads(by_hand.stdout)["changed"] == 1
    assert "No failures" in recoup("recovery", "rules", "test", "--source", "elsewhere").stdout

    assert recoup("policy", "apply", str(file), "--reason", "vendors", "--yes").returncode == 0
    match = desk.new(message="the vendor answered 503", source="billing")
    listed = recoup("recovery", "rules", "list")
    assert max(map(len, listed.stdout.splitlines())) <= 80
    rows = json.loads(recoup("recovery", "rules", "list", "--json").stdout)
    assert [(one["rule_name"], one["fired"], one["failed"]) for one in rows] == [
        ("asks_for_what_is_not_there", 0, 1), ("vendor_is_down", 1, 0),
    ]  # fmt: skip
    assert json.loads(recoup("recovery", "rules", "show", "vendor_is_down", "--json").stdout)["weight"] == 0.9
    assert 'there is no key "vendor"' in recoup("recovery", "show", str(match)).stdout
    assert "Nothing changes against the active policy." in recoup("recovery", "rules", "test").stdout
    assert [one.rule_name for one in desk.recovery.rules()] == ["asks_for_what_is_not_there", "vendor_is_down"]
    assert desk.recovery.test_rules(when="false", action=NOTIFY).changed == 0
    candidate = desk.candidate(match).candidate_id
    assert recoup("recovery", "reject", str(candidate), "--reason", "nobody is there", "--yes").returncode == 0
    desk.evaluate()
    shown = " ".join(recoup("recovery", "show", str(match)).stdout.split())
    assert f"last recommended {RETRY} (plan.outside, vendor_is_down)" in shown
    assert f"Passed over vendor_is_down: {NOTIFY} was rejected" in shown


def test_what_cannot_be_tested_is_refused(recoup: Run, tmp_path: Path) -> None:
    def refused(*arguments: str) -> tuple[object, str]:
        found = refusal(recoup(*arguments, "--json", fails=True))
        return found["refused"], str(found["happened"])

    assert refused("recovery", "rules", "show", "nope")[0] == "rule_unknown"
    assert refused("recovery", "rules", "test", "--when", "true")[0] == "rules_unclear"
    assert refused("recovery", "rules", "test", "--since", "soon")[0] == "bad_duration"
    assert refused("recovery", "rules", "test", "--when", "kid", "--action", NOTIFY)[0] == "policy_invalid"
    file = tmp_path / "rules.toml"
    file.write_text(RULES.replace("message.contains", "mesage.contains"))
    code, happened = refused("policy", "check", str(file))
    assert code == "policy_invalid"
    assert "there is no fact or function mesage" in happened
    one = ("recovery.rules.a", "{when = 'attempts', action = 'notify_ops'}")
    code, happened = refused("policy", "set", *one, "--reason", "r")
    assert code == "policy_invalid"
    assert "its type is int" in happened
