"""Every action on every kind of subject, by its effect, cell by cell. Partitions: test_partition_subjects.py."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest

import company
from hub import DOL
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.recovery import config, undoing
from recoup.recovery.executing import Claimed, Executor, Subject
from recoup.recovery.vocabulary import ActionType, SubjectKind
from recoup.refusals import InputRefused
from recoup.runs import running
from recovery.stage import NewStage, Stage
from recovery.subjects import crashed_run, exhausted_intake

NAMES = {
    "retry": "retry_exponential", "fallback": "fallback_model", "circuit_breaker": "circuit_breaker",
    "reconfigure": "reconfigure", "rollback": "rollback", "escalate": "escalate_to_ops", "notify": "notify_ops",
    "manual": "manual_intervention", "skip": "skip_step",
}  # fmt: skip
KINDS = [kind.value for kind in SubjectKind if kind is not SubjectKind.PARTITION]
MODEL = {"model": "small"}
GIVEN: dict[str, dict[str, Any]] = {
    "fallback": {"alternative": MODEL}, "reconfigure": {"key": "table.size", "value": 5},
    "escalate": {"owner": "lead", "due_hours": 3}, "manual": {"owner": "ops", "due_hours": 5},
    "notify": {"route": "log"},
}  # fmt: skip
REQUEUES = ("retry", "fallback", "circuit_breaker", "reconfigure", "rollback")


class Failed(NamedTuple):
    """Something that failed, and its match."""

    kind: str
    ref: Any
    match: UUID
    source: str


def failed(stage: Stage, kind: str) -> Failed:
    ref: Any = None
    match kind:
        case "outside":
            (match_id,) = stage.outside()
        case "error":
            ref = stage.park()
        case "intake":
            ref = exhausted_intake(stage)
        case _:
            ref = crashed_run(stage)
    stage.settle()
    if ref is not None:
        match_id = stage.match_of(ref)["failure_match_id"]
    stage.scope(match_id, actions=list(NAMES.values()))
    return Failed(kind, ref, match_id, stage.match(match_id)["source"])


def executed(stage: Stage, one: Failed, type_: str) -> dict[str, Any]:
    """Proposed by one person, approved by another, executed by a worker."""
    made = stage.propose(one.match, NAMES[type_], **GIVEN.get(type_, {}))
    return approved(stage, made)


def approved(stage: Stage, made: UUID) -> dict[str, Any]:
    assert stage.approve(made) == [None]
    stage.settle()
    return stage.row("select * from recovery.candidate where candidate_id = %s", made)


def requeued(stage: Stage, one: Failed, row: dict[str, Any], type_: str) -> None:
    """The subject is tried once more, and its outcome awaited."""
    assert (row["status"], row["awaits"]["kind"]) == ("executing", one.kind)
    alternative = MODEL if type_ == "fallback" else None
    if one.kind == "error":
        error = stage.hub.row(one.ref)
        assert (error["status"], error["max_retries"] - error["retry_count"]) == ("RETRY_PENDING", 1)
        assert (error["retry_with"], error["next_retry_at"]) == (alternative, row["effect_made_at"])
        return
    unit = UUID(row["awaits"]["key"])
    if one.kind == "intake":
        new = stage.row("select * from cl.gate_zero_intake where intake_id = %s", unit)
        old = stage.row("select * from cl.gate_zero_intake where intake_id = %s", one.ref)
        assert (new["status"], new["retry_of"], old["status"]) == ("PENDING", one.ref, "EXHAUSTED")
        assert new["company_name"] == old["company_name"]
    else:
        new = stage.row("select * from recovery.run where run_id = %s", unit)
        old = stage.row("select * from recovery.run where run_id = %s", one.ref)
        assert (new["status"], new["retry_of"], new["candidate_id"]) == ("queued", one.ref, row["candidate_id"])
        assert (new["retry_with"], new["input"], old["status"]) == (alternative, old["input"], "crashed")


def value(stage: Stage) -> Any:
    with stage.db.transaction(Authority.READER) as tx:
        return config.value(tx, "table.size", "not set")


def task(stage: Stage, row: dict[str, Any], owner: str, hours: int) -> None:
    assert (row["status"], row["awaits"]["kind"]) == ("executing", "task")
    made = stage.row("select * from recovery.task where task_id = %s", UUID(row["awaits"]["key"]))
    assert (made["status"], made["owner"], made["due_at"] - made["created_at"]) == (
        "open", owner, timedelta(hours=hours),
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("type_", [one.value for one in ActionType if one is not ActionType.ROLLBACK])
def test_its_effect(stage: Stage, new_stage: NewStage, type_: str, kind: str) -> None:
    if type_ == "circuit_breaker":
        stage = new_stage()  # what others wait for would wait behind it
    called: list[tuple[str, Any, str]] = []

    def function(claimed: Claimed, subject: Subject) -> dict[str, int]:
        called.append((subject.source, claimed.parameters.get("alternative"), claimed.idempotency_key))
        return {"done": 1}

    stage.executors |= {NAMES[name]: Executor(function) for name in ("retry", "fallback")}
    one = failed(stage, kind)
    if (type_, kind) == ("fallback", "intake"):
        with pytest.raises(InputRefused) as refused:
            executed(stage, one, type_)
        assert refused.value.code == "action_not_applicable"
        return
    row = executed(stage, one, type_)
    if type_ in ("retry", "fallback") and kind == "outside":
        assert called == [(one.source, GIVEN.get(type_, {}).get("alternative"), row["idempotency_key"])]
        assert (row["status"], row["result"], stage.status(one.match)[0]) == ("succeeded", {"done": 1}, "recovered")
        return
    assert called == []
    if type_ in REQUEUES and kind != "outside":
        requeued(stage, one, row, type_)
    match type_:
        case "circuit_breaker":
            found = stage.row("select * from recovery.breaker")
            assert (found["name"], found["status"], found["candidate_id"]) == (one.source, "open", row["candidate_id"])
            assert (row["status"], row["awaits"]["kind"]) == ("executing", "breaker" if kind == "outside" else kind)
        case "reconfigure":
            assert value(stage) == 5
        case "escalate" if kind == "error":
            error = stage.hub.row(one.ref)
            assert (error["status"], error["escalation_level"], error["escalated_to"]) == ("ESCALATED", 2, "lead")
            assert (row["status"], stage.match(one.match)["status"]) == ("succeeded", "evaluated")
        case "escalate":
            task(stage, row, "lead", 3)
        case "manual":
            task(stage, row, "ops", 5)
        case "notify":
            delivery = stage.row("select * from recoup.delivery where delivery_id = %s", UUID(row["awaits"]["key"]))
            assert (delivery["status"], delivery["route"], delivery["body"]["source"]) == ("queued", "log", one.source)
            assert stage.deliver() == 1
            stage.settle()
            assert stage.candidates(one.match)[-1]["status"] == "succeeded"
            assert stage.match(one.match)["status"] == "evaluated"  # a notice makes nothing go away
        case "skip":
            assert (row["status"], row["teaches"] and row["cell"] != "") == ("succeeded", False)
            assert stage.status(one.match) == ("accepted", f"accepted by {NAMES['skip']}")
            if kind == "error":
                error = stage.row("select * from recoup.error where error_table = %s and error_id = %s", DOL, one.ref)
                assert (error["archived_at"], error["archive_reason"]) == (row["effect_made_at"], "MANUAL")


def fails_again(stage: Stage, one: Failed, awaits: dict[str, Any]) -> None:
    """What was started for it has the same end; behind a breaker it is what tries the breaker."""
    stage.advance(minutes=2)
    if one.kind == "error":
        stage.fail(one.ref)
    elif one.kind == "intake":
        with stage.db.transaction(Authority.READER) as tx:
            for wait in (24, 72, 0):
                company.attempt_and(tx, UUID(awaits["key"]), ReasonCode.API_UNAVAILABLE)
                company.advance(tx, timedelta(hours=wait or 1))
    else:
        kind = stage.row("select kind from recovery.run where run_id = %s", one.ref)["kind"]
        with stage.db.transaction(Authority.RUNNER) as tx:
            (run,) = running.claim(tx, kind=kind, limit=1, owner="bob")
            running.finish(tx, [running.Failed(run_id=run.run_id, token=run.token, message="again")])
    stage.settle()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("undone", ["reconfigure", "circuit_breaker"])
def test_the_effect_of_a_rollback(new_stage: NewStage, undone: str, kind: str) -> None:
    """What stood before stands again, its digest the same; and what still fails is tried once more, without the change.

    An intake is started afresh once: the change has used that up, so nothing of it is awaited.
    """
    stage = new_stage()
    with stage.person("olga", Authority.OPERATOR) as tx:
        config.put(tx, "table.size", {"of": [1.0, None]})
    one = failed(stage, kind)
    changed = executed(stage, one, undone)
    if kind != "outside":
        fails_again(stage, one, changed["awaits"])
    elif undone == "circuit_breaker":  # its outcome does not come
        stage.advance(days=30)
        stage.settle()
    changed = stage.row("select * from recovery.candidate where candidate_id = %s", changed["candidate_id"])
    assert changed["status"] == ("succeeded" if (undone, kind) == ("reconfigure", "outside") else "failed")
    assert value(stage) == (5 if undone == "reconfigure" else {"of": [1.0, None]})
    with stage.person("paul", Authority.OPERATOR) as tx:
        made = undoing.rollback(tx, changed["candidate_id"], stage.policy, reason="it made things worse")
    proposed = stage.row("select * from recovery.candidate where candidate_id = %s", made)
    if proposed["scope_id"] is None:
        stage.scope(proposed["failure_match_id"], actions=[NAMES["rollback"]])
        stage.settle(executing=False)
    row = approved(stage, made)
    restored, left = row["result"]["restored"], changed["result"]["undo"]
    assert (restored["before_digest"], restored["after_digest"]) == (left["after_digest"], left["before_digest"])
    if undone == "circuit_breaker":
        assert stage.row("select status from recovery.breaker")["status"] == "closed"
    else:
        texts = stage.rows("select value::text from recovery.config where key = 'table.size' order by version")
        assert [text["value"] for text in texts] == ['{"of": [1.0, null]}', "5", '{"of": [1.0, null]}']
    if kind in ("error", "run"):
        assert row["failure_match_id"] == one.match
        assert (row["status"], row["awaits"]["kind"]) == ("executing", kind)
    else:
        assert row["failure_match_id"] != one.match
        assert (row["status"], row["awaits"]) == ("succeeded", None)
    stage.whole()
