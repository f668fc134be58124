"""Errors at the command line: from a file to the archive, one by one and many at a time, and what is refused."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import signal
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pytest

from command_line import RECOUP, Run, clean_environment, refusal, run_in, started
from hub import DAY, DOL, HOUR, LOG, MASTER, MINUTE, ORPHANS, PEOPLE, STRUCTURAL, TARGET, TRANSIENT, URLS, Hub
from product import pause, resume
from recoup.cli.errors_filter import Status
from recoup.database import embedded
from recoup.database.connection import Actor, Database
from recoup.errors.listing import ARCHIVED
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import ErrorStatus, Severity
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings
from written import parquet_of

ENDS = (signal.SIGINT, signal.SIGTERM)
LETTERS = [a + b for a in "abcdefgh" for b in "abcdefgh"]
VERBS = ("park", "unpark", "resolve", "escalate", "assign", "review", "archive")


@pytest.fixture(scope="module")
def dsn(server: embedded.Server, new_database: Callable[..., str]) -> str:
    return server.uri(new_database())


@pytest.fixture
def hub(dsn: str, settings: Settings) -> Any:
    with Database(dsn, settings) as database:
        yield Hub(database)


@pytest.fixture
def cli(dsn: str) -> Run:
    """recoup errors against a simulated database."""
    return run_in({"RECOUP_DSN": dsn, "RECOUP_ACTOR": "ada", "COLUMNS": "250"}, "errors")


def parsed(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def test_one_error_from_its_record_to_its_end(cli: Run, hub: Hub) -> None:
    """Recorded, blocking, claimed, failed, parked, unparked, claimed, succeeded; each command says what is."""
    entity = uuid.uuid4()
    one = ("--table", DOL, "--entity", entity)
    said = cli(
        "record", *one, "--code", "EIN_TIMEOUT", "--message", TRANSIENT, "--severity", "HIGH",
        "--payload", '{"ein": "12-3456789", "api_key": "hush"}',
    ).stdout  # fmt: skip
    assert "is RETRY_PENDING" in said
    assert "It blocks its entity" in said
    (row,) = parsed(cli("list", "--entity", entity, "--json"))
    error_id = row["error_id"]
    assert row["status"] == "RETRY_PENDING"
    full = parsed(cli("show", error_id, "--json"))
    assert full["row"]["payload"] == {"ein": "12-3456789", "api_key": "[redacted]"}
    assert full["events"][0]["actor_id"] == "ada"
    (why,) = parsed(cli("blocked", entity, "--json", ends=1))
    assert (why["error_id"], why["owner"]) == (error_id, "dol-hub")
    assert "Nothing blocks it" in cli("blocked", uuid.uuid4()).stdout
    assert "No retry is due" in cli("claim", "--table", DOL).stdout
    hub.advance(hub.row(error_id)["next_retry_at"] - hub.now())
    (claimed,) = parsed(cli("claim", "--table", DOL, "--lease", "10m", "--worker", "shell", "--json"))
    assert claimed["error_id"] == error_id
    (ended,) = parsed(cli("fail", error_id, "--token", claimed["token"], "--message", "still slow", "--json"))
    assert ended["status"] == "RETRY_PENDING"
    again = parsed(cli("fail", error_id, "--token", claimed["token"], "--said", "still slow", "--json"))
    assert again == [ended]
    late = cli("succeed", error_id, "--token", claimed["token"], ends=1).stdout
    assert "The result is stored, and does not count" in late
    assert parsed(cli("park", error_id, "--reason", "EXTERNAL_DEPENDENCY", "--json"))[0]["done"]
    assert "parked_already" in cli("park", error_id, "--reason", "again", ends=1).stdout
    cli("assign", error_id, "--to", "bob")
    assert "PARKED: parked " in cli("assign", error_id, "--to", "eve").stdout
    cli("review", f"{DOL}/{error_id}", "--reason", "looked at it")
    cli("escalate", error_id, "--reason", "no answer", "--to", "eve")
    assert "waiting for retry 2, due for" in cli("unpark", error_id, "--reason", "the vendor fixed it").stdout
    printed = cli("claim", "--table", DOL).stdout
    (token,) = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", printed.split("oken")[-1])
    assert parsed(cli("succeed", error_id, "--token", token, "--json")) == [
        {"error_id": error_id, "status": "RESOLVED"}
    ]
    cli("blocked", entity)
    story = " ".join(cli("show", error_id).stdout.split())
    for words in (
        "retry 1 failed: still slow",
        "EXTERNAL_DEPENDENCY",
        "assigned to bob",
        "the vendor fixed it",
        "retry 2 succeeded",
        "looked at it",
    ):
        assert words in story, words
    assert parsed(cli("list", "--entity", entity, "--json")) == []
    assert "RESOLVED" in cli("list", "--entity", entity, "--archived").stdout
    hub.sweep_all()
    assert "archived RESOLVED" in " ".join(cli("show", error_id).stdout.split())
    assert "error_archived" in cli("resolve", error_id, "--reason", "x", ends=1).stdout
    assert parsed(cli("list", "--entity", entity, "--archived", "--json"))[0]["status"] == "ARCHIVED"


def test_the_park_queue_and_the_clock_of_a_review(cli: Run, hub: Hub) -> None:
    """Due in, met, breached by; in the order in which reviews are due."""
    late = hub.record(STRUCTURAL, table=PEOPLE)
    hub.advance(20 * HOUR)
    due = hub.record(STRUCTURAL, table=PEOPLE)
    assert "1: people-hub, since" in cli("show", due).stdout
    assert "review due in 1d 0h (SLA 1d 0h)" in cli("show", due).stdout
    hub.advance(5 * HOUR)
    hub.raise_tiers()
    queue = ("list", "--queue", "--table", PEOPLE)
    assert [(row["error_id"], row["review"]) for row in parsed(cli(*queue, "--json"))] == [
        (late, "breached by 1h 00m"), (due, "due in 19h 00m"),
    ]  # fmt: skip
    printed = cli(*queue).stdout
    assert printed.index("breached by 1h 00m") < printed.index("due in 19h 00m")
    assert "overdue in tier 1, due by people-hub" in " ".join(cli("show", late).stdout.split())
    cli("review", late, due)
    assert "review met" in cli("show", due).stdout
    assert [row["error_id"] for row in parsed(cli("list", "--breached", "--table", PEOPLE, "--json"))] == [late]
    assert "queue_not_paged" in cli(*queue, "--after", "7", ends=1).stderr


def test_many_are_previewed_then_done(cli: Run, hub: Hub) -> None:
    """Without --yes nothing is changed; with it, each has its result, and the operation is listed."""
    code = uuid.uuid4().hex
    errors = [hub.record(STRUCTURAL, code=code) for _ in range(3)]
    hub.record(STRUCTURAL, code=code, table=ORPHANS)
    asked = ("--code", code, "--status", "PARKED", "--reason", "limit raised")
    said = cli("unpark", *asked).stdout
    assert "Nothing was changed. To unpark these 3 errors, repeat the command with --reason" in said
    assert "does not allow RETRY" in said
    preview = parsed(cli("unpark", *asked, "--json"))
    assert (preview["rows"], list(preview["refused"].values())) == (3, [1])
    assert {hub.row(one)["status"] for one in errors} == {"PARKED"}
    done = cli("unpark", *asked, "--yes", ends=1)
    assert "4 errors: 3 done, 1 refused" in done.stdout
    assert "retry_not_allowed" in done.stdout
    assert {hub.row(one)["status"] for one in errors} == {"RETRY_PENDING"}
    operation = done.stderr.split("--resume ")[1].strip()
    (listed,) = [one for one in parsed(cli("operations", "--json")) if one["operation_id"] == operation]
    assert (listed["verb"], listed["done"], listed["requested_by"]) == ("unpark", 3, "ada")
    again = parsed(cli("unpark", "--resume", operation, "--json", ends=1))
    assert (again["status"], again["done"], again["refused"]) == ("DONE", 3, 1)
    assert operation in cli("operations").stdout
    other = refusal(cli("park", "--resume", operation, "--json", fails=True))
    assert other["refused"] == "operation_verb"
    assert "No errors match that you can unpark" in cli("unpark", *asked, "--table", URLS).stdout


def test_killed_half_way_and_resumed(cli: Run, hub: Hub, dsn: str) -> None:
    """SIGKILL in the middle: what is left is done by --resume, and nothing twice."""
    code = uuid.uuid4().hex
    made = hub.record_all(
        NewError(table=DOL, message=STRUCTURAL, outreach_id=uuid.uuid4(), code=code) for _ in range(3000)
    )
    items = (
        "select o.operation_id, (select count(*) from recoup.operation_item i"
        " where i.operation_id = o.operation_id and i.status <> 'PENDING')"
        " from recoup.operation o where o.filter -> 'codes' ? %s"
    )
    command = ("errors", "resolve", "--code", code, "--reason", "x", "--yes")
    with started({"RECOUP_DSN": dsn, "RECOUP_ACTOR": "ada"}, *command) as process:
        while not (found := hub.rows(items, code)) or found[0][1] == 0:
            assert process.poll() is None, process.communicate()
    ((operation, _),) = found
    ended = parsed(cli("resolve", "--resume", operation, "--json"))
    assert (ended["status"], ended["done"], ended["refused"], ended["items"]) == ("DONE", 3000, 0, 3000)
    counts = "select count(*) from recoup.error_event where error_id = any(%s) and event_type = 'RESOLVED'"
    assert hub.rows(counts, [one.error_id for one in made]) == [(3000,)]


def test_a_file_of_errors(cli: Run, hub: Hub, tmp_path: Path) -> None:
    """Good lines are in, bad ones are told one by one; run again, the same failures supersede."""
    code = uuid.uuid4().hex
    good = [
        {"table": DOL, "outreach_id": str(uuid.uuid4()), "code": code, "message": TRANSIENT, "row": n} for n in range(5)
    ]
    bad: list[tuple[bytes, str]] = [
        (b"{", "line_unreadable"),
        (b"[1]", "line_unreadable"),
        (b"\xff\xfe", "line_unreadable"),
        (b"[" * 100_000, "line_unreadable"),
        (json.dumps({"table": DOL, "message": 7, "code": code}).encode(), "line_unreadable"),
        (json.dumps({**good[0], "payload": [1]}).encode(), "line_unreadable"),
        (json.dumps({**good[0], "outreach_id": "x"}).encode(), "entity_unreadable"),
        (json.dumps({**good[0], "severity": "BAD"}).encode(), "severity_unknown"),
        (json.dumps({**good[0], "table": "outreach.nothing"}).encode(), "table_unknown"),
        (json.dumps({**good[0], "table": "outreach.bit_errors"}).encode(), "table_dead"),
        (json.dumps({"table": DOL, "message": "x"}).encode(), "entity_missing"),
        (json.dumps({**good[0], "code": "x" * 201}).encode(), "error_code"),
    ]
    lines = [b"\xef\xbb\xbf" + json.dumps(good[0]).encode(), b"", *(line for line, _ in bad)]
    lines += [json.dumps(one).encode() for one in good[1:]]
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join(lines))
    told = parsed(cli("record", "--file", tmp_path / "rows.jsonl", "--json", ends=1))
    assert (told["lines"], told["recorded"], told["refused"]) == (18, 5, 12)
    assert [(line["line"], line["refused"]) for line in told["refusals"]] == [
        (number, why) for number, (_, why) in enumerate(bad, start=3)
    ]
    rows = parsed(cli("list", "--code", code, "--json"))
    assert len(rows) == 5
    assert hub.row(rows[-1]["error_id"])["payload"] == {"row": 0}
    said = cli("record", "--file", tmp_path / "rows.jsonl", "--skip", "14").stdout
    assert "4 errors recorded, 0 lines refused" in said
    assert len(parsed(cli("list", "--code", code, "--json"))) == 5
    assert len(parsed(cli("list", "--code", code, "--json", "--archived"))) == 9


def test_lines_from_a_pipe_into_one_table(cli: Run) -> None:
    """--table is for lines that name none; what is about no entity is there twice when it is given twice."""
    code = uuid.uuid4().hex
    line = json.dumps({"message": "disk full", "error_code": code, "severity": "low"}) + "\n"
    for times in (1, 2):
        assert parsed(cli("record", "--table", LOG, "--file", "-", "--json", given=line))["recorded"] == 1
        assert len(parsed(cli("list", "--code", code, "--json"))) == times


def test_a_table_of_errors_in_any_format(cli: Run, tmp_path: Path) -> None:
    """CSV from standard input, compressed CSV by its name, Parquet by rows; refused lines go into a report."""
    code, report = uuid.uuid4().hex, tmp_path / "refused.csv"
    lines = [f"{uuid.uuid4()};{code};{TRANSIENT};{n}" for n in range(3)]
    text = "\n".join(["entity;code;message;row", *lines, "x;y"]) + "\n"
    more = ("--table", PEOPLE, "--report", report)
    told = parsed(cli("record", "--file", "-", "--format", "csv", *more, "--json", given=text, ends=1))
    assert (told["lines"], told["recorded"], told["refused"]) == (5, 3, 1)
    (refused,) = told["refusals"]
    assert (refused["line"], refused["refused"]) == (5, "line_unreadable")
    assert refused["happened"] == "The line cannot be read: it has 2 fields; the header has 4."
    assert "x;y" in report.read_text()
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text.encode()))
    said = cli("record", "--file", tmp_path / "rows.csv.gz", "--table", PEOPLE, "--skip", "3", ends=1).stdout
    assert "5 lines: 1 error recorded, 1 line refused" in said
    columns = {"entity": [None, str(uuid.uuid4())], "error_code": [code] * 2, "message": ["x", "y"]}
    (tmp_path / "rows.parquet").write_bytes(parquet_of(pa.table(columns)))
    said = cli("record", "--file", tmp_path / "rows.parquet", *more, ends=1).stdout
    assert "2 rows: 1 error recorded, 1 row refused" in said
    assert f"All of them are in {report}." in said
    assert len(parsed(cli("list", "--code", code, "--json"))) == 4


def test_a_damaged_file_says_how_to_go_on(cli: Run, tmp_path: Path) -> None:
    """What was recorded before the damage is in, and is not recorded again."""
    path = tmp_path / "rows.csv.gz"
    text = "table,entity,message\n" + "".join(f"{PEOPLE},{uuid.uuid4()},x\n" for _ in range(5000))
    whole = gzip.compress(text.encode())
    path.write_bytes(whole[: len(whole) * 3 // 4])
    said = refusal(cli("record", "--file", path, "--json", ends=1))
    assert said["refused"] == "file_unreadable"
    assert re.search(r"[0-9],001 lines done\.", str(said["happened"]))  # in full thousands, and the header
    skip = str(said["next_step"]).split()[-2:]
    assert skip[0] == "--skip"
    assert int(skip[1]) % 1000 == 1
    path.write_bytes(whole)
    told = parsed(cli("record", "--file", path, *skip, "--json"))
    assert (told["lines"], told["recorded"]) == (5001, 5001 - int(skip[1]))


def test_batches_of_a_large_file_keep_the_good_lines(cli: Run, tmp_path: Path) -> None:
    """Bad lines in every batch: all the others are in."""
    code = uuid.uuid4().hex
    with (tmp_path / "rows.jsonl").open("w") as file:
        for n in range(2500):
            table = "outreach.nothing" if n % 500 == 7 else PEOPLE
            file.write(json.dumps({"table": table, "entity": str(uuid.uuid4()), "code": code, "message": "x"}) + "\n")
    told = cli("record", "--file", tmp_path / "rows.jsonl", ends=1).stdout
    assert "2,500 lines: 2,495 errors recorded, 5 lines refused" in told
    assert "table_unknown" in told


def test_what_somebody_wrote_does_not_reach_the_terminal(cli: Run, hub: Hub) -> None:
    """Control characters in messages, codes, reasons and names are shown, not obeyed."""
    evil = "\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202egone"
    entity = uuid.uuid4()
    error_id = hub.record(evil + TRANSIENT, outreach_id=entity, code="\x1b[31m")
    cli("park", error_id, "--reason", evil)
    cli("assign", error_id, "--to", "\x1b[1mbob")
    outputs = [
        cli("list", "--entity", entity).stdout, cli("show", error_id).stdout, cli("blocked", entity, ends=1).stdout,
        cli("resolve", "--entity", entity, "--reason", "x").stdout, cli("stats").stdout,
        cli("show", "\x1b[2J", ends=1).stderr, cli("list", "--table", evil, ends=1).stderr,
        cli("list", "--entity", entity, "--json").stdout,
    ]  # fmt: skip
    for said in outputs:
        assert not set(said) & {"\x1b", "\x07", "\r", "\x9b", "\u202e"}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("show", "999999999999999999999999"), "error_name"),
        (("show", "9223372036854775807"), "error_unknown"),
        (("show", "'; drop table recoup.error; --"), "error_name"),
        (("resolve", "1e3", "--reason", "x"), "error_name"),
        (("resolve", "--reason", "x"), "errors_unclear"),
        (("resolve", "1", "--code", "A", "--reason", "x"), "errors_unclear"),
        (("resolve", "--yes", "--reason", "x"), "errors_unclear"),
        (("resolve", "1"), "reason_missing"),
        (("resolve", "1", "--reason", " "), "reason_unusable"),
        (("assign", "1"), "owner_missing"),
        (("unpark", "--resume", "00000000-0000-0000-0000-000000000000"), "operation_unknown"),
        (("list", "--table", "nothing"), "table_unknown"),
        (("list", "--older-than", "soon"), "bad_duration"),
        (("list", "--watch"), "watch_json"),
        (("record", "--table", DOL), "record_what"),
        (("record", "--table", DOL, "--message", "x"), "entity_missing"),
        (("record", "--table", LOG, "--message", "x", "--payload", "[]"), "payload_unreadable"),
        (("record", "--file", "/nowhere/rows.jsonl"), "file_unreadable"),
        (("record", "--file", "/"), "file_unreadable"),
        (("record", "--file", __file__, "--format", "parquet"), "file_not_parquet"),
        (("record", "--file", __file__, "--format", "csv"), "error_columns_missing"),
        (("record", "--file", "-", "--message", "x"), "record_both"),
        (("claim", "--lease", "40d"), "lease_length"),
        (("claim", "--worker", " "), "worker_name"),
        (("succeed", "--token", "00000000-0000-0000-0000-000000000000"), "nothing_asked"),
        (("blocked",), "nothing_asked"),
        (("groups", "--table", "nothing"), "table_unknown"),
        (("explain", " "), "text_empty"),
        (("explain", "x", "--version", "99"), "signature_version"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(cli: Run, given: tuple[str, ...], code: str) -> None:
    """With a code, what happened, and what to do next."""
    assert refusal(cli(*given, "--json", ends=1))["refused"] == code


def test_what_is_kept_for_ever_is_left_alone(cli: Run, hub: Hub) -> None:
    """Refused in words, for every verb."""
    error_id = hub.record(table=MASTER)
    for verb in VERBS:
        more = ("--to", "bob") if verb == "assign" else ("--reason", "x")
        (answer,) = parsed(cli(verb, error_id, *more, "--json", ends=1))
        assert answer["refused"] == "table_insert_only"


def test_one_bad_id_takes_no_others_with_it(cli: Run, hub: Hub) -> None:
    """Done and refused side by side, and an exit code that tells."""
    good, over = hub.record(), hub.record()
    cli("archive", over, "--reason", "gone")
    answers = parsed(cli("resolve", good, over, "--reason", "mended", "--json", ends=1))
    assert [(one["error_id"], one["done"], one["refused"]) for one in answers] == [
        (good, True, None),
        (over, False, "error_over"),
    ]


def test_stats_are_told_by_table(cli: Run, hub: Hub) -> None:
    """As a table and as JSON."""
    hub.record(STRUCTURAL)
    stats = {one["error_table"]: one for one in parsed(cli("stats", "--json"))}
    assert stats[DOL]["parked"] >= 1
    assert stats[DOL]["metrics"]["parked_per_day"] >= 1
    assert sum(stats[DOL]["hours"]["parked"]) >= 1
    assert len(stats[DOL]["days"]["recorded"]) == 14
    said = cli("stats").stdout
    counts = said.split("\n\n")[0]
    assert "oldest parked" in counts
    assert len(counts.splitlines()) == 2 + len(stats)
    assert str(DOL) in counts
    assert "last 24 hours" in said
    assert [one["error_table"] for one in parsed(cli("stats", "--json", "--table", DOL))] == [DOL]
    assert "is not an error table" in cli("stats", "--table", "outreach.no_such", ends=1).stderr


def test_processed_counts_become_an_error_rate(cli: Run, hub: Hub, tmp_path: Path) -> None:
    """One by one or from a file, each counted once; then metrics have a rate, with a bar."""
    hub.record(table=TARGET)
    assert "10 processed at" in cli("processed", TARGET, 10, "--key", "a").stdout
    assert "counted once" in cli("processed", TARGET, 10, "--key", "a").stdout
    assert "key_taken" in cli("processed", TARGET, 11, "--key", "a", ends=1).stderr
    file = tmp_path / "counts.csv"
    file.write_text(f"table,count,key\n{TARGET},7,b\n{TARGET},3,c\n", encoding="utf-8")
    assert "2 reports of 10" in cli("processed", "--file", file).stdout
    assert "2 had been reported before" in cli("processed", "--file", file).stdout
    measured = parsed(cli("metrics", "--json", "--table", TARGET))
    assert measured["overall"]["error_rate"]["of"] == 20
    assert measured["tables"][0]["error_rate"]["value"] == measured["overall"]["recorded"] / 20
    said = cli("metrics", "--table", TARGET, COLUMNS="80").stdout
    assert max(map(len, said.splitlines())) <= 80
    assert "█" in said
    assert f", {TARGET}\n" in said
    assert "tables together" in cli("metrics").stdout
    assert ">  5%" in said
    hub.apply_policy("[alerts.rules.error-rate]\nabove = 0.025\n")
    assert ">2.5%" in cli("metrics").stdout, "the threshold of the policy"
    hub.apply_policy("")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("table,count\n{table},many\n", "is no count"),
        ("table,count\n{table},1\n{table},-1\n", "is no count"),
        ("table\n{table}\n", "no column count"),
        ("table,count\nnone,1\n", "not an error table"),
        ('table,count\n"{table},1\n', "Line"),
        ("table,count,to\n{table},1,soon\n", "is no time"),
    ],
)
def test_a_file_of_counts_is_stored_as_a_whole(cli: Run, hub: Hub, tmp_path: Path, lines: str, says: str) -> None:
    before = hub.rows("select count(*) from recoup.processed")
    file = tmp_path / "counts.csv"
    file.write_text(lines.format(table=TARGET), encoding="utf-8")
    assert says in cli("processed", "--file", file, ends=1).stderr
    assert hub.rows("select count(*) from recoup.processed") == before


def test_the_report_of_a_day_is_told(cli: Run, hub: Hub) -> None:
    """As text that fits 80 columns, and as JSON."""
    hub.record(STRUCTURAL)
    told = parsed(cli("report", "--day", "today", "--json"))
    assert (told["is_over"], told["overall"]["recorded"] >= 1) == (False, True)
    assert told["oldest_parked"][0]["owner"]
    said = cli("report", "--day", "today", COLUMNS="80").stdout
    assert max(map(len, said.splitlines())) <= 80
    assert "so far (UTC)" in said
    assert "Errors on" in cli("report").stdout
    for day in ("tomorrow", "2026-13-01", "9999-01-01"):
        assert "day_unusable" in cli("report", "--day", day, ends=1).stderr


def test_every_status_can_be_asked_for() -> None:
    """Those of the live tables, and the archive's."""
    assert tuple(Status) == (*ErrorStatus, ARCHIVED)


def test_words_are_read_in_any_case(cli: Run, hub: Hub) -> None:
    """Statuses, severities and categories."""
    code = uuid.uuid4().hex
    error_id = hub.record(STRUCTURAL, code=code, severity=Severity.HIGH)
    asked = ("--status", "parked", "--severity", "High", "--category", "structural")
    assert [one["error_id"] for one in parsed(cli("list", "--code", code, *asked, "--json"))] == [error_id]


def test_unpark_is_about_parked_errors(cli: Run, hub: Hub) -> None:
    """What waits for a retry anyway is neither previewed nor refused."""
    code = uuid.uuid4().hex
    parked = hub.record(STRUCTURAL, code=code)
    hub.record(TRANSIENT, code=code)
    said = cli("unpark", "--code", code, "--reason", "x").stdout
    assert "To unpark this error, repeat" in said
    assert "Not included" not in said
    assert "RETRY_PENDING" not in said
    assert "1 error: 1 done, 0 refused" in cli("unpark", "--code", code, "--reason", "x", "--yes").stdout
    assert hub.row(parked)["status"] == "RETRY_PENDING"


def test_a_traceback_is_printed_as_lines(cli: Run, hub: Hub) -> None:
    """At the end, before the next command; and each line as it was."""
    lines = ["Traceback (most recent call last):", '  File "hub.py", line 7, in enrich', "KeyError: 'domain'"]
    said = cli("show", hub.record(payload={"traceback": "\n".join(lines), "job": "nightly"})).stdout.splitlines()
    at = said.index("  Traceback")
    assert said[at + 1 : at + 4] == [f"  {line}" for line in lines]
    assert said[at + 5].startswith("  Next: ")
    assert any(line.split() == ["Payload", "job", "nightly"] for line in said)


@pytest.mark.parametrize("how", ENDS)
def test_watching_goes_on_until_it_is_interrupted(hub: Hub, dsn: str, how: signal.Signals) -> None:
    """It looks again, sees what is new, and Ctrl-C is a good end."""
    code = uuid.uuid4().hex
    with started({"RECOUP_DSN": dsn, "COLUMNS": "250"}, "errors", "list", "--code", code, "--watch") as process:
        assert process.stdout is not None
        assert re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ, every 2s", process.stdout.readline())
        assert process.stdout.readline() == "\n"
        assert "No errors match" in process.stdout.readline()
        hub.record(code=code)
        line = ""
        while code not in line:
            line = process.stdout.readline()
            assert line, "it ended by itself"
        process.send_signal(how)
        _, said = process.communicate()
    assert (process.returncode, said) == (0, "")


@pytest.mark.parametrize("how", ENDS)
def test_whoever_is_interrupted_knows_how_far_it_came(hub: Hub, dsn: str, how: signal.Signals) -> None:
    """Ctrl-C or a request to end: told in words, and by the exit code."""
    code = uuid.uuid4().hex
    lines = [json.dumps({"table": LOG, "message": TRANSIENT, "code": code})] * 1500
    with started({"RECOUP_DSN": dsn}, "errors", "record", "--file", "-", "--json") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("\n".join(lines))
        process.stdin.flush()
        while hub.rows("select count(*) from recoup.error where error_code = %s", code) == [(0,)]:
            assert process.poll() is None, process.stderr.read()
        process.send_signal(how)
        _, said = process.communicate()
    assert said == "1,000 lines done. To continue, repeat the command with --skip 1000\ninterrupted\n"
    assert process.returncode == 128 + how


@pytest.mark.parametrize(
    "verb",
    [
        "record",
        "list",
        "show",
        "claim",
        "succeed",
        "fail",
        "blocked",
        "stats",
        "metrics",
        "report",
        "processed",
        "operations",
        "groups",
        "explain",
        *VERBS,
    ],
)
def test_every_command_teaches(cli: Run, verb: str) -> None:
    """Its help says what it does; those with a choice have an example."""
    said = " ".join(cli(verb, "--help").stdout.split())
    assert f"recoup errors {verb}" in said
    if verb in ("record", "list", "claim", "blocked", "groups", "explain", *VERBS):
        assert f"For example: recoup errors {verb}" in said


def test_a_claim_does_not_lock_out_a_reader(cli: Run, hub: Hub, dsn: str) -> None:
    """A look at errors that somebody is changing answers at once, with what was."""
    error_id = hub.record(STRUCTURAL)
    with psycopg.connect(dsn) as other:
        other.execute("set role recoup_operator")
        other.execute("select from recoup.error where error_id = %s for update", (error_id,))
        assert "PARKED" in cli("show", error_id).stdout
        busy = cli("resolve", error_id, "--reason", "x", ends=1, RECOUP_LOCK_TIMEOUT_MS="200").stderr
        assert "server_said_no" in busy


def shell(dsn: str, line: str) -> subprocess.CompletedProcess[str]:
    """A line for a shell; in it recoup is the program."""
    recoup = " ".join(shlex.quote(part) for part in RECOUP)
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; recoup() {{ {recoup} \"$@\"; }}; {line}"],
        env={**clean_environment(), "RECOUP_DSN": dsn}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("json_", ["--json", ""])
def test_a_gate_that_is_closed_stays_so_for_whoever_reads_a_line(hub: Hub, dsn: str, json_: str) -> None:
    """The answer decides how it ends, and not how much of it was read."""
    entity = uuid.uuid4()
    hub.record_all([NewError(table=DOL, message=f"the {word} failed", outreach_id=entity) for word in LETTERS])
    done = shell(dsn, f"recoup errors blocked {entity} {json_} | head -1")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert shell(dsn, f"recoup errors blocked {uuid.uuid4()} {json_} | true").returncode in (0, 141)


def test_refused_lines_decide_though_nobody_reads_on(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "errors.jsonl"
    path.write_text("no JSON\n" * 2_000, encoding="utf-8")
    assert shell(dsn, f"recoup errors record --file {path} --json | head -1").returncode == 1


def test_nothing_is_claimed_for_a_closed_output(hub: Hub, dsn: str) -> None:
    """The token would be lost with it."""
    error_id = hub.record()
    hub.advance(DAY)
    done = shell(dsn, "recoup errors claim >&-")
    assert done.returncode == 1
    assert "output_closed" in done.stderr
    assert hub.row(error_id)["held"] is None
    assert "Traceback" not in shell(dsn, f"recoup errors list >&-; recoup errors blocked {uuid.uuid4()} >&-").stderr


def test_a_policy_says_whom_it_frees_and_blocks_at_once(hub: Hub, dsn: str, tmp_path: Path) -> None:
    """Which tables block is asked anew each time. Applied with --yes only, where that changes anything."""
    recoup = run_in({"RECOUP_DSN": dsn, "COLUMNS": "250"})
    entity, both = uuid.uuid4(), uuid.uuid4()
    hub.record_all([NewError(table=PEOPLE, message=TRANSIENT, outreach_id=one) for one in (entity, both)])
    hub.record_all([NewError(table=DOL, message=TRANSIENT, outreach_id=both)])
    document = tmp_path / "policy.toml"
    asked = ("policy", "apply", document, "--reason", "a test")

    def says(blocks: str) -> None:
        document.write_text(f'[errors.tables."{PEOPLE}"]\nblocks = {blocks}\n', encoding="utf-8")

    says("false")
    told = recoup("policy", "diff", document).stdout
    freed = int(re.search(r"At once: ([0-9,]+) entit\w+ blocked now would be unblocked", told)[1].replace(",", ""))  # type: ignore[index]
    counted = "select count(distinct outreach_id) from recoup.error e where error_table = %s and archived_at is null"
    alone = " and not exists (select from recoup.error o where o.outreach_id = e.outreach_id and o.error_table = %s)"
    assert [(freed,)] == hub.rows(counted + " and disposition in ('RETRY', 'PARKED')" + alone, PEOPLE, DOL)
    assert "policy_effects" in recoup(*asked, fails=True).stderr
    assert hub.is_blocked(entity)
    recoup(*asked, "--yes")
    assert (hub.is_blocked(entity), hub.is_blocked(both)) == (False, True)
    says("true")
    told = recoup("policy", "diff", document).stdout
    assert re.search(rf"At once: {freed:,} entit(?:y|ies) not blocked now would be blocked\.", told)
    recoup(*asked, "--yes")
    recoup(*asked)


def test_a_secret_is_erased_that_is_given_on_standard_input(hub: Hub, cli: Run) -> None:
    error = hub.record("login with swordfish failed", payload={"note": "swordfish"})
    done = cli("redact", error, "--secret-from-stdin", "--reason", "typed there", "--json", given="swordfish\n")
    assert parsed(done) == [
        {"error_table": DOL, "error_id": error, "erased": ["error_message", "payload"], "in_log": 0}
    ]
    assert "swordfish" not in str(hub.row(error))
    assert "nothing_asked" in cli("redact", "--reason", "x", fails=True).stderr
    asked = ("redact", error, "--secret-from-stdin", "--reason", "x")
    assert "none of these texts contains the secret" in cli(*asked, given="marlinspike\r\n").stderr
    assert "secret_lines" in cli(*asked, given="login\nfailed", fails=True).stderr  # of which one would be left
    assert "secret_short" in cli(*asked, given="", fails=True).stderr


@pytest.mark.parametrize("verb", ["succeed", "fail"])
def test_a_result_that_is_not_applied_ends_with_1(cli: Run, hub: Hub, verb: str) -> None:
    """Whose token it is not is told so, in JSON too."""
    error_id = hub.record(TRANSIENT)
    (told,) = parsed(cli(verb, error_id, "--token", uuid.uuid4(), "--json", ends=1))
    assert (told["error_id"], told["status"]) == (error_id, "late")
    assert "does not count" in told["hint"]


def test_many_of_which_none_could_be_done_end_with_1(cli: Run, hub: Hub) -> None:
    """As by ids. A preview says it before: it counts what can be done."""
    code = uuid.uuid4().hex
    hub.record(TRANSIENT, code=code)
    assert "No errors match that you can unpark" in cli("unpark", "--code", code).stdout
    meant = ("--code", code, "--status", "RETRY_PENDING", "--reason", "x", "--yes")
    assert "0 done, 1 refused" in cli("unpark", *meant, ends=1).stdout


def test_a_claim_of_what_is_paused_says_so(cli: Run, hub: Hub) -> None:
    """By whom and why, instead of that nothing is due."""
    hub.record(TRANSIENT, table=PEOPLE)
    hub.advance(MINUTE)
    for scope in (("table", PEOPLE), ("global", None)):
        with hub.db.transaction(Authority.OPERATOR, actor=Actor("human", "eve")) as tx:
            pause(tx, *scope, reason="the vendor is down")
        said = cli("claim", "--table", PEOPLE)
        assert "Nothing was claimed" in said.stdout
        assert "paused by eve" in said.stderr
        assert "the vendor is down" in said.stderr
        with hub.db.transaction(Authority.OPERATOR) as tx:
            resume(tx, *scope, reason="it is back")
    assert parsed(cli("claim", "--table", PEOPLE, "--json"))
