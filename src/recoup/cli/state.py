"""``recoup state``"""

import sys
from typing import Annotated

from cyclopts import App, Parameter

from recoup.cli import state_ask, state_data, state_sink
from recoup.cli.context import acting
from recoup.cli.grid import Cell, grid, wants_color
from recoup.cli.layout import width
from recoup.cli.output import Column, Demo, Json, Limit, print_rows
from recoup.cli.state_filter import ANY, Which
from recoup.cli.state_show import print_history, print_inspected
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.partitions import listing
from recoup.partitions.selecting import Selection

app = App(
    name="state",
    help_epilogue="A partition is one day of one query for one customer of a source. It is extracted and validated as a"
    " whole, and retried by the control plane alone.\n\nEvery command has the same options to select partitions. A"
    " range of days has both ends: --logical-date 2026-01-01..2026-01-31",
    help_format="plaintext",
)
MAX_GRID = 500_000  # partitions
KEY = (
    Column("source", cut="middle", least=8, rank=3),
    Column("customer_id", "customer", cut="middle", least=8, rank=1),
    Column("query_name", "query", cut="middle", least=8, rank=4),
    Column("logical_date", "day", rank=0),
)
COLUMNS = (
    *KEY,
    Column("status", cut="end", least=7, rank=2),
    Column("attempt_count", "attempts", rank=6),
    Column("next_run_at", "next run", least=12, rank=5),
    Column("rows", rank=8),
    Column("reason", cut="end", least=12, rank=9),
    Column("updated_at", "updated", least=12, rank=10),
    Column("error_message", "message", cut="end", least=16, rank=7),
)
TERMINAL = (
    *KEY,
    Column("terminal_causes", "causes", cut="end", least=8, rank=2),
    Column("terminal_at", "since", least=12, rank=5),
    Column("attempt_count", "attempts", rank=6),
    Column("terminal_policy", "policy version", rank=8),
    Column("reason", cut="end", least=12, rank=9),
    Column("error_message", "message", cut="end", least=16, rank=7),
)
OVERRIDES = (
    Column("logged_at", "at", least=12, rank=1),
    Column("actor_id", "by", cut="middle", least=8, rank=2),
    Column("command", cut="end", least=12, rank=0),
    Column("partitions", rank=3),
    Column("reason", cut="end", least=12, rank=4),
    Column("selection", cut="end", least=16, rank=5),
)
app.command(state_ask.enqueue)
app.command(state_ask.retry)
app.command(state_ask.reprocess)
app.command(state_ask.mark_terminal, name="mark-terminal")
app.command(state_data.paths)
app.command(state_data.gaps)
app.command(state_data.verify)
app.command(state_data.check)
app.command(state_sink.app)


@app.command
def inspect(*, which: Which = ANY, limit: Limit = 20, demo: Demo = False, json: Json = False) -> None:
    """Show partitions in full: status, attempts with their messages and times, and the next retry."""
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.inspect(tx, _given(which), limit=limit)
    if json:
        print_rows(found, as_json=True, empty="")
        return
    for number, one in enumerate(found):
        if number:
            print()
        print_inspected(one, demo=demo)


@app.command
def history(*, which: Which = ANY, limit: Limit = 1000, demo: Demo = False, json: Json = False) -> None:
    """Show what happened to partitions, in order: dispatches, verdicts, requests, late verdicts."""
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.history(tx, _given(which), limit=limit)
    if json:
        print_rows(found, as_json=True, empty="")
    else:
        print_history(found)


@app.command(name="list")
def list_(
    *,
    which: Which = ANY,
    as_grid: Annotated[
        bool, Parameter(name="--grid", negative="", show_default=False, help="Show one character for each day.")
    ] = False,
    limit: Limit = 100,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List partitions, by source, query, customer and day."""
    selection = which.selection()
    with acting(Authority.READER, demo=demo) as tx:
        if as_grid and not json:
            _print_grid([Cell(*row) for row in listing.cells(tx, selection, limit=MAX_GRID)], selection)
            return
        found = listing.list_partitions(tx, selection, limit=limit)
        total = len(found) if len(found) < limit else listing.count(tx, selection)
    if json:
        print_rows(found, as_json=True, empty="")
        return
    rows = [
        {name: getattr(one, name) for name in one.__dataclass_fields__} | {"status": one.status_text} for one in found
    ]
    print_rows(rows, as_json=False, columns=COLUMNS, empty="No partitions match.")
    if total > len(found):
        print(f"\n{len(found):,} of {plural(total, 'partition')}. More: --limit {min(total, 100_000)}, or --grid")


@app.command
def terminal(*, which: Which = ANY, limit: Limit = 100, demo: Demo = False, json: Json = False) -> None:
    """List partitions that are given up, and why: too many attempts, too old, or marked by a person."""
    selection = which.selection()
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.terminal(tx, selection, limit=limit)
        causes = listing.terminal_causes(tx, selection)
    print_rows(found, as_json=json, columns=TERMINAL, empty="No partition is terminal.")
    if found and not json:
        counted = ", ".join(f"{cause} {number:,}" for cause, number in causes.items())
        print(f"\nBy cause: {counted}. To have them tried again: recoup state retry --include-terminal --because …")


@app.command
def overrides(*, which: Which = ANY, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List what people and recovery asked for, the latest first: who, why, which partitions."""
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.overrides(tx, selection=which.selection(), limit=limit)
    if json:
        print_rows(found, as_json=True, empty="")
        return
    rows = [
        {name: getattr(one, name) for name in one.__dataclass_fields__} | {"reason": one.reason or "not given"}
        for one in found
    ]
    print_rows(rows, as_json=False, columns=OVERRIDES, empty="Nobody asked for anything.")


def _given(which: Which) -> Selection:
    selection = which.selection()
    if selection.is_empty:
        raise state_ask.nothing_selected()
    return selection


def _print_grid(cells: list[Cell], selection: Selection) -> None:
    ends = selection.given
    lines = grid(
        cells,
        first=ends["first_day"],
        last=ends["last_day"],
        color=wants_color(is_terminal=sys.stdout.isatty()),
        width=width(),
    )
    print("\n".join(lines) if lines else "No partitions match.")
