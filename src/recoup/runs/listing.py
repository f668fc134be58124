"""Runs, listed and shown. Changes nothing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.inputs import shown
from recoup.refusals import InputRefused
from recoup.runs.vocabulary import RunStatus

Q = load("recoup.runs", "runs.sql")
MAX_EVENTS = 10_000
MAX_REASON = 2_000  # characters of an event, where only the latest are asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A run, in a list."""

    run_id: UUID
    kind: str
    source: str
    status: str
    owner: str
    worker_id: UUID | None
    created_at: datetime
    queued_at: datetime | None
    started_at: datetime | None
    heartbeat_at: datetime | None
    finished_at: datetime | None
    retry_of: UUID | None
    candidate_id: UUID | None
    message: str | None  # of its end, or why it crashed


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvent:
    """An event of a run."""

    seq: int
    logged_at: datetime
    event_type: str
    from_status: str | None
    to_status: str
    reason: str | None
    actor_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(Listed):
    """A run with everything that is known of it."""

    input: Any
    retry_with: Any
    result: Any
    retried_by: UUID | None
    trace: list[TraceEvent]


def list_runs(
    tx: Transaction,
    *,
    kind: str | None = None,
    status: str | None = None,
    source: str | None = None,
    limit: int = 50,
    after: tuple[datetime, UUID] | None = None,
) -> list[Listed]:
    """Runs, newest first. ``after``, created_at and id of the last that was listed, gives the next page."""
    if status is not None and status not in list(RunStatus):
        raise InputRefused("status_unknown", f"{shown(status)} is no status.", f"Use one of: {', '.join(RunStatus)}.")
    at, last = after or (None, None)
    given = {"kind": kind, "status": status, "source": source, "limit": limit, "at": at, "after": last}
    with tx.cursor(row_factory=class_row(Listed)) as cursor:
        return cursor.execute(Q["list"], given).fetchall()


def show(tx: Transaction, run_id: UUID, *, latest: int | None = None) -> Shown:
    """A run, with its trace; or a refusal. ``latest``: only the N newest events, with the beginning of each reason."""
    with tx.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(Q["show"], {"run": run_id}).fetchone()
    if row is None:
        raise InputRefused("run_unknown", f"There is no run {run_id}.", "Ids are in: recoup runs list", run_id=run_id)
    with tx.cursor(row_factory=class_row(TraceEvent)) as cursor:
        if latest is None:
            trace = cursor.execute(Q["trace"], {"run": run_id, "limit": MAX_EVENTS}).fetchall()
        else:
            given = {"run": run_id, "limit": latest, "most": MAX_REASON}
            trace = cursor.execute(Q["latest_trace"], given).fetchall()
    return Shown(**row, trace=trace)
