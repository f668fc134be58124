"""Rows out of Parquet files, some thousand at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from pathlib import Path
from typing import IO, Any

from recoup.gate.importing.rows import NOT_UTF8, Row, Source, first_line, is_utf8, no_name, places, unreadable
from recoup.refusals import InputRefused

BATCH_ROWS = 2_000
CHUNK_BYTES_MOST = 2**30  # of one column in one row group, decompressed
_BUFFER_BYTES = 2**20


def opened(path: Path, file: IO[bytes]) -> Source:
    """A Parquet file, if it is one and its columns hold text."""
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
        # Read page by page: buffered ahead, a whole row group would be held.
        found = parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER_BYTES)
    except (pa.ArrowException, OSError) as error:
        raise InputRefused(
            "file_not_parquet",
            f"{path} is not a Parquet file, or not a whole one: {first_line(error).rstrip('.')}.",
            "Write it again; or say what it is with --format.",
            path=str(path),
        ) from error
    names, ignored = found.schema_arrow.names, dict[str, None]()
    where = places(names, ignored)
    if where[0] is None:
        raise no_name(path, names)
    ours = [None if place is None else names[place] for place in where]
    _check(path, found, [name for name in ours if name is not None])
    total = found.metadata.num_rows
    rows = _rows(path, found, ours)
    return Source(noun="row", rows=rows, share=lambda read: read / max(total, 1), ignored=ignored)


def _rows(path: Path, found: Any, ours: Sequence[str | None]) -> Iterator[Row]:
    import pyarrow as pa

    names = [name for name in ours if name is not None]
    number = 0
    try:
        for batch in found.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
            columns = [repeat(None) if name is None else _texts(batch.column(name)) for name in ours]
            for values in islice(zip(*columns, strict=False), batch.num_rows):
                number += 1
                raw = {name: value for name, value in zip(ours, values, strict=True) if name is not None}
                well = all(value is None or is_utf8(value) for value in values)
                yield Row(number, values, raw, None if well else NOT_UTF8)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from error


def _check(path: Path, found: Any, ours: Sequence[str]) -> None:
    """Refuse columns that hold no text, and a column of which one piece would fill the memory."""
    import pyarrow as pa

    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    for name in ours:
        kind = found.schema_arrow.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        # Older writers mark text as plain bytes.
        if not any(is_text(kind) for is_text in (*texts, pa.types.is_binary, pa.types.is_large_binary)):
            raise InputRefused(
                "column_not_text",
                f"Column {name} of {path} holds {kind}.",
                "Write it as text.",
                path=str(path),
                column=name,
            )
    for group in range(found.metadata.num_row_groups):
        about = found.metadata.row_group(group)
        for chunk in map(about.column, range(about.num_columns)):
            if chunk.path_in_schema in ours and chunk.total_uncompressed_size > CHUNK_BYTES_MOST:
                raise InputRefused(
                    "row_group_too_large",
                    f"Column {chunk.path_in_schema} of {path} has more than {CHUNK_BYTES_MOST:,} bytes in a row group.",
                    "Write the file with smaller row groups.",
                    path=str(path),
                )


def _texts(column: Any) -> list[str | None]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not pa.types.is_binary(column.type) and not pa.types.is_large_binary(column.type):
        with contextlib.suppress(UnicodeDecodeError):
            decoded: list[str | None] = column.to_pylist()
            return decoded
        column = column.cast(pa.large_binary())
    return [None if value is None else value.decode("utf-8", "surrogateescape") for value in column.to_pylist()]
