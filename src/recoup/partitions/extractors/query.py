"""A SQL query of PostgreSQL, streamed into Arrow: one statement, read-only, in batches, with a limit of time.

The query has the parameters ``%(window_start)s``, ``%(window_end)s``, ``%(customer_id)s``, ``%(source)s``,
``%(query_name)s`` and ``%(logical_date)s``; a percent sign of its own is ``%%``. The connection string is in an
environment variable that the options name: secrets are not policy.
"""

from __future__ import annotations

import base64
import json
import math
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from datetime import date, datetime
from datetime import time as time_of_day
from typing import Annotated, Any, NamedTuple

import psycopg
from psycopg.types.string import TextLoader
from pydantic import Field, model_validator

from recoup.partitions.contracts.engine import arrow
from recoup.partitions.extractors.options import options_of
from recoup.partitions.interfaces import Extraction, Writer
from recoup.policy.section import Section, wrong_value
from recoup.redaction import in_words
from recoup.refusals import InputRefused

CURSOR = "recoup_extract"
MAX_PRECISION = 38  # digits of a decimal that Arrow and DuckDB share
SCALE = 9  # of a numeric that declares none
NO_ROWS = "the query returns no columns"
# Types that have values of their own in Arrow; arrays become JSON, and all others are read as text.
KNOWN = {
    "bool", "int2", "int4", "int8", "oid", "float4", "float8", "numeric", "date", "time", "timestamp", "timestamptz",
    "bytea",
}  # fmt: skip


class QueryOptions(Section):
    """Which query, of which database."""

    dsn_env: Annotated[
        str,
        Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200, description="the name of an environment variable"),
    ]
    sql: Annotated[str, Field(min_length=1, max_length=100_000, description="a SELECT")]
    batch_rows: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    timeout_s: Annotated[int, Field(ge=1, le=86_400)] = 3600

    @model_validator(mode="after")
    def _is_a_query(self) -> QueryOptions:
        if not self.sql.strip().strip(";"):
            raise wrong_value("sql", self.sql, "a SELECT")
        return self


class Target(NamedTuple):
    """A column of the result: how its values become those of Arrow."""

    name: str
    type: Any
    convert: Callable[[Any], Any] | None


def extract(extraction: Extraction, writer: Writer) -> None:
    """Write the result of the query, as Parquet. A result without rows has its columns."""
    options = options_of(extraction, QueryOptions)
    dsn = os.environ.get(options.dsn_env)
    if not dsn:
        raise InputRefused(
            "dsn_not_set",
            f"The environment variable {options.dsn_env} is not set: there is no database to query.",
            f"Set it where the worker is started: export {options.dsn_env}=postgresql://…",
            variable=options.dsn_env,
        )
    try:
        with closing(_batches(dsn, options, extraction)) as batches:
            writer.table(batches)
    except psycopg.Error as error:
        raise InputRefused(
            "query_failed",
            f"The query of {extraction.partition} failed: {in_words(error).strip().rstrip('.')}.",
            "Fix the query, or the database; the partition is dispatched again.",
            sqlstate=error.sqlstate,
        ) from error


def _batches(dsn: str, options: QueryOptions, extraction: Extraction) -> Generator[Any, None, None]:
    pa = arrow()
    deadline = time.monotonic() + options.timeout_s
    key = extraction.partition._asdict()
    given = {**key, "window_start": extraction.window_start, "window_end": extraction.window_end}
    with psycopg.connect(dsn, application_name="recoup extract") as connection:
        connection.read_only = True
        _read_as_text(connection)
        connection.execute("select set_config('statement_timeout', %s, true)", [str(options.timeout_s * 1000)])
        # Text literals of times must not depend on a setting of the role; the session's zone is not that of the source.
        connection.execute("select set_config('TimeZone', 'UTC', true)")
        with connection.cursor(CURSOR) as cursor:
            # Declared as a cursor, it can only be one query.
            cursor.execute(options.sql.strip().rstrip(";").encode(), given)
            fields = _fields(connection, cursor.description or ())
            schema = pa.schema([(field.name, field.type) for field in fields])
            yield _batch([], fields, schema)
            while rows := cursor.fetchmany(options.batch_rows):
                yield _batch(rows, fields, schema)
                if time.monotonic() > deadline:
                    raise InputRefused(
                        "query_too_slow",
                        f"The query of {extraction.partition} did not end within {options.timeout_s:,} s.",
                        "Make it faster, or raise the option timeout_s.",
                        timeout_s=options.timeout_s,
                    )


def _read_as_text(connection: psycopg.Connection[Any]) -> None:
    for info in connection.adapters.types:
        if info.name not in KNOWN:
            connection.adapters.register_loader(info.oid, TextLoader)


def _fields(connection: psycopg.Connection[Any], description: Sequence[psycopg.Column]) -> list[Target]:
    names = [column.name for column in description]
    if not names:
        raise _refused(NO_ROWS)
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise _refused(f"two columns have the name {double}: give one another name with as")
    return [Target(column.name, *_arrow(connection, column)) for column in description]


def _arrow(connection: psycopg.Connection[Any], column: psycopg.Column) -> tuple[Any, Callable[[Any], Any] | None]:
    pa = arrow()
    info = connection.adapters.types.get(column.type_code)
    if info is not None and column.type_code == info.array_oid:
        return pa.string(), _json
    plain = {
        "bool": pa.bool_(), "int2": pa.int16(), "int4": pa.int32(), "int8": pa.int64(), "oid": pa.int64(),
        "float4": pa.float32(), "float8": pa.float64(), "date": pa.date32(), "time": pa.time64("us"),
        "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", "UTC"), "bytea": pa.binary(),
    }  # fmt: skip
    if info is not None and info.name == "numeric":
        return _decimal(column), None
    return plain.get(info.name if info is not None else "", pa.string()), None


def _decimal(column: psycopg.Column) -> Any:
    pa = arrow()
    precision, scale = column.precision, column.scale
    if precision is None or scale is None:
        return pa.decimal128(MAX_PRECISION, SCALE)
    if precision > MAX_PRECISION or not 0 <= scale <= precision:
        raise _refused(f"column {column.name} is numeric({precision}, {scale}): cast it to one of at most 38 digits")
    return pa.decimal128(precision, scale)


def _batch(rows: Sequence[Sequence[Any]], fields: Sequence[Target], schema: Any) -> Any:
    pa = arrow()
    columns = list(zip(*rows, strict=True)) or [() for _ in fields]
    arrays = []
    for field, values in zip(fields, columns, strict=True):
        converted = values if field.convert is None else [v if v is None else field.convert(v) for v in values]
        try:
            arrays.append(pa.array(converted, field.type))
        except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
            raise _refused(f"column {field.name} does not fit {field.type}: {in_words(error).rstrip('.')}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A value of an array as JSON has it."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime | date | time_of_day):
        return value.isoformat()
    return str(value)  # a decimal as text stays exact; JSON has no NaN


def _refused(problem: str) -> InputRefused:
    return InputRefused(
        "query_not_extracted",
        f"The result of the query cannot be stored: {problem}.",
        "Change the query, for example with a cast.",
    )
