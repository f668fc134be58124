"""A grid of partitions for the terminal: one character for each day, coloured, with a legend. Pure."""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from recoup.partitions.marks import Mark, mark

DAY = timedelta(days=1)
RESET = "\x1b[0m"
MIN_DAYS = 7  # of one block, however narrow the terminal is


COLORS = {
    Mark.SUCCESS: "32", Mark.PENDING: "33", Mark.RUNNING: "36", Mark.HELD: "35", Mark.FAILED: "31",
    Mark.TERMINAL: "1;31", Mark.NONE: "2",
}  # fmt: skip


def _colored(one: Mark, *, color: bool, times: int = 1) -> str:
    return f"\x1b[{COLORS[one]}m{one.sign * times}{RESET}" if color else one.sign * times


class Cell(NamedTuple):
    """One partition."""

    source: str
    query_name: str
    customer_id: str
    logical_date: date
    status: str
    schedule: str


def grid(
    cells: Iterable[Cell],
    *,
    first: date | None = None,
    last: date | None = None,
    color: bool = False,
    width: int | None = None,
) -> list[str]:
    """The lines of a grid: a row for each customer of a query, a character for each day, then a legend.

    ``first`` and ``last``: the days that are shown; by default those that there are. ``width``: of the terminal. Where
    the days do not fit, they continue in a second block.
    """
    rows: dict[tuple[str, str, str], dict[date, Mark]] = {}
    for cell in cells:
        rows.setdefault((cell.source, cell.query_name, cell.customer_id), {})[cell.logical_date] = mark(
            cell.status, cell.schedule
        )
    days = [day for row in rows.values() for day in row]
    if not days:
        return []
    first, last = first or min(days), last or max(days)
    label = max(len(_label(key)) for key in rows)
    room = max((width or 200) - label - 2, MIN_DAYS)
    lines: list[str] = []
    while first <= last:
        end = min(first + (room - 1) * DAY, last)
        lines += [*_block(rows, first, end, label, color=color), ""]
        first = end + DAY
    return [*lines, _legend(rows.values(), color=color)]


def _block(
    rows: Mapping[tuple[str, str, str], Mapping[date, Mark]], first: date, last: date, label: int, *, color: bool
) -> list[str]:
    days = [first + number * DAY for number in range((last - first).days + 1)]
    lines = [" " * (label + 2) + _ruler(days)]
    for key in sorted(rows):
        marks = [rows[key].get(day, Mark.NONE) for day in days]
        lines.append(f"{_label(key):<{label}}  {''.join(_runs(marks, color=color))}")
    return lines


def _label(key: tuple[str, str, str]) -> str:
    text = "/".join(key)
    return "".join(c if c.isprintable() else "?" for c in text)


def _ruler(days: Sequence[date]) -> str:
    """Where the first day and each month begin."""
    line = ""
    for number, day in enumerate(days):
        text = day.isoformat() if number == 0 else f"{day:%b}" if day.day == 1 else ""
        if text and number >= len(line) + (1 if line else 0):
            line = line.ljust(number) + text
    return line


def _runs(marks: Sequence[Mark], *, color: bool) -> Iterable[str]:
    """Equal neighbours share one colour code."""
    begun = 0
    for number in range(1, len(marks) + 1):
        if number == len(marks) or marks[number] is not marks[begun]:
            yield _colored(marks[begun], color=color, times=number - begun)
            begun = number


def _legend(rows: Iterable[Mapping[date, Mark]], *, color: bool) -> str:
    counts = dict.fromkeys(Mark, 0)
    for row in rows:
        for one in row.values():
            counts[one] += 1
    named = [
        f"{_colored(one, color=color)} {one.meaning}" + (f" {counts[one]:,}" if counts[one] else "") for one in Mark
    ]
    return "  ".join(named)


def wants_color(*, is_terminal: bool) -> bool:
    """Colours on a terminal, unless NO_COLOR is set or the terminal has none."""
    return is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
