"""The extractor over a query of PostgreSQL: types, parameters, batches, limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]
import pytest

from partitions.extractors.kept import START, Kept, extraction
from recoup.database import embedded
from recoup.database.connection import Transaction
from recoup.partitions.contracts import check_file, declared
from recoup.partitions.extractors.query import extract
from recoup.refusals import InputRefused

VARIABLE = "SHOP_DSN"


@pytest.fixture(autouse=True)
def dsn(server: embedded.Server, database_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, server.uri(database_name, admin=True))


def taken(sql: str, *, customer: str = "c-1", **options: Any) -> Kept:
    kept = Kept()
    extract(extraction({"dsn_env": VARIABLE, "sql": sql, **options}, customer=customer), kept)
    return kept


TYPES: Mapping[str, tuple[str, Any, Any]] = {
    "true": ("bool", pa.bool_(), True),
    "1::int2": ("int2", pa.int16(), 1),
    "1::int4": ("int4", pa.int32(), 1),
    "9223372036854775807": ("int8", pa.int64(), 2**63 - 1),
    "1.5::float4": ("float4", pa.float32(), 1.5),
    "'NaN'::float8 = 'NaN'": ("nan", pa.bool_(), True),
    "2.25::float8": ("float8", pa.float64(), 2.25),
    "1.10::numeric(10, 2)": ("numeric", pa.decimal128(10, 2), Decimal("1.10")),
    "1.123456789::numeric": ("free numeric", pa.decimal128(38, 9), Decimal("1.123456789")),
    "'ä'::text": ("text", pa.string(), "ä"),
    "'a'::varchar(3)": ("varchar", pa.string(), "a"),
    "date '2026-03-01'": ("date", pa.date32(), date(2026, 3, 1)),
    "time '09:30'": ("time", pa.time64("us"), time(9, 30)),
    "timestamp '2026-03-01 09:30'": ("timestamp", pa.timestamp("us"), datetime(2026, 3, 1, 9, 30)),
    "timestamptz '2026-03-01 09:30+02'": (
        "timestamptz", pa.timestamp("us", "UTC"), datetime(2026, 3, 1, 7, 30, tzinfo=UTC),
    ),
    "'00000000-0000-0000-0000-000000000005'::uuid": ("uuid", pa.string(), "00000000-0000-0000-0000-000000000005"),
    """'{"b": [1.50, null]}'::jsonb""": ("jsonb", pa.string(), '{"b": [1.50, null]}'),
    """'{"b":1}'::json""": ("json", pa.string(), '{"b":1}'),
    r"'\x00ff'::bytea": ("bytea", pa.binary(), b"\x00\xff"),
    "array[1, null, 3]": ("int[]", pa.string(), "[1, null, 3]"),
    "array[['a', 'b'], ['c', 'ä']]": ("text[][]", pa.string(), '[["a", "b"], ["c", "ä"]]'),
    "array[1.10, 2]::numeric[]": ("numeric[]", pa.string(), '["1.10", "2"]'),
    "array['NaN', 1]::float8[]": ("float8[]", pa.string(), '["nan", 1.0]'),
    "array[timestamptz '2026-03-01 00:00Z']": ("timestamptz[]", pa.string(), '["2026-03-01T00:00:00+00:00"]'),
    "array['00000000-0000-0000-0000-000000000005'::uuid]": (
        "uuid[]", pa.string(), '["00000000-0000-0000-0000-000000000005"]',
    ),
    "array['\\x00ff'::bytea]": ("bytea[]", pa.string(), '["AP8="]'),
    "interval '1 day 2 hours'": ("interval", pa.string(), "1 day 02:00:00"),
    "inet '10.0.0.1'": ("inet", pa.string(), "10.0.0.1"),
    "int4range(1, 5)": ("range", pa.string(), "[1,5)"),
    "point(1, 2)": ("point", pa.string(), "(1,2)"),
    "null": ("null", pa.string(), None),
}  # fmt: skip


def test_every_type_has_its_place_in_arrow() -> None:
    names = [name for name, _, _ in TYPES.values()]
    columns = ", ".join(f'{sql} as "{name}"' for sql, name in zip(TYPES, names, strict=True))
    read = taken(
        f"select q.* from (select {columns}) as q right join generate_series(1, 2) as n on n = 1 order by n"
    ).read
    assert {name: read.schema.field(name).type for name in names} == {name: type_ for name, type_, _ in TYPES.values()}
    first, second = read.to_pylist()
    assert first == {name: value for name, _, value in TYPES.values()}
    assert second == dict.fromkeys(names)


def test_parameters_are_values_and_never_sql() -> None:
    sql = """
        select %(source)s::text as source, %(customer_id)s::text as customer, %(query_name)s::text as query,
               %(logical_date)s::date as day, %(window_start)s::timestamptz as s,
               %(window_end)s - %(window_start)s = interval '1 day' as whole, 'a' like '%%' as percent;
    """
    hostile = "'; drop table x; --"
    (row,) = taken(sql, customer=hostile).read.to_pylist()
    assert row == {
        "source": "shop", "customer": hostile, "query": "orders", "day": date(2026, 3, 1), "s": START, "whole": True,
        "percent": True,
    }  # fmt: skip


def test_a_result_comes_in_batches_and_keeps_its_columns_without_rows() -> None:
    kept = taken("select n, n::text as t from generate_series(1, 25) as n order by n", batch_rows=10)
    assert [batch.num_rows for batch in kept.batches] == [0, 10, 10, 5]
    assert kept.read["n"].to_pylist() == list(range(1, 26))
    empty = taken("select 1 as n, 'a'::text as t where false").read
    assert (empty.num_rows, empty.schema.names) == (0, ["n", "t"])


def test_what_is_written_fulfils_a_contract(tmp_path: Path) -> None:
    """The words of a contract are those for the types that the extractor writes."""
    sql = """select 1 as i, 1.5::float8 as n, 1.50::numeric(9, 2) as d, true as b, 'x'::text as s,
                    date '2026-03-01' as day, time '09:30' as clock, %(window_start)s::timestamptz as t,
                    timestamp '2026-03-01 00:00' as l, gen_random_uuid() as u, '{"a": 1}'::jsonb as j,
                    array[1, 2] as a, '\\x00'::bytea as bin"""
    pq.write_table(taken(sql).read, tmp_path / "a.parquet")
    words = {
        "i": "integer", "n": "number", "d": "decimal", "b": "boolean", "s": "string", "day": "date", "clock": "time",
        "t": "timestamp", "l": "local_timestamp", "u": "uuid", "j": "json", "a": "json", "bin": "binary",
    }  # fmt: skip
    contract = declared({"columns": {name: {"type": word} for name, word in words.items()}})
    assert check_file(tmp_path / "a.parquet", contract).accepted


@pytest.mark.parametrize(
    ("sql", "code", "said"),
    [
        ("select 1 as a, 2 as a", "query_not_extracted", "two columns have the name a"),
        ("select 'NaN'::numeric as n", "query_not_extracted", "column n does not fit"),
        ("select 1.1234567891::numeric as n", "query_not_extracted", "column n does not fit"),
        ("select 1::numeric(50, 2) as n", "query_not_extracted", "numeric(50, 2)"),
        ("select timestamptz 'infinity' as t", "query_failed", "too large"),
        ("select * from no_such_table", "query_failed", "no_such_table"),
        ("select", "query_not_extracted", "no columns"),
        ("create table t (a int)", "query_failed", "syntax error"),
        ("select 1; drop table x", "query_failed", "multiple commands"),
        ("with x as (delete from pg_class returning 1) select * from x", "query_failed", "data-modifying"),
        ("select nextval('extracted')", "query_failed", "read-only transaction"),
        ("select set_config('transaction_read_only', 'off', true), nextval('extracted')", "query_failed", "read-write"),
        ("select %(nothing)s", "query_failed", "nothing"),
        ("select pg_sleep(60)", "query_failed", "statement timeout"),
    ],
)
def test_a_query_that_cannot_be_extracted_says_why(admin: Transaction, sql: str, code: str, said: str) -> None:
    admin.execute("create sequence if not exists extracted")
    with pytest.raises(InputRefused) as refused:
        taken(sql, timeout_s=1)
    assert refused.value.code == code
    assert said in refused.value.happened


def test_the_whole_query_has_a_limit_of_time() -> None:
    """Each batch alone is within it."""
    with pytest.raises(InputRefused) as refused:
        taken("select n, pg_sleep(0.03) is null as s from generate_series(1, 1000) n", batch_rows=1, timeout_s=1)
    assert refused.value.code == "query_too_slow"


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"sql": "select 1"}, "dsn_env"),
        ({"dsn_env": "postgresql://user:secret@host/db", "sql": "select 1"}, "dsn_env"),
        ({"dsn_env": VARIABLE}, "sql"),
        ({"dsn_env": VARIABLE, "sql": " ; "}, "sql"),
        ({"dsn_env": VARIABLE, "sql": "select 1", "batch_rows": 0}, "batch_rows"),
        ({"dsn_env": VARIABLE, "sql": "select 1", "dsn": "x"}, "dsn"),
    ],
)
def test_options_are_refused_by_name(options: dict[str, Any], key: str) -> None:
    with pytest.raises(InputRefused) as refused:
        extract(extraction(options), Kept())
    assert refused.value.code == "extractor_options_invalid"
    assert f" {key}: " in refused.value.happened
    assert "secret" not in json.dumps(refused.value.as_json(), default=str)


def test_a_database_that_is_not_named_or_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "postgresql://u:hunter2@127.0.0.1:1/x")
    with pytest.raises(InputRefused) as refused:
        taken("select 1 as a")
    assert refused.value.code == "query_failed"
    assert "hunter2" not in refused.value.happened
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(InputRefused) as refused:
        taken("select 1 as a")
    assert refused.value.code == "dsn_not_set"
    assert VARIABLE in refused.value.next_step
