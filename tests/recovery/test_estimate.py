"""The estimate, without a database."""

from __future__ import annotations

import pytest

from recoup.recovery.estimate import Estimate, Known, Tally, estimate, expected, explain, weight
from recovery.table import policy

POLICY = policy()
NOTHING = (Tally(), Tally(), Tally())


def of(good: int, ended: int, awaiting: int = 0, wider: tuple[Tally, ...] = NOTHING) -> Estimate:
    return estimate(Known(Tally(good, ended), good, ended, awaiting, wider), POLICY)


@pytest.mark.parametrize(
    ("good", "ended", "awaiting", "confidence", "is_low"),
    [
        (0, 0, 0, 0.5, False),  # nothing is known
        (0, 0, 50, 0.1, False),
        (9, 10, 0, 11 / 14, False),
        (9, 10, 8, 0.5, False),  # as failures, for a start by itself
        (9, 10, 990, 0.1, False),  # and no lower than where it would be skipped
        (1, 50, 0, 3 / 54, True),
        (1, 50, 100, 3 / 54, True),
        (0, 4, 0, 0.25, False),  # too few to skip
        (5, 5, 0, 7 / 9, False),
        (8, 8, 0, 0.79, False),  # 10/12, but it may be much lower
        (12, 12, 0, 14 / 16, False),
    ],
)
def test_outcomes_of_a_cell(good: int, ended: int, awaiting: int, confidence: float, is_low: bool) -> None:
    one = of(good, ended, awaiting)
    assert one.confidence == pytest.approx(confidence)
    assert (one.is_low, one.evidence) == (is_low, ended)


def test_what_is_awaited_never_has_an_action_skipped() -> None:
    for good in range(20):
        for awaiting in (0, 1, 10, 1_000):
            assert of(good, 19, awaiting).is_low == of(good, 19).is_low


def test_wider_levels_are_what_is_expected_of_a_cell_without_outcomes() -> None:
    """The narrower one counts most, and the outcomes of the cell count once."""
    bad, good = Tally(0, 40), Tally(40, 40)
    assert expected(Known(Tally(), wider=(good, good, good))) > 0.9
    assert expected(Known(Tally(), wider=(Tally(40, 80), Tally(40, 80), bad))) < 0.1
    assert expected(Known(good, wider=(good, good, good))) == 0.5  # all of it is its own
    assert of(0, 0, wider=(good, good, good)).evidence == 0  # which is no evidence
    assert of(5, 5, wider=(Tally(90, 100), Tally(45, 50), Tally(45, 50))).confidence > 0.8


def test_a_signature_of_two_sources() -> None:
    """Then its own outcomes are more than those of its source: nothing is counted below zero."""
    assert Tally(1, 2).without(Tally(5, 9)) == Tally(0, 0)
    assert Tally(5, 9).without(Tally(7, 8)) == Tally(0, 3)
    elsewhere = of(5, 5, wider=(Tally(5, 5), Tally(), Tally()))
    assert elsewhere.confidence == of(5, 5).confidence  # its own outcomes are not counted a second time


def test_what_manages_the_impact_is_one_cell() -> None:
    assert of(6, 6, wider=()).confidence >= 0.8
    assert of(5, 5, wider=()).confidence < 0.8


def test_a_higher_floor_asks_for_more() -> None:
    strict = policy(confidence_floor=0.95)
    known = Known(Tally(100, 100), 100, 100, 0, NOTHING)
    assert estimate(known, strict).confidence >= 0.95
    assert estimate(Known(Tally(40, 40), 40, 40, 0, NOTHING), strict).confidence == pytest.approx(42 / 44)
    assert estimate(Known(Tally(76, 77), 76, 77, 0, NOTHING), strict).confidence >= 0.95


@pytest.mark.parametrize(("age", "is_"), [(0, 1), (30, 0.5), (60, 0.25), (-5, 1)])
def test_age(age: float, is_: float) -> None:
    assert weight(age, 30) == is_


def test_it_explains_itself() -> None:
    wider = (Tally(30.04, 50), Tally(20, 30), Tally(12, 14))
    one = of(8, 9, wider=wider)
    assert explain(one.basis, one.confidence, "retry") == (
        "retry succeeded for this signature in 8 of the last 9 cases; with what is known of its category 12 of"
        " 14, source 20 of 30, action 30 of 50 (weighted by age): 0.79."
        " The estimate is 0.82, on too few outcomes to be sure of it."
    )
    none = of(0, 0)
    assert explain(none.basis, none.confidence, "retry") == "retry has no outcome for this signature yet: 0.50."
    told = of(1, 2, 3, wider=())
    assert explain(told.basis, told.confidence, "notify_ops") == (
        "notify_ops succeeded in 1 of the last 2 cases, 3 are awaited and count as failures: 0.33."
    )
    one = of(1, 1, 1, wider=())
    assert explain(one.basis, one.confidence, "notify_ops") == (
        "notify_ops succeeded in 1 of the last 1 case, 1 is awaited and counts as a failure: 0.50."
    )
    rounded = of(2, 3, wider=(Tally(32, 35), Tally(), Tally()))
    assert "too few" not in (explain(rounded.basis, rounded.confidence, "retry") or "")
    assert explain(None, 0.4, "retry") is None
