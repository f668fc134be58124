"""Executing candidates: claimed within their scopes, their effects made, their outcomes written, in sets.

What an action makes in this database is made in the transaction that starts its candidate: both happen, or neither.
What it makes elsewhere is made by a function of yours, between two transactions, under a lease. It gets an idempotency
key; a function that honours it makes its effect once, also when a worker dies and the action is repeated.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from recoup import observe
from recoup.database.acting import acting_as
from recoup.database.arrays import Routine, records
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.texts import json_text
from recoup.recovery.vocabulary import ActionType, CandidateStatus, SubjectKind
from recoup.redaction import in_words
from recoup.refusals import Refusal
from recoup.work.flow import Flow, Overrun, ThreadEach, Turn, Work
from recoup.worker.duty import Context, seconds
from recoup.worker.lease import check_lease

Q = load("recoup.recovery", "executing.sql")
MAX_ERROR = 2_000
GRACE_S = 5.0
LEASE_SPARE_S = 30  # to write an outcome after the timeout of its action
MAX_LEASE = timedelta(hours=24)
CLAIM = Routine(
    name="recovery.claim_candidates",
    plain={"among": "text[]", "most": "integer", "worker_": "text", "lease": "interval"},
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
    plain=CLAIM.plain,
    results={**CLAIM.results, "finished": "finished", "statuses": "statuses"},
)
EFFECTS = Routine(
    name="recovery.make_effects",
    sets=({"ids_": "uuid", "tokens": "uuid"},),
    results={"candidate_id": "candidates", "status": "statuses"},
)
# Kinds of subject whose action of this type is made in this database: as recovery.makes says.
OURS: Mapping[ActionType, frozenset[SubjectKind]] = {
    ActionType.RETRY: frozenset({SubjectKind.ERROR, SubjectKind.INTAKE, SubjectKind.RUN}),
    ActionType.NOTIFY: frozenset(SubjectKind),
    ActionType.MANUAL: frozenset(SubjectKind),
    ActionType.SKIP: frozenset(SubjectKind),
}


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
    def is_ours(self) -> bool:
        """Whether its effect is made in this database."""
        return SubjectKind(self.subject_kind) in OURS.get(ActionType(self.action_type), ())


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


class Outcome(NamedTuple):
    """How an action ended. Of one that succeeded the failure is gone."""

    succeeded: bool
    error: str | None = None
    result: Any = None


@dataclass(frozen=True, slots=True)
class Failed:
    """Returned by a function of yours: the action did not work."""

    message: str


# A function of yours: takes what is executed and its subject; returns a JSON value or nothing when it worked; raises,
# or returns Failed, when it did not. One for the database also takes the transaction in which its outcome is written.
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Executor:
    """How an action outside of Recoup's own tables is executed."""

    function: Function
    database: bool = False  # called with the transaction in which its outcome is written


Executors = Mapping[str, Executor]
_OVERRUN: dict[str, "Overrun[Claimed, Outcome]"] = {}


def claim(
    tx: Transaction, *, limit: int, worker: str, actions: Sequence[str] | None = None, lease: timedelta | None = None
) -> list[Claimed]:
    """Start up to ``limit`` candidates that may start, approved ones first, within what is left of their scopes.

    actions: those that you can execute outside of this database; None: all.
    """
    check_lease(lease, most=MAX_LEASE)
    among = None if actions is None else list(actions)
    return records(Claimed, CLAIM.call(tx, among=among, most=limit, worker_=worker, lease=lease))


def finish(tx: Transaction, ended: Sequence[tuple[Claimed, Outcome]]) -> list[str]:
    """End candidates as their actions reported, in one statement. Late ones are stored, and not applied."""
    return _statuses(ended, FINISH.call(tx, **_reports(ended))) if ended else []


def turn(
    tx: Transaction,
    ended: Sequence[tuple[Claimed, Outcome]],
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


def _reports(ended: Sequence[tuple[Claimed, Outcome]]) -> dict[str, Any]:
    ended = sorted(ended, key=lambda pair: pair[0].candidate_id)  # the order in which everybody locks candidates
    results = [None if o.result is None else json_text(o.result) for _, o in ended]
    errors = [None if o.succeeded else in_words(o.error or "failed")[:MAX_ERROR] for _, o in ended]
    return {
        "ids_": [one.candidate_id for one, _ in ended],
        "tokens": [one.token for one, _ in ended],
        "outcomes": ["succeeded" if o.succeeded else "failed" for _, o in ended],
        "results": results if any(results) else None,
        "errors": errors if any(errors) else None,
    }


def _statuses(ended: Sequence[tuple[Claimed, Outcome]], found: Mapping[str, Any]) -> list[str]:
    became = dict(zip(found["candidate_id"], found["status"], strict=True))
    return [became[one.candidate_id] for one, _ in ended]


def make_effects(tx: Transaction, claimed: Sequence[Claimed]) -> list[str]:
    """Make effects in this database, as the executor; then end what awaits nothing, or could not be executed.

    Of each: made, late, or why not (SCOPE_REVOKED, SUBJECT_CHANGED).
    """
    if not claimed:
        return []
    with acting_as(tx, Authority.EXECUTOR):
        found = EFFECTS.call(tx, ids_=[one.candidate_id for one in claimed], tokens=[one.token for one in claimed])
    answers = dict(zip(found["candidate_id"], found["status"], strict=True))
    refused = {one: answer for one, answer in answers.items() if answer not in ("made", "late")}
    with acting_as(tx, Authority.EVALUATOR):
        done = [one.candidate_id for one in claimed if one.action_type == ActionType.SKIP]
        if done:
            tx.execute(Q["end_reported"], {"ids": done})
        if refused:
            people: dict[UUID, str] = dict(tx.execute(Q["changed_by"], {"ids": list(refused)}).fetchall())
            _end_failed(tx, refused, teach=False, people=people)
    return [answers[one.candidate_id] for one in claimed]


def _end_failed(
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
    return dict(tx.execute(Q["waiting_for_executors"], {"known": list(executors)}).fetchall())


# The duty -------------------------------------------------------------------------------------------------------------


def execute_due(context: Context, executors: Executors) -> int:
    """Execute every candidate that may start. Returns how many ended, or are awaited now."""
    total = 0
    while True:
        turns = _Turns(context, executors)
        ended = Flow(context, turns.work()).run()
        total += ended + turns.made
        if not ended + turns.made:
            return total


class _Turns:
    """The turns of one flow."""

    def __init__(self, context: Context, executors: Executors) -> None:
        self.context, self.executors = context, executors
        self.policy: RecoveryPolicy = context.policy[RecoveryPolicy]
        self.made = 0  # effects of ours
        self._subjects: dict[UUID, Subject] = {}
        timeouts = [self.policy.actions[name].timeout_s for name in executors if name in self.policy.actions]
        self.lease_s = max([self.policy.candidate_lease_s, *(t + LEASE_SPARE_S for t in timeouts)])

    def work(self) -> Work[Claimed, Outcome]:
        threads = ThreadEach()
        return Work(
            turn=self.turn,
            start=lambda one: threads.submit(partial(self._call, one)),
            raised=lambda _, error: Outcome(False, f"{type(error).__name__}: {in_words(error)}"),
            name=lambda one: str(one.candidate_id),
            at_once=self.policy.claims_at_once,
            lease_s=self.lease_s,
            grace_s=GRACE_S,
            overrun=_OVERRUN.setdefault(self.context.name, Overrun()),
            written=self._log,
        )

    def turn(
        self, tx: Transaction, ended: Sequence[tuple[Claimed, Outcome]], room: int
    ) -> tuple[Sequence[str], Sequence[Claimed]]:
        """Write outcomes, start the next candidates, and make those effects that are ours."""
        became, claimed = turn(
            tx, ended, limit=room, worker=self.context.name, actions=list(self.executors),
            lease=timedelta(seconds=self.lease_s),
        )  # fmt: skip
        for one, _ in ended:
            self._subjects.pop(one.candidate_id, None)
        ours = [one for one in claimed if one.is_ours]
        self._make(tx, ours)
        others = [one for one in claimed if not one.is_ours]
        if others:
            self._subjects |= subjects(tx, others)
        self._database(tx, [one for one in others if self.executors[one.action_name].database])
        return became, [one for one in others if not self.executors[one.action_name].database]

    def _make(self, tx: Transaction, ours: Sequence[Claimed]) -> None:
        """Effects of ours, in one statement; if that is refused, one by one, and what cannot be made has failed."""
        if not ours:
            return
        try:
            with tx.transaction():
                make_effects(tx, ours)
        except (psycopg.errors.OperationalError, psycopg.errors.InterfaceError):
            raise
        except (psycopg.Error, Refusal) as error:
            if len(ours) > 1:
                for one in ours:
                    self._make(tx, [one])
                return
            said = in_words(error.diag.message_primary if isinstance(error, psycopg.Error) else error.happened)
            observe.logger(worker=self.context.name).error(
                "effect refused", candidate=str(ours[0].candidate_id), failure=said
            )
            with acting_as(tx, Authority.EVALUATOR):
                _end_failed(tx, {ours[0].candidate_id: said[:MAX_ERROR]}, teach=True)
        self.made += len(ours)

    def _database(self, tx: Transaction, some: Sequence[Claimed]) -> None:
        """Functions for the database: within this transaction, a savepoint each."""
        ended: list[tuple[Claimed, Outcome]] = []
        for one in some:
            try:
                with tx.transaction(), acting_as(tx, Authority.EXECUTOR):
                    returned = self.executors[one.action_name].function(tx, one, self._subjects[one.candidate_id])
                    outcome = _outcome(returned)
                    if not outcome.succeeded:
                        raise _NotDoneError(outcome.error or "failed")
            except (psycopg.errors.OperationalError, psycopg.errors.InterfaceError):
                raise
            except _NotDoneError as error:
                outcome = Outcome(False, str(error))
            except Exception as error:  # noqa: BLE001 - whatever it raises is its outcome
                outcome = Outcome(False, f"{type(error).__name__}: {in_words(error)}")
            ended.append((one, outcome))
        if ended:
            with acting_as(tx, Authority.EVALUATOR):
                finish(tx, ended)
            self.made += len(ended)

    def _call(self, one: Claimed) -> Outcome:
        returned = self.executors[one.action_name].function(one, self._subjects[one.candidate_id])
        if inspect.isawaitable(returned):
            raise TypeError("an executor is a plain function; call asyncio.run in it")
        return _outcome(returned)

    def _log(self, done: Turn) -> None:
        log = observe.logger(worker=self.context.name)
        for (one, outcome), status in zip(done.ended, done.became, strict=True):
            if not outcome.succeeded or status == "late":
                log.warning(
                    "action failed" if status != "late" else "the result of an action came late",
                    action=one.action_name, candidate=str(one.candidate_id), failure=(outcome.error or "")[:500],
                    then=f"recoup recovery show {one.failure_match_id}",
                )  # fmt: skip


class _NotDoneError(Exception):
    """Rolls back what a function wrote that reports a failure."""


def _outcome(returned: Any) -> Outcome:
    match returned:
        case Outcome():
            return returned
        case Failed():
            return Outcome(False, returned.message)
    return Outcome(True, None, returned)
