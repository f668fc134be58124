"""People act while recovery is at work: on the subject, on scopes, on candidates, on the policy."""

from __future__ import annotations

import uuid

import psycopg
import pytest

from hub import DOL, TRANSIENT
from recoup.errors.recording import NewError
from recoup.lifecycles.declaration import Authority
from recoup.recovery import executing
from recovery.stage import MANUAL, NOTIFY, RETRY, SKIP, NewStage, Stage

# What a person does with a parked error: what becomes of a candidate that has not started, and of its match.
BEFORE = {
    "unpark": ("SUBJECT_CHANGED", ("evaluated", None)),
    "resolve": ("SUBJECT_RECOVERED", ("recovered", "recovered by other means")),
    "archive": ("SUBJECT_GONE", ("unrecovered", "SUBJECT_GONE")),
}


@pytest.mark.parametrize("when", ["pending", "approved"])
@pytest.mark.parametrize("verb", BEFORE)
def test_a_person_acts_before_it_starts(stage: Stage, when: str, verb: str) -> None:
    error = stage.park()
    match = getattr(stage, when)(error)
    assert stage.act(verb, error)
    stage.settle(executing=False)
    skipped, ended = BEFORE[verb]
    assert stage.told(match) == [(RETRY, "skipped", skipped)]
    candidate = stage.candidate(match)
    assert (candidate["overridden_by"], candidate["teaches"], candidate["executed_at"]) == ("grace", False, None)
    assert [e["facts"] for e in stage.events(match, "manual_override")] == [{"by": "grace"}]
    assert stage.status(match) == ended


@pytest.mark.parametrize("verb", BEFORE)
def test_a_person_acts_and_it_is_found_only_at_the_effect(stage: Stage, verb: str) -> None:
    """The worker is faster than the evaluator: it fails, without evidence, uncounted, and says who it was."""
    error = stage.park()
    match = stage.approved(error)
    assert stage.act(verb, error)
    stage.execute()
    assert stage.told(match) == [(RETRY, "failed", "SUBJECT_CHANGED")]
    candidate = stage.candidate(match)
    assert (candidate["teaches"], candidate["effect_made_at"], candidate["overridden_by"]) == (False, None, "grace")
    assert [e["facts"] for e in stage.events(match, "manual_override")] == [{"by": "grace"}]
    stage.settle()
    assert stage.status(match)[0] == BEFORE[verb][1][0]
    if verb == "unpark":  # it fails again: the same action, which has not been tried
        stage.fail(error)
        stage.settle()
        assert stage.told(match)[1:] == [(RETRY, "pending", None)]


@pytest.mark.parametrize(
    ("verb", "end", "match_end"),
    [
        ("resolve", ("succeeded", None), "recovered"),
        ("archive", ("failed", "UNIT_FAILED"), "unrecovered"),
        ("park", ("failed", "UNIT_FAILED"), "evaluated"),
    ],
)
def test_a_person_acts_while_it_is_awaited(
    stage: Stage, verb: str, end: tuple[str, str | None], match_end: str
) -> None:
    """The table of ends holds; it says by whom, and is no evidence."""
    error = stage.park()
    match = stage.awaiting(error)
    assert stage.act(verb, error)
    stage.settle()
    first = stage.candidates(match)[0]
    assert (first["status"], first["error"]) == end
    assert (first["overridden_by"], first["teaches"]) == ("grace", False)
    assert [e["facts"] for e in stage.events(match, "manual_override")] == [{"by": "grace"}]
    assert stage.match(match)["status"] == match_end


@pytest.mark.parametrize(
    ("when", "verb", "end"),
    [
        ("pending", "unpark", ("skipped", "SUBJECT_CHANGED")),
        ("approved", "unpark", ("failed", "SUBJECT_CHANGED")),
        ("awaiting", "park", ("failed", "UNIT_FAILED")),
    ],
)
def test_a_person_acts_and_then_it_is_superseded(stage: Stage, when: str, verb: str, end: tuple[str, str]) -> None:
    """The act is of an older row of the same lineage: it is theirs all the same, and teaches nothing."""
    entity, code = uuid.uuid4(), f"S{uuid.uuid4().hex[:10]}"
    error = stage.park(outreach_id=entity, code=code)
    match = getattr(stage, when)(error)
    assert stage.act(verb, error)
    stage.hub.record_all([NewError(table=DOL, message=TRANSIENT, outreach_id=entity, code=code)])
    if when == "approved":
        stage.execute()  # found at the effect
    stage.settle(executing=False)
    first = stage.candidates(match)[0]
    assert (first["status"], first["skip_reason"] or first["error"]) == end
    assert (first["overridden_by"], first["teaches"]) == ("grace", False)
    assert [e["facts"] for e in stage.events(match, "manual_override")] == [{"by": "grace"}]


def test_a_person_cannot_unpark_what_is_awaited_and_nothing_changes(stage: Stage) -> None:
    error = stage.park()
    match = stage.awaiting(error)
    stage.act("unpark", error)
    stage.settle()
    assert stage.told(match) == [(RETRY, "executing", None)]
    stage.retried(error)
    stage.settle()
    assert stage.status(match)[0] == "recovered"


def test_one_scope_for_ten(new_stage: NewStage) -> None:
    """More than is left is refused with both numbers; what fits is executed; the rest waits for the next scope."""
    stage = new_stage()
    done: list[str] = []
    stage.executors[RETRY] = executing.Executor(lambda one, subject: done.append(subject.subject_ref))
    matches = stage.outside(10)
    stage.settle()
    stage.scope(matches[0], max_attempts=4, cost_limit=100)
    stage.settle()
    ids = [stage.candidate(match)["candidate_id"] for match in matches]
    assert set(stage.approve(*ids)) == {"scope_too_small"}
    assert stage.approve(*ids[:4]) == [None] * 4
    assert stage.approve(ids[4]) == ["scope_too_small"]  # approved ones are counted, too
    stage.settle()
    assert sorted(done) == ["0", "1", "2", "3"]
    assert [stage.match(match)["status"] for match in matches] == ["recovered"] * 4 + ["evaluated"] * 6
    for match in matches[4:]:
        assert stage.told(match) == [(RETRY, "skipped", "SCOPE_ENDED")]
    stage.scope(matches[0], max_attempts=100)
    stage.settle()
    waiting = [stage.candidate(match) for match in matches[4:]]
    assert {one["status"] for one in waiting} == {"pending"}
    assert stage.approve(*(one["candidate_id"] for one in waiting)) == [None] * 6
    stage.settle()
    assert sorted(done) == [str(n) for n in range(10)]
    assert {stage.match(match)["status"] for match in matches} == {"recovered"}
    stage.whole()


def test_revoked_while_executing(stage: Stage) -> None:
    """Between claim and effect: refused, failed, its attempt spent. What awaits already goes on, and is listed."""
    first, second = stage.park(), stage.park()
    awaited, claimed_only = stage.awaiting(first), stage.approved(second)
    (claimed,) = stage.claim()
    assert claimed.failure_match_id == claimed_only
    scopes = [stage.candidate(match)["scope_id"] for match in (awaited, claimed_only)]
    assert [one.candidate_id for one in stage.revoke(scopes[0])] == [stage.candidate(awaited)["candidate_id"]]
    (listed,) = stage.revoke(scopes[1])
    assert (listed.candidate_id, listed.effect_made) == (claimed.candidate_id, False)
    with stage.db.transaction(Authority.CLAIM_WORKER) as tx:
        assert executing.make_effects(tx, [claimed]) == ["SCOPE_REVOKED"]
    candidate = stage.candidates(claimed_only)[0]
    assert (candidate["status"], candidate["error"], candidate["teaches"]) == ("failed", "SCOPE_REVOKED", False)
    assert stage.row("select attempts_used from recovery.scope where scope_id = %s", scopes[1])["attempts_used"] == 1
    assert stage.hub.row(second)["status"] == "PARKED"
    stage.retried(first)
    stage.settle()
    assert stage.status(awaited)[0] == "recovered"
    # Not counted: the same action is proposed again, and waits for a scope.
    assert stage.told(claimed_only)[1:] == [(RETRY, "pending", None)]
    assert stage.candidate(claimed_only)["scope_id"] is None


def test_revoked_while_approved(stage: Stage) -> None:
    error = stage.park()
    match = stage.approved(error)
    stage.revoke(stage.candidate(match)["scope_id"])
    stage.settle()
    assert stage.told(match) == [(RETRY, "skipped", "SCOPE_ENDED")]
    assert stage.match(match)["status"] == "evaluated"
    stage.scope(match)
    stage.settle()
    assert stage.told(match)[1:] == [(RETRY, "pending", None)]  # an approval is for one candidate


def test_the_same_person_proposes_and_approves(stage: Stage) -> None:
    error = stage.park()
    match = stage.pending(error)
    machine = stage.candidate(match)["candidate_id"]
    proposed = stage.propose(match, SKIP, by="paul")
    assert stage.told(match) == [(RETRY, "skipped", "OVERTAKEN"), (SKIP, "pending", None)]
    assert stage.events(match, "manual_override")[0]["candidate_id"] == machine
    assert stage.approve(proposed, by="paul") == ["same_person"]
    with (
        pytest.raises(psycopg.errors.CheckViolation, match="other_person"),
        stage.person("paul", Authority.REVIEWER) as tx,
    ):
        tx.execute(  # and past the library
            "update recovery.candidate set status = 'approved', decided_by = 'paul', decided_at = recoup.now(),"
            " decision_note = 'x', updated_at = recoup.now() where candidate_id = %s",
            (proposed,),
        )
    assert stage.approve(proposed, by="rita") == [None]
    stage.settle()
    assert stage.told(match)[1:] == [(SKIP, "succeeded", None)]
    assert stage.status(match) == ("accepted", f"accepted by {SKIP}")
    assert stage.hub.row(error)["archive_reason"] == "MANUAL"


def test_to_reject_what_is_recommended_is_an_override(stage: Stage) -> None:
    """So is a proposal in its stead, and not the approval of what was recommended."""
    rejected, approved = stage.pending(stage.park()), stage.pending(stage.park())
    stage.reject(stage.candidate(rejected)["candidate_id"])
    (told,) = stage.events(rejected, "manual_override")
    assert (told["facts"], told["to_status"], told["authority"]) == ({"by": "rita"}, "rejected", "recoup_reviewer")
    assert stage.approve(stage.candidate(approved)["candidate_id"]) == [None]
    assert stage.events(approved, "manual_override") == []


def test_proposals_are_not_counted_and_a_rejected_action_does_not_come_again(new_stage: NewStage) -> None:
    stage = new_stage()
    (match,) = stage.outside()
    stage.settle()
    for _ in range(4):
        stage.reject(stage.propose(match, MANUAL))
        stage.settle()
    assert stage.match(match)["status"] == "evaluated"
    # What the machine offers: not what was rejected, also if a person had proposed that.
    for name in (RETRY, NOTIFY):
        assert stage.candidate(match)["action_name"] == name
        stage.reject(stage.candidate(match)["candidate_id"])
        stage.settle()
    assert stage.status(match) == ("unrecovered", "NOTHING_APPLICABLE")
    # On a match that has ended a proposal opens one that follows it; and again on that, when that has ended.
    proposed = stage.propose(match, MANUAL)
    follower = stage.row("select * from recovery.candidate where candidate_id = %s", proposed)["failure_match_id"]
    assert stage.match(follower)["follows"] == match
    assert stage.row("select * from recovery.candidate where candidate_id = %s", stage.propose(match, RETRY))[
        "failure_match_id"
    ] == follower  # fmt: skip
    stage.whole()


ACTION = """
[recovery.actions.{name}]
type = "retry"
is_automated = true
requires_approval = {approval}
cost = {cost}
timeout_s = 300
"""


def test_policy_and_actions_change_between_evaluation_and_claim(new_stage: NewStage) -> None:
    """The gates are the stricter of both; what was selected stays; an action that is gone is skipped."""
    stage = new_stage()
    called: list[dict[str, object]] = []
    stage.executors["call"] = executing.Executor(lambda one, _: called.append(dict(one.parameters)))
    plan = '[recovery]\nheld_share = 0.0\n[recovery.plan]\noutside = ["call", "notify_ops"]\n'
    stage.apply(plan + ACTION.format(name="call", approval="false", cost=2) + "parameters = { try = 1 }\n")
    stage.teach("call", {True: 20})
    called.clear()
    (match, other) = stage.outside(2)
    stage.settle(executing=False)
    stage.scope(match, actions=["call"], max_attempts=10, cost_limit=20)
    stage.settle(executing=False)
    assert stage.candidate(match)["is_ready"]  # it could start by itself
    stage.apply(plan + ACTION.format(name="call", approval="true", cost=3) + "parameters = { try = 2 }\n")
    stage.settle()
    assert stage.candidate(match)["status"] == "pending"
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    stage.settle()
    assert called == [{"try": 1}]  # as it was selected, and approved
    assert stage.candidate(match)["cost"] == 2
    assert stage.status(match)[0] == "recovered"
    # Approved, and then its action is retired.
    assert stage.approve(stage.candidate(other)["candidate_id"]) == [None]
    stage.apply('[recovery.plan]\noutside = ["notify_ops"]\n')
    assert stage.claim() == []
    stage.settle()
    assert stage.told(other) == [("call", "skipped", "ACTION_RETIRED"), (NOTIFY, "pending", None)]
    stage.whole()


@pytest.mark.parametrize("other_type", [False, True])
def test_who_waits_with_an_action_that_is_retired_is_told_at_once(new_stage: NewStage, other_type: bool) -> None:
    """Not at the next deadline, three days later; also if the action is of another type now. Others are left alone."""
    stage = new_stage()
    call = ACTION.format(name="call", approval="true", cost=1)
    stage.apply('[recovery.plan]\noutside = ["call", "notify_ops"]\n' + call)
    (match,) = stage.outside(1, source="retired")
    stage.settle(executing=False)
    stage.apply('[recovery.plan]\noutside = ["notify_ops"]\n' + call)
    (other,) = stage.outside(1, source="kept")
    stage.settle(executing=False)
    assert [stage.told(one) for one in (match, other)] == [[("call", "pending", None)], [(NOTIFY, "pending", None)]]
    evaluations = stage.match(other)["evaluation_no"]
    fallback = call.replace('type = "retry"', 'type = "fallback"')
    assert fallback != call
    stage.apply('[recovery.plan]\noutside = ["notify_ops"]\n' + (fallback if other_type else ""))
    stage.settle(executing=False)
    assert stage.told(match) == [("call", "skipped", "ACTION_RETIRED"), (NOTIFY, "pending", None)]
    assert stage.match(other)["evaluation_no"] == evaluations
    stage.whole()
