"""The command line as its user meets it: real processes, a real server, good input and bad."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from command_line import Run, refusal, run_in
from company import MIGRATING
from recoup.database import embedded
from recoup.settings import Settings
from servers import removed

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


@pytest.fixture(scope="module")
def cli(settings: Settings, server: embedded.Server, database_name: str) -> Run:
    """The command line against the shared simulated database."""
    return run_in({"RECOUP_DSN": server.uri(database_name), "RECOUP_ACTOR": "ada", "COLUMNS": "200"})


@pytest.fixture(scope="module")
def at_home() -> Iterator[tuple[Run, Path]]:
    """The command line with an embedded server of its own, in a folder with a space in its name."""
    home = Path(tempfile.mkdtemp(prefix="re coup "))
    environment = {"RECOUP_HOME": str(home), "COLUMNS": "200"}
    for name in ("RECOUP_SERVER_BIN", "RECOUP_SERVER_USER"):
        if name in os.environ:
            environment[name] = os.environ[name]
    run = run_in(environment)
    yield run, home
    run("db", "stop")
    removed(Settings(home=home, actor="tester"))
    assert not home.exists()


def test_the_first_screen_teaches(cli: Run) -> None:
    """--help names every command and the first steps; so does recoup alone."""
    text = cli("--help").stdout
    for word in ("db", "migrate", "doctor", "clock", "gate", "demo", "completion", "First steps"):
        assert word in text


def test_help_is_quick() -> None:
    """Help imports no driver and no domain: what makes it slow cannot creep in unnoticed."""
    asked = ["--help"]
    script = f"import sys; from recoup.cli.main import app; app({asked}, result_action='return_value'); " + (
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('psycopg', 'pydantic', 'structlog')"
        " or m.startswith(('recoup.database', 'recoup.gate', 'recoup.ledger', 'recoup.signatures'))), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.strip() == "[]"


def test_psql_has_the_password_and_the_machine_does_not(cli: Run, server: embedded.Server, database_name: str) -> None:
    """It is on no command line, where everybody could read it. psql reads, and cannot write."""
    shown = cli("db", "psql", "--", "-X", "-A", "-t", "-c", "select current_user, current_database()").stdout
    assert shown == f"recoup_reader|{database_name}\n"
    called = cli("db", "psql", "--", "-X", "-c", r"\! tr '\0' ' ' < /proc/$PPID/cmdline").stdout
    assert str(server.socket_folder) in called
    assert server.app_password not in called
    assert cli("db", "psql", "--", "-X", "-v", "ON_ERROR_STOP=1", "-c", "select 1/0", fails=True).returncode == 1


def test_one_company_by_hand(cli: Run) -> None:
    """The whole way through the command line: batch, intake, attempt, outcome, history; and it says who did it."""
    batch = f"cli-{uuid.uuid4().hex[:8]}"
    cli("gate", "create-batch", batch)
    intake = cli("gate", "add", "Acme", "--state", "TX", "--batch", batch).stdout.strip()
    assert UUID.fullmatch(intake)
    (opened,) = json.loads(cli("gate", "open", intake, "--json").stdout)
    failed = json.loads(cli("gate", "fail", opened["attempt_id"], opened["token"], "STATE_MISMATCH", "--json").stdout)
    assert failed["status"] == "failed"
    again = cli("gate", "pass", opened["attempt_id"], opened["token"], ends=1).stdout
    assert "stored, but not applied" in again
    assert "closes at" in cli("gate", "complete", batch).stdout
    events = json.loads(cli("gate", "history", intake, "--json").stdout)
    assert [(e["event_type"], e["reason_code"]) for e in events] == [("ATTEMPT", "START"), ("FAIL", "STATE_MISMATCH")]
    assert {(e["actor"], e["actor_id"]) for e in events} == {("human", "ada")}
    assert "STATE_MISMATCH" in cli("gate", "history", intake).stdout
    assert batch in cli("gate", "batches").stdout
    early = refusal(cli("gate", "open", intake, "--json", fails=True))
    assert early["refused"] == "attempt_too_early"
    assert "refused: attempt_too_early" in cli("gate", "open", intake, fails=True).stderr


def test_the_kill_switch_by_hand(cli: Run) -> None:
    """Pausing, pausing again, resuming, resuming again."""
    batch = f"cli-{uuid.uuid4().hex[:8]}"
    cli("gate", "create-batch", batch)
    assert cli("gate", "kill-switch", batch, "--reason", "look").stdout == f"Recovery of batch {batch} is paused\n"
    assert "as before" in cli("gate", "kill-switch", batch, "--reason", "look").stdout
    assert "running" in cli("gate", "kill-switch", batch, "--off", "--reason", "looked").stdout
    assert "as before" in cli("gate", "kill-switch", batch, "--off", "--reason", "looked").stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("gate", "history", str(uuid.uuid4())), "intake_unknown"),
        (("gate", "open", str(uuid.uuid4())), "intake_unknown"),
        (("gate", "complete", "no such batch"), "batch_unknown"),
        (("gate", "create-batch", " "), "batch_unnamed"),
        (("gate", "add", " "), "intake_unnamed"),
        (("gate", "add", "x", "--batch", "no such batch"), "batch_unknown"),
        (("gate", "fail", str(uuid.uuid4()), str(uuid.uuid4()), "BAD_LUCK"), "reason_unknown"),
        (("gate", "kill-switch", "no such batch", "--reason", "x"), "batch_unknown"),
        (("gate", "kill-switch", "no such batch", "--reason", " "), "reason_missing"),
        (("clock", "advance", "soon"), "bad_duration"),
        (("clock", "advance", "99999999999999w"), "bad_duration"),
        (("clock", "advance", "0s"), "clock_backwards"),
        (("db", "start"), "server_not_ours"),
        (("db", "stop"), "server_not_ours"),
    ],
)
def test_wrong_input_is_answered(cli: Run, arguments: tuple[str, ...], code: str) -> None:
    """Each says what happened and what to do next, without a traceback."""
    done = cli(*arguments, fails=True)
    assert done.stderr.startswith(f"refused: {code}\n  ")
    assert "\n  Next: " in done.stderr
    assert done.stdout == ""


def test_misspelt_commands_are_named(cli: Run) -> None:
    """An unknown command or option names what was meant, and ends with a failure."""
    assert "history" in (cli("gate", "hstory", fails=True).stderr + cli("gate", "hstory", fails=True).stdout)
    assert "--josn" in cli("gate", "batches", "--josn", fails=True).stderr
    assert "not-a-uuid" in cli("gate", "history", "not-a-uuid", fails=True).stderr


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({"RECOUP_DNS": "x"}, "unknown_setting"),
        ({"RECOUP_POOL_MAX": "many"}, "bad_setting"),
        ({"RECOUP_POOL_MAX": "0"}, "bad_setting"),
        ({"RECOUP_DSN": "postgresql://nobody:x@127.0.0.1:1/nothing"}, "server_unreachable"),
        ({"RECOUP_DSN": "what is this"}, "dsn_unreadable"),
    ],
)
@pytest.mark.parametrize("command", [("gate", "batches"), ("migrate",), ("clock", "show"), ("db", "uri"), ("doctor",)])
def test_bad_settings_are_refused_by_every_command(
    cli: Run, command: tuple[str, ...], environment: dict[str, str], code: str
) -> None:
    """Clear, and before anything is done."""
    if command == ("db", "uri") and code == "server_unreachable":
        assert "127.0.0.1:1" in cli(*command, **environment).stdout  # it prints a string and connects to nothing
        return
    done = cli(*command, fails=True, **environment)
    if command == ("doctor",):
        assert "error  " in done.stdout
    else:
        assert f"refused: {code}" in done.stderr


def test_a_wrong_password_is_refused(cli: Run, server: embedded.Server, database_name: str) -> None:
    """And the answer does not repeat it."""
    wrong = re.sub(r":[^:@/]+@", ":hunter2@", server.uri(database_name))
    done = cli("gate", "batches", fails=True, RECOUP_DSN=wrong)
    assert "refused: login_refused" in done.stderr
    assert "hunter2" not in done.stderr


def test_an_unmigrated_database_says_so(cli: Run, server: embedded.Server, new_database: Callable[..., str]) -> None:
    """Every command that needs the schema points to recoup migrate; doctor too."""
    empty = server.uri(new_database(migrated=False))
    assert "refused: not_migrated" in cli("gate", "batches", fails=True, RECOUP_DSN=empty).stderr
    assert "recoup migrate" in cli("doctor", fails=True, RECOUP_DSN=empty).stdout


def test_doctor_finds_a_guard_that_was_switched_off(
    cli: Run, server: embedded.Server, new_database: Callable[..., str]
) -> None:
    """Well when all is well; broken, with the table's name, when a superuser disabled a trigger."""
    import psycopg

    name = new_database()
    assert "error  " not in cli("doctor", RECOUP_DSN=server.uri(name)).stdout
    with psycopg.connect(server.uri(name, admin=True), autocommit=True) as admin:
        admin.execute("alter table cl.gate_zero_intake disable trigger a_guard_moves")
        found = json.loads(cli("doctor", "--json", fails=True, RECOUP_DSN=server.uri(name)).stdout)
        assert [f["check"] for f in found if f["verdict"] == "error"] == ["guards", "objects"]
        admin.execute("alter table cl.gate_zero_intake enable always trigger a_guard_moves")
        admin.execute(MIGRATING + "update recoup.lifecycle_step set authority = 'hub' where from_status = 'PENDING'")
        found = json.loads(cli("doctor", "--json", fails=True, RECOUP_DSN=server.uri(name)).stdout)
        assert [f["check"] for f in found if f["verdict"] == "error"] == ["guards", "lifecycles"]
        admin.execute("alter table cl.gate_zero_attempt drop constraint gate_zero_attempt_check1")
        found = json.loads(cli("doctor", "--json", fails=True, RECOUP_DSN=server.uri(name)).stdout)
        assert [f["check"] for f in found if f["verdict"] == "error"] == ["guards", "objects", "lifecycles"]


def test_doctor_finds_what_stands_beside_the_guards(
    cli: Run, server: embedded.Server, new_database: Callable[..., str]
) -> None:
    """A table that inherits from a log, and an authority that may log in: that of all databases, so it is undone."""
    import psycopg

    from recoup.schema import checks

    name = new_database()
    with psycopg.connect(server.uri(name, admin=True), autocommit=True) as admin:
        admin.execute("create table public.forged () inherits (cl.gate_zero_air)")
        found = json.loads(cli("doctor", "--json", fails=True, RECOUP_DSN=server.uri(name)).stdout)
        assert [f["check"] for f in found if f["verdict"] == "error"] == ["children"]
        with admin.transaction(force_rollback=True):
            admin.execute("alter role recoup_mint login")
            assert [(one.check, one.verdict) for one in checks.roles(admin)] == [("roles", "error")]


@pytest.mark.timeout(1200)  # four parts of the demo, two of them twice
def test_the_embedded_server_and_the_demo(at_home: tuple[Run, Path]) -> None:
    """From nothing: status, start, migrate, demo (a part, built and built again; then two), clock, backup, stop."""
    cli, home = at_home
    assert "refused: server_not_running" in cli("db", "status", fails=True).stderr
    assert json.loads(cli("db", "start", "--json").stdout)["status"] == "started"
    assert "already running" in cli("db", "start").stdout
    assert "applied    0001" in cli("migrate").stdout
    assert "nothing to do" in cli("migrate").stdout
    assert "error  " not in cli("doctor").stdout
    assert "Building" in cli("demo", "recovery").stdout
    assert "Building" not in cli("demo", "recovery").stdout
    assert "Building" in cli("demo", "recovery", "--fresh").stdout
    both = cli("demo", "errors").stdout
    assert "Building" in both
    assert "recovery: what is open now" in both  # what was there is built again, in the same simulated time
    assert "Building" not in cli("demo", "recovery").stdout
    assert json.loads(cli("clock", "show", "--demo", "--json").stdout)["status"] == "released"
    assert "refused: clock_not_simulated" in cli("clock", "advance", "1h", "--demo", fails=True).stderr
    assert "refused: clock_not_simulated" in cli("clock", "release", fails=True).stderr
    assert "refused: clock_is_set" in cli("migrate", "--simulated-from", "2026-01-01", fails=True).stderr
    assert "recoup_demo" in cli("db", "uri", "--demo").stdout
    assert "recoup_admin" in cli("db", "uri", "--admin").stdout

    kept = home / "kept.recoup"
    cli("gate", "create-batch", "kept")
    cli("db", "backup", str(kept))
    assert "refused" in cli("db", "backup", str(kept), fails=True).stderr
    cli("gate", "create-batch", "lost")
    assert "refused" in cli("db", "restore", str(kept), fails=True).stderr
    assert "refused" in cli("db", "restore", str(home / "no such file"), fails=True).stderr
    restored = cli("db", "restore", str(kept), "--replace").stdout
    assert re.fullmatch(r"database   recoup\nset aside  recoup_before_\w+\n", restored)  # and nothing that there is not
    batches = cli("gate", "batches").stdout
    assert "kept" in batches
    assert "lost" not in batches
    assert cli("db", "stop").stdout == "stopped\n"
    assert cli("db", "stop").stdout == "not running\n"


def test_completion_is_printed_for_each_shell(cli: Run) -> None:
    """A script that knows our commands; its help says where to put it."""
    for shell in ("bash", "zsh", "fish"):
        assert "kill-switch" in cli("completion", shell).stdout
    said = cli("completion", "--help").stdout
    for file in ("bash-completion/completions/recoup", "~/.zfunc/_recoup", "fish/completions/recoup.fish"):
        assert file in said


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        (("errors", "list", "--table", ""), {"outreach.dol_errors", "people.people_errors"}),
        (("worker", "--duty", ""), {"seal", "error-retry"}),
        (("pause", ""), {"global", "duty", "table", "operation", "batch"}),
    ],
)
def test_values_are_completed(cli: Run, typed: tuple[str, ...], values: set[str]) -> None:
    """Tables of the database, background tasks, and what can be paused."""
    said = cli("__complete", *typed).stdout
    assert values <= {line.split("\t")[0] for line in said.splitlines()}


@pytest.mark.parametrize(
    "command", [("errors", "stats"), ("errors", "list"), ("gate", "list"), ("duties",)], ids=" ".join
)
def test_lists_are_lists_at_80_columns(cli: Run, command: tuple[str, ...]) -> None:
    """A heading, a rule and one line for each row."""
    cli("errors", "record", "--table", "public.shq_error_log", "--message", "the disk is nearly full " * 5)
    cli("gate", "add", "A company with a long name, so that it has to be cut somewhere")
    rows = json.loads(cli(*command, "--json").stdout)
    lines = cli(*command, COLUMNS="80").stdout.split("\n\n")[0].splitlines()
    assert len(lines) == len(rows) + 2
    assert max(map(len, lines)) <= 80


def test_help_is_a_command_too(cli: Run) -> None:
    assert cli("help").stdout == cli("--help").stdout
    assert cli("help", "gate", "list").stdout == cli("gate", "list", "--help").stdout


def test_a_demo_that_was_not_built_says_how(cli: Run) -> None:
    """Not to create its database by hand."""
    assert "Next: Run: recoup demo" in cli("errors", "list", "--demo", fails=True).stderr


def test_an_unwritable_home_is_refused(tmp_path: Path) -> None:
    """A home that is a file, or that cannot be made: nothing half done."""
    blocked = tmp_path / "file"
    blocked.write_text("here first")
    run = run_in({"RECOUP_HOME": str(blocked)})
    for command in (("db", "start"), ("migrate",), ("demo",)):
        assert "refused: home_unwritable" in run(*command, fails=True).stderr
    assert blocked.read_text() == "here first"
