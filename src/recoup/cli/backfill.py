"""``recoup backfill``"""

import time
from dataclasses import asdict
from datetime import date
from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter, validators

from recoup.cli.confirm import confirm
from recoup.cli.context import acting, opened, person
from recoup.cli.output import Column, Demo, Json, Limit, command, print_fields, print_rows, say
from recoup.cli.progress import Tell, progress
from recoup.database.connection import Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.partitions import backfilling
from recoup.partitions.backfill_lifecycle import BackfillStatus
from recoup.partitions.backfilling import Backfill, Selection
from recoup.partitions.policy import PartitionPolicy
from recoup.policy import in_force

app = App(
    name="backfill",
    help_epilogue="A backfill enqueues the partitions of a range, day by day, in a lane of its own: fresh partitions go"
    " first, and of each ten dispatches at least one is a backfill's. It does not touch what succeeded, what is"
    " terminal, or what another backfill works on, unless you say so.",
    help_format="plaintext",
)
WATCH_S = 2.0
Source = Annotated[str, Parameter(help="The source.")]
Customers = Annotated[
    list[str] | None,
    Parameter(name="--customer-id", negative="", show_default=False, help="Customers; default: all that are known."),
]
Queries = Annotated[
    list[str] | None,
    Parameter(name="--query-name", negative="", show_default=False, help="Queries; default: all that are registered."),
]
First = Annotated[date, Parameter(name="--from", help="First day, as 2026-01-01.")]
Last = Annotated[date, Parameter(name="--to", help="Last day, included.")]
BackfillId = Annotated[UUID, Parameter(help="The id of the backfill.")]
Yes = Annotated[
    int | None, Parameter(show_default=False, help="How many you expect: more are refused, and nobody is asked.")
]
FOUND = {
    "new": "enqueued",
    "failed": "asked for again",
    "pending": "waits already, and becomes a member",
    "held": "released",
    "success": "left as it is",
    "terminal": "left as it is",
    "open": "left: a run is under way",
    "other": "left: a member of another backfill",
}
COLUMNS = (
    Column("backfill_id", "backfill", least=36, rank=0),
    Column("status", rank=1),
    Column("source", cut="middle", least=10, rank=2),
    Column("first", "from", least=10, rank=5),
    Column("last", "to", least=10, rank=6),
    Column("expected", "partitions", rank=3),
    Column("waiting", rank=4),
    Column("succeeded", rank=4),
    Column("terminal", rank=7),
    Column("left", rank=8),
    Column("reason", cut="end", least=12, rank=9),
)


@app.command
def plan(
    source: Source,
    *,
    first: First,
    last: Last,
    customer_id: Customers = None,
    query_name: Queries = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Show what a backfill would find: new, failed, terminal, success, open. Changes nothing."""
    with acting(Authority.CONTROL_PLANE, demo=demo) as tx:
        selection = _selected(tx, source, first, last, customer_id, query_name)
        found = backfilling.preview(tx, selection)
    rows = [asdict(one) | {"becomes": FOUND[one.found]} for one in found]
    print_rows(rows, as_json=json, columns=("found", "partitions", "becomes", "example", "other"), empty="")


@app.command
def start(
    source: Source,
    *,
    first: First,
    last: Last,
    reason: Annotated[str, Parameter(help="Why; it is logged.")],
    customer_id: Customers = None,
    query_name: Queries = None,
    reprocess: Annotated[
        bool, Parameter(negative="", show_default=False, help="Also reprocess what succeeded.")
    ] = False,
    include_terminal: Annotated[
        bool, Parameter(negative="", show_default=False, help="Also what was given up: a logged override.")
    ] = False,
    only_failed: Annotated[
        bool, Parameter(negative="", show_default=False, help="Enqueue nothing that is new.")
    ] = False,
    priority: Annotated[
        int, Parameter(help="0 (first) to 9, among backfills.", validator=validators.Number(gte=0, lte=9))
    ] = backfilling.DEFAULT_PRIORITY,
    yes: Yes = None,
    watch: Annotated[bool, Parameter(negative="", show_default=False, help="Stay until it ends.")] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Start a backfill: show what it finds, then enqueue its partitions, 10,000 at a time.

    For example: recoup backfill start crm --from 2026-01-01 --to 2026-01-31 --reason "history for the new report"

    If it is interrupted while it is planned, a worker continues it.
    """
    with opened(demo=demo) as database:
        with database.transaction(Authority.CONTROL_PLANE) as tx:
            selection = backfilling.selected(
                tx, source, first, last, customers=customer_id or (), queries=query_name or ()
            )
            found = backfilling.preview(tx, selection)
            above = in_force(tx).policy[PartitionPolicy].confirm_above
        if not json:
            becomes = FOUND | {
                **({"success": "reprocessed"} if reprocess else {}),
                **({"terminal": "asked for again: an override"} if include_terminal else {}),
                **({"new": "left as it is"} if only_failed else {}),
            }
            print_rows(
                [asdict(one) | {"becomes": becomes[one.found]} for one in found],
                as_json=False,
                columns=("found", "partitions", "becomes"),
                empty="",
            )
        confirm(selection.size, "partitions", above=above, yes=yes)  # no transaction waits for a person
        with database.transaction(Authority.CONTROL_PLANE, actor=person(database), reason=reason) as tx:
            backfill = backfilling.start(
                tx, selection, reason=reason, priority=priority, reprocess=reprocess, with_terminal=include_terminal,
                only_failed=only_failed,
            )  # fmt: skip
        with progress(quiet=json) as tell:
            more = True
            while more:
                with database.transaction(Authority.CONTROL_PLANE, actor=person(database), reason=reason) as tx:
                    more = backfilling.plan(tx, backfill)
                    shown_ = backfilling.show(tx, backfill)
                tell(f"planned {shown_.planned:,} of {shown_.expected:,}", shown_.planned / max(shown_.expected, 1))
        if watch:
            shown_ = _watched(database, backfill, quiet=json)
    print_fields(shown_, as_json=json)
    if not json and shown_.status == BackfillStatus.RUNNING:
        say(f"Follow it: {command(f'backfill status {backfill} --watch', demo=demo)}")


@app.command
def status(
    backfill: Annotated[UUID | None, Parameter(help="The id of one backfill; default: all, newest first.")] = None,
    *,
    open_only: Annotated[
        bool, Parameter(name="--open", negative="", show_default=False, help="Only those that have not ended.")
    ] = False,
    watch: Annotated[bool, Parameter(negative="", show_default=False, help="Stay until it ends.")] = False,
    limit: Limit = 50,
    after: Annotated[
        UUID | None, Parameter(show_default=False, help="Older than this backfill: the last id of the page before.")
    ] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List backfills with their progress, or show one."""
    if backfill is None:
        with acting(Authority.READER, demo=demo) as tx:
            found = backfilling.backfills(tx, open_only=open_only, limit=limit, after=after)
        print_rows(found, as_json=json, columns=COLUMNS, empty="There is no backfill.")
        return
    with opened(demo=demo) as database:
        if watch:
            one = _watched(database, backfill, quiet=json)
        with database.transaction(Authority.READER) as tx:
            one = backfilling.show(tx, backfill)
            left = backfilling.left_out(tx, backfill)
    print_fields(one, as_json=json)
    for how, other, count in () if json else left:
        say(f"left as found: {count:,} {how}" + (f" (backfill {other})" if other else ""))


@app.command
def pause(
    backfill: BackfillId, *, reason: Annotated[str, Parameter(help="Why.")], demo: Demo = False, json: Json = False
) -> None:
    """Pause a backfill: none of its partitions is dispatched. Runs that are open finish."""
    _move(backfill, backfilling.pause, "held", reason=reason, demo=demo, json=json)


@app.command
def resume(
    backfill: BackfillId, *, reason: Annotated[str, Parameter(help="Why.")], demo: Demo = False, json: Json = False
) -> None:
    """Resume a paused backfill."""
    _move(backfill, backfilling.resume, "released", reason=reason, demo=demo, json=json)


@app.command
def cancel(
    backfill: BackfillId, *, reason: Annotated[str, Parameter(help="Why.")], demo: Demo = False, json: Json = False
) -> None:
    """Cancel a backfill: open runs finish, the rest stays pending and held until somebody asks for it again."""
    _move(backfill, backfilling.cancel, "held", reason=reason, demo=demo, json=json)


def _move(backfill: UUID, move: object, word: str, *, reason: str, demo: bool, json: bool) -> None:
    assert callable(move)
    with opened(demo=demo) as database:
        who = person(database)
        with database.transaction(Authority.CONTROL_PLANE, actor=who, reason=reason) as tx:
            move(tx, backfill)
        # It applies from now on; its members follow in batches, and a worker does what is left.
        total, more = 0, True
        with progress(quiet=json) as tell:
            while more:
                with database.transaction(Authority.CONTROL_PLANE, actor=who, reason=reason) as tx:
                    count = backfilling.settle(tx, backfill)
                total, more = total + count, count > 0
                tell(f"{word} {total:,} partitions", None)
        with database.transaction(Authority.READER) as tx:
            one = backfilling.show(tx, backfill)
    print_fields(one, as_json=json)


def _watched(database: Database, backfill: UUID, *, quiet: bool) -> Backfill:
    with progress(quiet=quiet) as tell:
        while True:
            with database.transaction(Authority.READER) as tx:
                one = backfilling.show(tx, backfill)
            _tell(tell, one)
            if one.ended_at is not None or one.status == BackfillStatus.PAUSED:
                return one
            time.sleep(WATCH_S)


def _tell(tell: Tell, one: Backfill) -> None:
    tell(
        f"{one.status}: {one.ended:,} of {one.expected:,} ended, {one.terminal:,} terminal, {one.held:,} held",
        one.ended / max(one.expected, 1),
    )


def _selected(
    tx: Transaction, source: str, first: date, last: date, customers: list[str] | None, queries: list[str] | None
) -> Selection:
    return backfilling.selected(tx, source, first, last, customers=customers or (), queries=queries or ())
