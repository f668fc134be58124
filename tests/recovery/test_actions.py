"""Fallback and escalate, by what they do: for every kind of subject, and with parameters that nobody meant."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from hub import DOL
from recoup.lifecycles.declaration import Authority
from recoup.recovery import people
from recoup.recovery.executing import Claimed, Executor, Subject
from recoup.refusals import InputRefused
from recoup.runs import running
from recovery.stage import NewStage, Stage
from recovery.subjects import crashed_run, exhausted_intake

FALLBACK, ESCALATE = "fallback_model", "escalate_to_ops"
MODEL: dict[str, Any] = {"model": "small", "limits": [1.0, None]}


def matched(stage: Stage, subject: object) -> UUID:
    """The match of something that failed, with a scope."""
    stage.settle()
    match: UUID = stage.match_of(subject)["failure_match_id"]
    stage.scope(match, actions=[FALLBACK, ESCALATE, "retry_exponential"])
    return match


def executed(stage: Stage, match: UUID, action: str, **parameters: Any) -> dict[str, Any]:
    made = stage.propose(match, action, **parameters)
    assert stage.approve(made) == [None]
    stage.settle()
    return stage.row("select * from recovery.candidate where candidate_id = %s", made)


# Fallback -------------------------------------------------------------------------------------------------------------


def test_the_handler_of_an_error_gets_the_alternative(stage: Stage) -> None:
    error = stage.park()
    match = matched(stage, error)
    row = executed(stage, match, FALLBACK, alternative=MODEL)
    assert (row["status"], row["awaits"]["kind"]) == ("executing", "error")
    claimed = stage.hub.claim_one(error)
    assert claimed.retry_with == MODEL
    stage.hub.succeed(claimed)
    stage.settle()
    assert stage.status(match) == ("recovered", f"recovered by {FALLBACK}")


def test_the_alternative_is_that_of_one_unparking(stage: Stage) -> None:
    """Further retries of it have it, too; who is unparked by a person, or retried, has none."""
    error = stage.park()
    match = matched(stage, error)
    executed(stage, match, FALLBACK, alternative=MODEL)
    stage.fail(error)
    stage.settle()
    executed(stage, match, "retry_exponential")
    claimed = stage.hub.claim_one(error)
    assert claimed.retry_with is None
    stage.hub.succeed(claimed)
    other = stage.park()
    executed(stage, matched(stage, other), FALLBACK, alternative=MODEL)
    stage.fail(other)
    assert stage.hub.row(other)["retry_with"] == MODEL
    assert stage.act("unpark", other)
    assert stage.hub.claim_one(other).retry_with is None


def test_a_run_is_started_again_with_the_alternative(stage: Stage) -> None:
    run = crashed_run(stage)
    row = executed(stage, matched(stage, run), FALLBACK, alternative=MODEL)
    assert row["awaits"]["kind"] == "run"
    kind = stage.row("select kind from recovery.run where run_id = %s", run)["kind"]
    with stage.db.transaction(Authority.RUNNER) as tx:
        (claimed,) = running.claim(tx, kind=kind, limit=10)
    assert (claimed.retry_of, claimed.retry_with, claimed.input) == (run, MODEL, {"day": 1})


def test_outside_it_is_a_function_of_yours(new_stage: NewStage) -> None:
    stage, called = new_stage(), []

    def use_another(one: Claimed, subject: Subject) -> None:
        called.append((subject.source, one.parameters["alternative"]))

    stage.executors[FALLBACK] = Executor(use_another)
    (match,) = stage.outside(source="etl")
    stage.settle()
    stage.scope(match, actions=[FALLBACK])
    executed(stage, match, FALLBACK, alternative=MODEL)
    assert (called, stage.status(match)[0]) == ([("etl", MODEL)], "recovered")
    stage.whole()


def test_an_intake_has_no_alternative(stage: Stage) -> None:
    match = matched(stage, exhausted_intake(stage))
    with pytest.raises(InputRefused) as refused:
        stage.propose(match, FALLBACK, alternative=MODEL)
    assert refused.value.code == "action_not_applicable"


def test_without_an_alternative_it_is_neither_proposed_nor_offered(new_stage: NewStage) -> None:
    stage = new_stage()
    stage.apply(f'[recovery.plan]\nerror = ["{FALLBACK}", "manual_intervention"]\n')
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    assert stage.told(match) == [("manual_intervention", "pending", None)]
    with pytest.raises(InputRefused) as refused:
        stage.propose(match, FALLBACK)
    assert refused.value.facts["parameter"] == "alternative"


def test_a_table_that_allows_no_retry_is_not_offered_one(new_stage: NewStage) -> None:
    """Nor an alternative, nor another value of a key: all of these requeue the error."""
    stage = new_stage()
    actions = ["retry_exponential", "fallback_small", "reconfigure_less", "manual_intervention"]
    error = stage.park()
    stage.apply(
        f"[recovery.plan]\nerror = {actions}\n"
        f'[errors.tables."{DOL}"]\nallowed = ["PARK", "ARCHIVE"]\ndefault = "PARK"\n'
        + "".join(
            f'[recovery.actions.{name}]\ntype = "{type_}"\nis_automated = false\nrequires_approval = true\ncost = 1\n'
            f"timeout_s = 60\nparameters = {given}\n"
            for name, type_, given in (
                ("fallback_small", "fallback", '{ alternative = "small" }'),
                ("reconfigure_less", "reconfigure", '{ key = "size", value = 1 }'),
            )
        )
    )
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    assert stage.told(match) == [("manual_intervention", "pending", None)]


# Escalate -------------------------------------------------------------------------------------------------------------


def test_with_an_approval_the_error_is_escalated(stage: Stage) -> None:
    error = stage.park()
    match = matched(stage, error)
    row = executed(stage, match, ESCALATE, owner="lead")
    assert (row["status"], row["awaits"], row["reported"]) == ("succeeded", None, "succeeded")
    found = stage.hub.row(error)
    assert (found["status"], found["escalation_level"], found["escalated_to"]) == ("ESCALATED", 2, "lead")
    assert stage.match(match)["status"] == "evaluated"  # the failure is still there
    assert executed(stage, match, ESCALATE, owner="platform")["status"] == "succeeded"
    found = stage.hub.row(error)
    assert (found["status"], found["escalation_level"], found["escalated_to"]) == ("ESCALATED", 3, "platform")
    # There is no tier above the third.
    row = executed(stage, match, ESCALATE, owner="nobody")
    assert (row["status"], row["error"], row["teaches"]) == ("failed", "HIGHEST_TIER", False)
    assert stage.hub.row(error)["escalated_to"] == "platform"


def test_by_itself_it_raises_the_tier_and_no_more(new_stage: NewStage) -> None:
    stage = new_stage()
    stage.apply(f'[recovery.plan]\nerror = ["{ESCALATE}"]\noutside = ["{ESCALATE}"]\n')
    for _ in range(12):
        escalated(stage)
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    stage.scope(match, actions=[ESCALATE])
    stage.settle()
    row = stage.candidate(match)
    assert (row["decided_at"], row["status"]) == (None, "succeeded")
    found = stage.hub.row(error)
    assert (found["status"], found["escalation_level"], found["escalated_to"]) == ("PARKED", 2, "operations")
    stage.whole()


def escalated(stage: Stage) -> None:
    """One whose task was done."""
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match, actions=[ESCALATE])
    stage.settle()
    candidate = stage.candidate(match)
    if candidate["status"] == "pending":  # later ones start by themselves
        assert stage.approve(candidate["candidate_id"]) == [None]
        stage.settle()
    done(stage, match)


def done(stage: Stage, match: UUID) -> None:
    task = UUID(stage.candidate(match)["awaits"]["key"])
    with stage.person("olga", Authority.OPERATOR) as tx:
        people.done(tx, task)
    stage.settle()


@pytest.mark.parametrize("kind", ["intake", "run", "outside"])
def test_other_subjects_become_a_task_for_the_owner(stage: Stage, kind: str) -> None:
    if kind == "outside":
        (match,) = stage.outside()
        stage.settle()
        stage.scope(match, actions=[ESCALATE])
    else:
        match = matched(stage, exhausted_intake(stage) if kind == "intake" else crashed_run(stage))
    row = executed(stage, match, ESCALATE, owner="lead", due_hours=3)
    task = stage.row("select * from recovery.task where task_id = %s", UUID(row["awaits"]["key"]))
    assert (row["status"], task["owner"], task["action_name"]) == ("executing", "lead", ESCALATE)
    assert task["due_at"] - task["created_at"] == timedelta(hours=3)
    done(stage, match)
    assert (stage.candidate(match)["status"], stage.match(match)["status"]) == ("succeeded", "evaluated")


@pytest.mark.parametrize(
    ("given", "lacking"),
    [
        ({"owner": ""}, "owner"), ({"owner": None}, "owner"), ({"owner": {"a": 1}}, "owner"),
        ({"owner": "o" * 501}, "owner"),
        ({"due_hours": 0}, "due_hours"), ({"due_hours": -1}, "due_hours"), ({"due_hours": 1e9}, "due_hours"),
        ({"due_hours": "1; drop table"}, "due_hours"), ({"due_hours": None}, "due_hours"),
    ],
)  # fmt: skip
def test_an_owner_and_hours_are_needed(stage: Stage, given: dict[str, Any], lacking: str) -> None:
    (match,) = stage.outside()
    stage.settle()
    with pytest.raises(InputRefused) as refused:
        stage.propose(match, ESCALATE, **given)
    assert refused.value.facts["parameter"] == lacking


def test_an_error_that_is_no_longer_parked_is_not_escalated(stage: Stage) -> None:
    error = stage.park()
    match = matched(stage, error)
    made = stage.propose(match, ESCALATE)
    assert stage.approve(made) == [None]
    assert stage.act("unpark", error)
    stage.execute()
    assert stage.candidate(match)["error"] == "SUBJECT_CHANGED"
    assert stage.hub.row(error)["escalation_level"] == 1


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_decision_on_a_candidate_is_a_review_of_its_error(stage: Stage, decision: str) -> None:
    """Approved or rejected: somebody looked at it, and the clock of its tier stops."""
    error = stage.park()
    made = stage.propose(matched(stage, error), ESCALATE)
    stage.advance(hours=2)
    getattr(stage, decision)(made)
    row = stage.hub.row(error)
    assert row["last_reviewed_at"] == row["sla_met_at"] == stage.hub.now()
    ((authority, who),) = stage.hub.rows(
        "select authority, actor_id from recoup.error_event where error_id = %s and event_type = 'REVIEWED'", error
    )
    assert (authority, who) == ("recoup_reviewer", "rita")
    stage.advance(hours=23)
    stage.hub.raise_tiers()
    assert stage.hub.row(error)["sla_breached_at"] is None
    stage.whole()


def test_without_an_owner_an_error_goes_to_that_of_the_next_tier(new_stage: NewStage) -> None:
    """As if a person had escalated it; its clock begins."""
    stage = new_stage()
    stage.apply('[recovery.actions.to_the_next]\ntype = "escalate"\nis_automated = false\nrequires_approval = true\n'
                "cost = 1\ntimeout_s = 60\n")  # fmt: skip
    error = stage.park()
    stage.settle()
    match: UUID = stage.match_of(error)["failure_match_id"]
    stage.scope(match, actions=["to_the_next"])
    executed(stage, match, "to_the_next")
    row = stage.hub.row(error)
    assert (row["status"], row["escalation_level"], row["escalated_to"]) == ("ESCALATED", 2, "dol-lead")
    assert (row["sla_due_at"] - row["escalated_at"], row["sla_met_at"]) == (timedelta(hours=8), None)
    stage.whole()


def test_an_error_that_is_parked_again_after_a_candidates_retry_keeps_its_place(stage: Stage) -> None:
    error = stage.park()
    since = stage.hub.row(error)["parked_since"]
    match = matched(stage, error)
    stage.advance(hours=49)
    stage.hub.raise_tiers()
    stage.scope(match, actions=["retry_exponential"])
    executed(stage, match, "retry_exponential")
    stage.fail(error)
    row = stage.hub.row(error)
    assert (row["status"], row["escalation_level"], row["escalated_to"]) == ("PARKED", 2, "dol-lead")
    assert (row["parked_since"], row["sla_met_at"]) == (since, None)
