"""What a row of a file is, which of its columns are ours, and why it may be refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from recoup.refusals import InputRefused

# Our columns, and what else people call them.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "company_name": ("name", "company"),
    "company_domain": ("domain", "website"),
    "linkedin_url": ("linkedin",),
    "state": ("us_state",),
}
IGNORED_MOST = 100
# So bytes that are no UTF-8 stand in a text that was decoded nonetheless.
_SURROGATE = re.compile("[\ud800-\udfff]")


class Reason(StrEnum):
    """Why a row is refused. The first five: it cannot be read; the others: it makes no sense."""

    NOT_UTF8 = "not_utf8"  # bytes in it are not UTF-8
    ROW_TOO_LONG = "row_too_long"  # longer than any company needs, often because of a quote that is never closed
    CSV_MALFORMED = "csv_malformed"  # quotes that do not match, or more or fewer fields than the header has
    JSON_MALFORMED = "json_malformed"  # the line is not one JSON object
    COLUMNS_AMBIGUOUS = "columns_ambiguous"  # two keys of the object could be the same column
    NAME_MISSING = "name_missing"  # no company name, or a blank one
    WRONG_TYPE = "wrong_type"  # a number, a list or something else that is not text
    TEXT_UNPRINTABLE = "text_unprintable"  # NUL or another control character
    TEXT_TOO_LONG = "text_too_long"  # more than 500 characters
    DOMAIN_MALFORMED = "domain_malformed"  # what stands for the domain is not a domain name
    COMPANY_TWICE = "company_twice"  # the same name, domain and state stand in an earlier row


Broken = tuple[Reason, str]
NOT_UTF8: Broken = (Reason.NOT_UTF8, "It holds bytes that are not UTF-8.")


class Row(NamedTuple):
    """One row as it was read: the values of our four columns, or what is wrong with it."""

    number: int
    values: Sequence[object]
    raw: str | dict[str, object]
    broken: Broken | None = None

    def as_text(self) -> str:
        """The row as it was. Bytes that are no UTF-8 are written as escapes."""
        if isinstance(self.raw, str):
            return escaped(self.raw.rstrip("\r\n"))
        return json.dumps({name: escaped(v) if isinstance(v, str) else v for name, v in self.raw.items()}, default=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that has been opened: its rows, one after the other, and how far it has been read."""

    noun: str  # what the number of a row counts: lines, or rows
    rows: Iterator[Row]
    share: Callable[[int], float]  # of the file, after so many rows
    ignored: dict[str, None]  # columns that are not ours, in order; the first hundred


def places(columns: Sequence[str], ignored: dict[str, None]) -> list[int | None]:
    """Where each of our columns stands among these; what is not ours is noted as ignored.

    Our own name for a column goes before its other names. Two that could be the same column are refused: which of
    ``name`` and ``company`` is the company is not for us to guess.
    """
    plain = [_plain(column) for column in columns]
    found: list[int | None] = []
    for ours, (own_name, *other_names) in _PLAIN.items():
        own = [place for place, name in enumerate(plain) if name == own_name]
        could_be = own or [place for place, name in enumerate(plain) if name in other_names]
        if len(could_be) > 1:
            raise InputRefused(
                "columns_ambiguous",
                f"Each of these could be {ours}: {', '.join(shortened(columns[place]) for place in could_be)}.",
                f"Call the right one {ours}, once.",
                column=ours,
            )
        found.append(could_be[0] if could_be else None)
    for place, column in enumerate(columns):
        if place not in found and len(ignored) < IGNORED_MOST:
            ignored[shortened(column)] = None
    return found


def _plain(column: str) -> str:
    return re.sub(r"[\s_-]+", "", column).casefold()


_PLAIN = {ours: tuple(map(_plain, (ours, *others))) for ours, others in COLUMNS.items()}


def shortened(text: str) -> str:
    return escaped(text if len(text) <= 100 else text[:100] + "…")


def is_utf8(text: str) -> bool:
    return text.isascii() or _SURROGATE.search(text) is None


def escaped(text: str) -> str:
    """A text as it can be written: bytes that were no UTF-8, and halves of characters, as escapes."""
    if is_utf8(text):
        return text
    return _SURROGATE.sub(lambda half: _escape(ord(half[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def empty(path: Path) -> InputRefused:
    return InputRefused(
        "file_empty", f"There are no rows in {path}.", "Check that it is the right file.", path=str(path)
    )


def no_name(path: Path, columns: Sequence[str]) -> InputRefused:
    return InputRefused(
        "name_column_missing",
        f"{path} has no column company_name. Its columns are: {', '.join(map(shortened, columns[:IGNORED_MOST]))}.",
        "Call the column with the company's name company_name, name or company.",
        path=str(path),
        columns=[shortened(column) for column in columns[:IGNORED_MOST]],
    )


def unreadable(path: Path, error: BaseException) -> InputRefused:
    return InputRefused(
        "file_unreadable",
        f"{path} cannot be read: {first_line(error)}.",
        "Check that it is whole and that you may read it. Nothing was brought in.",
        path=str(path),
    )


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
