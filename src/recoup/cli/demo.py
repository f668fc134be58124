"""``recoup demo``"""

from __future__ import annotations

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
    """Take three companies by hand through Gate Zero and print their histories."""
    from recoup.database import access
    from recoup.settings import load

    settings = load()
    if fresh or not _built(settings):
        _build(settings)
    with access.opened(settings, demo=True) as database:
        _show(database)
    print('\nLook around: recoup gate batches --demo, or psql "$(recoup db uri --demo)"')


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


def _build(settings: Settings) -> None:
    from recoup import clock
    from recoup.database import access
    from recoup.database.migrate import migrate
    from recoup.gate import demo

    access.ensure_demo_database(settings, anew=True)
    begin = (datetime.now(UTC) - demo.SPAN).replace(microsecond=0)
    print(f"Building the demo in simulated time, from {begin:%Y-%m-%d %H:%M} UTC to the present.")
    login = access.login(settings)
    with access.administration(settings, demo=True) as connection:
        migrate(connection, login=login, simulated_from=begin)
    with access.opened(settings, demo=True) as database:
        demo.play(database, lambda line: print(f"  {line}"))
        with database.transaction(Authority.OPERATOR) as tx:
            now = clock.read(tx).now
            clock.advance(tx, max(datetime.now(UTC) - now, datetime.resolution))
            clock.release(tx)
    print("  the clock has joined real time")


def _show(database: Database) -> None:
    from recoup import gate
    from recoup.cli.output import print_rows
    from recoup.gate import demo

    with database.transaction(Authority.READER) as tx:
        intakes = gate.intakes_of_batch(tx, demo.BATCH)
        events = gate.history(tx, intakes)
        found = {intake.intake_id: intake for intake in gate.find_intakes(tx, intakes)}
    titles = {story.company.company_name: story.title for story in demo.STORIES}
    for intake_id in intakes:
        intake = found[intake_id]
        print(f"\n{intake.company_name}: {titles[intake.company_name]}  (intake {intake_id}, now {intake.status})")
        mine = [event for event in events if event.intake_id == intake_id]
        columns = ("event_timestamp", "event_type", "reason_code", "payload_ref")
        print_rows(mine, as_json=False, columns=columns, empty="Nothing has happened yet.")
