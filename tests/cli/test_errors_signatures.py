"""``recoup errors explain`` and ``groups``, and category rules on their way into the policy."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import RECOUP, Run, clean_environment, refusal, run_in
from hub import DOL, PEOPLE, Hub
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.settings import Settings
from recoup.signatures import judge, signature

TIMED_OUT = "GET https://filings.example/v1/ein/{} timed out after {} ms"
TRACE = """Traceback (most recent call last):
  File "/srv/hub/enrich.py", line 17, in enrich
    return company[name]
KeyError: 'domain'
"""
RULES = """
[errors]
category_rules = [
  { category = "TRANSIENT", code = "VENDOR_*", words = "quota … exceeded" },
  { category = "STRUCTURAL", words = "teapot" },
]
"""


@pytest.fixture
def alone(tmp_path: Path) -> Run:
    """recoup errors where there is no server, and none is reachable."""
    return run_in({"RECOUP_HOME": str(tmp_path / "home"), "COLUMNS": "80"}, "errors")


@pytest.fixture
def dsn(server: embedded.Server, new_database: Callable[..., str]) -> str:
    return server.uri(new_database())


@pytest.fixture
def hub(dsn: str, settings: Settings) -> Any:
    with Database(dsn, settings) as database:
        yield Hub(database)


@pytest.fixture
def recoup(dsn: str) -> Run:
    return run_in({"RECOUP_DSN": dsn, "RECOUP_ACTOR": "ada", "COLUMNS": "120"})


def parsed(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def test_a_text_is_explained_without_a_server(alone: Run, tmp_path: Path) -> None:
    """What counts, what was masked and why, which rule; nothing is started, nothing is written."""
    text = TIMED_OUT.format(7, 30)
    made, judged = signature(text, "EIN_TIMEOUT"), judge(text, "EIN_TIMEOUT")
    said = alone("explain", text, "--code", "EIN_TIMEOUT").stdout
    for words in (
        made.key,
        "EIN_TIMEOUT",
        "<…> timed out after <…>",
        "https://filings.example/v1/ein/7",
        "TRANSIENT",
        judged.rule,
    ):
        assert words in said
    told = parsed(alone("explain", text, "--code", "EIN_TIMEOUT", "--json"))
    assert told == {
        "key": made.key,
        "version": made.version,
        "remained": made.remained,
        "masked": [{"kind": kind, "text": text} for kind, text in made.masked],
        "category": "TRANSIENT",
        "rule": judged.rule,
        "because": judged.because,
    }
    assert not (tmp_path / "home").exists()


def test_a_version_can_be_chosen(alone: Run) -> None:
    """What an older Recoup recorded can still be explained."""
    told = parsed(alone("explain", TIMED_OUT.format(7, 30), "--version", "1", "--json"))
    assert (told["version"], told["key"]) == (1, signature(TIMED_OUT.format(8, 31), version=1).key)


def test_a_trace_comes_through_a_pipe(alone: Run) -> None:
    """The same as it would be recorded, with or without the line's end after it."""
    told = parsed(alone("explain", "-", "--json", given=TRACE))
    assert told["key"] == signature(TRACE.rstrip("\n")).key
    assert refusal(alone("explain", "-", "--json", ends=1, given=" \n"))["refused"] == "text_empty"


@pytest.mark.parametrize(
    "junk",
    [b"\xff\xfe\x00\x1b[2J went wrong \x9b31m", bytes(range(256)) * 4, b"a b 7, " * 300_000, b"\x00" * 2_000_000],
    ids=["escapes", "every byte", "two megabytes", "nothing but NUL"],
)
def test_whatever_comes_through_a_pipe_is_explained(junk: bytes) -> None:
    """Bounded, in lines that fit, and nothing of it is obeyed by a terminal."""
    environment = {**clean_environment(), "COLUMNS": "80"}
    command = [*RECOUP, "errors", "explain", "-"]
    done = subprocess.run(command, env=environment, input=junk, capture_output=True, timeout=60, check=False)
    said = done.stdout.decode()
    assert (done.returncode, said[:9]) == (0, "signature"), done.stderr
    assert all(character.isprintable() or character == "\n" for character in said)
    assert max(map(len, said.splitlines())) <= 80
    assert (b"Only the first 1,000,000 bytes" in done.stderr) is (len(junk) > 1_000_000)


def test_a_password_is_not_told(alone: Run) -> None:
    """What would not be recorded is not shown either."""
    assert "hush" not in alone("explain", "could not reach https://ada:hush@vendor.example/x").stdout


def test_rules_are_shown_applied_and_explained(recoup: Run, hub: Hub, tmp_path: Path) -> None:
    """From a document to the active policy: a line for each rule, and each tells when it decided."""
    document = tmp_path / "rules.toml"
    document.write_text(RULES, encoding="utf-8")
    said = recoup("policy", "diff", document).stdout
    assert "errors.category_rules[0]" in said
    assert "category TRANSIENT, code VENDOR_*, words quota … exceeded" in said
    assert "category STRUCTURAL, words teapot" in said
    assert parsed(recoup("policy", "diff", document, "--json"))[0]["before"] == []
    text, code = "your quota was exceeded", ("--code", "VENDOR_7")
    asked = ("errors", "explain", text, *code, "--json")
    recoup("policy", "apply", document, "--reason", "quotas come back")
    told = parsed(recoup(*asked, "--policy"))
    assert (told["category"], told["rule"]) == ("TRANSIENT", "a rule of the policy")
    assert parsed(recoup(*asked))["rule"] != "a rule of the policy"
    assert '{ category = "STRUCTURAL", words = "teapot" }' in recoup("policy", "show").stdout
    document.write_text(RULES.replace("[\n", '[\n  { category = "OPERATIONAL", code = "A" },\n', 1), encoding="utf-8")
    said = recoup("policy", "diff", document).stdout
    assert "category OPERATIONAL, code A" in said
    assert "teapot" not in said  # the others stay as they are, one place on


def test_groups_are_shown(recoup: Run, hub: Hub) -> None:
    """The largest first, each with what is in it, and how many there are in all."""
    assert "No errors match" in recoup("errors", "groups").stdout
    assert parsed(recoup("errors", "groups", "--json")) == {"groups": [], "all_groups": 0, "all_errors": 0}
    for number in range(3):
        hub.record(TIMED_OUT.format(number, 30 + number), code="EIN_TIMEOUT", table=PEOPLE if number else DOL)
    alone = hub.record("no\x1b[2Jname for company 7")
    said = recoup("errors", "groups").stdout
    heading, _rule, first, second, *_ = said.splitlines()
    assert heading.split()[:2] == ["errors", "entities"]
    assert first.split()[:2] == ["3", "3"]
    assert "<…> timed out after <…>" in first
    assert str(alone) in second
    said = recoup("errors", "groups", "--verbose").stdout
    key = signature(TIMED_OUT.format(1, 2), "EIN_TIMEOUT").key
    for words in (
        "3 errors of 3 entities: <…> timed out after <…>", key, "people.people_errors 2, outreach.dol_errors 1",
        "RETRY_PENDING 3",
        "TRANSIENT 3", "1 error of 1 entity:", f"{alone}: no\\x1b[2Jname", "4 errors in 2 groups.",
    ):  # fmt: skip
        assert words in said, words
    assert "\x1b" not in said
    assert "The largest 1 are shown;" in recoup("errors", "groups", "--limit", "1").stdout
    told = parsed(recoup("errors", "groups", "--json", "--table", DOL, "--code", "EIN_TIMEOUT"))
    assert (told["all_groups"], told["all_errors"]) == (1, 1)
    (group,) = told["groups"]
    assert (group["tables"], group["error_signature"]) == ({DOL: 1}, key)
    assert {"kind": "address", "text": "https://filings.example/v1/ein/0"} in group["masked"]
    assert str(group["error_id"]) in recoup("errors", "show", group["error_id"]).stdout


def test_a_code_that_nobody_has(recoup: Run, hub: Hub) -> None:
    """Is in no group, whatever is in it."""
    assert "No errors match" in recoup("errors", "groups", "--code", f"'; {uuid.uuid4()} --", "--archived").stdout
