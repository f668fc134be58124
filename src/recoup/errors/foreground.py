"""One retry in the foreground: a person runs the handler now, sees its traceback, and the outcome counts.

It is a retry like every other: claimed under a lease, fenced by its token, counted. A worker that wants the error at
the same moment does not get it, or has it already: then this is refused. Interrupted with Ctrl-C it counts as failed;
killed, it counts as failed when the lease expires.
"""

import os
import socket
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from psycopg.rows import dict_row

from recoup import pauses
from recoup.database.connection import Actor, Database, Transaction
from recoup.database.queries import load
from recoup.errors import handlers, lookup
from recoup.errors.handlers import Function
from recoup.errors.handling import Failure, Outcome, call, report
from recoup.errors.lifecycle import ERROR
from recoup.errors.lookup import ErrorKey
from recoup.errors.retrying import RETRIES, Claimed, Reported, finish
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from recoup.worker.lease import check_lease

Q = load("recoup.errors", "foreground.sql")


class Retried(NamedTuple):
    """How a retry ended."""

    error_table: str
    error_id: int
    retry: int  # its number, from 1
    max_retries: int
    status: str  # of the error now; late: the lease had expired, and the outcome does not count
    failure: str | None  # None: it succeeded
    traceback: str | None


def retry(
    database: Database,
    name: str,
    *,
    functions: Mapping[str, Function] | None = None,
    worker: str | None = None,
    lease: timedelta | None = None,
    actor: Actor | None = None,
) -> Retried:
    """Claim one error whose retry is due, call its handler in this thread, and write the outcome.

    ``name`` is an id, or table/id. Without ``functions``, by table, the installed handlers are used. Refuses, and
    claims nothing, when the error cannot be retried now: the refusal says why.
    """
    found = handlers.functions(handlers.find(database.settings)) if functions is None else functions
    worker = worker or f"{socket.gethostname()}-{os.getpid()}"
    with database.transaction(Authority.ERROR_WORKER, actor=actor) as tx:
        (place,) = lookup.places(tx, [name])
        claimed = _claimed(tx, place, found, worker, lease)
    outcome: Outcome = Failure("Interrupted.")
    try:
        outcome = call(found[claimed.error_table], claimed)
    finally:  # also when it is interrupted: nobody has to wait for the lease then
        if isinstance(outcome, Reported):
            status, failed = outcome.status, Failure(outcome.failure) if outcome.failure is not None else None
        else:
            failed = outcome
            with database.transaction(Authority.ERROR_WORKER, actor=actor) as tx:
                ((_, status),) = finish(tx, [report(claimed, outcome)])
    return Retried(
        claimed.error_table, claimed.error_id, claimed.retry_count + 1, claimed.max_retries, status,
        None if failed is None else failed.message, None if failed is None else failed.traceback,
    )  # fmt: skip


def _claimed(
    tx: Transaction,
    place: lookup.Location,
    functions: Mapping[str, Function],
    worker: str,
    lease: timedelta | None,
) -> Claimed:
    key = place.key
    if place.is_archived:
        raise _refused(key, "it is in the archive", "If it still fails, it is recorded again.")
    if key.error_table not in functions:
        raise InputRefused(
            "handler_missing",
            f"There is no handler for {key.error_table}.",
            f'Add one to recoup.toml: [handlers] "{key.error_table}" = "module:function"',
            table=key.error_table,
        )
    check_lease(lease, most=timedelta(hours=RETRIES.declared.lease_hours_most))
    given = {**key._asdict(), "worker": worker, "lease": lease}
    row = tx.execute(Q["claim_one"], given).fetchone()
    if row is None:
        raise _why_not(tx, key)
    return Claimed._make(row)


def _why_not(tx: Transaction, key: ErrorKey) -> InputRefused:
    with tx.cursor(row_factory=dict_row) as cursor:
        row: dict[str, Any] | None = cursor.execute(Q["why_not"], key._asdict()).fetchone()
    pause = pauses.paused(tx, f"table:{ERROR.table}", f"table:{key.error_table}")
    unpark = f'Run: recoup errors unpark {key.error_id} --reason "…"; then retry it.'
    match row:
        case None:
            return _refused(key, "it was archived just now", "If it still fails, it is recorded again.")
        case {"archived_at": datetime() as closed}:
            return _refused(key, f"it was closed at {_at(closed)}", "If it still fails, it is recorded again.")
        case {"worker": str() as holder, "wake_at": until}:
            words = "Wait for the result, or until the lease expires."
            return _refused(key, f"it is claimed by {holder} until {_at(until)}", words)
        case {"status": "PARKED" | "ESCALATED", "parked_at": since, "park_reason": reason}:
            return _refused(key, f"it has been parked since {_at(since)} ({reason})", unpark)
        case {"status": "ACTIVE", "disposition": disposition}:
            return _refused(key, f"it is not to be retried ({disposition})", unpark)
        case {"until": datetime() as closed, "now_": now} if closed <= now:
            return _refused(key, f"its retry window closed at {_at(closed)}", "A worker parks it; then unpark it.")
        case {"wake_at": due, "now_": now} if due > now:
            return _refused(key, f"its next retry is due at {_at(due)}", "Wait until then, and run this again.")
        case {"breaker": str() as breaker, "open_until": until} if pause is None:
            words = f"it waits behind the breaker {breaker}, which is tried again at {_at(until)}"
            return _refused(key, words, f'To try it now: recoup recovery breaker close {breaker} --reason "…"')
    if pause is not None:
        words = f"retries are paused by {pause.paused_by}: {pause.reason}"
        return _refused(key, words, "Resume them: recoup resume --help")
    return _refused(key, "it changed at the same moment", "Run this again.")


def _refused(key: ErrorKey, why: str, next_step: str) -> InputRefused:
    happened = f"Error {key.error_id} of {key.error_table} cannot be retried now: {why}."
    return InputRefused("retry_refused", happened, next_step, **key._asdict())


def _at(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
