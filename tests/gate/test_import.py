"""Companies out of files: what makes sense comes in, all of it or nothing, and what does not is told row by row."""

from __future__ import annotations

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recoup import clock, gate
from recoup.database.connection import Database
from recoup.files import Format, Unread
from recoup.files.report import MAX_KEPT
from recoup.gate.importing import Imported, Progress, Reason, import_file
from recoup.gate.importing.checks import WANTED
from recoup.gate.importing.loading import CHUNK_ROWS
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from written import COMPANIES, WRITTEN, Values, Write, as_csv, as_jsonl, as_parquet, bounded, many, parquet_of

PATIENCE_S = 60
MAX_ROW_CHARS = WANTED.row_chars_most


def new_name() -> str:
    return f"import-{uuid.uuid4().hex[:12]}"


def stored(db: Database, batch_id: str) -> list[Values]:
    """What is in a batch, sorted."""
    with db.transaction(Authority.READER) as tx:
        rows = tx.execute(
            "select company_name, company_domain, linkedin_url, state from cl.gate_zero_intake where batch_id = %s",
            (batch_id,),
        ).fetchall()
    return sorted(rows, key=repr)


def batches(db: Database, batch_id: str) -> list[gate.Batch]:
    with db.transaction(Authority.READER) as tx:
        return [batch for batch in gate.list_batches(tx, limit=100_000) if batch.batch_id == batch_id]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def refusal(db: Database, path: Path, **more: Any) -> InputRefused:
    """The refusal of a whole file; nothing of it is left."""
    batch_id = more.pop("batch_id", None) or new_name()
    before = stored(db, batch_id)
    with pytest.raises(InputRefused) as caught:
        import_file(db, path, batch_id=batch_id, **more)
    assert stored(db, batch_id) == before
    return caught.value


# What comes in ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", as_csv(COMPANIES)),
        ("bom.csv", b"\xef\xbb\xbf" + as_csv(COMPANIES)),
        ("A.CSV", as_csv(COMPANIES, delimiter=";")),
        ("a.tsv", as_csv(COMPANIES, delimiter="\t")),
        ("a.csv.gz", gzip.compress(as_csv(COMPANIES), mtime=0)),
        ("a.jsonl", as_jsonl(COMPANIES)),
        ("a.ndjson", b"\xef\xbb\xbf" + as_jsonl(COMPANIES).replace(b"\n", b"\r\n\r\n")),
        ("a.jsonl.gz", gzip.compress(as_jsonl(COMPANIES), mtime=0)),
        ("a.parquet", as_parquet(COMPANIES)),
        ("large.parquet", as_parquet(COMPANIES, pa.large_string())),
        ("dictionary.parquet", as_parquet(COMPANIES, pa.dictionary(pa.int32(), pa.string()))),
        ("bytes.parquet", as_parquet([[v and v.encode() for v in row] for row in COMPANIES], pa.binary())),
    ],
)
def test_every_format_comes_in_as_it_was_given(db: Database, write: Write, name: str, content: bytes) -> None:
    """Whatever the format, quotes, line breaks and letters are kept; what was left blank is null."""
    batch_id = new_name()
    imported = import_file(db, write(name, content), batch_id=batch_id)
    assert (imported.rows, imported.accepted, imported.refused) == (4, 4, 0)
    assert stored(db, batch_id) == sorted(COMPANIES, key=repr)
    assert [batch.status for batch in batches(db, batch_id)] == ["OPEN"]
    assert imported.batch_freeze_at is None


# What turns the direction of reading or breaks lines unseen is refused: a name could look like another.
TURNING = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
printable = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters=TURNING, include_characters="\t\n\r")
texts = st.text(printable, max_size=60)
optional = st.none() | texts
domains = st.sampled_from((None, "", "acme.example.com", "https://www.müller.example.com/imprint"))


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.tuples(texts, domains, optional, optional), min_size=1, max_size=20),
    kind=st.sampled_from(Format),
)
def test_what_is_written_is_read(db: Database, rows: list[Values], kind: Format) -> None:
    """Any printable text, in any format, comes back the same; a blank is nothing."""
    rows = [(f"{place}{name}", *rest) for place, (name, *rest) in enumerate(rows)]
    content = WRITTEN[kind](rows)
    batch_id = new_name()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        path.write_bytes(content)
        imported = import_file(db, path, batch_id=batch_id, format_=kind)
    assert imported.refusals == ()
    blanked = [tuple(None if value is None or not value.strip() else value for value in row) for row in rows]
    assert stored(db, batch_id) == sorted(blanked, key=repr)


def test_columns_are_found_by_any_of_their_names(db: Database, write: Write) -> None:
    """Capitals, spaces, dashes and the order make no difference; what is unknown is told, and ignored."""
    batch_id = new_name()
    header = ["US-State", "Phone", " Company Name", "WEBSITE", "linked_in"]
    row = ["TX", "555", "Acme", "acme.example.com", "https://linkedin.example/acme"]
    imported = import_file(db, write("a.csv", as_csv([row], header=header)), batch_id=batch_id)
    assert stored(db, batch_id) == [("Acme", "acme.example.com", "https://linkedin.example/acme", "TX")]
    assert imported.ignored == ("Phone",)

    batch_id = new_name()
    line = json.dumps({"NAME": "Acme", "Fax": 1, "domain": None})
    imported = import_file(db, write("a.jsonl", line.encode()), batch_id=batch_id)
    assert stored(db, batch_id) == [("Acme", None, None, None)]
    assert imported.ignored == ("Fax",)


def test_our_own_name_for_a_column_goes_first(db: Database, write: Write) -> None:
    """Beside company_name, a column name is somebody's name."""
    batch_id = new_name()
    imported = import_file(
        db, write("a.csv", as_csv([["Ada", "Acme"]], header=["name", "company_name"])), batch_id=batch_id
    )
    assert stored(db, batch_id) == [("Acme", None, None, None)]
    assert imported.ignored == ("name",)


def test_an_import_can_complete_its_batch(db: Database, write: Write) -> None:
    """Rows and completion come together."""
    batch_id = new_name()
    imported = import_file(db, write("a.csv", as_csv(COMPANIES)), batch_id=batch_id, complete=True)
    (batch,) = batches(db, batch_id)
    assert batch.status == "COMPLETED"
    assert imported.batch_freeze_at == batch.batch_freeze_at
    assert batch.batch_freeze_at is not None


def test_a_pipe_is_read_to_its_end_first(db: Database, tmp_path: Path) -> None:
    """What comes through a pipe may stall; the transaction begins when all of it is there."""
    batch_id, pipe = new_name(), tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as writer:
        writing = writer.submit(pipe.write_bytes, as_csv(many(20_000)))
        imported = import_file(db, pipe, batch_id=batch_id)
        writing.result(PATIENCE_S)
    assert imported.accepted == 20_000
    assert len(stored(db, batch_id)) == 20_000


# What is refused, row by row ----------------------------------------------------------------------------------------

GOOD = b"company_name,company_domain,linkedin_url,state\nGood,,,\n"


@pytest.mark.parametrize(
    ("name", "content", "number", "column", "reason"),
    [
        ("a.csv", GOOD + b",acme.example.com,,\n", 3, "company_name", Reason.NAME_MISSING),
        ("a.csv", GOOD + b'" \t ",,,\n', 3, "company_name", Reason.NAME_MISSING),
        ("a.jsonl", b'{"name": "Good"}\n{"domain": "a.example.com"}', 2, "company_name", Reason.NAME_MISSING),
        ("a.parquet", as_parquet([("Good",) * 1 + (None,) * 3, (None,) * 4]), 2, "company_name", Reason.NAME_MISSING),
        ("a.jsonl", b'{"name": "Good"}\n{"name": 7}', 2, "company_name", Reason.WRONG_TYPE),
        ("a.jsonl", b'{"name": "Good"}\n{"name": "A", "state": ["TX"]}', 2, "state", Reason.WRONG_TYPE),
        ("a.csv", GOOD + b"A\x00B,,,\n", 3, "company_name", Reason.TEXT_UNPRINTABLE),
        ("a.csv", GOOD + b"A,,\x1b[2J,\n", 3, "linkedin_url", Reason.TEXT_UNPRINTABLE),
        ("a.jsonl", b'{"name": "Good"}\n{"name": "A\\ud800"}', 2, "company_name", Reason.TEXT_UNPRINTABLE),
        ("a.csv", GOOD + b"A,,," + b"x" * 501 + b"\n", 3, "state", Reason.TEXT_TOO_LONG),
        ("a.csv", GOOD + b"A,not a domain,,\n", 3, "company_domain", Reason.DOMAIN_MALFORMED),
        ("a.csv", GOOD + b"A,10.0.0.1,,\n", 3, "company_domain", Reason.DOMAIN_MALFORMED),
        ("a.csv", GOOD + b"\n  GOOD  ,,http://x.example,\n", 4, "company_name", Reason.COMPANY_TWICE),
        ("a.jsonl", b'{"name": "Good"}\n{"name": "bad"', 2, None, Unread.JSON_MALFORMED),
        ("a.jsonl", b'{"name": "Good"}\n["bad"]', 2, None, Unread.JSON_MALFORMED),
        ("a.jsonl", b'{"name": "Good"}\n' + b"[" * 100_000, 2, None, Unread.JSON_MALFORMED),
        ("a.jsonl", b'{"name": "Good"}\n{"name": ' + b"9" * 5000 + b"}", 2, None, Unread.JSON_MALFORMED),
        ("a.jsonl", b'{"name": "Good"}\n{"name": "A", "company": "B"}', 2, None, Unread.COLUMNS_AMBIGUOUS),
        ("a.csv", GOOD + b"A,,\n", 3, None, Unread.CSV_MALFORMED),
        ("a.csv", GOOD + b"A,,,,\n", 3, None, Unread.CSV_MALFORMED),
        ("a.csv", GOOD + b'"A"B,,,\n', 3, None, Unread.CSV_MALFORMED),
        ("a.csv", GOOD + b'B,"\n\n",,\n"A,,,\n', 6, None, Unread.CSV_MALFORMED),
        ("a.csv", GOOD + b"M\xfcller,,,\n", 3, None, Unread.NOT_UTF8),
        ("a.jsonl", b'{"name": "Good"}\n{"name": "A", "x": "\xff"}', 2, None, Unread.NOT_UTF8),
        ("a.csv", GOOD + b"A," + b"x" * MAX_ROW_CHARS + b",,\n", 3, None, Unread.ROW_TOO_LONG),
        ("a.jsonl", b'{"name": "Good"}\n{"name": "' + b"x" * MAX_ROW_CHARS + b'"}', 2, None, Unread.ROW_TOO_LONG),
    ],
)
def test_a_row_that_makes_no_sense_is_refused_alone(
    db: Database, write: Write, name: str, content: bytes, number: int, column: str | None, reason: Reason | Unread
) -> None:
    """Told with its place, its column and its reason, and as it was; the good row before it comes in."""
    batch_id = new_name()
    imported = import_file(db, write(name, content), batch_id=batch_id)
    (refused,) = imported.refusals
    assert (refused.number, refused.column, refused.reason) == (number, column, reason)
    assert refused.message.endswith(".")
    assert refused.row
    assert imported.reasons == {reason: 1}
    assert "Good" in {row[0] for row in stored(db, batch_id)}
    assert imported.accepted == len(stored(db, batch_id)) == imported.rows - 1


def test_every_reason_is_tried() -> None:
    """A reason that is added is tried above."""
    (mark,) = test_a_row_that_makes_no_sense_is_refused_alone.pytestmark  # type: ignore[attr-defined]
    assert {case[-1] for case in mark.args[1]} == {*Reason, *Unread}


def test_rows_behind_a_broken_one_come_in(db: Database, write: Write) -> None:
    """Reading goes on behind a row of bad bytes, of too many fields, without end."""
    batch_id = new_name()
    broken = [b"\xff,,,", b"a,b,c,d,e", b"x" * (MAX_ROW_CHARS * 3) + b",,,", b'"a"b,,,']
    lines = b"\n".join(line for n, bad in enumerate(broken) for line in (bad, b"Good %d,,," % n))
    imported = import_file(db, write("a.csv", GOOD + lines), batch_id=batch_id)
    assert [refused.number for refused in imported.refusals] == [3, 5, 7, 9]
    assert {row[0] for row in stored(db, batch_id)} == {"Good", "Good 0", "Good 1", "Good 2", "Good 3"}


def test_bytes_that_are_no_text_are_refused_in_parquet_too(db: Database, write: Write) -> None:
    """A Parquet file may call text what is none; only that row is refused, and its bytes are shown."""
    batch_id = new_name()
    names = pa.array([b"Good", b"M\xfcller", None, b"Better"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 4, names.buffers())
    imported = import_file(db, write("a.parquet", parquet_of(pa.table({"name": text}))), batch_id=batch_id)
    assert [(r.number, r.reason) for r in imported.refusals] == [(2, Unread.NOT_UTF8), (3, Reason.NAME_MISSING)]
    assert json.loads(imported.refusals[0].row) == {"name": "M\\xfcller"}
    assert [row[0] for row in stored(db, batch_id)] == ["Better", "Good"]


def test_the_same_company_twice_names_the_first(db: Database, write: Write) -> None:
    """The same name, domain and state, however they are written; another state is another company."""
    batch_id = new_name()
    rows = [
        ("Acme", "acme.example.com", "", "TX"),
        ("ACME ", "https://ACME.example.com/about", "", "tx"),
        ("Acme", "acme.example.com", "", "OH"),
        ("\uff21cme", "acme.example.com", "other", " TX"),  # a full-width A
    ]
    imported = import_file(db, write("a.csv", as_csv(rows)), batch_id=batch_id)
    assert [(refused.number, refused.reason) for refused in imported.refusals] == [
        (3, Reason.COMPANY_TWICE),
        (5, Reason.COMPANY_TWICE),
    ]
    assert all("line 2" in refused.message for refused in imported.refusals)
    assert imported.accepted == 2


# What is refused as a whole -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.csv", b"", "file_empty"),
        ("a.jsonl", b"\n\n", "file_empty"),
        ("a.csv", b"\n \n", "file_empty"),
        ("a.csv", b"company_name,state\n", "file_empty"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "file_empty"),
        ("a.parquet", b"", "file_empty"),
        ("a.parquet", as_parquet([]), "file_empty"),
        ("a.csv", b"firm,state\nAcme,TX\n", "name_column_missing"),
        ("a.csv", b"name,company\nAda,Acme\n", "columns_ambiguous"),
        ("a.csv", b"company_name,Company Name\nAda,Acme\n", "columns_ambiguous"),
        ("a.csv.gz", gzip.compress(as_csv(many(9000)), mtime=0)[:-9], "file_unreadable"),
        ("a.csv.gz", gzip.compress(as_csv(many(9000)), mtime=0)[:-8] + b"\0" * 8, "file_unreadable"),
        ("a.csv", b"company_name,state\n,TX\n", "rows_refused"),
    ],
)
def test_a_file_of_which_nothing_can_be_read_is_refused(
    db: Database, write: Write, name: str, content: bytes, code: str
) -> None:
    """With words, and nothing of it is left: no rows, no batch."""
    batch_id = new_name()
    said = refusal(db, write(name, content), batch_id=batch_id)
    assert said.code == code
    assert said.next_step
    assert batches(db, batch_id) == []


def test_a_damaged_parquet_file_is_refused(db: Database, write: Write) -> None:
    """Its end is whole, its middle is not: what was read before the damage is not kept."""
    content = bytearray(as_parquet(many(10_000)))
    place = len(content) // 2
    content[place : place + 2000] = b"\xff" * 2000
    batch_id = new_name()
    assert refusal(db, write("a.parquet", bytes(content)), batch_id=batch_id).code == "file_unreadable"
    assert batches(db, batch_id) == []


def test_a_parquet_column_that_holds_no_text_is_refused(db: Database, write: Write) -> None:
    """By its name and its type."""
    said = refusal(db, write("a.parquet", as_parquet([(1, 2, 3, 4)], pa.int64())))
    assert said.code == "column_not_text"
    assert "company_name" in said.happened
    assert "int64" in said.happened


def test_the_columns_of_a_file_without_names_are_told(db: Database, write: Write) -> None:
    """So that one sees what the header was taken for."""
    said = refusal(db, write("a.csv", b"firm;state\nAcme;TX\n"))
    assert "firm, state" in said.happened
    assert said.facts["columns"] == ["firm", "state"]


# Batches that exist -------------------------------------------------------------------------------------------------


def test_nothing_is_imported_twice_by_accident(db: Database, write: Write) -> None:
    """A batch that exists is refused, and says how to add to it if that is meant."""
    batch_id, path = new_name(), write("a.csv", as_csv(COMPANIES))
    import_file(db, path, batch_id=batch_id)
    said = refusal(db, path, batch_id=batch_id)
    assert said.code == "batch_exists"
    assert "--append" in said.next_step
    assert import_file(db, path, batch_id=batch_id, append=True).accepted == 4
    assert len(stored(db, batch_id)) == 8


def test_only_an_open_batch_can_be_added_to(db: Database, write: Write) -> None:
    """Not one that does not exist, is complete, or is frozen."""
    batch_id, path = new_name(), write("a.csv", as_csv(COMPANIES))
    assert refusal(db, path, batch_id=batch_id, append=True).code == "batch_unknown"
    import_file(db, path, batch_id=batch_id, complete=True)
    said = refusal(db, path, batch_id=batch_id, append=True)
    assert said.code == "batch_completed"
    assert "another batch name" in said.next_step
    with db.transaction(Authority.OPERATOR) as tx:
        clock.advance(tx, timedelta(days=15))
    with db.transaction(Authority.GATE) as tx:
        while gate.freeze(tx).exhausted:
            pass
    assert batches(db, batch_id)[0].status == "FROZEN"
    assert refusal(db, path, batch_id=batch_id, append=True).code == "batch_completed"


def test_a_batch_completed_meanwhile_takes_nothing_more(db: Database, write: Write) -> None:
    """Somebody declares it complete while the file is read: what was read does not slip in behind."""
    batch_id = new_name()
    import_file(db, write("a.csv", as_csv(COMPANIES)), batch_id=batch_id)

    def completed(_: Progress) -> None:
        with db.transaction(Authority.HUB) as tx:
            gate.complete_batch(tx, batch_id)

    path = write("b.csv", as_csv(many(CHUNK_ROWS + 1)))
    assert refusal(db, path, batch_id=batch_id, append=True, progress=completed).code == "batch_completed"


def test_the_kill_switch_does_not_wait_for_an_import(db: Database, write: Write) -> None:
    """A batch that is being added to can be paused at once."""
    batch_id, paused = new_name(), []
    import_file(db, write("a.csv", as_csv(COMPANIES)), batch_id=batch_id)

    def pause(_: Progress) -> None:
        with db.transaction(Authority.OPERATOR) as tx:
            paused.append(gate.pause_batch(tx, batch_id, reason="look"))

    import_file(db, write("b.csv", as_csv(many(CHUNK_ROWS + 1))), batch_id=batch_id, append=True, progress=pause)
    assert paused[0]
    assert len(stored(db, batch_id)) == CHUNK_ROWS + 5


@pytest.mark.parametrize("batch_id", ["", "  ", "x" * 501])
def test_a_batch_needs_a_name(db: Database, write: Write, batch_id: str) -> None:
    """As everywhere."""
    with pytest.raises(InputRefused) as caught:
        import_file(db, write("a.csv", as_csv(COMPANIES)), batch_id=batch_id)
    assert caught.value.code == "batch_unnamed"


def test_two_imports_of_one_batch_at_once(db: Database, write: Write) -> None:
    """One brings everything in, the other is refused in words."""
    batch_id, path = new_name(), write("a.csv", as_csv(many(20_000)))
    line = threading.Barrier(2)

    def run() -> Imported | InputRefused:
        line.wait(PATIENCE_S)
        try:
            return import_file(db, path, batch_id=batch_id)
        except InputRefused as refused:
            return refused

    with ThreadPoolExecutor(2) as pool:
        results = [future.result(PATIENCE_S) for future in [pool.submit(run) for _ in range(2)]]
    (won,) = (result for result in results if isinstance(result, Imported))
    (lost,) = (result for result in results if isinstance(result, InputRefused))
    assert won.accepted == len(stored(db, batch_id)) == 20_000
    assert lost.code in ("batch_exists", "batch_busy")


def test_an_import_that_would_wait_too_long_says_for_whom(db: Database, write: Write) -> None:
    """The other import goes on and is not disturbed."""
    batch_id, path = new_name(), write("a.csv", as_csv(COMPANIES))
    codes: list[str] = []

    def second(_: Progress) -> None:
        with (
            Database(db.conninfo, replace(db.settings, lock_timeout_ms=100)) as impatient,
            pytest.raises(InputRefused) as caught,
        ):
            import_file(impatient, path, batch_id=batch_id)
        codes.append(caught.value.code)

    assert import_file(db, path, batch_id=batch_id, progress=second).accepted == 4
    assert codes == ["batch_busy"]


# Killed in the middle -----------------------------------------------------------------------------------------------

VICTIM = """
import sys
from pathlib import Path
from recoup.database.connection import Database
from recoup.gate.importing import import_file
from recoup.settings import load

def told(progress):
    print(progress.rows, flush=True)
    if progress.rows >= 15_000:
        sys.stdin.read()  # until killed

with Database(sys.argv[1], load({})) as database:
    import_file(database, Path(sys.argv[2]), batch_id=sys.argv[3], report=Path(sys.argv[4]), progress=told)
"""


def test_an_import_that_is_killed_leaves_nothing_and_is_run_again(db: Database, write: Write, tmp_path: Path) -> None:
    """SIGKILL with thousands of rows written and not committed: no batch, no rows; the second run brings everything."""
    batch_id, path = new_name(), write("a.csv", as_csv(many(40_000)))
    report = tmp_path / "refused.csv"
    with subprocess.Popen(
        [sys.executable, "-c", VICTIM, db.conninfo, str(path), batch_id, str(report)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as victim:
        assert victim.stdout is not None
        for line in victim.stdout:
            if int(line) >= 15_000:
                break
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert victim.returncode == -signal.SIGKILL
    assert stored(db, batch_id) == []
    assert batches(db, batch_id) == []
    assert not report.exists()
    assert import_file(db, path, batch_id=batch_id, report=report).accepted == 40_000
    assert len(set(stored(db, batch_id))) == 40_000
    assert report.exists()


# Strict, report, progress -------------------------------------------------------------------------------------------

MIXED = as_csv([*many(CHUNK_ROWS), *[("", "x.example.com", "", str(n)) for n in range(2500)], ("Last", "", "", "")])


def reported(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            return list(csv.DictReader(file))
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize("strict", [False, True])
def test_the_report_holds_every_refused_row(
    db: Database, write: Write, tmp_path: Path, suffix: str, strict: bool
) -> None:
    """Also those beyond the thousand that are kept in memory, and also when strict refuses the whole file."""
    batch_id, path, report = new_name(), write("a.csv", MIXED), tmp_path / f"refused{suffix}"
    report.write_text("an older report")
    if strict:
        said = refusal(db, path, batch_id=batch_id, strict=True, report=report)
        assert said.code == "rows_refused"
        assert said.facts["refused"] == 2500
        assert str(report) in said.next_step
        assert batches(db, batch_id) == []
    else:
        imported = import_file(db, path, batch_id=batch_id, report=report)
        assert (imported.accepted, imported.refused, len(imported.refusals)) == (CHUNK_ROWS + 1, 2500, MAX_KEPT)
        assert len(stored(db, batch_id)) == CHUNK_ROWS + 1
    rows = reported(report)
    assert [int(row["number"]) for row in rows] == [CHUNK_ROWS + 2 + n for n in range(2500)]
    assert {(row["column"], row["reason"]) for row in rows} == {("company_name", "name_missing")}
    assert [row["row"] for row in rows] == [f",x.example.com,,{n}" for n in range(2500)]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", report.name]


def test_strict_takes_a_file_without_fault(db: Database, write: Write, tmp_path: Path) -> None:
    """And its report is there, and empty."""
    report = tmp_path / "refused.jsonl"
    imported = import_file(db, write("a.csv", as_csv(COMPANIES)), batch_id=new_name(), strict=True, report=report)
    assert imported.accepted == 4
    assert reported(report) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a.csv", "report_over_source"),
        ("refused.txt", "report_format"),
        ("no/such/folder/refused.csv", "report_unwritable"),
        ("folder.csv", "report_unwritable"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_first(
    db: Database, write: Write, tmp_path: Path, name: str, code: str
) -> None:
    """Before anything is brought in; the file that is imported is never written over."""
    path = write("a.csv", as_csv(COMPANIES))
    (tmp_path / "folder.csv").mkdir()
    assert refusal(db, path, report=tmp_path / name).code == code
    assert path.read_bytes() == as_csv(COMPANIES)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "folder.csv"]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet"])
def test_progress_is_told_chunk_by_chunk(db: Database, write: Write, kind: str) -> None:
    """Rows only rise, accepted and refused add up, and at the end all of the file has been read."""
    rows: list[Values] = [*many(CHUNK_ROWS * 3), ("", None, None, None)]
    content = WRITTEN[kind.removesuffix(".gz")](rows)
    told: list[Progress] = []
    import_file(
        db,
        write(f"a.{kind}", gzip.compress(content) if kind.endswith(".gz") else content),
        batch_id=new_name(),
        progress=told.append,
    )
    assert [progress.rows for progress in told] == [CHUNK_ROWS, CHUNK_ROWS * 2, CHUNK_ROWS * 3, CHUNK_ROWS * 3 + 1]
    assert all(progress.rows == progress.accepted + progress.refused for progress in told)
    shares = [progress.share for progress in told]
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] == 1
    assert all(progress.rate > 0 for progress in told)


def test_a_progress_that_fails_undoes_the_import(db: Database, write: Write) -> None:
    """Whatever goes wrong on this side, nothing is left behind."""
    batch_id = new_name()

    def failing(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_file(db, write("a.csv", as_csv(many(CHUNK_ROWS * 2))), batch_id=batch_id, progress=failing)
    assert batches(db, batch_id) == []


# Hostile files ------------------------------------------------------------------------------------------------------


def test_many_refused_rows_are_not_all_remembered(db: Database, tmp_path: Path) -> None:
    """The first thousand, and of each of them the beginning."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"name,note\nGood,\n" + (b"," + b"x" * 50_000 + b"\n") * 1_200)
    with bounded():
        imported = import_file(db, path, batch_id=new_name())
    assert imported.refused == 1_200
    assert len(imported.refusals) == MAX_KEPT


# Parts that are not installed ---------------------------------------------------------------------------------------


def test_without_the_gate_extra_it_is_named(db: Database, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Domains are told from other text by the verification's own rules."""
    monkeypatch.delitem(sys.modules, "recoup.verification.domains", raising=False)
    monkeypatch.setitem(sys.modules, "publicsuffixlist", None)
    said = refusal(db, write("a.csv", as_csv(COMPANIES)))
    assert said.code == "gate_extra_missing"
    assert "publicsuffixlist" in said.happened
    assert "recoup[gate]" in said.next_step
