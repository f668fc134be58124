"""``recoup policy``: TOML for files, a question for people, --yes for scripts, and nobody's change lost."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import RECOUP, Run, clean_environment, refusal, run_in
from recoup import policy
from recoup.database.connection import Database
from recoup.errors.policy import ErrorPolicy
from recoup.gate.policy import GatePolicy
from recoup.lifecycles.declaration import Authority
from recoup.policy import Version

HOWTO = Path(__file__).parents[2] / "docs/howto"
PATIENCE_S = 60


@pytest.fixture
def db(fresh: Callable[..., Database]) -> Database:
    return fresh(simulated_from=None)


@pytest.fixture
def run(db: Database) -> Run:
    return run_in({"RECOUP_DSN": db.conninfo, "RECOUP_ACTOR": "ada", "COLUMNS": "160"}, "policy")


def active(db: Database) -> Version:
    with db.transaction(Authority.READER) as tx:
        return policy.active(tx)


def at_terminal(db: Database, *arguments: str, typed: str = "", **more: str) -> tuple[int, str]:
    """Exit status and output of a command at a terminal, where this is typed when it asks."""
    ours, theirs = pty.openpty()
    environment = {**clean_environment(), "RECOUP_DSN": db.conninfo, "COLUMNS": "160", **more}
    with subprocess.Popen(
        [*RECOUP, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown, until = b"", time.monotonic() + PATIENCE_S
        while time.monotonic() < until and select.select([ours], [], [], PATIENCE_S)[0]:
            try:
                chunk = os.read(ours, 65_536)
            except OSError:  # its end
                break
            shown += chunk
            if typed and re.search(rb"\[\w/\w\] $", shown):
                os.write(ours, typed.encode())
                typed = ""
        if time.monotonic() >= until:
            process.kill()
    os.close(ours)
    return process.returncode, shown.decode().replace("\r\n", "\n")


def test_what_is_shown_into_a_file_is_a_document(run: Run, db: Database, tmp_path: Path) -> None:
    """Where nobody looks it is TOML, which applied changes nothing; on a terminal it is a table."""
    file = tmp_path / "policy.toml"
    file.write_text(run("show").stdout)
    assert file.read_text().startswith("# Policy version 1, applied ")
    assert (
        "Nothing to change: version 1 has the same values." in run("apply", file, "--replace", "--reason", "x").stdout
    )
    status, shown = at_terminal(db, "policy", "show")
    assert (status, "gate.wait_hours" in shown, "[gate]" in shown) == (0, True, False)


def test_the_howtos_do_not_undo_each_other(run: Run, db: Database, tmp_path: Path) -> None:
    """Three pages in a row, each with a document of its own: in the end all three are active."""
    pages = "".join((HOWTO / page).read_text() for page in ("add-an-error-table.md", "bring-a-batch-through.md"))
    blocks = re.findall(r"^ *```toml\n(.*?)^ *```", pages, re.MULTILINE | re.DOTALL)
    blocks += re.findall(r"^ *(?:\$ )?cat > \w+\.toml <<'END'\n(.*?)^ *END$", pages, re.MULTILINE | re.DOTALL)
    blocks.append('[errors]\ncategory_rules = [{ category = "STRUCTURAL", code = "TITLE_*", words = "in no list" }]')
    assert len(blocks) >= 3
    for block in blocks:
        (tmp_path / "page.toml").write_text(block)
        run("apply", tmp_path / "page.toml", "--reason", "as printed")
    found = active(db).policy
    assert "billing.invoice_errors" in found[ErrorPolicy].tables
    assert found[GatePolicy].verification.contact == "ops@example.com"
    assert [rule.code for rule in found[ErrorPolicy].category_rules] == ["TITLE_*"]


def test_what_takes_values_back_needs_a_yes(run: Run, db: Database, tmp_path: Path) -> None:
    """A script is refused and told which; a person is asked."""
    assert "version 2 is active" in run("set", "gate.wait_hours", "[1, 2]", "--reason", "x").stdout
    whole = tmp_path / "whole.toml"
    whole.write_text("[worker]\nheartbeat_s = 7\n")
    refused = refusal(run("apply", whole, "--replace", "--reason", "x", "--json", fails=True))
    assert (refused["refused"], refused["facts"]) == ("policy_takes_back", {"keys": ["gate.wait_hours"]})
    command = ("policy", "apply", str(whole), "--replace", "--reason", "x")
    status, shown = at_terminal(db, *command, typed="n\n")
    assert (status, "policy_not_confirmed" in shown, active(db).version) == (1, True, 2)
    status, shown = at_terminal(db, *command, typed="y\n")
    assert (status, "version 3 is active" in shown) == (0, True)
    assert active(db).policy[GatePolicy].wait_hours == [24, 72]


EDITOR = "sed -i s/heartbeat_s.=.10/heartbeat_s={}/"


def test_the_active_policy_is_edited(run: Run, db: Database) -> None:
    """What was saved is applied; a draft that is refused is kept, and the refusal says where and how to go on."""
    assert "version 2 is active" in run("edit", "--reason", "x", EDITOR=EDITOR.format(8)).stdout
    assert active(db).figures["worker"]["heartbeat_s"] == 8
    assert "Nothing to change" in run("edit", "--reason", "x", EDITOR="true").stdout
    said = run("edit", "--reason", "x", EDITOR="sed -i s/heartbeat_s.=.8/heartbeat_s=true/", fails=True).stderr
    assert "refused: policy_invalid" in said
    (draft,) = re.findall(r"Your draft is (\S+)\. ", said)
    assert f"recoup policy apply {draft} --replace --over 2 --reason" in said
    assert "heartbeat_s=true" in Path(draft).read_text()
    Path(draft).unlink()
    assert "editor_missing" in run("edit", "--reason", "x", EDITOR="no-such-editor", fails=True).stderr


def test_an_edit_from_an_older_version_is_refused(run: Run, db: Database, tmp_path: Path) -> None:
    """Somebody else applied one while the editor was open."""
    other = tmp_path / "other"
    recoup = shlex.join([*RECOUP, "policy", "set", "gate.wait_hours", "[1, 2]", "--reason", "another"])
    other.write_text(f'#!/bin/sh\n{EDITOR.format(8)} "$1"\n{recoup}\n')
    other.chmod(0o700)
    said = run("edit", "--reason", "x", EDITOR=str(other), fails=True).stderr
    assert "refused: policy_not_in_force" in said
    (draft,) = re.findall(r"Your draft is (\S+)\. ", said)
    Path(draft).unlink()
    assert active(db).policy[GatePolicy].wait_hours == [1, 2]
