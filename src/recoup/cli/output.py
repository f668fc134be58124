"""What commands print: rows as a table that fits the terminal, or as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from itertools import chain, islice, zip_longest
from typing import Annotated, Any, Literal
from uuid import UUID

from cyclopts import Parameter, validators

from recoup.refusals import InputRefused

Json = Annotated[bool, Parameter(name="--json", negative="", show_default=False, help="Print JSON instead of a table.")]
Demo = Annotated[bool, Parameter(name="--demo", negative="", show_default=False, help="Use the demo's database.")]
FileFormat = Annotated[Literal["csv", "jsonl", "parquet"] | None, Parameter(name="--format")]

MAX_LIMIT = 100_000
Limit = Annotated[int, Parameter(help="At most so many.", validator=validators.Number(gte=1, lte=MAX_LIMIT))]

PIPED_WIDTH = 160
FIRST_ROWS = 500  # of a table, that say how wide its columns are
WHOLE_WIDTH = 24
FOLDED_WIDTH = 16  # the least of a column that is folded
BETWEEN_WIDTH = 3  # of two columns


def print_rows(rows: Iterable[object], *, as_json: bool, columns: Sequence[str] | None = None, empty: str) -> None:
    """Rows as a table, or line by line where a table has no room; ``empty`` is the sentence for none.

    Printed as they come: the first say how wide the columns are. Columns that hold nothing are left out, unless more
    rows come than those. As JSON always a list, with every field.
    """
    records = map(_record, rows)
    if as_json:
        _print_json(records)
        return
    first = list(islice(records, FIRST_ROWS))
    if not first:
        print(empty)
        return
    told = list(columns or first[0])
    if len(first) < FIRST_ROWS:
        told = [name for name in told if any(record[name] is not None for record in first)]
    widths = _widths(told, first)
    if widths is None:
        for record in chain(first, records):
            _print_lines({name: record[name] for name in told if record[name] is not None})
            print()
        return
    print(_row([_words(name) for name in told], widths))
    print("─" * (sum(widths) + BETWEEN_WIDTH * (len(widths) - 1)))
    for record in chain(first, records):
        print(_row([shown(record[name]) for name in told], widths))


def print_fields(row: object, *, as_json: bool) -> None:
    """One row, a line each."""
    record = _record(row)
    print(_json(record)) if as_json else _print_lines(record)


def print_wrapped(lines: Iterable[tuple[str, object]], *, indent: int = 0) -> None:
    """Names and values, a line each; what is longer than the terminal is wide goes on below itself."""
    told = list(lines)
    left = indent + max((len(name) for name, _ in told), default=0) + 2
    for name, value in told:
        for number, line in enumerate(_folded(shown(value) or "–", max(_width() - left, FOLDED_WIDTH))):
            print(f"{' ' * indent}{'' if number else name}".ljust(left) + line)


@contextlib.contextmanager
def ends_with(code: int) -> Iterator[None]:
    """What is printed in the block; then the command ends with this code, also if whoever reads has seen enough."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        unheard()
    if code:
        sys.exit(code)


def unheard() -> None:
    """Nobody reads on: what is left to print goes nowhere, and does not fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refuse_unheard(what: str) -> None:
    """Refuse to begin with something whose answer would be lost."""
    if sys.stdout is None:
        raise InputRefused(
            "output_closed",
            f"Standard output is closed: {what} would be lost.",
            "Let it go somewhere. Nothing was done.",
        )


def say(text: str, *, end: str = "\n") -> None:
    """Something on standard error beside the work. Whether anybody listens makes no difference to the work."""
    with contextlib.suppress(OSError, ValueError):  # a broken pipe, a terminal that is gone, a closed file
        if sys.stderr is not None:
            print(text, end=end, file=sys.stderr, flush=True)


def shown(value: object) -> str:
    """A value as a person reads it."""
    if value is None or value in ((), []):
        return "–"
    if isinstance(value, tuple | list):
        return ", ".join(shown(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        # Times are told to the second, in UTC; JSON has them in full.
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    # What came in from outside may hold anything; a terminal would obey it.
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


def _widths(names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> list[int] | None:
    """How wide each column is; None: there is no room for a table.

    Times, numbers and words stay whole: cut off, a figure would be another one. What is long shares what is left.
    """
    longest = [max(_cells(shown(record[name])) for record in records) for name in names]
    room = _width() - BETWEEN_WIDTH * (len(names) - 1)
    widths = [max(most, len(name)) if most <= WHOLE_WIDTH else 0 for name, most in zip(names, longest, strict=True)]
    room -= sum(widths)
    long = sorted((most, place) for place, most in enumerate(longest) if most > WHOLE_WIDTH)
    if room < FOLDED_WIDTH * len(long):
        return None
    for number, (most, place) in enumerate(long):
        widths[place] = min(max(most, len(names[place])), room // (len(long) - number))
        room -= widths[place]
    return widths


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    folded = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = zip_longest(*folded, fillvalue="")
    between = " " * BETWEEN_WIDTH
    return "\n".join(between.join(map(_padded, line, widths)).rstrip() for line in lines)


def _folded(text: str, width: int) -> list[str]:
    """A text in lines of this width, between words where that goes."""
    if _cells(text) <= width:
        return [text]
    if text.isascii():
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    from rich.console import Console
    from rich.text import Text

    return [line.plain.rstrip() for line in Text(text).wrap(Console(width=width), width)]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _cells(text))


def _cells(text: str) -> int:
    """How wide a terminal shows it."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _width() -> int:
    return shutil.get_terminal_size((PIPED_WIDTH, 0)).columns


def _print_lines(record: Mapping[str, Any]) -> None:
    width = max(map(len, record), default=0)
    for name, value in record.items():
        print(f"{_words(name):<{width}}  {shown(value)}")


def _record(row: object) -> dict[str, Any]:
    if is_dataclass(row) and not isinstance(row, type):
        return {field: getattr(row, field) for field in row.__dataclass_fields__}
    if hasattr(row, "_asdict"):  # a named tuple
        return dict(row._asdict())
    assert isinstance(row, Mapping)
    return dict(row)


def _print_json(records: Iterator[dict[str, Any]]) -> None:
    before = "["
    for record in records:
        print(before, "\n  ", _json(record).replace("\n", "\n  "), sep="", end="")
        before = ","
    print("[]" if before == "[" else "\n]")


def _json(record: dict[str, Any]) -> str:
    """As json.dumps writes it with an indent, which takes it many times as long."""
    fields = (f"{json.dumps(name)}: {_value(value)}" for name, value in record.items())
    return "{\n  " + ",\n  ".join(fields) + "\n}" if record else "{}"


def _value(value: object) -> str:
    if value is None or isinstance(value, str | int | float | datetime | UUID):
        return json.dumps(value, default=_plain)
    return json.dumps(value, default=_plain, indent=2).replace("\n", "\n  ")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)
