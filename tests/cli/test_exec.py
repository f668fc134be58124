"""``recoup exec``: the command's own output, exit code and signals; and its failure on record."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from command_line import RECOUP, Run, clean_environment, run_in, started
from hub import DOL, LOG, Hub
from recoup.database.connection import Database
from recoup.errors.reruns import rerun
from recoup.redaction import redacted_arguments


@pytest.fixture
def hub(fresh: Callable[..., Database]) -> Hub:
    return Hub(fresh(simulated_from=None))


@pytest.fixture
def exec_(hub: Hub) -> Run:
    return run_in({"RECOUP_DSN": hub.db.conninfo}, "exec")


def last(hub: Hub) -> dict[str, Any]:
    ((error_id,),) = hub.rows("select max(error_id) from recoup.error")
    return hub.row(error_id)


def test_a_command_that_ends_well_is_left_alone(hub: Hub, exec_: Run) -> None:
    done = exec_("--", "sh", "-c", "echo out; echo err >&2; cat", given="in")
    assert (done.stdout, done.stderr) == ("out\nin", "err\n")
    assert hub.rows("select count(*) from recoup.error") == [(0,)]


def test_a_failure_is_recorded_with_what_it_said_and_ends_as_it_did(hub: Hub, exec_: Run) -> None:
    entity = uuid.uuid4()
    done = exec_(
        "--table", DOL, "--entity", entity, "--severity", "HIGH",
        "--", "sh", "-c", "echo boom: no such filing >&2; exit 3", "--password", "x",
        ends=3,
    )  # fmt: skip
    row = last(hub)
    assert done.stderr.splitlines() == ["boom: no such filing", f"recoup: recorded as {DOL}/{row['error_id']}"]
    assert (row["outreach_id"], row["error_code"], row["error_message"]) == (entity, "EXIT_3", "boom: no such filing")
    assert row["severity"] == "HIGH"
    assert row["payload"]["command"][-2:] == ["--password", "[redacted]"]
    assert row["payload"]["exit_code"] == 3


@pytest.mark.parametrize(
    ("command", "code", "ends"),
    [
        (["sh", "-c", "kill -9 $$"], "SIGNAL_KILL", 137),
        (["no-such-command-anywhere"], "NOT_FOUND", 127),
        (["/etc/passwd"], "NOT_EXECUTABLE", 126),
        (["sh", "-c", "exit 1"], "EXIT_1", 1),
    ],
    ids=["killed", "unknown", "no program", "silent"],
)
def test_however_it_ends(hub: Hub, exec_: Run, command: list[str], code: str, ends: int) -> None:
    exec_("--", *command, ends=ends)
    row = last(hub)
    assert (row["error_table"], row["error_code"]) == (LOG, code)
    assert row["error_message"]


def test_only_the_end_of_what_a_talkative_command_said_is_kept(hub: Hub, exec_: Run) -> None:
    done = exec_(
        "--", sys.executable, "-c", "import sys; sys.stderr.write('x\\n' * 500_000 + 'the end'); sys.exit(2)", ends=2
    )
    assert len(done.stderr) > 1_000_000
    message = str(last(hub)["error_message"])
    assert message.endswith("the end")
    assert len(message) <= 8_000


def test_a_request_to_end_reaches_the_command(hub: Hub) -> None:
    script = "trap 'echo asked >&2; exit 7' TERM; echo ready; for n in $(seq 1000); do sleep 0.05; done"
    with started({"RECOUP_DSN": hub.db.conninfo}, "exec", "--", "sh", "-c", script) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate()
    assert process.returncode == 7
    assert said.startswith("asked\n")
    assert last(hub)["error_code"] == "EXIT_7"


def test_that_it_cannot_be_recorded_changes_nothing_of_how_it_ended(hub: Hub, exec_: Run) -> None:
    done = exec_("--", "sh", "-c", "echo boom >&2; exit 5", ends=5, RECOUP_DSN="postgresql://nobody@localhost:1/x")
    assert "boom" in done.stderr
    assert "not recorded (server_unreachable)" in done.stderr
    done = exec_("--table", "outreach.blog_errors", "--", "false", ends=1)
    assert "outreach.blog_errors did not take it" in done.stderr
    row = last(hub)
    assert (row["error_table"], row["payload"]["meant_for"]) == (LOG, "outreach.blog_errors")
    assert "DEAD" in row["payload"]["refused"]


def test_without_a_command_it_says_how(exec_: Run) -> None:
    done = exec_(fails=True)
    assert "command_missing" in done.stderr


def test_what_a_child_leaves_running_is_not_waited_for(hub: Hub, exec_: Run) -> None:
    begun = time.monotonic()
    exec_("--", "sh", "-c", "(sleep 20 >/dev/null) & exit 4", ends=4)
    assert time.monotonic() - begun < 15


def test_telling_arguments_are_redacted_in_every_spelling() -> None:
    keys = ["password", "token", "authorization", "api_key"]
    secret = [
        "x", "--password", "p", "--password", "-p", "--db-password=p", "TOKEN=p", "-H", "Authorization: Bearer p",
        "--header=X-Api-Key: p", "postgres://bob:p@db.example/p", "--dsn=postgres://bob:p@q@db/x",
    ]  # fmt: skip
    assert redacted_arguments(secret, keys) == [
        "x", "--password", "[redacted]", "--password", "[redacted]", "--db-password=[redacted]", "TOKEN=[redacted]",
        "-H", "Authorization: [redacted]", "--header=X-Api-Key: [redacted]", "postgres://bob:[redacted]@db.example/p",
        "--dsn=postgres://bob:[redacted]@db/x",
    ]  # fmt: skip
    plain = ["make", "-p", "8080", "passwords.txt", "--verbose", "a=b", "https://example.com/a:b@c", "12:30"]
    assert redacted_arguments(plain, keys) == plain


def test_what_a_command_said_and_how_it_was_called_lose_their_secrets(hub: Hub, exec_: Run) -> None:
    """Also where only the end of what it said is kept, and that begins in the middle of one."""
    said = "PGPASSWORD=hunter2 postgresql://u:hunter2@h/db token=hunter2"
    exec_("--", "sh", "-c", f"echo '{said}' >&2; exit 7", "-u", "bob:hunter2", "--pwd", "hunter2", ends=7)
    row = last(hub)
    assert row["error_message"] == "PGPASSWORD=[redacted] postgresql://u:[redacted]@h/db token=[redacted]"
    assert "hunter2" not in str(row)
    script = "import sys; sys.stderr.write('password=' + 'hunter2' * 800 + ' ' + 'x ' * 3_000); sys.exit(2)"
    exec_("--", sys.executable, "-c", script, ends=2)
    assert "hunter2" not in last(hub)["error_message"]


def test_a_closed_standard_error_does_not_hang_it(hub: Hub) -> None:
    """Nobody listens; the command is still read to its end."""
    talkative = f"{sys.executable} -c 'import sys; sys.stderr.write(\"x\" * 300_000); sys.exit(3)'"
    recoup = " ".join(shlex.quote(part) for part in RECOUP)
    done = subprocess.run(
        ["sh", "-c", f"{recoup} exec -- {talkative} 2>&-"],
        env={**clean_environment(), "RECOUP_DSN": hub.db.conninfo}, timeout=60, check=False, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 3
    assert last(hub)["error_code"] == "EXIT_3"


def test_a_code_or_table_that_cannot_be_stored_costs_nothing_else(hub: Hub, exec_: Run) -> None:
    """The entity stays, and is blocked where the table blocks."""
    entity = uuid.uuid4()
    exec_("--table", DOL, "--entity", entity, "--code", "C" * 300, "--", "false", ends=1)
    row = hub.row_of(entity)
    assert (row["error_table"], row["error_code"], row["payload"]["code_given"]) == (DOL, "C" * 200, "C" * 300)
    assert hub.is_blocked(entity)
    exec_("--table", "outreach.dol_error", "--entity", entity, "--code", "MINE", "--", "false", ends=1)
    row = last(hub)
    assert (row["error_table"], row["outreach_id"], row["error_code"]) == (LOG, entity, "MINE")
    assert row["payload"]["meant_for"] == "outreach.dol_error"


def test_a_promotion_in_the_way_is_waited_for_twice_and_named(hub: Hub) -> None:
    """What is lost then is said, with whose session it is."""
    entity = uuid.uuid4()
    exec_ = run_in({"RECOUP_DSN": f"{hub.db.conninfo}&options=-c%20recoup.promotion_wait%3D700ms"}, "exec")
    with psycopg.connect(hub.db.conninfo) as tx:
        tx.execute("set role recoup_reader")
        tx.execute("select recoup.is_blocked_locking(%s)", (entity,))
        begun = time.monotonic()
        done = exec_("--table", DOL, "--entity", entity, "--", "false", ends=1)
        assert time.monotonic() - begun > 1.4
        assert f"session {tx.info.backend_pid}" in done.stderr
        assert "(entity_held)" in done.stderr


def test_without_retry_nobody_runs_it_again_and_it_does_not_pretend_to_be_due(hub: Hub, exec_: Run) -> None:
    """D10: what the policy would retry is parked; what it would ignore stays ignored."""
    failing = ("--", "sh", "-c", "echo timed out >&2; exit 3")
    exec_("--table", DOL, "--entity", uuid.uuid4(), *failing, ends=3)
    row = last(hub)
    assert (row["status"], row["next_retry_at"], row["park_reason"]) == ("PARKED", None, "ESCALATION_REQUIRED")
    assert "rerun" not in row["payload"]
    exec_("--table", DOL, "--entity", uuid.uuid4(), "--severity", "LOW", *failing, ends=3)
    assert (last(hub)["status"], last(hub)["disposition"]) == ("ACTIVE", "ARCHIVE")


def test_with_retry_a_worker_runs_it_again_in_its_folder_with_the_chosen_variables(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    hub.apply_policy("[errors.retry.TRANSIENT]\nbase_s = 1")
    script = 'echo "timed out, $YEAR $OTHER" >&2; test -e ready && pwd > done && echo "$YEAR $OTHER" >> done'
    exec_ = run_in({"RECOUP_DSN": hub.db.conninfo, "YEAR": "2024", "OTHER": "no"}, "exec")
    given = ("--table", DOL, "--entity", uuid.uuid4(), "--retry", "--env", "YEAR")
    said = exec_(*given, "--", "sh", "-c", script, ends=1).stderr
    row = last(hub)
    assert f'"{DOL}" = "recoup.errors.reruns:rerun"' in said
    assert (row["status"], row["payload"]["rerun"]["env"]) == ("RETRY_PENDING", {"YEAR": "2024"})
    (tmp_path / "recoup.toml").write_text(f'[handlers]\n"{DOL}" = "recoup.errors.reruns:rerun"\n')
    recoup = run_in({"RECOUP_DSN": hub.db.conninfo})
    for outcome in ("RETRY_PENDING", "RESOLVED"):
        time.sleep(max((hub.row(row["error_id"])["next_retry_at"] - hub.now()).total_seconds(), 0) + 0.1)
        recoup("errors", "retry", row["error_id"], ends=1 if outcome == "RETRY_PENDING" else 0)
        assert hub.row(row["error_id"])["status"] == outcome
        (tmp_path / "ready").touch()
    assert hub.row(row["error_id"])["last_failure"] == "timed out, 2024"
    assert (tmp_path / "done").read_text() == f"{tmp_path}\n2024 \n"


def test_a_secret_is_not_kept_for_a_retry(hub: Hub) -> None:
    """The failure is recorded all the same; that it is not run again is said."""
    exec_ = run_in({"RECOUP_DSN": hub.db.conninfo, "API_TOKEN": "0123456789abcdef"}, "exec")
    given = ("--table", DOL, "--entity", uuid.uuid4(), "--retry")
    failing = ("--", "sh", "-c", "echo timed out >&2; exit 3")
    for options, arguments, why in (
        ((), ("--password", "hunter2-hunter2"), "its command line holds a secret"),
        (("--env", "API_TOKEN"), (), "a variable holds a secret"),
        (("--env", "NOT_SET"), (), "the variable NOT_SET is not set"),
    ):
        done = exec_(*given, *options, *failing, *arguments, ends=3)
        assert f"it is not run again: {why}" in done.stderr
        row = last(hub)
        assert (row["status"], "rerun" in row["payload"]) == ("PARKED", False)
        assert "hunter2" not in str(row)
        assert "0123456789abcdef" not in str(row)


def test_an_error_without_consent_is_not_run(hub: Hub) -> None:
    hub.apply_policy("[errors.retry.TRANSIENT]\nbase_s = 1")
    hub.record("timed out")
    time.sleep(1.2)
    (claimed,) = hub.claim()
    outcome = rerun(claimed)
    assert outcome is not None
    assert "not recorded by exec --retry" in outcome.failure
