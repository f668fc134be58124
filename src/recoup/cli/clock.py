"""``recoup clock``"""

import re
from collections.abc import Callable
from datetime import timedelta

from cyclopts import App

from recoup import clock
from recoup.cli.context import acting
from recoup.cli.output import Demo, Json, print_fields
from recoup.clock import ClockStatus
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

app = App(
    name="clock",
    help_epilogue="The time that decisions use. Real, unless the database was created with\n"
    "recoup migrate --simulated-from TIME.",
    help_format="plaintext",
)
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@app.command
def show(*, demo: Demo = False, json: Json = False) -> None:
    """Show the time, and whether it is real."""
    with acting(Authority.READER, demo=demo) as tx:
        print_fields(clock.read(tx), as_json=json)


@app.command
def advance(by: str, *, demo: Demo = False, json: Json = False) -> None:
    """Move a simulated clock forward.

    Parameters
    ----------
    by
        How far: a number and a unit, such as 90s, 30m, 24h, 3d or 2w.
    """
    step = duration(by)
    _operate(lambda tx: clock.advance(tx, step), demo=demo, as_json=json)


@app.command
def release(*, demo: Demo = False, json: Json = False) -> None:
    """Switch a simulated clock to real time, for good."""
    _operate(clock.release, demo=demo, as_json=json)


def duration(text: str) -> timedelta:
    """A number and a unit, as a person writes it."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip().lower())
    if match is None:
        raise InputRefused(
            "bad_duration",
            f"{text!r} is not a duration.",
            "Write a number and a unit: 90s, 30m, 24h, 3d or 2w.",
            given=text,
        )
    try:
        return timedelta(**{UNITS[match[2]]: float(match[1])})
    except OverflowError:
        raise InputRefused("bad_duration", f"{text!r} is too long.", "Give a smaller number.", given=text) from None


def _operate(verb: Callable[[Transaction], ClockStatus], *, demo: bool, as_json: bool) -> None:
    with acting(Authority.OPERATOR, demo=demo) as tx:
        reading = verb(tx)
    print_fields(reading, as_json=as_json)
