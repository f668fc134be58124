"""Operations whose process died: a worker takes them up.

An operation that began over HTTP is worked through by the process that answered. If no batch of it ended for a minute
and none is in progress, a background task of the domain takes it up and continues it, for the person who began it:
under their name, and with the authority that they had. From then on it is the workers'.

Nothing tells a process that died from one that is slow, and nothing has to: a batch changes its rows and writes their
results in one transaction, and items that one process works on are passed over by the others. So a process that is
slow, or a person who resumes the operation at the same moment, works on the rest together with the worker, and no
item goes twice.

What a person began at the command line is left alone: they saw it end, and Ctrl-C may have been the intention.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg import errors

from recoup import observe
from recoup.database.acting import acting_for
from recoup.database.connection import Actor, Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.operations.batches import BATCH, MAX_DEADLOCKS, close, let_go
from recoup.operations.verbs import Act, Subject
from recoup.refusals import LawRefused
from recoup.worker.duty import Context, Duty, seconds

Q = load("recoup.operations", "taking_up.sql")
SILENT_S = 60  # without the end of a batch, and without one in progress
MAX_OPERATIONS = 100  # that one turn of the background task continues
MAX_BATCHES = 20  # of one operation in one turn: a large one does not hold up the others


class Held(NamedTuple):
    """An operation that this worker continues."""

    operation_id: UUID
    subject: str
    verb: str
    arguments: dict[str, Any]
    requested_by: str
    actor: str
    authority: str
    taken_up: bool


def duty(subject: Subject, *, name: str) -> Duty:
    """The background task that takes up the operations of a subject."""
    return Duty(
        name=name,
        authority=Authority.OPERATOR,
        cadence_s=10,
        description=f"continues every operation over {subject.noun}s whose process died",
        flow=lambda context: continue_all(context, subject),
        lag=lambda tx: seconds(tx, _query("lag"), {"subject": subject.table, "silent_s": SILENT_S}),
    )


def continue_all(context: Context, subject: Subject) -> int:
    """Continue every operation of a subject that nobody works on. One that fails does not hold up the others."""
    with context.transaction() as tx:
        given = {"subject": subject.table, "silent_s": SILENT_S, "limit": MAX_OPERATIONS}
        ids = [row[0] for row in tx.execute(_query("left_alone"), given)]
    done, failed = 0, list[Exception]()
    for operation_id in ids:
        try:
            done += _continued(context, subject, operation_id)
        except (psycopg.OperationalError, psycopg.InterfaceError):
            raise  # the server, not the operation
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised once the others went
            failed.append(error)
    if failed:
        raise failed[0]
    return done


def advance(tx: Transaction, subject: Subject, operation_id: UUID) -> int:
    """One batch of an operation, if nobody works on it. Returns how many items went; 0: nothing to do, or not ours.

    As an operator, with a login that has the subject's authority.
    """
    held = _hold(tx, operation_id)
    if held is None:
        return 0
    if held.subject != subject.table or held.authority != subject.authority.role:
        raise LawRefused(
            "operation_steps",
            f"Operation {held.operation_id} was begun as {held.authority}: to {held.verb} is for"
            f" {subject.authority.role}.",
            f'Cancel it: recoup operations cancel {held.operation_id} --reason "…"',
        )
    if not held.taken_up:
        why = f"no batch of it ended for {SILENT_S} seconds, and none was in progress: a worker continues it"
        tx.execute("select pg_catalog.set_config('recoup.reason', %s, true)", (why,))
        tx.execute(Q["take_up"], {"operation": operation_id})
        observe.logger().warning("operation taken up: its process died", operation=str(operation_id))
    act = Act(verb=held.verb, given=held.arguments)
    with acting_for(tx, Actor(held.actor, held.requested_by), act.reason):
        went = let_go(tx, subject, operation_id, act, BATCH)
        if went < BATCH:
            close(tx, operation_id)
    return went


def _hold(tx: Transaction, operation_id: UUID) -> Held | None:
    row = tx.execute(Q["hold"], {"operation": operation_id}).fetchone()
    if row is None:
        return None
    held = Held._make(row)
    if not held.taken_up:
        (silent,) = tx.execute(
            _query("is_silent"), {"operation": operation_id, "silent_s": SILENT_S}
        ).fetchone() or (False,)  # fmt: skip
        if not silent:
            return None
    return held


def _query(name: str) -> Any:
    return Q[name].format(progress=Q["progress"])


def _continued(context: Context, subject: Subject, operation_id: UUID) -> int:
    done, deadlocks, batches = 0, 0, 0
    while batches < MAX_BATCHES:
        try:
            with context.transaction() as tx:
                went = advance(tx, subject, operation_id) if context.may_claim(tx) else 0
                if went:
                    context.tally(tx, went)
        except errors.DeadlockDetected:  # another writer locks the same rows in another order
            deadlocks += 1
            if deadlocks == MAX_DEADLOCKS:
                raise
            continue
        done, batches = done + went, batches + 1
        if went < BATCH:
            break
    return done
