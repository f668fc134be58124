"""A match in full: its subject, incident, evaluations, candidates, scopes, what it awaits, and all that happened.

Changes nothing. The next step is what a person does now, if there is something to do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.formatting import timestamp
from recoup.policy import versions
from recoup.recovery import facts, listing
from recoup.recovery.estimate import explain
from recoup.recovery.listing import Candidate, Incident
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.recommending import passed_over, why_not
from recoup.recovery.scopes import Scope
from recoup.recovery.scopes import show as show_scope
from recoup.recovery.vocabulary import CandidateStatus, Failure, MatchStatus, Skip, SubjectKind
from recoup.refusals import InputRefused

Q = load("recoup.recovery", "story.sql")
MAX_CANDIDATES = 100
MAX_EVALUATIONS = 100
MAX_EVENTS = 1_000
MAX_OTHERS = 20  # scopes, and matches that follow
MAX_SIMILAR = 5
OPEN = (CandidateStatus.PENDING, CandidateStatus.APPROVED, CandidateStatus.EXECUTING)
# Where a person sees what is awaited.
SHOWN_BY = {
    "error": "recoup errors show", "intake": "recoup gate show", "run": "recoup runs show",
    "delivery": "recoup deliveries show", "task": "recoup recovery tasks done",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Where a subject, or what was started for it, is now."""

    kind: str
    ref: str
    standing: str  # failed, busy, good or gone
    unit: str | None  # the newest unit of it
    status: str | None  # of that


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What the rules recommended."""

    evaluation_no: int
    rules: str
    fired: Sequence[str]
    recommended_action: str | None
    weight: float
    facts: Mapping[str, Any]
    errors: Mapping[str, str] | None  # of the rules whose evaluation failed
    policy_version: int
    evaluated_at: datetime
    passed_over: Mapping[str, str] = field(default_factory=dict)  # rules that were true and stronger, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried(Candidate):
    """A candidate of the match in full."""

    follows: UUID | None
    recommended_action: str | None
    idempotency_key: str | None
    lease_until: datetime | None
    effect_made_at: datetime | None
    reported: str | None
    overridden_by: str | None
    result: Any
    teaches: bool
    held_for_review: bool
    confidence_basis: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """What became of the same action in a similar case: for the same signature, if its outcome depends on that."""

    candidate_id: UUID
    failure_match_id: UUID
    source: str
    status: str
    error: str | None
    confidence: float
    finished_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Another match of the same subject."""

    failure_match_id: UUID
    status: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event of the provenance."""

    seq: int
    logged_at: datetime
    event_type: str
    candidate_id: UUID | None
    scope_id: UUID | None
    number: int | None
    from_status: str | None
    to_status: str | None
    action_name: str | None
    confidence: float | None
    evidence: int | None
    outcome: str | None
    reason: str | None
    facts: Mapping[str, Any] | None
    policy_version: int | None
    actor: str
    actor_id: str
    authority: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A match, and all that belongs to it."""

    match: Mapping[str, Any]
    asked: UUID | None  # the candidate that was asked for, if it was one
    subject: Situation | None  # None: it is not there any more
    incident: Incident
    evaluations: Sequence[Evaluation]
    candidates: Sequence[Tried]
    explanation: str | None  # of the confidence of the latest one, when it was rated
    similar: Sequence[Similar]  # the latest outcomes of its action that its confidence rests on
    awaits: Situation | None  # what the open candidate started
    scopes: Sequence[Scope]  # of its candidates, and active ones of its incident
    follows: Other | None
    followed_by: Sequence[Other]
    events: Sequence[Event]
    next_step: str
    read_at: datetime


def show(tx: Transaction, id_: UUID) -> Shown:
    """The whole story of a match, by its id or by that of one of its candidates."""
    place = tx.execute(Q["place"], {"id": id_}).fetchone()
    if place is None:
        raise InputRefused(
            "match_unknown",
            f"There is no match or candidate {id_}.",
            "List matches: recoup recovery matches",
            id=str(id_),
        )
    match_id, candidate_id = place
    with tx.cursor(row_factory=dict_row) as cursor:
        match = cursor.execute(Q["match"], {"match": match_id}).fetchone()
    assert match is not None
    read_at = match.pop("read_at")
    match["digest"] = match["digest"].hex()
    candidates = listing.candidates_of(tx, match_id, Tried, limit=MAX_CANDIDATES)
    subject, awaits = _standings(tx, match, candidates)
    scopes = _scopes(tx, match, candidates)
    events = {
        "match": match_id, "incident": match["incident_id"], "limit": MAX_EVENTS,
        "scopes": [scope.scope_id for scope in scopes],
    }  # fmt: skip
    others = {"match": match_id, "ref": match["subject_ref"], "kind": match["subject_kind"], "limit": MAX_OTHERS}
    before = _rows(tx, Other, "follows", {"follows": match["follows"]}) if match["follows"] is not None else []
    return Shown(
        match=match,
        asked=candidate_id,
        subject=subject,
        incident=listing.incident(tx, match["incident_id"]),
        evaluations=_evaluations(tx, match, candidates),
        candidates=candidates,
        explanation=_explained(candidates),
        similar=_similar(tx, candidates),
        awaits=awaits,
        scopes=scopes,
        follows=before[0] if before else None,
        followed_by=_rows(tx, Other, "followers", others),
        events=_rows(tx, Event, "events", events),
        next_step=next_step(match, candidates, scopes),
        read_at=read_at,
    )


def _standings(
    tx: Transaction, match: Mapping[str, Any], candidates: Sequence[Tried]
) -> tuple[Situation | None, Situation | None]:
    """Of the subject, and of what the open candidate awaits."""
    latest = candidates[-1] if candidates else None
    waiting = latest.awaits if latest is not None and latest.status == CandidateStatus.EXECUTING else None
    asked = [(match["subject_kind"], match["subject_ref"])]
    if waiting is not None:
        asked.append((waiting["kind"], waiting["key"]))
    given = {"kinds": [kind for kind, _ in asked], "refs": [ref for _, ref in asked]}
    found = {(one.kind, one.ref): one for one in _rows(tx, Situation, "standings", given)}
    return found.get(asked[0]), found.get(asked[1]) if len(asked) > 1 else None


def _evaluations(tx: Transaction, match: Mapping[str, Any], candidates: Sequence[Tried]) -> list[Evaluation]:
    """The latest ones, with the rules that each of them passed over."""
    given = {"match": match["failure_match_id"], "limit": MAX_EVALUATIONS}
    found: list[Evaluation] = _rows(tx, Evaluation, "evaluations", given)
    unclear = [one for one in found if len(one.fired) > 1 or (one.fired and one.recommended_action is None)]
    if not unclear:  # as most are: nothing but what decided was true
        return found
    policies = {
        version: versions.find(tx, version).policy[RecoveryPolicy]
        for version in {one.policy_version for one in unclear}
    }
    left_out = facts.not_applicable(tx, [match]).get((match["subject_kind"], match["subject_ref"]), ())

    def explained(one: Evaluation) -> Evaluation:
        policy = policies.get(one.policy_version)
        if policy is None:
            return one
        ended = candidates[: one.facts.get("candidates", 0)]
        why = {
            name: why_not(policy.rules[name], SubjectKind(match["subject_kind"]), ended, policy, left_out=left_out)
            for name in passed_over(one.fired, one.recommended_action, policy)
        }
        return replace(
            one, passed_over={name: said or "its action could not be executed" for name, said in why.items()}
        )

    return [explained(one) for one in found]


def _explained(candidates: Sequence[Tried]) -> str | None:
    latest = candidates[-1] if candidates else None
    return None if latest is None else explain(latest.confidence_basis, latest.confidence, latest.action_name)


def _similar(tx: Transaction, candidates: Sequence[Tried]) -> list[Similar]:
    given = {"candidate": candidates[-1].candidate_id, "limit": MAX_SIMILAR} if candidates else None
    return [] if given is None else _rows(tx, Similar, "similar", given)


def _scopes(tx: Transaction, match: Mapping[str, Any], candidates: Sequence[Tried]) -> list[Scope]:
    used = list({one.scope_id for one in candidates if one.scope_id is not None})
    given = {"scopes": used, "incident": match["incident_id"], "limit": MAX_OTHERS}
    return [show_scope(tx, id_) for (id_,) in tx.execute(Q["scopes"], given).fetchall()]


def _rows(tx: Transaction, kind: type[Any], query: str, given: Mapping[str, Any]) -> list[Any]:
    with tx.cursor(row_factory=class_row(kind)) as cursor:
        return cursor.execute(Q[query], given, prepare=False).fetchall()


# What to do next ------------------------------------------------------------------------------------------------------


def next_step(match: Mapping[str, Any], candidates: Sequence[Tried], scopes: Sequence[Scope]) -> str:
    """What a person does now; or what Recoup waits for."""
    id_ = match["failure_match_id"]
    match match["status"]:
        case MatchStatus.RECOVERED | MatchStatus.ACCEPTED:
            return "Nothing to do."
        case MatchStatus.UNRECOVERED:
            return f"Try another action: recoup recovery propose {id_} --action NAME"
        case MatchStatus.STUCK:
            return f"Fix what its evaluation fails with, then: recoup recovery evaluate {id_}"
    latest = candidates[-1] if candidates else None
    if match["reported_end"] is not None:
        return f"{match['reported_by']} reported that it is recovered; a worker closes it at its next evaluation."
    if latest is not None and latest.status in OPEN:
        return _of_candidate(latest)
    if latest is not None and latest.skip_reason in (Skip.SCOPE_ENDED, Skip.EXECUTE_OVERDUE):
        return _open_scope(latest)
    if latest is not None and latest.error == Failure.OUTCOME_OVERDUE and latest.awaits is not None:
        return f"Overdue. It continues when its {latest.awaits['kind']} has ended: {_seen(latest.awaits)}"
    if latest is None or latest.status != CandidateStatus.SUCCEEDED:
        return "A worker evaluates it: recoup worker"
    if match["subject_kind"] == "outside":
        return f'When the failure is gone: recoup recovery recovered {id_} --reason "…"'
    return f"Resolve its subject, or try another action: recoup recovery propose {id_} --action NAME"


def _of_candidate(one: Tried) -> str:
    if one.status == CandidateStatus.EXECUTING:
        if one.awaits is not None:
            due = "" if one.outcome_by is None else f" until {timestamp(one.outcome_by)}"
            return f"It awaits {one.awaits['kind']} {one.awaits['key']}{due}: {_seen(one.awaits)}"
        return f"{one.worker} executes it; without a result it fails at {_time(one.lease_until)}."
    if one.scope_id is None or one.scope_status != "active":
        return _open_scope(one)
    if one.waits_for == "start":
        return f"A worker that serves {one.action_name} starts it before {_time(one.execute_by)}: recoup worker"
    return f"Decide before {_time(one.decide_by)}: recoup recovery approve {one.candidate_id}, or reject it"


def _seen(awaits: Mapping[str, Any]) -> str:
    """The command that shows what is awaited, or ends it."""
    if awaits["kind"] == "breaker":
        return "recoup recovery breakers"
    return f"{SHOWN_BY.get(awaits['kind'], 'recoup find')} {awaits['key']}"


def _open_scope(one: Tried) -> str:
    return f"It has no active scope: recoup recovery scope open {one.incident_id} --action {one.action_name} --reason …"


def _time(at: datetime | None) -> str:
    return "–" if at is None else timestamp(at)
