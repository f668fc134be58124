"""The rows of recovery: how each comes into a status, and what a statement says to move it."""

from __future__ import annotations

from datetime import timedelta

import circuits
from company import advance
from conformance.cast import Actor, Role
from incidents import (
    APPROVE,
    BORN,
    DONE,
    ENDED,
    EVALUATION_ROW,
    RETRY,
    SCOPE_ROW,
    SKIPPED,
    START,
    candidate_in,
    config_in,
    evaluate,
    match_in,
    new_match,
    scope_in,
    task_in,
)
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.recovery.lifecycle import BREAKER, CANDIDATE, CONFIG, EVALUATION, INCIDENT, MATCH, SCOPE, TASK

EXECUTED = {"executing", "succeeded", "failed", "rolled_back"}
FINISHED = {"succeeded", "failed", "rolled_back", "rejected", "skipped"}
NEVER_STARTED = (
    "executed_at = null, worker = null, token = null, lease_until = null, effect_made_at = null, reported = null,"
    " awaits = null, outcome_by = null"
)
DECIDED = "decided_by = coalesce(decided_by, recoup.acting_id()), decided_at = coalesce(decided_at, t.now_)"
ENDS = {status: DONE.format(status) + ", error = 'x'" for status in ("succeeded", "failed", "rolled_back")}
# What the authority of each step writes. Of the steps that two may take: each its own.
LISTED = {
    (Authority.MATCHER, "pending", "pending"): "confidence = 0.9, confidence_of = action_name, updated_at = t.now_",
    (Authority.EVALUATOR, "pending", "pending"): "held_for_review = true, updated_at = t.now_",
    (Authority.REVIEWER, "pending", "approved"): APPROVE,
    (Authority.CLAIM_WORKER, "approved", "executing"): START,
    (Authority.CLAIM_WORKER, "pending", "executing"): START,
    (Authority.EXECUTOR, "executing", "executing"): "effect_made_at = t.now_, reported = 'failed', updated_at = t.now_",
    (Authority.EVALUATOR, "executing", "executing"): "overridden_by = 'ann', updated_at = t.now_",
    **{(Authority.EVALUATOR, "executing", status): change for status, change in ENDS.items()},
    **{(Authority.EVALUATOR, status, "skipped"): SKIPPED for status in ("pending", "approved")},
}


def candidate_change(actor: Actor, source: str, target: str) -> str:
    """What the checks demand of a step, and nothing more: whoever may write that much is refused by the guard."""
    if isinstance(actor, Authority) and (actor, source, target) in LISTED:
        return LISTED[actor, source, target]
    changes = [f"status = '{target}'", "updated_at = t.now_"]
    if (source in EXECUTED) != (target in EXECUTED):
        changes.append(START.split(", ", 1)[1].rsplit(", ", 1)[0] if target in EXECUTED else NEVER_STARTED)
    if (source in FINISHED) != (target in FINISHED):
        changes.append(f"finished_at = {'t.now_' if target in FINISHED else 'null'}")
    if target in ("approved", "rejected"):
        changes.append(DECIDED)
    if target == "rejected":
        changes.append("decision_note = coalesce(decision_note, 'no')")
    if (source == "skipped") != (target == "skipped"):
        changes.append(f"skip_reason = {chr(39) + 'OVERTAKEN' + chr(39) if target == 'skipped' else 'null'}")
    if target == "failed":
        changes.append("error = 'x'")
    return ", ".join(changes)


def match_change(actor: Actor, source: str, target: str) -> str:
    ended = {"recovered", "accepted", "unrecovered"}
    if target in ended:
        at = "recovered_at = " + ("coalesce(recovered_at, t.now_)" if target == "recovered" else "null")
        return f"{ENDED.format(target)}, {at}"
    back = ", ended_at = null, recovered_at = null" if source in ended else ""
    if source == target:
        return f"wakes = wakes + 1, evaluate_at = t.now_, updated_at = t.now_{back}"
    failures = ", evaluation_failures = 0, evaluate_at = t.now_" if actor is Authority.OPERATOR else ""
    return f"status = '{target}', updated_at = t.now_{failures}{back}"


def scope_change(actor: Actor, source: str, target: str) -> str:
    if actor is Authority.CLAIM_WORKER and source == target == "active":
        return "attempts_used = attempts_used + 1, cost_used = cost_used + 1"
    if target == "active":
        return "status = 'active', ended_at = null" + (
            "" if source == "active" else ", attempts_used = 0, cost_used = 0"
        )
    return f"status = '{target}', ended_at = t.now_"


def by_person(tx: Transaction) -> None:
    """A person decides; until the transaction ends."""
    tx.execute("select set_config('recoup.actor_kind', 'human', true), set_config('recoup.actor_id', 'ann', true)")


def given_scope(tx: Transaction) -> dict[str, object]:
    return {"incident": new_match(tx).incident_id, "actions": [RETRY], "attempts": 3, "cost": 3, "ttl": 60}


# Every column is named once; a status of one's own choosing stands before the rest.
BORN_SKIPPED = BORN.replace("(failure_match_id", "(status, skip_reason, finished_at, failure_match_id").replace(
    " select m.", " select 'skipped', 'OVERTAKEN', t.now_, m."
)
BORN_REVOKED = SCOPE_ROW.replace("(incident_id", "(status, ended_at, incident_id").replace(
    " select %(incident)s", " select 'revoked', now_, %(incident)s", 1
)
MATCH_ROW = (
    "({more}incident_id, source, idempotency_key, subject_kind, subject_ref, error_message, error_signature, category,"
    " digest, evaluate_at, match_until, policy_version, created_at, updated_at)"
    " select {values}%(incident)s, 's', gen_random_uuid()::text, 'outside', 'r', 'm', 's', 'TRANSIENT', sha256(''),"
    " now_, now_ + interval '1 day', 1, now_, now_ from (select recoup.now() as now_) t"
)
TASK_ROW = (
    "({more}incident_id, action_name, owner, subject, due_at, created_at)"
    " select {values}gen_random_uuid(), 'manual_intervention', 'ops', 's', now_, now_"
    " from (select recoup.now() as now_) t"
)
TASK_OPEN = "status = 'open', ended_at = null, ended_by = null"

RECOVERY_ROLES: tuple[Role, ...] = (
    Role(
        INCIDENT,
        {
            "open": "(source, error_signature, opened_at) values (gen_random_uuid()::text, 's', recoup.now())",
            "closed": "(source, error_signature, opened_at, status, closed_at)"
            " values (gen_random_uuid()::text, 's', recoup.now(), 'closed', recoup.now())",
        },
        {"open": "status = 'open', closed_at = null", "closed": "status = 'closed', closed_at = t.now_"},
    ),
    Role(
        MATCH,
        {
            "new": MATCH_ROW.format(more="", values=""),
            "evaluated": MATCH_ROW.format(more="status, ", values="'evaluated', "),
            "recovered": MATCH_ROW.format(more="status, ended_at, recovered_at, ", values="'recovered', now_, now_, "),
        },
        match_change,
        row_in=match_in,
        given=lambda tx: {"incident": new_match(tx).incident_id},
    ),
    Role(
        EVALUATION,
        {"done": EVALUATION_ROW},
        {"done": "recommended_action = 'forged'"},
        row_in=lambda tx, _: evaluate(tx, new_match(tx).match_id),
        given=lambda tx: {"match": new_match(tx).match_id, "number": 1},
    ),
    Role(
        CANDIDATE,
        {"pending": BORN, "skipped": BORN_SKIPPED},
        candidate_change,
        row_in=candidate_in,
        given=lambda tx: {"match": new_match(tx).match_id, "proposer": None, "action": RETRY},
        prepare={("pending", "approved"): by_person, ("pending", "rejected"): by_person},
    ),
    Role(
        SCOPE,
        {"active": SCOPE_ROW, "revoked": BORN_REVOKED},
        scope_change,
        row_in=scope_in,
        given=given_scope,
        prepare={("active", "expired"): lambda tx: advance(tx, timedelta(days=2))},
    ),
    Role(
        CONFIG,
        {
            "set": "(key, version, value, set_by, reason, set_at)"
            " select 'k' || replace(gen_random_uuid()::text, '-', ''), 1, '1', recoup.acting_id(), 'r', recoup.now()",
            "removed": "(key, version, status, set_by, reason, set_at)"
            " select 'k' || replace(gen_random_uuid()::text, '-', ''), 1, 'removed', recoup.acting_id(), 'r',"
            " recoup.now()",
        },
        {"set": "status = 'set', value = '2'", "removed": "status = 'removed', value = null"},
        row_in=config_in,
    ),
    Role(
        TASK,
        {
            "open": TASK_ROW.format(more="", values=""),
            "done": TASK_ROW.format(more="status, ended_at, ended_by, ", values="'done', now_, 'x', "),
        },
        lambda _actor, _source, target: (
            TASK_OPEN if target == "open" else f"status = '{target}', ended_at = t.now_, ended_by = recoup.acting_id()"
        ),
        row_in=task_in,
    ),
    Role(
        BREAKER,
        {
            "open": circuits.BORN.format(status="open", more="", values=""),
            "closed": circuits.BORN.format(status="closed", more=", closed_at, closed_by", values=", now_, 'x'"),
        },
        circuits.change,
        row_in=circuits.breaker_in,
        row_for={
            ("open", "half_open"): circuits.due,
            ("closed", "half_open"): circuits.closed,
            ("half_open", "closed"): lambda tx: circuits.tried(tx, well=True),
            ("half_open", "open"): lambda tx: circuits.tried(tx, well=False),
        },
    ),
)
