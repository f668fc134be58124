"""``recoup runs``"""

import json as json_
import os
import socket
from dataclasses import asdict
from typing import Annotated, Any, Literal
from uuid import UUID

from cyclopts import App, Parameter, validators

from recoup import pauses
from recoup.cli.context import acting
from recoup.cli.output import Column, Demo, Json, Limit, ends_with, print_fields, print_rows, refuse_unheard, say, shown
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from recoup.runs import listing, orphans, running
from recoup.runs.running import MAX_CLAIM, Failed, NewRun, Succeeded
from recoup.runs.vocabulary import RunStatus

app = App(
    name="runs",
    help_epilogue="A run sends heartbeats while it works. One that falls silent is marked crashed by a worker; a"
    " retry of it is a new run.\n\nIn a program of yours, recoup.run does all of this: with recoup.run(db, KIND): …",
    help_format="plaintext",
)
LATE = "The run had ended or was marked crashed, or the token is another one. The result is stored, and does not count."
Kind = Annotated[str, Parameter(help="What kind of work it is, such as nightly-import.")]
Token = Annotated[UUID, Parameter(help="The token that recoup runs start or claim printed.")]
Owner = Annotated[str | None, Parameter(show_default=False, help="Who runs it. Default: host name and process id.")]
RunId = Annotated[UUID, Parameter(help="The id of the run.")]
JsonText = Annotated[str | None, Parameter(show_default=False)]
COLUMNS = (
    Column("run_id", "run", least=36, rank=0),
    Column("kind", cut="middle", least=12, rank=2),
    Column("source", cut="middle", least=12, rank=9),
    Column("status", rank=1),
    Column("owner", cut="middle", least=12, rank=5),
    Column("created_at", "created", least=12, rank=3),
    Column("started_at", "started", least=12, rank=7),
    Column("heartbeat_at", "heartbeat", least=12, rank=6),
    Column("finished_at", "finished", least=12, rank=8),
    Column("retry_of", cut="middle", rank=10),
    Column("message", cut="end", least=16, rank=4),
)


@app.command
def start(
    kind: Kind,
    *,
    queue: Annotated[bool, Parameter(negative="", show_default=False, help="Queue it, to be claimed.")] = False,
    input_: Annotated[JsonText, Parameter(name="--input", help="What it works on, a JSON object.")] = None,
    source: Annotated[str | None, Parameter(help="What its failures are counted under. Default: kind.")] = None,
    owner: Owner = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Start a run, or queue one; print its id, and its token.

    For example: recoup runs start nightly-import --input '{"day": "2026-01-01"}'; then send heartbeats, and report:
    recoup runs heartbeat RUN --token TOKEN, recoup runs finish RUN --token TOKEN --status succeeded
    """
    refuse_unheard("the token of the run")
    new = NewRun(kind=kind, input=_parsed(input_, "--input"), source=source)
    with acting(Authority.RUNNER, demo=demo) as tx:
        if queue:
            (run_id,) = running.queue(tx, [new], owner=owner)
            row: dict[str, Any] = {"run_id": run_id, "status": "queued"}
        else:
            (one,) = running.start(tx, [new], owner=owner or _name())
            row = {"run_id": one.run_id, "status": "running", "token": one.token}
    print_fields(row, as_json=json)


@app.command
def claim(
    *,
    kind: Kind,
    limit: Annotated[int, Parameter(help="Maximum.", validator=validators.Number(gte=1, lte=MAX_CLAIM))] = 1,
    owner: Owner = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Claim queued runs of a kind, oldest first. Nobody else gets them. Send heartbeats while you work."""
    refuse_unheard("the token of what is claimed")
    with acting(Authority.RUNNER, demo=demo) as tx:
        claimed = running.claim(tx, kind=kind, limit=limit, owner=owner or _name())
        held = None if claimed else pauses.paused(tx, "table:recovery.run")
    print_rows(
        claimed,
        as_json=json,
        columns=("run_id", "token", "input", "retry_of", "queued_at"),
        empty="No run of this kind is queued." if held is None else "Nothing was claimed:",
    )
    if held is not None:
        say(f"runs were paused by {shown(held.paused_by)} at {shown(held.paused_at)}: {shown(held.reason)}")


@app.command
def heartbeat(run: RunId, *, token: Token, demo: Demo = False, json: Json = False) -> None:
    """Keep a run alive. Refused if it has ended, or was marked crashed."""
    with acting(Authority.RUNNER, demo=demo) as tx:
        running.heartbeat(tx, run, token)
    print_fields({"run_id": run, "status": "running"}, as_json=json)


@app.command
def note(run: RunId, text: str, *, token: Token, demo: Demo = False, json: Json = False) -> None:
    """Write a note to the trace of a run, and keep it alive.

    Parameters
    ----------
    text
        The note.
    """
    with acting(Authority.RUNNER, demo=demo) as tx:
        number = running.note(tx, run, token, text)
    print_fields({"run_id": run, "note": number}, as_json=json)


@app.command
def finish(
    run: RunId,
    *,
    token: Token,
    status: Annotated[Literal["succeeded", "failed"], Parameter(help="How it ended.")],
    message: Annotated[str | None, Parameter(show_default=False, help="Why it failed, or what it did.")] = None,
    result: Annotated[JsonText, Parameter(help="Its result, as JSON.")] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """End a run: succeeded or failed. Exits with status 1 if it was marked crashed before."""
    value = _parsed(result, "--result")
    outcome = (
        Failed(run_id=run, token=token, message=message or "", result=value)
        if status == "failed"
        else Succeeded(run_id=run, token=token, message=message, result=value)
    )
    with acting(Authority.RUNNER, demo=demo) as tx:
        (ended,) = running.finish(tx, [outcome])
    late = ended.status == "late"
    with ends_with(1 if late else 0):
        print_fields(ended._asdict() | ({"hint": LATE} if late else {}), as_json=json)


@app.command(name="list")
def list_(
    *,
    kind: Annotated[str | None, Parameter(show_default=False, help="Only of this kind.")] = None,
    status: Annotated[RunStatus | None, Parameter(show_default=False, help="Only in this status.")] = None,
    source: Annotated[str | None, Parameter(show_default=False, help="Only of this source.")] = None,
    limit: Limit = 50,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List runs, newest first."""
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.list_runs(tx, kind=kind, status=status, source=source, limit=limit)
    print_rows(found, as_json=json, columns=COLUMNS, empty="No runs match.")


@app.command
def show(run: RunId, *, demo: Demo = False, json: Json = False) -> None:
    """Show a run: its status, its input and result, and its trace."""
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.show(tx, run)
    row = asdict(found)
    if json:
        print_fields(row, as_json=True)
        return
    trace = row.pop("trace")
    print_fields(row, as_json=False)
    print()
    print_rows(trace, as_json=False, columns=("logged_at", "event_type", "to_status", "reason", "actor_id"), empty="")


@app.command(name="orphans")
def orphans_(
    *,
    marked: Annotated[
        bool, Parameter(negative="", show_default=False, help="List those that were marked crashed, newest first.")
    ] = False,
    limit: Limit = 50,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List runs that the next sweep would mark crashed, and why; or those that were marked."""
    with acting(Authority.READER, demo=demo) as tx:
        found = orphans.crashed(tx, limit=limit) if marked else orphans.orphans(tx, limit=limit)
    print_rows(found, as_json=json, empty="No run was marked crashed." if marked else "No run is orphaned.")


def _name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def _parsed(text: str | None, option: str) -> Any:
    if text is None:
        return None
    try:
        return json_.loads(text)
    except (ValueError, RecursionError):
        raise InputRefused(
            "json_unreadable", f"{option} is not JSON: {shown(text)[:50]}", "Write it as JSON, such as '{\"day\": 1}'."
        ) from None
