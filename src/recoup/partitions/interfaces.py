"""What extractors and validators are given, and what they answer. Both are functions of yours, or shipped ones.

An extractor is called with an ``Extraction`` and a ``Writer``, and writes the data of one partition; what it returns is
ignored, what it raises is kept as the message of its run. A validator is called with a ``Validation`` and answers with
a ``Verdict``; one that raises has rejected the partition.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from uuid import UUID

from recoup.partitions.identity import Partition

if TYPE_CHECKING:  # an extra
    import pyarrow  # type: ignore[import-untyped,unused-ignore]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """One extraction: which partition, under which run, and which instants its day covers in the source's time zone."""

    partition: Partition
    run_id: UUID
    window_start: datetime  # included; in UTC
    window_end: datetime  # not included; 23 to 25 hours later
    options: Mapping[str, Any] = field(default_factory=dict)  # what the policy gives the extractor
    alternative: Mapping[str, Any] | None = None  # of a fallback: what to do differently


class Writer(Protocol):
    """Where an extractor writes. Several calls add up; nothing is visible before the run is published."""

    def table(self, data: "pyarrow.Table | pyarrow.RecordBatch | Iterable[pyarrow.RecordBatch]") -> None:
        """Add Arrow data, as Parquet."""

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows, as JSON lines."""

    def file(self, path: Path) -> None:
        """Add a copy of a file as it is (.parquet or .jsonl)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One rule that the data breaks: how many rows do, and a few of them."""

    rule: str
    count: int
    message: str
    sample: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """One published run, to be judged. Its files are read-only, and their digests are compared again afterwards."""

    partition: Partition
    run_id: UUID
    window_start: datetime
    window_end: datetime
    folder: Path
    files: tuple[Path, ...]
    format: str  # parquet or jsonl
    rows: int
    extracted_at: datetime
    now: datetime
    previous_rows: int | None = None  # of the current run of the nearest earlier date
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a validator says of a run as a whole."""

    accepted: bool
    reason: str | None = None  # of a rejection: a code such as CONTRACT_BROKEN
    rule: str | None = None  # the first rule that is broken
    message: str | None = None
    findings: tuple[Finding, ...] = ()


Extractor: TypeAlias = Callable[[Extraction, Writer], object]
Validator: TypeAlias = Callable[[Validation], Verdict]
