"""Executing candidates: claimed within their scopes, their effects made, their outcomes written, in sets.

What an action makes in this database is made in the transaction that starts its candidate: both happen, or neither.
What it makes elsewhere is made by a function of yours, between two transactions, under a lease. It gets an idempotency
key; a function that honours it makes its effect once, also when a worker dies and the action is repeated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from psycopg.rows import class_row

from recoup.database.acting import acting_as
from recoup.database.arrays import Routine, records
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.recovery import effects
from recoup.recovery.texts import json_text
from recoup.recovery.vocabulary import ActionType, CandidateStatus, SubjectKind
from recoup.redaction import in_words
from recoup.worker.duty import seconds
from recoup.worker.lease import check_lease

Q = load("recoup.recovery", "executing.sql")
MAX_ERROR = 2_000
MAX_LEASE = timedelta(hours=24)
CLAIM = Routine(
    name="recovery.claim_candidates",
    plain={"among": "text[]", "most": "integer", "worker_": "text", "lease": "interval", "outside": "boolean"},
    results={
        "candidate_id": "ids", "failure_match_id": "matches", "action_name": "actions", "action_type": "types",
        "subject_kind": "kinds", "parameters": "given", "idempotency_key": "keys", "timeout_s": "timeouts",
        "token": "token_", "lease_until": "until_",
    },
)  # fmt: skip
FINISH = Routine(
    name="recovery.finish_candidates",
    sets=({"ids_": "uuid", "tokens": "uuid", "outcomes": "text", "results": "jsonb", "errors": "text"},),
    optional=frozenset({"results", "errors"}),
    results={"candidate_id": "finished", "status": "statuses"},
)
TURN = Routine(
    name="recovery.turn",
    sets=FINISH.sets,
    optional=FINISH.optional,
    plain={name: kind for name, kind in CLAIM.plain.items() if name != "outside"},
    results={**CLAIM.results, "finished": "finished", "statuses": "statuses"},
)
EFFECTS = Routine(
    name="recovery.make_effects",
    sets=({"ids_": "uuid", "tokens": "uuid"},),
    results={"candidate_id": "candidates", "status": "statuses"},
)


class Claimed(NamedTuple):
    """A candidate that was started: it is yours until its lease expires."""

    candidate_id: UUID
    failure_match_id: UUID
    action_name: str
    action_type: str
    subject_kind: str
    parameters: Mapping[str, Any]
    idempotency_key: str
    timeout_s: int
    token: UUID
    lease_until: datetime

    @property
    def makes(self) -> str | None:
        """What its effect makes in this database; None: it is made elsewhere."""
        return effects.makes(ActionType(self.action_type), SubjectKind(self.subject_kind), self.parameters)

    @property
    def is_ours(self) -> bool:
        """Whether its effect is made in this database."""
        return self.makes is not None

    @property
    def served_as(self) -> str:
        """The name under which its executor is known."""
        return effects.served_as(self.action_name, ActionType(self.action_type), self.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a candidate is for."""

    candidate_id: UUID
    source: str
    subject_ref: str
    error_code: str | None
    error_message: str
    error_signature: str
    context: Any
    undoes: Any = None  # of a rollback: action, parameters, result and idempotency key of what it undoes


class Outcome(NamedTuple):
    """How an action ended. Of one that succeeded the failure is gone."""

    succeeded: bool
    error: str | None = None
    result: Any = None
    rolled_back: bool = False  # it did not work, and undid what it had done

    @property
    def status(self) -> CandidateStatus:
        if self.rolled_back:
            return CandidateStatus.ROLLED_BACK
        return CandidateStatus.SUCCEEDED if self.succeeded else CandidateStatus.FAILED


@dataclass(frozen=True, slots=True)
class Failed:
    """Returned by a function of yours: the action did not work."""

    message: str


@dataclass(frozen=True, slots=True)
class RolledBack:
    """Returned by a function of yours: the action did not work, and undid what it had done."""

    message: str
    result: Any = None


# A function of yours: takes what is executed and its subject; returns a JSON value or nothing when it worked; raises,
# or returns Failed, when it did not. One for the database also takes the transaction in which its outcome is written.
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Executor:
    """How an action outside of Recoup's own tables is executed."""

    function: Function
    database: bool = False  # called with the transaction in which its outcome is written
    # Undoes it, for a rollback: called as the function is, with a subject that says what is undone. The action declares
    # it in the policy: undo = true.
    undo: Function | None = None


Executors = Mapping[str, Executor]


def served(executors: Executors) -> dict[str, Executor]:
    """Everything that executors serve: their actions, and the undoing of those that can be undone."""
    undoing = {
        effects.undo_of(name): Executor(one.undo, one.database)
        for name, one in executors.items() if one.undo is not None
    }  # fmt: skip
    return {**executors, **undoing}


def claim(
    tx: Transaction,
    *,
    limit: int,
    worker: str,
    actions: Sequence[str] | None = None,
    lease: timedelta | None = None,
    outside: bool = False,
) -> list[Claimed]:
    """Start up to ``limit`` candidates that may start, approved ones first, within what is left of their scopes.

    actions: those that you can execute outside of this database; None: all. outside: only what is executed there.
    """
    check_lease(lease, most=MAX_LEASE)
    among = None if actions is None else list(actions)
    return records(Claimed, CLAIM.call(tx, among=among, most=limit, worker_=worker, lease=lease, outside=outside))


class Held(Protocol):
    """A claim: the candidate, and the token under which it was claimed."""

    @property
    def candidate_id(self) -> UUID: ...

    @property
    def token(self) -> UUID: ...


def finish(tx: Transaction, ended: Sequence[tuple[Held, Outcome]]) -> list[str]:
    """End candidates as their actions reported, in one statement. Late ones are stored, and not applied.

    Of each: succeeded, failed, rolled_back, or late; made, if it was reported before.
    """
    return _statuses(ended, FINISH.call(tx, **_reports(ended))) if ended else []


def turn(
    tx: Transaction,
    ended: Sequence[tuple[Held, Outcome]],
    *,
    limit: int,
    worker: str,
    actions: Sequence[str] | None = None,
    lease: timedelta | None = None,
) -> tuple[list[str], list[Claimed]]:
    """End candidates and start the next ones, as finish and claim do, in one statement; as the claim worker.

    The login has the evaluator's authority, too.
    """
    check_lease(lease, most=MAX_LEASE)
    among = None if actions is None else list(actions)
    found = TURN.call(tx, **_reports(ended), among=among, most=limit, worker_=worker, lease=lease)
    ended_now = {"candidate_id": found.pop("finished"), "status": found.pop("statuses")}
    return _statuses(ended, ended_now) if ended else [], records(Claimed, found)


def _reports(ended: Sequence[tuple[Held, Outcome]]) -> dict[str, Any]:
    ended = sorted(ended, key=lambda pair: pair[0].candidate_id.int)  # the order in which everybody locks candidates
    results = [None if o.result is None else json_text(o.result) for _, o in ended]
    errors = [
        None if o.status is CandidateStatus.SUCCEEDED else in_words(o.error or "failed")[:MAX_ERROR] for _, o in ended
    ]
    return {
        "ids_": [one.candidate_id for one, _ in ended],
        "tokens": [one.token for one, _ in ended],
        "outcomes": [o.status.value for _, o in ended],
        "results": results if any(results) else None,
        "errors": errors if any(errors) else None,
    }


def _statuses(ended: Sequence[tuple[Held, Outcome]], found: Mapping[str, Any]) -> list[str]:
    became = dict(zip(found["candidate_id"], found["status"], strict=True))
    return [became[one.candidate_id] for one, _ in ended]


def make_effects(tx: Transaction, claimed: Sequence[Claimed]) -> list[str]:
    """Make effects in this database, as the executor; then end what awaits nothing, or could not be executed.

    Of each: made, late, or why not (SCOPE_REVOKED, SUBJECT_CHANGED, CONFLICT, HIGHEST_TIER).
    """
    if not claimed:
        return []
    with acting_as(tx, Authority.EXECUTOR):
        found = EFFECTS.call(tx, ids_=[one.candidate_id for one in claimed], tokens=[one.token for one in claimed])
    answers = dict(zip(found["candidate_id"], found["status"], strict=True))
    refused = {one: answer for one, answer in answers.items() if answer not in ("made", "late")}
    with acting_as(tx, Authority.EVALUATOR):
        done = [one.candidate_id for one in claimed if one.makes == effects.NOTHING]
        if done:
            tx.execute(Q["end_reported"], {"ids": done})
        if refused:
            people: dict[UUID, str] = dict(tx.execute(Q["changed_by"], {"ids": list(refused)}).fetchall())
            end_failed(tx, refused, teach=False, people=people)
    return [answers[one.candidate_id] for one in claimed]


def end_failed(
    tx: Transaction, errors: Mapping[UUID, str], *, teach: bool, people: Mapping[UUID, str] | None = None
) -> None:
    given = {
        "ids": list(errors), "targets": [CandidateStatus.FAILED.value] * len(errors), "errors": list(errors.values()),
        "teach": [teach] * len(errors), "people": [(people or {}).get(one) for one in errors],
    }  # fmt: skip
    tx.execute(Q["end_candidates"], given)


def subjects(tx: Transaction, claimed: Sequence[Claimed]) -> dict[UUID, Subject]:
    """What candidates are for, by candidate."""
    with tx.cursor(row_factory=class_row(Subject)) as cursor:
        found = cursor.execute(Q["subjects"], {"ids": [one.candidate_id for one in claimed]}).fetchall()
    return {one.candidate_id: one for one in found}


def expire(tx: Transaction, *, limit: int = 1000, only: UUID | None = None) -> int:
    """End as failed (CRASHED) what outlived its lease without an effect. Call again until it returns 0."""
    (count,) = tx.execute(Q["expire"], {"limit": limit, "only": only}).fetchone() or (0,)
    return int(count)


def expired(tx: Transaction, *, limit: int = 1000) -> list[UUID]:
    """Leases that have expired, longest first."""
    return [row[0] for row in tx.execute(Q["expired"], {"limit": limit})]


def expired_lag(tx: Transaction) -> float | None:
    """Seconds since the oldest expired lease ended; None: there is none."""
    return seconds(tx, Q["expired_lag"])


def ready_lag(tx: Transaction) -> float | None:
    """Seconds that the longest ready candidate has been waiting; None: none waits."""
    return seconds(tx, Q["ready_lag"])


def waiting_for_executors(tx: Transaction, executors: Executors) -> dict[str, int]:
    """Actions that candidates wait for and that no executor serves, with how many wait."""
    return dict(tx.execute(Q["waiting_for_executors"], {"known": list(served(executors))}).fetchall())
