"""Errors out of files of every format: what can be read is recorded whole, and the rest is told row by row."""

from __future__ import annotations

import csv
import gzip
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pytest

from hub import DOL, LOG, PEOPLE, TRANSIENT, Hub, NewHub
from recoup.errors import importing
from recoup.errors.importing import Imported, import_file
from recoup.files import Format
from recoup.refusals import InputRefused
from written import as_csv, parquet_of

Row = Mapping[str, Any]
FORMATS = ("csv", "tsv", "csv.gz", "jsonl", "jsonl.gz", "parquet")


def written(path: Path, rows: Sequence[Row]) -> Path:
    """Rows with the same columns, in the format that the name tells."""
    kind = path.name.removesuffix(".gz").rsplit(".")[-1]
    if kind == "parquet":
        content = parquet_of(pa.Table.from_pylist(list(rows)))
    elif kind == "jsonl":
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    else:
        content = as_csv([list(row.values()) for row in rows], header=list(rows[0]), delimiter=",\t"[kind == "tsv"])
    path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    return path


def entities(count: int) -> list[UUID]:
    return [uuid.uuid4() for _ in range(count)]


def failures(of: Sequence[UUID], **more: Any) -> list[dict[str, Any]]:
    return [{"table": DOL, "entity": str(one), "message": TRANSIENT, **more} for one in of]


def recorded(hub: Hub, of: Sequence[UUID]) -> int:
    ((count,),) = hub.rows("select count(*) from recoup.error where outreach_id = any(%s)", of)
    return int(count)


def reasons(imported: Imported) -> list[tuple[int, str]]:
    return [(row.number, row.reason) for row in imported.refused.kept]


# What is recorded ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_recorded_the_same(hub: Hub, tmp_path: Path, kind: str) -> None:
    """Known columns are what they are called, under either name; every other one goes into the payload."""
    one, two = entities(2)
    rows: list[Row] = [
        {
            "error_table": DOL, "outreach_id": str(one), "error_code": "EIN_TIMEOUT", "error_message": TRANSIENT,
            "severity": "high", "category": "Operational", "want": "PARK", "payload": '{"ein": "12-3", "n": [1, {}]}',
            "Run Id": "müller, \"7\"\nof 9", "api_key": "s3cret", "": "unnamed",
        },
        {
            "error_table": DOL, "outreach_id": str(two), "error_code": None, "error_message": TRANSIENT,
            "severity": None, "category": None, "want": None, "payload": None,
            "Run Id": None, "api_key": None, "": None,
        },
    ]  # fmt: skip
    imported = import_file(hub.db, written(tmp_path / f"errors.{kind}", rows))
    assert (imported.recorded, reasons(imported)) == (2, [])
    found = hub.row_of(one)
    assert (found["error_table"], found["error_message"], found["error_code"]) == (DOL, TRANSIENT, "EIN_TIMEOUT")
    assert (found["severity"], found["category"], found["status"]) == ("HIGH", "OPERATIONAL", "PARKED")
    assert found["payload"] == {
        "Run Id": 'müller, "7"\nof 9', "api_key": "[redacted]", "": "unnamed", "ein": "12-3", "n": [1, {}]
    }  # fmt: skip
    found = hub.row_of(two)
    assert (found["error_code"], found["severity"]) == (None, None)
    assert found["payload"] == {"Run Id": None, "api_key": "[redacted]", "": None}


def test_values_that_only_parquet_has_are_kept(hub: Hub, tmp_path: Path) -> None:
    """Numbers as codes, an object as payload, times, bytes and lists beside."""
    (one,) = entities(1)
    table = pa.table({
        "table": pa.array([DOL]).dictionary_encode(),
        "entity": pa.array([one.bytes], pa.binary(16)).cast(pa.uuid()),
        "code": [504],
        "message": pa.array([TRANSIENT], pa.large_string()),
        "payload": [{"ein": "12-3", "at": {"line": 7}}],
        "at": pa.array([1], pa.int64()).view(pa.timestamp("ns")),
        "digest": pa.array([b"\xff\x01"], pa.binary()),
        "tries": [[1, 2, None]],
        "rate": [float("nan")],
        "whole": pa.array([True]),
    })  # fmt: skip
    path = tmp_path / "errors.parquet"
    path.write_bytes(parquet_of(table))
    assert import_file(hub.db, path).recorded == 1
    found = hub.row_of(one)
    assert found["error_code"] == "504"
    assert found["payload"] == {
        "ein": "12-3", "at": {"line": 7}, "digest": "\\xff\x01", "tries": [1, 2, None], "rate": "nan", "whole": True
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_of_two_names_for_one_column_the_filled_one_counts(hub: Hub, tmp_path: Path, kind: str) -> None:
    """As where two exports were put together."""
    of = entities(2)
    rows = [
        {"table": DOL, "entity": str(of[0]), "message": TRANSIENT, "code": "A", "error_code": None},
        {"table": DOL, "entity": str(of[1]), "message": TRANSIENT, "code": None, "error_code": "B"},
    ]
    import_file(hub.db, written(tmp_path / f"errors.{kind}", rows))
    assert [hub.row_of(one)["error_code"] for one in of] == ["A", "B"]


def test_a_name_that_tells_nothing_is_of_json_lines(hub: Hub, tmp_path: Path) -> None:
    """As ever; and a format that is given goes before the name."""
    of = entities(2)
    written(tmp_path / "errors.jsonl", failures(of[:1])).rename(tmp_path / "errors.log")
    assert import_file(hub.db, tmp_path / "errors.log").recorded == 1
    written(tmp_path / "errors.csv", failures(of[1:])).rename(tmp_path / "errors.parquet")
    assert import_file(hub.db, tmp_path / "errors.parquet", format_=Format.CSV).recorded == 1
    assert recorded(hub, of) == 2


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e.parquet", "e"])
def test_an_empty_file_is_no_fault(hub: Hub, tmp_path: Path, name: str) -> None:
    """Nothing failed."""
    (tmp_path / name).write_bytes(b"")
    imported = import_file(hub.db, tmp_path / name)
    assert (imported.lines, imported.recorded, imported.refused.count) == (0, 0, 0)
    (tmp_path / "header.csv").write_text("table,message\n\n")
    assert import_file(hub.db, tmp_path / "header.csv").recorded == 0


# What is refused ----------------------------------------------------------------------------------------------------

HOSTILE: list[tuple[dict[str, Any], str | None]] = [
    ({"message": "nul \0 here"}, None),
    ({"message": "\x1b[2J"}, None),
    ({"message": "x" * 200_000}, None),
    ({"payload": json.dumps({"x": "y" * 2_000_000})}, None),
    ({"note": "=cmd|' /C calc'!A0"}, None),
    ({"note": "x" * 3_900_000}, None),
    ({"message": ""}, "line_unreadable"),
    ({"table": ""}, "line_unreadable"),
    ({"table": "outreach.nothing"}, "table_unknown"),
    ({"table": "x'; drop table recoup.error; --"}, "table_unknown"),
    ({"table": "nul\0"}, "table_unknown"),
    ({"entity": ""}, "entity_missing"),
    ({"entity": "not a uuid"}, "entity_unreadable"),
    ({"code": "x" * 201}, "error_code"),
    ({"severity": "dreadful"}, "severity_unknown"),
    ({"category": "\0"}, "category_unknown"),
    ({"want": "MORE"}, "want_unknown"),
    ({"payload": "[1]"}, "line_unreadable"),
    ({"payload": "7"}, "line_unreadable"),
    ({"payload": '{"x": '}, "line_unreadable"),
    ({"payload": "[" * 100_000}, "line_unreadable"),
    ({"payload": '{"x": ' + "9" * 5000 + "}"}, "line_unreadable"),
    ({"note": "x" * 4_000_001}, "line_unreadable"),
]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_hostile_cell_costs_its_own_row_at_most(hub: Hub, tmp_path: Path, kind: str) -> None:
    """It is recorded as it can be kept, or refused with its reason; every row beside it is recorded."""
    of, beside = entities(len(HOSTILE)), entities(len(HOSTILE))
    blank = {"code": None, "severity": None, "category": None, "want": None, "payload": None, "note": None}
    bad = [row | more for row, (more, _) in zip(failures(of, **blank), HOSTILE, strict=True)]
    rows = [row for pair in zip(bad, failures(beside, **blank), strict=True) for row in pair]
    for row in rows:  # in Parquet as in CSV, what is empty is none
        row.update({name: value or None for name, value in row.items()})
    imported = import_file(hub.db, written(tmp_path / f"errors.{kind}", rows))
    expected = [(n, why) for n, (_, why) in enumerate(HOSTILE) if why is not None]
    place = {"csv": 2, "parquet": 1}[kind]  # of the first row: behind a header, or not
    assert sorted(reasons(imported)) == [(place + 2 * n, why) for n, why in expected]
    assert recorded(hub, beside) == len(beside)
    assert recorded(hub, of) == len(HOSTILE) - len(expected)
    assert imported.noun == {"csv": "line", "parquet": "row"}[kind]
    unread = [row.message for row in imported.refused.kept if row.reason == "line_unreadable"]
    assert all(said.startswith(f"The {imported.noun} cannot be read: ") for said in unread)


@pytest.mark.parametrize(
    "piece", [b"\xff,x,y", b"one", b"a,b,c,d", b'"a"b,x,y', b'"' + b"x" * 5_000_000 + b'",x,y', b"\0" * 10]
)
def test_a_line_that_is_no_csv_is_refused_alone(hub: Hub, tmp_path: Path, piece: bytes) -> None:
    """The lines before and behind it are recorded."""
    of = entities(2)
    first, second = (f"{DOL},{one},x\n".encode() for one in of)
    (tmp_path / "errors.csv").write_bytes(b"table,entity,message\n" + first + piece + b"\n" + second)
    imported = import_file(hub.db, tmp_path / "errors.csv")
    assert reasons(imported) == [(3, "line_unreadable")]
    assert recorded(hub, of) == 2


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_without_messages_is_refused_before_its_rows(hub: Hub, tmp_path: Path, kind: str) -> None:
    """By the columns that it has; a table may stand beside the file."""
    path = written(tmp_path / f"errors.{kind}", [{"Message": "x", "outreach_id": str(uuid.uuid4())}])
    with pytest.raises(InputRefused) as caught:
        import_file(hub.db, path)
    assert caught.value.code == "error_columns_missing"
    assert caught.value.facts["missing"] == ["table", "message"]
    assert "Message, outreach_id" in caught.value.happened
    path = written(tmp_path / f"errors.{kind}", [{"message": uuid.uuid4().hex}])
    with pytest.raises(InputRefused) as caught:
        import_file(hub.db, path)
    assert caught.value.facts["missing"] == ["table"]
    assert import_file(hub.db, path, table=LOG).recorded == 1


# How far it came ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv.gz", "jsonl.gz", "parquet"])
def test_of_a_damaged_file_the_whole_batches_are_in(
    hub: Hub, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How far it came is known; the file put right, the rest is recorded, and nothing twice."""
    monkeypatch.setattr(importing, "BATCH", 100)
    of = entities(5_000)
    path = written(tmp_path / f"errors.{kind}", failures(of))
    whole = path.read_bytes()
    damaged = bytearray(whole if kind == "parquet" else whole[: len(whole) * 2 // 3])
    if kind == "parquet":
        damaged[len(damaged) // 2 : len(damaged) // 2 + 2000] = b"\xff" * 2000
    path.write_bytes(damaged)
    so_far = Imported()
    with pytest.raises(InputRefused) as caught:
        import_file(hub.db, path, so_far=so_far)
    assert caught.value.code == "file_unreadable"
    assert 0 < so_far.recorded == recorded(hub, of) < 5_000
    path.write_bytes(whole)
    rest = import_file(hub.db, path, skip=so_far.done)
    assert rest.recorded == 5_000 - so_far.recorded
    assert recorded(hub, of) == 5_000


def test_lines_are_skipped_by_where_a_row_begins(hub: Hub, tmp_path: Path) -> None:
    """A cell of several lines does not shift the others."""
    of = entities(3)
    rows = [row | {"note": "two\nlines"} for row in failures(of)]
    path = written(tmp_path / "errors.csv", rows)
    seen = import_file(hub.db, path)
    assert (seen.lines, seen.done) == (6, 6)
    assert import_file(hub.db, path, skip=4).recorded == 1
    assert import_file(hub.db, path, skip=seen.done).recorded == 0
    assert recorded(hub, of) == 4


@pytest.mark.parametrize("kind", ["csv.gz", "jsonl", "parquet"])
def test_progress_rises_to_the_end(hub: Hub, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With each batch."""
    monkeypatch.setattr(importing, "BATCH", 50)
    told: list[tuple[int, float]] = []
    path = written(tmp_path / f"errors.{kind}", failures(entities(220)))
    import_file(hub.db, path, progress=lambda so_far: told.append((so_far.recorded, so_far.share or 0)))
    assert [count for count, _ in told] == [50, 100, 150, 200, 220]
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert told[-1][1] == 1


def test_large_rows_go_in_small_batches(hub: Hub, tmp_path: Path) -> None:
    """However small the file is: one long text in every row, which it holds but once."""
    of = entities(40)
    path = written(tmp_path / "errors.parquet", failures(of, note="x" * 1_000_000))
    assert path.stat().st_size < 1_000_000
    told: list[int] = []
    import_file(hub.db, path, progress=lambda so_far: told.append(so_far.recorded))
    assert told == [8, 16, 24, 32, 40, 40]


def test_a_pipe_is_recorded_as_it_comes(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole batch is in while its writer still goes on."""
    monkeypatch.setattr(importing, "BATCH", 2)
    of, path, told = entities(3), tmp_path / "errors.jsonl", list[int]()
    os.mkfifo(path)
    lines = [json.dumps(row).encode() + b"\n" for row in failures(of)]
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(path.open, "wb", 0)
        pool.submit(lambda: writing.result().write(lines[0] + lines[1]))

        def go_on(so_far: Imported) -> None:
            told.append(recorded(hub, of))
            assert so_far.share is None
            if not writing.result().closed:
                writing.result().write(lines[2])
                writing.result().close()

        assert import_file(hub.db, path, progress=go_on).recorded == 3
    assert told == [2, 3]


def test_what_is_read_ahead_is_decided_by_the_policy_in_force(
    new_hub: NewHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the one that it was prepared under; and a line that cannot be recorded is told in its own batch."""
    hub = new_hub()
    monkeypatch.setattr(importing, "BATCH", 2)
    of = entities(14)
    rows = failures(of, code="TO_PARK")
    rows[12]["table"] = "outreach.nothing"
    told: list[tuple[int, int]] = []

    def change(so_far: Imported) -> None:
        told.append((so_far.done, so_far.refused.count))
        if so_far.done == 8:
            hub.apply_policy('[errors.park_codes]\nTO_PARK = "ESCALATION_REQUIRED"\n')

    import_file(hub.db, written(tmp_path / "errors.jsonl", rows), progress=change)
    assert told == [(2, 0), (4, 0), (6, 0), (8, 0), (10, 0), (12, 0), (14, 1), (14, 1)]
    found = hub.rows(
        "select status, policy_version from recoup.error where outreach_id = any(%s) order by error_id", of
    )
    assert found == [("RETRY_PENDING", 1)] * 8 + [("PARKED", 2)] * 5


def test_an_interrupted_import_has_recorded_what_it_says(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read ahead is not recorded, and not reported as refused: it is read again."""
    monkeypatch.setattr(importing, "BATCH", 3)
    of = entities(8)
    rows = failures(of, severity=None)
    rows[3]["severity"] = rows[5]["severity"] = "BAD"
    path, so_far = written(tmp_path / "errors.jsonl", rows), Imported()

    def interrupt(seen: Imported) -> None:
        if seen.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_file(hub.db, path, progress=interrupt, so_far=so_far)
    assert (so_far.recorded, so_far.refused.count, recorded(hub, of)) == (3, 0, 3)
    rest = import_file(hub.db, path, skip=so_far.done)
    assert (rest.recorded, reasons(rest)) == (3, [(4, "severity_unknown"), (6, "severity_unknown")])
    assert recorded(hub, of) == 6


# The report ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_the_report_holds_every_refused_row(
    hub: Hub, tmp_path: Path, kind: str, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it was, with its number and its reason, also what the database refused; put right it can be read again."""
    monkeypatch.setattr(importing, "BATCH", 10)
    of = entities(30)
    rows = failures(of, note="7")
    rows[3]["table"], rows[27]["severity"] = "outreach.nothing", "BAD"
    for row in rows:
        row.setdefault("severity", None)
    report = tmp_path / f"refused{suffix}"
    import_file(hub.db, written(tmp_path / f"errors.{kind}", rows), report=report)
    with report.open(newline="") as file:
        found = list(csv.DictReader(file)) if suffix == ".csv" else [json.loads(line) for line in file]
    first = 2 if kind == "csv" else 1
    assert sorted((int(row["number"]), row["reason"]) for row in found) == [
        (first + 3, "table_unknown"), (first + 27, "severity_unknown")
    ]  # fmt: skip
    assert all(str(of[int(row["number"]) - first]) in row["row"] for row in found)


def test_the_report_of_an_interrupted_import_is_there(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was refused until then is not read again, if the rest is."""
    monkeypatch.setattr(importing, "BATCH", 2)
    rows = failures(entities(6))
    rows[0]["table"] = "outreach.nothing"
    report = tmp_path / "refused.jsonl"

    def interrupt(_: Imported) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_file(hub.db, written(tmp_path / "errors.jsonl", rows), report=report, progress=interrupt)
    assert [json.loads(line)["number"] for line in report.read_text().splitlines()] == [1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["errors.jsonl", "refused.jsonl"]


def test_a_report_over_the_file_itself_is_refused_first(hub: Hub, tmp_path: Path) -> None:
    of = entities(1)
    path = written(tmp_path / "errors.csv", failures(of))
    before = path.read_bytes()
    with pytest.raises(InputRefused) as caught:
        import_file(hub.db, path, report=path)
    assert caught.value.code == "report_over_source"
    assert (path.read_bytes(), recorded(hub, of)) == (before, 0)


def test_a_table_of_people_takes_a_csv_of_theirs(hub: Hub, tmp_path: Path) -> None:
    """--table is for rows that name none."""
    of = entities(2)
    rows: list[Row] = [
        {"error_table": None, "entity": str(of[0]), "message": TRANSIENT},
        {"error_table": DOL, "entity": str(of[1]), "message": TRANSIENT},
    ]
    import_file(hub.db, written(tmp_path / "errors.csv", rows), table=PEOPLE)
    assert [hub.row_of(one)["error_table"] for one in of] == [PEOPLE, DOL]


def test_a_line_that_says_a_thing_twice_is_refused(hub: Hub, tmp_path: Path) -> None:
    """Under both names of a field: neither is thrown away without a word."""
    one, two = entities(2)
    twice: list[Row] = [{"error_table": PEOPLE}, {"outreach_id": str(two)}, {"error_code": "B", "code": "A"}]
    rows = [{**row, **more} for row, more in zip(failures([one] * 3), twice, strict=True)] + failures([two])
    imported = import_file(hub.db, written(tmp_path / "errors.jsonl", rows))
    assert reasons(imported) == [(line, "line_unreadable") for line in (1, 2, 3)]
    assert recorded(hub, [one, two]) == 1


def test_more_lines_than_there_are_cannot_be_skipped(hub: Hub, tmp_path: Path) -> None:
    path = written(tmp_path / "errors.jsonl", failures(entities(3)))
    assert import_file(hub.db, path, skip=3).recorded == 0
    with pytest.raises(InputRefused) as refused:
        import_file(hub.db, path, skip=4)
    assert refused.value.code == "skip_past_end"
