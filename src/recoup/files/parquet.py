"""Rows out of Parquet files, a hundred at a time."""

import contextlib
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import IO, Any

from recoup.files.rows import NOT_UTF8, Row, Source, Wanted, escaped, is_utf8, too_long
from recoup.refusals import InputRefused

BATCH_ROWS = 100  # few: the file may store one long text once for all of them
MAX_CHUNK_BYTES = 2**30  # of one column in one row group, decompressed
MAX_LISTED = 2**26  # values in the lists of one column in one row group
TEXTS = ("string", "large_string", "string_view", "binary", "large_binary")  # older writers mark text as plain bytes
_BUFFER_BYTES = 2**20


class Damaged(Exception):  # noqa: N818 - describes a file
    """The file cannot be read to its end."""


def source(path: Path, file: IO[bytes], wanted: Wanted) -> Source:
    """A Parquet file, if it is valid and no part of it would fill the memory."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
        from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise InputRefused(
            "parquet_missing",
            "Parquet files need pyarrow, which is not installed.",
            "Install the extra: pip install 'recoup[parquet]'. Or save the file as CSV.",
        ) from error
    try:
        # Read page by page: read-ahead would hold a whole row group.
        found = parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER_BYTES)
        schema, about = found.schema_arrow, found.metadata
    except (pa.ArrowException, OSError) as error:
        happened = f"{path} is not a complete Parquet file: {first_line(error).rstrip('.')}."
        raise InputRefused(
            "file_not_parquet", happened, "Write it again, or give its format with --format.", path=str(path)
        ) from error
    ignored: dict[str, None] = {}
    picked = wanted.picked(schema.names, ignored)
    _refuse_other_types(path, [schema.field(place) for _, place in picked if wanted.only_text])
    _refuse_large_groups(path, about, {schema.names[place] for _, place in picked})
    return Source(
        noun="row",
        header=schema.names,
        missing=wanted.missing(picked),
        ignored=ignored,
        rows=_rows(found, wanted, [(name, schema.names[place]) for name, place in picked]),
        share=lambda read: read / max(about.num_rows, 1),
    )


def _refuse_other_types(path: Path, columns: Sequence[Any]) -> None:
    for column in columns:
        if _kind(column) not in (*TEXTS, "null"):
            happened = f"Column {column.name} of {path} holds {_kind(column)}."
            raise InputRefused("column_not_text", happened, "Write it as text.", path=str(path), column=column.name)


def _refuse_large_groups(path: Path, about: Any, columns: set[str]) -> None:
    for group in map(about.row_group, range(about.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            name, most = chunk.path_in_schema, ""
            if chunk.total_uncompressed_size > MAX_CHUNK_BYTES:
                most = f"{MAX_CHUNK_BYTES:,} bytes"
            elif chunk.num_values - group.num_rows > MAX_LISTED:
                most = f"{MAX_LISTED:,} values in lists"
            # A nested column has the names of all its levels, and a name may contain a dot.
            if most and any(f"{name}.".startswith(f"{column}.") for column in columns):
                happened = f"Column {name} of {path} has more than {most} in a row group."
                raise InputRefused(
                    "row_group_too_large", happened, "Write the file with smaller row groups.", path=str(path)
                )


def _rows(found: Any, wanted: Wanted, picked: Sequence[tuple[str, str]]) -> Iterator[Row]:
    import pyarrow as pa

    names, columns = [name for name, _ in picked], [column for _, column in picked]
    every, number = wanted.columns is None, count(1)
    try:
        for batch in found.iter_batches(BATCH_ROWS, columns=None if every else columns, use_threads=False):
            values = (_values(batch.column(column), every_type=every) for column in columns)
            for row in zip(*values, strict=True):
                ours, raw = dict(zip(names, row, strict=True)), dict(zip(columns, row, strict=True))
                yield _checked(Row(next(number), ours, raw), wanted)
    except (pa.ArrowException, ValueError, OverflowError) as error:  # the latter two: Python has no such value
        raise Damaged(first_line(error)) from error


def _checked(row: Row, wanted: Wanted) -> Row:
    if not all(is_utf8(value) for value in row.values.values() if isinstance(value, str)):
        return row._replace(values={}, broken=NOT_UTF8)
    if wanted.columns is None and row.chars > wanted.row_chars_most:
        return row._replace(values={}, broken=too_long(wanted.row_chars_most))
    return row


def _values(column: Any, *, every_type: bool) -> list[Any]:
    """The values of a column in Python; a value that Python cannot represent becomes a text in brackets."""
    import pyarrow as pa

    kind = _kind(column)
    if kind != str(column.type):
        column = column.dictionary_decode()
    if kind in TEXTS:
        return [text and escaped(text) for text in _texts(column)] if every_type else _texts(column)
    if every_type and kind.startswith(("timestamp", "date", "time")):  # Python's end in 9999, and at microseconds
        utc = "Z" if "tz=" in kind else ""
        column = column.view(pa.timestamp(column.type.unit)) if utc else column
        return [text and text + utc for text in column.cast(pa.string()).to_pylist()]
    return [_worded(value) for value in column] if every_type else list(column.to_pylist())


def _texts(column: Any) -> list[str | None]:
    """Bytes that are not UTF-8 become surrogates: a file may declare as text what is not."""
    import pyarrow as pa

    with contextlib.suppress(UnicodeDecodeError):
        if "binary" not in str(column.type):
            return list(column.to_pylist())
    values = column.cast(pa.large_binary()).to_pylist()
    return [None if value is None else value.decode("utf-8", "surrogateescape") for value in values]


def _worded(value: Any) -> object:
    try:
        return value.as_py()
    except (ValueError, OverflowError):
        return f"[{value.type} that cannot be read]"


def _kind(of: Any) -> str:
    """The name of a column's type; of a dictionary, that of its values."""
    name = str(of.type)
    return str(of.type.value_type) if name.startswith("dictionary<") else name


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
