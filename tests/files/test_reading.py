"""One reader of files, as its users declare it: companies by any name of a column, errors with every column."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pytest

from recoup.errors.importing import WANTED as EVERYTHING
from recoup.files import Format, Row, Unread, Wanted, opened
from recoup.files import parquet as reader
from recoup.gate.importing.checks import WANTED as OF_COMPANIES
from recoup.refusals import InputRefused
from recoup.verification.directory_file import WANTED as OF_DIRECTORIES
from written import COMPANIES, HEADER, MAX_MEMORY, WRITTEN, as_csv, as_jsonl, as_parquet, bounded, many, parquet_of

DECLARED = pytest.mark.parametrize("wanted", [OF_COMPANIES, EVERYTHING], ids=["companies", "everything"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows"


def rows_of(path: Path, content: bytes, wanted: Wanted, format_: Format | None = None) -> list[Row]:
    path.write_bytes(content)
    with opened(path, wanted, format_) as source:
        return list(source.rows)


def refusal(path: Path, wanted: Wanted = OF_COMPANIES, format_: Format | None = None) -> InputRefused:
    with pytest.raises(InputRefused) as caught, opened(path, wanted, format_) as source:
        list(source.rows)
    assert caught.value.next_step
    return caught.value


def broken(rows: Iterable[Row]) -> list[tuple[int, Unread]]:
    return [(row.number, row.broken[0]) for row in rows if row.broken is not None]


def test_it_needs_nothing_else_of_recoup() -> None:
    """Neither does it load pyarrow before there is a Parquet file."""
    code = "import sys, recoup.files; print(*sorted(m for m in sys.modules if m.startswith(('recoup', 'pyarrow'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name for name in done.stdout.split() if not name.startswith("recoup.files")} == {
        "recoup",
        "recoup.refusals",
    }


# Columns ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", Format)
def test_every_column_is_kept_under_its_own_name(path: Path, kind: Format) -> None:
    """What is empty is none, in every format."""
    rows = rows_of(path, WRITTEN[kind](COMPANIES), EVERYTHING, kind)
    assert [row.values for row in rows] == [dict(zip(HEADER, row, strict=True)) for row in COMPANIES]
    assert [row.number for row in rows] == {"csv": [2, 3, 4, 6], "jsonl": [1, 2, 3, 4], "parquet": [1, 2, 3, 4]}[kind]


@pytest.mark.parametrize("kind", [Format.CSV, Format.PARQUET])
def test_missing_and_ignored_columns_are_reported(path: Path, kind: Format) -> None:
    """Before the first row; the file's own names are reported too."""
    content = {
        Format.CSV: b"Domain,phone\nx,1\n",
        Format.PARQUET: parquet_of(pa.table({"Domain": ["x"], "phone": [1]})),
    }
    path.write_bytes(content[kind])
    with opened(path, OF_DIRECTORIES, kind) as source:
        assert (source.missing, source.header) == (["name", "states"], ["Domain", "phone"])
        assert list(source.ignored) == ["phone"]
        assert [row.values for row in source.rows] == [{"domain": "x"}]


@pytest.mark.parametrize("content", [b"a,b,a\n1,2,3\n", parquet_of(pa.table([["1"], ["2"]], names=["a", "a"]))])
def test_two_columns_of_one_name_are_refused_where_both_are_kept(path: Path, content: bytes) -> None:
    """One of them would be lost."""
    path.write_bytes(content)
    said = refusal(path, EVERYTHING, Format.PARQUET if content.startswith(b"PAR1") else Format.CSV)
    assert said.code == "columns_ambiguous"
    assert "'a'" in said.happened


@pytest.mark.parametrize("kind", Format)
def test_an_empty_file_has_no_rows_and_lacks_what_is_required(path: Path, kind: Format) -> None:
    """Whether that is a fault is for its reader to say."""
    for content in (b"",) if kind is Format.PARQUET else (b"", gzip.compress(b"")):
        path.write_bytes(content)
        with opened(path, OF_DIRECTORIES, kind) as source:
            assert (list(source.rows), tuple(source.missing)) == ([], OF_DIRECTORIES.required)
            assert source.noun == ("row" if kind is Format.PARQUET else "line")


# Rows that cannot be read -------------------------------------------------------------------------------------------


@DECLARED
@pytest.mark.parametrize(
    ("kind", "piece", "reason"),
    [
        (Format.JSONL, b'{"name": "bad"', Unread.JSON_MALFORMED),
        (Format.JSONL, b'["bad"]', Unread.JSON_MALFORMED),
        (Format.JSONL, b"[" * 100_000, Unread.JSON_MALFORMED),
        (Format.JSONL, b'{"name": ' + b"9" * 5000 + b"}", Unread.JSON_MALFORMED),
        (Format.JSONL, b'{"name": "\xff"}', Unread.NOT_UTF8),
        (Format.JSONL, b'{"name": "' + b"x" * 5_000_000 + b'"}', Unread.ROW_TOO_LONG),
        (Format.CSV, b"too,many", Unread.CSV_MALFORMED),
        (Format.CSV, b'"A"B', Unread.CSV_MALFORMED),
        (Format.CSV, b"M\xfcller", Unread.NOT_UTF8),
        (Format.CSV, b"x" * 5_000_000, Unread.ROW_TOO_LONG),
    ],
)
def test_a_row_that_cannot_be_read_stands_alone(
    path: Path, kind: Format, piece: bytes, reason: Unread, wanted: Wanted
) -> None:
    """With its number, its reason and as it was; the rows before and behind it are read."""
    head, good = {Format.CSV: (b"name\n", b"Good"), Format.JSONL: (b"\n", b'{"name": "Good"}')}[kind]
    first, bad, last = rows_of(path, head + b"\n".join((good, piece, good)), wanted, kind)
    assert broken([first, bad, last]) == [(3, reason)]
    assert bad.values == {}
    assert bad.as_text()
    assert bad.as_text().isprintable()
    assert list(first.values.values()) == list(last.values.values()) == ["Good"]
    assert (first.number, last.number) == (2, 4)


def test_zeros_at_the_start_are_a_bad_line_and_no_other_encoding(path: Path) -> None:
    """A crash may leave them in front of a log."""
    rows = rows_of(path, b"\0" * 4096 + b'{}\n{"name": "Good"}\n', EVERYTHING, Format.JSONL)
    assert (broken(rows), rows[1].values) == ([(1, Unread.JSON_MALFORMED)], {"name": "Good"})


def test_a_long_cell_is_long_for_whom_it_is_too_long(path: Path) -> None:
    """An error may have a trace of a megabyte in it, a company may not, in whichever order they are read."""
    content = b"name\n" + b"x" * 1_000_000 + b"\n"
    for _ in range(2):
        assert broken(rows_of(path, content, OF_COMPANIES, Format.CSV)) == [(2, Unread.ROW_TOO_LONG)]
        (row,) = rows_of(path, content, EVERYTHING, Format.CSV)
        assert row.values == {"name": "x" * 1_000_000}
        assert row.chars == 1_000_001


# Files of which nothing can be read ---------------------------------------------------------------------------------


@DECLARED
@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.csv", b'"company_name,state\nAcme,TX\n', "header_unreadable"),
        ("a.csv", b"x" * 5_000_000, "header_unreadable"),
        ("a.csv", "company_name\nAcme\n".encode("utf-16"), "file_not_utf8"),
        ("a.jsonl", b'{"name": "Acme"}'.decode().encode("utf-16-le"), "file_not_utf8"),
        ("a.csv", as_parquet(COMPANIES), "file_of_other_format"),
        ("a.csv", b"PK\x03\x04 and so on", "file_of_other_format"),
        ("a.parquet", b"PAR1 and so on", "file_not_parquet"),
        ("a.parquet", as_csv(COMPANIES), "file_not_parquet"),
        ("a.parquet", as_parquet(COMPANIES)[:-30], "file_not_parquet"),
        ("a.csv.gz", gzip.compress(as_csv(many(9000)), mtime=0)[:-9], "file_unreadable"),
        ("a.jsonl.gz", gzip.compress(as_jsonl(many(9000)), mtime=0)[:-8] + b"\0" * 8, "file_unreadable"),
        ("a.txt", as_csv(COMPANIES), "format_unknown"),
        ("a", as_csv(COMPANIES), "format_unknown"),
    ],
)
def test_a_file_of_which_nothing_can_be_read_is_refused(
    tmp_path: Path, name: str, content: bytes, code: str, wanted: Wanted
) -> None:
    """With words that name it."""
    (tmp_path / name).write_bytes(content)
    said = refusal(tmp_path / name, wanted)
    assert said.code == code
    assert str(tmp_path / name) in said.happened


@DECLARED
def test_a_damaged_parquet_file_is_refused_where_the_damage_is(path: Path, wanted: Wanted) -> None:
    """Its end is whole, its middle is not."""
    content = bytearray(as_parquet(many(10_000)))
    place = len(content) // 2
    content[place : place + 2000] = b"\xff" * 2000
    path.write_bytes(content)
    assert refusal(path, wanted, Format.PARQUET).code == "file_unreadable"


def test_a_path_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    """No file, a folder, a name that tells nothing."""
    assert refusal(tmp_path / "missing.csv").code == "file_missing"
    assert refusal(tmp_path, format_=Format.CSV).code == "file_is_folder"
    assert refusal(Path("-")).code == "format_unknown"


def test_a_standard_input_that_is_closed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As some services start their children."""
    monkeypatch.setattr(sys, "stdin", None)
    said = refusal(Path("-"), format_=Format.CSV)
    assert (said.code, "closed" in said.happened) == ("file_unreadable", True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(path: Path) -> None:
    """In words."""
    path.write_bytes(as_csv(COMPANIES))
    path.chmod(0)
    assert refusal(path, format_=Format.CSV).code == "file_unreadable"


def test_without_pyarrow_the_extra_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet needs it; the rest does not."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path.write_bytes(as_parquet(COMPANIES))
    said = refusal(path, format_=Format.PARQUET)
    assert said.code == "parquet_missing"
    assert "recoup[parquet]" in said.next_step
    assert len(rows_of(path, as_csv(COMPANIES), OF_COMPANIES, Format.CSV)) == 4


# Pipes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "head", "line"), [(Format.JSONL, b"", b'{"name": "Acme"}\n'), (Format.CSV, b"name\n", b"Acme\n")]
)
def test_a_pipe_is_read_as_it_comes_where_that_was_wanted(path: Path, kind: Format, head: bytes, line: bytes) -> None:
    """A row is there while its writer still holds the pipe open; nobody knows which share that is."""
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(path.open, "wb", 0)
        opening = opened(path, EVERYTHING, kind)
        # The reader reads the first bytes when it opens.
        pool.submit(lambda: writing.result().write(head + line * 2))
        with opening as source:
            assert next(source.rows).values == {"name": "Acme"}
            assert source.share(1) is None
            assert next(source.rows).values == {"name": "Acme"}
            writing.result().write(line)
            assert next(source.rows).values == {"name": "Acme"}
            writing.result().close()
            assert list(source.rows) == []


def test_a_parquet_file_from_a_pipe_is_read_whole(path: Path) -> None:
    """It begins at its end."""
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(path.write_bytes, as_parquet(COMPANIES))
        with opened(path, EVERYTHING, Format.PARQUET) as source:
            assert len(list(source.rows)) == 4
            assert source.share(4) == 1


# Hostile text -------------------------------------------------------------------------------------------------------

# A few copies of one row of four million characters.
BOUNDS = {id(OF_COMPANIES): MAX_MEMORY, id(EVERYTHING): 40_000_000}


@DECLARED
@pytest.mark.parametrize("kind", [Format.CSV, Format.JSONL])
@pytest.mark.parametrize("zipped", [False, True])
def test_a_line_of_200_megabytes_is_one_broken_row(path: Path, kind: Format, zipped: bool, wanted: Wanted) -> None:
    """It is passed over without being held; compressed it is a bomb of 200 kilobytes. The row behind it is read."""
    good = {Format.CSV: (b"name\n", b"Good\n"), Format.JSONL: (b'{"name": "Good"}\n', b'{"name": "Better"}\n')}[kind]
    with gzip.open(path, "wb", compresslevel=1) if zipped else path.open("wb") as file:
        file.write(good[0])
        for _ in range(200):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + good[1])
    with bounded(BOUNDS[id(wanted)]), opened(path, wanted, kind) as source:
        found = [(row.number, row.broken and row.broken[0]) for row in source.rows]
    assert found[-2:] == [(2, Unread.ROW_TOO_LONG), (3, None)]


@DECLARED
@pytest.mark.parametrize(
    ("piece", "times"),
    [
        # One row without an end.
        (b'"' * 1000, 20_000),
        (b'a","b' + b"x" * 200 + b"\n", 100_000),
        (b"\0" * 1000, 20_000),
        (b"," * 1000, 20_000),
        (b'{"a":' * 200, 20_000),
        # Many rows of which none makes sense.
        (b'"\n', 20_000),
        (b'""",\n', 20_000),
        (b'"a\n', 20_000),
        (b"\xff\n", 20_000),
        (b"\r", 20_000),
        (b"[" * 1000 + b"\n", 1_000),
    ],
)
@pytest.mark.parametrize("kind", [Format.CSV, Format.JSONL])
def test_rubbish_is_read_to_its_end_in_bounded_memory(
    path: Path, kind: Format, piece: bytes, times: int, wanted: Wanted
) -> None:
    """Millions of quotes, of quotes that never match, of nothing: broken or passed over, and the end is reached."""
    head, good = {
        Format.CSV: (b"name,domain\nGood,\n", b'"\n\nBetter,\n'),
        Format.JSONL: (b'{"name": "Good"}\n', b'\n{"name": "Better"}\n'),
    }[kind]
    path.write_bytes(head + piece * times + good)
    names: list[object] = []
    with bounded(BOUNDS[id(wanted)]), opened(path, wanted, kind) as source:
        for row in source.rows:
            assert (row.broken is None) != (row.values == {})
            names += [] if row.broken else list(row.values.values())[:1]
            assert (source.share(row.number) or 0) <= 1
    assert names[0] == "Good"
    if kind is Format.JSONL:
        assert names == ["Good", "Better"]


def test_many_different_keys_are_not_all_remembered(path: Path) -> None:
    """Every line with keys of its own: the first hundred ignored ones are reported."""
    path.write_text(
        "".join(json.dumps({"name": f"Company {n}", f"key {n} {'x' * 500}": n}) + "\n" for n in range(20_000))
    )
    with bounded(), opened(path, OF_COMPANIES, Format.JSONL) as source:
        assert sum(row.broken is None for row in source.rows) == 20_000
    assert len(source.ignored) == 100


# Parquet of every type ----------------------------------------------------------------------------------------------

AHEAD = 2**62  # of any unit, a time that Python has no value for


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (pa.array([1], pa.int64()).view(pa.timestamp("ns")), "1970-01-01 00:00:00.000000001"),
        (pa.array([AHEAD], pa.int64()).view(pa.timestamp("us")), f"<value out of range: {AHEAD}>"),
        (pa.array([0], pa.int64()).view(pa.timestamp("ms", tz="UTC")), "1970-01-01 00:00:00.000Z"),
        (pa.array([0], pa.int64()).view(pa.timestamp("ms", tz="Mars/Base")), "1970-01-01 00:00:00.000Z"),
        (pa.array([None], pa.timestamp("s", tz="UTC")), None),
        (pa.array([2**31 - 1], pa.int32()).view(pa.date32()), f"<value out of range: {2**31 - 1}>"),
        (pa.array([1], pa.int64()).view(pa.time64("ns")), "00:00:00.000000001"),
        (pa.array([1], pa.int64()).view(pa.duration("ns")), "[duration[ns] that cannot be read]"),
        (pa.array([7]), 7),
        (pa.array([None], pa.int64()), None),
        (pa.array([True]), True),
        (pa.array([b"text"], pa.binary()), "text"),
        (pa.array([b"\xff\x00"], pa.binary()), "\\xff\x00"),
        (pa.array([b"\xff"], pa.binary(1)), b"\xff"),
        (pa.array([b"\xff"], pa.binary()).dictionary_encode(), "\\xff"),
        (pa.array([UUID(int=7).bytes], pa.binary(16)).cast(pa.uuid()), UUID(int=7)),
        (pa.array([["TX", "ME"]]), ["TX", "ME"]),
        (pa.array([{"a": {"b": [1, None]}}]), {"a": {"b": [1, None]}}),
        (
            pa.StructArray.from_arrays([pa.array([AHEAD], pa.int64()).view(pa.timestamp("us"))], names=["at"]),
            "[struct<at: timestamp[us]> that cannot be read]",
        ),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), [("a", 1)]),
    ],
    ids=lambda given: str(given.type) if hasattr(given, "type") else "",
)
def test_a_value_of_any_type_is_read(path: Path, column: object, value: object) -> None:
    """A value that Python cannot represent becomes text; its row and its file are read."""
    (row,) = rows_of(path, parquet_of(pa.table({"x": column, "y": ["as ever"]})), EVERYTHING, Format.PARQUET)
    assert row.broken is None
    assert row.values == {"x": value, "y": "as ever"}
    assert json.loads(row.as_text())["y"] == "as ever"


def test_text_that_is_none_is_escaped_where_every_column_is_kept(path: Path) -> None:
    """Where a column was asked for, its row is refused."""
    text = pa.Array.from_buffers(pa.string(), 2, pa.array([b"M\xfcller", b"Good"], pa.binary()).buffers())
    content = parquet_of(pa.table({"name": text}))
    assert [row.values["name"] for row in rows_of(path, content, EVERYTHING, Format.PARQUET)] == ["M\\xfcller", "Good"]
    assert broken(rows_of(path, content, OF_COMPANIES, Format.PARQUET)) == [(1, Unread.NOT_UTF8)]


def test_a_row_of_parquet_may_be_too_long_too(path: Path) -> None:
    """Where every column is kept; wanted columns are bounded by the caller."""
    table = pa.table({"a": ["x" * 3_000_000, "y"], "b": [["z" * 2_000_000], ["y"]]})
    assert broken(rows_of(path, parquet_of(table), EVERYTHING, Format.PARQUET)) == [(1, Unread.ROW_TOO_LONG)]


def test_one_long_text_in_every_row_does_not_fill_the_memory(path: Path) -> None:
    """It is in the file once: thirty kilobytes that would be three gigabytes."""
    once = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), pa.array(["x" * 1_000_000]))
    path.write_bytes(parquet_of(pa.table({"name": once})))
    assert path.stat().st_size < 300_000
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    try:
        with bounded(300_000_000), opened(path, EVERYTHING, Format.PARQUET) as source:
            assert sum(row.chars for row in source.rows) == 3_000_000_000
    finally:
        pa.set_memory_pool(usual)
    assert 100_000_000 < pool.max_memory() < 600_000_000


@pytest.mark.parametrize("limit", ["MAX_CHUNK_BYTES", "MAX_LISTED"])
def test_a_piece_that_would_fill_the_memory_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """By its column, also where it is nested; not where the column is not wanted."""
    path.write_bytes(parquet_of(pa.table({"name": ["A"], "more.of.it": [list(range(10_000))]})))
    monkeypatch.setattr(reader, limit, 5_000)
    said = refusal(path, EVERYTHING, Format.PARQUET)
    assert said.code == "row_group_too_large"
    assert "more.of.it" in said.happened
    with opened(path, OF_COMPANIES, Format.PARQUET) as source:
        assert len(list(source.rows)) == 1
