"""The manifest of a run: which files it consists of, with rows, bytes and digests. Written last, read strictly.

A manifest has one form, to the byte, so that its digest stands for its content and for that of every file it lists.
What is read comes from a disk that others can write to: anything else than that form is not a manifest.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import Field, TypeAdapter, ValidationError

from recoup.partitions.identity import Partition
from recoup.partitions.sink import paths
from recoup.refusals import InputRefused

NAME = "manifest.json"
MAX_FILES = 100_000  # as their names have five digits
MAX_BYTES = 2**25
FileFormat: TypeAlias = Literal["parquet", "jsonl"]
Count: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]  # as the database stores it


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file of a run."""

    name: str
    bytes: Count
    rows: Count
    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a run consists of."""

    partition: Partition
    run_id: UUID
    format: FileFormat
    files: tuple[DataFile, ...]
    rows: Count
    bytes: Count
    written_at: datetime
    format_version: Literal[1] = 1

    @property
    def digest(self) -> str:
        """SHA-256 of the manifest, and through the digests in it of all data of the run."""
        return hashlib.sha256(_rendered(_facts(self))).hexdigest()

    def same_data(self, other: "Manifest") -> bool:
        """Whether both are of one run with the same data, whenever each was written."""
        return replace(self, written_at=other.written_at) == other


def file_name(number: int, format_: FileFormat) -> str:
    return f"part-{number:05}.{format_}"


def manifest(
    partition: Partition, run_id: UUID, format_: FileFormat, files: tuple[DataFile, ...], written_at: datetime
) -> Manifest:
    """The manifest of these files."""
    return Manifest(
        partition=partition, run_id=run_id, format=format_, files=files, rows=sum(file.rows for file in files),
        bytes=sum(file.bytes for file in files), written_at=written_at.astimezone(UTC),
    )  # fmt: skip


def rendered(one: Manifest) -> bytes:
    """The manifest as a file, with its own digest at the end."""
    return _rendered({**_facts(one), "digest": one.digest})


def parse(content: bytes) -> Manifest | None:
    """The manifest with this content, or None when it is not exactly one."""
    try:
        found = _MANIFEST.validate_json(content, strict=True)
        found = replace(found, written_at=found.written_at.astimezone(UTC))
        if rendered(found) != content:  # also: unknown keys, another order, a digest that is not its own
            return None
        paths.folders(found.partition)
    except (ValidationError, InputRefused, UnicodeEncodeError, OverflowError):
        return None
    named = all(file.name == file_name(number, found.format) for number, file in enumerate(found.files))
    same = manifest(found.partition, found.run_id, found.format, found.files, found.written_at) == found
    return found if named and same and 0 < len(found.files) <= MAX_FILES else None


_MANIFEST = TypeAdapter(Manifest)


def _facts(one: Manifest) -> dict[str, Any]:
    return {
        "format_version": one.format_version,
        "partition": {**one.partition._asdict(), "logical_date": one.partition.logical_date.isoformat()},
        "run_id": str(one.run_id),
        "format": one.format,
        "rows": one.rows,
        "bytes": one.bytes,
        "written_at": one.written_at.isoformat(),
        "files": [
            {"name": file.name, "bytes": file.bytes, "rows": file.rows, "sha256": file.sha256} for file in one.files
        ],
    }


def _rendered(facts: dict[str, Any]) -> bytes:
    return (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode()
