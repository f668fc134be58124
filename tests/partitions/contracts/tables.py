"""Data for contracts, as files of both formats."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]

from recoup.partitions.contracts import Circumstances, check, declared
from recoup.partitions.identity import Partition
from recoup.partitions.interfaces import Verdict

DAY = date(2026, 3, 1)
START = datetime(2026, 3, 1, tzinfo=UTC)
END = START + timedelta(days=1)
KEY = Partition("shop", "c-1", "orders", DAY)
AROUND = Circumstances(partition=KEY, window_start=START, window_end=END, now=END + timedelta(hours=2))
FORMATS = ("parquet", "jsonl")
TYPES: dict[str, Any] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "decimal": pa.decimal128(20, 4),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    "local_timestamp": pa.timestamp("us"),
    "uuid": pa.string(),
    "json": pa.string(),
    "binary": pa.binary(),
}
# One good value of each type.
GOOD: dict[str, Any] = {
    "string": "text",
    "integer": 7,
    "number": 1.5,
    "decimal": Decimal("12.3400"),
    "boolean": True,
    "date": DAY,
    "time": time(9, 30),
    "timestamp": START + timedelta(hours=3),
    "local_timestamp": datetime(2026, 3, 1, 3, 0),
    "uuid": str(UUID(int=5)),
    "json": '{"a": [1, 2]}',
    "binary": b"\x00\xff",
}


def written(
    folder: Path, format: str, rows: Sequence[Mapping[str, Any]], types: Mapping[str, str], name: str = "part-0"
) -> Path:
    """Rows in a file. ``types``: the words of the contract, for Parquet."""
    path = folder / f"{name}.{format}"
    if format == "jsonl":
        path.write_text("".join(json.dumps(dict(row), default=plain) + "\n" for row in rows), encoding="utf-8")
        return path
    columns = {
        name: pa.array([row.get(name) for row in rows], TYPES[type_] if isinstance(type_, str) else type_)
        for name, type_ in types.items()
    }
    pq.write_table(pa.table(columns), path)
    return path


def plain(value: Any) -> Any:
    """What JSON lines have for a value."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return str(value)
    assert isinstance(value, date | time), value
    return value.isoformat()


def judged(
    folder: Path, format: str, contract: Mapping[str, Any], rows: Sequence[Mapping[str, Any]],
    types: Mapping[str, Any] | None = None, around: Circumstances = AROUND,
) -> Verdict:  # fmt: skip
    """What a contract says of rows. Without types they are those of the contract."""
    kinds = types or {name: column["type"] for name, column in contract["columns"].items()}
    return check([written(folder, format, rows, kinds)], format, declared(contract), around)
