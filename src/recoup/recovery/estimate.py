"""The chance that an action makes a failure go away, estimated from outcomes. Pure.

A cell is one action for one kind of failure (its signature). Its own outcomes are few at first, so they are completed
by what is known of wider kinds of failures: the category within the source, the source, all failures; and where
nothing is known, by one half. Each level counts for as much as ``STRENGTH`` outcomes of the next narrower one. Older
outcomes count less. An action that only manages the impact of a failure (notify, manual, escalate) is one cell: whether
it is done does not depend on the failure.

The result is the mean of the estimate, so that it can be compared with what happens. One exception keeps it honest as a
gate: it stays below the floor for automatic starts until the cell's rate is surely not much lower than the floor.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, NamedTuple

from recoup.formatting import plural
from recoup.recovery.policy import RecoveryPolicy

UNKNOWN = 0.5  # where there are no outcomes at all
STRENGTH = 4.0  # outcomes that a wider level is worth
# At the floor or above, the estimate less these standard deviations is no further than this below the floor.
DEVIATIONS, NEAR = 2.0, 0.1
JUST_BELOW = 0.01
GATED_FROM = 5  # with fewer outcomes of its own nothing starts by itself, under any policy: the mean is shown as it is
LEVELS = ("action", "source", "category")  # widest first


class Tally(NamedTuple):
    """Outcomes, each weighted by its age."""

    succeeded: float = 0.0
    ended: float = 0.0

    def without(self, part: "Tally") -> "Tally":
        """The others, where some are counted on their own."""
        succeeded = max(self.succeeded - part.succeeded, 0.0)
        failed = max(self.ended - self.succeeded - (part.ended - part.succeeded), 0.0)
        return Tally(succeeded, succeeded + failed)

    def mean(self, expected: float) -> float:
        """The share of successes, drawn towards what is expected."""
        return (self.succeeded + STRENGTH * expected) / (self.ended + STRENGTH)


class Known(NamedTuple):
    """What is known of a cell."""

    own: Tally  # its latest outcomes
    good: int = 0  # how many of these were successes, not weighted
    cases: int = 0  # how many these are
    awaiting: int = 0  # executed, without an outcome yet
    # Of all failures, its source, its category: each includes the next. Empty: the action is one cell.
    wider: Sequence[Tally] = ()


class Estimate(NamedTuple):
    """What a candidate is rated with."""

    confidence: float
    evidence: int  # outcomes of the cell itself, each weighted by its age
    is_low: bool  # so bad that it is skipped
    basis: Mapping[str, Any]  # what it rests on


def weight(age_days: float, half_life_days: float) -> float:
    """How much an outcome counts."""
    return float(0.5 ** (max(age_days, 0.0) / half_life_days))


def expected(known: Known) -> float:
    """What wider levels say of a cell, without its own outcomes."""
    # Its own are taken out of each: also those of other sources, if its signature occurs in several.
    others = [level.without(known.own) for level in known.wider]
    mean = UNKNOWN
    for level, narrower in zip(others, (*others[1:], Tally()), strict=False):
        mean = level.without(narrower).mean(mean)
    return mean


def estimate(known: Known, policy: RecoveryPolicy) -> Estimate:
    """The confidence of candidates of a cell, and on how many outcomes of its own it rests."""
    before = expected(known)
    mean = known.own.mean(before)
    # What is awaited counts as failed: successes arrive early, failures late. That keeps an action from starting by
    # itself. It does not have it skipped: only outcomes that are known do.
    now = Tally(known.own.succeeded, known.own.ended + known.awaiting).mean(before)
    evidence = round(known.own.ended)
    # What only manages the impact may start on less: nothing is changed by it.
    is_gated = evidence >= GATED_FROM and len(known.wider) > 0
    gated = _gated(now, known.own.ended + known.awaiting, policy) if is_gated else now
    confidence = max(gated, min(mean, policy.skip_below))
    return Estimate(
        confidence=confidence,
        evidence=evidence,
        is_low=evidence >= policy.evidence_min and confidence < policy.skip_below,
        basis={
            "good": known.good, "of": known.cases, "awaiting": known.awaiting, "expected": round(before, 4),
            "mean": round(now, 4),
            **{level: [round(part, 1) for part in tally] for level, tally in zip(LEVELS, known.wider, strict=False)},
        },
    )  # fmt: skip


def _gated(mean: float, ended: float, policy: RecoveryPolicy) -> float:
    deviation = sqrt(mean * (1 - mean) / (ended + STRENGTH + 1))
    is_sure = mean - DEVIATIONS * deviation >= policy.confidence_floor - NEAR
    return mean if is_sure else min(mean, policy.confidence_floor - JUST_BELOW)


def explain(basis: Mapping[str, Any] | None, confidence: float, action: str | None) -> str | None:
    """Why a confidence is what it is, in a sentence; None: nothing was recorded."""
    if not basis:
        return None
    whose = " for this signature" if "category" in basis else ""
    if basis["of"]:
        told = f"{action} succeeded{whose} in {basis['good']:,} of the last {plural(basis['of'], 'case')}"
    else:
        told = f"{action} has no outcome{whose} yet"
    if basis["awaiting"]:
        told += f", {basis['awaiting']:,} " + (
            "is awaited and counts as a failure" if basis["awaiting"] == 1 else "are awaited and count as failures"
        )
    wider = [f"{level} {good:g} of {of:g}" for level in reversed(LEVELS) if level in basis
             for good, of in [basis[level]] if of]  # fmt: skip
    if wider:
        told += f"; with what is known of its {', '.join(wider)} (weighted by age)"
    told += f": {confidence:.2f}."
    if basis["mean"] > round(confidence, 4):  # as it is recorded
        told += f" The estimate is {basis['mean']:.2f}, on too few outcomes to be sure of it."
    return told
