"""``recoup audit``"""

import contextlib
import sys
import time
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from recoup.audit import chosen, results
from recoup.audit.examine import InvariantResult, Say
from recoup.audit.invariant import Invariant, Offending
from recoup.cli.context import acting, opened, person
from recoup.cli.output import Demo, Json, Limit, ends_with, print_rows, shown
from recoup.database.connection import connect
from recoup.domains import DOMAINS
from recoup.formatting import plural, timestamp
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from recoup.schema import laws

SILENT_S = 3.0  # a quick audit prints only its result
EVERY_S = 1.0

Only = Annotated[
    list[str] | None,
    Parameter(
        consume_multiple=True, negative="", show_default=False, help="Check only these, by the beginning of their id."
    ),
]
Listed = Annotated[
    bool, Parameter(name="--list", negative="", show_default=False, help="List the invariants, and check nothing.")
]


Verbose = Annotated[bool, Parameter(negative="", show_default=False, help="Show each invariant with its time.")]


Record = Annotated[
    bool,
    Parameter(negative="", show_default=False, help="Keep the result, with your name: recoup audit --last shows it."),
]
Last = Annotated[
    bool,
    Parameter(negative="", show_default=False, help="Show results that were kept, newest first, and check nothing."),
]


def audit(
    *,
    only: Only = None,
    listed: Listed = False,
    verbose: Verbose = False,
    record: Record = False,
    last: Last = False,
    limit: Limit = 10,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Check every invariant against the data: rules, logs, seals, and each status rebuilt from its events.

    Reads one snapshot; work may continue meanwhile. Changes nothing. Exits with status 1 when an invariant is broken,
    and shows up to 100 of the rows that break it.
    """
    if last:
        if only or listed or record:
            raise InputRefused(
                "audit_unclear", "--last shows results that were kept.", "Give it alone, or leave it out."
            )
        _print_last(limit, demo=demo, json=json)
        return
    invariants = chosen(laws.invariants(DOMAINS), only or ())
    if listed:
        print_rows([_row(i) for i in invariants], as_json=json, empty="No invariants match.")
        return
    verdicts = _ask(invariants, only or (), record=record, demo=demo)
    with ends_with(0 if all(verdict.holds for verdict in verdicts) else 1):
        if json:
            print_rows(verdicts, as_json=True, empty="")
        else:
            _print(verdicts, verbose=verbose)


def _row(invariant: Invariant) -> dict[str, object]:
    return {"id": invariant.id, "description": invariant.description, "also": invariant.also or None}


def _print_last(limit: int, *, demo: bool, json: bool) -> None:
    with acting(Authority.READER, demo=demo) as tx:
        found = results.results(tx, limit=limit)
    if json:
        print_rows(found, as_json=True, empty="")
        return
    rows = [
        {
            "finished": one.finished_at, "by": one.actor_id, "selected": ", ".join(one.selected) or "everything",
            "held": one.held, "not_checked": one.not_checked, "broken": one.broken,
            "seals": {None: "not verified", True: "hold", False: "broken"}[one.seals_hold],
        }
        for one in found
    ]  # fmt: skip
    print_rows(rows, as_json=False, empty="No result was kept. Keep one: recoup audit --record")
    for one in found:
        for id_, count in one.broken_rows.items():
            print(f"{timestamp(one.finished_at)}  {id_}: {plural(count, 'row')} broke it")


def _ask(
    invariants: Sequence[Invariant], selected: Sequence[str], *, record: bool, demo: bool
) -> list[InvariantResult]:
    from recoup.audit import audit

    whole = [table for domain in DOMAINS for table in domain.audited_whole]
    with opened(demo=demo) as database:
        if record:
            with database.transaction(Authority.OPERATOR, actor=person(database)) as tx:
                began = results.now(tx)  # refused now, not after the audit, if the login may not
        with contextlib.closing(connect(database.conninfo, database.settings)) as connection:
            progress = _progress(len(invariants))
            found = audit(connection, invariants, settings=database.settings, whole=whole, say=progress)
        if record:
            with database.transaction(Authority.OPERATOR, actor=person(database)) as tx:
                results.record(tx, found, started_at=began, selected=selected)
    return found


def _progress(count: int) -> Say:
    due = time.monotonic() + SILENT_S

    def say(place: int, invariant: Invariant) -> None:
        nonlocal due
        if time.monotonic() > due:
            print(f"{place + 1} of {count}: {invariant.id}", file=sys.stderr, flush=True)
            due = time.monotonic() + EVERY_S

    return say


def _each(verdicts: Sequence[InvariantResult]) -> list[dict[str, object]]:
    return [{"id": v.id, "verdict": _verdict(v), "rows": v.found, "seconds": f"{v.seconds:.2f}"} for v in verdicts]


def _verdict(result: InvariantResult) -> str:
    return "broken" if not result.holds else "not checked" if result.note else "holds"


def _by_document(verdicts: Sequence[InvariantResult]) -> list[dict[str, object]]:
    groups: dict[str, list[InvariantResult]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.id.split("/")[0], []).append(verdict)
    return [
        {
            "area": name, "invariants": len(group), "broken": sum(not verdict.holds for verdict in group),
            "seconds": f"{sum(verdict.seconds for verdict in group):.2f}",
        }
        for name, group in groups.items()
    ]  # fmt: skip


def _in_words(row: Offending) -> str:
    """A row on one line, which the terminal may fold: in a table of a dozen columns its ids would be cut."""
    return ", ".join(f"{name} {shown(value)}" for name, value in row.items() if value is not None)


def _print(verdicts: Sequence[InvariantResult], *, verbose: bool) -> None:
    rows = _each(verdicts) if verbose else _by_document(verdicts)
    print_rows(rows, as_json=False, empty="No invariants match.")
    broken = [verdict for verdict in verdicts if not verdict.holds]
    for verdict in broken:
        print(f"\n{verdict.id}: broken\n{verdict.description}")
        if verdict.found > len(verdict.rows):
            print(f"The first {len(verdict.rows)} of {verdict.found:,} rows that break it:")
        for row in verdict.rows:
            print(f"  {_in_words(row)}")
    unseen = [verdict for verdict in verdicts if verdict.note]
    for verdict in unseen:
        print(f"\n{verdict.id}: not checked, or not all of it\n{verdict.description}\n  {verdict.note}")
    if broken:
        print(f"\n{len(broken)} of {len(verdicts)} invariants {'is' if len(broken) == 1 else 'are'} broken.")
    elif unseen:
        print(
            f"\n{len(verdicts) - len(unseen)} of {len(verdicts)} invariants hold; see above for what was not checked."
        )
    else:
        print(f"\nAll {len(verdicts)} invariants hold.")
