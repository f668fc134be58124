"""Operations with a canary: a few items first, and more of them while the outcomes of the last step are good.

The state of an operation is in its row, so any process can continue it: a background task of the domain does, for
the person who began it and under their name. The row is locked while one does, and each batch is one transaction with
its results: two processes, or one that is killed, let no item go twice and leave no step unwatched.

After each step the outcomes of its items are counted. Too many failures stop the operation, outcomes that do not come
pause it; in both cases the rest is left as it is until a person resumes it, with the next step, or cancels it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg import errors
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from recoup import observe
from recoup.database.acting import acting_for
from recoup.database.connection import Actor, Database, Transaction
from recoup.database.queries import load
from recoup.formatting import duration
from recoup.lifecycles.declaration import Authority
from recoup.operations.batches import MAX_DEADLOCKS, close, let_go
from recoup.operations.lifecycle import OperationStatus
from recoup.operations.policy import OperationPolicy
from recoup.operations.verbs import Act, Outcomes, Step, Subject
from recoup.pauses import OPERATION, register
from recoup.policy import versions
from recoup.redaction import in_words
from recoup.refusals import InputRefused, LawRefused, Refusal
from recoup.worker.duty import Context, Duty, seconds
from recoup.worker.standalone import Standalone

Q = load("recoup.operations", "steps.sql")
MAX_FIRST = 100_000  # items of the first step
MAX_RATE = 1_000_000  # items per minute
MAX_OPERATIONS = 100  # that one turn of the background task continues
OPEN, PAUSED, STOPPED, CANCELLED, DONE = OperationStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """How an operation goes in steps, as decided when it began, and for which actor."""

    first: int
    growth: float
    failed_share: float
    wait_s: int
    rate_per_minute: int  # 0: no maximum
    policy_version: int
    actor: str  # kind of the actor
    authority: str  # role

    @property
    def stored(self) -> Jsonb:
        return Jsonb({name: getattr(self, name) for name in self.__slots__})


class Held(NamedTuple):
    """An operation that this process continues."""

    operation_id: UUID
    subject: str
    verb: str
    arguments: Mapping[str, Any]
    items: int
    requested_by: str
    canary: Canary
    step: int
    step_start: int
    step_end: int

    @property
    def size(self) -> int:
        return self.step_end - self.step_start

    @property
    def rest(self) -> int:
        return self.items - self.step_end


class Verdict(NamedTuple):
    """What follows from the outcomes of a step."""

    status: OperationStatus  # OPEN: the next step
    why: str


class Event(NamedTuple):
    """One event of an operation, as the log has it."""

    logged_at: datetime
    from_status: str | None
    to_status: str
    step: int | None
    items: int | None  # of the step
    why: str | None
    actor_id: str


def planned(tx: Transaction, subject: Subject, act: Act, first: int, rate: int | None) -> Canary:
    """The steps of a new operation, as the active policy has them. Refused for a verb whose outcomes nobody knows."""
    if act.verb not in subject.outcomes:
        raise InputRefused(
            "canary_not_offered",
            f"To {act.verb} has no outcomes to wait for.",
            f"A canary is offered by: {', '.join(subject.outcomes) or 'nothing here'}.",
        )
    for name, value, most in (("canary", first, MAX_FIRST), ("rate", rate, MAX_RATE)):
        if value is not None and not 1 <= value <= most:
            raise InputRefused(f"{name}_unusable", f"There is no {name} of {value:,}.", f"Give 1 to {most:,}.")
    active = versions.active(tx)
    policy = active.policy[OperationPolicy]
    (kind,) = tx.execute("select recoup.acting_kind()").fetchone() or ("",)
    return Canary(
        first=first,
        growth=policy.canary_growth,
        failed_share=policy.canary_failed_share,
        wait_s=policy.canary_wait_minutes * 60,
        rate_per_minute=policy.canary_rate_per_minute if rate is None else rate,
        policy_version=active.version,
        actor=str(kind),
        authority=subject.authority.role,
    )


def judged(held: Held, counts: Outcomes, *, waiting: bool, overdue: bool) -> Verdict | None:
    """What follows from the outcomes of a step; None: nothing yet. Pure.

    ``waiting``: items of the step have not gone yet. Then it is stopped if no outcome of these could change that.
    """
    ended = counts.succeeded + counts.failed
    of = held.size if waiting else ended + counts.open
    left = f"{held.rest:,} more are left as they are."
    if counts.failed > held.canary.failed_share * of:
        return Verdict(
            STOPPED,
            f"{counts.failed:,} of {of:,} of step {held.step} failed ({counts.failed / of:.0%}; the policy allows"
            f" {held.canary.failed_share:.0%}): stopped. {left}",
        )
    if waiting or (counts.open and not overdue):
        return None
    if counts.open:
        return Verdict(
            PAUSED,
            f"{counts.open:,} of {of:,} of step {held.step} have no outcome after {duration(held.canary.wait_s)}:"
            f" paused. {left}",
        )
    if not ended:
        return Verdict(PAUSED, f"None of the {held.size:,} of step {held.step} has an outcome: paused. {left}")
    return Verdict(OPEN, f"Step {held.step}: {counts.succeeded:,} succeeded, {counts.failed:,} failed.")


def advance(tx: Transaction, subject: Subject, operation_id: UUID, *, look: bool = True) -> int:
    """Continue an operation as far as one transaction does. Returns how many items went, or 1 for another change.

    As an operator, with a login that has the subject's authority. ``look``: count the outcomes also while items of the
    step wait for their turn. 0: nothing to do now, or another process continues it.
    """
    held = _hold(tx, operation_id)
    if held is None:
        return 0
    _check(held, subject)
    waiting, may_go, overdue = tx.execute(Q["progress"], {"operation": operation_id, "most": MAX_FIRST}).fetchone() or (
        False,
        0,
        False,
    )
    if look or not waiting:
        counts = subject.outcomes[held.verb](tx, Step(operation_id, held.step_start, held.step_end))
        verdict = judged(held, counts, waiting=waiting, overdue=overdue)
        if verdict is not None:
            _decided(tx, held, verdict)
            return 1
    if not (waiting and may_go):
        return 0
    act = Act(verb=held.verb, given=held.arguments)
    with acting_for(tx, Actor(held.canary.actor, held.requested_by), act.reason):
        went = let_go(tx, subject, operation_id, act, may_go)
    tx.execute(Q["went"], {"operation": operation_id, "items": went})
    if not held.rest:
        close(tx, operation_id)
    return went


def _hold(tx: Transaction, operation_id: UUID) -> Held | None:
    row = tx.execute(Q["hold"], {"operation": operation_id}).fetchone()
    if row is None:
        return None
    stored = row[6]
    return Held._make((*row[:6], Canary(**{name: stored[name] for name in Canary.__slots__}), *row[7:]))


def _check(held: Held, subject: Subject) -> None:
    """The authority has to be the one that was checked when it began."""
    if held.subject != subject.table or held.canary.authority != subject.authority.role:
        raise LawRefused(
            "operation_steps",
            f"Operation {held.operation_id} was begun as {held.canary.authority}: to {held.verb} is for"
            f" {subject.authority.role}.",
            f'Cancel it: recoup operations cancel {held.operation_id} --reason "…"',
        )


def _decided(tx: Transaction, held: Held, verdict: Verdict) -> None:
    if verdict.status is OPEN:
        size = math.ceil(held.size * held.canary.growth)
        _next(tx, held.operation_id, start=held.step_end, size=size, why=verdict.why)
    else:
        tx.execute("select pg_catalog.set_config('recoup.reason', %s, true)", (verdict.why,))
        _end(tx, held.operation_id, verdict.status, verdict.why)
        observe.logger().warning("operation does not continue", operation=str(held.operation_id), why=verdict.why)


def _next(tx: Transaction, operation_id: UUID, *, start: int, size: int, why: str) -> None:
    tx.execute(Q["next"], {"operation": operation_id, "start": start, "size": size, "why": why})


def _end(tx: Transaction, operation_id: UUID, status: OperationStatus, why: str) -> None:
    tx.execute(Q["end"], {"operation": operation_id, "status": status.value, "why": why})


# People ---------------------------------------------------------------------------------------------------------------


def resume(tx: Transaction, name: str, reason: str) -> bool:
    """Resume an operation that a person paused, or that stopped or paused itself: then with the next step.

    That step is as large as the last one. False: it continues already, or has ended.
    """
    if register.resume(tx, OPERATION, name, reason=reason):
        return True
    found = _found(tx, name)
    if found is None:
        return False
    operation_id, (status, _, start, end) = found
    if status not in (PAUSED, STOPPED):
        return False
    (ended, _) = tx.execute(Q["ended"], {"operation": operation_id}).fetchone() or (end, 0)
    _next(tx, operation_id, start=ended, size=end - start, why=f"Resumed by {_who(tx)}: {in_words(reason)}")
    return True


def cancel(tx: Transaction, operation_id: UUID, *, reason: str) -> int:
    """End an operation that has not ended, as an operator. The rest is left as it is; returns how many that are."""
    if not reason.strip():
        raise InputRefused("reason_missing", "To cancel an operation needs a reason.", "Give it: --reason …")
    found = _found(tx, str(operation_id))
    if found is None:
        raise InputRefused(
            "operation_unknown", f"There is no operation {operation_id}.", "List them: recoup operations"
        )
    if found[1][0] in (CANCELLED, DONE):
        raise LawRefused("operation_over", f"Operation {operation_id} is {found[1][0]}.", "Nothing to do.")
    (_, rest) = tx.execute(Q["ended"], {"operation": operation_id}).fetchone() or (0, 0)
    _end(tx, operation_id, CANCELLED, f"Cancelled by {_who(tx)}: {in_words(reason)} {rest:,} are left as they are.")
    return int(rest)


def _found(tx: Transaction, name: str) -> tuple[UUID, Any] | None:
    try:
        operation_id = UUID(name)
    except ValueError:
        return None
    row = tx.execute(Q["decide"], {"operation": operation_id}).fetchone()
    return None if row is None else (operation_id, row)


def _who(tx: Transaction) -> str:
    (who,) = tx.execute("select recoup.acting_id()").fetchone() or ("",)
    return str(who)


def story(tx: Transaction, operation_id: UUID) -> list[Event]:
    """What happened to an operation, oldest first."""
    with tx.cursor(row_factory=class_row(Event)) as cursor:
        return cursor.execute(Q["story"], {"operation": operation_id}).fetchall()


# The background task --------------------------------------------------------------------------------------------------


def duty(subject: Subject, *, name: str, description: str) -> Duty:
    """The background task that continues the operations of a subject."""
    return Duty(
        name=name,
        authority=Authority.OPERATOR,
        cadence_s=5,
        description=description,
        flow=lambda context: continue_all(context, subject),
        lag=lambda tx: seconds(tx, Q["lag"], {"subject": subject.table}),
        serves=subject.table,
    )


def continue_all(context: Context, subject: Subject) -> int:
    """Continue every open operation of a subject that has steps. One that fails does not hold up the others."""
    with context.transaction() as tx:
        given = {"subject": subject.table, "limit": MAX_OPERATIONS}
        ids = [row[0] for row in tx.execute(Q["open"], given)]
    done, failed = 0, list[Exception]()
    for operation_id in ids:
        try:
            done += _continued(context, subject, operation_id)
        except (psycopg.OperationalError, psycopg.InterfaceError):
            raise  # the server, not the operation
        except (psycopg.Error, Refusal) as error:
            failed.append(error)
    if failed:
        raise failed[0]
    return done


def continue_one(database: Database, subject: Subject, operation_id: UUID, *, actor: Actor | None = None) -> None:
    """Continue one operation as far as it goes now. The background task does the rest."""
    _continued(Standalone(database, Authority.OPERATOR, name="operations", actor=actor), subject, operation_id)


def _continued(context: Context, subject: Subject, operation_id: UUID) -> int:
    done, deadlocks, look = 0, 0, True
    while True:
        try:
            with context.transaction() as tx:
                went = advance(tx, subject, operation_id, look=look) if context.may_claim(tx) else 0
                if went:
                    context.tally(tx, went)
        except errors.DeadlockDetected:  # another writer locks the same rows in another order
            deadlocks += 1
            if deadlocks == MAX_DEADLOCKS:
                raise
            continue
        if not went:
            return done
        done, look = done + went, False
