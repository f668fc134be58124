"""Rows out of text: CSV and JSONL, in UTF-8.

What cannot be read as a row is a broken row, and reading goes on behind it. However long a line is, however many lines
an open quote swallows, what is held of a row is bounded.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, BinaryIO, cast

from recoup.gate.importing.rows import NOT_UTF8, Broken, Reason, Row, empty, is_utf8, no_name, places
from recoup.refusals import InputRefused

# Of a line of JSONL, or of a CSV row over all its lines. It is also the csv module's own limit for one field.
ROW_CHARS_MOST = 131_072
LINE_CHARS_MOST = 2**30  # a line that goes on for longer is not looked through to its end
HEADS_MOST = 100  # different sets of keys in one JSONL file that are remembered


class _Lines:
    """The lines of a text. Of a line that is too long only the beginning is given; the rest is passed over."""

    def __init__(self, text: IO[str], *, ends: tuple[str, ...]) -> None:
        self._readline = text.readline
        self._ends = ends
        self.number = 0
        self.cut = False

    def read(self) -> str:
        """The next line, with its end; nothing after the last one."""
        line = self._readline(ROW_CHARS_MOST + 1)
        self.number += 1
        self.cut = len(line) > ROW_CHARS_MOST
        if self.cut and not line.endswith(self._ends):
            self._skip()
        return line

    def _skip(self) -> None:
        skipped = 0
        while rest := self._readline(ROW_CHARS_MOST):
            skipped += len(rest)
            if rest.endswith(self._ends):
                return
            if skipped > LINE_CHARS_MOST:
                raise InputRefused(
                    "line_endless",
                    f"Line {self.number} goes on for more than {LINE_CHARS_MOST:,} characters.",
                    "Look at the file: this is not a list of companies.",
                    line=self.number,
                )


def decoded(file: IO[bytes], *, newline: str) -> io.TextIOWrapper:
    """Text of which every byte is kept: what is no UTF-8 is found in its row, and spoils no other."""
    return io.TextIOWrapper(cast(BinaryIO, file), encoding="utf-8-sig", errors="surrogateescape", newline=newline)


def jsonl(text: IO[str]) -> tuple[Iterator[Row], dict[str, None]]:
    """The rows of a JSONL file; the columns that are ignored are known when they have been read."""
    ignored: dict[str, None] = {}
    return _jsonl_rows(_Lines(text, ends=("\n",)), ignored), ignored


def _jsonl_rows(lines: _Lines, ignored: dict[str, None]) -> Iterator[Row]:
    heads: dict[tuple[str, ...], tuple[str | None, ...]] = {}  # rows have mostly the same keys
    while line := lines.read():
        if line.isspace():
            continue
        number = lines.number
        found, broken = (None, _too_long(line)) if lines.cut else _object(line)
        if found is None:
            yield Row(number, (), line, broken)
            continue
        head = tuple(found)
        keys = heads.get(head)
        if keys is None:
            try:
                keys = tuple(None if place is None else head[place] for place in places(head, ignored))
            except InputRefused as refusal:
                yield Row(number, (), line, (Reason.COLUMNS_AMBIGUOUS, refusal.happened))
                continue
            if len(heads) < HEADS_MOST:
                heads[head] = keys
        yield Row(number, [None if key is None else found[key] for key in keys], line)


def _object(line: str) -> tuple[dict[str, object] | None, Broken | None]:
    """The object on a line, or what is wrong with the line."""
    if not is_utf8(line):
        return None, NOT_UTF8
    try:
        found = json.loads(line)
    except RecursionError:
        return None, (Reason.JSON_MALFORMED, "It is nested too deeply.")
    except ValueError as error:  # also a number of more digits than Python takes
        return None, (Reason.JSON_MALFORMED, f"It is not JSON: {error}.")
    if not isinstance(found, dict):
        return None, (Reason.JSON_MALFORMED, "It is JSON, and not an object with keys and values.")
    return found, None


class _CsvLines:
    """Hands lines to the csv reader, keeps those of the present row, and stops a row that does not end."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines
        self.begin()

    def begin(self) -> None:
        self.kept: list[str] = []
        self._chars = 0

    @property
    def first(self) -> int:
        """The line in which the present row begins."""
        return self._lines.number - len(self.kept) + 1

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        line = self._lines.read()
        if not line:
            self._lines.number -= 1
            raise StopIteration
        self.kept.append(line)
        self._chars += len(line)
        if self._chars > ROW_CHARS_MOST:
            raise _RowTooLong("it does not end")
        return line


class _RowTooLong(Exception):  # noqa: N818 - it is no error, but the end of a row
    pass


def csv_(path: Path, text: IO[str]) -> tuple[Iterator[Row], dict[str, None]]:
    """The rows of a CSV file behind its header, and the columns that are ignored."""
    fed = _CsvLines(_Lines(text, ends=("\n", "\r")))
    try:
        first = next((line for line in fed if not line.isspace()), "")
        delimiter = _delimiter(first)
        header = next(csv.reader(chain([first], fed), delimiter=delimiter, strict=True))
    except (csv.Error, _RowTooLong) as error:
        raise InputRefused(
            "header_unreadable",
            f"The first line of {path} is not a line of column names: {error}.",
            "Begin the file with a line of column names.",
            path=str(path),
        ) from error
    if not header:
        raise empty(path)
    ignored: dict[str, None] = {}
    where = places(header, ignored)
    if where[0] is None:
        raise no_name(path, header)
    # Strict: a quote in the wrong place is told, instead of guessed at.
    reader = csv.reader(fed, delimiter=delimiter, strict=True)
    return _csv_rows(reader, fed, len(header), where), ignored


def _csv_rows(reader: Iterator[list[str]], fed: _CsvLines, width: int, where: Sequence[int | None]) -> Iterator[Row]:
    # Behind the fields of a row stands None, for the columns that the file does not have.
    chosen = itemgetter(*(width if place is None else place for place in where))
    while True:
        fed.begin()
        fields: list[str] = []
        broken: Broken | None = None
        try:
            fields = next(reader)
        except StopIteration:
            return
        except _RowTooLong:
            broken = _too_long("".join(fed.kept))
        except csv.Error as error:
            broken = Reason.CSV_MALFORMED, f"It is not CSV: {error}."
        raw = fed.kept[0] if len(fed.kept) == 1 else "".join(fed.kept)
        if broken is None and not fields:
            continue  # an empty line
        if broken is None and len(fields) != width:
            broken = Reason.CSV_MALFORMED, f"It has {_counted(len(fields), 'field')}; the header has {width}."
        if broken is None and not is_utf8(raw):
            broken = NOT_UTF8
        yield Row(fed.first, () if broken else chosen((*fields, None)), raw, broken)


def _delimiter(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(",;\t", key=bare.count)


def _too_long(row: str) -> Broken:
    quote = " Perhaps a quote is not closed." if row.count('"') % 2 else ""
    return Reason.ROW_TOO_LONG, f"It has more than {ROW_CHARS_MOST:,} characters.{quote}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
