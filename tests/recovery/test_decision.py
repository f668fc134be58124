"""The decision as a table: how a candidate ends, what that does to its match, and what comes next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from recoup.recovery.condition import Candidate, Facts
from recoup.recovery.decision import Attach, Decision, EndCandidate, EndMatch, Propose, Step, Wait, decide
from recoup.recovery.policy import RecoveryPolicy
from recovery.table import (
    DAY,
    HOUR,
    MANUAL,
    NOTIFY,
    NOW,
    RETRY,
    SKIP,
    awaiting,
    candidate,
    ended,
    facts,
    listing,
    policy,
    scope,
    started,
)

SHIPPED = policy()
THRICE = listing(RETRY, RETRY, RETRY, RETRY)


def decided(given: Facts, by: RecoveryPolicy = SHIPPED) -> Decision:
    return decide(given, by, NOW)


def step_after(*candidates: Candidate, by: RecoveryPolicy = SHIPPED, **more: Any) -> Step:
    return decided(facts(*candidates, **more), by).step


def end_of(one: Candidate, *, by: RecoveryPolicy = SHIPPED, **more: Any) -> EndCandidate:
    ends = decided(facts(one, **more), by).ends
    assert ends is not None
    assert ends.candidate_id == one.candidate_id
    return ends


def words(step: Step) -> str:
    match step:
        case EndMatch():
            return f"{step.status} {step.reason}"
        case Propose():
            return f"propose {step.action_name}"
        case Attach():
            return f"attach {step.action_name}"
    return "wait"


# How a candidate ends, and what that does to its match ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("latest", "subject", "then"),
    [
        (ended("succeeded"), {}, "recovered recovered by retry_exponential"),
        (ended("succeeded"), {"kind": "error", "standing": "good"}, "recovered recovered by retry_exponential"),
        (ended("succeeded", action=NOTIFY), {}, "wait"),
        (ended("succeeded", action=MANUAL), {"kind": "error"}, "wait"),
        (ended("succeeded", action=MANUAL), {"kind": "error", "standing": "good"},
         "recovered recovered by manual_intervention"),
        (ended("succeeded", action=NOTIFY), {"match_until": NOW}, "unrecovered TIME_OVER"),
        (ended("succeeded", action=SKIP), {}, "accepted accepted by skip_step"),
        (ended("succeeded", action=SKIP), {"kind": "error", "standing": "gone"}, "accepted accepted by skip_step"),
        (ended("failed", "no"), {}, "propose notify_ops"),
        (ended("failed", "CRASHED"), {}, "propose notify_ops"),
        (ended("rolled_back", "undone"), {}, "propose notify_ops"),
        (ended("rejected"), {}, "propose notify_ops"),
        (ended("skipped", "LOW_CONFIDENCE"), {}, "propose notify_ops"),
        (ended("skipped", "SCOPE_ENDED"), {}, "wait"),
        (ended("skipped", "SCOPE_ENDED"), {"scopes": [scope()]}, "propose retry_exponential"),
        (ended("skipped", "SCOPE_ENDED"), {"scopes": [scope(allowed_actions=(NOTIFY,))]}, "wait"),
        (ended("skipped", "EXECUTE_OVERDUE"), {}, "wait"),
        (ended("skipped", "EXECUTE_OVERDUE"), {"scopes": [scope()]}, "propose retry_exponential"),
        (ended("skipped", "SCOPE_ENDED"), {"match_until": NOW}, "unrecovered TIME_OVER"),
        (ended("skipped", "DECISION_OVERDUE"), {}, "unrecovered DECISION_OVERDUE"),
        (ended("skipped", "SUBJECT_RECOVERED"), {"kind": "error", "standing": "good"},
         "recovered recovered by other means"),
        (ended("skipped", "SUBJECT_GONE"), {"kind": "error", "standing": "gone"}, "unrecovered SUBJECT_GONE"),
        (ended("skipped", "SUBJECT_CHANGED"), {"kind": "error", "standing": "busy"}, "wait"),
        (ended("skipped", "SUBJECT_CHANGED"), {"kind": "error", "standing": "failed"}, "propose retry_exponential"),
        (ended("skipped", "OVERTAKEN"), {}, "propose retry_exponential"),
        (ended("skipped", "ACTION_RETIRED"), {}, "propose retry_exponential"),
        (ended("failed", "SUBJECT_CHANGED"), {}, "propose retry_exponential"),
        (ended("failed", "SCOPE_REVOKED"), {}, "propose retry_exponential"),
        (ended("failed", "OUTCOME_OVERDUE"), {"kind": "error", "standing": "busy"}, "wait"),
        (ended("failed", "OUTCOME_OVERDUE"), {"kind": "error", "standing": "busy", "match_until": NOW}, "wait"),
        (ended("failed", "OUTCOME_OVERDUE"), {"kind": "error", "standing": "good"},
         "recovered recovered by other means"),
        (ended("failed", "OUTCOME_OVERDUE"), {"kind": "error"}, "propose manual_intervention"),
        # Its own unit: a task or a delivery of a failure that is as it was.
        (ended("failed", "OUTCOME_OVERDUE", MANUAL, unit="busy"), {}, "wait"),
        (ended("failed", "OUTCOME_OVERDUE", MANUAL, unit="busy"), {"match_until": NOW}, "wait"),
        (ended("failed", "OUTCOME_OVERDUE", NOTIFY, unit="good"), {}, "propose retry_exponential"),
        (ended("failed", "OUTCOME_OVERDUE", NOTIFY, unit="failed"), {"match_until": NOW}, "unrecovered TIME_OVER"),
    ],
)  # fmt: skip
def test_what_an_ended_candidate_does_to_its_match(latest: Candidate, subject: dict[str, Any], then: str) -> None:
    assert words(step_after(latest, **subject)) == then


@pytest.mark.parametrize("kind", ["error", "intake", "run", "partition", "outside"])
def test_a_new_match_gets_the_first_action_of_its_plan(kind: str) -> None:
    step = step_after(kind=kind)
    assert words(step) == f"propose {SHIPPED.plan[kind][0]}"  # type: ignore[index]
    assert isinstance(step, Propose)
    assert (step.scope, step.follows, step.idempotency_key, step.held_for_review) == (None, None, None, False)


def test_nothing_applicable_ends_the_match() -> None:
    left = ended("failed", "no", RETRY), ended("failed", "no", MANUAL)
    assert words(step_after(*left, kind="error")) == "unrecovered NOTHING_APPLICABLE"
    assert words(step_after(kind="error", not_applicable=("retry", "manual"))) == "unrecovered NOTHING_APPLICABLE"
    assert words(step_after(kind="error", not_applicable=("retry",))) == "propose manual_intervention"


def test_a_match_past_its_time_ends_unless_something_of_it_is_under_way() -> None:
    for standing, then in (("failed", "unrecovered TIME_OVER"), ("busy", "wait"), ("good", "recovered")):
        assert words(step_after(kind="run", standing=standing, match_until=NOW)).startswith(then)
    waits = step_after(kind="run", standing="busy", match_until=NOW)
    assert waits == Wait(until=NOW + HOUR)


@pytest.mark.parametrize(
    ("why", "status", "counts"),
    [
        ("no", "failed", True), ("CRASHED", "failed", True), ("OUTCOME_OVERDUE", "failed", True),
        ("UNIT_FAILED", "failed", True), ("undone", "rolled_back", True), (None, "rejected", True),
        ("SUBJECT_CHANGED", "failed", False), ("SCOPE_REVOKED", "failed", False),
        ("LOW_CONFIDENCE", "skipped", False), ("SCOPE_ENDED", "skipped", False), ("EXECUTE_OVERDUE", "skipped", False),
        ("SUBJECT_CHANGED", "skipped", False), ("OVERTAKEN", "skipped", False), ("ACTION_RETIRED", "skipped", False),
    ],
)  # fmt: skip
def test_what_counts_towards_the_limit(why: str | None, status: str, counts: bool) -> None:
    """Two that count, and the one in question; the next action is listed, and a scope allows it."""
    by = listing(RETRY, RETRY, RETRY, NOTIFY, MANUAL)
    tried = ended("failed", "no"), ended("failed", "no"), ended(status, why)
    then = words(step_after(*tried, by=by, scopes=[scope()]))
    assert (then == "unrecovered LIMIT_REACHED") == counts
    proposed = replace(tried[-1], proposed_by="ada")  # a person's own is never counted
    assert words(step_after(*tried[:2], proposed, by=by, scopes=[scope()])).startswith("propose")


def test_follow_ups_go_on_within_the_limit() -> None:
    tried: list[Candidate] = []
    for _ in range(SHIPPED.candidates_max):
        step = step_after(*tried, by=THRICE)
        assert isinstance(step, Propose)
        assert step.follows == (tried[-1].candidate_id if tried else None)
        tried.append(ended("failed", "no"))
    assert words(step_after(*tried, by=THRICE)) == "unrecovered LIMIT_REACHED"


@pytest.mark.parametrize("why", [("rejected", None), ("skipped", "LOW_CONFIDENCE")])
def test_an_action_that_was_rejected_or_is_hopeless_is_not_proposed_again(why: tuple[str, str | None]) -> None:
    """However often it is listed, and whoever proposed it."""
    by = listing(RETRY, RETRY, NOTIFY, RETRY)
    for proposer in (None, "ada"):
        first = ended(*why, proposed_by=proposer)
        assert words(step_after(first, by=by)) == "propose notify_ops"
        assert words(step_after(first, ended("failed", "no", NOTIFY), by=by)) == "unrecovered NOTHING_APPLICABLE"


# Not started: why it is skipped ---------------------------------------------------------------------------------------

PEOPLE: dict[str, Any] = {"person": "grace"}


@pytest.mark.parametrize("status", ["pending", "approved"])
@pytest.mark.parametrize(
    ("standing", "skipped", "match"),
    [
        ("good", "SUBJECT_RECOVERED", "recovered recovered by other means"),
        ("gone", "SUBJECT_GONE", "unrecovered SUBJECT_GONE"),
        ("busy", "SUBJECT_CHANGED", "wait"),
    ],
)
def test_people_act_before_it_starts(status: str, standing: str, skipped: str, match: str) -> None:
    one = candidate(status, scope=scope(), execute_by=NOW + DAY)
    for person in ("grace", None):
        given = facts(one, kind="error", standing=standing, person=person)
        ends = end_of(one, kind="error", standing=standing, person=person)
        assert (ends.status, ends.reason, ends.teaches, ends.overridden_by) == ("skipped", skipped, False, person)
        assert words(decided(given).step) == match


@pytest.mark.parametrize(
    ("one", "skipped"),
    [
        (candidate(scope=scope(is_active=False), execute_by=NOW + DAY), "SCOPE_ENDED"),
        (candidate("approved", scope=scope(is_active=False), execute_by=NOW + DAY), "SCOPE_ENDED"),
        (candidate("approved", scope=scope(), execute_by=NOW), "EXECUTE_OVERDUE"),
        (candidate(scope=scope(), execute_by=NOW), "EXECUTE_OVERDUE"),
        (candidate(decide_by=NOW), "DECISION_OVERDUE"),
        (candidate("approved", decide_by=NOW, scope=scope(), execute_by=NOW + DAY), None),
        (candidate(action_name="gone_from_the_policy"), "ACTION_RETIRED"),
        (candidate("approved", action_name="gone", scope=scope(), execute_by=NOW + DAY), "ACTION_RETIRED"),
        (replace(candidate(), action_type=candidate(action=SKIP).action_type), "ACTION_RETIRED"),
        (candidate(confidence=0.05, evidence=5, confidence_of=RETRY), "LOW_CONFIDENCE"),
        (candidate(confidence=0.05, evidence=4, confidence_of=RETRY), None),
        (candidate(confidence=0.1, evidence=50, confidence_of=RETRY), None),
        (candidate(confidence=0.0, evidence=0, confidence_of=RETRY), None),
        (candidate(confidence=0.05, evidence=50, confidence_of=NOTIFY), None),
        (candidate(confidence=0.05, evidence=50, confidence_of=RETRY, proposed_by="ada"), None),
        (candidate("approved", confidence=0.0, evidence=50, confidence_of=RETRY, scope=scope(), execute_by=NOW + DAY),
         None),
        (candidate(), None),
    ],
)  # fmt: skip
def test_why_it_is_skipped(one: Candidate, skipped: str | None) -> None:
    ends = decided(facts(one)).ends
    assert (ends.reason if ends else None) == skipped
    assert ends is None or (ends.status, ends.teaches, ends.overridden_by) == ("skipped", False, None)


def test_reported_as_recovered_elsewhere() -> None:
    """Not started: skipped, and it says who reported it. Started: without evidence. The match is recovered."""
    for one in (candidate(), candidate("approved", scope=scope(), execute_by=NOW + DAY)):
        ends = end_of(one, reported_recovered_by="ada")
        assert (ends.reason, ends.overridden_by) == ("SUBJECT_RECOVERED", "ada")
    ends = end_of(awaiting(), kind="run", standing="busy", reported_recovered_by="ada")
    assert (ends.status, ends.teaches, ends.overridden_by) == ("succeeded", False, "ada")
    assert decided(facts(started(), reported_recovered_by="ada")) == Decision(
        ends=None, step=Wait(until=NOW + HOUR + (HOUR / 3600))
    )
    crashed = started(lease_until=NOW - HOUR)
    assert words(decided(facts(crashed, reported_recovered_by="ada")).step).startswith("recovered")


# Started --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "ends"),
    [
        (started(), None),
        (started(lease_until=NOW), None),  # it holds until its last moment
        (started(lease_until=NOW - HOUR), ("failed", "CRASHED", True)),
        (awaiting(lease_until=NOW - HOUR), None),  # a lease expires only before the effect
        (awaiting("good"), ("succeeded", None, True)),
        (awaiting("failed"), ("failed", "UNIT_FAILED", True)),
        (awaiting("gone"), ("failed", "UNIT_FAILED", True)),
        (awaiting("busy"), None),
        (awaiting("busy", outcome_by=NOW), ("failed", "OUTCOME_OVERDUE", True)),
        (awaiting("good", outcome_by=NOW), ("succeeded", None, True)),  # the verdict is read first
        (awaiting("failed", outcome_by=NOW), ("failed", "UNIT_FAILED", True)),
        (awaiting("busy", outcome_by=NOW, is_paused=True), None),
        (started(effect_made=True, reported="succeeded"), ("succeeded", None, True)),
        (started(effect_made=True, reported="failed", error="no"), ("failed", "no", True)),
        (started(effect_made=True, reported="rolled_back"), ("rolled_back", None, True)),
        (started(scope=scope(is_active=False)), None),  # what has started goes on
        (awaiting(decide_by=NOW, execute_by=NOW), None),
    ],
)  # fmt: skip
def test_the_outcome_of_what_was_started(one: Candidate, ends: tuple[str, str | None, bool] | None) -> None:
    found = decided(facts(one, kind="run", standing="busy")).ends
    assert ((found.status, found.reason, found.teaches) if found else None) == ends


@pytest.mark.parametrize(
    ("unit", "status", "match"),
    [("good", "succeeded", "recovered"), ("failed", "failed", "propose"), ("gone", "failed", "unrecovered")],
)
def test_people_act_while_it_is_awaited(unit: str, status: str, match: str) -> None:
    """The table of ends holds, the result says by whom, and it is no evidence."""
    one = awaiting(unit)
    ends = end_of(one, kind="error", standing=unit, **PEOPLE)
    assert (ends.status, ends.teaches, ends.overridden_by) == (status, False, "grace")
    known = replace(one, overridden_by="grace")
    assert end_of(known, kind="error", standing=unit, **PEOPLE).overridden_by is None  # told once
    assert words(decided(facts(one, kind="error", standing=unit, **PEOPLE)).step).startswith(match)


def test_leases_do_not_expire_while_a_moved_clock_settles() -> None:
    one = started(lease_until=NOW - DAY)
    found = decided(facts(one, leases_expire=False))
    assert found.ends is None
    assert isinstance(found.step, Wait)
    assert NOW < found.step.until <= NOW + HOUR
    assert end_of(one).reason == "CRASHED"


# Waiting --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "until"),
    [
        (candidate(), NOW + 3 * DAY),
        (candidate(scope=scope(), execute_by=NOW + DAY), NOW + DAY),
        (candidate("approved", decide_by=NOW - DAY, scope=scope(), execute_by=NOW + DAY), NOW + DAY),
        (awaiting(), NOW + DAY),
        (awaiting(outcome_by=NOW - DAY, is_paused=True), NOW + HOUR),
        (awaiting(outcome_by=NOW + DAY, is_paused=True), NOW + DAY),
    ],
)
def test_it_waits_for_the_next_deadline(one: Candidate, until: Any) -> None:
    found = decided(facts(one, kind="run", standing="busy" if one.awaits else "failed"))
    assert found == Decision(ends=None, step=Wait(until=until))


def test_a_pending_candidate_is_given_the_scope_that_allows_it() -> None:
    fits = scope(allowed_actions=(RETRY,))
    one = candidate()
    step = step_after(one, scopes=[scope(allowed_actions=(NOTIFY,)), scope(is_active=False), fits])
    assert step == Attach(candidate_id=one.candidate_id, action_name=RETRY, scope=fits)
    assert words(step_after(candidate(scope=fits, execute_by=NOW + DAY), scopes=[scope()])) == "wait"


def test_where_scopes_open_by_themselves_the_next_one_is_asked_for() -> None:
    opening = policy(scope=SHIPPED.scope.model_dump() | {"opens_by_itself": True})
    assert words(step_after(ended("skipped", "SCOPE_ENDED"), by=opening)) == "propose retry_exponential"


# Repeated under the same key ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("why", ["CRASHED", "OUTCOME_OVERDUE"])
@pytest.mark.parametrize("idempotent", [False, True])
def test_what_repeats_an_unknown_effect_carries_its_key(why: str, idempotent: bool) -> None:
    actions = {name: action.model_dump() for name, action in THRICE.actions.items()}
    actions[RETRY] |= {"idempotent": idempotent}
    by = listing(RETRY, RETRY, RETRY, actions=actions)
    step = step_after(ended("failed", why, unit="failed", idempotency_key="first"), by=by)
    assert isinstance(step, Propose)
    assert (step.idempotency_key, step.held_for_review) == ("first", not idempotent)


@pytest.mark.parametrize(
    ("tried", "key"),
    [
        ([ended("failed", "no")], None),  # it is known what came of it
        ([ended("failed", "CRASHED", parameters={"wait": 9})], None),
        ([ended("failed", "CRASHED", NOTIFY, idempotency_key="n"), ended("failed", "no")], None),
        ([ended("failed", "CRASHED", idempotency_key="a"), ended("skipped", "SCOPE_ENDED", idempotency_key="a")], "a"),
        ([ended("failed", "CRASHED", idempotency_key="a"), ended("failed", "CRASHED", idempotency_key="a")], "a"),
        ([ended("failed", "CRASHED", idempotency_key="a"), ended("failed", "no", idempotency_key="a")], None),
    ],
)
def test_only_what_repeats_an_unknown_effect(tried: list[Candidate], key: str | None) -> None:
    step = step_after(*tried, by=THRICE, scopes=[scope()])
    assert isinstance(step, Propose)
    assert (step.idempotency_key, step.held_for_review) == (key, key is not None)
