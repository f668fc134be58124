"""``recoup recovery calibration``"""

from collections.abc import Mapping
from typing import Annotated

from cyclopts import Parameter, validators

from recoup.cli.context import acting
from recoup.cli.layout import shown
from recoup.cli.output import Column, Demo, Json, print_fields, print_rows
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.recovery.calibration import MAX_DAYS, Bin, Score
from recoup.recovery.calibration import calibration as calibrated

PLOT = 37  # characters from 0 to 1: a line has 80 at most
SCORES = (
    Column("count", "cases", rank=1),
    Column("succeeded", rank=2),
    Column("brier", "Brier", rank=3),
    Column("ece", "error", rank=4),
)


def calibration(
    *,
    action: Annotated[str | None, Parameter(show_default=False, help="Of this action.")] = None,
    source: Annotated[str | None, Parameter(show_default=False, help="Of failures of this source.")] = None,
    days: Annotated[
        int, Parameter(validator=validators.Number(gte=1, lte=MAX_DAYS), help="What ended within N days.")
    ] = 90,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Compare confidence with what happened: of candidates started with a confidence of 0.8, did eight of ten succeed?

    The Brier score is the mean square of what each was off: 0 is perfect, guessing one half gives 0.25. The error is
    how far the shares of successes are from the confidence, on average (expected calibration error, in ten bins).
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = calibrated(tx, action=action, source=source, days=days)
    if json:
        print_fields(found, as_json=True)
        return
    total = found.total
    if not total.count:
        asked = [("action", action), ("source", source)]
        of = "".join(f" of the {what} {shown(name)}" for what, name in asked if name is not None)
        print(f"No outcome{of} within {plural(days, 'day')} teaches anything yet.")
        return
    print(f"{plural(total.count, 'case')} within {plural(days, 'day')}, {total.succeeded:,} succeeded")
    print(f"Brier score {total.brier:.3f}, calibration error {total.ece:.3f}\n")
    print_reliability(total)
    for title, scores in (("action", found.by_action), ("source", found.by_source), ("week from", found.by_week)):
        print()
        _print_scores(title, scores)


def print_reliability(total: Score) -> None:
    """The reliability table, and its plot: where the two marks of a line are one, confidence is what happened."""
    print(f"confidence    cases  predicted  observed  0{'0.5':^{PLOT - 2}}1")
    for one in total.bins:
        print(
            f"{one.at_least:.1f} to {one.below:.1f}  {one.count:>7,}  {one.predicted:>9.2f}  {one.observed:>8.2f}"
            f"  {_marks(one)}"
        )
    print("o predicted, x observed, * both")


def _marks(one: Bin) -> str:
    said, was = (round(value * (PLOT - 1)) for value in (one.predicted, one.observed))
    return "".join("*" if place == said == was else "o" if place == said else "x" if place == was else "."
                   for place in range(PLOT))  # fmt: skip


def _print_scores(title: str, scores: Mapping[str, Score]) -> None:
    rows = [
        {"name": shown(name), "count": one.count, "succeeded": one.succeeded, "brier": f"{one.brier:.3f}",
         "ece": f"{one.ece:.3f}"}
        for name, one in scores.items()
    ]  # fmt: skip
    columns = (Column("name", title, cut="middle", least=14, rank=0), *SCORES)
    print_rows(rows, as_json=False, columns=columns, empty="")
