"""``recoup errors claim``, ``succeed``, ``fail``: what a hub without the library does with its retries."""

import os
import socket
from collections.abc import Callable, Sequence
from typing import Annotated
from uuid import UUID

from cyclopts import Parameter, validators

from recoup.cli.clock import duration
from recoup.cli.context import acting
from recoup.cli.output import Demo, Json, ends_with, print_rows, refuse_unheard, say, shown
from recoup.errors import lookup, retrying
from recoup.errors.lookup import ErrorKey
from recoup.errors.retrying import Ended, Failed, Succeeded
from recoup.lifecycles.declaration import Authority
from recoup.pauses import GLOBAL
from recoup.refusals import InputRefused

MAX_CLAIM = 10_000
LATE = "The retry had ended before, or the token is not its own. Stored, and not applied."
Names = Annotated[str, Parameter(help="Ids, such as 123, or table and id, such as outreach.dol_errors/123.")]
Message = Annotated[
    str, Parameter(name="--message", alias="--said", show_default=False, help="The error message of the retry.")
]
Token = Annotated[UUID, Parameter(help="The token that recoup errors claim printed.")]


def claim(
    *,
    table: Annotated[
        tuple[str, ...], Parameter(negative="", show_default=False, help="Of this table; may be given again.")
    ] = (),
    limit: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=MAX_CLAIM))] = 10,
    worker: str | None = None,
    lease: str | None = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Take errors whose retry is due, longest due first. Nobody else gets them until the lease is over.

    For example: recoup errors claim --table outreach.dol_errors --limit 5 --lease 10m; then try, and report each:
    recoup errors succeed ID --token TOKEN, or recoup errors fail ID --token TOKEN --message "the error message".

    Parameters
    ----------
    limit
        At most so many. Claim no more than you start at once.
    worker
        Who retries. Default: this host and process.
    lease
        How long you need at most, such as 10m. What is not reported by then counts as failed.
    """
    refuse_unheard("the token of what is claimed")
    name = worker or f"{socket.gethostname()}-{os.getpid()}"
    asked = None if lease is None else duration(lease)
    with acting(Authority.HUB, demo=demo) as tx:
        claimed = retrying.claim(tx, limit=limit, worker=name, tables=table or None, lease=asked)
        held = [] if claimed else retrying.pauses_of(tx, table)
    if json or not claimed:
        print_rows(claimed, as_json=json, empty="Nothing is claimed:" if held else "Nothing is due.")
        for pause in held:
            what = "everything" if pause.scope == GLOBAL else pause.scope_id
            say(f"{what} is paused by {shown(pause.paused_by)} since {shown(pause.paused_at)}: {shown(pause.reason)}")
        return
    columns = ("error_id", "error_table", "outreach_id", "error_code", "error_message", "retry_count", "max_retries")
    print_rows(claimed, as_json=False, columns=columns, empty="")
    print(f"\nyours until {shown(claimed[0].lease_until)} UTC, with the token {claimed[0].token}")


def succeed(*errors: Names, token: Token, demo: Demo = False, json: Json = False) -> None:
    """Report that the retries of these errors succeeded: they are resolved."""
    _report(errors, lambda key: Succeeded(**key._asdict(), token=token), demo=demo, as_json=json)


def fail(*errors: Names, token: Token, message: Message = "", demo: Demo = False, json: Json = False) -> None:
    """Report that the retries of these errors failed: they are retried later, or parked."""
    _report(errors, lambda key: Failed(**key._asdict(), token=token, failure=message), demo=demo, as_json=json)


def _report(
    errors: Sequence[str], outcome: Callable[[ErrorKey], Succeeded | Failed], *, demo: bool, as_json: bool
) -> None:
    if not errors:
        raise InputRefused("nothing_asked", "No error was named.", "Give one or more ids.")
    with acting(Authority.HUB, demo=demo) as tx:
        ended: list[Ended] = retrying.finish(tx, [outcome(key) for key in lookup.keys(tx, errors)])
    late = any(one.status == "late" for one in ended)
    rows = [one._asdict() | ({"hint": LATE if one.status == "late" else None} if late else {}) for one in ended]
    with ends_with(1 if late else 0):
        print_rows(rows, as_json=as_json, empty="")
