"""``recoup migrate``"""

from datetime import UTC, datetime
from typing import Annotated

from cyclopts import Parameter

from recoup.cli.output import Demo, Json, print_fields
from recoup.database import access
from recoup.domains import DOMAINS
from recoup.schema import migrate as migrations
from recoup.settings import load


def migrate(
    *,
    simulated_from: Annotated[
        datetime | None,
        Parameter(help="Make a NEW database simulated, standing at this time (UTC unless it says otherwise)."),
    ] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Bring the database to this program's schema, roles included. All or nothing; nothing to do is fine.

    Uses RECOUP_ADMIN_DSN when it is set, else RECOUP_DSN, else the embedded server.
    """
    settings = load()
    if simulated_from is not None and simulated_from.tzinfo is None:
        simulated_from = simulated_from.replace(tzinfo=UTC)
    if demo:
        access.ensure_demo_database(settings, anew=False)
    login = access.login(settings)
    with access.administration(settings, demo=demo) as connection:
        done = migrations.migrate(connection, DOMAINS, login=login, simulated_from=simulated_from)
    if json:
        print_fields(done, as_json=True)
        return
    for name in done.applied:
        print(f"applied  {name}")
    for name in done.routines:
        print(f"written  {name}")
    for release in done.domains:
        print(f"now at   {release}")
    for release in done.kept:
        print(f"kept     {release}: newer than this program's")
    if done.policy:
        print(f"written  policy, version {done.policy}")
    for name in done.made:
        print(f"made     {name}, with its archive")
    if not (done.applied or done.routines or done.domains or done.kept or done.policy or done.made):
        print("nothing to do: the schema is the one this program knows")
