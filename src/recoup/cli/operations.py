"""``recoup operations``"""

import time
from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from cyclopts import App, Parameter

from recoup import operations
from recoup.cli.context import acting, opened, person
from recoup.cli.output import (
    Column,
    Demo,
    Json,
    Limit,
    command,
    ends_with,
    print_fields,
    print_rows,
    print_wrapped,
    say,
    shown,
)
from recoup.database.connection import Database, Transaction
from recoup.domain import duties
from recoup.domains import DOMAINS
from recoup.formatting import plural, timestamp
from recoup.lifecycles.declaration import Authority
from recoup.operations import Operation, Outcomes, Step, steps
from recoup.worker import register

WATCH_EVERY_S = 1.0
COLUMNS = (
    Column("operation_id", "operation", least=36, rank=0),
    Column("subject", rank=10),
    Column("verb", rank=1),
    Column("status", rank=2),
    Column("step", rank=7),
    Column("items", rank=3),
    Column("done", rank=4),
    Column("refused", rank=5),
    Column("pending", rank=6),
    Column("requested_at", "requested", least=12, rank=8),
    Column("requested_by", "by", cut="middle", least=10, rank=9),
    Column("done_at", "finished", least=12, rank=12),
    Column("why", cut="end", least=14, rank=11),
    Column("paused", cut="end", rank=10),
    Column("filter", cut="end", rank=13),
    Column("arguments", cut="end", rank=14),
)
OperationId = Annotated[UUID, Parameter(help="Its id.")]
Watch = Annotated[
    bool,
    Parameter(negative="", show_default=False, help="Stay until it ends, pauses or stops. Ctrl-C leaves it going."),
]
app = App(name="operations", help_format="plaintext")


@app.default
def list_operations(
    *,
    subject: Annotated[str | None, Parameter(help="Only operations on this table, such as recoup.error.")] = None,
    limit: Limit = 20,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List operations over many rows, newest first: progress, and what was refused.

    To pause one: recoup pause operation ID. To continue one that paused or stopped itself: recoup resume operation ID
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = operations.operations(tx, subject=subject, limit=limit)
    names = [*(column.field for column in COLUMNS), "canary", "refusals"]
    rows = [{name: getattr(one, name) for name in names} for one in found]
    print_rows(rows, as_json=json, columns=COLUMNS, empty="No operations yet.")


@app.command
def show(operation: OperationId, *, watch: Watch = False, demo: Demo = False, json: Json = False) -> None:
    """Show one operation: its progress, its steps with the outcomes of the last one, and why it is in this status."""
    with opened(demo=demo) as database:
        print_operation(database, operation, watch=watch, demo=demo, json=json)


@app.command
def cancel(
    operation: OperationId,
    *,
    reason: Annotated[str, Parameter(help="Why. It is logged with your name.")],
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Cancel the rest of an operation. What was done stays done; the other rows are left as they are."""
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        rest = steps.cancel(tx, operation, reason=reason)
    if json:
        print_fields({"operation_id": operation, "status": "CANCELLED", "left": rest}, as_json=True)
    else:
        print(f"operation {operation} is cancelled; {plural(rest, 'item')} left as they are")


def print_operation(database: Database, operation_id: UUID, *, watch: bool, demo: bool, json: bool) -> None:
    """An operation as it is, or once it does not continue. Exits with status 1 if it stopped, or rows were refused."""
    while True:
        with database.transaction(Authority.READER, actor=person(database)) as tx:
            found = operations.find(tx, operation_id)
            outcomes = _outcomes(tx, found)
            events = steps.story(tx, operation_id)
            unserved = _unserved(tx, found)
        if not watch or found.status != "OPEN" or found.paused is not None:
            break
        say(f"{_progress(found)}{_counted(outcomes)}")
        time.sleep(WATCH_EVERY_S)
    with ends_with(1 if found.refused or found.status == "STOPPED" else 0):
        if json:
            counts = None if outcomes is None else outcomes._asdict()
            print_fields(
                {**plain(found), "outcomes": counts, "events": [one._asdict() for one in events], "note": unserved},
                as_json=True,
            )
            return
        _print(found, outcomes, unserved, demo=demo)
        if found.canary is not None:
            print("\nHistory")
            lines = [(timestamp(one.logged_at), f"{one.to_status} step {one.step}: {one.why}") for one in events]
            # A step that has gone is one more event, for the same reason.
            texts = [text for _, text in lines]
            print_wrapped(
                [line for line, before in zip(lines, [None, *texts], strict=False) if line[1] != before], indent=2
            )
            print(f"\nNext: {command(_next(found), demo=demo)}")


def plain(operation: Operation) -> dict[str, Any]:
    return {**asdict(operation), "digest": operation.digest.hex()}


def _print(found: Operation, outcomes: Outcomes | None, unserved: str | None, *, demo: bool) -> None:
    print(f"Operation {found.operation_id} · {found.verb} {found.subject} · {found.status}")
    print_wrapped(
        [
            ("Items", f"{found.items:,}: {found.done:,} done, {found.refused:,} refused, {found.pending:,} pending"),
            *([("Why", found.why)] if found.why else []),
            *([("Step", f"{_progress(found)}{_counted(outcomes)}")] if outcomes is not None else []),
            *([("Paused", found.paused)] if found.paused else []),
            *([("Taken up", f"{timestamp(found.taken_up_at)} by a worker")] if found.taken_up_at else []),
            *([("Note", unserved)] if unserved else []),
            *[("Refused", f"{count:,}: {shown(why)}") for why, count in found.refusals.items()],
            ("Requested", f"{timestamp(found.requested_at)} by {shown(found.requested_by)}"),
        ],
        indent=2,
    )


def _progress(found: Operation) -> str:
    if found.step_start is None or found.step_end is None:
        return f"{found.done + found.refused:,} of {found.items:,}"
    went = min(found.done + found.refused, found.step_end) - found.step_start
    return f"step {found.step}: {went:,} of {found.step_end - found.step_start:,} went"


def _counted(outcomes: Outcomes | None) -> str:
    if outcomes is None:
        return ""
    return f"; by now {outcomes.succeeded:,} succeeded, {outcomes.failed:,} failed, {outcomes.open:,} open"


def _outcomes(tx: Transaction, found: Operation) -> Outcomes | None:
    """Of the items of its step."""
    if found.step_start is None or found.step_end is None:
        return None
    subjects = {subject.table: subject for domain in DOMAINS for subject in domain.subjects}
    return subjects[found.subject].outcomes[found.verb](tx, Step(found.operation_id, found.step_start, found.step_end))


def _unserved(tx: Transaction, found: Operation) -> str | None:
    """Whether no worker continues it."""
    task = next((duty.name for duty in duties(DOMAINS) if duty.serves == found.subject), None)
    if found.canary is None or found.status != "OPEN" or task is None:
        return None
    running = any(one.status == "running" and task in one.duties for one in register.workers(tx))
    return None if running else f"no worker runs the background task {task}: recoup worker --duty {task}"


def _next(found: Operation) -> str:
    if found.paused is not None or found.status in ("PAUSED", "STOPPED"):
        return f'resume operation {found.operation_id} --reason "…"'
    return f"operations show {found.operation_id} --watch" if found.status == "OPEN" else "operations"
