"""``recoup pause``, ``recoup resume``, ``recoup pauses``"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from recoup.cli.acting import acting
from recoup.cli.output import Demo, Json, Limit, print_rows, shown
from recoup.lifecycles.declaration import Authority

if TYPE_CHECKING:
    from recoup.pauses import Scope

SCOPES = "global, duty, table, batch, source or action"


def pause(scope: str, name: str | None = None, *, reason: str, demo: Demo = False) -> None:
    """Stop all claims within a scope at once. What was claimed before may finish.

    For example: recoup pause duty seal --reason "disk is nearly full"

    Parameters
    ----------
    scope
        global, duty, table, batch, source (of partitions) or action.
    name
        Which one; nothing for global.
    reason
        Why. It goes into the pause log, with your name.
    """
    from recoup import pauses

    known = _scope(scope)
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        changed = pauses.pause(tx, known, name, reason=reason)
    print(f"{_what(scope, name)} is paused" + ("" if changed else ", as it was before"))


def resume(scope: str, name: str | None = None, *, reason: str, demo: Demo = False) -> None:
    """Let claims within a scope go on.

    Parameters
    ----------
    scope
        global, duty, table, batch, source (of partitions) or action.
    name
        Which one; nothing for global.
    reason
        Why. It goes into the pause log, with your name.
    """
    from recoup import pauses

    known = _scope(scope)
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        changed = pauses.resume(tx, known, name, reason=reason)
        wider = [] if scope == "global" else [p for p in pauses.pauses(tx) if p.scope == "global"]
    print(f"{_what(scope, name)} is running" if changed else f"{_what(scope, name)} was not paused")
    if wider:
        print("But everything is paused: recoup resume global --reason …")


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
    from recoup import pauses

    with acting(Authority.READER, demo=demo) as tx:
        rows: list[pauses.Pause] | list[pauses.PauseEvent]
        rows = pauses.log(tx, limit=limit) if log else pauses.pauses(tx, limit=limit)
    print_rows(rows, as_json=json, empty="Nothing was ever paused." if log else "Nothing is paused.")


def _scope(word: str) -> Scope:
    from recoup.pauses import Scope
    from recoup.refusals import InputRefused

    if word not in list(Scope):
        raise InputRefused("pause_scope", f"{word!r} is not a scope.", f"Use {SCOPES}.", scope=word)
    return Scope(word)


def _what(scope: str, name: str | None) -> str:
    return "everything" if scope == "global" else f"{scope} {shown(name)}"
