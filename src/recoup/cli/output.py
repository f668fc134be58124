"""What commands print: rows as a table that fits the terminal, or as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from recoup.refusals import InputRefused

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[bool, Parameter(name="--json", negative="", show_default=False, help="Print JSON instead of a table.")]
Demo = Annotated[bool, Parameter(name="--demo", negative="", show_default=False, help="Use the demo's database.")]
FileFormat = Annotated[Literal["csv", "jsonl", "parquet"] | None, Parameter(name="--format")]

LIMIT_MOST = 100_000
Limit = Annotated[int, Parameter(help="At most so many.", validator=validators.Number(gte=1, lte=LIMIT_MOST))]

PIPED_WIDTH = 160
WHOLE_WIDTH = 24
FOLDED_WIDTH = 16  # the least of a column that is folded
BETWEEN_WIDTH = 3  # of two columns


def print_rows(rows: Sequence[object], *, as_json: bool, columns: Sequence[str] | None = None, empty: str) -> None:
    """Rows as a table, or line by line where a table has no room; ``empty`` is the sentence for none.

    Columns that hold nothing are left out. As JSON always a list, with every field.
    """
    records = [_record(row) for row in rows]
    if as_json:
        print(json.dumps(records, default=_plain, indent=2))
        return
    if not records:
        print(empty)
        return
    _print_table(records, columns or list(records[0]))


def print_fields(row: object, *, as_json: bool) -> None:
    """One row, a line each."""
    record = _record(row)
    if as_json:
        print(json.dumps(record, default=_plain, indent=2))
        return
    _print_lines(record)


def print_wrapped(lines: Iterable[tuple[str, object]], *, indent: int = 0) -> None:
    """Names and values, a line each; what is longer than the terminal is wide goes on below itself."""
    from rich.text import Text

    told = list(lines)
    console = _console()
    left = indent + max((len(name) for name, _ in told), default=0) + 2
    for name, value in told:
        wrapped = Text(shown(value) or "–").wrap(console, max(console.width - left, FOLDED_WIDTH))
        for number, line in enumerate(wrapped):
            print(f"{' ' * indent}{'' if number else name}".ljust(left) + line.plain.rstrip())


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


def _print_table(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.table import Table

    console = _console()
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    told = [name for name in columns if any(record[name] is not None for record in records)]
    needed = 0
    for name in told:
        # Times, numbers and words stay whole; what is long is folded, never cut off.
        longest = max(cell_len(shown(record[name])) for record in records)
        short = longest <= WHOLE_WIDTH
        needed += BETWEEN_WIDTH + (max(longest, len(name)) if short else FOLDED_WIDTH)
        table.add_column(_words(name), overflow="fold", no_wrap=short)
    if (
        needed - BETWEEN_WIDTH > console.width
    ):  # it would be cut off: a figure without its last digits is another figure
        for record in records:
            _print_lines({name: record[name] for name in told if record[name] is not None})
            print()
        return
    for record in records:
        table.add_row(*(shown(record[name]) for name in told))
    console.print(table)


def _console() -> Console:
    from rich.console import Console

    width = None if (sys.stdout is not None and sys.stdout.isatty()) or "COLUMNS" in os.environ else PIPED_WIDTH
    return Console(width=width, highlight=False, markup=False)


def _print_lines(record: Mapping[str, Any]) -> None:
    width = max(map(len, record), default=0)
    for name, value in record.items():
        print(f"{_words(name):<{width}}  {shown(value)}")


def _record(row: object) -> dict[str, Any]:
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    if hasattr(row, "_asdict"):  # a named tuple
        return dict(row._asdict())
    assert isinstance(row, Mapping)
    return dict(row)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
