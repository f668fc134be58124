"""What extractors write through: parts in a folder aside, in one format, counted and digested.

One call that fails spoils the run: an extractor that catches the error and repeats the call would have some rows twice.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from recoup.partitions.identity import Partition
from recoup.partitions.sink.availability import SinkRefused
from recoup.partitions.sink.folders import Folder
from recoup.partitions.sink.manifest import MAX_FILES, DataFile, FileFormat, Manifest, file_name, manifest
from recoup.partitions.sink.parts import MAX_PART_BYTES, Columns, Lines, Part, copy, lines_in, rows_in_parquet
from recoup.refusals import InputRefused

if TYPE_CHECKING:  # an extra
    import pyarrow  # type: ignore[import-untyped,unused-ignore]

FORMATS: dict[str, FileFormat] = {".parquet": "parquet", ".jsonl": "jsonl"}


class RunWriter:
    """The ``Writer`` of one run. For one thread at a time; of no use after its run is published."""

    def __init__(self, partition: Partition, run_id: UUID, folder: Folder, name: str) -> None:
        self.partition, self.run_id, self.aside = partition, run_id, name
        self._folder, self._written_at = folder, None  # type: tuple[Folder, datetime | None]
        self._format: FileFormat | None = None
        self._files: list[DataFile] = []
        self._open: Lines | Columns | None = None
        self._failed: str | None = None

    def table(self, data: "pyarrow.Table | pyarrow.RecordBatch | Iterable[pyarrow.RecordBatch]") -> None:
        """Add Arrow data, as Parquet. A change of schema begins another file."""
        with self._adding("parquet"):
            for schema, batch in _batches(data):
                part = self._columns(schema)
                if batch is not None:
                    part.add(batch)

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows, as JSON lines. No rows at all are an empty file: a day without data."""
        with self._adding("jsonl"):
            self._lines()
            for row in rows:
                self._lines().add(_line(row))

    def file(self, path: Path) -> None:
        """Add a copy of a file as it is."""
        format_ = FORMATS.get(path.suffix.lower())
        if format_ is None:
            raise InputRefused(
                "sink_format", f"The name of {path} does not end in {' or '.join(FORMATS)}.",
                "Convert it, or write its rows with writer.rows or writer.table.", path=str(path),
            )  # fmt: skip
        with self._adding(format_):
            self._finish_part()
            part = self._new_part(format_)
            try:
                copy(path, part)
                copied = part.finish()
            finally:
                part.abandon()
            rows = (
                lines_in(self._folder, copied.name) if format_ == "jsonl"
                else rows_in_parquet(self._folder, copied.name, path)
            )  # fmt: skip
            self._files.append(DataFile(name=copied.name, bytes=copied.bytes, rows=rows, sha256=copied.sha256))

    def finish(self) -> None:
        """Have all files on disk. Nothing can be added afterwards."""
        if self._written_at is None and self._failed is None:
            try:
                self._finish_part()
            except BaseException as error:
                self.abandon(error)
                raise
            self._written_at = datetime.now(UTC)

    def abandon(self, error: BaseException) -> None:
        """Close what is open and leave it aside. The run is never published from it."""
        self._failed = self._failed or type(error).__name__
        if self._open is not None:
            self._open.abandon()
            self._open = None

    def manifest(self, written_at: datetime | None) -> Manifest:
        """What was written, if all of it was."""
        if self._failed is not None:
            raise SinkRefused(
                "writing_failed",
                f"Run {self.run_id} was not written to its end ({self._failed}).",
                "Extract the partition again, under another run.",
                run_id=str(self.run_id),
            )
        self.finish()
        if self._format is None or not self._files:
            raise SinkRefused(
                "nothing_written",
                f"The extractor of run {self.run_id} wrote nothing.",
                "For a day without data call writer.rows([]), or writer.table with an empty table.",
                run_id=str(self.run_id),
            )
        at = written_at or cast(datetime, self._written_at)
        return manifest(self.partition, self.run_id, self._format, tuple(self._files), at)

    @contextmanager
    def _adding(self, format_: FileFormat) -> Iterator[None]:
        if self._written_at is not None or self._failed is not None:
            raise SinkRefused(
                "writer_closed",
                f"Run {self.run_id} takes no more data: "
                + ("an earlier call failed." if self._failed else "its writer is closed."),
                "Let the error of the extractor pass; the partition is extracted again.",
                run_id=str(self.run_id),
            )
        try:
            if self._format not in (None, format_):
                raise InputRefused(
                    "sink_format",
                    f"Run {self.run_id} is written as {self._format}, and {format_} was added.",
                    "Write one format in a run.",
                    run_id=str(self.run_id),
                )
            self._format = format_
            yield
        except BaseException as error:
            self.abandon(error)
            raise

    def _lines(self) -> Lines:
        if not isinstance(self._open, Lines) or self._open.part.size >= MAX_PART_BYTES:
            self._finish_part()
            self._open = Lines(self._new_part("jsonl"))
        return self._open

    def _columns(self, schema: Any) -> Columns:
        if (
            not isinstance(self._open, Columns)
            or self._open.part.size >= MAX_PART_BYTES
            or not self._open.schema.equals(schema, check_metadata=True)
        ):
            self._finish_part()
            self._open = Columns(self._new_part("parquet"), schema)
        return self._open

    def _new_part(self, format_: FileFormat) -> Part:
        if len(self._files) == MAX_FILES:
            raise InputRefused(
                "sink_files", f"Run {self.run_id} has more than {MAX_FILES:,} files.", "Write larger files."
            )
        return Part(self._folder, file_name(len(self._files), format_))

    def _finish_part(self) -> None:
        if self._open is not None:
            self._files.append(self._open.finish())
            self._open = None


def _batches(data: Any) -> Iterator[tuple[Any, Any]]:
    """Schema and batch, one after the other. A table without rows, or a reader, has a schema only."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise InputRefused(
            "parquet_missing",
            "Parquet files need pyarrow, which is not installed.",
            "Install the extra: pip install 'recoup[partitions]'. Or write JSON lines with writer.rows.",
        ) from error
    if isinstance(data, pa.Table | pa.RecordBatchReader):
        yield data.schema, None
    batches = [data] if isinstance(data, pa.RecordBatch) else data.to_batches() if isinstance(data, pa.Table) else data
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            raise InputRefused(
                "not_arrow",
                f"writer.table was given {type(batch).__name__}.",
                "Give a pyarrow.Table, a pyarrow.RecordBatch or several of these; rows go to writer.rows.",
            )
        yield batch.schema, batch


def _line(row: Mapping[str, Any]) -> bytes:
    try:
        plain = dict(row)
        if not all(isinstance(key, str) for key in plain):
            raise TypeError("a key is not a text")
        return (json.dumps(plain, default=_plain, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except (TypeError, ValueError, RecursionError) as error:  # among them: NaN, and half of a surrogate pair
        raise InputRefused(
            "row_not_json", f"A row cannot be written as JSON: {error}.", "Give plain values: see writer.rows."
        ) from error


def _plain(value: object) -> object:
    """A value that JSON does not have, as the text that every reader can turn back."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a value of JSON")
