"""Partitions, runs and sinks that the tests of the sink share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from recoup.partitions.identity import Partition
from recoup.partitions.sink import Published, Sink

PARTITION = Partition("ads", "acme", "spend", date(2026, 3, 1))
ROWS = ({"day": 1, "spend": 10.5}, {"day": 2, "spend": None})


def publish(
    sink: Sink, run_id: UUID | None = None, rows: Iterable[Mapping[str, Any]] = ROWS, partition: Partition = PARTITION
) -> Published:
    with sink.writing(partition, run_id or uuid4()) as writer:
        writer.rows(rows)
    return sink.publish(writer)


def asides(sink: Sink) -> list[Path]:
    return sorted((sink.root / ".aside").iterdir())


def writable(run: Path) -> None:
    """Give up the protection of a published run, as one who tampers with it would."""
    run.chmod(0o755)
    for file in run.iterdir():
        file.chmod(0o644)
