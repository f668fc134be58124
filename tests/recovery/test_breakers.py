"""Breakers: what depends on one that is open waits; one unit tries it; its end decides."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest

from hub import DOL, TARGET, TRANSIENT
from recoup import gate
from recoup.errors import retrying
from recoup.errors.retrying import Claimed
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.recovery import breakers, executing
from recoup.recovery.executing import Executor
from recoup.refusals import LawRefused
from recoup.runs import running
from recovery.stage import RETRY, NewStage, Stage

BREAK = "circuit_breaker"


def open_(stage: Stage, name: str) -> bool:
    with stage.person("olga", Authority.OPERATOR) as tx:
        return breakers.open_breaker(tx, name, reason="the vendor is down")


def close(stage: Stage, name: str) -> None:
    with stage.person("olga", Authority.OPERATOR) as tx:
        breakers.close_breaker(tx, name)


def settle(stage: Stage) -> int:
    with stage.db.transaction(Authority.EVALUATOR) as tx:
        return breakers.settle(tx)


def breaker(stage: Stage, name: str) -> dict[str, Any]:
    return stage.row("select * from recovery.breaker where name = %s", name)


def claim(stage: Stage, *, limit: int = 10, lease: timedelta | None = None) -> list[Claimed]:
    with stage.db.transaction(Authority.ERROR_WORKER) as tx:
        return retrying.claim(tx, limit=limit, worker="w", lease=lease)


def end(stage: Stage, one: Claimed, *, well: bool) -> None:
    given: dict[str, Any] = {"error_table": one.error_table, "error_id": one.error_id, "token": one.token}
    with stage.db.transaction(Authority.ERROR_WORKER) as tx:
        retrying.finish(tx, [retrying.Succeeded(**given) if well else retrying.Failed(**given, failure="down")])


def due(stage: Stage, count: int, table: str = DOL) -> list[int]:
    """Errors whose retry is due."""
    made = [stage.hub.record(TRANSIENT, table=table, code=f"E{uuid.uuid4().hex[:8]}") for _ in range(count)]
    stage.advance(hours=1)
    return made


def test_what_depends_on_it_waits_and_one_unit_tries_it(new_stage: NewStage) -> None:
    stage = new_stage()
    due(stage, 5)
    assert open_(stage, DOL)
    assert not open_(stage, DOL)  # it stays as it is
    assert claim(stage) == []
    assert (breaker(stage, DOL)["status"], breaker(stage, DOL)["probes"]) == ("open", 0)
    stage.advance(seconds=61)
    (probe,) = claim(stage)
    assert claim(stage) == []
    row = breaker(stage, DOL)
    assert (row["status"], row["probe_unit"], row["probe_token"]) == (
        "half_open", f"{DOL}/{probe.error_id}", probe.token,
    )  # fmt: skip
    # It fails: open for twice as long.
    end(stage, probe, well=False)
    assert claim(stage) == []
    row = breaker(stage, DOL)
    assert (row["status"], row["wait_s"], row["probe_token"]) == ("open", 120, None)
    stage.advance(seconds=61)
    assert claim(stage) == []
    stage.advance(seconds=61)
    (probe,) = claim(stage)
    end(stage, probe, well=True)
    # The next claim sees that, and takes what waits.
    assert len(claim(stage)) == 4
    row = breaker(stage, DOL)
    assert (row["status"], row["closed_by"], row["probes"]) == ("closed", "probe", 2)
    told = stage.rows("select to_status from recoup.control_log where subject = 'recovery.breaker' order by seq")
    assert [event["to_status"] for event in told] == ["open", "half_open", "open", "half_open", "closed"]
    stage.whole()


def test_a_probe_whose_worker_died_opens_it_again_when_its_lease_has_expired(new_stage: NewStage) -> None:
    stage = new_stage()
    due(stage, 3)
    open_(stage, DOL)
    stage.advance(seconds=61)
    (probe,) = claim(stage, lease=timedelta(seconds=30))
    assert settle(stage) == 0
    stage.advance(seconds=31)
    assert settle(stage) == 1  # nobody has swept the lease: it has expired all the same
    row = breaker(stage, DOL)
    assert (row["status"], row["wait_s"]) == ("open", 120)
    end(stage, probe, well=True)  # late: stored, and it decides nothing
    assert breaker(stage, DOL)["status"] == "open"
    stage.advance(seconds=121)
    (probe,) = claim(stage)
    end(stage, probe, well=True)
    assert settle(stage) == 1
    assert breaker(stage, DOL)["status"] == "closed"


def test_the_wait_is_doubled_up_to_its_limit(new_stage: NewStage) -> None:
    stage = new_stage()
    stage.apply(f'[recovery.breakers.vendor]\ntables = ["{DOL}"]\nwait_s = 10\nmax_wait_s = 35\n')
    due(stage, 6)
    open_(stage, "vendor")
    waits = []
    for _ in range(4):
        stage.advance(seconds=36)
        (probe,) = claim(stage)
        end(stage, probe, well=False)
        settle(stage)
        waits.append(breaker(stage, "vendor")["wait_s"])
    assert waits == [20, 35, 35, 35]
    close(stage, "vendor")
    open_(stage, "vendor")
    assert (breaker(stage, "vendor")["wait_s"], breaker(stage, "vendor")["probes"]) == (10, 0)


def test_others_go_on_while_one_table_waits(new_stage: NewStage) -> None:
    stage = new_stage()
    due(stage, 2)
    due(stage, 3, TARGET)
    open_(stage, DOL)
    assert {one.error_table for one in claim(stage, limit=2)} == {TARGET}
    stage.advance(seconds=61)
    assert [one.error_table for one in claim(stage)] == [DOL]  # the probe comes alone
    assert [one.error_table for one in claim(stage)] == [TARGET]
    close(stage, DOL)
    assert [one.error_table for one in claim(stage)] == [DOL]


def test_a_unit_behind_two_breakers_tries_both_at_once(new_stage: NewStage) -> None:
    stage = new_stage()
    stage.apply(f'[recovery.breakers.vendor]\ntables = ["{DOL}"]\nwait_s = 600\n')
    due(stage, 2)
    open_(stage, DOL)
    open_(stage, "vendor")
    stage.advance(seconds=61)
    assert claim(stage) == []  # the other one still waits
    stage.advance(seconds=540)
    (probe,) = claim(stage)
    assert {breaker(stage, name)["status"] for name in (DOL, "vendor")} == {"half_open"}
    end(stage, probe, well=True)
    assert len(claim(stage)) == 1
    assert {breaker(stage, name)["status"] for name in (DOL, "vendor")} == {"closed"}


def test_no_window_closes_behind_it(new_stage: NewStage) -> None:
    stage = new_stage()
    (error,) = due(stage, 1)
    stage.advance(hours=22)
    due(stage, 1)  # one whose window is open: it can try the breaker
    open_(stage, DOL)
    stage.advance(hours=2)  # the window of the first was 24 hours
    assert (closed(stage), stage.hub.row(error)["status"]) == (0, "RETRY_PENDING")
    close(stage, DOL)
    assert (closed(stage), stage.hub.row(error)["status"]) == (1, "PARKED")


def closed(stage: Stage) -> int:
    with stage.db.transaction(Authority.ERROR_WORKER) as tx:
        assert (retrying.window_lag(tx) is None) == (retrying.closed_windows(tx) == [])
        return retrying.close_windows(tx)


@pytest.mark.parametrize("everything", [False, True])
def test_windows_close_when_nobody_is_left_to_try_it(new_stage: NewStage, everything: bool) -> None:
    """Otherwise the errors would wait for the breaker, and the breaker for an error."""
    stage = new_stage()
    name = "vendor" if everything else DOL
    if everything:
        stage.apply('[recovery.breakers.vendor]\ntables = ["recoup.error"]\nwait_s = 60\n')
    errors = due(stage, 2)
    stage.advance(hours=22, minutes=58)
    open_(stage, name)
    stage.advance(seconds=61)
    (probe,) = claim(stage)
    stage.advance(minutes=2)  # the windows of both were 24 hours
    assert closed(stage) == 0  # it is being tried
    end(stage, probe, well=False)
    settle(stage)
    assert closed(stage) == 0  # it waits
    stage.advance(seconds=121)
    assert claim(stage) == []
    assert closed(stage) == 1
    assert {stage.hub.row(error)["status"] for error in errors} == {"PARKED"}
    # What comes next tries it.
    (later,) = due(stage, 1)
    (probe,) = claim(stage)
    assert probe.error_id == later
    end(stage, probe, well=True)
    settle(stage)
    assert breaker(stage, name)["status"] == "closed"
    stage.whole()


def test_a_person_closes_it_and_nothing_is_closed_twice(new_stage: NewStage) -> None:
    stage = new_stage()
    due(stage, 1)
    open_(stage, DOL)
    close(stage, DOL)
    assert breaker(stage, DOL)["closed_by"] == "olga"
    with pytest.raises(LawRefused):
        close(stage, DOL)
    assert len(claim(stage)) == 1


# The action -----------------------------------------------------------------------------------------------------------


def breaking(stage: Stage, match: uuid.UUID, **parameters: Any) -> uuid.UUID:
    """An approved candidate that opens a breaker, executed."""
    stage.scope(match, actions=[BREAK, RETRY])
    made = stage.propose(match, BREAK, **parameters)
    stage.settle(executing=False)
    assert stage.approve(made) == [None]
    stage.settle()
    return made


def test_the_action_of_an_error_opens_the_breaker_of_its_table_and_the_error_waits_behind_it(stage: Stage) -> None:
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    made = breaking(stage, match)
    candidate = stage.candidate(match)
    assert (candidate["candidate_id"], candidate["status"]) == (made, "executing")
    assert (candidate["awaits"]["kind"], stage.hub.row(error)["status"]) == ("error", "RETRY_PENDING")
    row = breaker(stage, DOL)
    assert (row["status"], row["candidate_id"]) == ("open", made)
    undo = candidate["result"]["undo"]
    assert (undo["type"], undo["key"], undo["before"]) == ("circuit_breaker", DOL, {"status": "closed"})
    assert claim(stage) == []
    # Nothing is overdue while it waits.
    stage.advance(hours=30)
    stage.settle()
    assert stage.candidate(match)["status"] == "executing"
    (probe,) = claim(stage)
    assert probe.error_id == error
    end(stage, probe, well=False)
    stage.settle()


def test_a_deadline_waits_for_every_time_that_a_breaker_was_open(new_stage: NewStage) -> None:
    """Not for the last one only: an outcome that could not come would count as a failure, and teach."""
    stage = new_stage()
    error = stage.park()
    match = stage.awaiting(error)
    stage.advance(hours=1)
    for _ in range(2):
        open_(stage, DOL)
        stage.advance(hours=15)
        stage.settle()
        close(stage, DOL)
        stage.advance(hours=1)
    stage.settle()
    assert stage.candidate(match)["status"] == "executing"  # three of its 24 hours have passed
    stage.advance(hours=20, minutes=59)
    stage.settle()
    assert stage.candidate(match)["status"] == "executing"
    stage.advance(minutes=2)
    stage.settle()
    assert stage.candidate(match)["error"] == "OUTCOME_OVERDUE"
    stage.whole()


def test_the_action_succeeds_when_the_error_that_tried_it_is_resolved(new_stage: NewStage) -> None:
    stage = new_stage()
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    breaking(stage, match, breaker=DOL)
    stage.advance(seconds=61)
    (probe,) = claim(stage)
    end(stage, probe, well=True)
    stage.settle()
    assert stage.told(match) == [(RETRY, "skipped", "OVERTAKEN"), (BREAK, "succeeded", None)]
    assert stage.status(match) == ("recovered", f"recovered by {BREAK}")
    settle(stage)
    assert breaker(stage, DOL)["status"] == "closed"
    stage.whole()


def test_an_outside_failure_awaits_that_the_breaker_closes(new_stage: NewStage) -> None:
    stage = new_stage()
    calls: list[str] = []
    answers = [False, True]

    def retry(one: executing.Claimed, subject: executing.Subject) -> object:
        calls.append(subject.source)
        return None if answers[min(len(calls), 2) - 1] else executing.Failed("still down")

    stage.executors[RETRY] = Executor(retry)
    first, *others = stage.outside(4, source="crm")
    stage.settle(executing=False)
    stage.scope(first, actions=[BREAK, RETRY])
    made = stage.propose(first, BREAK)
    stage.settle(executing=False)
    assert stage.approve(made) == [None]
    stage.settle()
    assert stage.candidate(first)["awaits"]["kind"] == "breaker"
    assert breaker(stage, "crm")["status"] == "open"
    retries = [stage.candidate(match)["candidate_id"] for match in others]
    assert set(stage.approve(*retries)) == {None}
    stage.settle()
    assert calls == []  # they wait
    stage.advance(seconds=61)
    stage.settle()
    assert calls == ["crm"]  # one of them tried it, and failed
    settle(stage)
    assert (breaker(stage, "crm")["status"], breaker(stage, "crm")["wait_s"]) == ("open", 120)
    stage.advance(seconds=121)
    stage.settle()
    assert len(calls) >= 2
    settle(stage)
    stage.settle()
    assert breaker(stage, "crm")["status"] == "closed"
    assert stage.status(first) == ("recovered", f"recovered by {BREAK}")
    stage.whole()


def test_a_breaker_that_a_person_closes_teaches_nothing(new_stage: NewStage) -> None:
    stage = new_stage()
    (match,) = stage.outside(1, source="crm")
    stage.settle()
    breaking(stage, match)
    close(stage, "crm")
    stage.settle()
    candidate = stage.candidate(match)
    assert (candidate["status"], candidate["teaches"], candidate["overridden_by"]) == ("succeeded", False, "olga")
    stage.whole()


def test_two_candidates_of_one_breaker_open_it_once(new_stage: NewStage) -> None:
    stage = new_stage()
    first, second = stage.outside(2, source="crm")
    stage.settle()
    stage.scope(first, actions=[BREAK])
    made = [stage.propose(match, BREAK) for match in (first, second)]
    stage.settle(executing=False)
    assert set(stage.approve(*made)) == {None}
    stage.settle()
    told = [stage.candidate(match)["result"]["undo"] for match in (first, second)]
    assert sorted(undo["before"]["status"] for undo in told) == ["closed", "open"]
    assert told[0]["after_digest"] == told[1]["after_digest"]
    assert breaker(stage, "crm")["candidate_id"] in made
    stage.whole()


# Other claims ---------------------------------------------------------------------------------------------------------


def test_runs_wait_by_kind_and_by_source(new_stage: NewStage) -> None:
    stage = new_stage()

    def queue(kind: str, source: str) -> None:
        with stage.db.transaction(Authority.RUNNER) as tx:
            running.queue(tx, [running.NewRun(kind=kind, source=source)])

    def taken(kind: str) -> list[running.Claimed]:
        with stage.db.transaction(Authority.RUNNER) as tx:
            return running.claim(tx, kind=kind, limit=10, owner="bob")

    for source in ("crm", "crm", "erp"):
        queue("export", source)
    open_(stage, "crm")
    assert [one.source for one in taken("export")] == ["erp"]
    stage.advance(seconds=61)
    (probe,) = taken("export")
    assert taken("export") == []
    assert breaker(stage, "crm")["probe_subject"] == "recovery.run"
    with stage.db.transaction(Authority.RUNNER) as tx:
        running.finish(tx, [running.Failed(run_id=probe.run_id, token=probe.token, message="down")])
    assert taken("export") == []
    assert breaker(stage, "crm")["status"] == "open"
    close(stage, "crm")
    assert [one.source for one in taken("export")] == ["crm"]
    # The kind itself.
    queue("export", "erp")
    queue("import", "erp")
    open_(stage, "export")
    assert (taken("export"), len(taken("import"))) == ([], 1)
    stage.advance(seconds=61)
    (probe,) = taken("export")
    with stage.db.transaction(Authority.RUNNER) as tx:
        running.finish(tx, [running.Succeeded(run_id=probe.run_id, token=probe.token)])
    assert settle(stage) == 1
    assert breaker(stage, "export")["closed_by"] == "probe"


def test_gate_zero_waits_and_a_company_that_does_not_exist_is_an_answer(new_stage: NewStage) -> None:
    stage = new_stage()
    with stage.db.transaction(Authority.HUB) as tx:
        gate.add_intakes(tx, [gate.NewIntake(company_name=name, state="TX") for name in "abcd"])

    def claimed(*, retries: bool = False) -> list[gate.Attempt]:
        with stage.db.transaction(Authority.GATE) as tx:
            return gate.claim_attempts(tx, limit=10, worker="w", retries=retries)

    def fail(one: gate.Attempt, reason: ReasonCode) -> None:
        with stage.db.transaction(Authority.GATE) as tx:
            gate.finish_attempts(tx, [gate.Failed(attempt_id=one.attempt_id, token=one.token, reason_code=reason)])

    open_(stage, "cl.gate_zero_intake")
    assert claimed() == claimed(retries=True) == []
    stage.advance(seconds=61)
    (probe,) = claimed()
    assert claimed() == []
    fail(probe, ReasonCode.API_UNAVAILABLE)
    assert claimed() == []
    assert breaker(stage, "cl.gate_zero_intake")["wait_s"] == 120
    # Nobody opens attempts by hand meanwhile.
    (waiting, *_) = stage.rows("select intake_id from cl.gate_zero_intake where status = 'PENDING'")
    with pytest.raises(LawRefused, match="breaker"), stage.db.transaction(Authority.GATE) as tx:
        gate.open_attempts(tx, [waiting["intake_id"]], worker="w")
    stage.advance(seconds=121)
    (probe,) = claimed()
    fail(probe, ReasonCode.DOMAIN_NOT_FOUND)
    assert len(claimed()) == 2
    assert breaker(stage, "cl.gate_zero_intake")["closed_by"] == "probe"


def test_nobody_starts_candidates_by_hand_behind_it(new_stage: NewStage) -> None:
    stage = new_stage()
    match, other = stage.outside(2, source="crm")
    stage.settle(executing=False)
    stage.scope(match, actions=[RETRY])
    stage.settle(executing=False)
    made, second = stage.candidate(match)["candidate_id"], stage.candidate(other)["candidate_id"]
    assert stage.approve(made, second) == [None, None]
    open_(stage, "crm")
    assert stage.claim() == []
    start = (
        "update recovery.candidate set status = 'executing', executed_at = recoup.now(), worker = 'w',"
        " token = gen_random_uuid(), lease_until = recoup.now() + interval '1 minute', idempotency_key = 'k',"
        " updated_at = recoup.now() where candidate_id = %s"
    )
    with pytest.raises(LawRefused, match="breaker"), stage.db.transaction(Authority.CLAIM_WORKER) as tx:
        tx.execute(start.encode(), (made,))
    # Its worker dies: the lease expires, and the breaker opens again.
    stage.advance(seconds=61)
    (one,) = stage.claim(lease=timedelta(seconds=30))
    assert breaker(stage, "crm")["probe_unit"] == str(one.candidate_id)
    stage.advance(seconds=40)
    stage.expire()
    assert settle(stage) == 1
    assert breaker(stage, "crm")["wait_s"] == 120
    # What is started by hand when its wait has ended is the probe, too: no others are let through.
    stage.advance(seconds=121)
    left = ({made, second} - {one.candidate_id}).pop()
    with stage.db.transaction(Authority.CLAIM_WORKER) as tx:
        tx.execute(start.encode(), (left,))
    assert (breaker(stage, "crm")["status"], breaker(stage, "crm")["probe_unit"]) == ("half_open", str(left))
    assert stage.claim() == []


# The rules ------------------------------------------------------------------------------------------------------------


def test_what_psql_may_not_do(new_stage: NewStage) -> None:
    stage = new_stage()
    due(stage, 1)
    open_(stage, DOL)

    def refused(authority: Authority, change: str, why: str = "breaker_rules") -> None:
        with pytest.raises(LawRefused) as caught, stage.db.transaction(authority) as tx:
            tx.execute(f"update recovery.breaker set {change}".encode())
        assert caught.value.code == why

    no_probe = "probe_subject = null, probe_unit = null, probe_token = null, probe_until = null"
    probe = (
        "status = 'half_open', probes = probes + 1, probe_subject = 'recoup.error', probe_unit = 'x/1',"
        " probe_token = gen_random_uuid(), probe_until = recoup.now() + interval '1 minute'"
    )
    closed = "status = 'closed', closed_at = recoup.now(), closed_by = {}"
    refused(Authority.ERROR_WORKER, probe)  # before its time
    refused(Authority.ERROR_WORKER, closed.format("'probe'"), "move_not_listed")
    refused(Authority.OPERATOR, closed.format("'somebody'"))
    refused(Authority.OPERATOR, closed.format("recoup.acting_id()") + ", open_until = recoup.now()")
    stage.advance(seconds=61)
    refused(Authority.ERROR_WORKER, probe)  # by nothing that is claimed
    claim(stage)
    refused(Authority.ERROR_WORKER, f"{closed.format(chr(39) + 'probe' + chr(39))}, {no_probe}")
    refused(
        Authority.EVALUATOR,
        f"status = 'open', wait_s = 120, open_until = recoup.now() + interval '2 minutes', {no_probe}",
    )
    due(stage, 1)
    with pytest.raises(LawRefused) as caught, stage.db.transaction(Authority.OPERATOR) as tx:
        tx.execute(
            "insert into recovery.breaker (name, status, parts, wait_s, max_wait_s, opened_at, open_until, opened_by,"
            " reason) select 'x', 'open', '{table:y}', 1, 1, now_, now_ + interval '1 second', recoup.acting_id(), 'z'"
            " from (select recoup.now() as now_) t"
        )
    assert caught.value.code == "breaker_rules"  # not as the policy has it


def test_a_breaker_whose_candidates_cannot_start_holds_up_no_others(new_stage: NewStage) -> None:
    stage = new_stage()
    (shut,), (other,) = stage.outside(source="down"), stage.outside(source="up")
    stage.settle()
    scope = stage.scope(shut)
    stage.scope(other)
    stage.settle()
    wanted = stage.candidate(other)["candidate_id"]
    assert stage.approve(stage.candidate(shut)["candidate_id"], wanted) == [None, None]
    open_(stage, "down")
    stage.advance(seconds=61)
    stage.revoke(scope)  # what could try the breaker is ready, and may not start
    assert [one.candidate_id for one in stage.claim()] == [wanted]
    assert breaker(stage, "down")["status"] == "open"
    stage.settle()
    stage.whole()
