"""Files that another program delivers: found by a pattern of their names, copied or converted into the run.

``pattern = "{customer_id}/{date:%Y-%m-%d}/*.csv"`` below ``folder``. The values of a partition are inserted literally:
a customer's id is never a wildcard, and never leads to another folder. JSON lines and Parquet are copied as they are;
CSV becomes Parquet, with texts in all columns that have no type in the options.
"""

from __future__ import annotations

import glob
import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from recoup.partitions.contracts.declaration import ColumnName, ColumnType, TypeWord
from recoup.partitions.contracts.engine import arrow
from recoup.partitions.extractors.options import options_of
from recoup.partitions.interfaces import Extraction, Writer
from recoup.policy.section import Section, one_of, wrong_value
from recoup.redaction import in_words
from recoup.refusals import InputRefused

CSV, JSONL, PARQUET = "csv", "jsonl", "parquet"
SUFFIXES = {".csv": CSV, ".tsv": CSV, ".jsonl": JSONL, ".ndjson": JSONL, ".parquet": PARQUET, ".pq": PARQUET}
WRITTEN = {CSV: PARQUET, PARQUET: PARQUET, JSONL: JSONL}  # what they become in the run
NAMES = ("source", "customer_id", "query_name", "date", "window_start", "window_end")
TIMES = ("date", "window_start", "window_end")
MAX_FILES = 10_000


class FilesOptions(Section):
    """Which files, and how they are read."""

    folder: Annotated[str, Field(min_length=1, description="a folder, as an absolute path")]
    pattern: Annotated[str, Field(min_length=1, max_length=1000, description="a pattern of files below the folder")]
    format: Literal["csv", "jsonl", "parquet"] | None = None  # by the names of the files, if it is not given
    delimiter: Annotated[str, Field(min_length=1, max_length=1, description="one character")] | None = None
    types: Annotated[dict[ColumnName, TypeWord], Field(default_factory=dict)]  # of columns of a CSV file

    @field_validator("folder")
    @classmethod
    def _absolute(cls, folder: str) -> str:
        if not Path(folder).is_absolute():
            raise wrong_value("", folder, "an absolute path: a worker may be started anywhere")
        return folder

    @field_validator("pattern")
    @classmethod
    def _below_the_folder(cls, pattern: str) -> str:
        path = PurePosixPath(pattern)
        if path.is_absolute() or ".." in path.parts:
            raise wrong_value("", pattern, "a path below the folder, without ..")
        for name, form in _fields(pattern):
            if name not in NAMES:
                raise wrong_value("", pattern, f"names in braces: {one_of(name, NAMES)}")
            if form and name not in TIMES:
                raise wrong_value("", pattern, f"a format after a colon only for {', '.join(TIMES)}")
        return pattern

    @field_validator("types")
    @classmethod
    def _readable_types(cls, types: dict[str, ColumnType]) -> dict[str, ColumnType]:
        for name, type_ in types.items():
            if type_ == ColumnType.BINARY:
                raise wrong_value(name, str(type_), "another type: CSV has no bytes")
        return types


def _fields(pattern: str) -> list[tuple[str, str]]:
    """The names in braces, each with its format."""
    try:
        parsed = list(Formatter().parse(pattern))
    except ValueError as error:
        raise wrong_value("", pattern, f"names in braces; {error}") from error
    if any(conversion for *_, conversion in parsed):
        raise wrong_value("", pattern, "names in braces without a conversion such as !r")
    return [(name, form or "") for _, name, form, _ in parsed if name is not None]


def extract(extraction: Extraction, writer: Writer) -> None:
    """Add the files of a partition to its run. Raises a refusal if there are none."""
    options = options_of(extraction, FilesOptions)
    files = find(extraction, options)
    for file, format in files:
        if format == CSV:
            writer.table(_csv(file, options))
        elif file.suffix.lower() == f".{format}":
            writer.file(file)
        elif format == PARQUET:
            writer.table(_parquet(file))
        else:
            writer.rows(_rows(file))


def find(extraction: Extraction, options: FilesOptions) -> list[tuple[Path, str]]:
    """The files of a partition in the order of their names, with their formats."""
    folder, pattern = Path(options.folder), _filled(extraction, options.pattern)
    if not folder.is_dir():
        raise InputRefused(
            "folder_not_found",
            f"There is no folder {folder}.",
            "Mount it, or change the option folder.",
            path=str(folder),
        )
    names = sorted(glob.glob(pattern, root_dir=folder, recursive=True))
    files = [folder / name for name in names if (folder / name).is_file()]
    if not files:
        raise InputRefused(
            "files_not_found",
            f"No file in {folder} matches {pattern}.",
            "They may not have arrived yet; or change the option pattern.",
            folder=str(folder), pattern=pattern,
        )  # fmt: skip
    if len(files) > MAX_FILES:
        raise InputRefused(
            "files_too_many",
            f"{len(files):,} files in {folder} match {pattern}, and the maximum of a partition is {MAX_FILES:,}.",
            "Change the option pattern.",
            folder=str(folder), pattern=pattern, files=len(files),
        )  # fmt: skip
    root = folder.resolve()
    for file in files:
        if not file.resolve().is_relative_to(root):
            raise InputRefused(
                "file_outside_folder",
                f"{file} is a link to {file.resolve()}, outside of {folder}.",
                "Copy the file, or name the folder that it is in.",
                path=str(file),
            )
    return _formats(files, options.format)


def _formats(files: Sequence[Path], given: str | None) -> list[tuple[Path, str]]:
    found: list[tuple[Path, str]] = []
    for file in files:
        format = given or SUFFIXES.get(Path(file.name.lower().removesuffix(".gz")).suffix)
        if format is None:
            raise InputRefused(
                "file_format_unknown",
                f"{file} is neither CSV, JSON lines nor Parquet by its name.",
                "Give the option format: csv, jsonl or parquet.",
                path=str(file),
            )
        found.append((file, format))
    kinds = sorted({WRITTEN[format] for _, format in found})
    if len(kinds) > 1:
        raise InputRefused(
            "files_mixed",
            f"The files of one partition become {' and '.join(kinds)}: they are of different formats.",
            "Change the option pattern, so that it matches files of one format.",
            formats=kinds,
        )
    return found


def _filled(extraction: Extraction, pattern: str) -> str:
    """The pattern of one partition. What is inserted stands for itself."""
    key = extraction.partition
    values: dict[str, Any] = {
        "source": key.source, "customer_id": key.customer_id, "query_name": key.query_name, "date": key.logical_date,
        "window_start": extraction.window_start, "window_end": extraction.window_end,
    }  # fmt: skip
    filled = ""
    for text, name, form, _ in Formatter().parse(pattern):
        filled += text
        if name is None:
            continue
        value = values[name]
        filled += _time(value, form or "") if isinstance(value, date) else _escaped(name, value)
    if any(part in (".", "..") for part in filled.split("/")):  # two names next to each other may become one
        raise _not_a_name("pattern", filled)
    return filled


def _time(value: date, form: str) -> str:
    # A pattern has its own format, and may have folders in it.
    default = "%Y-%m-%dT%H:%M:%SZ" if isinstance(value, datetime) else "%Y-%m-%d"
    return glob.escape(value.strftime(form or default))


def _escaped(name: str, value: str) -> str:
    if not value or value in (".", "..") or any(sign in value for sign in "/\\\0"):
        raise _not_a_name(name, value)
    return glob.escape(value)


def _not_a_name(name: str, value: str) -> InputRefused:
    return InputRefused(
        "not_a_file_name",
        f"{name} is {in_words(repr(value))}, which is not a part of a file's name.",
        "Use an extractor of your own for this source.",
        name=name, value=value,
    )  # fmt: skip


# Reading --------------------------------------------------------------------------------------------------------------


def _csv(file: Path, options: FilesOptions) -> Iterator[Any]:
    """A CSV file, batch by batch. An empty field is null; in quotes it is an empty text."""
    pa = arrow()
    from pyarrow import csv  # type: ignore[import-untyped,unused-ignore]

    tabs = file.name.lower().removesuffix(".gz").endswith(".tsv")
    parsing = csv.ParseOptions(delimiter=options.delimiter or ("\t" if tabs else ","), newlines_in_values=True)
    try:
        with pa.input_stream(str(file), compression="detect") as source:
            header = csv.open_csv(source, parse_options=parsing).schema.names
        missing = [name for name in options.types if name not in header]
        if missing:
            raise _not_converted(file, f"there is no column {missing[0]}")
        if len(set(header)) < len(header):
            raise _not_converted(file, "two columns have the same name")
        kinds = {name: _arrow_type(options.types.get(name, ColumnType.STRING)) for name in header}
        reading = csv.ConvertOptions(
            column_types=kinds, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
            true_values=["true", "True", "TRUE", "1"], false_values=["false", "False", "FALSE", "0"],
        )  # fmt: skip
        # A file without rows has columns too.
        yield pa.RecordBatch.from_pylist([], schema=pa.schema(kinds.items()))
        with pa.input_stream(str(file), compression="detect") as source:
            yield from csv.open_csv(source, parse_options=parsing, convert_options=reading)
    except pa.ArrowException as error:
        raise _not_converted(file, in_words(error)) from error


def _arrow_type(type_: ColumnType) -> Any:
    pa = arrow()
    made: Mapping[ColumnType, Callable[[], Any]] = {
        ColumnType.INTEGER: pa.int64,
        ColumnType.NUMBER: pa.float64,
        ColumnType.DECIMAL: lambda: pa.decimal128(38, 9),
        ColumnType.BOOLEAN: pa.bool_,
        ColumnType.DATE: pa.date32,
        ColumnType.TIME: lambda: pa.time64("us"),
        ColumnType.TIMESTAMP: lambda: pa.timestamp("us", "UTC"),
        ColumnType.LOCAL_TIMESTAMP: lambda: pa.timestamp("us"),
    }
    return made.get(type_, pa.string)()


def _parquet(file: Path) -> Iterator[Any]:
    pa = arrow()
    from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]

    try:
        read = parquet.ParquetFile(file)
        yield pa.RecordBatch.from_pylist([], schema=read.schema_arrow)  # as above
        yield from read.iter_batches()
    except pa.ArrowException as error:
        raise _not_converted(file, in_words(error)) from error


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    zipped = file.name.lower().endswith(".gz")
    with gzip.open(file) if zipped else file.open("rb") as source:
        for number, line in enumerate(source, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise _not_converted(file, f"line {number:,}: {error}") from error
            if not isinstance(row, dict):
                raise _not_converted(file, f"line {number:,} is not an object")
            yield row


def _not_converted(file: Path, problem: str) -> InputRefused:
    return InputRefused(
        "file_not_converted",
        f"{file} cannot be read: {problem.rstrip('.')}.",
        "Have it delivered again, or change the options of the extractor.",
        path=str(file),
    )
