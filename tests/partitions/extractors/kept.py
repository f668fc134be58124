"""A writer that keeps what an extractor writes, and extractions to give it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

from recoup.partitions.identity import Partition
from recoup.partitions.interfaces import Extraction

DAY = date(2026, 3, 1)
START = datetime(2026, 3, 1, tzinfo=UTC)


class Kept:
    """What was written."""

    def __init__(self) -> None:
        self.batches: list[Any] = []
        self.lines: list[Mapping[str, Any]] = []
        self.files: list[Path] = []

    def table(self, data: Any) -> None:
        self.batches += data

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.lines += rows

    def file(self, path: Path) -> None:
        self.files.append(path)

    @property
    def read(self) -> Any:
        return pa.Table.from_batches(self.batches)


def extraction(
    options: Mapping[str, Any], *, customer: str = "c-1", alternative: Mapping[str, Any] | None = None
) -> Extraction:
    return Extraction(
        partition=Partition("shop", customer, "orders", DAY), run_id=uuid4(), window_start=START,
        window_end=START + timedelta(days=1), options=options, alternative=alternative,
    )  # fmt: skip
