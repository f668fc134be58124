"""``recoup demo``: a part for each domain that has one, in one database and one simulated time."""

import importlib
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from cyclopts import App, Parameter

from recoup import clock, observe, policy
from recoup.cli.context import opened
from recoup.database import access
from recoup.database.connection import Database
from recoup.domain import Demo
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, MigrationRefused, ServerRefused
from recoup.schema.migrate import migrate
from recoup.settings import Settings, load
from recoup.up.home import refuse_if_served
from recoup.worker import register
from recoup.worker.policy import WorkerPolicy

app = App(
    name="demo",
    help_epilogue="The demo has a database of its own, in simulated time that ends at the present.",
    help_format="plaintext",
)
Fresh = Annotated[bool, Parameter(negative="", show_default=False, help="Drop the demo's database and build it again.")]
PARTS = tuple(domain.demo for domain in DOMAINS if domain.demo is not None)


@app.default
def everything(*, fresh: Fresh = False) -> None:
    """Build every part of the demo that is missing, and show it."""
    _ensure(PARTS, fresh=fresh)
    for part in PARTS:
        _found(part.show)()


def ensure_all() -> None:
    """Build every part of the demo that is missing. What was built is shown."""
    if _ensure(PARTS, fresh=False):
        for part in PARTS:
            _found(part.show)()


def _command(part: Demo) -> Callable[..., None]:
    def show(*, fresh: Fresh = False) -> None:
        _ensure((part,), fresh=fresh)
        _found(part.show)()

    show.__doc__, show.__name__ = part.help, part.name
    return show


for one in PARTS:
    app.command(_command(one), name=one.name)


def _ensure(wanted: Sequence[Demo], *, fresh: bool) -> bool:
    """Build what is missing. The parts share one database and its time, so they are built together.

    Returns whether anything was.
    """
    settings = load()
    built = _built(settings)
    if not fresh and built.issuperset(part.name for part in wanted):
        return False
    parts = [part for part in PARTS if part in wanted or part.name in built]
    # Before anything is dropped.
    assert all(_found(path) for part in parts for path in (part.play, part.ending) if path)
    refuse_if_served(settings, "the demo's database", demo=True)
    _refuse_if_worked_on(settings)
    _build(settings, parts)
    return True


def _refuse_if_worked_on(settings: Settings) -> None:
    """Refuse to drop a database that a worker works on, here or on another machine."""
    try:
        with opened(demo=True, settings=settings) as database, database.transaction(Authority.READER) as tx:
            values = policy.in_force(tx).policy[WorkerPolicy]
            found = register.alive(tx, within_s=values.lost_after_s)
    except (MigrationRefused, ServerRefused):
        return  # nobody can work on that
    for name, host, pid in found:
        if host != socket.gethostname() or os.path.exists(f"/proc/{pid}"):
            raise ServerRefused(
                "demo_served",
                f"The worker {name} (process {pid} on {host}) works on the demo's database.",
                "Stop it first; or wait until recoup workers --demo does not list it as running.",
                worker=name, host=host, pid=pid,
            )  # fmt: skip


@contextmanager
def demo_services(*, demo: bool) -> Iterator[None]:
    """Run what the parts of the demo need while a command works on them; nothing outside the demo."""
    with ExitStack() as stack:
        for part in PARTS if demo else ():
            if part.background is not None:
                stack.enter_context(_found(part.background)())
        yield


def handlers() -> dict[str, Callable[..., object]]:
    """The demo's own handlers of errors, by table."""
    given = [_found(part.handlers)() for part in PARTS if part.handlers is not None]
    return {table: function for one in given for table, function in one.items()}


def _found(path: str) -> Callable[..., Any]:
    """A function by its path; refused when a package is not installed."""
    module, _, name = path.partition(":")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise InputRefused(
            "gate_extra_missing",
            f"This part of the demo needs {error.name}, which is not installed.",
            "Install it: pip install 'recoup[gate,parquet]'",
        ) from error
    return found


def _built(settings: Settings) -> frozenset[str]:
    """The parts that are built. A demo that was interrupted is built again."""
    try:
        with opened(demo=True, settings=settings) as database, database.transaction(Authority.READER) as tx:
            if clock.read(tx).status != "released":
                return frozenset()
            return frozenset(part.name for part in PARTS if tx.execute(part.exists.encode()).fetchone() == (True,))
    except (MigrationRefused, ServerRefused):
        return frozenset()


def _build(settings: Settings, parts: Sequence[Demo]) -> None:
    observe.configure(level="error")  # what fails in the play is part of it
    access.ensure_demo_database(settings, anew=True)
    parts = sorted(parts, key=lambda part: part.span, reverse=True)
    span = parts[0].span if parts[0].hosts else _span(parts)
    begin = (datetime.now(UTC) - span).replace(microsecond=0)
    print(f"Building the demo in simulated time, from {begin:%Y-%m-%d %H:%M} UTC to the present.")
    login = access.login(settings)
    with access.administration(settings, demo=True) as connection:
        migrate(connection, DOMAINS, login=login, simulated_from=begin)
    with opened(demo=True, settings=settings) as database:
        _play(database, parts)
        for part in parts:
            if part.ending is not None:
                _found(part.ending)(database, _say)
        with database.transaction(Authority.OPERATOR) as tx:
            now = clock.read(tx).now
            clock.advance(tx, max(datetime.now(UTC) - now, datetime.resolution))
            clock.release(tx)
    print("  simulated time ends; the clock is real from now on")


def _play(database: Database, parts: Sequence[Demo]) -> None:
    """Build the longest part, and in its last days or after it the others, one after the other."""
    longest, *rest = parts
    others = sorted(rest, key=lambda part: part.ending is None)  # what has no ending of its own ends last

    def the_others() -> None:
        for part in others:
            _found(part.play)(database, _say, None, timedelta(0))

    if longest.hosts and others:
        _found(longest.play)(database, _say, the_others, _span(others))
    else:
        _found(longest.play)(database, _say, None, timedelta(0))
        the_others()


def _span(parts: Sequence[Demo]) -> timedelta:
    return sum((part.span for part in parts), timedelta(0))


def _say(line: str) -> None:
    print(f"  {line}", flush=True)
