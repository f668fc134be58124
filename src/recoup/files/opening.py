"""Opening files of rows: find, decompress, detect the format."""

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
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import IO, cast

from recoup.files import parquet, texts
from recoup.files.rows import Row, Source, Wanted
from recoup.refusals import InputRefused

STDIN = Path("-")
_BUFFER_BYTES = 2**20
_OTHERS = (b"PAR1", "a Parquet file"), (b"PK\x03\x04", "a ZIP or Excel file"), (b"%PDF", "a PDF file")


class Format(StrEnum):
    CSV = "csv"  # separated by comma, semicolon or tab, as in the first line
    JSONL = "jsonl"  # one object on each line
    PARQUET = "parquet"


SUFFIXES = {
    ".csv": Format.CSV, ".tsv": Format.CSV, ".jsonl": Format.JSONL, ".ndjson": Format.JSONL, ".parquet": Format.PARQUET
}  # fmt: skip


def format_named(path: Path) -> Format | None:
    """The format that a file's name implies."""
    return SUFFIXES.get(Path(path.name.lower().removesuffix(".gz")).suffix)


@contextlib.contextmanager
def opened(path: Path, wanted: Wanted, format_: Format | None = None) -> Iterator[Source]:
    """The rows of a file, by the given format or that of its name. ``-`` is standard input."""
    format_ = format_ or format_named(path)
    if format_ is None:
        raise InputRefused(
            "format_unknown",
            "Standard input has no file name that implies its format." if path == STDIN
            else f"The name of {path} does not imply its format.",
            f"Give it with --format: {', '.join(Format)}. Known endings: {', '.join(SUFFIXES)}, or .csv.gz.",
            path=str(path),
        )  # fmt: skip
    with contextlib.ExitStack() as stack:
        with _reading(path):
            source = _source(path, wanted, format_, stack)
        yield replace(source, rows=_guarded(path, source.rows))


def _source(path: Path, wanted: Wanted, format_: Format, stack: contextlib.ExitStack) -> Source:
    file, size = _opened(path, stack, whole=format_ is Format.PARQUET or not wanted.streamed)
    noun = "row" if format_ is Format.PARQUET else "line"
    head = file if format_ is Format.PARQUET else _decompressed(file, stack)
    if not head.peek(1):
        return Source(noun=noun, missing=wanted.required, ignored={}, rows=iter(()), share=lambda _: 1.0)
    if format_ is Format.PARQUET:
        return parquet.source(path, file, wanted)
    _refuse_other(path, head.peek(4)[:4])
    # Every byte is kept: bytes that are not UTF-8 are reported in their row alone. Within JSON a carriage return is
    # white space; only a newline ends a line.
    newline = "" if format_ is Format.CSV else "\n"
    text = io.TextIOWrapper(head, encoding="utf-8-sig", errors="surrogateescape", newline=newline)
    stack.callback(text.detach)  # the stream that it reads is closed by its opener
    rows = texts.csv_source(path, text, wanted) if format_ is Format.CSV else texts.jsonl_source(text, wanted)
    return replace(rows, share=lambda _: None if size is None else min(file.tell() / max(size, 1), 1.0))


def _opened(path: Path, stack: contextlib.ExitStack, *, whole: bool) -> tuple[io.BufferedReader, int | None]:
    """The file and its size. A pipe, which may stall, is copied first if the format needs the whole file."""
    if path == STDIN:
        if sys.stdin is None:
            raise OSError("standard input is closed")
        file, regular = cast(io.BufferedReader, sys.stdin.buffer), False
    else:
        file = stack.enter_context(io.BufferedReader(path.open("rb", buffering=0), _BUFFER_BYTES))
        regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    if not regular and not whole:
        return file, None
    file = file if regular else _spooled(file, stack)
    return file, os.fstat(file.fileno()).st_size


def _spooled(pipe: IO[bytes], stack: contextlib.ExitStack) -> io.BufferedReader:
    copy = stack.enter_context(tempfile.TemporaryFile(buffering=_BUFFER_BYTES))  # noqa: SIM115 - closed by the stack
    shutil.copyfileobj(pipe, copy, _BUFFER_BYTES)
    copy.seek(0)
    return cast(io.BufferedReader, copy)


def _decompressed(file: io.BufferedReader, stack: contextlib.ExitStack) -> io.BufferedReader:
    """The text of the file. Its first bytes decide whether it is compressed, not its name."""
    if not file.peek(2).startswith(b"\x1f\x8b"):
        return file
    unzipped = stack.enter_context(gzip.GzipFile(fileobj=file))
    # A small buffer: what it has read ahead of damaged data is lost.
    return stack.enter_context(io.BufferedReader(cast(io.RawIOBase, unzipped), 2**16))


def _refuse_other(path: Path, head: bytes) -> None:
    """Refuse a file that is not UTF-8 text at all, instead of refusing each of its lines."""
    # Two bytes for a character, or four: in header letters one byte is always zero, but not all are.
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or (b"\0" in head and any(head)):
        happened = f"{path} is not UTF-8; it looks like UTF-16 or UTF-32."
        raise InputRefused("file_not_utf8", happened, "Save it as UTF-8.", path=str(path))
    for magic, what in _OTHERS:
        if head.startswith(magic):
            happened = f"{path} is {what}, not text."
            raise InputRefused(
                "file_of_other_format", happened, "Give its format with --format, or save it as CSV.", path=str(path)
            )


def _guarded(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows, until the file turns out to be damaged."""
    with _reading(path):
        yield from rows


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InputRefused("file_missing", f"There is no file {path}.", "Check the path.", path=str(path)) from error
    except IsADirectoryError as error:
        happened = f"{path} is a folder."
        raise InputRefused(
            "file_is_folder", happened, "Name one file; import several files one after the other.", path=str(path)
        ) from error
    except (OSError, EOFError, zlib.error, parquet.Damaged) as error:
        raise InputRefused(
            "file_unreadable",
            f"{path} cannot be read: {parquet.first_line(error)}.",
            "Check that it is complete and that you may read it. Nothing was imported.",
            path=str(path),
        ) from error
