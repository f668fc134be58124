"""Reading recovery: matches, candidates, incidents, tasks and actions, page by page. Changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from psycopg.rows import class_row
from psycopg.sql import Composed

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.inputs import shown
from recoup.recovery.confidence import shares
from recoup.recovery.estimate import explain
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.recommending import applicable
from recoup.recovery.review import MATCHING
from recoup.recovery.review import Filter as Which
from recoup.recovery.vocabulary import CandidateStatus, MatchStatus, SubjectKind
from recoup.refusals import InputRefused

Q = load("recoup.recovery", "listing.sql")
MAX_COUNTED = 1_000  # matches of an incident, or candidates of a task, that are counted
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A match as a list shows it, with its latest candidate."""

    failure_match_id: UUID
    incident_id: UUID
    source: str
    idempotency_key: str
    subject_kind: str
    subject_ref: str
    error_code: str | None
    error_message: str
    error_signature: str
    category: str
    status: str
    follows: UUID | None
    evaluate_at: datetime
    match_until: datetime
    evaluation_no: int
    evaluation_failures: int
    last_failure: str | None
    reported_by: str | None
    end_reason: str | None
    created_at: datetime
    ended_at: datetime | None
    candidate_id: UUID | None
    action_name: str | None
    candidate_status: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A candidate as a list shows it, with what is left of its scope."""

    candidate_id: UUID
    failure_match_id: UUID
    incident_id: UUID
    source: str
    subject_kind: str
    subject_ref: str
    error_message: str
    error_signature: str
    status: str
    action_name: str | None
    action_type: str | None
    parameters: Mapping[str, Any] | None
    cost: int | None
    confidence: float
    evidence: int  # how many outcomes the confidence rests on
    proposed_by: str | None
    scope_id: UUID | None
    scope_status: str | None
    attempts_left: int | None
    cost_left: int | None
    scope_expires_at: datetime | None
    decide_by: datetime
    execute_by: datetime | None
    outcome_by: datetime | None
    decided_by: str | None
    decided_at: datetime | None
    decision_note: str | None
    worker: str | None
    executed_at: datetime | None
    awaits: Mapping[str, Any] | None
    finished_at: datetime | None
    skip_reason: str | None
    error: str | None
    created_at: datetime
    waits_for: str | None  # decision, start or outcome; None: it has ended
    unit: str  # id:digest: what approve and reject take, bound to what is shown here


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """An incident, with its latest matches counted, at most MAX_COUNTED."""

    incident_id: UUID
    source: str
    error_signature: str
    status: str
    follows: UUID | None
    opened_at: datetime
    closed_at: datetime | None
    matches: int
    open: int
    stuck: int
    last_match_at: datetime | None
    error_message: str | None
    active_scopes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task, and how many candidates await it, at most MAX_COUNTED."""

    task_id: UUID
    incident_id: UUID
    action_name: str
    owner: str
    subject: str
    status: str
    due_at: datetime
    is_overdue: bool
    created_at: datetime
    ended_at: datetime | None
    ended_by: str | None
    note: str | None
    candidates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAction:
    """An action of the active policy, its gates, and the latest outcomes that its confidence rests on."""

    action_name: str
    type: str
    kind: str  # corrective: fixes the problem; compensating: manages its impact
    is_automated: bool
    requires_approval: bool
    cost: int
    timeout_s: int
    parameters: Mapping[str, Any]
    applies_to: tuple[str, ...]
    paused: str | None  # who paused it, and why
    succeeded: int
    ended: int
    awaiting: int
    confidence: float


class Cursor(NamedTuple):
    """Where a page of candidates ended: what they wait for, and the last one."""

    waits_for: str
    by_itself: bool
    id: UUID

    @classmethod
    def of(cls, one: Candidate) -> "Cursor":
        if one.waits_for == "decision":
            return cls("decision", False, one.failure_match_id)
        return cls("start", one.decided_at is None, one.candidate_id)

    @classmethod
    def read(cls, text: str) -> "Cursor":
        """As __str__ writes it."""
        waits_for, _, rest = text.partition(".")
        words = {"decision": ("decision", False), "start": ("start", False), "automatic": ("start", True)}
        return cls(*words.get(waits_for, ("decision", False)), read_id(rest, "candidate", "recoup recovery list"))

    def __str__(self) -> str:
        return f"{'automatic' if self.by_itself else self.waits_for}.{self.id}"


def read_id(given: object, what: str, listed: str) -> UUID:
    """An id; or a refusal."""
    if type(given) is UUID:
        return given
    try:
        return UUID(str(given))
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything
        raise InputRefused(
            f"{what}_id", f"{shown(given)} is not the id of a {what}.", f"Ids are in: {listed}"
        ) from None


def matches(
    tx: Transaction,
    *,
    statuses: Sequence[str] = (),
    source: str | None = None,
    kind: str | None = None,
    signature: str | None = None,
    incident: UUID | None = None,
    limit: int = 100,
    after: UUID | None = None,
) -> list[Match]:
    """Matches, newest first. ``after``, the id of the last that was listed, gives the next page."""
    given = {
        "statuses": _words(MatchStatus, statuses, "status"), "source": _text(source),
        "kind": None if kind is None else (_words(SubjectKind, [kind], "kind") or [""])[0],
        "signature": _text(signature), "incident": incident, "limit": limit, "after": after,
        "stuck": list(statuses) == [MatchStatus.STUCK],
    }  # fmt: skip
    query = Q["matches" if incident is None else "matches_of_incident"]
    return _rows(tx, Match, query.format(columns=Q["match_columns"], matching=Q["matching"]), given)


def matches_of(tx: Transaction, kind: SubjectKind, ref: str, *, limit: int = 10) -> list[Match]:
    """The matches of one subject, newest first."""
    given = {"kind": kind.value, "ref": _text(ref), "limit": limit}
    return _rows(tx, Match, Q["matches_of_subject"].format(columns=Q["match_columns"]), given)


def candidates(
    tx: Transaction,
    asked: Which | None = None,
    *,
    statuses: Sequence[str] = (),
    limit: int = 100,
    after: Cursor | UUID | None = None,
) -> list[Candidate]:
    """Candidates that wait for a decision, then what waits for its start; or those in ``statuses``, newest first.

    ``after`` gives the next page: the Cursor of the last one; of a list by statuses, its id.
    """
    conditions = {name: _text(value) for name, value in (asked or Which()).conditions.items()}
    if statuses:
        given = {"statuses": _words(CandidateStatus, statuses, "status"), "limit": limit, "after": after}
        return _candidates(tx, "in_status", conditions | given)
    begun = after if isinstance(after, Cursor) else None
    found: list[Candidate] = []
    if begun is None or begun.waits_for == "decision":
        found = _candidates(tx, "undecided", conditions | {"limit": limit, "after": begun.id if begun else None})
    if len(found) < limit:
        later = begun if begun is not None and begun.waits_for == "start" else None
        rest = {
            "limit": limit - len(found), "after": later.id if later else None,
            "by_itself": later.by_itself if later else False,
        }  # fmt: skip
        found += _candidates(tx, "startable", conditions | rest)
    return found


def candidates_of(tx: Transaction, match: UUID, kind: type[Row], *, limit: int) -> list[Row]:
    """All candidates of a match in full, oldest first."""
    return _rows(tx, kind, _composed("candidates_of"), {"match": match, "limit": limit})


def explanations(tx: Transaction, candidates: Sequence[UUID]) -> dict[UUID, str | None]:
    """Why the confidence of candidates is what it is, each in a sentence; None: it was not rated."""
    rows = tx.execute(Q["bases"], {"ids": list(candidates)}).fetchall()
    return {id_: explain(basis, confidence, action) for id_, basis, confidence, action in rows}


def statuses(tx: Transaction, candidates: Sequence[UUID]) -> list[str | None]:
    """The status of candidates now; None: there is none."""
    found: dict[UUID, str] = dict(tx.execute(Q["statuses"], {"ids": list(candidates)}).fetchall())
    return [found.get(one) for one in candidates]


def incidents(
    tx: Transaction, *, source: str | None = None, closed: bool = False, limit: int = 100, after: UUID | None = None
) -> list[Incident]:
    """Open incidents by source and signature; with ``closed``, all of them, newest first."""
    given = {"source": _text(source), "limit": limit, "after": after, "most": MAX_COUNTED}
    query = Q["all_incidents" if closed else "open_incidents"].format(columns=Q["incident_columns"])
    return _rows(tx, Incident, query, given)


def incident(tx: Transaction, incident_id: UUID) -> Incident:
    """One incident."""
    query = Q["incident"].format(columns=Q["incident_columns"])
    found = _rows(tx, Incident, query, {"incident": incident_id, "most": MAX_COUNTED})
    if not found:
        raise InputRefused(
            "incident_unknown", f"There is no incident {incident_id}.", "List them: recoup recovery incidents"
        )
    return found[0]


def tasks(
    tx: Transaction, *, owner: str | None = None, ended: bool = False, limit: int = 100, after: UUID | None = None
) -> list[Task]:
    """Open tasks, those that are due first; with ``ended``, all of them, newest first."""
    given = {"owner": _text(owner), "limit": limit, "after": after, "most": MAX_COUNTED}
    return _rows(tx, Task, Q["all_tasks" if ended else "open_tasks"].format(columns=Q["task_columns"]), given)


def task(tx: Transaction, task_id: UUID) -> Task:
    """One task."""
    found = _rows(tx, Task, Q["task"].format(columns=Q["task_columns"]), {"task": task_id, "most": MAX_COUNTED})
    if not found:
        raise InputRefused("task_unknown", f"There is no task {task_id}.", "List them: recoup recovery tasks")
    return found[0]


def actions(tx: Transaction, policy: RecoveryPolicy) -> list[ListedAction]:
    """The actions of a policy, with their gates, whether they are paused, and their latest outcomes."""
    held = {name: f"{by}: {why}" for name, by, why in tx.execute(Q["paused_actions"])}
    everything = next((held[name] for name in ("everything", "recovery.candidate") if name in held), None)
    known = shares(tx, policy.actions, policy)
    return [
        ListedAction(
            action_name=name,
            type=action.type,
            kind="corrective" if action.type.is_corrective else "compensating",
            is_automated=action.is_automated,
            requires_approval=action.requires_approval,
            cost=action.cost,
            timeout_s=action.timeout_s,
            parameters=action.parameters,
            applies_to=tuple(kind.value for kind in SubjectKind if applicable(action, kind)),
            paused=everything or held.get(name),
            succeeded=known[name].succeeded,
            ended=known[name].ended,
            awaiting=known[name].awaiting,
            confidence=known[name].confidence,
        )
        for name, action in policy.actions.items()
    ]


def _candidates(tx: Transaction, query: str, given: Mapping[str, Any]) -> list[Candidate]:
    return _rows(tx, Candidate, _composed(query), given)


def _composed(query: str) -> Composed:
    return Q[query].format(columns=Q["candidate_columns"], details=Q["candidate_details"], matching=MATCHING)


def _rows(tx: Transaction, kind: type[Row], query: Any, given: Mapping[str, Any]) -> list[Row]:
    with tx.cursor(row_factory=class_row(kind)) as cursor:
        return cursor.execute(query, given, prepare=False).fetchall()


def _words(known: Any, given: Sequence[str], what: str) -> list[str] | None:
    for one in given:
        if one not in list(known):
            raise InputRefused(f"{what}_unknown", f"{shown(one)} is no {what}.", f"Use one of: {', '.join(known)}.")
    return [str(one) for one in given] or None


def _text(given: str | None) -> str | None:
    if given is not None and "\0" in given:
        raise InputRefused("text_has_nul", f"{given[:50]!r} holds a NUL character.", "Remove it.")
    return given
