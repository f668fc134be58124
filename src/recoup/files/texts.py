"""Rows out of text: CSV and JSONL, in UTF-8.

Memory per row is bounded, however long a line is and however many lines an unclosed quote spans.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO

from recoup.files.rows import NOT_UTF8, Broken, Row, Source, Unread, Wanted, is_utf8, too_long
from recoup.refusals import InputRefused

MAX_LINE_CHARS = 2**30  # a longer line is not read to its end
MAX_HEADS = 100  # different sets of keys in one JSONL file that are remembered
Values = dict[str, object]


def jsonl_source(text: IO[str], wanted: Wanted) -> Source:
    """The rows of a JSONL file; the ignored columns are known after reading."""
    lines = _Lines(text, wanted.row_chars_most, ends=("\n",))
    ignored: dict[str, None] = {}
    heads: dict[tuple[str, ...], list[tuple[str, int]]] = {}  # most rows have the same keys

    def read() -> Values | Broken | None:
        found = _object(next(lines))
        if not isinstance(found, dict) or wanted.columns is None:
            return found
        head = tuple(found)
        try:
            picked = heads.get(head) or wanted.picked(head, ignored)
        except InputRefused as refusal:
            return Unread.COLUMNS_AMBIGUOUS, refusal.happened
        if len(heads) < MAX_HEADS:
            heads[head] = picked
        return {name: found[head[place]] for name, place in picked}

    return Source(noun="line", ignored=ignored, rows=_rows(lines, read), share=lambda _: None)


def _object(line: str) -> Values | Broken | None:
    """The object on a line, or the problem of the line."""
    if line.isspace():
        return None
    if not is_utf8(line):
        return NOT_UTF8
    try:
        found = json.loads(line)
    except RecursionError:
        return Unread.JSON_MALFORMED, "It is nested too deeply."
    except ValueError as error:  # also a number with more digits than Python accepts
        return Unread.JSON_MALFORMED, f"It is not JSON: {error}."
    if not isinstance(found, dict):
        return Unread.JSON_MALFORMED, "It is JSON, but not an object with keys and values."
    return found


def csv_source(path: Path, text: IO[str], wanted: Wanted) -> Source:
    """The rows of a CSV file after its header."""
    # For the whole process; never lowered, because another file may be open.
    csv.field_size_limit(max(csv.field_size_limit(), wanted.row_chars_most))
    lines = _Lines(text, wanted.row_chars_most, ends=("\n", "\r"))
    try:
        first = next((line for line in lines if not line.isspace()), "")
        delimiter = max(",;\t", key=re.sub(r'"[^"]*"', "", first).count)
        header = next(csv.reader(chain([first], lines), delimiter=delimiter, strict=True))
    except (csv.Error, _RowTooLong) as error:
        happened = f"The first line of {path} is not a line of column names: {error}."
        raise InputRefused(
            "header_unreadable", happened, "Start the file with a line of column names.", path=str(path)
        ) from error
    ignored: dict[str, None] = {}
    picked = wanted.picked(header, ignored)
    # Strict: a misplaced quote is reported, not guessed.
    reader = csv.reader(lines, delimiter=delimiter, strict=True)

    def read() -> Values | Broken | None:
        try:
            fields = next(reader)
        except csv.Error as error:
            return Unread.CSV_MALFORMED, f"It is not CSV: {error}."
        if not fields:
            return None
        if len(fields) != len(header):
            count = f"{len(fields):,} field" + ("" if len(fields) == 1 else "s")
            return Unread.CSV_MALFORMED, f"It has {count}; the header has {len(header)}."
        if not all(map(is_utf8, lines.kept)):
            return NOT_UTF8
        return {name: fields[place] or None for name, place in picked}  # an empty cell counts as no value

    missing = wanted.missing(picked)
    rows = _rows(lines, read)
    return Source(noun="line", header=header, missing=missing, ignored=ignored, rows=rows, share=lambda _: None)


class _RowTooLong(Exception):  # noqa: N818 - not an error, but the end of a row
    pass


class _Lines:
    """The lines of a text. Keeps the beginning of each line of the current row, and stops a row that does not end."""

    def __init__(self, text: IO[str], most: int, *, ends: tuple[str, ...]) -> None:
        self._readline, self._ends, self.most = text.readline, ends, most
        self.number = 0
        self.begin()

    def begin(self) -> None:
        self.kept: list[str] = []
        self._chars = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._readline(self.most + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self.kept.append(line)
        self._chars += len(line)
        if self._chars > self.most:
            self._skip(line)
            raise _RowTooLong("it does not end")
        return line

    def _skip(self, line: str) -> None:
        """Skip the rest of a line."""
        skipped = len(line)
        while line and not line.endswith(self._ends):
            line = self._readline(self.most)
            skipped += len(line)
            if skipped > MAX_LINE_CHARS:
                happened = f"Line {self.number} is longer than {MAX_LINE_CHARS:,} characters."
                raise InputRefused(
                    "line_endless", happened, "Check the file: this is not a list of rows.", line=self.number
                )


def _rows(lines: _Lines, read: Callable[[], Values | Broken | None]) -> Iterator[Row]:
    """The rows, until the lines end; empty lines are skipped."""
    while True:
        lines.begin()
        try:
            found = read()
        except StopIteration:
            return
        except _RowTooLong:
            found = too_long(lines.most, "".join(lines.kept))
        raw, first = "".join(lines.kept), lines.number - len(lines.kept) + 1
        if found is not None:
            yield Row(first, found, raw) if isinstance(found, dict) else Row(first, {}, raw, found)
