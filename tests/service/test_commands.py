"""``recoup keys`` and the doctor's checks, each command a process of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Run, run_in
from recoup.database import embedded

HUB = '[service.hubs.outreach]\ntables = ["outreach.dol_errors"]\n'


@pytest.fixture
def recoup(new_database: Callable[..., str], server: embedded.Server, tmp_path: Path) -> Run:
    environment = {
        "RECOUP_DSN": server.uri(new_database()), "RECOUP_ACTOR": "ada", "RECOUP_PROJECT": "none",
        "RECOUP_HOME": str(tmp_path),
    }  # fmt: skip
    return run_in(environment)


def test_a_key_from_its_making_to_its_end(recoup: Run, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(HUB)
    recoup("policy", "apply", tmp_path / "p.toml", "--reason", "a hub", "--yes")
    said = recoup("keys", "add", "grace", "--role", "producer", "--hub", "outreach", "--expires", "90d").stdout
    assert "The key is shown only now." in said
    (secret,) = [word for word in said.split() if word.startswith("rcp_")]
    (listed,) = json.loads(recoup("keys", "list", "--json").stdout)
    assert (listed["name"], listed["role"], listed["hub"], listed["status"]) == (
        "grace", "producer", "outreach", "active",
    )  # fmt: skip
    assert secret not in json.dumps(listed)
    assert secret.split("_")[1] == listed["prefix"]
    rotated = json.loads(recoup("keys", "rotate", "grace", "--overlap", "1h", "--reason", "due", "--json").stdout)
    assert rotated["key"].startswith("rcp_")
    statuses = [row["status"] for row in json.loads(recoup("keys", "list", "--json").stdout)]
    assert statuses == ["active", "replaced"]
    gone = recoup("keys", "revoke", "grace", "--reason", "left").stdout
    assert gone.count("is revoked") == 2
    assert "No keys." in recoup("keys", "list").stdout
    assert recoup("keys", "list", "--all").stdout.count("revoked") >= 2
    assert "No calls were denied." in recoup("keys", "denied").stdout
    recoup("audit", "--only", "service")


def test_what_makes_no_sense_is_refused(recoup: Run) -> None:
    for arguments, code in (
        (("add", "a", "--role", "root"), "key_role"),
        (("add", " ", "--role", "viewer"), "key_name"),
        (("add", "a", "--role", "viewer", "--hub", "x"), "hub_unknown"),
        (("add", "a", "--role", "admin", "--hub", "x"), "key_scoped"),
        (("add", "a", "--role", "viewer", "--expires", "soon"), "bad_duration"),
        (("rotate", "nobody"), "key_not_found"),
        (("revoke", "nobody", "--reason", "x"), "key_not_found"),
    ):
        assert code in recoup("keys", *arguments, fails=True).stderr, arguments


def test_the_doctor_tells_of_keys_and_logins(recoup: Run) -> None:
    def checks() -> dict[str, dict[str, str]]:
        return {row["check"]: row for row in json.loads(recoup("doctor", "--json", ends=0).stdout)}

    before = checks()
    assert before["logins"]["verdict"] == "ok"
    assert "recoup_app" in before["logins"]["found"]
    recoup("keys", "add", "ada", "--role", "reviewer", "--expires", "2d")
    after = checks()
    assert (after["keys"]["verdict"], after["logins"]["verdict"]) == ("warning", "warning")
    assert "ada expires within a week" in after["keys"]["found"]
    assert "may both approve and execute: recoup_app" in after["logins"]["found"]
