"""``recoup recovery breakers`` and ``recoup recovery breaker open|close``"""

from typing import Annotated

from cyclopts import App, Parameter

from recoup.cli.context import acting
from recoup.cli.output import Column, Demo, Json, Limit, command, print_fields, print_rows
from recoup.lifecycles.declaration import Authority
from recoup.recovery import breakers as of

app = App(name="breaker", help="Open a breaker by hand, or close one.", help_format="plaintext")
NAME = Parameter(help="Its name: one of recovery.breakers in the policy, or a table, a kind of runs, a source.")
REASON = Parameter(help="Why. It is logged with your name.")
COLUMNS = (
    Column("name", "breaker", cut="middle", least=14, rank=0),
    Column("status", rank=1),
    Column("waiting", rank=2),
    Column("next_probe_at", "next probe", least=12, rank=3),
    Column("opened_at", "since", least=12, rank=4),
    Column("wait_s", "waits", rank=6),
    Column("probes", rank=7),
    Column("probe_unit", "probe", cut="middle", least=14, rank=5),
    Column("closed_by", "closed by", cut="middle", least=10, rank=10),
    Column("opened_by", "opened by", cut="middle", least=10, rank=9),
    Column("reason", cut="end", least=14, rank=8),
)


def breakers(
    *,
    all_: Annotated[
        bool, Parameter(name="--all", negative="", show_default=False, help="Also those that are closed.")
    ] = False,
    limit: Limit = 50,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List breakers that are not closed: what waits behind each, and when it is tried next."""
    with acting(Authority.READER, demo=demo) as tx:
        found = of.breakers(tx, closed=all_, limit=limit)
    print_rows(found, as_json=json, columns=COLUMNS, empty="Every breaker is closed.")


@app.command(name="open")
def open_(
    name: Annotated[str, NAME],
    *,
    reason: Annotated[str, REASON],
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Open a breaker: what depends on it is not claimed, until one unit has tried it with success.

    For example: recoup recovery breaker open crm --reason "maintenance until noon"
    """
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        is_new = of.open_breaker(tx, name, reason=reason)
        found = next(one for one in of.breakers(tx, limit=1000) if one.name == name)
    if json:
        print_fields(found, as_json=True)
        return
    print(f"breaker {name} {'is open' if is_new else 'was open already'}; depends on it: {', '.join(found.parts)}")
    print(f"Next: {command('recovery breakers', demo=demo)}")


@app.command
def close(
    name: Annotated[str, NAME],
    *,
    reason: Annotated[str, REASON],
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Close a breaker, without a probe: what depends on it is claimed again."""
    with acting(Authority.OPERATOR, demo=demo, reason=of.checked("reason", reason)) as tx:
        of.close_breaker(tx, name)
    if json:
        print_fields({"name": name, "status": "closed"}, as_json=True)
        return
    print(f"breaker {name} is closed")
