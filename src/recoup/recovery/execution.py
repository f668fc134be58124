"""The flow of execution: candidates are started, their actions called, and their outcomes written with the next start.

Effects in this database are made in the turn itself. Functions that work elsewhere are called on threads of their own.
"""

import inspect
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import psycopg

from recoup import observe
from recoup.database.acting import acting_as
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.recovery.executing import (
    MAX_ERROR,
    MAX_LEASE,
    Claimed,
    Executors,
    Failed,
    Outcome,
    RolledBack,
    Subject,
    end_failed,
    finish,
    make_effects,
    served,
    subjects,
    turn,
)
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.vocabulary import ActionType
from recoup.redaction import in_words
from recoup.refusals import Refusal
from recoup.work.flow import OF_A_UNIT, UNREACHABLE, Flow, Overrun, ThreadEach, Turn, Work
from recoup.worker.duty import Context

GRACE_S = 5.0
ONE_BY_ONE = (ActionType.RECONFIGURE, ActionType.ROLLBACK)
LATE = "late"  # an outcome that came after its lease had expired
LEASE_SPARE_S = 30  # to write an outcome after the timeout of its action
MOST_CUT_OFF = 2  # so often a function may lose the connection; then it is not called again
_OVERRUN: dict[str, "Overrun[Claimed, Outcome]"] = {}
_CUT_OFF: Counter[UUID] = (
    Counter()
)  # candidates whose function lost the connection, and so all that was claimed with it


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
        self.context, self.executors = context, served(executors)
        self.policy: RecoveryPolicy = context.policy[RecoveryPolicy]
        self.made = 0  # effects of ours
        self._subjects: dict[UUID, Subject] = {}
        undo = any(one.undo is not None for one in executors.values())
        timeouts = [
            action.timeout_s for name, action in self.policy.actions.items()
            if name in executors or (undo and action.type is ActionType.ROLLBACK)
        ]  # fmt: skip
        lease_s = max([self.policy.candidate_lease_s, *(t + LEASE_SPARE_S for t in timeouts)])
        self.lease_s = min(lease_s, MAX_LEASE.total_seconds())

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
        # What changes a key is made alone: what one finds before is what the last one left.
        self._make(tx, [one for one in ours if one.action_type not in ONE_BY_ONE])
        for one in ours:
            if one.action_type in ONE_BY_ONE:
                self._make(tx, [one])
        others = [one for one in claimed if not one.is_ours]
        if others:
            self._subjects |= subjects(tx, others)
        self._database(tx, [one for one in others if self.executors[one.served_as].database])
        return became, [one for one in others if not self.executors[one.served_as].database]

    def _make(self, tx: Transaction, ours: Sequence[Claimed]) -> None:
        """Effects of ours, in one statement; if that is refused, one by one, and what cannot be made has failed."""
        if not ours:
            return
        try:
            with tx.transaction():
                make_effects(tx, ours)
        except (psycopg.Error, Refusal) as error:
            if isinstance(error, UNREACHABLE) and not isinstance(error, OF_A_UNIT):
                raise
            if len(ours) > 1:
                for one in ours:
                    self._make(tx, [one])
                return
            said = in_words(error.diag.message_primary if isinstance(error, psycopg.Error) else error.happened)
            observe.logger(worker=self.context.name).error(
                "effect refused", candidate=str(ours[0].candidate_id), failure=said
            )
            with acting_as(tx, Authority.EVALUATOR):
                end_failed(tx, {ours[0].candidate_id: said[:MAX_ERROR]}, teach=True)
        self.made += len(ours)

    def _database(self, tx: Transaction, some: Sequence[Claimed]) -> None:
        """Functions for the database: within this transaction, a savepoint each.

        What one wrote is kept only with its outcome: if its lease has expired meanwhile, both are not.
        """
        failed: list[tuple[Claimed, Outcome]] = []
        for one in some:
            if _CUT_OFF[one.candidate_id] == MOST_CUT_OFF:
                failed.append((one, Outcome(False, "its function lost the connection of its worker, and did so again")))
                continue
            try:
                with tx.transaction():
                    with acting_as(tx, Authority.EXECUTOR):
                        returned = self.executors[one.served_as].function(tx, one, self._subjects[one.candidate_id])
                    outcome = _outcome(_done(returned))
                    if not outcome.succeeded:
                        raise _NotDoneError(outcome.error or "failed")
                    with acting_as(tx, Authority.EVALUATOR):
                        (became,) = finish(tx, [(one, outcome)])
                    if became == LATE:
                        raise _NotDoneError("it took longer than its lease, so what it wrote was rolled back")
                    continue
            except _NotDoneError as error:
                outcome = Outcome(False, str(error))
            except Exception as error:
                if tx.closed:  # by it, or by the server: nothing of this turn is written
                    _CUT_OFF[one.candidate_id] += 1
                    raise
                outcome = Outcome(False, f"{type(error).__name__}: {in_words(error)}")
            failed.append((one, outcome))
        if failed:
            with acting_as(tx, Authority.EVALUATOR):
                finish(tx, failed)
        self.made += len(some)

    def _call(self, one: Claimed) -> Outcome:
        return _outcome(_done(self.executors[one.served_as].function(one, self._subjects[one.candidate_id])))

    def _log(self, done: Turn) -> None:
        log = observe.logger(worker=self.context.name)
        for (one, outcome), status in zip(done.ended, done.became, strict=True):
            if not outcome.succeeded or status == LATE:
                log.warning(
                    "action failed" if status != LATE else "the result of an action came late",
                    action=one.action_name, candidate=str(one.candidate_id), failure=(outcome.error or "")[:500],
                    then=f"recoup recovery show {one.failure_match_id}",
                )  # fmt: skip


class _NotDoneError(Exception):
    """Rolls back what a function wrote that reports a failure."""


def _done(returned: Any) -> Any:
    """What a function returned, if it has done its work by then: a coroutine or a generator has not begun."""
    if inspect.isawaitable(returned):
        raise TypeError("an executor is a plain function; call asyncio.run in it")
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        raise TypeError("an executor is a plain function; one with yield in it does nothing when it is called")
    return returned


def _outcome(returned: Any) -> Outcome:
    match returned:
        case Outcome():
            return returned
        case Failed():
            return Outcome(False, in_words(returned.message))
        case RolledBack():
            return Outcome(False, in_words(returned.message), returned.result, rolled_back=True)
    return Outcome(True, None, returned)
