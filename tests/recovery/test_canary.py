"""Approving many with a canary: a few are executed first, and the rest is approved while these succeed."""

from __future__ import annotations

import threading
from uuid import UUID

import pytest

import product
from recoup.client import Client
from recoup.database.connection import Actor
from recoup.lifecycles.declaration import Authority
from recoup.operations import Operation, find, steps
from recoup.recovery import executing, review
from recoup.recovery.executing import Outcome
from recoup.refusals import InputRefused, LawRefused
from recoup.worker.loop import WorkerLoop
from recovery.stage import RETRY, NewStage, Stage

DUTY = "recovery-canary"


class Desk:
    """Failures from outside, each with a pending candidate within one scope; and who approves them."""

    def __init__(self, stage: Stage, failures: int, *, max_attempts: int = 100) -> None:
        self.stage = stage
        self.matches = stage.outside(failures)
        stage.settle()
        stage.scope(self.matches[0], actions=[RETRY], max_attempts=max_attempts)
        stage.settle(executing=False)
        self.client = Client(stage.db.conninfo, stage.db.settings)

    @property
    def candidates(self) -> list[UUID]:
        return [self.stage.candidate(match)["candidate_id"] for match in self.matches]

    @property
    def statuses(self) -> list[str]:
        return [self.stage.candidate(match)["status"] for match in self.matches]

    def begin(self, canary: int = 2, *, by: str = "rita") -> UUID:
        with self.client:
            return self.client.recovery.approve(
                self.candidates, canary=canary, reason="the vendor is back", actor=by
            ).operation_id

    def now(self, operation: UUID) -> Operation:
        with self.stage.db.transaction(Authority.READER) as tx:
            return find(tx, operation)

    def work(self) -> int:
        duties = [duty for duty in product.DUTIES if duty.name == DUTY]
        return WorkerLoop(self.stage.db, duties, name="w-1").run_once()[DUTY]

    def executed(self, *outcomes: bool) -> None:
        """What is approved is executed, with these outcomes."""
        claimed = self.stage.claim()
        assert len(claimed) == len(outcomes)
        with self.stage.db.transaction(Authority.EVALUATOR) as tx:
            executing.finish(tx, [(one, Outcome(good, "no")) for one, good in zip(claimed, outcomes, strict=True)])
        self.stage.settle(executing=False)


def test_what_succeeds_is_followed_by_more(new_stage: NewStage) -> None:
    """Approved by who began it, for each step; the scope is spent as by any approval."""
    desk = Desk(new_stage(), 7)
    operation = desk.begin()
    desk.work()
    assert desk.statuses == ["approved"] * 2 + ["pending"] * 5
    assert desk.work() == 0
    desk.executed(True, True)
    desk.work()
    assert desk.statuses == ["succeeded"] * 2 + ["approved"] * 4 + ["pending"]
    desk.executed(*[True] * 4)
    desk.work()
    assert desk.statuses == ["succeeded"] * 6 + ["approved"]
    assert (desk.now(operation).status, desk.now(operation).done) == ("DONE", 7)
    decided = "select distinct decided_by, decision_note from recovery.candidate"
    assert desk.stage.rows(decided) == [{"decided_by": "rita", "decision_note": "the vendor is back"}]
    told = "select distinct actor, actor_id, authority from recovery.provenance where event_type = 'approved'"
    assert desk.stage.rows(told) == [{"actor": "human", "actor_id": "rita", "authority": "recoup_reviewer"}]
    desk.stage.whole()


def test_what_fails_stops_it(new_stage: NewStage) -> None:
    """The rest waits for a decision as before, and anybody can decide."""
    desk = Desk(new_stage(), 6)
    operation = desk.begin()
    desk.work()
    desk.executed(False, True)
    desk.work()
    assert desk.now(operation).status == "STOPPED"
    assert desk.now(operation).why == (
        "1 of 2 of step 1 failed (50%; the policy allows 20%): stopped. 4 more are left as they are."
    )
    assert desk.statuses[2:] == ["pending"] * 4
    assert desk.stage.approve(desk.candidates[2]) == [None]
    desk.stage.whole()


def test_a_candidate_that_changed_since_is_refused(new_stage: NewStage) -> None:
    """Candidates that were named by id are bound to what they were when it began."""
    desk = Desk(new_stage(), 4)
    operation = desk.begin(canary=3)
    desk.stage.propose(desk.matches[0], RETRY)  # the candidate before is overtaken
    with desk.stage.db.transaction(Authority.MATCHER) as tx:
        tx.execute(
            "update recovery.candidate set confidence = 0.3, confidence_of = action_name where failure_match_id = %s",
            (desk.matches[1],),
        )
    desk.work()
    found = desk.now(operation)
    assert (found.done, found.refused) == (1, 2)
    assert set(found.refusals) == {
        "candidate_changed: It has changed since it was shown.", "candidate_decided: It is skipped, not pending.",
    }  # fmt: skip


def test_a_skipped_candidate_has_no_outcome(new_stage: NewStage) -> None:
    """Where that is all, it waits for a person."""
    desk = Desk(new_stage(), 4)
    operation = desk.begin(canary=1)
    desk.work()
    with desk.stage.person("olga", Authority.OPERATOR) as tx:
        product.pause(tx, "action", RETRY, reason="a test")
    scope = desk.stage.candidate(desk.matches[0])["scope_id"]
    desk.stage.revoke(scope)
    desk.stage.settle(executing=False)
    assert desk.statuses[0] in ("skipped", "pending")
    desk.work()
    assert desk.now(operation).status == "PAUSED"
    assert "None of the 1 of step 1 has an outcome" in str(desk.now(operation).why)


def test_a_set_that_does_not_fit_its_scope_is_refused(new_stage: NewStage) -> None:
    """With both numbers, by ids as by a filter, before anything is written."""
    desk = Desk(new_stage(), 4, max_attempts=3)
    with pytest.raises(LawRefused, match=r"3 attempts .* 4 candidates") as refused:
        desk.begin()
    assert refused.value.code == "scope_too_small"
    with pytest.raises(InputRefused):
        desk.begin(canary=0)
    assert desk.stage.rows("select from recoup.operation") == []


def test_somebody_who_proposed_it_does_not_approve_it_this_way(new_stage: NewStage) -> None:
    """Nor does a program, whose worker would then act as a person."""
    desk = Desk(new_stage(), 3)
    desk.stage.propose(desk.matches[0], RETRY, by="rita")
    desk.stage.settle(executing=False)
    own = desk.begin(canary=1)
    desk.work()
    assert set(desk.now(own).refusals) == {"same_person: You proposed it."}
    with desk.client as client:
        program = client.recovery.approve(desk.candidates, canary=1, actor=Actor("system", "bot")).operation_id
    desk.work()
    assert desk.now(program).done == 0


def test_two_reviewers_at_once_approve_no_more_than_a_scope_has(new_stage: NewStage) -> None:
    """The second one waits, and is told both numbers."""
    desk = Desk(new_stage(), 4, max_attempts=3)
    first, second = desk.candidates[:2], desk.candidates[2:]
    answers: list[list[str | None]] = []
    thread = threading.Thread(target=lambda: answers.append(desk.stage.approve(*second, by="rolf")))
    with desk.stage.person("rita", Authority.REVIEWER) as tx:
        assert [one.refused for one in review.approve(tx, [str(one) for one in first])] == [None, None]
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    thread.join(60)
    assert answers == [["scope_too_small", "scope_too_small"]]


def test_a_step_is_approved_while_others_are_claimed(new_stage: NewStage) -> None:
    """Claims and approvals lock candidates first, then scopes: neither waits for the other in a circle."""
    desk = Desk(new_stage(), 60)
    operation = desk.begin(canary=30)
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    before = desk.stage.rows(deadlocks)
    ended = threading.Event()

    def claims() -> None:
        while not ended.is_set():
            claimed = desk.stage.claim(limit=3)
            with desk.stage.db.transaction(Authority.EVALUATOR) as tx:
                executing.finish(tx, [(one, Outcome(True, None)) for one in claimed])

    threads = [threading.Thread(target=claims) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for candidate in desk.candidates[30:]:
            assert desk.stage.approve(candidate) == [None]
        desk.work()
    finally:
        ended.set()
        for thread in threads:
            thread.join(60)
    assert desk.now(operation).done >= 30
    assert desk.stage.rows(deadlocks) == before
    with desk.stage.db.transaction(Authority.READER) as tx:
        assert steps.story(tx, operation)
