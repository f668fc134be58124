"""Files that rows come from: found, opened, decompressed, and told apart.

A file comes from outside and may hold anything. Only one of which nothing can be read is refused as a whole.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, cast

from recoup.gate.importing import parquet, texts
from recoup.gate.importing.rows import Row, Source, empty, unreadable
from recoup.refusals import InputRefused

STDIN = Path("-")
_BUFFER_BYTES = 2**20
_OTHERS = (b"PAR1", "a Parquet file"), (b"PK\x03\x04", "a ZIP or Excel file"), (b"%PDF", "a PDF file")


class Format(StrEnum):
    CSV = "csv"  # separated by comma, semicolon or tab, whichever the first line has
    JSONL = "jsonl"  # one object on each line
    PARQUET = "parquet"


SUFFIXES = {
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".parquet": Format.PARQUET,
}


@contextlib.contextmanager
def opened(path: Path, format_: Format | None = None) -> Iterator[Source]:
    """The rows of a file, by the format that is given or that its name tells. ``-`` is standard input."""
    format_ = format_ or _format_of(path)
    with contextlib.ExitStack() as stack:
        file = _opened(path, stack)
        size = os.fstat(file.fileno()).st_size
        if size == 0:
            raise empty(path)
        if format_ is Format.PARQUET:
            yield parquet.opened(path, file)
            return
        with _reading(path):
            plain = _decompressed(file, stack)
            _refuse_other(path, plain.peek(4))
            # Within JSON a carriage return is white space; only a newline ends a line.
            text = stack.enter_context(texts.decoded(plain, newline="" if format_ is Format.CSV else "\n"))
            rows, ignored = texts.csv_(path, text) if format_ is Format.CSV else texts.jsonl(text)
        yield Source(noun="line", rows=_guarded(path, rows), share=lambda _: file.tell() / size, ignored=ignored)


def _format_of(path: Path) -> Format:
    name = path.name.lower().removesuffix(".gz")
    found = SUFFIXES.get(Path(name).suffix)
    if found is None:
        raise InputRefused(
            "format_unknown",
            "Standard input has no name that tells its format." if path == STDIN
            else f"The name of {path} does not tell its format.",
            f"Say it with --format: {', '.join(Format)}. Names that tell it end in {', '.join(SUFFIXES)}, or .csv.gz.",
            path=str(path),
        )  # fmt: skip
    return found


def _opened(path: Path, stack: contextlib.ExitStack) -> io.BufferedReader:
    """The file, or a copy of what comes through a pipe: a pipe may stall, and a transaction may not."""
    try:
        if path == STDIN:
            return _spooled(sys.stdin.buffer, stack)
        file: io.BufferedReader = stack.enter_context(io.BufferedReader(path.open("rb", buffering=0), _BUFFER_BYTES))
        return file if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else _spooled(file, stack)
    except FileNotFoundError as error:
        raise InputRefused("file_missing", f"There is no file {path}.", "Check the path.", path=str(path)) from error
    except IsADirectoryError as error:
        raise InputRefused(
            "file_is_folder",
            f"{path} is a folder.",
            "Name one file; import several one after the other.",
            path=str(path),
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error


def _spooled(pipe: IO[bytes], stack: contextlib.ExitStack) -> io.BufferedReader:
    copy = stack.enter_context(tempfile.TemporaryFile(buffering=_BUFFER_BYTES))  # noqa: SIM115 - closed by the stack
    shutil.copyfileobj(pipe, copy, _BUFFER_BYTES)
    copy.seek(0)
    return cast(io.BufferedReader, copy)


def _decompressed(file: io.BufferedReader, stack: contextlib.ExitStack) -> io.BufferedReader:
    """The text in it. Whether it is compressed is told by its first bytes, whatever its name says."""
    if not file.peek(2).startswith(b"\x1f\x8b"):
        return file
    unzipped = stack.enter_context(gzip.GzipFile(fileobj=file))
    return stack.enter_context(io.BufferedReader(cast(io.RawIOBase, unzipped), _BUFFER_BYTES))


def _refuse_other(path: Path, head: bytes) -> None:
    """Refuse what is no text in UTF-8 at all, before every line of it is refused on its own."""
    if not head:
        raise empty(path)
    # Two bytes for a character, or four: of the letters that a header is made of, one byte is always zero.
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in head[:4]:
        raise InputRefused(
            "file_not_utf8",
            f"{path} is not UTF-8; it looks like UTF-16 or UTF-32.",
            "Save it as UTF-8.",
            path=str(path),
        )
    for magic, what in _OTHERS:
        if head.startswith(magic):
            raise InputRefused(
                "file_of_other_format",
                f"{path} is {what}, and not the text it was taken for.",
                "Say what it is with --format, or save it as CSV.",
                path=str(path),
            )


def _guarded(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows, until the file turns out to be damaged."""
    with _reading(path):
        yield from rows


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error
