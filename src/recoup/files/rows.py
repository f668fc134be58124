"""What a row of a file is, which of its columns are wanted, and why it may be unreadable."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from recoup.refusals import InputRefused

MAX_NAMES = 100  # columns that are named where some are reported
# How undecodable bytes appear in a decoded text.
_SURROGATE = re.compile("[\ud800-\udfff]")


class Unread(StrEnum):
    """Why a row cannot be read."""

    NOT_UTF8 = "not_utf8"  # bytes in it are not UTF-8
    ROW_TOO_LONG = "row_too_long"  # too long, often because of an unclosed quote
    CSV_MALFORMED = "csv_malformed"  # quotes that do not match, or more or fewer fields than the header has
    JSON_MALFORMED = "json_malformed"  # the line is not one JSON object
    COLUMNS_AMBIGUOUS = "columns_ambiguous"  # two keys of the object could be the same column


Broken = tuple[Unread, str]
NOT_UTF8: Broken = (Unread.NOT_UTF8, "It holds bytes that are not UTF-8.")


def too_long(most: int, row: str = "") -> Broken:
    quote = " Perhaps a quote is not closed." if row.count('"') % 2 else ""
    return Unread.ROW_TOO_LONG, f"It has more than {most:,} characters.{quote}"


class Row(NamedTuple):
    """One row as it was read: its values by column, or what is wrong with it."""

    number: int
    values: Mapping[str, object]
    raw: str | Mapping[str, object]
    broken: Broken | None = None

    @property
    def chars(self) -> int:
        """Approximate size of its text."""
        if isinstance(self.raw, str):
            return len(self.raw)
        return sum(len(value if isinstance(value, str) else str(value)) for value in self.raw.values())

    def as_text(self) -> str:
        """The row as read. Bytes that are not UTF-8 are written as escapes."""
        if isinstance(self.raw, str):
            return escaped(self.raw.rstrip("\r\n"))
        return json.dumps({name: escaped(v) if isinstance(v, str) else v for name, v in self.raw.items()}, default=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An opened file: its rows one after the other, and how far it has been read."""

    noun: str  # what the number of a row counts: lines, or rows
    header: Sequence[str] = ()  # the column names of the file; none in JSONL, and in an empty file
    missing: Sequence[str] = ()  # required columns that the header lacks; an empty file lacks all
    ignored: Mapping[str, None]  # columns that are not wanted, in order; the first hundred
    rows: Iterator[Row]
    share: Callable[[int], float | None]  # of the file, after this many rows; None: unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which columns of a file to read.

    Declared columns are found by any of their names, whatever the spelling; the others are ignored and reported.
    Without declared columns all are kept, under the file's names.
    """

    columns: Mapping[str, tuple[str, ...]] | None = None  # each with its other names
    required: tuple[str, ...] = ()  # of these, where a file has a header
    only_text: bool = False  # in the columns of a Parquet file
    row_chars_most: int  # in a line of JSONL, or in a CSV row over all its lines
    streamed: bool = False  # a pipe is read row by row, not to its end first

    def picked(self, columns: Sequence[str], ignored: dict[str, None]) -> list[tuple[str, int]]:
        """The wanted ones of these columns, each with its place; the others are noted as ignored."""
        if self.columns is None:
            for name, times in Counter(columns).most_common(1):
                if times > 1:
                    happened = f"{times} columns are called {shortened(name)!r}."
                    raise InputRefused("columns_ambiguous", happened, "Give each its own name.")
            return [(name, place) for place, name in enumerate(columns)]
        plain = [_plain(column) for column in columns]
        found = [(name, place) for name in self.columns for place in self._place(name, columns, plain)]
        ours = {place for _, place in found}
        for place, column in enumerate(columns):
            if place not in ours and len(ignored) < MAX_NAMES:
                ignored[shortened(column)] = None
        return found

    def missing(self, picked: Sequence[tuple[str, int]]) -> list[str]:
        return [name for name in self.required if name not in dict(picked)]

    def _place(self, wanted: str, columns: Sequence[str], plain: Sequence[str]) -> list[int]:
        """The place of a wanted column, if it exists. Its own name is preferred to its aliases.

        Two candidates are refused: whether ``name`` or ``company`` is the company cannot be guessed.
        """
        own, others = _plain(wanted), {_plain(name) for name in (self.columns or {})[wanted]}
        could_be = [place for place, name in enumerate(plain) if name == own]
        could_be = could_be or [place for place, name in enumerate(plain) if name in others]
        if len(could_be) > 1:
            happened = f"Each of these could be {wanted}: {', '.join(named([columns[place] for place in could_be]))}."
            raise InputRefused("columns_ambiguous", happened, f"Name the right one {wanted}, once.", column=wanted)
        return could_be


def named(columns: Sequence[str]) -> list[str]:
    """The first hundred of these, as text for a sentence."""
    return [shortened(column) for column in columns[:MAX_NAMES]]


def shortened(text: str) -> str:
    return escaped(text if len(text) <= 100 else text[:100] + "…")


def is_utf8(text: str) -> bool:
    return text.isascii() or _SURROGATE.search(text) is None


def escaped(text: str) -> str:
    """A text that can be written: bytes that were not UTF-8 and half characters become escapes."""
    return text if is_utf8(text) else _SURROGATE.sub(lambda half: _escape(ord(half[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def _plain(column: str) -> str:
    return re.sub(r"[\s_-]+", "", column).casefold()
