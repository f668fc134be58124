"""The extractor over files: which files belong to a partition, and what becomes of them."""

from __future__ import annotations

import gzip
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]
import pytest

from partitions.extractors.kept import START, Kept, extraction
from recoup.partitions.extractors.files import extract
from recoup.refusals import InputRefused


def placed(folder: Path, name: str, content: str | bytes = "x\n1\n") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def taken(folder: Path, pattern: str, *, customer: str = "c-1", **options: Any) -> Kept:
    kept = Kept()
    extract(extraction({"folder": str(folder), "pattern": pattern, **options}, customer=customer), kept)
    return kept


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("{source}/{customer_id}/{query_name}.{date}.jsonl", "shop/c-1/orders.2026-03-01.jsonl"),
        ("{date:%Y/%m/%d}/*.jsonl", "2026/03/01/any.jsonl"),
        ("{window_start:%Y%m%dT%H}-{window_end:%d}.jsonl", "20260301T00-02.jsonl"),
        ("**/{customer_id}.jsonl", "a/b/c-1.jsonl"),
        ("{{x}}-{customer_id}.jsonl", "{x}-c-1.jsonl"),
        ("day_[0-9].jsonl", "day_7.jsonl"),
    ],
)
def test_files_are_found_by_the_values_of_the_partition(tmp_path: Path, pattern: str, name: str) -> None:
    path = placed(tmp_path, name)
    placed(tmp_path, "other/file.jsonl")
    placed(tmp_path, "shop/c-2/orders.2026-03-01.jsonl")
    assert taken(tmp_path, pattern).files == [path]


def test_files_are_taken_in_the_order_of_their_names(tmp_path: Path) -> None:
    names = ["c-1/b.parquet", "c-1/a.parquet", "c-1/c.parquet"]
    for name in names:
        placed(tmp_path, name)
    (tmp_path / "c-1/folder.parquet").mkdir()
    assert taken(tmp_path, "{customer_id}/*").files == [tmp_path / name for name in sorted(names)]


@pytest.mark.parametrize("customer", ["*", "c?1", "[c]-1", "**", "{source}", "%s", "a b", "ü"])
def test_a_customer_is_never_a_wildcard(tmp_path: Path, customer: str) -> None:
    placed(tmp_path, "c-1.jsonl")
    with pytest.raises(InputRefused) as refused:
        taken(tmp_path, "{customer_id}.jsonl", customer=customer)
    assert refused.value.code == "files_not_found"
    path = placed(tmp_path, f"{customer}.jsonl")
    assert taken(tmp_path, "{customer_id}.jsonl", customer=customer).files == [path]


@pytest.mark.parametrize("customer", ["..", ".", "../c-1", "/etc", "a/../..", "a\\b", "a\0b", ""])
def test_a_customer_never_leads_to_another_folder(tmp_path: Path, customer: str) -> None:
    placed(tmp_path, "secret.jsonl")
    (tmp_path / "base").mkdir()
    with pytest.raises(InputRefused) as refused:
        taken(tmp_path / "base", "{customer_id}/secret.jsonl", customer=customer)
    assert refused.value.code == "not_a_file_name"


def test_two_names_do_not_add_up_to_a_way_out(tmp_path: Path) -> None:
    placed(tmp_path, "secret.jsonl")
    (tmp_path / "base").mkdir()
    with pytest.raises(InputRefused) as refused:
        taken(tmp_path / "base", ".{customer_id}/secret.jsonl", customer=".")
    assert refused.value.code == "not_a_file_name"


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    target = placed(tmp_path, "secret.jsonl")
    (tmp_path / "base").mkdir()
    (tmp_path / "base/c-1.jsonl").symlink_to(target)
    with pytest.raises(InputRefused) as refused:
        taken(tmp_path / "base", "{customer_id}.jsonl")
    assert refused.value.code == "file_outside_folder"


def test_no_file_and_no_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match=r"No file in .* matches c-1\.csv") as refused:
        taken(tmp_path, "{customer_id}.csv")
    assert refused.value.code == "files_not_found"
    with pytest.raises(InputRefused) as refused:
        taken(tmp_path / "gone", "{customer_id}.csv")
    assert refused.value.code == "folder_not_found"


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"pattern": "a"}, "folder"),
        ({"folder": "relative", "pattern": "a"}, "folder"),
        ({"folder": "/data", "pattern": "/etc/passwd"}, "pattern"),
        ({"folder": "/data", "pattern": "../{customer_id}"}, "pattern"),
        ({"folder": "/data", "pattern": "{customer}"}, "pattern"),
        ({"folder": "/data", "pattern": "{customer_id.__class__}"}, "pattern"),
        ({"folder": "/data", "pattern": "{customer_id!r}"}, "pattern"),
        ({"folder": "/data", "pattern": "{customer_id:>9}"}, "pattern"),
        ({"folder": "/data", "pattern": "{date"}, "pattern"),
        ({"folder": "/data", "pattern": "a", "format": "xml"}, "format"),
        ({"folder": "/data", "pattern": "a", "types": {"x": "int"}}, "types.x"),
        ({"folder": "/data", "pattern": "a", "types": {"x": "binary"}}, "types.x"),
        ({"folder": "/data", "pattern": "a", "delimiter": ";;"}, "delimiter"),
        ({"folder": "/data", "pattern": "a", "recursive": True}, "recursive"),
    ],
)
def test_options_are_refused_by_name(options: dict[str, Any], key: str) -> None:
    with pytest.raises(InputRefused) as refused:
        extract(extraction(options), Kept())
    assert refused.value.code == "extractor_options_invalid"
    assert f" {key}: " in refused.value.happened
    assert "recursive" not in options or "recursive: True (there is no such key)" in refused.value.happened
    assert "Its options: folder, pattern," in refused.value.next_step


def test_a_fallback_replaces_options(tmp_path: Path) -> None:
    path = placed(tmp_path, "late/c-1.jsonl")
    kept = Kept()
    options = {"folder": str(tmp_path), "pattern": "{customer_id}.jsonl"}
    extract(extraction(options, alternative={"pattern": "late/{customer_id}.jsonl"}), kept)
    assert kept.files == [path]


CSV = """id,name,price,paid,day,at,local,clock
1,"Müller, A",1.50,true,2026-03-01,2026-03-01T00:00:00Z,2026-03-01 00:00:00,09:30:00
007,"",,false,,,,
"""
KINDS = {
    "id": "integer", "price": "decimal", "paid": "boolean", "day": "date", "at": "timestamp",
    "local": "local_timestamp", "clock": "time",
}  # fmt: skip


@pytest.mark.parametrize("zipped", [False, True])
def test_csv_becomes_typed_columns(tmp_path: Path, zipped: bool) -> None:
    placed(tmp_path, "a.csv.gz" if zipped else "a.csv", gzip.compress(CSV.encode()) if zipped else CSV)
    first, second = taken(tmp_path, "a.csv*", types=KINDS).read.to_pylist()
    assert first == {
        "id": 1, "name": "Müller, A", "price": Decimal("1.5"), "paid": True, "day": date(2026, 3, 1), "at": START,
        "local": datetime(2026, 3, 1), "clock": time(9, 30),
    }  # fmt: skip
    assert second == {**dict.fromkeys(first), "id": 7, "name": "", "paid": False}


def test_csv_without_types_is_text(tmp_path: Path) -> None:
    placed(tmp_path, "a.tsv", "id\tname\n007\t\n")
    read = taken(tmp_path, "a.tsv").read
    assert read.to_pylist() == [{"id": "007", "name": None}]
    placed(tmp_path, "b.csv", "id;name\n")
    read = taken(tmp_path, "b.csv", delimiter=";").read
    assert (read.column_names, read.num_rows) == (["id", "name"], 0)


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.csv", "", {}),
        ("a.csv", "x\n1\n2,3\n", {}),
        ("a.csv", "x,x\n1,2\n", {}),
        ("a.csv", "x\none\n", {"types": {"x": "integer"}}),
        ("a.csv", "x\n2026-03-01T00:00:00\n", {"types": {"x": "timestamp"}}),
        ("a.csv", "x\n1\n", {"types": {"y": "integer"}}),
        ("a.csv", b"x\n\xff\n", {}),
        ("a.json", "[1]", {"format": "jsonl"}),
        ("a.json", '{"a": ', {"format": "jsonl"}),
        ("a.json", b'{"a": "\xff"}', {"format": "jsonl"}),
        ("a.data", "x", {"format": "parquet"}),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: str | bytes, options: Any) -> None:
    path = placed(tmp_path, name, content)
    with pytest.raises(InputRefused) as refused:
        taken(tmp_path, "a.*", **options)
    assert refused.value.code == "file_not_converted"
    assert str(path) in refused.value.happened


def test_other_names_are_read_by_their_format(tmp_path: Path) -> None:
    placed(tmp_path, "a.json.gz", gzip.compress(b'{"x": 1}\n\n{"x": "\xc3\xa4"}\n'))
    assert taken(tmp_path, "a.json.gz", format="jsonl").lines == [{"x": 1}, {"x": "ä"}]
    placed(tmp_path, "b.ndjson", '{"x": 2}\n')
    assert taken(tmp_path, "b.*").lines == [{"x": 2}]
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "c.pq")
    assert taken(tmp_path, "c.*").read.to_pylist() == [{"x": 1}, {"x": 2}]
    placed(tmp_path, "d.dat")
    with pytest.raises(InputRefused) as refused:
        taken(tmp_path, "d.*")
    assert refused.value.code == "file_format_unknown"


def test_files_of_two_formats_are_not_one_run(tmp_path: Path) -> None:
    placed(tmp_path, "a.csv")
    placed(tmp_path, "a.jsonl")
    with pytest.raises(InputRefused) as refused:
        taken(tmp_path, "a.*")
    assert refused.value.code == "files_mixed"
