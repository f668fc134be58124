"""``recoup errors retry``; and ``claim``, ``succeed``, ``fail``, for hubs that do not use the library."""

import os
import socket
from collections.abc import Callable, Sequence
from typing import Annotated
from uuid import UUID

from cyclopts import Parameter, validators

from recoup.cli.context import acting, opened, person
from recoup.cli.demo import handlers as demo_handlers
from recoup.cli.output import Demo, Json, ends_with, print_fields, print_rows, refuse_unheard, say, shown
from recoup.durations import duration
from recoup.errors import foreground, lookup, retrying
from recoup.errors.lookup import ErrorKey
from recoup.errors.retrying import Ended, Failed, Succeeded
from recoup.lifecycles.declaration import Authority
from recoup.pauses import GLOBAL
from recoup.refusals import InputRefused

MAX_CLAIM = 10_000
LATE = "The lease had expired, or the token is another one. The result is stored, and does not count."
Names = Annotated[str, Parameter(help="Ids, such as 123, or table and id, such as outreach.dol_errors/123.")]
Token = Annotated[UUID, Parameter(help="The token that recoup errors claim printed.")]


def retry(error: Names, *, lease: str | None = None, demo: Demo = False, json: Json = False) -> None:
    """Retry one error now, in the foreground: call its handler, show the traceback, record the outcome.

    For example: recoup errors retry 123. The error must be due; the refusal says when it is, or who has claimed it.
    Ctrl-C counts as a failed retry. Exits with status 1 when the retry failed.

    Parameters
    ----------
    lease
        How long the handler may take, such as 10m. Default: errors.retry_lease_s of the policy.
    """
    asked = None if lease is None else duration(lease)
    with opened(demo=demo) as database:
        functions = demo_handlers() if demo else None
        done = foreground.retry(database, error, functions=functions, lease=asked, actor=person(database))
    if done.traceback is not None and not json:
        say("\n".join(shown(line) for line in done.traceback.splitlines()) + "\n")
    with ends_with(0 if done.failure is None and done.status != "late" else 1):
        row = done._asdict() if json else {name: one for name, one in done._asdict().items() if name != "traceback"}
        print_fields(row | ({"hint": LATE} if done.status == "late" else {}), as_json=json)


def claim(
    *,
    table: Annotated[
        tuple[str, ...], Parameter(negative="", show_default=False, help="Only of this table; may be repeated.")
    ] = (),
    limit: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=MAX_CLAIM))] = 10,
    worker: str | None = None,
    lease: str | None = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Claim errors whose retry is due, longest due first. Nobody else gets them until the lease expires.

    For example: recoup errors claim --table outreach.dol_errors --limit 5 --lease 10m; then try, and report each:
    recoup errors succeed ID --token TOKEN, or recoup errors fail ID --token TOKEN --message "the error message".

    Parameters
    ----------
    limit
        Maximum. Claim no more than you start at once.
    worker
        Who retries. Default: host name and process id.
    lease
        How long you need at most, such as 10m. A retry that is not reported by then counts as failed.
    """
    refuse_unheard("the token of what is claimed")
    name = worker or f"{socket.gethostname()}-{os.getpid()}"
    asked = None if lease is None else duration(lease)
    with acting(Authority.HUB, demo=demo) as tx:
        claimed = retrying.claim(tx, limit=limit, worker=name, tables=table or None, lease=asked)
        held = [] if claimed else retrying.pauses_of(tx, table)
    if json or not claimed:
        print_rows(claimed, as_json=json, empty="Nothing was claimed:" if held else "No retry is due.")
        for pause in held:
            what = "everything" if pause.scope == GLOBAL else pause.scope_id
            say(f"{what} was paused by {shown(pause.paused_by)} at {shown(pause.paused_at)}: {shown(pause.reason)}")
        return
    columns = ("error_id", "error_table", "outreach_id", "error_code", "error_message", "retry_count", "max_retries")
    print_rows(claimed, as_json=False, columns=columns, empty="")
    print(f"\nclaimed until {shown(claimed[0].lease_until)} UTC, token {claimed[0].token}")


def succeed(*errors: Names, token: Token, demo: Demo = False, json: Json = False) -> None:
    """Report that the retries of these errors succeeded: they are resolved."""
    _report(errors, lambda key: Succeeded(**key._asdict(), token=token), demo=demo, as_json=json)


def fail(
    *errors: Names,
    token: Token,
    message: Annotated[str, Parameter(help="Why the retry failed.")] = "",
    said: Annotated[str, Parameter(show=False)] = "",
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Report that the retries of these errors failed: they are retried later, or parked."""
    _report(errors, lambda key: Failed(**key._asdict(), token=token, failure=message or said), demo=demo, as_json=json)


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
