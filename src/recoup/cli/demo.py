"""``recoup demo``"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from recoup.lifecycles.declaration import Authority

if TYPE_CHECKING:
    from recoup.database.connection import Database
    from recoup.settings import Settings

app = App(
    name="demo",
    help_epilogue="The demo has a database of its own, in simulated time that ends at the present.",
    help_format="plaintext",
)
Fresh = Annotated[bool, Parameter(negative="", show_default=False, help="Drop the demo's database and build it again.")]


@app.default
def everything(*, fresh: Fresh = False) -> None:
    """Build every part of the demo that is missing, and show it."""
    gate(fresh=fresh)


@app.command
def gate(*, fresh: Fresh = False) -> None:
    """Twenty days of Gate Zero against a local world of 2,000 companies: real DNS, real sites, a real directory.

    Four batches go through their waits, a kill switch, a freeze and the mint; then the funnel, and one history.
    """
    from recoup.database import access
    from recoup.settings import load

    settings = load()
    if fresh or not _built(settings):
        _refuse_without_the_world()
        _build(settings)
    with access.opened(settings, demo=True) as database:
        _show(database)
    print("\nLook around:   recoup gate batches --demo, recoup gate eligible --demo, recoup gate exhausted --demo")
    print("Let it go on:  recoup gate run --demo, or recoup worker --demo")
    print('Or by hand:    psql "$(recoup db uri --demo)"')


@contextmanager
def world_of(*, demo: bool) -> Iterator[None]:
    """The demo's companies live in the local world: it runs beside whoever works on them. Otherwise nothing."""
    if not demo:
        yield
        return
    _refuse_without_the_world()
    from recoup import policy
    from recoup.database import access
    from recoup.gate import demo as play
    from recoup.refusals import InputRefused
    from recoup.settings import load
    from recoup.world import World

    with access.opened(load(), demo=True) as database, database.transaction(Authority.READER) as tx:
        ports = _ports_of(policy.in_force(tx).policy.gate.verification.model_dump())
    if ports is None or World.running_at(ports):
        yield
        return
    with ExitStack() as stack:
        try:
            world = stack.enter_context(World(play.COMPANIES, play.SEED, ports=ports))
            world.day = 2  # what recovers has recovered by now
        except InputRefused:
            if not World.running_at(ports):  # else somebody was a moment faster, and theirs will do
                raise
        yield


def _ports_of(rules: Mapping[str, object]) -> tuple[int, int, int] | None:
    """Where the demo's policy expects the local world; None when it means another one."""
    found = re.search(r"127\.77\.0\.53:(\d+).*\{domain\}:(\d+)/.*//127\.77\.[0-9.]+:(\d+)/", str(rules), re.DOTALL)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _built(settings: Settings) -> bool:
    """Whether a finished demo stands there. One that was cut off in the middle is built again."""
    from recoup import clock
    from recoup.database import access
    from recoup.refusals import MigrationRefused, ServerRefused

    try:
        with access.opened(settings, demo=True) as database, database.transaction(Authority.READER) as tx:
            return clock.read(tx).status == "released"
    except (MigrationRefused, ServerRefused):
        return False


def _refuse_without_the_world() -> None:
    """Before anything is dropped."""
    from recoup.refusals import InputRefused

    try:
        for part in ("recoup.world", "recoup.gate.flow"):
            importlib.import_module(part)
    except ModuleNotFoundError as error:
        raise InputRefused(
            "gate_extra_missing",
            f"The demo looks at companies, and the package for that is not installed ({error.name}).",
            "Install it: pip install 'recoup[gate,parquet]'",
        ) from error


def _build(settings: Settings) -> None:
    from recoup import clock
    from recoup.database import access
    from recoup.database.migrate import migrate
    from recoup.gate import demo
    from recoup.world import World

    access.ensure_demo_database(settings, anew=True)
    begin = (datetime.now(UTC) - demo.SPAN).replace(microsecond=0)
    print(f"Building the demo in simulated time, from {begin:%Y-%m-%d %H:%M} UTC to the present.")
    login = access.login(settings)
    with access.administration(settings, demo=True) as connection:
        migrate(connection, login=login, simulated_from=begin)
    with access.opened(settings, demo=True) as database, World(demo.COMPANIES, demo.SEED) as world:
        demo.Play(database, world, lambda line: print(f"  {line}", flush=True)).play()
        with database.transaction(Authority.OPERATOR) as tx:
            now = clock.read(tx).now
            clock.advance(tx, max(datetime.now(UTC) - now, datetime.resolution))
            clock.release(tx)
    print("  the clock has joined real time")


def _show(database: Database) -> None:
    from recoup import gate
    from recoup.cli.funnel import print_funnel
    from recoup.cli.output import print_rows
    from recoup.gate import demo

    with database.transaction(Authority.READER) as tx:
        print_funnel(gate.funnel(tx))
    recovered = demo.a_recovered_company(database)
    if recovered is None:
        return
    with database.transaction(Authority.READER) as tx:
        (intake,) = gate.find_intakes(tx, [recovered])
        events = gate.history(tx, [recovered])
    print(f"\n{intake.company_name} failed twice and passed at its last attempt  (intake {recovered}, {intake.status})")
    columns = ("event_timestamp", "event_type", "reason_code", "payload_ref")
    print_rows(events, as_json=False, columns=columns, empty="Nothing has happened yet.")
