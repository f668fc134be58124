"""Each rule of a contract, in both formats: data that keeps it, and data that breaks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pytest

from partitions.contracts.tables import AROUND, END, FORMATS, GOOD, START, TYPES, judged, written
from recoup.partitions.contracts import Circumstances, check, declared

Row = Mapping[str, Any]
HOUR = timedelta(hours=1)


def column(type_: str, **rules: Any) -> dict[str, Any]:
    return {"columns": {"x": {"type": type_, **rules}}}


def xs(*values: Any) -> list[Row]:
    return [{"x": value} for value in values]


# Contract, rows that keep it, rows that break it, the rule, how many rows break it, the reason.
CASES: list[tuple[str, dict[str, Any], Sequence[Row], Sequence[Row], str, int, str]] = [
    ("null", column("integer"), xs(1), xs(1, None, None), "columns.x.nullable", 2, "CONTRACT_BROKEN"),
    ("min", column("integer", min=0), xs(0, 5), xs(-1, 0, -7), "columns.x.min", 2, "CONTRACT_BROKEN"),
    ("max", column("number", max=1.5), xs(1.5, -3), xs(1.6, 0), "columns.x.max", 1, "CONTRACT_BROKEN"),
    ("nan", column("number", min=0), xs(0.0), xs(float("nan"), 1.0), "columns.x.min", 1, "CONTRACT_BROKEN"),
    (
        "decimal", column("decimal", min="0.001"), xs(Decimal("0.0010")), xs(Decimal("0.0009"), Decimal(1)),
        "columns.x.min", 1, "CONTRACT_BROKEN",
    ),
    (
        "date", column("date", min="2026-03-01", max=date(2026, 3, 2)), xs(date(2026, 3, 2)), xs(date(2026, 3, 3)),
        "columns.x.max", 1, "CONTRACT_BROKEN",
    ),
    ("timestamp", column("timestamp", max=END), xs(START, END), xs(END + HOUR), "columns.x.max", 1, "CONTRACT_BROKEN"),
    (
        "allowed", column("string", allowed=["a", "it's"], nullable=True), xs("a", "it's", None), xs("a", "b", "A"),
        "columns.x.allowed", 2, "CONTRACT_BROKEN",
    ),
    ("allowed integers", column("integer", allowed=[1, 2]), xs(1, 2), xs(3), "columns.x.allowed", 1, "CONTRACT_BROKEN"),
    (
        "pattern", column("string", pattern="[a-z]+-[0-9]{2}"), xs("ab-12"), xs("ab-12", "ab-123", "-12"),
        "columns.x.pattern", 2, "CONTRACT_BROKEN",
    ),
    ("length", column("string", max_length=3), xs("äöü"), xs("äöüß", ""), "columns.x.max_length", 1, "CONTRACT_BROKEN"),
    (
        "unique", column("string", nullable=True) | {"unique": [["x"]]}, xs("a", "b", None, None),
        xs("a", "a", "a", "b"), "unique.x", 2, "CONTRACT_BROKEN",
    ),
    ("rows min", column("integer") | {"rows": {"min": 2}}, xs(1, 2), xs(1), "rows.min", 1, "ROW_COUNT"),
    ("rows max", column("integer") | {"rows": {"max": 2}}, xs(1, 2), xs(1, 2, 3), "rows.max", 1, "ROW_COUNT"),
    ("empty", column("integer"), xs(1), [], "rows.min", 1, "EMPTY"),
    (
        "window", column("timestamp") | {"freshness": {"column": "x", "in_window": True}},
        xs(START, END - timedelta(microseconds=1)), xs(START - HOUR, END, START), "freshness.in_window", 2, "STALE",
    ),
    (
        "window without zone", column("local_timestamp") | {"freshness": {"column": "x", "in_window": True}},
        xs(datetime(2026, 3, 1), datetime(2026, 3, 1, 23)), xs(datetime(2026, 3, 2)), "freshness.in_window", 1, "STALE",
    ),
    (
        "age", column("timestamp", nullable=True) | {"freshness": {"column": "x", "max_age_hours": 6}},
        xs(START, END - 6 * HOUR, None), xs(START, END - 6 * HOUR - timedelta(microseconds=1)),
        "freshness.max_age_hours", 2, "STALE",
    ),
    (
        "age of nothing", column("timestamp", nullable=True) | {"freshness": {"column": "x", "max_age_hours": 6}},
        xs(END), xs(None), "freshness.max_age_hours", 1, "STALE",
    ),
    (
        "expression",
        column("integer", nullable=True) | {"checks": {"even": {"every_row": "x % 2 = 0 -- null is fine"}}},
        xs(2, None), xs(1, 2, 3), "checks.even", 2, "CONTRACT_BROKEN",
    ),
    (
        "select",
        column("integer") | {"checks": {"few": {"no_rows": "select x, count(*) n from data group by x having n > 1"}}},
        xs(1, 2), xs(1, 1, 2, 2, 3), "checks.few", 2, "CONTRACT_BROKEN",
    ),
    (
        "parameters",
        column("timestamp") | {"checks": {"day": {"every_row": "x >= $window_start and x::date = $logical_date"}}},
        xs(START), xs(START, END), "checks.day", 1, "CONTRACT_BROKEN",
    ),
]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("contract", "good", "bad", "rule", "count", "reason"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_a_rule_accepts_what_keeps_it_and_counts_what_does_not(
    tmp_path: Path, format: str, contract: dict[str, Any], good: Sequence[Row], bad: Sequence[Row],
    rule: str, count: int, reason: str,
) -> None:  # fmt: skip
    assert judged(tmp_path, format, contract, good).accepted
    verdict = judged(tmp_path, format, contract, bad)
    assert (verdict.accepted, verdict.reason, verdict.rule) == (False, reason, rule)
    assert [(one.rule, one.count) for one in verdict.findings] == [(rule, count)]
    assert verdict.message
    assert len(verdict.findings[0].sample) <= 5


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("type_", TYPES)
def test_values_of_a_type_fit_it_and_others_are_drift(tmp_path: Path, format: str, type_: str) -> None:
    contract = column(type_, nullable=True)
    assert judged(tmp_path, format, contract, xs(GOOD[type_], None)).accepted
    other = GOOD["boolean"] if type_ != "boolean" else GOOD["integer"]
    kind = "boolean" if type_ != "boolean" else "integer"
    verdict = judged(tmp_path, format, contract, xs(other, other, None), {"x": kind})
    if type_ == "json" and format == "jsonl":  # everything is JSON there
        assert verdict.accepted
    else:
        assert (verdict.reason, verdict.rule) == ("SCHEMA_DRIFT", "columns.x.type")
        assert [one.count for one in verdict.findings] == [2]
        assert ("stored as" in str(verdict.message)) is (format == "parquet")


@pytest.mark.parametrize(
    ("type_", "wrong"),
    [
        ("integer", [1.0, "1", 10**30, True, [1], {"a": 1}]),
        ("number", ["1", True]),
        ("decimal", ["x", "", True]),
        ("string", [1, False, ["a"], {}]),
        ("date", ["epoch", "infinity", "2026-02-30", "2026-3-1", "2026-03-01T00:00:00", 20260301]),
        ("timestamp", ["2026-03-01", "2026-03-01T00:00:00", "2026-03-01T25:00:00Z", "now", 1772323200]),
        ("local_timestamp", ["2026-03-01T00:00:00Z", "2026-03-01"]),
        ("uuid", ["x", 5, "00000000-0000-0000-0000-00000000000g"]),
        ("binary", ["####", "abc"]),
    ],
)
def test_json_values_of_another_type_are_counted(tmp_path: Path, type_: str, wrong: list[Any]) -> None:
    verdict = judged(tmp_path, "jsonl", column(type_), [*xs(*wrong), {"x": GOOD[type_]}])
    assert [(one.rule, one.count) for one in verdict.findings] == [("columns.x.type", len(wrong))]


@pytest.mark.parametrize(
    ("declared_as", "stored", "values"),
    [
        ("integer", pa.int8(), [1]),
        ("integer", pa.uint64(), [2**64 - 1]),
        ("number", pa.int32(), [1]),
        ("number", pa.float32(), [1.5]),
        ("number", pa.decimal128(10, 2), [Decimal("1.50")]),
        ("decimal", pa.int64(), [1]),
        ("string", pa.large_string(), ["a"]),
        ("string", pa.dictionary(pa.int32(), pa.string()), ["a"]),
        ("local_timestamp", pa.timestamp("ns"), [datetime(2026, 3, 1)]),
        ("uuid", pa.uuid(), [b"\x00" * 16]),
        ("json", pa.struct([("a", pa.int64())]), [{"a": 1}]),
        ("json", pa.list_(pa.int64()), [[1]]),
        ("date", pa.null(), [None]),
    ],
)
def test_parquet_types_that_hold_the_values_fit(
    tmp_path: Path, declared_as: str, stored: Any, values: list[Any]
) -> None:
    assert judged(tmp_path, "parquet", column(declared_as, nullable=True), xs(*values), {"x": stored}).accepted


@pytest.mark.parametrize("format", FORMATS)
def test_missing_and_extra_columns_are_drift(tmp_path: Path, format: str) -> None:
    contract = {
        "columns": {"x": {"type": "integer"}, "Y": {"type": "integer"}},
        "checks": {"a": {"every_row": "Y > 0"}},
    }
    verdict = judged(
        tmp_path, format, contract, [{"x": 1, "y": 2, "z": 3}], {"x": "integer", "y": "integer", "z": "integer"}
    )
    assert (verdict.reason, verdict.rule) == ("SCHEMA_DRIFT", "columns.Y")
    assert [(one.rule, one.count) for one in verdict.findings] == [("columns.Y", 1), ("extra_columns", 2)]
    assert "column Y is missing; there is y" in str(verdict.message)
    assert "Not checked: checks.a" in str(verdict.message)
    allowed = {
        "columns": {"x": {"type": "integer"}},
        "extra_columns": True,
        "checks": {"z": {"every_row": "z::int = 3"}},
    }
    assert judged(tmp_path, format, allowed, [{"x": 1, "z": 3}], {"x": "integer", "z": "integer"}).accepted


def test_a_key_that_json_lines_leave_out_is_null(tmp_path: Path) -> None:
    contract: dict[str, Any] = {"columns": {"x": {"type": "integer"}, "y": {"type": "integer", "nullable": True}}}
    assert judged(tmp_path, "jsonl", contract, xs(1)).accepted
    contract["columns"]["y"]["nullable"] = False
    assert judged(tmp_path, "jsonl", contract, [{"x": 1}, {"x": 1, "y": 2}]).rule == "columns.y.nullable"
    assert judged(tmp_path, "jsonl", contract, xs(1)).reason == "SCHEMA_DRIFT"


def test_rows_against_the_previous_run(tmp_path: Path) -> None:
    contract = column("integer") | {"rows": {"within": 0.5}}
    for previous, accepted in ((None, True), (0, True), (20, True), (8, True), (21, False), (6, False)):
        verdict = judged(tmp_path, "parquet", contract, xs(*range(10)), around=replace(AROUND, previous_rows=previous))
        assert verdict.accepted is accepted, previous
    assert verdict.message == "rows within 50% of the previous run: 10 after 6, +67%."
    assert verdict.rule == "rows.within"


def test_empty_runs_are_accepted_where_the_contract_says_so(tmp_path: Path) -> None:
    contract = column("integer") | {"rows": {"min": 0}}
    assert judged(tmp_path, "parquet", contract, []).accepted
    assert judged(tmp_path, "jsonl", contract, []).accepted
    assert check([], "parquet", declared(contract), AROUND).accepted
    assert check([], "parquet", declared(column("integer")), AROUND).reason == "EMPTY"
    assert judged(tmp_path, "parquet", contract, [], {"y": "integer"}).reason == "SCHEMA_DRIFT"


def test_what_is_not_known_is_not_checked(tmp_path: Path) -> None:
    contract = column("timestamp") | {
        "freshness": {"column": "x", "in_window": True},
        "checks": {"day": {"every_row": "x > $window_start"}, "all": {"every_row": "x is not null"}},
    }
    verdict = judged(tmp_path, "parquet", contract, xs(START), around=Circumstances())
    assert verdict.accepted
    assert verdict.message == "Not checked: freshness, checks.day."


def test_a_message_names_the_rule_the_count_and_an_example(tmp_path: Path) -> None:
    contract = {"columns": {"id": {"type": "integer"}, "amount": {"type": "number", "min": 0}}}
    rows = [{"id": n, "amount": float(n - 2)} for n in range(10_000)]
    verdict = judged(tmp_path, "parquet", contract, rows)
    assert verdict.message == "amount >= 0: 2 of 10,000 rows fail, e.g. amount = -2.0, id = 0."
    assert verdict.findings[0].sample == ({"amount": -2.0, "id": 0}, {"amount": -1.0, "id": 1})


@pytest.mark.parametrize("format", FORMATS)
def test_samples_have_no_secrets_and_no_long_values(tmp_path: Path, format: str) -> None:
    contract: dict[str, Any] = {
        "columns": {
            "n": {"type": "integer", "max": 1},
            "password": {"type": "string"},
            "own": {"type": "string"},
            "note": {"type": "string"},
        }
    }
    row = {"n": 2, "password": "hunter2secret", "own": "plain", "note": "x" * 1000}
    (sample,) = judged(tmp_path, format, contract, [row]).findings[0].sample
    assert sample == {"n": 2, "password": "[redacted]", "own": "plain", "note": "x" * 200 + "…"}
    path = written(tmp_path, format, [row], {name: one["type"] for name, one in contract["columns"].items()})
    verdict = check([path], format, declared(contract), AROUND, own_keys=["own"])
    assert verdict.findings[0].sample[0]["own"] == "[redacted]"
    assert "hunter2" not in repr(verdict)


@pytest.mark.parametrize("format", FORMATS)
def test_several_files_are_one_table(tmp_path: Path, format: str) -> None:
    contract = declared(column("integer", max=5) | {"unique": [["x"]]})
    files = [
        written(tmp_path, format, xs(*values), {"x": "integer"}, f"part-{at}")
        for at, values in enumerate(((1, 2), (2, 9)))
    ]
    verdict = check(files, format, contract, AROUND)
    assert [(one.rule, one.count) for one in verdict.findings] == [("columns.x.max", 1), ("unique.x", 1)]


def test_parquet_files_that_differ_are_drift(tmp_path: Path) -> None:
    contract = declared({"columns": {"x": {"type": "integer"}, "y": {"type": "integer", "nullable": True}}})
    one = written(tmp_path, "parquet", [{"x": 1, "y": 1}], {"x": "integer", "y": "integer"}, "one")
    less = written(tmp_path, "parquet", [{"x": 1}], {"x": "integer"}, "less")
    other = written(tmp_path, "parquet", [{"x": "a", "y": 1}], {"x": "string", "y": "integer"}, "other")
    verdict = check([one, less], "parquet", contract, AROUND)
    assert (verdict.reason, verdict.rule) == ("SCHEMA_DRIFT", "columns.y")
    assert "column y is missing in less.parquet" in str(verdict.message)
    assert check([one, other], "parquet", contract, AROUND).reason == "SCHEMA_DRIFT"
