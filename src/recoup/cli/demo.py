"""``recoup demo``"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
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


PARTS = ("gate", "errors")  # in the order in which they are shown


@app.default
def everything(*, fresh: Fresh = False) -> None:
    """Build every part of the demo that is missing, and show it."""
    _ensure(*PARTS, fresh=fresh)
    _show_gate()
    _show_errors()


@app.command
def gate(*, fresh: Fresh = False) -> None:
    """Twenty days of Gate Zero against a local world of 2,000 companies: real DNS, real sites, a real directory.

    Four batches go through their waits, a kill switch, a freeze and the mint; then the funnel, and one history.
    """
    _ensure("gate", fresh=fresh)
    _show_gate()


@app.command
def errors(*, fresh: Fresh = False) -> None:
    """Ninety days of a busy outreach system over seven error tables: failures, retries, an outage, a park queue.

    Errors in every status and disposition, archives for every reason; then where they stand, and one error's story.
    """
    _ensure("errors", fresh=fresh)
    _show_errors()


def _ensure(*wanted: str, fresh: bool) -> None:
    """Build what is missing. The parts share one database and its time, so they are built together."""
    from recoup.settings import load

    settings = load()
    built = _built(settings)
    if fresh or not built.issuperset(wanted):
        parts = built.union(wanted)
        if "gate" in parts:
            _refuse_without_the_world()
        _build(settings, parts)


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


def _built(settings: Settings) -> frozenset[str]:
    """The parts of a finished demo that stand there. One that was cut off in the middle is built again."""
    from recoup import clock
    from recoup.database import access
    from recoup.refusals import MigrationRefused, ServerRefused

    try:
        with access.opened(settings, demo=True) as database, database.transaction(Authority.READER) as tx:
            if clock.read(tx).status != "released":
                return frozenset()
            found = tx.execute(
                "select exists (select from cl.gate_zero_batch), exists (select from recoup.error_event)"
            ).fetchone()
    except (MigrationRefused, ServerRefused):
        return frozenset()
    return frozenset(part for part, there in zip(PARTS, found or (), strict=True) if there)


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


def _build(settings: Settings, parts: frozenset[str]) -> None:
    from recoup import clock
    from recoup.database import access
    from recoup.database.migrate import migrate
    from recoup.errors.demo import SPAN

    access.ensure_demo_database(settings, anew=True)
    span = SPAN if "errors" in parts else _gate_span()
    begin = (datetime.now(UTC) - span).replace(microsecond=0)
    print(f"Building the demo in simulated time, from {begin:%Y-%m-%d %H:%M} UTC to the present.")
    login = access.login(settings)
    with access.administration(settings, demo=True) as connection:
        migrate(connection, login=login, simulated_from=begin)
    with access.opened(settings, demo=True) as database:
        _play(database, parts)
        with database.transaction(Authority.OPERATOR) as tx:
            now = clock.read(tx).now
            clock.advance(tx, max(datetime.now(UTC) - now, datetime.resolution))
            clock.release(tx)
    print("  the clock has joined real time")


def _play(database: Database, parts: frozenset[str]) -> None:
    """Errors for ninety days; in the last twenty of them Gate Zero, if both are wanted."""
    from recoup.errors import demo

    if "errors" not in parts:
        _play_gate(database)
        return
    play = demo.Play(database, _say)
    if "gate" in parts:
        play.play(lambda: _play_gate(database), meanwhile_days=_gate_span().days)
    else:
        play.play()


def _play_gate(database: Database) -> None:
    from recoup.gate import demo
    from recoup.world import World

    with World(demo.COMPANIES, demo.SEED) as world:
        demo.Play(database, world, _say).play()


def _gate_span() -> timedelta:
    from recoup.gate.demo import SPAN

    return SPAN


def _say(line: str) -> None:
    print(f"  {line}", flush=True)


def _show_gate() -> None:
    from recoup import gate
    from recoup.cli.acting import acting
    from recoup.cli.funnel import print_funnel
    from recoup.cli.output import print_rows
    from recoup.database import access
    from recoup.gate import demo
    from recoup.settings import load

    with access.opened(load(), demo=True) as database:
        recovered = demo.a_recovered_company(database)
    with acting(Authority.READER, demo=True) as tx:
        print_funnel(gate.funnel(tx))
        if recovered is not None:
            (intake,) = gate.find_intakes(tx, [recovered])
            print(
                f"\n{intake.company_name} failed twice and passed at its last attempt"
                f"  (intake {recovered}, {intake.status})"
            )
            columns = ("event_timestamp", "event_type", "reason_code", "payload_ref")
            events = gate.history(tx, [recovered])
            print_rows(events, as_json=False, columns=columns, empty="Nothing has happened yet.")
    print("\nLook around:   recoup gate batches --demo, recoup gate eligible --demo, recoup gate exhausted --demo")
    print("Let it go on:  recoup gate run --demo, or recoup worker --demo")
    print('Or by hand:    psql "$(recoup db uri --demo)"')


def _show_errors() -> None:
    from recoup.cli.acting import acting
    from recoup.cli.output import print_rows, shown
    from recoup.database import access
    from recoup.errors import demo, looking
    from recoup.errors.telling import story
    from recoup.settings import load

    with access.opened(load(), demo=True) as database:
        eventful = demo.an_eventful_error(database)
    print("\nWhere the errors stand:")
    columns = (
        "error_table",
        "open",
        "retry_pending",
        "parked",
        "escalated",
        "blocking",
        "due_now",
        "retrying",
        "archived",
    )
    with acting(Authority.READER, demo=True) as tx:
        standings = [{**asdict(one), "archived": sum(one.archived.values())} for one in looking.stats(tx)]
        print_rows(standings, as_json=False, columns=columns, empty="There are no error tables.")
        if eventful is not None:
            found = looking.show(tx, str(eventful.error_id))
            print(f"\nError {eventful.error_id} of {eventful.error_table}: {shown(eventful.error_message)}")
            for line in story(found.events):
                print(f"  {shown(line)}")
            print(f"\nMay its company move on?  recoup errors blocked {eventful.outreach_id} --demo")
    print("Look around:   recoup errors list --status PARKED --demo, recoup errors stats --demo")
    print("Do something:  recoup errors unpark --table outreach.dol_errors --status PARKED --demo  (previewed first)")
