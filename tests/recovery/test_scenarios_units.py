"""What candidates start: runs, intakes, deliveries; and what is ingested twice, or ten thousand times."""

from __future__ import annotations

import uuid
from datetime import timedelta
from uuid import UUID

import pytest

import company
from hub import DOL, TRANSIENT
from recoup import deliveries, gate
from recoup.deliveries import delivering
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.recovery import people
from recoup.recovery.matches import NewFailure
from recoup.recovery.vocabulary import SubjectKind
from recoup.refusals import LawRefused
from recoup.runs import NewRun, running
from recovery.stage import MANUAL, NOTIFY, RETRY, NewStage, Stage
from recovery.subjects import CRASH, crash, crashed_run


def claim_run(stage: Stage, run: UUID) -> running.Claimed:
    kind = stage.row("select kind from recovery.run where run_id = %s", run)["kind"]
    with stage.db.transaction(Authority.RUNNER) as tx:
        (claimed,) = running.claim(tx, kind=kind, limit=10)
    return claimed


def retry_of(stage: Stage, match: UUID) -> UUID:
    """The run that the latest candidate started."""
    return UUID(stage.candidate(match)["awaits"]["key"])


def approve_next(stage: Stage, match: UUID) -> None:
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    stage.settle()


def test_a_retry_run_that_crashes_too(new_stage: NewStage) -> None:
    """It is the outcome of its candidate, not a failure of its own; the next retry is of the latest of the chain."""
    stage = new_stage()
    plan = '[recovery.plan]\nrun = ["retry_exponential", "retry_exponential", "notify_ops"]\n'
    stage.apply(f"[recovery]\nheld_share = 0.0\n{plan}")  # none is drawn for review
    run = crashed_run(stage)
    stage.settle()
    match = stage.match_of(run)["failure_match_id"]
    stage.scope(match)
    stage.settle()
    approve_next(stage, match)
    second = retry_of(stage, match)
    assert claim_run(stage, second).retry_of == run
    crash(stage, second)
    stage.settle()
    assert stage.told(match) == [(RETRY, "failed", "UNIT_FAILED"), (RETRY, "pending", None)]
    assert stage.matches_of(second) == []
    assert not stage.candidate(match)["held_for_review"]  # it is known what came of the first
    approve_next(stage, match)
    third = retry_of(stage, match)
    claimed = claim_run(stage, third)
    assert claimed.retry_of == second
    with stage.db.transaction(Authority.RUNNER) as tx:
        running.finish(tx, [running.Succeeded(run_id=claimed.run_id, token=claimed.token)])
    stage.settle()
    assert (stage.told(match)[1:], stage.status(match)[0]) == ([(RETRY, "succeeded", None)], "recovered")
    assert [one["failure_match_id"] for one in stage.rows("select * from recovery.failure_match")] == [match]
    stage.whole()


def test_a_page_that_is_delivered_leaves_the_failure_as_it_is(stage: Stage) -> None:
    """A compensating action has succeeded; its match waits for its subject, and ends with its time."""
    run = crashed_run(stage)
    stage.settle()
    match = stage.match_of(run)["failure_match_id"]
    stage.scope(match)
    stage.settle()
    stage.propose(match, NOTIFY)
    approve_next(stage, match)
    assert stage.candidate(match)["awaits"]["kind"] == "delivery"
    stage.deliver()
    stage.settle()
    assert stage.told(match)[-1] == (NOTIFY, "succeeded", None)
    assert stage.match(match)["status"] == "evaluated"  # the failure is still there
    stage.advance(days=31)
    stage.settle()
    assert stage.status(match) == ("unrecovered", "TIME_OVER")


@pytest.mark.parametrize("how", ["cancelled", "dead"])
def test_a_delivery_that_fails(new_stage: NewStage, how: str) -> None:
    stage = new_stage()
    stage.apply('[recovery.plan]\noutside = ["notify_ops", "manual_intervention"]\n')
    (match, other) = stage.outside(2)
    stage.settle()
    stage.scope(match)
    stage.settle()
    stage.approve(*(stage.candidate(one)["candidate_id"] for one in (match, other)))
    stage.settle()
    delivery = retry_of(stage, match)
    assert retry_of(stage, other) == delivery  # a storm pages once
    if how == "cancelled":
        with stage.person("olga", Authority.OPERATOR) as tx:
            deliveries.cancel(tx, delivery)
    while stage.row("select status from recoup.delivery where delivery_id = %s", delivery)["status"] == "queued":
        with stage.db.transaction(Authority.EXECUTOR) as tx:
            claimed = delivering.claim(tx, limit=10, worker="w", routes=["log"])
            delivering.finish(tx, [(one, "no route") for one in claimed])
        stage.advance(hours=1)
    stage.settle()
    for one in (match, other):
        assert stage.told(one) == [(NOTIFY, "failed", "UNIT_FAILED"), (MANUAL, "pending", None)]
        # What a person ended is no evidence against the action.
        ended = stage.candidates(one)[0]
        assert (ended["teaches"], ended["overridden_by"]) == ((False, "olga") if how == "cancelled" else (True, None))
    stage.whole()


@pytest.mark.parametrize("how", ["delivered", "dead", "cancelled"])
def test_a_notice_that_died_ends_as_the_one_by_the_fallback_route(new_stage: NewStage, how: str) -> None:
    """It reached somebody, or it did not; until that is known its outcome is open."""
    stage = new_stage()
    stage.apply(
        '[recovery.plan]\noutside = ["notify_ops"]\n[deliveries]\nfallback_route = "second"\n'
        '[deliveries.routes.second]\nkind = "log"\nmax_tries = 1\n'
    )
    (match,) = stage.outside(1)
    stage.settle()
    stage.scope(match)
    stage.settle()
    stage.approve(stage.candidate(match)["candidate_id"])
    stage.settle()
    first = retry_of(stage, match)

    def tried(route: str, failure: str | None) -> None:
        with stage.db.transaction(Authority.EXECUTOR) as tx:
            delivering.finish(tx, [(one, failure) for one in delivering.claim(tx, limit=9, worker="w", routes=[route])])

    while stage.row("select status from recoup.delivery where delivery_id = %s", first)["status"] == "queued":
        tried("log", "no route")
        stage.advance(hours=1)
    stage.settle()
    assert stage.told(match) == [(NOTIFY, "executing", None)]
    if how == "cancelled":
        second = stage.row("select delivery_id from recoup.delivery where instead_of = %s", first)["delivery_id"]
        with stage.person("olga", Authority.OPERATOR) as tx:
            deliveries.cancel(tx, second)
    else:
        tried("second", None if how == "delivered" else "no route")
    stage.settle()
    ended = stage.candidates(match)[0]
    if how == "delivered":
        assert (ended["status"], ended["error"], ended["teaches"]) == ("succeeded", None, True)
    else:
        assert (ended["status"], ended["error"]) == ("failed", "UNIT_FAILED")
        assert (ended["teaches"], ended["overridden_by"]) == ((False, "olga") if how == "cancelled" else (True, None))
    stage.whole()


def test_an_intake_restarts_once(new_stage: NewStage) -> None:
    stage = new_stage()
    with stage.db.transaction(Authority.READER) as tx:
        intake = company.failed_intake(tx, times=3)
    stage.settle()
    match = stage.match_of(intake)["failure_match_id"]
    stage.scope(match)
    stage.settle()
    approve_next(stage, match)
    again = retry_of(stage, match)
    with stage.db.transaction(Authority.READER) as tx:
        for wait in (24, 72, 0):
            company.attempt_and(tx, again, ReasonCode.NO_LINKEDIN_COMPANY)
            if wait:
                company.advance(tx, timedelta(hours=wait))
    stage.settle()
    # Neither a failure of its own, nor restarted again: a person is asked.
    assert stage.told(match) == [(RETRY, "failed", "UNIT_FAILED"), (MANUAL, "pending", None)]
    assert stage.matches_of(again) == []
    stage.whole()


def test_the_same_failure_ingested_twice_and_with_other_content(stage: Stage) -> None:
    source = f"billing-{uuid.uuid4().hex[:6]}"
    first = NewFailure(source=source, message="card declined by host", key="a", context={"n": 1})
    other = NewFailure(source=source, message="card declined by host", key="a", context={"n": 2})
    new = NewFailure(source=source, message="card declined by host", key="b")
    answers = stage.ingest([first, first, other, new])
    assert [one.answer for one in answers] == ["created", "known", "differs", "created"]
    assert len({one.failure_match_id for one in answers[:2]}) == 1
    again = stage.ingest([first, other, new])
    assert [one.answer for one in again] == ["known", "differs", "known"]
    stage.settle()
    found = stage.rows("select * from recovery.failure_match where source = %s order by idempotency_key", source)
    assert [(row["idempotency_key"], row["context"]) for row in found] == [("a", {"n": 1}), ("b", None)]
    assert len({row["incident_id"] for row in found}) == 1
    assert [len(stage.candidates(row["failure_match_id"])) for row in found] == [1, 1]


def test_a_subject_of_ours_has_one_open_match_whoever_reports_it(new_stage: NewStage) -> None:
    """Reported under another key it is the match that is open; when that has ended, it is a new one."""
    stage = new_stage()
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    ref = stage.match_of(error)["subject_ref"]
    again = [
        NewFailure(source="mine", message="it is down", key=key, kind=SubjectKind.ERROR, ref=ref) for key in ("a", "b")
    ]
    assert stage.ingest(again) == [(match, "known")] * 2
    assert stage.rows("select * from recovery.incident where source = 'mine'") == []
    with stage.person("ada", Authority.OPERATOR) as tx:
        people.recovered(tx, match)
    stage.settle()
    first, second = stage.ingest(again)
    assert first.failure_match_id == second.failure_match_id != match
    assert len(stage.matches_of(error)) == 2
    stage.settle()
    stage.whole()


def test_what_a_failure_follows_is_of_its_subject_and_has_ended(stage: Stage) -> None:
    (open_,) = stage.outside()
    ref = stage.match(open_)["subject_ref"]
    for follows, of in ((uuid.uuid4(), ref), (open_, ref), (open_, "another")):
        with pytest.raises(LawRefused, match="follows is no match of the same subject"):
            stage.ingest([NewFailure(source="s", message="m", key=str(follows), ref=of, follows=follows)])
    with stage.person("ada", Authority.OPERATOR) as tx:
        people.recovered(tx, open_)
    stage.settle()
    (made,) = stage.ingest([NewFailure(source="s", message="m", key="next", ref=ref, follows=open_)])
    assert made.answer == "created"


def test_ten_thousand_of_one_signature(new_stage: NewStage) -> None:
    """One incident, one candidate each, one page for all, one scope that adds up."""
    count = 10_000
    stage = new_stage()
    stage.apply('[recovery.plan]\noutside = ["notify_ops"]\n')
    matches = stage.outside(count)
    assert len(stage.rows("select * from recovery.incident")) == 1
    stage.settle()
    stage.scope(matches[0], max_attempts=count, cost_limit=count)
    stage.settle()
    pending = stage.rows("select candidate_id from recovery.candidate where status = 'pending'")
    assert len(pending) == count
    assert set(stage.approve(*(row["candidate_id"] for row in pending))) == {None}
    stage.settle()
    (delivery,) = stage.rows("select * from recoup.delivery")
    awaiting = stage.rows("select awaits ->> 'key' as key, count(*) as n from recovery.candidate group by 1")
    assert awaiting == [{"key": str(delivery["delivery_id"]), "n": count}]
    stage.deliver()
    stage.settle()
    ended = stage.rows("select status, count(*) as n from recovery.candidate group by 1")
    assert ended == [{"status": "succeeded", "n": count}]
    (scope,) = stage.rows("select status, attempts_used, cost_used from recovery.scope")
    assert scope == {"status": "exhausted", "attempts_used": count, "cost_used": count}
    assert stage.broken() == []


def test_an_intake_that_a_person_restarted_meanwhile_is_of_the_open_match(new_stage: NewStage) -> None:
    stage = new_stage()
    with stage.db.transaction(Authority.READER) as tx:
        intake = company.failed_intake(tx, times=3)
    stage.settle()
    match = stage.match_of(intake)["failure_match_id"]
    with stage.person("grace", Authority.OPERATOR) as tx:
        again = gate.restart(tx, intake)
    stage.settle()
    assert stage.told(match) == [(RETRY, "skipped", "SUBJECT_CHANGED")]
    assert stage.candidate(match)["overridden_by"] == "grace"
    with stage.db.transaction(Authority.READER) as tx:
        for wait in (24, 72, 0):
            company.attempt_and(tx, again, ReasonCode.NO_LINKEDIN_COMPANY)
            if wait:
                company.advance(tx, timedelta(hours=wait))
    stage.settle()
    assert stage.told(match)[1:] == [(MANUAL, "pending", None)]  # what was restarted is not restarted again
    assert stage.matches_of(again) == []
    stage.whole()


def test_a_failure_that_cannot_be_evaluated_stops_no_other_and_ends(new_stage: NewStage) -> None:
    """Stuck after five failures, and unrecovered when its time is over, without anybody resuming it."""
    stage = new_stage()
    bad = NewFailure(source="s", message="broken", key="bad", kind=SubjectKind.INTAKE, ref="no id at all")
    (ingested,) = stage.ingest([bad])
    match = ingested.failure_match_id
    assert match is not None
    (good,) = stage.outside()
    for _ in range(stage.policy.evaluation_failures_max):
        stage.settle()
        assert stage.told(good) == [(RETRY, "pending", None)]
        stage.advance(hours=2)
    assert stage.match(match)["status"] == "stuck"
    stage.advance(days=40)
    stage.settle()
    assert stage.status(match) == ("unrecovered", "EVALUATION_FAILED")
    stage.whole()


# A run that its owner wrote by SQL, past the library.
RUN_BY_SQL = """
insert into recovery.run (kind, source, status, owner, token, created_at, started_at, heartbeat_at)
select %s, %s, 'running', 'ada', gen_random_uuid(), t, t, t from recoup.now() t returning run_id
"""


def test_what_has_a_strange_name_becomes_a_match_and_stops_no_other(new_stage: NewStage) -> None:
    """Rows hold codes and sources that a caller of ingest would be refused. One of them would stop them all."""
    stage = new_stage()
    errors = [stage.park(code=code) for code in (" ", "\u2003", "é" * 100, None)]
    with stage.db.transaction(Authority.RUNNER) as tx:
        named = [NewRun(kind="x", source=name) for name in (" ", "\u4e2d" * 200)]
        runs = [one.run_id for one in running.start(tx, named)]
        runs += [
            tx.execute(RUN_BY_SQL, (name, name)).fetchone()[0]  # type: ignore[index]
            for name in ("\t", "\u0085" * 200, "password=" + "x" * 190, "😀" * 200)
        ]
    stage.advance(hours=1)
    for run in runs:
        with stage.db.transaction(Authority.ORPHAN_RECOVERY) as tx:
            assert tx.execute(CRASH, (run,)).rowcount == 1
    errors.append(stage.park())
    stage.settle()
    found = [stage.match_of(one) for one in (*errors, *runs)]
    assert {one["status"] for one in found} == {"evaluated"}
    assert [one["error_code"] for one in found[:4]] == [None, None, "é" * 100, None]
    assert [one["source"] for one in found[5:7]] == ["unnamed", "\u4e2d" * 166]
    assert "x" * 50 not in found[9]["source"]
    stage.whole()


def test_a_key_that_was_used_for_something_else_keeps_no_failure_from_its_match(stage: Stage) -> None:
    """Whoever may report failures could report one under the table and the id of an error before that is parked."""
    error = stage.hub.record(TRANSIENT, table=DOL, code=f"E{uuid.uuid4().hex[:12]}")
    with stage.db.transaction(Authority.RUNNER) as tx:
        ((run, _),) = running.start(tx, [NewRun(kind="import")])
    stage.ingest(
        [NewFailure(source=DOL, message="m", key=f"{error}"), NewFailure(source="import", message="m", key=f"{run}")]
    )
    stage.fail(error)
    crash(stage, run)
    stage.settle()
    for kind, one in ((SubjectKind.ERROR, error), (SubjectKind.RUN, run)):
        (match,) = (found for found in stage.matches_of(one) if found["subject_kind"] == kind)
        assert stage.told(match["failure_match_id"])[0][1] == "pending"
