"""``recoup clock``"""

from collections.abc import Callable

from cyclopts import App

from recoup import clock
from recoup.cli.context import acting
from recoup.cli.output import Demo, Json, print_fields
from recoup.clock import ClockStatus
from recoup.database.connection import Transaction
from recoup.durations import duration
from recoup.lifecycles.declaration import Authority

app = App(
    name="clock",
    help_epilogue="The time that decisions use. Real, unless the database was created with\n"
    "recoup migrate --simulated-from TIME.",
    help_format="plaintext",
)


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


def _operate(verb: Callable[[Transaction], ClockStatus], *, demo: bool, as_json: bool) -> None:
    with acting(Authority.OPERATOR, demo=demo) as tx:
        reading = verb(tx)
    print_fields(reading, as_json=as_json)
