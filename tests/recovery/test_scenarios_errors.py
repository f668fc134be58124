"""Parked errors: what recovery does with them, whoever dies and whatever happens to them meanwhile."""

from __future__ import annotations

import uuid

import pytest

from hub import DOL, TRANSIENT
from recoup.errors.recording import NewError
from recoup.lifecycles.declaration import Authority
from recoup.recovery import evaluation, facts, following
from recovery.stage import MANUAL, RETRY, NewStage, Stage


def again(stage: Stage, entity: uuid.UUID, code: str) -> int:
    """The same failure of the same entity: it supersedes the one that is open."""
    (made,) = stage.hub.record_all([NewError(table=DOL, message=TRANSIENT, outreach_id=entity, code=code)])
    return made.error_id


def test_parked_approved_retried_and_well(stage: Stage) -> None:
    error = stage.park()
    match = stage.awaiting(error)
    stage.retried(error)
    stage.settle()
    assert stage.told(match) == [(RETRY, "succeeded", None)]
    assert stage.status(match) == ("recovered", f"recovered by {RETRY}")
    candidate = stage.candidate(match)
    assert (candidate["decided_by"], candidate["teaches"], candidate["overridden_by"]) == ("rita", True, None)
    assert stage.story(candidate["candidate_id"]) == [
        "created", "action_selected", "confidence_updated", "action_selected", "approved", "executed", "effect_made",
        "success",
    ]  # fmt: skip


def test_parked_approved_retried_and_failed_again(stage: Stage) -> None:
    """It counts, it teaches, and the same match goes on: with the next action, until nothing is left."""
    error = stage.park()
    match = stage.awaiting(error)
    stage.fail(error)
    stage.settle()
    assert stage.told(match) == [(RETRY, "failed", "UNIT_FAILED"), (MANUAL, "pending", None)]
    first, second = stage.candidates(match)
    assert (first["teaches"], second["follows"]) == (True, first["candidate_id"])
    stage.reject(second["candidate_id"])
    stage.settle()
    assert stage.status(match) == ("unrecovered", "NOTHING_APPLICABLE")
    assert len(stage.matches_of(error)) == 1  # parked again is no failure of its own


def test_parked_again_after_the_end_is_a_new_match_only_if_a_person_acted(stage: Stage) -> None:
    error = stage.park()
    match = stage.pending(error)
    for _ in range(2):
        stage.reject(stage.candidate(match)["candidate_id"])
        stage.settle()
    assert stage.status(match)[0] == "unrecovered"
    stage.advance(minutes=1)
    assert stage.act("unpark", error)
    stage.fail(error)
    stage.settle()
    first, second = stage.matches_of(error)
    assert (second["follows"], second["status"]) == (first["failure_match_id"], "evaluated")
    assert second["incident_id"] == first["incident_id"]
    assert stage.told(second["failure_match_id"]) == [(RETRY, "pending", None)]
    # Somebody who proposes for the match that has ended means the one that is open.
    proposed = stage.propose(first["failure_match_id"], RETRY)
    assert stage.candidate(second["failure_match_id"])["candidate_id"] == proposed
    assert len(stage.matches_of(error)) == 2


def test_a_person_who_acted_on_what_was_superseded_since_lets_it_be_matched_again(stage: Stage) -> None:
    """Unparked, reported again by its hub, parked again: the act was on the row before, and of the same lineage."""
    entity, code = uuid.uuid4(), f"S{uuid.uuid4().hex[:10]}"
    error = stage.park(outreach_id=entity, code=code)
    match = stage.pending(error)
    for _ in range(2):
        stage.reject(stage.candidate(match)["candidate_id"])
        stage.settle()
    assert stage.status(match)[0] == "unrecovered"
    newer = again(stage, entity, code)  # parked as before, and nobody has acted
    stage.settle()
    assert len(stage.matches_of(error)) == 1
    stage.advance(minutes=1)
    assert stage.act("unpark", newer)
    newest = again(stage, entity, code)
    stage.fail(newest)
    stage.settle()
    first, second = stage.matches_of(error)
    assert (second["follows"], second["status"]) == (first["failure_match_id"], "evaluated")


def test_a_unit_that_ends_before_anybody_saw_its_effect(stage: Stage) -> None:
    """The retry has worked before the evaluator has seen that there is one. The rows decide, once."""
    error = stage.park()
    match = stage.approved(error)
    stage.execute()
    stage.retried(error)
    stage.settle()
    assert stage.told(match) == [(RETRY, "succeeded", None)]
    assert stage.status(match)[0] == "recovered"
    assert len(stage.events(match, "success")) == 1


def test_the_claim_worker_dies_after_an_effect_of_ours(stage: Stage) -> None:
    """Start and effect are one transaction; what awaits has no lease that could expire."""
    error = stage.park()
    match = stage.awaiting(error)
    stage.advance(hours=2)  # far beyond its lease
    stage.settle()
    assert stage.candidate(match)["status"] == "executing"
    stage.retried(error)
    stage.settle()
    assert (stage.told(match), stage.status(match)[0]) == ([(RETRY, "succeeded", None)], "recovered")


def test_the_evaluator_dies(stage: Stage) -> None:
    """Its lease expires, the evaluation is counted as failed, and the next one makes the one candidate."""
    error = stage.park()
    with stage.db.transaction(Authority.MATCHER) as tx:
        following.match_subjects(tx, stage.policy)
    with stage.db.transaction(Authority.EVALUATOR) as tx:
        dead = evaluation.EVALUATIONS.claim(tx, facts.Claimed, limit=1000, worker="dead")
    match = stage.match_of(error)["failure_match_id"]
    assert match in {one.failure_match_id for one in dead}
    stage.settle()
    assert stage.match(match)["status"] == "new"
    stage.advance(minutes=2)
    stage.settle()
    assert stage.match(match)["evaluation_failures"] == 1
    stage.advance(minutes=2)
    stage.settle()
    row = stage.match(match)
    assert (row["status"], row["evaluation_failures"], len(stage.candidates(match))) == ("evaluated", 0, 1)
    assert [e["outcome"] for e in stage.events(match, "match_evaluated")] == ["FAILED", "SUCCEEDED"]
    # If it was only slow: what it still does changes nothing.
    late = next(one for one in dead if one.failure_match_id == match)
    with stage.db.transaction(Authority.EVALUATOR) as tx:
        evaluation.evaluate(tx, [late], stage.policy)
        evaluation.fail(tx, late, "I was away")
    assert (stage.match(match), len(stage.candidates(match))) == (row, 1)


def test_an_evaluator_that_dies_five_times_leaves_a_match_that_still_ends(new_stage: NewStage) -> None:
    stage = new_stage()
    (match,) = stage.outside()
    for _ in range(stage.policy.evaluation_failures_max):
        with stage.db.transaction(Authority.EVALUATOR) as tx:
            assert evaluation.EVALUATIONS.claim(tx, facts.Claimed, limit=1, worker="dead")
        stage.advance(minutes=10)
        stage.expire()
        stage.advance(hours=1)
    assert stage.match(match)["status"] == "stuck"
    stage.settle()
    assert stage.candidates(match) == []
    stage.advance(days=31)
    stage.settle()
    assert stage.status(match) == ("unrecovered", "TIME_OVER")
    stage.whole()


SUPERSEDED_BY_SQL = """
update recoup.error set superseded_by = %s, archive_reason = 'SUPERSEDED', archived_at = recoup.now(),
  updated_at = recoup.now() where error_id = %s
"""


def test_errors_that_supersede_each_other_in_a_circle_stop_no_evaluation(new_stage: NewStage) -> None:
    """Only a hub that writes past the library does that. What can be known of them is that they are gone."""
    stage = new_stage()
    one, other, third = (stage.park() for _ in range(3))
    stage.settle()
    with stage.db.transaction(Authority.HUB) as tx:
        for newer, older in ((other, one), (one, other)):
            tx.execute(SUPERSEDED_BY_SQL, (newer, older))
    stage.settle()
    for gone in (one, other):
        assert stage.status(stage.match_of(gone)["failure_match_id"]) == ("unrecovered", "SUBJECT_GONE")
    assert stage.told(stage.match_of(third)["failure_match_id"]) == [(RETRY, "pending", None)]


@pytest.mark.parametrize("when", ["pending", "approved"])
def test_superseded_before_it_starts(stage: Stage, when: str) -> None:
    """The newer one is as parked as the older was: candidate and approval stand, and the newer one is retried."""
    entity, code = uuid.uuid4(), f"S{uuid.uuid4().hex[:10]}"
    error = stage.park(outreach_id=entity, code=code)
    match = stage.pending(error)
    if when == "approved":
        assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    newer = again(stage, entity, code)
    stage.settle(executing=False)
    assert stage.told(match) == [(RETRY, when, None)]
    if when == "pending":
        assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    stage.settle()
    assert (stage.told(match), stage.hub.row(newer)["status"]) == ([(RETRY, "executing", None)], "RETRY_PENDING")
    stage.retried(newer)
    stage.settle()
    assert (stage.told(match), stage.status(match)[0]) == ([(RETRY, "succeeded", None)], "recovered")
    assert len(stage.matches_of(error)) == 1
    assert stage.matches_of(newer) == []


def test_superseded_while_it_is_awaited_is_no_end(stage: Stage) -> None:
    entity, code = uuid.uuid4(), f"S{uuid.uuid4().hex[:10]}"
    error = stage.park(outreach_id=entity, code=code)
    match = stage.awaiting(error)
    newer = again(stage, entity, code)
    stage.settle()
    assert stage.candidate(match)["status"] == "executing"
    stage.advance(minutes=2)
    stage.retried(newer)
    stage.settle()
    assert (stage.told(match), stage.status(match)[0]) == ([(RETRY, "succeeded", None)], "recovered")


def test_its_ttl_passes_meanwhile(new_stage: NewStage) -> None:
    """The archiver waits for an open candidate, for a bounded time. Then it is gone, and so are candidate and match."""
    stage = new_stage()
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    expires = stage.hub.row(error)["expires_at"]
    while stage.hub.now() <= expires:  # somebody asks for it again and again, so that a candidate is open all the time
        stage.advance(days=2)
        stage.hub.raise_tiers()
        if stage.match(match)["ended_at"] is None:
            stage.propose(match, RETRY)
            stage.settle()
    stage.hub.sweep_all()
    assert stage.hub.row(error)["status"] == "PARKED"  # kept for its candidate
    days = 0
    while days <= stage.policy.hold_days:
        stage.advance(days=2)
        days += 2
        if stage.match(match)["ended_at"] is None:
            stage.propose(match, RETRY)
            stage.settle()
    stage.hub.sweep_all()
    assert stage.hub.archived(error)["archive_reason"] is not None
    stage.settle()
    assert stage.told(match)[-1] == (RETRY, "skipped", "SUBJECT_GONE")
    assert stage.status(match) == ("unrecovered", "SUBJECT_GONE")
    stage.whole()
