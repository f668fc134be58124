"""Declared types and those of the engine: which values fit, and how they are read as what was declared."""

from __future__ import annotations

from typing import NamedTuple

from recoup.partitions.contracts.declaration import ColumnType
from recoup.partitions.contracts.engine import quoted
from recoup.partitions.contracts.reading import JSON_TYPE

INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
}  # fmt: skip
FLOATS = {"FLOAT", "DOUBLE"}
# The type that values have in the table of SQL checks where they were not read as one that fits.
ENGINE = {
    ColumnType.STRING: "VARCHAR",
    ColumnType.INTEGER: "BIGINT",
    ColumnType.NUMBER: "DOUBLE",
    ColumnType.DECIMAL: "DECIMAL(38, 9)",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.TIME: "TIME",
    ColumnType.TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
    ColumnType.LOCAL_TIMESTAMP: "TIMESTAMP",
    ColumnType.UUID: "UUID",
    ColumnType.JSON: JSON_TYPE,
    ColumnType.BINARY: "BLOB",
}
FITTING = {
    ColumnType.STRING: {"VARCHAR"},
    ColumnType.INTEGER: INTEGERS,
    ColumnType.NUMBER: INTEGERS | FLOATS | {"DECIMAL"},
    ColumnType.DECIMAL: INTEGERS | {"DECIMAL"},
    ColumnType.LOCAL_TIMESTAMP: {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"},
    ColumnType.TIME: {"TIME", "TIME_NS"},
    ColumnType.JSON: {JSON_TYPE, "STRUCT", "MAP"},
}
# Of JSON values: the types that JSON itself has for them …
JSON_TYPES = {
    ColumnType.INTEGER: ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT"),
    ColumnType.NUMBER: ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT", "DOUBLE"),
    ColumnType.DECIMAL: ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT", "DOUBLE", "VARCHAR"),
    ColumnType.BOOLEAN: ("BOOLEAN",),
}
# … and the form of a text, for what JSON has no type for. The engine would also take 'epoch', or a date for a time.
FORMS = {
    ColumnType.DATE: r"\d{4}-\d\d-\d\d",
    ColumnType.TIME: r"\d\d:\d\d(:\d\d(\.\d+)?)?",
    ColumnType.TIMESTAMP: r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)",
    ColumnType.LOCAL_TIMESTAMP: r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?",
    ColumnType.BINARY: r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
}


class Typed(NamedTuple):
    """A column read as what was declared."""

    value: str  # SQL of the value; null where it does not fit
    unfit: str | None  # SQL: whether a value that is not null does not fit. None: all of them do
    physical: str


def typed(name: str, declared: ColumnType, physical: str) -> Typed:
    """How a column of a type of the engine is read as what was declared."""
    raw = quoted(name)
    base = physical.split("(")[0]
    if physical == JSON_TYPE and declared != ColumnType.JSON:
        return _of_json(raw, declared)
    if base in FITTING.get(declared, {ENGINE[declared]}) or (declared == ColumnType.JSON and physical.endswith("[]")):
        return Typed(raw, None, physical)
    if base == "VARCHAR" and declared == ColumnType.UUID:
        return _tried(raw, f"try_cast({raw} as uuid)", physical)
    if base == "VARCHAR" and declared == ColumnType.JSON:
        return _tried(raw, f"case when json_valid({raw}) then {raw} end", physical)
    # A column of nulls has any type.
    return Typed(f"cast(null as {ENGINE[declared]})", f"{raw} is not null", physical)


def _of_json(raw: str, declared: ColumnType) -> Typed:
    text, engine = f"({raw} ->> '$')", ENGINE[declared]
    types = ", ".join(f"'{one}'" for one in JSON_TYPES.get(declared, ("VARCHAR",)))
    fits = f"json_type({raw}) in ({types})"
    if declared in FORMS:
        fits += f" and regexp_full_match({text}, '{FORMS[declared]}')"
    value = f"from_base64({text})" if declared == ColumnType.BINARY else f"try_cast({text} as {engine})"
    return _tried(raw, f"case when {fits} then {value} end", JSON_TYPE)


def _tried(raw: str, value: str, physical: str) -> Typed:
    return Typed(value, f"({raw} is not null and ({value}) is null)", physical)
