"""Time: outcomes that never come, deadlines, pauses, a clock that is moved, workers that die."""

from __future__ import annotations

from datetime import timedelta

import pytest

import company
from product import pause, resume
from recoup import gate
from recoup.lifecycles.declaration import Authority
from recoup.recovery import evaluation, executing, facts, scopes
from recoup.recovery.executing import Executor, Outcome
from recoup.refusals import LawRefused
from recoup.worker import register
from recovery.stage import MANUAL, NOTIFY, RETRY, NewStage, Stage

TWICE = '[recovery]\nheld_share = 0.0\n[recovery.plan]\noutside = ["call", "call", "notify_ops"]\n'
CALL = """
[recovery.actions.call]
type = "retry"
is_automated = true
requires_approval = false
cost = 1
timeout_s = 300
idempotent = {idempotent}
"""


@pytest.mark.parametrize("idempotent", ["false", "true"])
def test_the_claim_worker_dies_after_an_effect_outside(new_stage: NewStage, idempotent: str) -> None:
    """Nobody knows whether it was made. It is repeated under the same key: by a person, unless that makes it once."""
    stage = new_stage()
    called: list[str] = []
    stage.apply(TWICE + CALL.format(idempotent=idempotent))
    stage.teach("call", {True: 20})
    (match,) = stage.outside()
    stage.settle(executing=False)
    stage.scope(match, actions=["call"])
    stage.settle(executing=False)
    (claimed,) = stage.claim()  # it starts by itself; the call is made, and its worker dies before it says so
    called.append(claimed.idempotency_key)
    stage.advance(minutes=6)
    stage.settle(executing=False)
    first, second = stage.candidates(match)
    assert (first["status"], first["error"], first["teaches"]) == ("failed", "CRASHED", True)
    assert stage.story(first["candidate_id"])[-2:] == ["failure", "crashed"]
    assert (second["follows"], second["idempotency_key"]) == (first["candidate_id"], claimed.idempotency_key)
    assert second["held_for_review"] == (idempotent == "false")
    stage.executors["call"] = Executor(lambda one, _: called.append(one.idempotency_key))
    stage.settle()
    if idempotent == "false":
        assert called == [claimed.idempotency_key]
        assert stage.approve(second["candidate_id"]) == [None]
        stage.settle()
    assert called == [claimed.idempotency_key] * 2
    assert stage.status(match) == ("recovered", "recovered by call")
    # The dead one comes back: its result is stored as late, and not applied.
    with stage.db.transaction(Authority.EVALUATOR) as tx:
        assert executing.finish(tx, [(claimed, Outcome(True))]) == ["late"]
    assert stage.candidates(match)[0]["status"] == "failed"
    late = stage.rows("select * from recoup.late_result where subject = 'recovery.candidate'")
    assert [row["unit_id"] for row in late] == [str(claimed.candidate_id)]
    stage.whole()


def test_a_person_who_repeats_it_gets_the_same_key(new_stage: NewStage) -> None:
    stage = new_stage()
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match)
    stage.settle()
    stage.approve(stage.candidate(match)["candidate_id"])
    (claimed,) = stage.claim()
    stage.advance(minutes=6)
    stage.settle()
    assert stage.told(match) == [(RETRY, "failed", "CRASHED"), (NOTIFY, "pending", None)]
    proposed = stage.row("select * from recovery.candidate where candidate_id = %s", stage.propose(match, RETRY))
    assert proposed["idempotency_key"] == claimed.idempotency_key
    other = stage.row(
        "select * from recovery.candidate where candidate_id = %s", stage.propose(match, RETRY, by="peggy", wait=3)
    )
    assert other["idempotency_key"] is None  # with other parameters it is another effect
    stage.whole()


def test_an_outcome_that_never_comes(stage: Stage) -> None:
    """Overdue after its time, counted; the match waits until the unit has ended after all, well: recovered."""
    error = stage.park()
    match = stage.awaiting(error)
    stage.advance(hours=25)
    stage.settle()
    assert stage.told(match) == [(RETRY, "failed", "OUTCOME_OVERDUE")]
    assert stage.match(match)["status"] == "evaluated"
    stage.advance(days=31)  # past the time of the match: the unit is under way
    stage.settle()
    assert stage.match(match)["status"] == "evaluated"
    stage.retried(error)
    stage.settle()
    assert stage.status(match) == ("recovered", "recovered by other means")


def test_an_outcome_that_comes_too_late_and_is_bad(stage: Stage) -> None:
    error = stage.park()
    match = stage.awaiting(error)
    stage.advance(hours=25)
    stage.settle()
    stage.fail(error)
    stage.settle()
    assert stage.told(match) == [(RETRY, "failed", "OUTCOME_OVERDUE"), (MANUAL, "pending", None)]


def test_a_task_that_nobody_does(new_stage: NewStage) -> None:
    """After its due time and a day the candidate has failed; while the task is open, nothing else is started."""
    stage = new_stage()
    stage.apply('[recovery.plan]\noutside = ["manual_intervention", "notify_ops"]\n')
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match)
    stage.settle()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    stage.settle()
    stage.advance(hours=49)
    stage.settle()
    assert stage.told(match) == [(MANUAL, "failed", "OUTCOME_OVERDUE")]
    stage.advance(days=10)
    stage.settle()
    assert len(stage.candidates(match)) == 1
    with stage.person("ada", Authority.OPERATOR) as tx:
        tx.execute("update recovery.task set status = 'cancelled', ended_at = recoup.now(), ended_by = 'ada'")
    stage.settle()
    assert stage.told(match)[1:] == [(NOTIFY, "pending", None)]
    stage.whole()


def test_a_task_that_is_due_in_more_than_a_year(new_stage: NewStage) -> None:
    """It is awaited, and nothing is stuck for that. By hand nobody awaits anything longer."""
    stage = new_stage()
    stage.apply('[recovery.plan]\noutside = ["manual_intervention"]\n')
    match, other = stage.outside(2)
    stage.settle()
    stage.scope(match)
    stage.settle()
    assert stage.approve(stage.candidate(other)["candidate_id"]) == [None]
    (claimed,) = stage.claim()
    forged = (
        "update recovery.candidate set effect_made_at = recoup.now(), outcome_by = recoup.now() + interval '200 years',"
        " awaits = jsonb_build_object('kind', 'task', 'key', gen_random_uuid(), 'since_seq', 1),"
        " updated_at = recoup.now() where candidate_id = %s"
    )
    with pytest.raises(LawRefused, match="not now"), stage.db.transaction(Authority.EXECUTOR) as tx:
        tx.execute(forged, (claimed.candidate_id,))
    assert stage.approve(stage.propose(match, MANUAL, due_hours=9_999)) == [None]
    stage.settle()
    for _ in range(3):
        stage.advance(days=200)
        stage.settle()
        assert stage.match(match)["evaluation_failures"] == 0
    assert stage.told(match)[-1] == (MANUAL, "failed", "OUTCOME_OVERDUE")
    assert stage.match(match)["status"] == "evaluated"  # its task is still open
    stage.whole()


def test_the_verdict_is_read_before_the_deadline_is(stage: Stage) -> None:
    """The retry worked in time; nobody looked until the deadline had passed."""
    error = stage.park()
    match = stage.awaiting(error)
    stage.retried(error)
    stage.advance(days=40)
    stage.settle()
    assert (stage.told(match), stage.status(match)[0]) == ([(RETRY, "succeeded", None)], "recovered")


def test_nobody_decides(stage: Stage) -> None:
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    stage.advance(hours=73)
    stage.settle()
    assert stage.told(match) == [(RETRY, "skipped", "DECISION_OVERDUE")]
    assert stage.status(match) == ("unrecovered", "DECISION_OVERDUE")


def test_a_hopeless_action_is_skipped_at_once(new_stage: NewStage) -> None:
    stage = new_stage()
    stage.teach(RETRY, {False: 20})
    (match,) = stage.outside()
    stage.settle()
    assert stage.told(match) == [(RETRY, "skipped", "LOW_CONFIDENCE"), (NOTIFY, "pending", None)]
    stage.whole()


def test_a_paused_action(new_stage: NewStage) -> None:
    """A pause stops claims, for every writer; neither the scope's time nor a deadline. What it cost names it."""
    stage = new_stage()
    error = stage.park()
    match = stage.approved(error)
    with stage.person("olga", Authority.OPERATOR) as tx:
        pause(tx, "action", RETRY, reason="the vendor asked for it")
    stage.settle()
    assert stage.told(match) == [(RETRY, "approved", None)]
    assert stage.claim() == []
    stage.advance(days=2)
    stage.settle()
    assert stage.told(match) == [(RETRY, "skipped", "SCOPE_ENDED")]
    (skipped,) = stage.events(match, "skipped")
    assert (skipped["facts"]["paused"], skipped["facts"]["paused_by"]) == (RETRY, "olga")
    with stage.person("olga", Authority.OPERATOR) as tx:
        resume(tx, "action", RETRY, reason="it may go on")
    stage.scope(match)
    stage.settle()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    stage.settle()
    assert stage.told(match)[1:] == [(RETRY, "executing", None)]
    stage.whole()


def test_the_outcome_is_not_overdue_while_work_on_it_is_paused(new_stage: NewStage) -> None:
    stage = new_stage()
    error = stage.park()
    match = stage.awaiting(error)
    with stage.person("olga", Authority.OPERATOR) as tx:
        pause(tx, "table", "recoup.error", reason="maintenance")
    stage.advance(days=5)
    stage.settle()
    assert stage.told(match) == [(RETRY, "executing", None)]
    with stage.person("olga", Authority.OPERATOR) as tx:
        resume(tx, "table", "recoup.error", reason="done")
    stage.retried(error)
    stage.settle()
    assert stage.status(match)[0] == "recovered"
    stage.whole()


@pytest.mark.parametrize("what", ["table", "global"])
def test_the_clock_of_an_outcome_stands_still_while_work_on_it_is_paused(new_stage: NewStage, what: str) -> None:
    """Paused twice, for five days and for two: what was left of its time before is left of it afterwards."""
    stage = new_stage()
    named = {"table": "recoup.error", "global": None}[what]
    error = stage.park()
    match = stage.awaiting(error)
    for days in (5, 2):
        stage.advance(hours=11)
        with stage.person("olga", Authority.OPERATOR) as tx:
            pause(tx, what, named, reason="maintenance")
        stage.advance(days=days)
        stage.settle()
        with stage.person("olga", Authority.OPERATOR) as tx:
            resume(tx, what, named, reason="done")
        stage.settle()
    stage.advance(hours=1)  # 23 of 24
    stage.settle()
    assert stage.told(match) == [(RETRY, "executing", None)]
    stage.advance(hours=2)
    stage.settle()
    assert stage.told(match) == [(RETRY, "failed", "OUTCOME_OVERDUE")]
    stage.whole()


def test_the_clock_of_a_restarted_intake_stands_still_while_its_batch_is_paused(new_stage: NewStage) -> None:
    stage = new_stage()
    with stage.db.transaction(Authority.READER) as tx:
        batch = company.new_batch(tx)
        intake = company.failed_intake(tx, batch_id=batch, times=3)
    stage.settle()
    match = stage.match_of(intake)["failure_match_id"]
    stage.scope(match)
    stage.settle()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    stage.settle()
    with stage.person("olga", Authority.OPERATOR) as tx:
        gate.pause_batch(tx, batch, reason="look")
    stage.advance(days=15)  # two weeks are the time of an intake
    stage.settle()
    assert stage.told(match) == [(RETRY, "executing", None)]
    with stage.person("olga", Authority.OPERATOR) as tx:
        gate.resume_batch(tx, batch)
    stage.advance(days=13)
    stage.settle()
    assert stage.told(match) == [(RETRY, "executing", None)]
    stage.advance(days=2)
    stage.settle()
    assert stage.told(match) == [(RETRY, "failed", "OUTCOME_OVERDUE")]


def test_a_moved_clock(new_stage: NewStage) -> None:
    """Leases expire only when every worker that lives has been heard of after the move."""
    stage = new_stage()
    with stage.db.transaction(Authority.RUNNER) as tx:
        worker = register.register(tx, name="alive", duties=[])
    (match, other) = stage.outside(2)
    stage.settle()
    stage.scope(match)
    stage.settle()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    (claimed,) = stage.claim()
    with stage.db.transaction(Authority.MATCHER) as tx:
        (third,) = stage.outside()
    with stage.db.transaction(Authority.EVALUATOR) as tx:
        assert evaluation.EVALUATIONS.claim(tx, facts.Claimed, limit=10, worker="alive")
    stage.advance(hours=1)
    stage.settle()
    assert stage.told(match) == [(RETRY, "executing", None)]
    assert stage.match(third)["evaluation_failures"] == 0
    with stage.db.transaction(Authority.RUNNER) as tx:
        assert register.beat(tx, worker)
    stage.settle()
    assert stage.told(match)[0] == (RETRY, "failed", "CRASHED")
    assert stage.match(third)["evaluation_failures"] == 1
    assert stage.told(other) == [(RETRY, "pending", None)]
    with stage.db.transaction(Authority.EVALUATOR) as tx:
        assert executing.finish(tx, [(claimed, Outcome(True))]) == ["late"]
    stage.whole()


@pytest.mark.parametrize("at", ["pending", "approved", "awaiting"])
def test_a_clock_that_jumps_over_every_deadline(stage: Stage, at: str) -> None:
    """A year later, in one step: what waits has ended, or waits for a unit that is under way."""
    error = stage.park()
    match = getattr(stage, at)(error)
    stage.advance(days=365)
    stage.settle()
    first = stage.candidates(match)[0]
    assert first["finished_at"] is not None
    if at == "awaiting":
        assert (first["error"], stage.match(match)["status"]) == ("OUTCOME_OVERDUE", "evaluated")
    else:
        assert (first["skip_reason"], stage.status(match)[0]) == ("SCOPE_ENDED", "unrecovered")


def test_the_clock_stands_at_the_last_moment_of_a_lease(new_stage: NewStage) -> None:
    """It holds until then, and the duties come to rest there."""
    stage = new_stage()
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match)
    stage.settle()
    stage.approve(stage.candidate(match)["candidate_id"])
    stage.claim(lease=timedelta(seconds=300))
    stage.advance(seconds=300)
    stage.settle(executing=False)
    assert stage.told(match) == [(RETRY, "executing", None)]
    stage.advance(seconds=1)
    stage.settle(executing=False)
    assert stage.told(match)[0] == (RETRY, "failed", "CRASHED")
    stage.whole()


def test_the_policy_opens_the_next_scope_for_candidates_that_wait(new_stage: NewStage) -> None:
    """At most one a day: what waits gets its scope the day after, and not never."""
    stage = new_stage()
    stage.apply(
        "[recovery]\nheld_share = 0.0\n[recovery.scope]\nopens_by_itself = true\nopened_per_day = 1\nmax_attempts = 1\n"
    )
    stage.executors[RETRY] = Executor(lambda *_: None)
    one, other = stage.outside(2)
    stage.settle()
    assert stage.approve(stage.candidate(one)["candidate_id"]) == [None]
    stage.settle()
    assert stage.status(one)[0] == "recovered"
    waiting = stage.candidate(other)
    assert (waiting["status"], waiting["scope_id"]) == ("pending", None)
    stage.advance(hours=23)
    stage.settle()
    assert stage.candidate(other)["scope_id"] is None
    stage.advance(hours=2)
    stage.settle()
    assert stage.approve(stage.candidate(other)["candidate_id"]) == [None]
    stage.settle()
    assert stage.status(other)[0] == "recovered"


@pytest.mark.parametrize("by", ["a person", "an evaluation"])
def test_a_scope_is_opened_for_what_was_selected_under_another_policy(new_stage: NewStage, by: str) -> None:
    """Gates and cost of its action have changed since: it is attached, and starts as both policies allow."""
    stage = new_stage()
    stage.executors[RETRY] = Executor(lambda *_: None)
    (match,) = stage.outside()
    stage.settle()
    waiting = stage.candidate(match)
    stage.apply(f"[recovery.actions.{RETRY}]\nrequires_approval = true\ncost = 3\n")
    if by == "a person":
        stage.scope(match)
    else:
        with stage.person("olga", Authority.SCOPED_EXECUTION) as tx:
            given = {
                "incident": waiting["incident_id"], "actions": [RETRY], "max_attempts": 1, "cost_limit": 9,
                "ttl_seconds": 3600, "least_cost": 3, "reason": "a test",
            }  # fmt: skip
            tx.execute(scopes.Q["open"], given)  # and attaches nothing
    stage.settle()
    assert stage.match(match)["evaluation_failures"] == 0
    assert (stage.candidate(match)["candidate_id"], stage.candidate(match)["cost"]) == (waiting["candidate_id"], 1)
    assert stage.approve(waiting["candidate_id"]) == [None]
    stage.settle()
    assert stage.status(match)[0] == "recovered"
