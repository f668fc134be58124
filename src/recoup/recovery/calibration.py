"""Calibration: whether candidates that were given a confidence of 0.8 succeeded in eight of ten cases.

A prediction is the confidence with which a candidate was started; its outcome is whether it succeeded. What teaches
nothing (a person acted meanwhile, the subject had changed, it was skipped) is not scored.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.policy import versions
from recoup.recovery.policy import RecoveryPolicy
from recoup.refusals import InputRefused

Q = load("recoup.recovery", "calibration.sql")
BINS = 10
MAX_DAYS = 3_650


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Predictions of about the same confidence, as sums."""

    bin: int  # 0: below 0.1, … 9: 0.9 or more
    count: int
    predicted: float  # sum of their confidence
    succeeded: int
    squared: float  # sum of the squares of what each was off
    action_name: str = ""
    source: str = ""
    week: date | None = None  # its Monday
    is_corrective: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """One row of the reliability table."""

    at_least: float
    below: float
    count: int
    predicted: float  # mean confidence
    observed: float  # share that succeeded


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How good some predictions were."""

    count: int = 0
    succeeded: int = 0
    brier: float = 0.0  # mean square of what each was off: 0 is perfect, 0.25 is guessing
    ece: float = 0.0  # expected calibration error: how far shares are from what was predicted, on average
    bins: Sequence[Bin] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Predictions of a time: of corrective actions in all, by source and week; and of every action."""

    days: int
    total: Score
    by_action: Mapping[str, Score]
    by_source: Mapping[str, Score]
    by_week: Mapping[str, Score]


def score(groups: Iterable[Group]) -> Score:
    """Score predictions, in bins of equal width."""
    by_bin: defaultdict[int, list[Group]] = defaultdict(list)
    for one in groups:
        by_bin[one.bin].append(one)
    bins = [_bin(number, of) for number, of in sorted(by_bin.items())]
    count = sum(one.count for one in bins)
    if not count:
        return Score()
    return Score(
        count=count,
        succeeded=sum(one.succeeded for of in by_bin.values() for one in of),
        brier=sum(one.squared for of in by_bin.values() for one in of) / count,
        ece=sum(one.count * abs(one.predicted - one.observed) for one in bins) / count,
        bins=bins,
    )


def _bin(number: int, groups: Sequence[Group]) -> Bin:
    count = sum(one.count for one in groups)
    return Bin(
        at_least=number / BINS,
        below=(number + 1) / BINS,
        count=count,
        predicted=sum(one.predicted for one in groups) / count,
        observed=sum(one.succeeded for one in groups) / count,
    )


def calibration(
    tx: Transaction,
    *,
    action: str | None = None,
    source: str | None = None,
    days: int = 90,
    newest: int | None = None,
) -> Calibration:
    """How confidence compares with what happened, for candidates that ended within the last days.

    ``newest``: only of the N newest candidates, whatever their status.
    """
    if not 1 <= days <= MAX_DAYS:
        raise InputRefused("days_out_of_range", f"{days} days.", f"Ask for 1 to {MAX_DAYS}.", days=days)
    given: dict[str, Any] = {"action": action, "source": source, "days": days, "bins": BINS, "newest": newest}
    for what in (action, source):
        if what is not None and "\0" in what:
            raise InputRefused("text_has_nul", f"{what[:50]!r} holds a NUL character.", "Remove it.")
    with tx.cursor(row_factory=class_row(Group)) as cursor:
        query = Q["groups"].format(candidates=Q["all" if newest is None else "newest"])
        groups = cursor.execute(query, given, prepare=False).fetchall()
    if action is not None and not groups:  # an action that was removed still has its outcomes
        versions.active(tx).policy[RecoveryPolicy].action(action)
    # What only manages the impact succeeds when it is done: that is not compared with what makes a failure go away.
    compared = groups if action is not None else [one for one in groups if one.is_corrective]
    return Calibration(
        days=days,
        total=score(compared),
        by_action=_by(groups, lambda one: one.action_name),
        by_source=_by(compared, lambda one: one.source),
        by_week=_by(compared, lambda one: str(one.week)),
    )


def _by(groups: Iterable[Group], key: Callable[[Group], str]) -> dict[str, Score]:
    found: defaultdict[str, list[Group]] = defaultdict(list)
    for one in groups:
        found[key(one)].append(one)
    return {name: score(of) for name, of in sorted(found.items())}
