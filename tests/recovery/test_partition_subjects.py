"""Partitions as subjects of recovery: given up, matched, requeued through the control plane, and how that ends."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest

import incidents
from recoup.database.acting import acting_as
from recoup.lifecycles.declaration import Authority
from recoup.partitions import control_plane, running
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.identity import Partition
from recoup.recovery import breakers, executing, following, undoing
from recoup.recovery.matches import NewFailure
from recoup.recovery.vocabulary import SubjectKind
from recoup.refusals import LawRefused
from recovery.stage import ALL, MANUAL, NOTIFY, RETRY, SKIP, NewStage, Row, Stage

FALLBACK, BREAKER, RECONFIGURE, ROLLBACK = "fallback_model", "circuit_breaker", "reconfigure", "rollback"
LEASE = timedelta(minutes=10)
BAD = "column amount is missing"


class Plane:
    """The control plane, an extractor and a validator, of one source."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.source = f"shop-{uuid.uuid4().hex[:8]}"
        self.day = date(2026, 1, 1)

    def enqueue(self) -> int:
        self.day += timedelta(days=1)
        with self.stage.db.transaction(Authority.CONTROL_PLANE) as tx:
            (made,) = control_plane.enqueue(tx, [Partition(self.source, "acme", "orders", self.day)])
        return made.partition_id

    def dispatch(self, limit: int = 10) -> list[Dispatched]:
        with self.stage.db.transaction(Authority.CONTROL_PLANE) as tx:
            return control_plane.dispatch(tx, limit=limit, worker="w", lease=LEASE, served={self.source: ["orders"]})

    def judge(self, run: Dispatched, *, accepted: bool, message: str = BAD) -> None:
        """Extracted, published, judged, and followed by the control plane."""
        with self.stage.db.transaction(Authority.EXTRACTOR) as tx:
            said = running.PublishedRun(
                run.run_id, run.token, uuid.uuid4(), f"at/{run.run_id}", "0" * 64, "jsonl", 1, 9
            )
            assert running.publish(tx, [said]) == {run.run_id}
            with acting_as(tx, Authority.VALIDATOR):
                verdict = running.Judged(run.run_id, run.token, accepted, "SCHEMA", None, message)
                assert running.judge(tx, [verdict]) == ["accepted" if accepted else "rejected"]
            with acting_as(tx, Authority.CONTROL_PLANE):
                control_plane.follow(tx)

    def work(self, *, accepted: bool) -> Dispatched:
        (run,) = self.dispatch()
        self.judge(run, accepted=accepted)
        self.stage.advance(seconds=1)  # what is asked for twice is asked for at two times
        return run

    def terminal(self) -> int:
        """A partition that is given up: its attempts are used up."""
        partition = self.enqueue()
        while self.schedule(partition)["status"] != "terminal":
            if self.schedule(partition)["status"] == "held":
                self.ask("retry", partition, by="grace")
            elif not (found := self.dispatch()):
                self.stage.advance(hours=3)
            else:
                for run in found:
                    self.judge(run, accepted=False)
        self.stage.advance(seconds=1)
        return partition

    def ask(self, verb: str, partition: int, *, by: str | None = None) -> list[str]:
        """What a person asks the control plane for."""
        self.stage.advance(seconds=1)
        who = self.stage.person(by or "grace", Authority.CONTROL_PLANE)
        with who as tx:
            row = tx.execute(
                "select answers from partitions.ask(array[%s]::bigint[], %s, 1, null, null, null, null, null, true)",
                (partition, verb),
            ).fetchone()
        assert row is not None
        return list(row[0])

    def schedule(self, partition: int) -> Row:
        return self.stage.row("select * from partitions.schedule where partition_id = %s", partition)

    def state(self, partition: int) -> Row:
        return self.stage.row("select * from partitions.partition_state where partition_id = %s", partition)

    def requests(self, partition: int) -> list[Row]:
        return self.stage.rows(
            "select * from partitions.requeue_request where partition_id = %s order by seq", partition
        )

    def overrides(self, partition: int) -> list[Row]:
        return self.stage.rows(
            "select * from partitions.override_log where %s = any(partitions) order by seq", partition
        )

    # Recovery

    def matched(self, partition: int | None = None, *, actions: tuple[str, ...] = ALL, **more: Any) -> tuple[int, UUID]:
        """A terminal partition and its match, with a pending candidate within a scope."""
        given_up = self.terminal() if partition is None else partition
        self.stage.settle()
        match: UUID = self.stage.match_of(given_up)["failure_match_id"]
        self.stage.scope(match, actions=actions, **more)
        self.stage.settle()
        return given_up, match

    def approve_next(self, match: UUID) -> UUID:
        candidate: UUID = self.stage.candidate(match)["candidate_id"]
        assert self.stage.approve(candidate) == [None]
        self.stage.settle()
        return candidate

    def proposed(self, match: UUID, action: str, **parameters: Any) -> UUID:
        """Proposed by one person, approved by another, executed."""
        made = self.stage.propose(match, action, **parameters)
        assert self.stage.approve(made) == [None]
        self.stage.settle()
        return made


class Refs(Stage):
    """Matches of partitions are found by the id of the partition."""

    def matches_of(self, ref: object) -> list[Row]:
        return self.rows(
            "select * from recovery.failure_match where subject_ref = %s order by failure_match_id", str(ref)
        )

    def match_of(self, ref: object) -> Row:
        return self.matches_of(ref)[-1]


NewPlane = Callable[[], Plane]


@pytest.fixture
def plane(stage: Stage) -> Plane:
    return Plane(Refs(stage.db))


@pytest.fixture
def new_plane(new_stage: NewStage) -> NewPlane:
    return lambda: Plane(Refs(new_stage().db))


def test_given_up_approved_dispatched_accepted_recovered(plane: Plane) -> None:
    stage = plane.stage
    partition, match = plane.matched()
    row = stage.match(match)
    last = stage.row("select * from partitions.attempt where partition_id = %s order by number desc limit 1", partition)
    assert (row["subject_kind"], row["subject_ref"], row["source"]) == ("partition", str(partition), plane.source)
    assert (row["error_message"], row["error_signature"], row["category"], row["error_code"]) == (
        BAD, last["error_signature"], last["category"], "SCHEMA",
    )  # fmt: skip
    assert row["context"]["causes"] == ["ATTEMPTS"]
    attempts = plane.state(partition)["attempt_count"]
    candidate = plane.approve_next(match)
    schedule, made = plane.schedule(partition), stage.candidate(match)
    assert (schedule["status"], schedule["candidate_id"], schedule["terminal_causes"]) == ("waiting", candidate, None)
    assert schedule["granted_attempts"] > 0
    assert plane.state(partition)["status"] == "pending"
    assert (made["status"], made["awaits"]["kind"], made["awaits"]["key"]) == ("executing", "partition", str(partition))
    assert made["outcome_by"] - made["effect_made_at"] == timedelta(hours=168)
    (request,) = plane.requests(partition)
    assert (request["candidate_id"], request["verb"], request["approver"]) == (candidate, "retry", "rita")
    said = plane.overrides(partition)[-1]
    assert said["command"] == "recovery retry"
    assert said["selection"] == f"candidate {candidate} (approved by rita)"
    assert said["authority"] == "recoup_executor"
    run = plane.work(accepted=True)
    assert stage.row("select * from partitions.run where run_id = %s", run.run_id)["candidate_id"] == candidate
    stage.settle()
    assert (stage.told(match), stage.match(match)["status"]) == ([(RETRY, "succeeded", None)], "recovered")
    state = plane.state(partition)
    assert (state["status"], state["attempt_count"], state["current_run_id"]) == ("success", attempts + 1, run.run_id)
    assert len(stage.matches_of(partition)) == 1


def test_rejected_again_fails_and_is_followed_up(plane: Plane) -> None:
    stage = plane.stage
    partition, match = plane.matched()
    plane.approve_next(match)
    plane.work(accepted=False)
    assert plane.schedule(partition)["status"] == "terminal"
    stage.settle()
    # What a candidate requeued is its outcome, and no failure of its own.
    assert stage.told(match) == [(RETRY, "failed", "UNIT_FAILED"), (NOTIFY, "pending", None)]
    assert len(stage.matches_of(partition)) == 1


def test_a_failure_that_is_not_terminal_is_no_end(plane: Plane) -> None:
    stage = plane.stage
    partition, match = plane.matched()
    plane.approve_next(match)
    (run,) = plane.dispatch()
    with stage.db.transaction(Authority.CONTROL_PLANE) as tx:
        tx.execute(
            "select partitions.lose_runs(array[%s]::uuid[], array[%s]::uuid[], '{EXTRACTOR_ERROR}', '{boom}')",
            (run.run_id, run.token),
        )
        control_plane.follow(tx)
    stage.settle()
    assert (plane.schedule(partition)["status"], stage.told(match)) == ("waiting", [(RETRY, "executing", None)])
    stage.advance(hours=3)
    plane.work(accepted=True)
    stage.settle()
    assert stage.match(match)["status"] == "recovered"


def test_each_decision_makes_a_match_unless_one_is_open(plane: Plane) -> None:
    stage = plane.stage
    partition = plane.terminal()
    stage.settle()
    (first,) = stage.matches_of(partition)
    with stage.db.transaction(Authority.MATCHER) as tx:  # the same event, read again
        again = following._ingested(tx, following._given_up(tx, [{"partition_id": partition}]))
    assert again == 0
    other = NewFailure(source="mine", message=BAD, key="mine", kind=SubjectKind.PARTITION, ref=str(partition))
    assert stage.ingest([other]) == [(first["failure_match_id"], "known")]  # whoever reports it
    # A person has it retried, in vain: the match is open, and goes on.
    assert plane.ask("retry", partition) == ["asked"]
    stage.settle()
    plane.work(accepted=False)
    stage.settle()
    assert [one["failure_match_id"] for one in stage.matches_of(partition)] == [first["failure_match_id"]]
    assert stage.told(first["failure_match_id"]) == [(RETRY, "skipped", "SUBJECT_CHANGED"), (RETRY, "pending", None)]
    stage.advance(days=40)
    stage.settle()
    assert stage.match(first["failure_match_id"])["status"] == "unrecovered"
    # It ended. The next decision is a new failure, which follows it.
    plane.ask("retry", partition)
    plane.work(accepted=False)
    stage.settle()
    _, second = stage.matches_of(partition)
    assert (second["follows"], second["status"]) == (first["failure_match_id"], "evaluated")
    assert second["idempotency_key"] != first["idempotency_key"]


def automatic(plane: Plane) -> None:
    """So many good outcomes of retries that no person is asked, and retries alone in the plan."""
    plane.stage.apply(f'[recovery]\nheld_share = 0\n[recovery.plan]\npartition = ["{RETRY}", "{RETRY}", "{RETRY}"]\n')
    plane.stage.teach(RETRY, {True: 60}, source=plane.source, message=BAD)


def test_by_itself_once_until_a_person_acts(new_plane: NewPlane) -> None:
    plane = new_plane()
    stage = plane.stage
    automatic(plane)
    partition, match = plane.matched()
    (request,) = plane.requests(partition)
    assert (stage.candidate(match)["decided_by"], request["approver"]) == (None, None)
    assert plane.overrides(partition)[-1]["selection"].endswith("(automatic)")
    plane.work(accepted=False)
    stage.settle()
    held = stage.candidate(match)
    assert (held["action_name"], held["status"], held["held_for_review"]) == (RETRY, "pending", True)
    assert held["confidence"] >= stage.policy.confidence_floor
    plane.approve_next(match)
    plane.work(accepted=False)
    stage.settle()
    # A person acted: once more by itself.
    assert [one["approver"] for one in plane.requests(partition)] == [None, "rita", None]
    plane.work(accepted=True)
    stage.settle()
    assert [status for _, status, _ in stage.told(match)] == ["failed", "failed", "succeeded"]
    stage.whole()


def test_the_database_refuses_a_second_time_by_itself(new_plane: NewPlane) -> None:
    """An evaluator that forgets to hold the second one lets it start. Its effect is not made, and by hand refused."""
    plane = new_plane()
    stage = plane.stage
    automatic(plane)
    stage.apply(f'[recovery]\nheld_share = 0\n[recovery.plan]\npartition = ["{RETRY}"]\n')
    partition, match = plane.matched()
    plane.work(accepted=False)
    stage.settle()
    assert stage.status(match) == ("unrecovered", "NOTHING_APPLICABLE")
    failure = NewFailure(source=plane.source, message=BAD, key="told", kind=SubjectKind.PARTITION, ref=str(partition))
    (told,) = stage.ingest([failure])
    assert told.answer == "created"
    assert told.failure_match_id is not None
    with stage.db.transaction(Authority.MATCHER) as tx:
        row = stage.match(told.failure_match_id)
        made = incidents.new_candidate(
            tx, incidents.Match(told.failure_match_id, row["incident_id"], plane.source, "", "partition")
        )
        incidents.select_action(tx, made, RETRY, stage.candidate(match)["scope_id"])  # past the library
        incidents.rate(tx, made)
    (second,) = stage.claim()
    assert second.candidate_id == made
    by_hand = (
        "update recovery.candidate c set effect_made_at = t.now_, outcome_by = t.now_ + interval '1 hour',"
        " updated_at = t.now_, awaits = jsonb_build_object('kind', 'partition', 'key', %s::text, 'since_seq', 1)"
        " from (select recoup.now() as now_) t where c.candidate_id = %s"
    )
    with pytest.raises(LawRefused) as refused, stage.db.transaction(Authority.EXECUTOR) as tx:
        tx.execute(by_hand, (str(partition), second.candidate_id))
    assert refused.value.code == "requeue_by_itself"
    with stage.db.transaction(Authority.CLAIM_WORKER) as tx:
        executing.make_effects(tx, [second])
    assert stage.told(second.failure_match_id)[-1] == (RETRY, "failed", "SUBJECT_CHANGED")
    assert len(plane.requests(partition)) == 1


def test_skip_accepts_the_gap(plane: Plane) -> None:
    stage = plane.stage
    partition, match = plane.matched()
    before = plane.schedule(partition)
    plane.proposed(match, SKIP)
    schedule = plane.schedule(partition)
    assert (schedule["status"], schedule["terminal_causes"]) == ("terminal", ["ATTEMPTS", "MARKED"])
    assert schedule["terminal_at"] == before["terminal_at"]
    assert (plane.state(partition)["status"], stage.status(match)) == ("failed", ("accepted", f"accepted by {SKIP}"))
    assert plane.overrides(partition)[-1]["command"] == "recovery mark"
    assert [one["verb"] for one in plane.requests(partition)] == ["mark"]
    assert len(stage.matches_of(partition)) == 1


def test_fallback_hands_the_alternative_over(plane: Plane) -> None:
    stage = plane.stage
    partition, match = plane.matched(actions=(*ALL, FALLBACK))
    plane.proposed(match, FALLBACK, alternative={"extractor": "mirror"})
    (run,) = plane.dispatch()
    assert run.alternative == {"extractor": "mirror"}
    plane.judge(run, accepted=True)
    stage.settle()
    assert (stage.told(match)[-1], stage.match(match)["status"]) == ((FALLBACK, "succeeded", None), "recovered")
    assert plane.schedule(partition)["alternative"] is None


def test_a_changed_key_is_tried_with_the_partition_and_can_be_undone(plane: Plane) -> None:
    stage = plane.stage
    partition, match = plane.matched(actions=(*ALL, RECONFIGURE, ROLLBACK))
    made = plane.proposed(match, RECONFIGURE, key="page.size", value=10)
    assert stage.candidate(match)["awaits"]["key"] == str(partition)
    plane.work(accepted=False)
    stage.settle()
    assert stage.told(match)[-2][:2] == (RECONFIGURE, "failed")
    with stage.person("paul", Authority.OPERATOR) as tx:
        undo = undoing.rollback(tx, made, stage.policy, reason="it made things worse")
    assert stage.approve(undo) == [None]
    stage.settle()
    assert stage.candidate(match)["awaits"]["key"] == str(partition)
    assert [one["status"] for one in stage.rows("select status from recovery.config order by version")][-1] == "removed"
    plane.work(accepted=True)
    stage.settle()
    assert stage.match(match)["status"] == "recovered"


@pytest.mark.parametrize("action", [MANUAL, "escalate_to_ops"])
def test_a_task_leaves_the_partition_as_it_is(plane: Plane, action: str) -> None:
    partition, match = plane.matched(actions=(*ALL, "escalate_to_ops"))
    plane.proposed(match, action)
    made = plane.stage.candidate(match)
    assert (made["status"], made["awaits"]["kind"]) == ("executing", "task")
    assert plane.schedule(partition)["status"] == "terminal"
    assert plane.requests(partition) == []


@pytest.mark.parametrize("approved", [False, True])
def test_a_person_retries_it_meanwhile(plane: Plane, approved: bool) -> None:
    stage = plane.stage
    partition, match = plane.matched()
    if approved:
        assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    assert plane.ask("retry", partition, by="grace") == ["asked"]
    stage.settle(executing=False)
    skipped = stage.candidate(match)
    assert (skipped["status"], skipped["skip_reason"]) == ("skipped", "SUBJECT_CHANGED")
    assert skipped["overridden_by"] == "grace"
    (told,) = stage.events(match, "manual_override")
    assert told["facts"]["by"] == "grace"
    plane.work(accepted=True)
    stage.settle()
    assert stage.status(match) == ("recovered", "recovered by other means")
    assert plane.requests(partition) == []


def test_a_person_marks_it_meanwhile(plane: Plane) -> None:
    stage = plane.stage
    partition, match = plane.matched()
    assert plane.ask("mark", partition, by="grace") == ["asked"]
    stage.settle()
    first, second = stage.candidates(match)
    assert (first["status"], first["skip_reason"], first["overridden_by"]) == ("skipped", "SUBJECT_CHANGED", "grace")
    # Not by itself, whatever its confidence: a person gave it up.
    assert (second["status"], second["held_for_review"]) == ("pending", True)
    assert plane.schedule(partition)["terminal_causes"] == ["ATTEMPTS", "MARKED"]


def test_a_person_acts_between_the_claim_and_the_effect(plane: Plane) -> None:
    stage = plane.stage
    partition, match = plane.matched()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    claimed = [one for one in stage.claim() if one.failure_match_id == match]
    plane.ask("retry", partition)
    with stage.db.transaction(Authority.CLAIM_WORKER) as tx:
        executing.make_effects(tx, claimed)
    assert stage.told(match) == [(RETRY, "failed", "SUBJECT_CHANGED")]
    assert plane.requests(partition) == []
    assert plane.schedule(partition)["candidate_id"] is None
    plane.work(accepted=True)
    stage.settle()
    assert stage.match(match)["status"] == "recovered"


def test_nothing_is_half_done(plane: Plane) -> None:
    """Killed before the commit: neither effect, nor request, nor move; and the next worker makes all of it."""
    stage = plane.stage
    partition, match = plane.matched()
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    claimed = [one for one in stage.claim() if one.failure_match_id == match]
    with stage.db.transaction(Authority.CLAIM_WORKER) as tx, contextlib.suppress(ZeroDivisionError), tx.transaction():
        executing.make_effects(tx, claimed)
        assert plane.requests(partition) == []
        raise ZeroDivisionError
    made = stage.candidate(match)
    assert (made["effect_made_at"], made["awaits"], plane.schedule(partition)["status"]) == (None, None, "terminal")
    with stage.db.transaction(Authority.CLAIM_WORKER) as tx:
        executing.make_effects(tx, claimed)
    assert (plane.schedule(partition)["status"], len(plane.requests(partition))) == ("waiting", 1)
    plane.work(accepted=True)
    stage.settle()
    assert stage.match(match)["status"] == "recovered"


def test_nobody_makes_a_request_or_moves_a_schedule_by_hand(plane: Plane) -> None:
    partition, match = plane.matched()
    candidate = plane.stage.candidate(match)["candidate_id"]
    for statement in (
        "insert into partitions.requeue_request (candidate_id, partition_id, verb, approver, requested_at)"
        " values (%(candidate)s, %(partition)s, 'retry', 'x', recoup.now())",
        "update partitions.schedule set status = 'waiting', next_run_at = recoup.now(), terminal_causes = null,"
        " terminal_at = null, terminal_policy = null where partition_id = %(partition)s",
        "select partitions.request(array[%(candidate)s]::uuid[], array[%(partition)s]::bigint[], '{retry}', '{null}',"
        " '{x}')",
    ):
        with pytest.raises(LawRefused) as refused, plane.stage.db.transaction(Authority.EXECUTOR) as tx:
            tx.execute(statement.encode(), {"candidate": candidate, "partition": partition})
        assert refused.value.code == "made_by_hand"


def test_many_are_requeued_in_one_turn(plane: Plane) -> None:
    stage = plane.stage
    given_up = [plane.terminal() for _ in range(3)]
    stage.settle()
    matches = [stage.match_of(one)["failure_match_id"] for one in given_up]
    stage.scope(matches[0])
    stage.settle()
    assert stage.approve(*(stage.candidate(one)["candidate_id"] for one in matches)) == [None] * 3
    stage.settle()
    (said,) = [one for one in plane.overrides(given_up[0]) if one["command"] == "recovery retry"]
    assert sorted(said["partitions"]) == given_up
    assert said["selection"].count("approved by rita") == 3


# Breakers -----------------------------------------------------------------------------------------------------------


def opened(stage: Stage, source: str) -> None:
    with stage.person("olga", Authority.OPERATOR) as tx:
        assert breakers.open_breaker(tx, source, reason="the shop is down")


def breaker(stage: Stage, name: str) -> Row:
    return stage.row("select * from recovery.breaker where name = %s", name)


def settled(stage: Stage) -> int:
    with stage.db.transaction(Authority.EVALUATOR) as tx:
        return breakers.settle(tx)


def test_a_run_tries_the_breaker_of_its_source(new_plane: NewPlane) -> None:
    plane = new_plane()
    stage, other = plane.stage, Plane(plane.stage)
    for _ in range(3):
        plane.enqueue()
    other.enqueue()
    opened(stage, plane.source)
    assert plane.dispatch() == []
    stage.advance(minutes=2)
    (probe,) = plane.dispatch()
    shut = breaker(stage, plane.source)
    assert (shut["status"], shut["probe_subject"], shut["probe_unit"]) == (
        "half_open", "partitions.run", str(probe.run_id),
    )  # fmt: skip
    assert plane.dispatch() == []
    assert len(other.dispatch()) == 1  # of another source
    plane.judge(probe, accepted=False)
    assert settled(stage) == 1
    assert (breaker(stage, plane.source)["status"], plane.dispatch()) == ("open", [])
    stage.advance(minutes=3)
    plane.work(accepted=True)
    assert settled(stage) == 1
    assert (breaker(stage, plane.source)["status"], len(plane.dispatch())) == ("closed", 2 - 1)


def test_a_breaker_that_nothing_tries_holds_nobody_else_back(new_plane: NewPlane) -> None:
    plane = new_plane()
    stage, idle = plane.stage, f"idle-{uuid.uuid4().hex[:6]}"
    plane.enqueue()
    plane.enqueue()
    opened(stage, idle)
    stage.advance(minutes=2)
    assert len(plane.dispatch()) == 2
    assert breaker(stage, idle)["status"] == "open"


def test_the_breaker_of_all_partitions(new_plane: NewPlane) -> None:
    plane = new_plane()
    plane.enqueue()
    plane.enqueue()
    opened(plane.stage, "partitions.partition_state")
    assert plane.dispatch() == []
    plane.stage.advance(minutes=2)
    assert len(plane.dispatch()) == 1
    assert plane.dispatch() == []


def test_nobody_opens_a_run_behind_a_breaker_by_hand(new_plane: NewPlane) -> None:
    plane = new_plane()
    partition = plane.enqueue()
    opened(plane.stage, plane.source)
    with (
        pytest.raises(LawRefused, match=r"breaker .* is open"),
        plane.stage.db.transaction(Authority.CONTROL_PLANE) as tx,
    ):
        tx.execute(
            "insert into partitions.run (partition_id, number, lane, pool, reprocesses, worker, token, lease_until,"
            " policy_version, opened_at, dispatched_at, updated_at)"
            " select %s, 1, 'fresh', 'default', false, 'w', gen_random_uuid(), t.now_ + interval '1 minute',"
            " recoup.policy_version(), t.now_, t.now_, t.now_ from (select recoup.now() as now_) t",
            (partition,),
        )


def test_the_action_opens_the_breaker_and_the_partition_waits_behind_it(new_plane: NewPlane) -> None:
    plane = new_plane()
    stage = plane.stage
    partition, match = plane.matched(actions=(*ALL, BREAKER))
    plane.proposed(match, BREAKER)
    assert breaker(stage, plane.source)["status"] == "open"
    assert (plane.schedule(partition)["status"], plane.dispatch()) == ("waiting", [])
    stage.advance(minutes=2)
    (probe,) = plane.dispatch()
    assert probe.partition_id == partition
    plane.judge(probe, accepted=True)
    assert settled(stage) == 1
    stage.settle()
    assert (stage.told(match)[-1], stage.match(match)["status"]) == ((BREAKER, "succeeded", None), "recovered")
