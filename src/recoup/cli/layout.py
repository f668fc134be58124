"""How a list fits a terminal: which columns it has room for, how wide each is, and what is cut."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any, Literal
from uuid import UUID

from recoup.formatting import duration, timestamp

WHOLE_WIDTH = 24  # up to this width, a text is never cut
LEAST = {"end": 16, "middle": 13, "fold": 16, "time": 17}  # the width to which a column may shrink
TIME_WIDTHS = (20, 17, 12)  # 2026-11-16 10:13:42Z, 2026-11-16 10:13Z, 11-16 10:13Z
BETWEEN = "   "
IDENTIFIERS = ("id", "seq", "number", "line", "version", "port")  # of these, digits are a name and not a count


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list, and what happens to it where the terminal is narrow.

    It shrinks to ``least``: cut at its end, in its middle, or folded; times lose their seconds, then their year.
    Columns that still have no room are left out, the highest ``rank`` first; by default the last one.
    """

    field: str
    title: str | None = None
    cut: Literal["end", "middle", "fold", "time"] | None = None  # by default as its values suggest
    least: int | None = None
    rank: int | None = None


def shown(value: object) -> str:
    """A value as a person reads it. Times are in UTC, to the second; JSON has them in full."""
    if value is None or value in ((), []):
        return "–"
    if isinstance(value, tuple | list):
        return ", ".join(shown(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, timedelta):
        return duration(value)
    # What came in from outside may hold anything; a terminal would obey it.
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


@dataclass(slots=True)
class Place:
    """A column as it is printed."""

    field: str
    title: str
    cut: str | None
    right: bool
    natural: int  # width of its widest value
    width: int
    rank: int


def laid_out(columns: Sequence[Column], records: Sequence[Mapping[str, Any]]) -> list[Place]:
    """Which columns there is room for, and how wide each is. Numbers and short words are never cut."""
    places = [_place(column, number, records) for number, column in enumerate(columns)]
    available = width()
    if available is None:
        for place in places:
            place.width, place.cut = place.natural, None
        return places
    while len(places) > 1 and total(places) > available:
        places.remove(max(places, key=lambda place: place.rank))
    if places[0].width > available:
        places[0].width, places[0].cut = max(available, 1), "end"
    room = available - total(places)
    growing = sorted((place for place in places if place.width < place.natural), key=_growth)
    for number, place in enumerate(growing):
        more = min(place.natural - place.width, room // (len(growing) - number))
        if place.cut == "time":
            wider = [wide for wide in TIME_WIDTHS if place.width < wide <= place.width + more]
            more = wider[0] - place.width if wider else 0
        place.width += more
        room -= more
    return places


def _growth(place: Place) -> tuple[bool, int]:
    return place.cut != "time", place.natural - place.width


def total(places: Sequence[Place]) -> int:
    """How wide a list is."""
    return sum(place.width for place in places) + len(BETWEEN) * (len(places) - 1)


def _place(column: Column, number: int, records: Sequence[Mapping[str, Any]]) -> Place:
    values = [record[column.field] for record in records]
    there = [value for value in values if value is not None]
    heading = title(column.field) if column.title is None else column.title
    natural = max(len(heading), *(_cells(text_of(column.field, value)) for value in values))
    cut = column.cut or _cut(there, natural)
    least = natural if cut is None else max(min(natural, column.least or LEAST[cut]), len(heading))
    right = bool(there) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in there)
    rank = number if column.rank is None else column.rank
    return Place(column.field, heading, cut, right, natural, least, rank)


def _cut(values: Sequence[object], natural: int) -> str | None:
    if values and all(isinstance(value, datetime) for value in values):
        return "time"
    if values and all(isinstance(value, UUID) for value in values):
        return "middle"
    return "fold" if natural > WHOLE_WIDTH else None


def title(field: str) -> str:
    return _words(field.removesuffix("_s"))


def text_of(field: str, value: object) -> str:
    """A value by the name of its field: seconds are a duration, and a count has its thousands apart."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if field.endswith("_s"):
            return duration(value)
        if isinstance(value, int) and not field.endswith(IDENTIFIERS):
            return f"{value:,}"
    return shown(value)


def line(cells: Sequence[str], layout: Sequence[Place]) -> str:
    """The cells of a row; several lines where one is folded."""
    parts = [_fitted(cell, place) for cell, place in zip(cells, layout, strict=True)]
    lines = zip_longest(*parts, fillvalue="")
    return "\n".join(BETWEEN.join(map(_padded, line, layout)).rstrip() for line in lines)


def _fitted(text: str, place: Place) -> list[str]:
    if place.cut is None or _cells(text) <= place.width:
        return [text]
    match place.cut:
        case "fold":
            return folded(text, place.width)
        case "time" if len(text) == TIME_WIDTHS[0]:
            return [f"{text[:16] if place.width >= TIME_WIDTHS[1] else text[5:16]}Z"]
        case "middle":
            left = (place.width - 1) // 2
            return [f"{_taken(text, left)}…{_taken(text[::-1], place.width - 1 - left)[::-1]}"]
        case _:
            return [f"{_taken(text, place.width - 1)}…"]


def _taken(text: str, cells: int) -> str:
    """The beginning of a text that a terminal shows in this many cells."""
    if text.isascii():
        return text[:cells]
    from rich.cells import set_cell_size

    return set_cell_size(text, cells).rstrip()


def folded(text: str, width: int) -> list[str]:
    """A text in lines of this width, broken between words where possible."""
    if _cells(text) <= width:
        return [text]
    if text.isascii():
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    from rich.console import Console
    from rich.text import Text

    return [line.plain.rstrip() for line in Text(text).wrap(Console(width=width), width)]


def _padded(text: str, place: Place) -> str:
    spaces = " " * (place.width - _cells(text))
    return spaces + text if place.right else text + spaces


def _cells(text: str) -> int:
    """How wide a terminal shows it."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def width() -> int | None:
    """How wide the terminal is; None: the output goes elsewhere, and COLUMNS does not say."""
    return shutil.get_terminal_size((0, 0)).columns or None


def _words(name: str) -> str:
    return name.replace("_", " ")
