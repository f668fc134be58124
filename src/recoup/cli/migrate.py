"""``recoup migrate``"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from recoup.cli.output import Demo, Json, print_fields
from recoup.cli.policy import read_document
from recoup.database import access
from recoup.database.connection import Transaction
from recoup.domains import DOMAINS
from recoup.refusals import InputRefused
from recoup.schema import migrate as migrations
from recoup.schema.migrate import Migrated
from recoup.settings import Settings, load

SimulatedFrom = Annotated[
    datetime | None, Parameter(help="NEW database: simulated time that starts here (UTC unless it names a zone).")
]
Profile = Annotated[
    Literal["documents", "none"] | None,
    Parameter(help="NEW database: with the seven error tables of the documents (default), or none but your own."),
]
PolicyFile = Annotated[Path | None, Parameter(help="NEW database: its policy, a TOML document.")]


def migrate(
    *,
    simulated_from: SimulatedFrom = None,
    profile: Profile = None,
    policy: PolicyFile = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Create the schema and the roles, or bring them to this version. All or nothing.

    Uses RECOUP_ADMIN_DSN if it is set, else RECOUP_DSN, else the embedded server.
    """
    settings = load()
    if demo:
        access.ensure_demo_database(settings, anew=False)
    with access.administration(settings, demo=demo) as connection:
        done = migrated(connection, settings, simulated_from=simulated_from, profile=profile, policy=policy)
    if json:
        print_fields(done, as_json=True)
        return
    print_migrated(done)


def migrated(
    connection: Transaction,
    settings: Settings,
    *,
    simulated_from: datetime | None,
    profile: str | None,
    policy: Path | None,
) -> Migrated:
    """Migrate a database as the options of a command say."""
    if simulated_from is not None and simulated_from.tzinfo is None:
        simulated_from = simulated_from.replace(tzinfo=UTC)
    return migrations.migrate(
        connection,
        DOMAINS,
        login=access.login(settings),
        simulated_from=simulated_from,
        policy=_document(profile, policy),
    )


def _document(profile: str | None, policy: Path | None) -> str | None:
    if profile is not None and policy is not None:
        raise InputRefused(
            "profile_unclear", "--profile and --policy do not go together.", 'Write profile = "none" into the document.'
        )
    if policy is not None:
        return read_document(policy)
    return None if profile is None else f'[errors]\nprofile = "{profile}"\n'


def print_migrated(done: Migrated) -> None:
    """What a migration did, a line each."""
    for name in done.applied:
        print(f"applied    {name}")
    for name in done.routines:
        print(f"installed  {name}")
    for release in done.domains:
        print(f"now at     {release}")
    for release in done.kept:
        print(f"kept       {release}: newer than this program")
    if done.policy:
        print(f"policy     version {done.policy}")
    for name in done.made:
        print(f"created    {name}, with its archive")
    if not (done.applied or done.routines or done.domains or done.kept or done.policy or done.made):
        print("nothing to do: the schema is up to date")
