"""Failures to recover from, their candidates and scopes, in every situation, each step by whoever owns it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from company import ERRORS, acting, advance, error_in, intake_in, run_in
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.recovery.matches import NewFailure, ingest
from recoup.recovery.vocabulary import SubjectKind

RETRY, NOTIFY, MANUAL, SKIP = "retry_exponential", "notify_ops", "manual_intervention", "skip_step"
SURE, PROVEN = 0.9, 10  # a confidence and an evidence that every gate accepts
START = (
    "status = 'executing', executed_at = t.now_, worker = 'w', token = gen_random_uuid(),"
    " lease_until = t.now_ + interval '5 minutes', idempotency_key = coalesce(idempotency_key, candidate_id::text),"
    " updated_at = t.now_"
)
APPROVE = "status = 'approved', decided_by = recoup.acting_id(), decided_at = t.now_, updated_at = t.now_"
REJECT = (
    "status = 'rejected', decided_by = recoup.acting_id(), decided_at = t.now_, decision_note = 'no',"
    " finished_at = t.now_, updated_at = t.now_"
)
DONE = "effect_made_at = t.now_, reported = '{0}', status = '{0}', finished_at = t.now_, updated_at = t.now_"
SKIPPED = "status = 'skipped', skip_reason = 'SCOPE_ENDED', finished_at = t.now_, teaches = false, updated_at = t.now_"
ENDED = "status = '{0}', ended_at = t.now_, end_reason = 'x', updated_at = t.now_"


@dataclass(frozen=True)
class Match:
    """A failure that is to be recovered from."""

    match_id: UUID
    incident_id: UUID
    source: str
    signature: str
    kind: str


@contextmanager
def person(tx: Transaction, name: str) -> Iterator[None]:
    """Act as a person of that name."""
    names = ("recoup.actor_kind", "recoup.actor_id")
    before = tx.execute("select current_setting(%s, true), current_setting(%s, true)", names).fetchone() or ("", "")
    for setting, value in zip(names, ("human", name), strict=True):
        tx.execute("select set_config(%s, %s, true)", (setting, value))
    yield
    for setting, value in zip(names, before, strict=True):
        tx.execute("select set_config(%s, %s, true)", (setting, value or ""))


def subject_of(tx: Transaction, kind: str) -> str:
    """Something of that kind that failed, by its ref."""
    match kind:
        case "error":
            return f"{ERRORS}/{error_in(tx, 'PARKED')}"
        case "intake":
            return str(intake_in(tx, "EXHAUSTED"))
        case "run":
            return str(run_in(tx, "crashed"))
    return f"{kind}-{uuid.uuid4().hex[:8]}"


def new_match(tx: Transaction, kind: str = "outside", *, like: Match | None = None, ref: str | None = None) -> Match:
    """A failure, ingested: of a source and signature of its own, or of those of another."""
    source = like.source if like is not None else f"source-{uuid.uuid4().hex[:8]}"
    signature = like.signature if like is not None else f"s-{uuid.uuid4().hex[:8]}"
    failure = NewFailure(
        source=source, message="timed out", key=uuid.uuid4().hex, signature=signature, kind=SubjectKind(kind),
        ref=ref or subject_of(tx, kind),
    )  # fmt: skip
    with acting(tx, Authority.MATCHER):
        ((made, _),) = ingest(tx, [failure])
    assert made is not None
    (incident,) = tx.execute(
        "select incident_id from recovery.failure_match where failure_match_id = %s", (made,)
    ).fetchone() or (None,)
    assert isinstance(incident, UUID)
    return Match(made, incident, source, signature, kind)


SCOPE_ROW = (
    "(incident_id, allowed_actions, max_attempts, cost_limit, least_cost, ttl_seconds, expires_at, opened_by, reason,"
    " policy_version, opened_at)"
    " select %(incident)s, %(actions)s::text[], %(attempts)s, %(cost)s, (select min((recovery.policy() -> 'actions'"
    " -> a ->> 'cost')::integer) from unnest(%(actions)s::text[]) a), %(ttl)s, now_ + make_interval(secs => %(ttl)s),"
    " recoup.acting_id(), 'a test', recoup.policy_version(), now_ from (select recoup.now() as now_) t"
)


def new_scope(
    tx: Transaction,
    incident: UUID,
    actions: Sequence[str] = (RETRY,),
    *,
    attempts: int = 10,
    cost: int = 100,
    ttl: int = 86_400,
) -> UUID:
    given = {"incident": incident, "actions": list(actions), "attempts": attempts, "cost": cost, "ttl": ttl}
    with acting(tx, Authority.SCOPED_EXECUTION):
        return _id(tx, f"insert into recovery.scope {SCOPE_ROW} returning scope_id", given)


BORN = (
    "(failure_match_id, incident_id, error_signature, subject_kind, proposed_by, recommended_action, decide_by,"
    " policy_version, created_at, updated_at)"
    " select m.failure_match_id, m.incident_id, m.error_signature, m.subject_kind, %(proposer)s, %(action)s,"
    " t.now_ + interval '3 days', recoup.policy_version(), t.now_, t.now_"
    " from recovery.failure_match m, (select recoup.now() as now_) t where m.failure_match_id = %(match)s"
)
SELECT = (
    "action_name = %(action)s, action_type = a.value ->> 'type', parameters = a.value -> 'parameters',"
    " cost = (a.value ->> 'cost')::integer, timeout_s = (a.value ->> 'timeout_s')::integer,"
    " is_automated = (a.value ->> 'is_automated')::boolean,"
    " requires_approval = (a.value ->> 'requires_approval')::boolean,"
    " scope_id = s.scope_id, execute_by = s.expires_at, confidence_of = null, updated_at = recoup.now()"
)


def new_candidate(tx: Transaction, match: Match, action: str = RETRY, *, proposer: str | None = None) -> UUID:
    """Born, and no more: without action and confidence."""
    given = {"match": match.match_id, "proposer": proposer, "action": action}
    with acting(tx, Authority.MATCHER):
        return _id(tx, f"insert into recovery.candidate {BORN} returning candidate_id", given)


def select_action(tx: Transaction, candidate: UUID, action: str = RETRY, scope: UUID | None = None) -> None:
    """The action as the active policy has it."""
    with acting(tx, Authority.EVALUATOR):
        done = tx.execute(
            f"update recovery.candidate c set {SELECT}"
            " from (select recovery.policy() -> 'actions' -> %(action)s as value) a"
            " left join recovery.scope s on s.scope_id = %(scope)s where c.candidate_id = %(candidate)s".encode(),
            {"action": action, "scope": scope, "candidate": candidate},
        )
    assert done.rowcount == 1


def rate(tx: Transaction, candidate: UUID, confidence: float = SURE, evidence: int = PROVEN) -> None:
    given = {"confidence": confidence, "evidence": evidence}
    change(
        tx, Authority.MATCHER, candidate,
        "confidence = %(confidence)s, confidence_of = action_name, evidence = %(evidence)s", **given,
    )  # fmt: skip


def change(tx: Transaction, who: Authority | str | None, candidate: UUID, changed: str, **given: object) -> None:
    """A plain UPDATE of one candidate, as somebody."""
    statement = (
        f"update recovery.candidate set {changed} from (select recoup.now() as now_) t where candidate_id = %(key)s"
    )
    with acting(tx, who):
        assert tx.execute(statement.encode(), {"key": candidate, **given}).rowcount == 1


def ready(
    tx: Transaction,
    match: Match | None = None,
    action: str = RETRY,
    *,
    kind: str = "outside",
    scope: UUID | None = None,
    proposer: str | None = None,
) -> UUID:
    """A pending candidate for which every gate is open, as far as its subject allows."""
    of = match or new_match(tx, kind)
    candidate = new_candidate(tx, of, action, proposer=proposer)
    select_action(tx, candidate, action, scope or new_scope(tx, of.incident_id, (action,)))
    rate(tx, candidate)
    return candidate


def approve(tx: Transaction, candidate: UUID, who: str = "ann") -> UUID:
    with person(tx, who):
        change(tx, Authority.REVIEWER, candidate, APPROVE)
    return candidate


def start(tx: Transaction, candidate: UUID) -> UUID:
    """Started by hand, so that no other candidate is."""
    change(tx, Authority.CLAIM_WORKER, candidate, START)
    return candidate


def make_effect(tx: Transaction, candidate: UUID) -> str:
    """The effect of one candidate in this database."""
    with acting(tx, Authority.EXECUTOR):
        (statuses,) = tx.execute(
            "select e.statuses from recovery.candidate c,"
            " recovery.make_effects(array[c.candidate_id], array[c.token]) e where c.candidate_id = %s",
            (candidate,),
        ).fetchone() or ([],)
    return str(statuses[0])


def candidate_in(tx: Transaction, status: str) -> UUID:
    candidate = ready(tx)
    match status:
        case "approved":
            approve(tx, candidate)
        case "rejected":
            with person(tx, "ann"):
                change(tx, Authority.REVIEWER, candidate, REJECT)
        case "skipped":
            change(tx, Authority.EVALUATOR, candidate, SKIPPED)
        case "executing":
            start(tx, candidate)
        case "succeeded" | "failed" | "rolled_back":
            start(tx, candidate)
            change(tx, Authority.EVALUATOR, candidate, DONE.format(status) + ", error = 'x'")
    return candidate


def scope_in(tx: Transaction, status: str) -> UUID:
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id, attempts=1 if status == "exhausted" else 10)
    match status:
        case "exhausted":
            start(tx, ready(tx, match, scope=scope))
        case "expired":
            advance(tx, timedelta(days=2))
            end_scope(tx, scope, "expired")
        case "revoked":
            end_scope(tx, scope, "revoked")
    return scope


def end_scope(tx: Transaction, scope: UUID, status: str) -> None:
    with acting(tx, Authority.SCOPED_EXECUTION):
        tx.execute(
            "update recovery.scope set status = %s, ended_at = recoup.now() where scope_id = %s", (status, scope)
        )


def move_match(tx: Transaction, match: UUID, changed: str, who: Authority = Authority.EVALUATOR) -> None:
    statement = f"update recovery.failure_match set {changed} from (select recoup.now() as now_) t"
    with acting(tx, who):
        assert tx.execute(f"{statement} where failure_match_id = %s".encode(), (match,)).rowcount == 1


def match_in(tx: Transaction, status: str) -> UUID:
    match = new_match(tx).match_id
    if status in ("evaluated", "stuck"):
        move_match(tx, match, f"status = '{status}', updated_at = t.now_")
    elif status != "new":
        recovered = ", recovered_at = t.now_" if status == "recovered" else ""
        move_match(tx, match, ENDED.format(status) + recovered)
    return match


def task_in(tx: Transaction, status: str) -> UUID:
    """A task for a person, made by the action manual."""
    candidate = start(tx, ready(tx, action=MANUAL))
    assert make_effect(tx, candidate) == "made"
    (task,) = tx.execute(
        "select (awaits ->> 'key')::uuid from recovery.candidate where candidate_id = %s", (candidate,)
    ).fetchone() or (None,)
    assert isinstance(task, UUID)
    if status != "open":
        with acting(tx, Authority.OPERATOR):
            tx.execute(
                "update recovery.task set status = %s, ended_at = recoup.now(), ended_by = recoup.acting_id()"
                " where task_id = %s",
                (status, task),
            )
    return task


@contextmanager
def unguarded(tx: Transaction, table: str) -> Iterator[None]:
    """Without the triggers of a table, to put something there that would take many steps."""
    triggers = "select tgname from pg_trigger where tgrelid = %s::regclass and not tgisinternal"
    with acting(tx, None):
        names = [name for (name,) in tx.execute(triggers, (table,)).fetchall()]
        for name in names:
            tx.execute(f"alter table {table} disable trigger {name}".encode())
        yield
        for name in names:
            tx.execute(f"alter table {table} enable always trigger {name}".encode())


def config_in(tx: Transaction, status: str) -> int:
    """A version of a key: set by a person, or removed as a rollback does."""
    key = f"k{uuid.uuid4().hex}"
    with acting(tx, Authority.OPERATOR):
        tx.execute("select recovery.put_config(%s, '1')", (key,))
    if status == "set":
        return 1
    with unguarded(tx, "recovery.config"):
        tx.execute("select recovery.put_config(%s, null)", (key,))
    return 2


def evaluate(tx: Transaction, match: UUID, number: int = 1) -> int:
    with acting(tx, Authority.RULE_ENGINE):
        tx.execute(f"insert into recovery.evaluation {EVALUATION_ROW}".encode(), {"match": match, "number": number})
    return number


EVALUATION_ROW = (
    "(failure_match_id, evaluation_no, rules, fired, weight, facts, policy_version, evaluated_at)"
    " values (%(match)s, %(number)s, 'plan', '{new}', 1, '{}', recoup.policy_version(), recoup.now())"
)


def _id(tx: Transaction, statement: str, given: Mapping[str, Any]) -> UUID:
    (made,) = tx.execute(statement.encode(), given).fetchone() or (None,)
    assert isinstance(made, UUID)
    return made
