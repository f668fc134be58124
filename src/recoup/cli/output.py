"""What commands print: rows as a list that fits the terminal, or as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Annotated, Any, Literal
from uuid import UUID

from cyclopts import Parameter, validators

from recoup.cli.layout import Column as Column
from recoup.cli.layout import folded, laid_out, line, text_of, title, total, width
from recoup.cli.layout import shown as shown
from recoup.refusals import InputRefused

Json = Annotated[bool, Parameter(name="--json", negative="", show_default=False, help="Print JSON instead of a list.")]
Demo = Annotated[bool, Parameter(name="--demo", negative="", show_default=False, help="Use the demo's database.")]
FileFormat = Annotated[Literal["csv", "jsonl", "parquet"] | None, Parameter(name="--format")]

MAX_LIMIT = 100_000
Limit = Annotated[int, Parameter(help="Maximum number of rows.", validator=validators.Number(gte=1, lte=MAX_LIMIT))]

PIPED_WIDTH = 160  # of wrapped text that goes to no terminal; lists are not cut there
FIRST_ROWS = 500  # of a list: they decide how wide its columns are


def print_rows(
    rows: Iterable[object], *, as_json: bool, columns: Sequence[str | Column] | None = None, empty: str
) -> None:
    """Rows as a list that fits the terminal, one line each unless a column is folded; ``empty`` is printed for none.

    Printed as they arrive: the first rows decide how wide the columns are. Columns without a value are left out, unless
    there are more rows than those. Piped, nothing is cut. As JSON always a list, with every field.
    """
    records = map(_record, rows)
    if as_json:
        _print_json(records)
        return
    first = list(islice(records, FIRST_ROWS))
    if not first:
        print(empty)
        return
    chosen = [Column(column) if isinstance(column, str) else column for column in columns or first[0]]
    if len(first) < FIRST_ROWS:
        chosen = [column for column in chosen if any(record[column.field] is not None for record in first)]
    if not chosen:
        return
    places = laid_out(chosen, first)
    print(line([place.title for place in places], places))
    print("─" * total(places))
    for record in chain(first, records):
        print(line([text_of(place.field, record[place.field]) for place in places], places))


def print_fields(row: object, *, as_json: bool) -> None:
    """One row, a line for each field that has a value. As JSON, with every field."""
    record = _record(row)
    print(_json(record)) if as_json else _print_lines(record)


def print_wrapped(lines: Iterable[tuple[str, object]], *, indent: int = 0) -> None:
    """Names and values, a line each; a value longer than the terminal is wide continues below itself."""
    listed = list(lines)
    left = indent + max((len(name) for name, _ in listed), default=0) + 2
    for name, value in listed:
        for number, part in enumerate(folded(shown(value) or "–", max((width() or PIPED_WIDTH) - left, 16))):
            print(f"{' ' * indent}{'' if number else name}".ljust(left) + part)


@contextlib.contextmanager
def ends_with(code: int) -> Iterator[None]:
    """Print in the block, then exit with this status, also when the reader closed the pipe."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        unheard()
    if code:
        sys.exit(code)


def unheard() -> None:
    """The reader closed the pipe: the rest of the output is dropped, and Python does not fail on it at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refuse_unheard(what: str) -> None:
    """Refuse to start something whose result could not be printed."""
    if sys.stdout is None:
        raise InputRefused(
            "output_closed",
            f"Standard output is closed: {what} would be lost.",
            "Redirect it to a file or a terminal. Nothing was done.",
        )


def say(text: str, *, end: str = "\n") -> None:
    """Print a line on standard error. A closed or broken standard error does not stop the work."""
    with contextlib.suppress(OSError, ValueError):  # a broken pipe, a terminal that is gone, a closed file
        if sys.stderr is not None:
            print(text, end=end, file=sys.stderr, flush=True)


def shortened(text: str, most: int) -> str:
    """A text, cut at its end where it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def command(text: str, *, demo: bool = False) -> str:
    """A command for the reader to copy: under the path that was typed, and for the demo if this one was."""
    return f"{_program()} {text}{' --demo' if demo else ''}"


def hint(text: str, *, demo: bool | None = None) -> str:
    """A next step for the reader, its commands likewise; one at its end for the demo if this one was."""
    said = re.sub(r"(?<![\w/.'-])recoup(?= [a-z])", lambda _: _program(), text)
    last = re.search(r"(?:^|: |, )" + re.escape(_program()) + r" (?!demo|db|doctor|completion)[^,;]*[^.,;]$", said)
    wanted = "--demo" in sys.argv if demo is None else demo
    return f"{said} --demo" if wanted and last and "--demo" not in said else said


def _program() -> str:
    """``recoup``, or its path as typed where the shell would not find it."""
    typed = sys.argv[0]
    if os.path.basename(typed) != "recoup":
        return "recoup"
    found = shutil.which("recoup")
    return "recoup" if found is not None and os.path.realpath(found) == os.path.realpath(typed) else typed


def _print_lines(record: Mapping[str, Any]) -> None:
    """Without the fields that have no value."""
    record = {name: value for name, value in record.items() if value is not None and value != ()}
    titles = max((len(title(name)) for name in record), default=0)
    for name, value in record.items():
        print(f"{title(name):<{titles}}  {text_of(name, value)}")


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
    """The same text as json.dumps with an indent, many times faster."""
    fields = (f"{json.dumps(name)}: {_value(value)}" for name, value in record.items())
    return "{\n  " + ",\n  ".join(fields) + "\n}" if record else "{}"


def _value(value: object) -> str:
    if value is None or isinstance(value, str | int | float | datetime | UUID):
        return json.dumps(value, default=_plain)
    return json.dumps(value, default=_plain, indent=2).replace("\n", "\n  ")


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)
