"""Histories over several domains, played in simulated time, and asked about afterwards.

Between each two events the live system is asked; ``why`` about each of these instants has to say the same: statuses,
policy, rule, whether it might move on.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from company import attempt_and, finish, new_intake, open_attempt
from hub import DOL, TRANSIENT
from partitions.people import POLICY, Ward
from recoup import gate, mint, policy
from recoup.client import Client
from recoup.database.connection import Transaction
from recoup.errors import parking, promotion
from recoup.errors.lookup import ErrorKey
from recoup.gate.lifecycle import IntakeStatus
from recoup.lifecycles.declaration import Authority
from recoup.partitions.selecting import of
from recoup.reasons import ReasonCode
from recoup.recovery.matches import NewFailure, ingest
from recoup.runs import Succeeded, orphans, running
from recoup.runs.running import NewRun
from recoup.why import Answer
from recovery.stage import Stage
from why.playing import Noted, Recorder, row

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
NOT_BLOCKING = '[errors.tables."outreach.dol_errors"]\nblocks = false\n'


def test_an_error_from_its_record_to_the_archive(recorder: Recorder) -> None:
    """Recorded, retried, superseded, parked, escalated, matched, approved, retried, resolved and archived; the policy
    says meanwhile that its table does not block."""
    stage = Stage(recorder.client)
    hub, entity = stage.hub, uuid.uuid4()
    given: dict[str, Any] = {"code": "E_TIMEOUT", "outreach_id": entity}
    first = hub.record(TRANSIENT, **given)
    recorder.follow(str(entity), lambda tx: (promotion.is_blocked(tx, entity), _blocking(tx, entity)))
    recorder.follow(f"{DOL}/{first}", lambda tx: _error(tx, first))
    hub.fail_when_due(first)
    recorder.note()
    second = hub.record(TRANSIENT, **given)
    recorder.follow(f"{DOL}/{second}", lambda tx: _error(tx, second))
    assert hub.archived(first)["superseded_by"] == second if hub.sweep_all() else False
    recorder.note()
    hub.advance(HOUR)
    claimed = hub.claim_one(second)
    recorder.note()
    hub.fail(claimed, "x" * 2_000)
    recorder.note()
    stage.fail(second)
    recorder.note()
    stage.apply(NOT_BLOCKING)
    recorder.note()
    assert not hub.is_blocked(entity)
    stage.apply("")
    recorder.note()
    with stage.person("grace", Authority.OPERATOR, reason="nobody answers") as tx:
        parking.escalate(tx, [ErrorKey(DOL, second)], reason="nobody answers", to="the lead")
    recorder.note()
    stage.settle()
    match: UUID = stage.match_of(first)["failure_match_id"]
    recorder.follow(str(match), lambda tx: _match(tx, match))
    candidate: UUID = stage.candidate(match)["candidate_id"]
    recorder.follow(str(candidate), lambda tx: _candidate(tx, candidate))
    stage.scope(match)
    recorder.note()
    stage.settle(executing=False)
    recorder.note()
    assert stage.approve(candidate) == [None]
    recorder.note()
    stage.settle()
    recorder.note()
    stage.retried(second)
    recorder.note()
    stage.settle()
    recorder.note()
    assert hub.sweep_all() == 1
    recorder.note()
    assert _error_statuses(recorder) >= {"RETRY_PENDING", "PARKED", "ESCALATED", "ARCHIVED"}

    def compare(noted: Noted, then: Answer) -> None:
        assert then.subject is not None
        if noted.subject == str(entity):
            blocked, errors = noted.live
            assert (then.may_move_on, then.subject.status) == (not blocked, "blocked" if blocked else "not blocked")
            assert all(f"error {one}" in then.because for one in errors)
        elif noted.subject.startswith(DOL):
            assert (then.subject.status, not then.may_move_on) == noted.live
        else:
            assert then.subject.status == noted.live

    assert recorder.check(compare) > 50
    told = [one.event for one in recorder.why(str(entity)).events]
    for event in ("RECORDED", "CLAIMED", "SUPERSEDED", "PARKED", "ESCALATED", "approved", "executed", "ARCHIVED"):
        assert event in told or event == "PARKED"
    whole = recorder.why(str(match))
    assert {row.kind for row in whole.rows} == {"candidate", "error"}
    assert any("Recommended by" in one.rule for one in whole.rows if one.kind == "candidate")


def test_a_company_from_its_first_failure_to_its_identity(recorder: Recorder) -> None:
    """Fails, is paused, gets its second chance, re-enters and is minted; the waits change meanwhile. Another one is
    exhausted and restarted; a third one crashes, and the window of its batch closes."""
    client = recorder.client
    with client.transaction(Authority.HUB) as tx:
        gate.create_batch(tx, "november")
        gate.complete_batch(tx, "november")
    intake, other, third = (_acting(client, new_intake, batch_id=batch) for batch in ("november", None, "november"))
    for one in (intake, other, third):
        recorder.follow(str(one), lambda tx, one=one: _intake(tx, one))  # type: ignore[misc]
    opened = _acting(client, open_attempt, intake)
    recorder.note()
    _acting(client, finish, opened, ReasonCode.DOMAIN_NOT_FOUND)
    recorder.note()
    _acting(client, attempt_and, other, ReasonCode.STATE_MISSING)
    _acting(client, open_attempt, third)
    recorder.note()
    with client.transaction(Authority.OPERATOR) as tx:
        gate.pause_batch(tx, "november", reason="the directory is down")
    recorder.note()
    with client.transaction(Authority.OPERATOR) as tx:
        gate.resume_batch(tx, "november")
    recorder.note()
    Stage(client).apply("[gate]\nwait_hours = [48, 96]\n")
    recorder.note()
    recorder.advance(HOUR)
    with client.transaction(Authority.GATE) as tx:
        assert len(gate.sweep_crashed(tx, limit=10)) == 1
    recorder.note()
    recorder.advance(DAY)
    recorder.note()
    _acting(client, attempt_and, intake, None)
    recorder.note()
    ((new,),) = _read(client, "select intake_id from cl.gate_zero_intake where reentered_from = %s", intake)
    recorder.follow(str(new), lambda tx: _intake(tx, new))
    with client.transaction(Authority.MINT) as tx:
        assert mint.mint(tx).events
    recorder.note()
    _acting(client, attempt_and, other, ReasonCode.STATE_MISSING)
    recorder.note()
    recorder.advance(4 * DAY)
    _acting(client, attempt_and, other, ReasonCode.STATE_MISMATCH)
    recorder.note()
    with client.transaction(Authority.OPERATOR, reason="the state is known") as tx:
        again = gate.restart(tx, other, state="TX")
    recorder.follow(str(again), lambda tx: _intake(tx, again))
    recorder.advance(14 * DAY)
    recorder.note()
    with client.transaction(Authority.GATE) as tx:
        gate.freeze(tx)
    recorder.note()

    def compare(noted: Noted, then: Answer) -> None:
        assert then.subject is not None
        status, due = noted.live
        assert then.subject.status == status
        assert then.may_move_on == (status in ("AUTHORIZED", "REENTER_SUCCEEDED"))
        if due is not None and then.subject.next_at is not None:
            assert abs(then.subject.next_at - due) < timedelta(seconds=1)

    assert recorder.check(compare) > 40
    assert {noted.live[0] for noted in recorder.noted} == set(IntakeStatus)
    rows = {row.kind for row in recorder.why(str(intake)).rows}
    assert rows == {"company", "batch", "identity"}
    paused = [one.answer.because for one in recorder.noted if "paused by" in one.answer.because]
    assert len(paused) == 1
    assert recorder.why(str(again)).rows


def test_a_run_that_crashes_and_is_retried(recorder: Recorder) -> None:
    client, stage = recorder.client, Stage(recorder.client)
    with client.transaction(Authority.RUNNER) as tx:
        (started,) = running.start(tx, [NewRun(kind="nightly")], owner="box-1")
    run = started.run_id
    recorder.follow(str(run), lambda tx: _run(tx, run))
    recorder.advance(2 * HOUR)
    recorder.note()  # silent for longer than the policy allows
    with client.transaction(Authority.ORPHAN_RECOVERY) as tx:
        assert len(orphans.sweep(tx, policy.in_force(tx).policy)) == 1
    recorder.note()
    stage.settle()
    match = stage.match_of(run)["failure_match_id"]
    recorder.follow(str(match), lambda tx: _match(tx, match))
    stage.scope(match)
    stage.settle(executing=False)
    candidate = stage.candidate(match)["candidate_id"]
    recorder.follow(str(candidate), lambda tx: _candidate(tx, candidate))
    stage.approve(candidate)
    recorder.note()
    stage.settle()
    ((retry,),) = _read(client, "select run_id from recovery.run where retry_of = %s", run)
    recorder.follow(str(retry), lambda tx: _run(tx, retry))
    with client.transaction(Authority.RUNNER) as tx:
        (claimed,) = running.claim(tx, kind="nightly", owner="box-2")
    recorder.note()
    with client.transaction(Authority.RUNNER) as tx:
        running.finish(tx, [Succeeded(run_id=claimed.run_id, token=claimed.token)])
    recorder.note()
    stage.settle()
    recorder.note()

    def compare(noted: Noted, then: Answer) -> None:
        assert then.subject is not None
        if isinstance(noted.live, tuple):
            status, orphaned = noted.live
            assert (then.subject.status, "orphaned" in then.because) == (status, orphaned)
            assert then.may_move_on == (status == "succeeded")
        else:
            assert then.subject.status == noted.live

    assert recorder.check(compare) > 20
    assert {one.live for one in recorder.noted if one.subject == str(run)} == {
        ("running", False), ("running", True), ("crashed", False),
    }  # fmt: skip
    assert [row.id for row in recorder.why(str(retry)).rows if row.kind == "run"] == [str(run)]


def test_a_partition_that_is_given_up_and_taken_up_again(recorder: Recorder, tmp_path: Path) -> None:
    """Rejected twice, terminal; an override, accepted, and reprocessed."""
    client = recorder.client
    object.__setattr__(client, "settings", replace(client.settings, sink=tmp_path / "sink"))
    ward = Ward(client, tmp_path / "sink").next_source()
    partition = ward.key()
    ward.enqueue(partition)
    recorder.follow(str(partition), lambda tx: _partition(tx, str(partition)))
    runs = ward.dispatch()
    recorder.note()
    ward.publish(runs)
    recorder.note()
    rejected = {"reason": "CONTRACT_BROKEN", "message": "2 rows are null", "rule": "id"}
    ward.judge(runs, **rejected)
    recorder.note()
    ward.policy(POLICY.replace("max_attempts = 2", "max_attempts = 3"))
    recorder.note()
    ward.policy(POLICY)
    recorder.advance(DAY)
    runs = ward.dispatch()
    ward.publish(runs)
    ward.judge(runs, **rejected)
    recorder.note()
    client.partitions.retry(of(partition), include_terminal=True, reason="the source is fixed", actor="ada")
    recorder.note()
    runs = ward.dispatch()
    ward.publish(runs)
    assert ward.judge(runs) == ["accepted"]
    recorder.note()
    client.partitions.reprocess(of(partition), reason="late rows", actor="ada")
    recorder.note()

    def compare(noted: Noted, then: Answer) -> None:
        assert then.subject is not None
        status, schedule, causes = noted.live
        assert then.subject.status.split(" (")[0] == status
        assert then.may_move_on == (status == "success")
        assert ("It is terminal" in then.because) == (schedule == "terminal")
        assert all(cause in then.subject.status for cause in causes or ())

    assert recorder.check(compare) == 9
    assert {(status, schedule) for status, schedule, _ in (one.live for one in recorder.noted)} >= {
        ("pending", "waiting"), ("pending", "open"), ("failed", "terminal"), ("success", "idle"),
        ("success", "waiting"),
    }  # fmt: skip
    final = recorder.why(str(partition))
    assert {row.kind for row in final.rows} == {"partition run"}
    assert [row.status for row in final.rows] == ["accepted", "rejected", "rejected"]
    (lifted,) = (one for one in final.events if one.event == "terminal_lifted")
    assert (lifted.actor_id, "the source is fixed" in lifted.text) == ("ada", True)


def test_the_time_line_of_a_past_instant_is_the_beginning_of_that_of_a_later_one(recorder: Recorder) -> None:
    stage = Stage(recorder.client)
    (match,) = stage.outside(1)
    recorder.follow(str(match), lambda tx: _match(tx, match))
    stage.settle()
    recorder.note()
    stage.scope(match)
    stage.settle()
    recorder.note()
    with stage.db.transaction(Authority.MATCHER) as tx:
        ingest(tx, [NewFailure(source="other", message="no", key="k")])
    whole = recorder.why(str(match), limit=1000).events
    for noted in recorder.noted:
        then = recorder.why(str(match), noted.at, limit=1000).events
        assert then == whole[: len(then)]
        assert all(event.at <= noted.at for event in then)
    assert [event.position for event in whole] == sorted(event.position for event in whole)


# What the live system says --------------------------------------------------------------------------------------------


def _error(tx: Transaction, error_id: int) -> tuple[str, bool]:
    """Status, and whether it blocks its entity."""
    found = row(
        tx,
        "select status, outreach_id from recoup.error where error_id = %s union all"
        " select status, outreach_id from recoup.error_archive where error_id = %s",
        error_id,
        error_id,
    )
    blocks = {one.error_id for one in promotion.blocking(tx, [found[1]])}
    return found[0], error_id in blocks


def _blocking(tx: Transaction, entity: UUID) -> set[int]:
    return {one.error_id for one in promotion.blocking(tx, [entity])}


def _match(tx: Transaction, match: UUID) -> str:
    return str(row(tx, "select status from recovery.failure_match where failure_match_id = %s", match)[0])


def _candidate(tx: Transaction, candidate: UUID) -> str:
    return str(row(tx, "select status from recovery.candidate where candidate_id = %s", candidate)[0])


def _intake(tx: Transaction, intake: UUID) -> Any:
    """Status, and from when on it may be tried again."""
    return row(
        tx,
        "select i.status, case when r.status = 'ACTIVE' then r.next_eligible_at end"
        " from cl.gate_zero_intake i left join cl.gate_zero_recovery r on r.intake_id = i.intake_id"
        " where i.intake_id = %s",
        intake,
    )


def _run(tx: Transaction, run: UUID) -> tuple[str, bool]:
    found = orphans.orphans(tx)
    (status,) = row(tx, "select status from recovery.run where run_id = %s", run)
    return status, run in {one.run_id for one in found}


def _partition(tx: Transaction, name: str) -> Any:
    source, customer, query, day = name.split("/")
    return row(
        tx,
        "select p.status, s.status, s.terminal_causes from partitions.partition_state p"
        " join partitions.schedule s using (partition_id) where p.source = %s and p.customer_id = %s"
        " and p.query_name = %s and p.logical_date = %s",
        source, customer, query, day,
    )  # fmt: skip


def _error_statuses(recorder: Recorder) -> set[str]:
    return {one.live[0] for one in recorder.noted if one.subject.startswith(DOL)}


def _acting(client: Client, act: Any, *given: Any, **more: Any) -> Any:
    """What helpers do within a transaction, each in one of its own."""
    with client.transaction(Authority.READER) as tx:
        tx.execute("reset role")
        return act(tx, *given, **more)


def _read(client: Client, query: str, *given: Any) -> list[Any]:
    with client.transaction(Authority.READER) as tx:
        return tx.execute(query.encode(), given).fetchall()
