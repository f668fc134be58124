"""A declared contract: what the data of a partition has to be. A section of the policy, one for each name.

Columns are strict by default: each must be there, have no nulls, and there are no others.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

from pydantic import Field, ValidationError, ValidationInfo, WithJsonSchema, field_validator, model_validator

from recoup.partitions.contracts.engine import (
    expression_problem,
    expression_sql,
    parameters_of,
    pattern_problem,
    query_problem,
    query_sql,
)
from recoup.policy.section import Section, one_of, wrong_value
from recoup.redaction import in_words
from recoup.refusals import InputRefused

CONTRACT_VERSION = 1  # of what contracts mean; stamped on verdicts, next to the digest of the contract
# What SQL checks may refer to, as $window_start.
PARAMETERS = frozenset(
    {"source", "customer_id", "query_name", "logical_date", "window_start", "window_end", "now", "previous_rows"}
)
MAX_ALLOWED = 1000
Bound: TypeAlias = int | float | str


class ColumnType(StrEnum):
    """What the values of a column are."""

    STRING = "string"
    INTEGER = "integer"  # of any width
    NUMBER = "number"  # any number
    DECIMAL = "decimal"  # exact; in JSON lines a number, or a number as text
    BOOLEAN = "boolean"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"  # an instant; in JSON lines a text with its offset from UTC
    LOCAL_TIMESTAMP = "local_timestamp"  # without a time zone; where an instant is needed, taken as UTC
    UUID = "uuid"  # or a text that is one
    JSON = "json"  # a text that is JSON, or a list, map or struct
    BINARY = "binary"  # in JSON lines base64


INSTANTS = (ColumnType.TIMESTAMP, ColumnType.LOCAL_TIMESTAMP)
ColumnName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00-\x1f\x7f]+$",
        description="the name of a column, at most 200 characters",
    ),
]
CheckName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]{0,99}$", description="a name in lower case, like no_orphans")
]
TypeWord = Annotated[ColumnType, Field(strict=False)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000_000)]
AnyValue = Annotated[Any, WithJsonSchema({"type": "string", "description": "a text or a number"})]
Text = Annotated[str, Field(min_length=1, max_length=10_000, description="SQL, at most 10,000 characters")]


class Column(Section):
    """A column, and what holds for each of its values that is not null."""

    type: TypeWord
    nullable: bool = False
    min: AnyValue = None
    max: AnyValue = None
    allowed: Annotated[list[AnyValue], Field(min_length=1, max_length=MAX_ALLOWED)] | None = None
    pattern: Annotated[str, Field(min_length=1, max_length=1000, description="a regular expression")] | None = None
    max_length: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None

    @field_validator("min", "max", mode="before")
    @classmethod
    def _times_as_text(cls, value: object) -> object:
        # TOML has dates, and JSON, in which a policy is stored, has not.
        return value.isoformat() if isinstance(value, date) else value

    @model_validator(mode="after")
    def _rules_fit_the_type(self, info: ValidationInfo) -> Column:
        for key, value in (("min", self.min), ("max", self.max)):
            if value is not None and (problem := _bound_problem(self.type, value)) is not None:
                raise wrong_value(key, value, problem)
        if self.min is not None and self.max is not None and bound(self.type, self.min) > bound(self.type, self.max):
            raise wrong_value("min", self.min, f"at most max ({self.max})")
        for key in ("pattern", "max_length"):
            if getattr(self, key) is not None and self.type != ColumnType.STRING:
                raise wrong_value(key, getattr(self, key), f"nothing: a {self.type} has none")
        kind = {ColumnType.STRING: str, ColumnType.INTEGER: int}.get(self.type)
        for value in self.allowed or ():
            if type(value) is not kind:
                raise wrong_value("allowed", value, "texts in a string column, whole numbers in an integer column")
        if self.pattern is not None and (info.context or {}).get("is_new"):
            problem = pattern_problem(self.pattern)
            if problem is not None:
                raise wrong_value("pattern", self.pattern, f"a regular expression; {problem}")
        return self


def bound(type_: ColumnType, value: Bound) -> Any:
    """A bound as a value that can be compared; raises ValueError if it does not fit the type."""
    match type_:
        case ColumnType.INTEGER if type(value) is int:
            return value
        case ColumnType.NUMBER if type(value) in (int, float) and math.isfinite(float(value)):
            return float(value)
        case ColumnType.DECIMAL if type(value) in (int, float, str):
            exact = Decimal(str(value))
            if exact.is_finite():
                return exact
        case ColumnType.DATE if isinstance(value, str):
            return date.fromisoformat(value)
        case ColumnType.TIMESTAMP | ColumnType.LOCAL_TIMESTAMP if isinstance(value, str):
            time = datetime.fromisoformat(value)
            if (time.tzinfo is not None) == (type_ == ColumnType.TIMESTAMP):
                return time
    raise ValueError(value)


BOUNDS = {
    ColumnType.INTEGER: "a whole number",
    ColumnType.NUMBER: "a number",
    ColumnType.DECIMAL: "a number, or one as text",
    ColumnType.DATE: "a date, like 2026-01-31",
    ColumnType.TIMESTAMP: "a time with its offset from UTC, like 2026-01-31T09:00:00Z",
    ColumnType.LOCAL_TIMESTAMP: "a time without an offset, like 2026-01-31T09:00:00",
}


def _bound_problem(type_: ColumnType, value: Bound) -> str | None:
    try:
        bound(type_, value)
    except (ValueError, InvalidOperation, OverflowError):
        return BOUNDS.get(type_, f"nothing: a {type_} has no order here")
    return None


class Rows(Section):
    """How many rows there are. ``within``: the largest change, as a share of the previous run's rows."""

    min: Count = 1
    max: Count | None = None
    within: Annotated[float, Field(ge=0, le=1000, strict=False)] | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Rows:
        if self.max is not None and self.min > self.max:
            raise wrong_value("min", self.min, f"at most max ({self.max})")
        return self


class Freshness(Section):
    """A column of times that shows whether the data is that of its day."""

    column: ColumnName | None = None
    in_window: bool = False  # every value is within the day of the partition
    max_age_hours: Annotated[int, Field(ge=0, le=87_600)] | None = None  # of the latest value, at the end of the day

    @model_validator(mode="after")
    def _complete(self) -> Freshness:
        asks = self.in_window or self.max_age_hours is not None
        if self.column is None and asks:
            raise wrong_value("column", self.column, "the column whose times are checked")
        if self.column is not None and not asks:
            raise wrong_value("in_window", self.in_window, "true, or give max_age_hours")
        return self


class Check(Section):
    """A check of your own in SQL, over the table ``data``. One of the two."""

    every_row: Text | None = None  # an expression: rows for which it is false break it, null does not
    no_rows: Text | None = None  # a SELECT: every row that it returns breaks it
    description: Annotated[str, Field(max_length=500, description="a text of at most 500 characters")] = ""

    @model_validator(mode="after")
    def _is_sql(self, info: ValidationInfo) -> Check:
        if (self.every_row is None) == (self.no_rows is None):
            raise wrong_value("every_row", self.every_row, "an expression here, or a SELECT in no_rows")
        problem = self.problem() if (info.context or {}).get("is_new") else None
        if problem is not None:
            key, given = ("every_row", self.every_row) if self.no_rows is None else ("no_rows", self.no_rows)
            raise wrong_value(key, given, f"{'one expression' if key == 'every_row' else 'one SELECT'}; {problem}")
        return self

    def problem(self) -> str | None:
        """Why its SQL is not allowed; None: it is."""
        if self.no_rows is not None:
            return query_problem(self.no_rows, PARAMETERS)
        return expression_problem(self.every_row or "", PARAMETERS)

    def sql(self) -> str:
        """The query that counts the rows that break it."""
        if self.no_rows is not None:
            return f"select count(*) from {query_sql(self.no_rows)}"
        return f"select {expression_sql(self.every_row or '')} from data"

    def parameters(self) -> frozenset[str]:
        """The parameters that it refers to."""
        return parameters_of(self.sql())


class Contract(Section):
    """What the data of a partition has to be, as a whole and row by row."""

    columns: Annotated[dict[ColumnName, Column], Field(default_factory=dict)]
    extra_columns: bool = False  # whether there may be others
    unique: Annotated[
        list[Annotated[list[ColumnName], Field(min_length=1, max_length=16)]],
        Field(max_length=20, default_factory=list),
    ]
    rows: Annotated[Rows, Field(default_factory=Rows)]
    freshness: Annotated[Freshness, Field(default_factory=Freshness)]
    checks: Annotated[dict[CheckName, Check], Field(default_factory=dict)]

    @model_validator(mode="after")
    def _columns_exist(self) -> Contract:
        if not self.columns and not self.extra_columns:
            raise wrong_value("columns", {}, "at least one column, or extra_columns = true")
        spelled: dict[str, str] = {}
        for name in self.columns:
            other = spelled.setdefault(name.lower(), name)
            if other != name:
                raise wrong_value(f"columns.{name}", name, f"a name that differs from {other} in more than case")
        for place, names in enumerate(self.unique):
            for name in names:
                if name not in self.columns:
                    raise wrong_value(f"unique[{place}]", name, one_of(name, self.columns))
            if len(set(names)) < len(names):
                raise wrong_value(f"unique[{place}]", names, "each column once")
        timed = self.freshness.column
        if timed is not None and (timed not in self.columns or self.columns[timed].type not in INSTANTS):
            timestamps = [name for name, column in self.columns.items() if column.type in INSTANTS]
            raise wrong_value("freshness.column", timed, f"a column of timestamps: {one_of(timed, timestamps)}")
        return self


def declared(values: Mapping[str, Any]) -> Contract:
    """A contract out of a document, with its patterns and SQL checked; or a refusal that names what is wrong."""
    try:
        return Contract.model_validate(values, context={"is_new": True})
    except ValidationError as error:
        wrong = refused_values(error)
        raise InputRefused(
            "contract_invalid",
            "The contract is not valid: " + "; ".join(f"{one['key']}: {one['value']}" for one in wrong[:10]) + ".",
            "Allowed: " + "; ".join(f"{one['key']}: {one['allowed']}" for one in wrong[:10]) + ".",
            wrong=wrong,
        ) from error


def refused_values(error: ValidationError) -> list[dict[str, str]]:
    """What is wrong in a model outside of the policy: each key, its value, and what is allowed there."""
    wrong = []
    for details in error.errors():
        place = [part for part in details["loc"] if part != "[key]"]
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
        context = details.get("ctx", {})
        value, allowed = repr(details["input"]), re.sub(r"^Input should be ", "", details["msg"])
        if details["type"] == "wrong_value":
            key, value, allowed = f"{key}.{context['key']}".strip("."), context["value"], context["allowed"]
        elif details["type"] == "missing":
            value, allowed = "nothing", "it has to be given"
        elif details["type"] == "extra_forbidden":
            allowed = "there is no such key"
        wrong.append({"key": key or "the document", "value": in_words(value)[:200], "allowed": allowed})
    return wrong


def digest(contract: Contract) -> str:
    """SHA-256 of what a contract says, in a canonical form: the order of its keys and its defaults do not matter."""
    values = contract.model_dump(mode="json", exclude_defaults=True)
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
