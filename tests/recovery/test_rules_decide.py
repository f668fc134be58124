"""Rules in the decision: which one recommends, when the plan decides, and what a policy without rules is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.recovery.condition import Candidate
from recoup.recovery.decision import Ask, EndMatch, Propose, Wait, decide
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.recommending import next_action, passed_over, why_not
from recoup.recovery.vocabulary import MatchStatus, SubjectKind
from recovery.table import MANUAL, NOTIFY, NOW, RETRY, SKIP, candidate, ended, facts, policy, scope

ROLLBACK = "rollback"


def ruled(*rules: tuple[str, str, float], **more: Any) -> RecoveryPolicy:
    """A policy with these rules: name, action, weight."""
    return policy(rules={name: {"when": "true", "action": action, "weight": w} for name, action, w in rules}, **more)


THREE = ruled(("a", NOTIFY, 0.5), ("b", MANUAL, 0.9), ("c", RETRY, 0.9))


def proposed(by: RecoveryPolicy, *candidates: Any, fired: tuple[str, ...], **more: Any) -> tuple[str, tuple[str, ...]]:
    step = decide(facts(*candidates, fired=fired, **more), by, NOW).step
    assert isinstance(step, Propose)
    return step.action_name, step.fired


def test_with_rules_they_are_asked_before_an_action_is_proposed() -> None:
    """And only then: not for what waits, ends, or has reached its limit."""
    assert decide(facts(), THREE, NOW).step == Ask()
    assert isinstance(decide(facts(candidate()), THREE, NOW).step, Wait)
    assert isinstance(decide(facts(standing="gone"), THREE, NOW).step, EndMatch)
    three = [ended("failed", "UNIT_FAILED")] * 3
    assert decide(facts(*three), THREE, NOW).step == decide(facts(*three), policy(), NOW).step


def test_the_largest_weight_recommends_then_the_first_by_name() -> None:
    assert proposed(THREE, fired=("a",)) == (NOTIFY, ("a",))
    assert proposed(THREE, fired=("a", "c")) == (RETRY, ("c", "a"))
    assert proposed(THREE, fired=("c", "a", "b")) == (MANUAL, ("b", "c", "a"))


def test_without_a_rule_that_is_true_the_plan_decides() -> None:
    assert proposed(THREE, fired=()) == (RETRY, ("plan.outside",))


def test_what_was_tried_rejected_or_found_useless_is_not_recommended_again() -> None:
    """Then the next rule does, and then the plan, which counts what was tried for a rule as well."""
    fired = ("a", "b")
    assert proposed(THREE, ended("failed", "UNIT_FAILED", MANUAL), fired=fired) == (NOTIFY, ("a", "b"))
    assert proposed(THREE, ended("rejected", None, MANUAL), fired=fired) == (NOTIFY, ("a", "b"))
    assert proposed(THREE, ended("skipped", "LOW_CONFIDENCE", MANUAL), fired=fired) == (NOTIFY, ("a", "b"))
    both = [ended("failed", "UNIT_FAILED", MANUAL), ended("failed", "UNIT_FAILED", NOTIFY)]
    assert proposed(THREE, *both, fired=fired) == (RETRY, ("plan.outside", "b", "a"))
    left = ended("skipped", "SCOPE_ENDED", MANUAL)
    assert proposed(THREE, left, fired=fired, scopes=(scope(),)) == (MANUAL, ("b", "a"))


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        (ended("rejected", None, MANUAL), "was rejected"),
        (ended("skipped", "LOW_CONFIDENCE", MANUAL), "was skipped for its low confidence"),
        (ended("failed", "UNIT_FAILED", MANUAL), "was tried 1 of 1 times"),
        (ended("failed", "SUBJECT_CHANGED", MANUAL), None),
        (ended("skipped", "SCOPE_ENDED", MANUAL), None),
        (ended("rejected", None, NOTIFY), None),
    ],
)
def test_why_a_rule_that_is_true_does_not_decide(tried: Candidate, said: str | None) -> None:
    found = why_not(THREE.rules["b"], SubjectKind.OUTSIDE, [tried], THREE)
    assert found == (said and f"{MANUAL} {said}")
    assert why_not(THREE.rules["b"], SubjectKind.OUTSIDE, [], THREE, left_out=["manual"]) is not None


def test_passed_over_is_what_comes_before_that_which_decided() -> None:
    """Not what is weaker than it. Where the plan decides, or nothing is recommended, every rule that is true."""
    assert passed_over(("b", "c", "a"), MANUAL, THREE) == ()
    assert passed_over(("a", "b", "c"), NOTIFY, THREE) == ("b", "c")
    assert passed_over(("c", "b", "a"), RETRY, THREE) == ("b",)
    assert passed_over(("plan.outside", "b", "a"), RETRY, THREE) == ("b", "a")
    assert passed_over(("b", "a"), None, THREE) == ("b", "a")
    assert passed_over(("plan.outside",), RETRY, THREE) == ()
    assert passed_over(("gone", "b"), RETRY, THREE) == ("b",)


def test_an_action_is_tried_as_often_as_its_rule_says() -> None:
    twice = policy(rules={"a": {"when": "true", "action": NOTIFY, "times": 2}})
    assert proposed(twice, ended("failed", "UNIT_FAILED", NOTIFY), fired=("a",)) == (NOTIFY, ("a",))
    again = [ended("failed", "UNIT_FAILED", NOTIFY)] * 2
    assert proposed(twice, *again, fired=("a",)) == (RETRY, ("plan.outside", "a"))


def test_what_does_not_apply_is_not_recommended() -> None:
    """To the kind of subject, or to this very one."""
    by = ruled(("a", ROLLBACK, 1.0), ("b", RETRY, 0.5), ("c", SKIP, 0.1))
    assert proposed(by, fired=("a", "b")) == (RETRY, ("b", "a"))
    assert proposed(by, fired=("a", "b", "c"), kind="partition") == (RETRY, ("b", "a", "c"))
    other = {"when": "true", "action": "fallback_model", "parameters": {"alternative": "small"}}
    switching = policy(rules={"a": other, "b": {"when": "true", "action": SKIP, "weight": 0.5}})
    assert proposed(switching, fired=("a", "b"), kind="partition") == ("fallback_model", ("a", "b"))
    assert proposed(switching, fired=("a", "b"), kind="intake") == (SKIP, ("b", "a"))
    assert proposed(by, fired=("b", "c"), kind="intake", not_applicable=("retry",)) == (SKIP, ("c", "b"))


def test_parameters_of_a_rule_are_added_and_belong_to_what_it_repeats() -> None:
    """The idempotency key of a crashed attempt goes with the same parameters only."""
    by = policy(rules={"a": {"when": "true", "action": MANUAL, "times": 3, "parameters": {"due_hours": 2}}})
    step = decide(facts(fired=("a",)), by, NOW).step
    assert isinstance(step, Propose)
    assert (step.parameters, step.idempotency_key) == ({"due_hours": 2}, None)
    shipped = by.actions[MANUAL].parameters
    for parameters, key in ((shipped, None), ({**shipped, "due_hours": 2}, "k")):
        step = decide(facts(ended("failed", "CRASHED", MANUAL, parameters=parameters), fired=("a",)), by, NOW).step
        assert isinstance(step, Propose)
        assert (step.idempotency_key, step.held_for_review) == (key, key is not None)


def test_a_stuck_match_ends_but_begins_nothing() -> None:
    nothing = policy(plan={"outside": []}, rules={"a": {"when": "true", "action": ROLLBACK}})
    for fired in ((), ("a",)):
        step = decide(facts(fired=fired, status=MatchStatus.STUCK), nothing, NOW).step
        assert step == EndMatch(status=MatchStatus.UNRECOVERED, reason="NOTHING_APPLICABLE")
    assert isinstance(decide(facts(fired=("a",), status=MatchStatus.STUCK), THREE, NOW).step, Wait)


@given(tried=st.lists(st.sampled_from([RETRY, NOTIFY, MANUAL]), max_size=2), kind=st.sampled_from(["run", "outside"]))
def test_a_policy_without_rules_decides_as_its_plan(tried: list[str], kind: str) -> None:
    """And so does one whose rules are not true."""
    seen = facts(*(ended("failed", "UNIT_FAILED", action) for action in tried), kind=kind)
    planned = next_action(seen, policy())
    for by, fired in ((policy(), None), (THREE, ())):
        step = decide(facts(*seen.candidates, kind=kind, fired=fired), by, NOW).step
        assert (step.action_name if isinstance(step, Propose) else None) == planned


@pytest.mark.parametrize("weight", [0, 0.25, 1])
def test_the_weight_goes_with_the_proposal(weight: float) -> None:
    step = decide(facts(fired=("a",)), ruled(("a", NOTIFY, weight)), NOW).step
    assert isinstance(step, Propose)
    assert step.weight == weight
