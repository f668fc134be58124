"""What operators do: have matches evaluated, report ends, end tasks, report outcomes of programs of their own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from recoup.client import Client
from recoup.database import embedded
from recoup.database.connection import Actor
from recoup.lifecycles.declaration import Authority
from recoup.recovery import people, scopes
from recoup.recovery.executing import Outcome
from recoup.refusals import InputRefused, LawRefused
from recoup.settings import Settings
from recovery.desk import MANUAL, NOTIFY, RETRY, Desk
from recovery.stage import Stage


@pytest.fixture(scope="module")
def desk(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Desk]:
    """Subscriptions and confidence are of the whole database."""
    with Client(server.uri(new_database()), settings) as client:
        yield Desk(client)


def refused(code: str, call: Callable[[], Any]) -> str:
    with pytest.raises((InputRefused, LawRefused)) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.next_step
    return caught.value.happened


def test_a_stuck_match_begins_anew(desk: Desk) -> None:
    """It keeps why it was stuck until then, also when an evaluation succeeds meanwhile."""
    match = desk.new()
    desk.make_stuck(match)
    shown = desk.recovery.show(match)
    assert shown.match["status"] == "stuck"
    assert "recoup recovery evaluate" in shown.next_step
    assert [one.failure_match_id for one in desk.recovery.matches(statuses=["stuck"])] == [match]
    desk.open_scope(match)  # wakes it
    desk.evaluate()
    assert desk.recovery.show(match).match["last_failure"] == "boom"
    assert desk.recovery.matches(statuses=["stuck"])
    assert desk.recovery.evaluate(match, reason="fixed the rule", actor="ada") == "new"
    row = desk.recovery.show(match).match
    assert (row["status"], row["evaluation_failures"]) == ("new", 0)
    desk.evaluate()
    assert desk.recovery.show(match).match["status"] == "evaluated"
    event = next(one for one in desk.recovery.show(match).events if one.event_type == "match_resumed")
    assert (event.reason, event.actor, event.actor_id) == ("fixed the rule", "human", "ada")
    assert desk.recovery.matches(statuses=["stuck"]) == []


def test_an_open_match_is_woken(desk: Desk) -> None:
    match = desk.new()
    before = desk.recovery.show(match).match
    assert before["evaluate_at"] > desk.recovery.show(match).read_at
    assert desk.recovery.evaluate(str(match)) == "evaluated"
    after = desk.recovery.show(match)
    assert after.match["evaluate_at"] <= after.read_at
    assert after.match["wakes"] == before["wakes"] + 1


def test_a_recovered_match_ends_with_who_said_so(desk: Desk) -> None:
    match = desk.new()
    desk.recovery.recovered(match, reason="switched the vendor", actor="ada")
    assert "ada reported" in desk.recovery.show(match).next_step
    assert "ada" in refused("match_reported", lambda: desk.recovery.recovered(match, reason="again"))
    desk.evaluate()
    shown = desk.recovery.show(match)
    assert (shown.match["status"], shown.match["reported_by"]) == ("recovered", "ada")
    assert shown.candidates[-1].skip_reason == "SUBJECT_RECOVERED"
    assert "switched the vendor" in {one.reason for one in shown.events}
    refused("match_over", lambda: desk.recovery.recovered(match, reason="again"))
    refused("match_over", lambda: desk.recovery.evaluate(match))
    assert shown.next_step == "Nothing to do."


def test_what_is_not_there_is_refused(desk: Desk) -> None:
    nobody = uuid.uuid4()
    refused("match_unknown", lambda: desk.recovery.evaluate(nobody))
    refused("match_unknown", lambda: desk.recovery.recovered(nobody, reason="x"))
    refused("match_unknown", lambda: desk.recovery.show(nobody))
    refused("match_unknown", lambda: desk.recovery.propose(nobody, RETRY))
    refused("task_unknown", lambda: desk.recovery.task_done(nobody))
    refused("scope_unknown", lambda: desk.recovery.revoke_scope(nobody, reason="x"))
    refused("match_id", lambda: desk.recovery.show("17"))
    refused("task_id", lambda: desk.recovery.task_cancel("17", note="x"))
    with desk.client.transaction(Authority.EVALUATOR) as tx:
        refused("candidate_unknown", lambda: people.report(tx, nobody, succeeded=True))
    assert [one.refused for one in desk.recovery.approve([nobody, "17"])] == ["candidate_unknown", "candidate_unknown"]


def manual(desk: Desk) -> tuple[Any, Any]:
    """A match whose candidate made a task, and the task."""
    match = desk.new()
    desk.recovery.propose(match, MANUAL, actor="ada")
    desk.open_scope(match, MANUAL)
    (answer,) = desk.recovery.approve(desk.candidate(match), actor="bob")
    assert answer.done, answer
    assert desk.execute() >= 1
    task = desk.candidate(match).awaits["key"]
    return match, next(one for one in desk.recovery.tasks(limit=1000) if str(one.task_id) == task)


def test_a_task_that_is_done_ends_what_awaits_it(desk: Desk) -> None:
    match, task = manual(desk)
    assert (task.owner, task.candidates, task.is_overdue) == ("operations", 1, False)
    assert f"tasks done {task.task_id}" in desk.recovery.show(match).next_step
    awaited = desk.recovery.show(match).awaits
    assert awaited is not None
    assert awaited.status == "open"
    desk.recovery.task_done(task.task_id, note="replaced the token", actor="ada")
    desk.evaluate()
    assert desk.candidate(match).status == "succeeded"
    assert refused_code(lambda: desk.recovery.task_done(task.task_id)) == "task_over"
    ended = next(one for one in desk.recovery.tasks(ended=True, limit=1000) if one.task_id == task.task_id)
    assert (ended.status, ended.ended_by, ended.note) == ("done", "ada", "replaced the token")


def refused_code(call: Callable[[], Any]) -> str:
    with pytest.raises((InputRefused, LawRefused)) as caught:
        call()
    return caught.value.code


def test_a_task_that_is_cancelled_fails_what_awaits_it(desk: Desk) -> None:
    match, task = manual(desk)
    for note in ("", " ", "x" * 2001, "a\0b"):
        cancelled = partial(desk.recovery.task_cancel, task.task_id, note=note)
        assert refused_code(cancelled) == "note_unusable"
    desk.recovery.task_cancel(task.task_id, note="nobody is there", actor="ada")
    desk.evaluate()
    first = desk.recovery.show(match).candidates[-1]
    assert (first.status, first.error) != ("executing", None)


def test_a_program_of_ones_own_claims_and_reports(desk: Desk) -> None:
    """It gets only what is executed outside; the token fences it, and a report that comes twice changes nothing."""
    one = desk.scoped()
    other = desk.new()  # whose effect is Recoup's own
    desk.recovery.propose(other, NOTIFY, actor="ada")
    desk.open_scope(other, NOTIFY)
    desk.recovery.approve([one.unit, desk.candidate(other)], actor="bob")
    assert desk.recovery.claim(["circuit_breaker"]) == []
    (claimed,) = [
        two
        for two in desk.recovery.claim([RETRY, NOTIFY], limit=100, worker="puller")
        if two.candidate_id == one.candidate_id
    ]
    assert claimed.parameters == {}
    assert desk.candidate(other).status == "approved"
    assert "puller executes it" in desk.recovery.show(one.candidate_id).next_step
    with desk.client.transaction(Authority.EVALUATOR) as tx:
        late = people.report(tx, claimed.candidate_id, succeeded=True, token=uuid.uuid4())
    assert late == "late"
    assert desk.recovery.finish([(claimed, Outcome(True, None, {"rows": 3}))]) == ["succeeded"]
    assert desk.recovery.finish([(claimed, Outcome(True))]) == ["made"]
    desk.evaluate()
    shown = desk.recovery.show(one.candidate_id)
    assert (shown.match["status"], shown.candidates[-1].result) == ("recovered", {"rows": 3})


def test_an_outcome_is_reported_without_a_token_and_only_where_it_is_told(desk: Desk) -> None:
    one = desk.scoped()
    with desk.client.transaction(Authority.EVALUATOR) as tx:
        assert "pending" in refused(
            "candidate_not_claimed", lambda: people.report(tx, one.candidate_id, succeeded=True)
        )
    desk.recovery.approve(one, actor="bob")
    desk.recovery.claim([RETRY], limit=100)
    with desk.client.transaction(Authority.EVALUATOR) as tx:
        assert people.report(tx, one.candidate_id, succeeded=False, error="no answer") == "failed"
    match, _ = manual(desk)
    with desk.client.transaction(Authority.EVALUATOR) as tx:
        one = desk.candidate(match)
        assert "task" in refused("outcome_not_reported", lambda: people.report(tx, one.candidate_id, succeeded=True))


def test_a_program_does_not_decide(desk: Desk) -> None:
    """Approvals are a person's: the guard says so to every other actor."""
    one = desk.scoped()
    (answer,) = desk.recovery.approve(one, actor=Actor("system", "robot"))
    assert (answer.done, answer.refused) == (False, "decision")
    (answer,) = desk.recovery.approve(one, actor=Actor("ai", "model"))
    assert not answer.done
    (answer,) = desk.recovery.reject(one, reason="the data is wrong", actor="ada")
    assert answer.done
    shown = desk.candidate(one.failure_match_id)
    assert (shown.status, shown.decided_by, shown.decision_note) == ("rejected", "ada", "the data is wrong")


def test_ones_own_proposal_is_approved_by_another(desk: Desk) -> None:
    match = desk.new()
    made = desk.recovery.propose(match, RETRY, parameters={"delay": 3}, actor="ada")
    desk.open_scope(match)
    assert desk.recovery.approve(made, actor="ada")[0].refused == "same_person"
    assert desk.recovery.approve(made, actor="bob")[0].done
    first, second = desk.recovery.show(match).candidates
    assert (first.skip_reason, first.overridden_by, second.parameters) == ("OVERTAKEN", "ada", {"delay": 3})
    refused("action_unknown", lambda: desk.recovery.propose(match, "nothing"))
    refused("parameters_missing", lambda: desk.recovery.propose(match, "rollback"))
    refused("candidate_open", lambda: desk.recovery.propose(match, RETRY))


def test_a_decision_is_bound_to_what_was_shown(desk: Desk) -> None:
    match = desk.new()
    before = desk.candidate(match)
    assert desk.recovery.approve(before)[0].refused == "scope_missing"
    desk.open_scope(match)
    assert desk.recovery.approve(before)[0].refused == "candidate_changed"
    assert desk.recovery.approve(desk.candidate(match))[0].done


def test_a_revoked_scope_names_what_goes_on(desk: Desk) -> None:
    one = desk.scoped()
    desk.recovery.approve(one, actor="bob")
    desk.recovery.claim([RETRY], limit=100)
    (started,) = desk.recovery.revoke_scope(one.scope_id, reason="wrong vendor", actor="ada")
    assert (started.candidate_id, started.effect_made) == (one.candidate_id, False)
    refused("scope_over", lambda: desk.recovery.revoke_scope(one.scope_id, reason="again"))
    assert {"wrong vendor"} <= {event.reason for event in desk.recovery.show(one.candidate_id).events}


@pytest.mark.parametrize("reason", ["", " ", "a\0b", "x" * 2001])
def test_a_scope_needs_a_usable_reason(stage: Stage, reason: str) -> None:
    (match,) = stage.outside()
    incident = stage.match(match)["incident_id"]
    with pytest.raises(InputRefused) as refused, stage.person("olga", Authority.SCOPED_EXECUTION) as tx:
        scopes.open_scope(tx, incident, stage.policy, actions=[RETRY], reason=reason)
    assert refused.value.code == "reason_unusable"


def test_the_reason_of_a_scope_is_stored_without_secrets(stage: Stage) -> None:
    (match,) = stage.outside()
    incident = stage.match(match)["incident_id"]
    with stage.person("olga", Authority.SCOPED_EXECUTION) as tx:
        made = scopes.open_scope(tx, incident, stage.policy, actions=[RETRY], reason="password=hunter2")
    told = stage.rows("select reason from recovery.provenance where scope_id = %s", made)
    assert [row["reason"] for row in told] == ["password=[redacted]"]
    assert stage.row("select reason from recovery.scope where scope_id = %s", made)["reason"] == "password=[redacted]"
