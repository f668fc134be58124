"""``recoup pause``, ``recoup resume``, ``recoup pauses``"""

from typing import Annotated

from cyclopts import Parameter

from recoup import pauses
from recoup.cli.completers import scopes
from recoup.cli.context import acting
from recoup.cli.output import Demo, Json, Limit, print_rows, shown
from recoup.domain import pausables
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority

Scope = Annotated[str, Parameter(completer=scopes)]


def pause(scope: Scope, name: str | None = None, *, reason: str, demo: Demo = False) -> None:
    """Pause all claims within a scope at once. Work that was claimed before may finish.

    For example: recoup pause duty seal --reason "disk is nearly full"

    Parameters
    ----------
    scope
        global, duty, table, operation, batch or action.
    name
        Its name; none for global.
    reason
        Why. It is recorded in the pause log, with your name.
    """
    kinds = tuple(pausables(DOMAINS))
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        changed = pauses.pause(tx, scope, name, reason=reason, kinds=kinds)
    print(f"{_what(scope, name)} is paused" + ("" if changed else " already"))


def resume(scope: Scope, name: str | None = None, *, reason: str, demo: Demo = False) -> None:
    """Resume what was paused.

    For example: recoup resume duty seal --reason "disk was extended"

    Parameters
    ----------
    scope
        global, duty, table, operation, batch or action.
    name
        Its name; none for global.
    reason
        Why. It is recorded in the pause log, with your name.
    """
    kinds = tuple(pausables(DOMAINS))
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        changed = pauses.resume(tx, scope, name, reason=reason, kinds=kinds)
        wider = [] if scope == "global" else [p for p in pauses.pauses(tx) if p.scope == "global"]
    print(f"{_what(scope, name)} is resumed" if changed else f"{_what(scope, name)} was not paused")
    if wider:
        print('Everything is still paused. Next: recoup resume global --reason "…"')


def list_pauses(
    *,
    log: Annotated[
        bool, Parameter(negative="", show_default=False, help="Show who paused and resumed what, latest first.")
    ] = False,
    limit: Limit = 100,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List what is paused, by whom and why; or the log of all pauses."""
    with acting(Authority.READER, demo=demo) as tx:
        rows: list[pauses.Pause] | list[pauses.PauseEvent]
        rows = pauses.log(tx, limit=limit) if log else pauses.pauses(tx, limit=limit)
    columns = [name for name in (pauses.PauseEvent if log else pauses.Pause).__dataclass_fields__ if name != "seq"]
    print_rows(rows, as_json=json, columns=columns, empty="Nothing was ever paused." if log else "Nothing is paused.")


def _what(scope: str, name: str | None) -> str:
    return "everything" if scope == "global" else f"{scope} {shown(name)}"
