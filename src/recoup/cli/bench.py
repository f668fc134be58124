"""``recoup bench``"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from recoup.cli.output import Json, print_rows

if TYPE_CHECKING:
    from recoup_bench.results import Outcome


def bench(
    workloads: Annotated[
        tuple[str, ...], Parameter(name="WORKLOAD", show_default=False, help="Workloads to run; all by default.")
    ] = (),
    /,
    *,
    rounds: Annotated[int | None, Parameter(help="Counted rounds of each; more on a noisy machine.")] = None,
    quick: Annotated[
        bool, Parameter(negative="", show_default=False, help="Use small sizes, to see that it runs.")
    ] = False,
    save: Annotated[Path | None, Parameter(help="Folder to write the results to, as JSON.")] = None,
    peer: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="A job queue to compare in drain and fail-once: pgqueuer, pgmq, procrastinate, or module:factory.",
        ),
    ] = (),
    list_: Annotated[
        bool, Parameter(name="--list", negative="", show_default=False, help="List the workloads, and run none.")
    ] = False,
    json: Json = False,
) -> None:
    """Measure Recoup against hand-written SQL that makes the same rows, in a scratch database that is dropped again.

    Rounds of both sides alternate, and the ratio of their medians is the result. Progress goes to standard error.
    """
    from recoup.refusals import InputRefused
    from recoup.settings import load

    try:
        from recoup_bench import results, run
    except ModuleNotFoundError as error:
        if error.name != "recoup_bench":
            raise
        raise InputRefused(
            "bench_missing", "The bench is not part of the installed package.", "Run it from a checkout: make bench"
        ) from error
    found = run.chosen(workloads, peers_named=peer)
    if list_:
        listed = [
            {
                "workload": w.name,
                "unit": w.unit,
                "aim": "; ".join(map(str, w.aims)) or None,
                "description": w.description,
            }
            for w in found
        ]
        print_rows(listed, as_json=json, empty="")
        return
    measured = run.measure(found, load(), say=_say, show=_nothing if json else _show, rounds=rounds, quick=quick)
    if save is not None:
        _say(f"saved as {results.save(measured, save)}")
    if json:
        print(results.written(measured), end="")


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _nothing(outcome: Outcome) -> None:
    """As JSON everything comes at the end."""


def _show(outcome: Outcome) -> None:
    from recoup_bench.results import rows

    print(f"\n{outcome.workload.name}: {outcome.workload.description}")
    print_rows(rows(outcome), as_json=False, empty="")
    for aim, value in outcome.aimed.items():
        if value is not None:
            print(f"aim: {aim}, {'reached' if aim.reached(value) else 'NOT reached'}", flush=True)
