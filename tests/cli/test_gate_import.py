"""``recoup gate import`` as its user meets it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import uuid
from pathlib import Path

import pytest

from command_line import RECOUP, Run, clean_environment, run_in
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority

MIXED = """\
name,domain,phone
Acme,acme.example.com,1
,b.example.com,2
Birch,no domain,3
acme,ACME.example.com,4
Cedar,,5
"""


@pytest.fixture(scope="module")
def environment(server: embedded.Server, database_name: str) -> dict[str, str]:
    return {"RECOUP_DSN": server.uri(database_name), "RECOUP_ACTOR": "ada", "COLUMNS": "200"}


@pytest.fixture(scope="module")
def cli(environment: dict[str, str]) -> Run:
    """The command line against the shared simulated database."""
    return run_in(environment, "gate")


@pytest.fixture
def batch() -> str:
    return f"cli-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "companies.csv"
    path.write_text(MIXED)
    return path


def names(db: Database, batch: str) -> list[str]:
    with db.transaction(Authority.READER) as tx:
        return [
            row[0]
            for row in tx.execute(
                "select company_name from cl.gate_zero_intake where batch_id = %s order by company_name", (batch,)
            )
        ]


def test_what_came_in_and_what_did_not_is_told(db: Database, cli: Run, mixed: Path, batch: str) -> None:
    """Refused rows are counted by reason and shown; the rest is in, so it ends well; the next steps are named."""
    report = mixed.with_name("refused.jsonl")
    told = cli("import", mixed, "--batch", batch, "--report", report).stdout
    assert names(db, batch) == ["Acme", "Cedar"]
    assert f"Imported 2 of 5 rows into batch {batch}" in told
    assert "Ignored columns: phone" in told
    assert "3 rows refused" in told
    for words in ("name_missing", "domain_malformed", "company_twice", ",b.example.com,2", str(report), "line 2"):
        assert words in told
    assert f"recoup gate complete {batch}" in told
    assert "recoup gate run" in told
    assert [json.loads(line)["number"] for line in report.read_text().splitlines()] == [3, 4, 5]


def test_as_json_everything_is_there_and_nothing_else(cli: Run, mixed: Path, batch: str) -> None:
    """One object on standard output; standard error stays empty."""
    done = cli("import", mixed, "--batch", batch, "--complete", "--json")
    said = json.loads(done.stdout)
    assert done.stderr == ""
    assert (said["rows"], said["accepted"], said["refused"]) == (5, 2, 3)
    assert said["reasons"] == {"name_missing": 1, "domain_malformed": 1, "company_twice": 1}
    assert said["refusals"][0] == {
        "number": 3,
        "column": "company_name",
        "reason": "name_missing",
        "message": "The company has no name.",
        "row": ",b.example.com,2",
    }
    assert said["batch_freeze_at"]


def test_a_completed_batch_says_until_when(cli: Run, mixed: Path, batch: str) -> None:
    """And does not tell to complete it again."""
    told = cli("import", mixed, "--batch", batch, "--complete").stdout
    assert "recovery window closes at" in told
    assert "recoup gate complete" not in told


def test_standard_input_is_read(db: Database, cli: Run, batch: str) -> None:
    """With its format; without, the choice is told."""
    cli("import", "-", "--batch", batch, "--format", "jsonl", given='{"name": "Acme"}\n')
    assert names(db, batch) == ["Acme"]
    assert "--format" in cli("import", "-", "--batch", batch, given="x", ends=1).stderr


def test_a_whole_file_is_refused_as_everywhere(db: Database, cli: Run, mixed: Path, batch: str) -> None:
    """What happened, what to do, and a failure; as JSON in its four parts."""
    done = cli("import", mixed, "--batch", batch, "--strict", ends=1)
    assert done.stdout == ""
    assert done.stderr.startswith("refused: rows_refused\n  3 of 5 rows")
    assert "\n  Next: " in done.stderr
    assert names(db, batch) == []

    said = json.loads(cli("import", mixed.with_name("none.csv"), "--batch", batch, "--json", ends=1).stderr)
    assert set(said) == {"refused", "happened", "next_step", "facts"}
    assert said["refused"] == "file_missing"


def test_a_second_import_needs_append(db: Database, cli: Run, mixed: Path, batch: str) -> None:
    """As the refusal says."""
    cli("import", mixed, "--batch", batch)
    assert "--append" in cli("import", mixed, "--batch", batch, ends=1).stderr
    cli("import", mixed, "--batch", batch, "--append")
    assert names(db, batch) == ["Acme", "Acme", "Cedar", "Cedar"]


def test_a_terminal_is_not_obeyed(cli: Run, mixed: Path, batch: str) -> None:
    """What a file holds is printed, and does nothing."""
    mixed.write_text("name,\x1b[2Jcolumn\nAcme,\nBirch\x1b[2J,\n")
    assert "\x1b" not in cli("import", mixed, "--batch", batch).stdout


def test_a_terminal_gets_a_bar(environment: dict[str, str], mixed: Path, batch: str) -> None:
    """On standard error, so that what is printed can be kept."""
    mixed.write_text("name\n" + "".join(f"Company {n}\n" for n in range(12_000)))
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*RECOUP, "gate", "import", str(mixed), "--batch", batch],
        env={**clean_environment(), **environment, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65_536):
                shown += piece
        except OSError:  # Linux says so that the other side has hung up
            pass
        finally:
            os.close(ours)
        assert process.stdout is not None
        told = process.stdout.read()
    assert process.returncode == 0
    assert "12,000 of 12,000 rows" in told
    assert b"rows read" in shown
    assert b"100%" in shown
