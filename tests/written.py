"""Files of companies in every format, and a bound for what reading them may hold."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
from pyarrow import parquet

HEADER = ("company_name", "company_domain", "linkedin_url", "state")
Values = tuple[str | None, ...]
Write = Callable[[str, bytes], Path]
COMPANIES: list[Values] = [
    ("Acme", "acme.example.com", "https://linkedin.example/acme", "TX"),
    ('Müller & "Söhne", LLC', "müller.example.com", None, "Ohio"),
    ("  Two\nlines; and a\ttab ", None, None, None),
    ("株式会社", None, None, "ME"),
]
MAX_MEMORY = 16_000_000


def as_csv(rows: Iterable[Sequence[object]], *, header: Sequence[str] = HEADER, delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def as_jsonl(rows: Iterable[Sequence[object]]) -> bytes:
    return b"".join(json.dumps(dict(zip(HEADER, row, strict=True))).encode() + b"\n" for row in rows)


def as_parquet(rows: Sequence[Sequence[object]], kind: Any = None) -> bytes:
    columns = zip(*rows, strict=True) if rows else ((),) * 4
    return parquet_of(
        pa.table({name: pa.array(values, kind or pa.string()) for name, values in zip(HEADER, columns, strict=True)})
    )


def parquet_of(table: Any) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, row_group_size=1000)
    return buffer.getvalue()


WRITTEN: dict[str, Callable[..., bytes]] = {"csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}


def many(count: int) -> list[Values]:
    return [(f"Company {n}", f"company{n}.example.com", None, "TX") for n in range(count)]


@contextlib.contextmanager
def bounded(most: int = MAX_MEMORY) -> Iterator[None]:
    """What Python holds inside the block stays far below what the file holds."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most
