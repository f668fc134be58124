"""Retries: claimed under a lease, in sets; ended in sets, succeeded and failed alike; fenced by a token."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from recoup import pauses
from recoup.database.arrays import Routine, call_in_turn, records
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy, lookup
from recoup.errors.inputs import shown
from recoup.errors.lifecycle import ERROR
from recoup.errors.lookup import ErrorKey
from recoup.errors.tracebacks import NewTraceback, keep
from recoup.errors.vocabulary import Category, Severity
from recoup.redaction import in_words
from recoup.refusals import InputRefused
from recoup.work.queues import WorkQueue
from recoup.worker.duty import seconds

Q = load("recoup.errors", "retrying.sql")
RETRIES = WorkQueue(ERROR)
CLAIM = RETRIES.claiming
END = Routine(
    name="recoup.end_retries",
    sets=({"tables": "text", "ids": "bigint", "tokens": "uuid", "outcomes": "text", "failures": "text"},),
    results={"error_id": "ended", "status": "statuses"},
)
MAX_FAILURE = 10_000  # characters of the message of a failed retry
MAX_NAME_BYTES = 500  # of a worker
MAX_LIMIT = 2**31 - 1


class Claimed(NamedTuple):
    """A claimed error: its retry is yours until the lease expires. With the token it can be ended, once."""

    error_table: str
    error_id: int
    outreach_id: UUID | None
    work_key: str | None
    error_code: str | None
    error_message: str
    error_signature: str
    severity: Severity | None
    category: Category
    retry_count: int  # retries that ended before this one
    max_retries: int
    payload: Any
    retry_with: Any  # the alternative that this retry is to use, from the action fallback of recovery; None: none
    created_at: datetime
    token: UUID
    lease_until: datetime

    @property
    def key(self) -> str:
        """An idempotency key: the same for every call of this one retry."""
        return f"{self.error_table}/{self.error_id}/{self.retry_count + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The retry succeeded: the error is resolved."""

    error_table: str
    error_id: int
    token: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The retry failed, with this message. The traceback, if there is one, is kept for the person who looks into it."""

    error_table: str
    error_id: int
    token: UUID
    failure: str = ""
    traceback: str | None = None


class Reported(NamedTuple):
    """The outcome of a retry, reported by somebody else with its token. A handler may return it: nothing is written."""

    status: str  # of the error now
    failure: str | None  # None: it succeeded


class Ended(NamedTuple):
    """What a reported outcome led to: the error's status, or late (stored, and not applied)."""

    error_id: int
    status: str


def claim(
    tx: Transaction, *, limit: int, worker: str, tables: Sequence[str] | None = None, lease: timedelta | None = None
) -> list[Claimed]:
    """Claim up to ``limit`` errors whose retry is due, longest due first. Nobody gets what another has claimed.

    Claim no more than you start at once. The default lease is the policy's.
    """
    return records(Claimed, CLAIM.call(tx, **_asked(tx, limit, worker, tables, lease)))


def finish(tx: Transaction, outcomes: Sequence[Succeeded | Failed]) -> list[Ended]:
    """Write the outcomes of a set, succeeded and failed alike, in one statement. Late ones are stored, not applied.

    Tracebacks, if there are any, are a second statement.
    """
    if not outcomes:
        return []
    ended = records(Ended, END.call(tx, **_reports(outcomes)))
    _keep_tracebacks(tx, outcomes)
    return ended


def reported(tx: Transaction, error: Claimed) -> Reported | None:
    """What became of a claimed retry whose outcome somebody else reports; None: it is still claimed."""
    given = {"error_table": error.error_table, "error_id": error.error_id, "token": error.token}
    row = tx.execute(Q["reported"], given).fetchone()
    if row is None:  # resolved, and in the archive by now
        return Reported("ARCHIVED", None)
    is_held, is_its_own, status, outcome, failure = row
    if is_held:
        return None
    if status == "RESOLVED":
        return Reported(status, None)
    if is_its_own and outcome == "FAILED" and failure is not None:
        return Reported(status, failure)
    expired = is_its_own and outcome == "LAPSED"
    return Reported(status, "The lease expired without a result." if expired else "The retry was cut off.")


def turn(
    tx: Transaction,
    outcomes: Sequence[Succeeded | Failed],
    *,
    limit: int,
    worker: str,
    tables: Sequence[str] | None = None,
    lease: timedelta | None = None,
) -> tuple[list[Ended], list[Claimed]]:
    """Write the outcomes of a set and claim the next errors, as finish and claim do, in one statement."""
    if not outcomes:
        return [], claim(tx, limit=limit, worker=worker, tables=tables, lease=lease)
    asked = _asked(tx, limit, worker, tables, lease)
    ended, claimed = call_in_turn(tx, (END, _reports(outcomes)), (CLAIM, asked))
    _keep_tracebacks(tx, outcomes)
    return records(Ended, ended), records(Claimed, claimed)


def pauses_of(tx: Transaction, tables: Sequence[str] = ()) -> list[pauses.Pause]:
    """Pauses that stop claims of these tables; without any, of one table or another."""
    found = [one for one in pauses.pauses(tx) if one.scope in (pauses.GLOBAL, pauses.TABLE)]
    all_ = [one for one in found if one.scope == pauses.GLOBAL or one.scope_id == ERROR.table]
    return all_ or [one for one in found if one.scope_id in (tables or lookup.tables(tx))]


def lapse(tx: Transaction, *, limit: int = 1000, only: int | None = None) -> int:
    """Count as failed every retry whose lease expired, or one of them. Call again until it returns 0."""
    return RETRIES.expire(tx, limit=limit, only=only)


def close_windows(tx: Transaction, *, limit: int = 1000, only: int | None = None) -> int:
    """Park errors that nobody retried within their window, or one of them. Call again until it returns 0."""
    (count,) = tx.execute(Q["close_windows"], {"limit": limit, "only": only}).fetchone() or (0,)
    return int(count)


def lapsed(tx: Transaction, *, limit: int = 1000) -> list[int]:
    """Errors whose lease expired, longest first."""
    return RETRIES.expired(tx, limit=limit)


def closed_windows(tx: Transaction, *, limit: int = 1000) -> list[int]:
    """Errors whose retry window has closed, longest first."""
    return [row[0] for row in tx.execute(Q["closed_windows"], {"limit": limit})]


def lapse_lag(tx: Transaction) -> float | None:
    """Seconds since the oldest expired lease ended; None: there is none."""
    return RETRIES.expired_lag(tx)


def window_lag(tx: Transaction) -> float | None:
    """Seconds since the oldest closed window ended; None: there is none."""
    return seconds(tx, Q["window_lag"])


def due_lag(tx: Transaction, tables: Sequence[str]) -> float | None:
    """Seconds that the longest due retry of these tables has been waiting; None: none is due."""
    return RETRIES.due_lag(tx, tables)


def _asked(
    tx: Transaction, limit: int, worker: str, tables: Sequence[str] | None, lease: timedelta | None
) -> dict[str, Any]:
    _check_claim(limit, worker)
    if tables is not None:
        active_policy.check_tables(tx, tables)
    return RETRIES.asked(limit=limit, worker=worker, parts=tables, lease=lease)


def _check_claim(limit: int, worker: str) -> None:
    usable = isinstance(worker, str) and worker.strip() and "\0" not in worker
    if not usable or len(worker.encode("utf-8", "replace")) > MAX_NAME_BYTES or in_words(worker) != worker:
        raise InputRefused(
            "worker_name",
            f"{shown(worker)} is not a usable name of a worker.",
            f"Give a name of at most {MAX_NAME_BYTES} bytes.",
        )
    if type(limit) is not int or not 0 <= limit <= MAX_LIMIT:
        raise InputRefused(
            "claim_limit", f"{shown(limit)} is not a number of errors to claim.", "Claim what you can start at once."
        )


def _reports(outcomes: Sequence[Succeeded | Failed]) -> dict[str, Any]:
    ids = [outcome.error_id for outcome in outcomes]
    if len(set(ids)) < len(ids):
        raise InputRefused("outcome_twice", "One error is reported twice in one call.", "Report each error once.")
    return {
        "tables": [outcome.error_table for outcome in outcomes],
        "ids": ids,
        "tokens": [outcome.token for outcome in outcomes],
        "outcomes": ["FAILED" if isinstance(outcome, Failed) else "SUCCEEDED" for outcome in outcomes],
        "failures": [_message(outcome) for outcome in outcomes],
    }


def _keep_tracebacks(tx: Transaction, outcomes: Sequence[Succeeded | Failed]) -> None:
    failed = [one for one in outcomes if isinstance(one, Failed) and one.traceback]
    keys = (ErrorKey(one.error_table, one.error_id) for one in failed)
    keep(tx, [NewTraceback(key, one.token, one.traceback or "") for key, one in zip(keys, failed, strict=True)])


def _message(outcome: Succeeded | Failed) -> str | None:
    if isinstance(outcome, Succeeded):
        return None
    return in_words(outcome.failure)[:MAX_FAILURE]
