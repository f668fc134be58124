"""Hostile names, values, files and SQL: refused or harmless, and never executed."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]
import pytest

from partitions.contracts.tables import AROUND, END, FORMATS, KEY, START, judged, written
from recoup.partitions.contracts import Contract, Limits, check, check_file, declared, validator
from recoup.partitions.contracts import reading as reading_files
from recoup.partitions.contracts.engine import Limits as EngineLimits
from recoup.partitions.contracts.engine import session
from recoup.partitions.interfaces import Validation
from recoup.refusals import InputRefused

NAMES = ['a"b', "a'b", "a;drop table data", "a b--", "select", "$p1", "ü.ñ", "{x}", "%s", "a\\", "from", "x/*", "😀"]
QUERIES = [
    "select * from read_text('/etc/passwd')",
    "select * from read_csv('/etc/passwd')",
    "select * from read_parquet('/tmp/*')",
    "select * from glob('/etc/*')",
    "select content from read_blob('/etc/passwd')",
    "copy data to '/tmp/stolen.csv'",
    "copy (select 1) to '/tmp/stolen.csv'",
    "attach '/tmp/other.db'",
    "install httpfs",
    "load httpfs",
    "set memory_limit = '100GB'",
    "reset lock_configuration",
    "pragma database_list",
    "call force_checkpoint()",
    "create table t as select 1",
    "drop view data",
    "insert into data values (1)",
    "delete from data",
    "with gone as (delete from recoup_rows returning *) select * from gone",
    "with more as (insert into recoup_rows values (1) returning *) select * from more",
    "select 1; select 2",
    "select 1;",
    "select 1) union all (select 2",
    "select * from query('drop view data')",
    "select repeat('a', 4000000000)",
    "select 'a'.repeat(4000000000)",
    "select list_sum(range(3000000000))",
    "select lpad('a', 2000000000, 'b')",
    "select $nothing",
    "select ?",
    "explain select 1",
    "",
    "not sql",
]
EXPRESSIONS = [
    "true) from data; drop view data --",
    "true), count(*) filter (where (true",
    "true, false",
    "true from data",
    "x > 0; select 1",
    "columns(*) > 0",
    "length(repeat('a', 4000000000)) > 0",
    "exists (select 1 from read_text('/etc/passwd'))",
    "$nothing",
    "",
]
# They are valid, and there is nothing that they could reach.
UNREACHABLE = ["select * from '/etc/passwd'", "select * from secret_frame", "select * from information_schema.nothing"]


@pytest.mark.parametrize("format", FORMATS)
def test_any_name_of_a_column_is_a_name(tmp_path: Path, format: str) -> None:
    contract = {
        "columns": {name: {"type": "string", "pattern": "a.*", "allowed": ["a", "a'); drop"]} for name in NAMES},
        "unique": [[name] for name in NAMES[:3]] + [NAMES],
    }
    assert judged(tmp_path, format, contract, [dict.fromkeys(NAMES, "a")]).accepted
    verdict = judged(tmp_path, format, contract, [dict.fromkeys(NAMES, "'; drop table x; --")])
    assert {one.count for one in verdict.findings} == {1}
    assert {one.rule for one in verdict.findings} == {
        f"columns.{n}.{rule}" for n in NAMES for rule in ("pattern", "allowed")
    }
    assert verdict.findings[0].sample[0][NAMES[0]] == "'; drop table x; --"


@pytest.mark.parametrize("names", [["a", "A"], ["a", "a"], [""], ["a\x00b"], ["a\nb"]])
def test_columns_that_cannot_be_told_apart_are_drift(tmp_path: Path, names: list[str]) -> None:
    pq.write_table(pa.table([pa.array([1])] * len(names), names=names), tmp_path / "a.parquet")
    contract = declared({"columns": {}, "extra_columns": True})
    assert check([tmp_path / "a.parquet"], "parquet", contract, AROUND).reason == "SCHEMA_DRIFT"
    if len(set(names)) == len(names):
        (tmp_path / "a.jsonl").write_text(json.dumps(dict.fromkeys(names, 1)), encoding="utf-8")
        assert check([tmp_path / "a.jsonl"], "jsonl", contract, AROUND).reason == "SCHEMA_DRIFT"


def test_too_many_columns_are_drift(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({f"k{n}": 1 for n in range(2001)}), encoding="utf-8")
    verdict = check_file(tmp_path / "a.jsonl", declared({"extra_columns": True}))
    assert (verdict.reason, verdict.rule) == ("SCHEMA_DRIFT", "columns")


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("parquet", b""),
        ("parquet", b"PAR1 and more PAR1"),
        ("jsonl", b'{"x": 1}\n{"x": '),
        ("jsonl", b"[1]\n"),
        ("jsonl", b'{"x": 1} {"x": 2}\n'),
        ("jsonl", b'{"x": "\xff"}\n'),
        ("jsonl", b"PAR1"),
    ],
)
def test_files_that_are_not_of_their_format_are_unreadable(tmp_path: Path, format: str, content: bytes) -> None:
    path = tmp_path / f"a.{format}"
    path.write_bytes(content)
    verdict = check_file(path, declared({"columns": {"x": {"type": "integer"}}}))
    assert (verdict.accepted, verdict.reason, verdict.rule) == (False, "UNREADABLE", "readable")


def test_a_damaged_page_is_unreadable_also_where_each_query_reads_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "parquet", [{"x": str(n)} for n in range(5000)], {"x": "string"})
    contract = declared({"columns": {"x": {"type": "string", "max_length": 4}}, "unique": [["x"]]})
    monkeypatch.setattr(reading_files, "MAX_LOADED", 0)
    assert check_file(path, contract).accepted
    content = bytearray(path.read_bytes())
    content[100:3000] = b"\xff" * 2900
    path.write_bytes(content)
    assert check_file(path, contract).reason == "UNREADABLE"
    monkeypatch.undo()
    assert check_file(path, contract).reason == "UNREADABLE"


def test_an_error_of_the_disk_is_no_verdict(tmp_path: Path) -> None:
    contract = declared({"columns": {"x": {"type": "integer"}}})
    for format in FORMATS:
        with pytest.raises(OSError, match="No such file"):
            check([tmp_path / "gone"], format, contract, AROUND)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_one_select_over_the_data(query: str) -> None:
    with pytest.raises(InputRefused) as refused:
        declared({"extra_columns": True, "checks": {"a": {"no_rows": query}}})
    assert refused.value.code == "contract_invalid"
    assert "checks.a.no_rows" in refused.value.happened


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_is_one_expression(expression: str) -> None:
    with pytest.raises(InputRefused) as refused:
        declared({"extra_columns": True, "checks": {"a": {"every_row": expression}}})
    assert "checks.a.every_row" in refused.value.happened


@pytest.mark.parametrize(
    "check_", [{"no_rows": q} for q in QUERIES if q] + [{"every_row": e} for e in EXPRESSIONS if e]
)
def test_a_stored_check_that_was_never_refused_is_not_executed_either(tmp_path: Path, check_: dict[str, str]) -> None:
    contract = Contract.model_validate({"extra_columns": True, "checks": {"a": check_}})
    path = written(tmp_path, "jsonl", [{"x": 1}], {})
    with pytest.raises(InputRefused) as refused:
        check_file(path, contract)
    assert refused.value.code == "contract_check_failed"
    assert refused.value.facts["check"] == "a"
    assert not Path("/tmp/stolen.csv").exists()


@pytest.mark.parametrize("query", UNREACHABLE)
def test_nothing_but_the_data_can_be_reached(tmp_path: Path, query: str) -> None:
    secret_frame = pa.table({"password": ["x"]})
    contract = declared({"extra_columns": True, "checks": {"a": {"no_rows": query}}})
    with pytest.raises(InputRefused) as refused:
        check_file(written(tmp_path, "jsonl", [{"x": 1}], {}), contract)
    assert refused.value.code == "contract_check_failed"
    assert secret_frame.num_rows == 1


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_text('/etc/passwd')", "copy (select 1) to '/tmp/stolen.csv'", "attach '/tmp/other.db'",
        "install httpfs", "load httpfs", "set threads = 8", "set enable_external_access = true",
        "set lock_configuration = false",
    ],
)  # fmt: skip
def test_the_engine_itself_is_closed(sql: str) -> None:
    """Should a text pass the parser: there are no files, no extensions, and no settings."""
    import duckdb

    with session(EngineLimits()) as opened, pytest.raises(duckdb.Error, match=r"disabled|Cannot change"):
        opened.rows(sql)


def test_sessions_do_not_see_each_other() -> None:
    import duckdb

    with session(EngineLimits()) as one, session(EngineLimits()) as other:
        one.register("recoup_rows", pa.table({"x": [1]}))
        one.rows("create temp table kept as select 1")
        for table in ("recoup_rows", "kept"):
            with pytest.raises(duckdb.Error, match="does not exist"):
                other.rows(f"select * from {table}")


def test_checks_of_several_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    contract = declared(
        {
            "columns": {"x": {"type": "integer", "min": 1}},
            "checks": {"a": {"no_rows": "select x from data where x = 0"}},
        }
    )
    files = []
    for n in range(4):
        (tmp_path / str(n)).mkdir()
        files.append(written(tmp_path / str(n), "jsonl", [{"x": 0}] * n + [{"x": 1}], {}))
    with ThreadPoolExecutor(4) as pool:
        verdicts = list(pool.map(lambda at: check_file(files[at % 4], contract), range(40)))
    for at, verdict in enumerate(verdicts):
        assert [one.count for one in verdict.findings] == [at % 4] * (2 if at % 4 else 0)


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) as n from range(1000000000000) t(i) where i % 7 = 3",
        "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) as c from r",
        "select count(*) as c from range(10000000) a, range(10000000) b where a.range + b.range = 3 * a.range",
    ],
)
def test_a_check_that_does_not_end_is_ended(tmp_path: Path, query: str) -> None:
    contract = declared({"extra_columns": True, "checks": {"a": {"no_rows": query}}})
    with pytest.raises(InputRefused) as refused:
        check_file(written(tmp_path, "jsonl", [{"x": 1}], {}), contract, limits=Limits(timeout_s=0.2))
    assert refused.value.code == "contract_too_slow"
    assert not [one for one in threading.enumerate() if one.name == "recoup-check-deadline"]


def test_a_check_that_needs_too_much_memory_is_refused(tmp_path: Path) -> None:
    query = "select count(*) as n from (select distinct i::varchar || 'a long enough text' from range(3000000) t(i))"
    contract = declared({"extra_columns": True, "checks": {"a": {"no_rows": query}}})
    with pytest.raises(InputRefused) as refused:
        check_file(written(tmp_path, "jsonl", [{"x": 1}], {}), contract, limits=Limits(memory_mb=30, spill_mb=1))
    assert refused.value.code == "contract_too_large"


def test_a_check_that_fails_is_the_contracts_fault_unless_the_data_is_rejected_anyhow(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "columns": {"x": {"type": "string", "max_length": 3}},
        "checks": {"number": {"every_row": "cast(x as integer) > 0"}, "short": {"every_row": "length(x) < 5"}},
    }
    contract = declared(values)
    with pytest.raises(InputRefused, match="The check number of the contract cannot be executed: Conversion Error"):
        check_file(written(tmp_path, "jsonl", [{"x": "abc"}], {}), contract)
    verdict = check_file(written(tmp_path, "jsonl", [{"x": "abcdef"}], {}), contract)
    assert [(one.rule, one.count) for one in verdict.findings] == [("columns.x.max_length", 1), ("checks.short", 1)]
    assert "Not checked: checks.number (Conversion Error" in str(verdict.message)


def test_a_validator_reads_files_under_any_path(tmp_path: Path) -> None:
    folder = tmp_path / "source=sh[o]p" / "customer_id=*%2F'"
    folder.mkdir(parents=True)
    contract = {"columns": {"x": {"type": "integer", "max": 1}}}
    for format in FORMATS:
        file = written(folder, format, [{"x": 1}, {"x": 2}], {"x": "integer"})
        given = Validation(
            partition=KEY, run_id=uuid4(), window_start=START, window_end=END, folder=folder, files=(Path(file.name),),
            format=format, rows=2, extracted_at=datetime.now(UTC), now=datetime.now(UTC),
        )  # fmt: skip
        verdict = validator(declared(contract))(given)
        assert [(one.rule, one.count) for one in verdict.findings] == [("columns.x.max", 1)]
        assert check_file(file, declared(contract)) == verdict


def test_a_file_by_hand(tmp_path: Path) -> None:
    contract = declared({"columns": {"x": {"type": "integer"}}})
    path = written(tmp_path, "jsonl", [{"x": 1}], {})
    os.rename(path, tmp_path / "data.txt")
    for path, code in ((tmp_path / "data.txt", "contract_format_unknown"), (tmp_path / "no.jsonl", "file_not_found")):
        with pytest.raises(InputRefused) as refused:
            check_file(path, contract)
        assert refused.value.code == code
    assert check_file(tmp_path / "data.txt", contract, format="jsonl").accepted
