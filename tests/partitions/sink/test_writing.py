"""What extractors write: in one format, counted, in as many files as needed, and never half of it."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pytest
from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]

from partitions.sink.given import PARTITION, ROWS, asides, publish
from recoup.partitions.interfaces import Writer
from recoup.partitions.sink import Published, RunWriter, Sink, SinkRefused, parts, writing
from recoup.refusals import InputRefused, Refusal

TABLE = pa.table({"day": [1, 2, 3], "name": ["a", "b", None]})


def published(sink: Sink, *calls: tuple[str, Any]) -> Published:
    with sink.writing(PARTITION, uuid4()) as writer:
        for verb, data in calls:
            getattr(writer, verb)(data)
    return sink.publish(writer)


def as_writer(writer: RunWriter) -> Writer:
    return writer  # checked by its type


def test_rows_become_lines(sink: Sink) -> None:
    one = published(sink, ("rows", ROWS), ("rows", iter([{"day": 3, "spend": 1}])))
    assert (one.manifest.format, one.manifest.rows, len(one.manifest.files)) == ("jsonl", 3, 1)
    [file] = sink.files(one)
    assert [json.loads(line) for line in file.read_text().splitlines()] == [*ROWS, {"day": 3, "spend": 1}]


def test_arrow_data_becomes_parquet(sink: Sink) -> None:
    batches = TABLE.to_batches()
    one = published(sink, ("table", TABLE), ("table", batches[0]), ("table", iter(batches * 2)))
    assert (one.manifest.format, one.manifest.rows, len(one.manifest.files)) == ("parquet", 12, 1)
    [file] = sink.files(one)
    assert parquet.ParquetFile(file).read().equals(pa.concat_tables([TABLE] * 4).combine_chunks())


def test_a_record_batch_reader_is_read_to_its_end(sink: Sink) -> None:
    one = published(sink, ("table", pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches() * 3)))
    assert one.manifest.rows == 9


def test_digests_are_those_of_the_files(sink: Sink) -> None:
    for one in (published(sink, ("rows", ROWS)), published(sink, ("table", TABLE))):
        for file, path in zip(one.manifest.files, sink.files(one), strict=True):
            content = path.read_bytes()
            assert (file.bytes, file.sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_another_schema_begins_another_file(sink: Sink) -> None:
    other = pa.table({"day": [1], "clicks": [2]})
    one = published(sink, ("table", TABLE), ("table", other), ("table", other))
    assert [file.rows for file in one.manifest.files] == [3, 2]


def test_a_large_file_is_followed_by_another(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MAX_PART_BYTES", 50_000)
    monkeypatch.setattr(parts, "GROUP_ROWS", 5_000)
    monkeypatch.setattr(parts, "_BUFFER_BYTES", 20_000)
    numbers = pa.table({"number": range(50_000)})
    tables = published(sink, ("table", iter(numbers.to_batches(max_chunksize=1_000))))
    lines = published(sink, ("rows", ({"number": number} for number in range(10_000))))
    assert (tables.manifest.rows, lines.manifest.rows) == (50_000, 10_000)
    assert min(len(tables.manifest.files), len(lines.manifest.files)) > 2
    read = pa.concat_tables(parquet.ParquetFile(file).read() for file in sink.files(tables))
    assert read.column("number").to_pylist() == list(range(50_000))
    text = "".join(file.read_text() for file in sink.files(lines))
    assert [json.loads(line)["number"] for line in text.splitlines()] == list(range(10_000))


def test_files_are_copied_as_they_are(sink: Sink, tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    (tmp_path / "b.PARQUET").symlink_to(tmp_path / "a.parquet")
    one = published(sink, ("file", tmp_path / "a.parquet"), ("file", tmp_path / "b.PARQUET"), ("table", TABLE))
    assert [file.rows for file in one.manifest.files] == [3, 3, 3]
    assert sink.files(one)[0].read_bytes() == (tmp_path / "a.parquet").read_bytes()


@pytest.mark.parametrize(
    ("content", "rows"), [(b"", 0), (b"\n \r\n\n", 0), (b"{}\n{}", 2), (b"{}\n\n{}\n", 2), (b"not JSON at all", 1)]
)
def test_rows_of_a_copied_file_are_counted(
    sink: Sink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, rows: int
) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    assert published(sink, ("file", tmp_path / "a.jsonl")).manifest.rows == rows
    monkeypatch.setattr(parts, "_BUFFER_BYTES", 1)
    assert published(sink, ("file", tmp_path / "a.jsonl")).manifest.rows == rows


def test_a_day_without_data_is_a_run(sink: Sink) -> None:
    lines, columns = published(sink, ("rows", [])), published(sink, ("table", TABLE.slice(0, 0)))
    assert (lines.manifest.rows, len(lines.manifest.files)) == (0, 1)
    assert parquet.ParquetFile(sink.files(columns)[0]).schema_arrow == TABLE.schema


@pytest.mark.parametrize("calls", [(), (("table", iter([])),)])
def test_an_extractor_that_wrote_nothing_has_no_run(sink: Sink, calls: tuple[tuple[str, Any], ...]) -> None:
    with pytest.raises(SinkRefused) as refused:
        published(sink, *calls)
    assert refused.value.code == "nothing_written"


def test_values_that_json_does_not_have_are_written_as_text(sink: Sink) -> None:
    row = {
        "date": date(2026, 3, 1),
        "time": datetime(2026, 3, 1, tzinfo=UTC),
        "id": UUID(int=1),
        "money": Decimal("1.10"),
        "more": MappingProxyType({"ü": ["漢"]}),
    }
    [file] = sink.files(published(sink, ("rows", [MappingProxyType(row)])))
    assert json.loads(file.read_text("utf-8")) == {
        "date": "2026-03-01",
        "time": "2026-03-01T00:00:00+00:00",
        "id": str(UUID(int=1)),
        "money": "1.10",
        "more": {"ü": ["漢"]},
    }


DEEP: list[Any] = []
DEEP.append(DEEP)


@pytest.mark.parametrize(
    "row", [{"a": float("nan")}, {"a": b"x"}, {"a": object()}, {1: 2}, {"a": "\ud800"}, {"a": DEEP}, 7, "text"]
)
def test_a_row_that_is_not_json_is_refused(sink: Sink, row: Any) -> None:
    with pytest.raises(InputRefused) as refused:
        published(sink, ("rows", [ROWS[0], row]))
    assert refused.value.code == "row_not_json"


@pytest.mark.parametrize("data", [[{"a": 1}], "text", [TABLE]])
def test_what_is_not_arrow_data_is_refused(sink: Sink, data: Any) -> None:
    with pytest.raises(InputRefused) as refused:
        published(sink, ("table", data))
    assert refused.value.code == "not_arrow"


def test_a_run_has_one_format(sink: Sink, tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    for first, second in ((("rows", ROWS), ("table", TABLE)), (("rows", ROWS), ("file", tmp_path / "a.parquet"))):
        with pytest.raises(InputRefused) as refused:
            published(sink, first, second)
        assert refused.value.code == "sink_format"


def test_files_that_cannot_be_copied_are_refused(sink: Sink, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    refusals = {
        "a.csv": "sink_format",
        "cut.parquet": "file_not_parquet",
        "folder.jsonl": "file_unreadable",
        "pipe.jsonl": "file_unreadable",
        "missing.jsonl": "file_unreadable",
    }
    for name, code in refusals.items():
        with pytest.raises(InputRefused) as refused:
            published(sink, ("file", tmp_path / name))
        assert refused.value.code == code


def _ends_early() -> Iterator[dict[str, int]]:
    yield {"a": 1}
    raise ConnectionError("the source went away")


def _batches_end_early() -> Iterator[Any]:
    yield from TABLE.to_batches()
    raise ConnectionError("the source went away")


@pytest.mark.parametrize(("verb", "data"), [("rows", _ends_early), ("table", _batches_end_early)])
def test_a_call_that_failed_spoils_the_run(sink: Sink, verb: str, data: Any) -> None:
    """An extractor that catches the error and repeats the call would have the first rows twice."""
    with sink.writing(PARTITION, uuid4()) as writer:
        with pytest.raises(ConnectionError):
            getattr(writer, verb)(data())
        with pytest.raises(SinkRefused) as refused:
            getattr(writer, verb)([])
        assert refused.value.code == "writer_closed"
    with pytest.raises(SinkRefused) as refused:
        sink.publish(writer)
    assert refused.value.code == "writing_failed"
    assert sink.runs(PARTITION) == []


def test_an_extractor_that_fails_leaves_its_folder_aside(sink: Sink) -> None:
    run_id = uuid4()
    with pytest.raises(ConnectionError), sink.writing(PARTITION, run_id) as writer:
        writer.rows(ROWS)
        raise ConnectionError
    assert [folder.name[:36] for folder in asides(sink)] == [str(run_id)]
    with pytest.raises(SinkRefused):
        sink.publish(writer)


def test_nothing_is_added_after_the_end(sink: Sink) -> None:
    with sink.writing(PARTITION, uuid4()) as writer:
        as_writer(writer).rows(ROWS)
    with pytest.raises(SinkRefused) as refused:
        writer.rows(ROWS)
    assert refused.value.code == "writer_closed"
    assert sink.publish(writer).manifest.rows == 2


def test_a_key_that_has_no_path_is_refused_before_anything_is_written(sink: Sink) -> None:
    with pytest.raises(InputRefused), sink.writing(PARTITION._replace(source=".."), uuid4()):
        pytest.fail("nothing is written")
    assert not (sink.root / ".aside").exists()


def test_no_descriptor_is_left_open(sink: Sink) -> None:
    def open_ones() -> int:
        return len(os.listdir("/proc/self/fd"))

    publish(sink)
    before = open_ones()
    for call in (("rows", ROWS), ("table", TABLE), ("rows", [b"x"]), ("table", _batches_end_early())):
        try:
            one = published(sink, call)
            sink.check(PARTITION, one.manifest.run_id, one.digest)
        except (Refusal, ConnectionError):
            pass
    assert open_ones() == before


def test_sinks_and_what_they_publish_can_be_sent_to_other_processes(sink: Sink) -> None:
    one = publish(sink)
    assert pickle.loads(pickle.dumps((sink, one))) == (sink, one)
