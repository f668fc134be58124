"""Gate Zero at the command line: a batch from its file to its identities, and what is refused on the way."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from command_line import MAIN, Run, clean_environment, refusal, run_in, started
from recoup.database import embedded
from recoup_demo.gate import policy_document
from recoup_demo.world import Kind, World, files


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(60) as world:
        yield world


@pytest.fixture
def dsn(server: embedded.Server, new_database: Callable[..., str]) -> str:
    return server.uri(new_database())


@pytest.fixture
def cli(dsn: str) -> Run:
    """The command line against a simulated database of the test's own."""
    return run_in({"RECOUP_DSN": dsn, "RECOUP_ACTOR": "ada", "COLUMNS": "200"})


def know(cli: Run, world: World, folder: Path, at_once: int = 60) -> None:
    patient = {"dns_timeout_ms": 4000, "site_timeout_ms": 4000, "directory_timeout_ms": 4000}
    (folder / "policy.toml").write_text(policy_document(world, at_once=at_once, **patient))
    cli("policy", "apply", str(folder / "policy.toml"), "--reason", "the local world")


def rows(dsn: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        connection.execute("set role recoup_reader")
        return connection.execute(query).fetchall()


def test_from_a_file_to_identities(cli: Run, dsn: str, world: World, tmp_path: Path) -> None:
    """Import, run, wait, run again, exhaust, mint, list; each command says what the next one is."""
    know(cli, world, tmp_path)
    files.write_rows(tmp_path / "spring.csv", files.intake_rows(world.companies))
    assert "recoup gate run" in cli("gate", "import", str(tmp_path / "spring.csv"), "--batch", "spring").stdout
    assert "window closes" in cli("gate", "complete", "spring").stdout
    done = json.loads(cli("gate", "run", "--json").stdout)
    truth = [company.truth_on(0) for company in world.companies]
    assert done["first_attempts"]["verified"] == 60
    assert done["first_attempts"]["passed"] == truth.count(None)
    assert sum(done["first_attempts"]["failed"].values()) == 60 - truth.count(None)
    assert done["retries"]["verified"] == 0
    assert "first attempts: nothing to verify" in cli("gate", "run").stdout
    assert "Nothing is due" in cli("gate", "eligible").stdout
    for wait in ("24h", "72h"):
        cli("clock", "advance", wait)
        assert len(json.loads(cli("gate", "eligible", "--json").stdout)) > 0
        said = cli("gate", "run", "--retries").stdout
        assert "retries:" in said
        assert "first attempts" not in said
    funnel = json.loads(cli("gate", "funnel", "--batch", "spring", "--json").stdout)
    assert funnel["came_in"] == 60
    assert funnel["exhausted"] + funnel["recovered"] + funnel["passed_at_first"] == 60
    assert "█" in cli("gate", "funnel").stdout
    exhausted = json.loads(cli("gate", "exhausted", "--batch", "spring", "--json").stdout)
    assert len(exhausted) == funnel["exhausted"]
    assert {row["ended_by"] for row in exhausted} == {"MAX_ATTEMPTS_REACHED"}
    assert "No identities yet" in cli("gate", "identities").stdout
    cli("worker", "--once", "--duty", "mint")
    minted = json.loads(cli("gate", "identities", "--json", "--limit", "1000").stdout)
    assert len(minted) == funnel["passed_at_first"] + funnel["recovered"]
    assert "All" in cli("audit").stdout
    assert rows(dsn, "select count(*) from cl.gate_zero_attempt where status = 'open'") == [(0,)]


def test_an_exhausted_company_is_restarted(cli: Run, world: World, tmp_path: Path) -> None:
    """Once, with what is known better; the database says why not otherwise."""
    know(cli, world, tmp_path)
    good = next(c for c in world.companies if c.kind is Kind.GOOD)
    intake = cli("gate", "add", good.name, "--domain", "gone.example", "--state", good.state).stdout.strip()
    for wait in ("24h", "72h", "1h"):
        cli("gate", "run")
        cli("clock", "advance", wait)
    assert refusal(cli("gate", "restart", intake, "--reason", "", "--json", fails=True))["refused"] == "reason_missing"
    (made,) = json.loads(cli("gate", "restart", intake, "--domain", good.domain, "--reason", "a slip", "--json").stdout)
    assert made["retry_of"] == intake
    assert "1 verified, 1 passed" in cli("gate", "run").stdout
    again = refusal(cli("gate", "restart", intake, "--reason", "once more", "--json", fails=True))
    assert again["refused"] == "restarted_already"
    other = refusal(cli("gate", "restart", made["intake_id"], "--reason", "x", "--json", fails=True))
    assert other["refused"] == "restart_not_exhausted"
    (row,) = json.loads(cli("gate", "exhausted", "--json").stdout)
    assert (row["intake_id"], row["restarted_as"]) == (intake, made["intake_id"])
    assert "refused: nothing_asked" in cli("gate", "restart", "--reason", "x", fails=True).stderr


def test_the_kill_switch_tells_pauses_and_resumes(cli: Run) -> None:
    """Without a reason it changes nothing."""
    cli("gate", "create-batch", "spring")
    assert json.loads(cli("gate", "kill-switch", "spring", "--json").stdout)["paused_at"] is None
    assert "is paused" in cli("gate", "kill-switch", "spring", "--reason", "nonsense from the directory").stdout
    assert "nonsense from the directory" in cli("gate", "kill-switch", "spring").stdout
    assert "as before" in cli("gate", "kill-switch", "spring", "--reason", "again").stdout
    assert "reason_missing" in cli("gate", "kill-switch", "spring", "--off", fails=True).stderr
    assert "is running" in cli("gate", "kill-switch", "spring", "--off", "--reason", "mended").stdout
    assert "batch_unknown" in cli("gate", "kill-switch", "summer", fails=True).stderr
    assert "batch_unknown" in cli("gate", "exhausted", "--batch", "summer", fails=True).stderr
    assert "batch_unknown" in cli("gate", "funnel", "--batch", "summer", fails=True).stderr


def test_without_a_directory_run_says_what_is_missing(cli: Run, dsn: str) -> None:
    """And claims nothing."""
    cli("gate", "add", "Acme", "--domain", "acme.example")
    said = refusal(cli("gate", "run", "--json", fails=True))
    assert said["refused"] == "directory_missing"
    assert "gate.verification.directory" in str(said["next_step"])
    assert rows(dsn, "select count(*) from cl.gate_zero_attempt") == [(0,)]
    cli("worker", "--once", "--duty", "verify", "--log-level", "error", fails=True)
    (verify,) = [d for d in json.loads(cli("duties", "--json").stdout) if d["duty"] == "verify"]
    assert "directory" in verify["last_failure"]


def test_what_makes_no_sense_does_not_come_in(cli: Run) -> None:
    """A slip in a domain, an endless name, a batch that is complete or that nobody made."""
    cli("gate", "create-batch", "spring")
    assert "domain_unreadable" in cli("gate", "add", "Acme", "--domain", "not a domain", fails=True).stderr
    assert "text_too_long" in cli("gate", "add", "A" * 501, fails=True).stderr
    assert "batch_unknown" in cli("gate", "add", "Acme", "--batch", "summer", fails=True).stderr
    cli("gate", "add", "Acme", "--domain", "https://www.acme.example/about", "--batch", "spring")
    cli("gate", "complete", "spring")
    assert "batch_completed" in cli("gate", "add", "Birch", "--batch", "spring", fails=True).stderr


def test_without_its_packages_verification_is_refused_in_words(cli: Run, dsn: str) -> None:
    """Only when something waits, and before anything is claimed; the demo before anything is dropped."""
    without = [sys.executable, "-c", "import sys; sys.modules['httpcore2'] = sys.modules['dns'] = None\n" + MAIN]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**clean_environment(), "RECOUP_DSN": dsn}
        return subprocess.run([*without, *arguments], env=environment, capture_output=True, text=True, check=False)

    assert run("gate", "run").returncode == 0
    cli("gate", "add", "Acme", "--domain", "acme.example")
    for command in (("gate", "run", "--json"), ("gate", "add", "Birch", "--domain", "b.example", "--demo")):
        done = run(*command)
        assert done.returncode == 1, done
        assert "Traceback" not in done.stderr
    assert refusal(run("gate", "run", "--json"))["refused"] == "gate_extra_missing"
    assert "gate_extra_missing" in run("demo", "--fresh").stderr
    assert rows(dsn, "select count(*) from cl.gate_zero_attempt") == [(0,)]


def test_a_batch_that_nobody_completes_is_told(cli: Run) -> None:
    """After the policy's days, by the doctor."""
    cli("gate", "create-batch", "forgotten")
    before = [f for f in json.loads(cli("doctor", "--json").stdout) if f["check"] == "batches"]
    assert [f["verdict"] for f in before] == ["ok"]
    cli("clock", "advance", f"{timedelta(days=7) // timedelta(hours=1)}h")
    (after,) = [f for f in json.loads(cli("doctor", "--json").stdout) if f["check"] == "batches"]
    assert after["verdict"] == "warning"
    assert "recoup gate complete forgotten" in after["next_step"]
    assert "batch is not complete" in cli("worker", "--once", "--duty", "batch-freeze", "--log-level", "warning").stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_finishes_what_it_looks_at(
    dsn: str, cli: Run, world: World, tmp_path: Path, how: signal.Signals
) -> None:
    """One signal: nothing is left open. The rest still waits."""
    with World(60, answer_ms=150) as slow:
        know(cli, slow, tmp_path, at_once=2)
        files.write_rows(tmp_path / "spring.jsonl", files.intake_rows(world.companies))
        cli("gate", "import", str(tmp_path / "spring.jsonl"), "--batch", "spring")
        with started({"RECOUP_DSN": dsn}, "gate", "run") as run:
            while rows(dsn, "select count(*) from cl.gate_zero_attempt where status <> 'open'") == [(0,)]:
                assert run.poll() is None
                time.sleep(0.05)
            run.send_signal(how)
            said, _ = run.communicate()
    assert run.returncode == 0
    assert "stopped early" in said
    assert rows(dsn, "select count(*) from cl.gate_zero_attempt where status = 'open'") == [(0,)]
    ((waiting,),) = rows(dsn, "select count(*) from cl.gate_zero_intake where status = 'PENDING'")
    assert isinstance(waiting, int)
    assert waiting > 0


@pytest.mark.parametrize("verb", [("pass",), ("fail", "STATE_MISMATCH")], ids=lambda verb: verb[0])
def test_a_result_that_is_not_applied_ends_with_1(cli: Run, verb: tuple[str, ...]) -> None:
    """With another token than the attempt's, or when it had ended before."""
    intake = cli("gate", "add", "Acme").stdout.strip()
    (attempt,) = json.loads(cli("gate", "open", intake, "--json").stdout)
    name, *reason = verb
    told = json.loads(cli("gate", name, attempt["attempt_id"], uuid.uuid4(), *reason, "--json", ends=1).stdout)
    assert told["status"] == "late"
    assert "not applied" in told["hint"]
    cli("gate", name, attempt["attempt_id"], attempt["token"], *reason)
    other = ("gate", "fail", attempt["attempt_id"], attempt["token"], "TIMEOUT")
    assert "not applied" in cli(*other, ends=1).stdout


def test_what_is_authorised_is_not_said_to_be_verified(cli: Run) -> None:
    intake = cli("gate", "add", "Acme").stdout.strip()
    (attempt,) = json.loads(cli("gate", "open", intake, "--json").stdout)
    assert "attempt_open" in cli("gate", "open", intake, ends=1).stderr
    cli("gate", "pass", attempt["attempt_id"], attempt["token"])
    said = cli("gate", "open", intake, ends=1).stderr
    assert "intake_not_waiting" in said
    assert "is AUTHORIZED" in said
