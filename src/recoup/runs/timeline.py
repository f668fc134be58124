"""Runs on a time line: what became of each, its retries, and whether it was orphaned."""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.formatting import timestamp
from recoup.runs.vocabulary import TERMINAL, RunStatus
from recoup.timeline import MAX_TEXT, MOST, Event, Instant, Page, Row, Status, Timeline, ids, joined

Q = load("recoup.runs", "timeline.sql")
RUN, CANDIDATE = "run", "candidate"
HAPPENED = {
    "queued": "queued",
    "started": "started",
    "note": "note",
    "succeeded": "succeeded",
    "failed": "failed",
    "crashed": "marked crashed",
}


def _connected(tx: Transaction, rows: Sequence[Row]) -> list[Row]:
    """The chain of retries, and what candidates started."""
    chains = tx.execute(Q["chains"], {"runs": ids(rows, RUN)}, prepare=False).fetchall()
    given = {"candidates": ids(rows, CANDIDATE), "most": MOST}
    started = tx.execute(Q["of_candidates"], given, prepare=False).fetchall()
    return [Row(RUN, run_id) for (run_id,) in (*chains, *started)]


def _statuses(tx: Transaction, rows: Sequence[Row], asked: Instant) -> list[Status]:
    with tx.cursor(row_factory=dict_row) as cursor:
        given = {"runs": ids(rows, RUN), "until": asked.bound, "text": MAX_TEXT}
        return [_status(row, asked) for row in cursor.execute(Q["statuses"], given, prepare=False)]


def _events(tx: Transaction, rows: Sequence[Row], page: Page) -> list[Event]:
    with tx.cursor(row_factory=dict_row) as cursor:
        given = {**page.given, "runs": ids(rows, RUN), "text": MAX_TEXT}
        return [_event(row) for row in cursor.execute(Q["events"], given, prepare=False)]


def _status(row: Mapping[str, Any], asked: Instant) -> Status:
    status = RunStatus(row["to_status"])
    orphaned = _orphaned(row, status, asked)
    return Status(
        kind=RUN,
        id=str(row["run_id"]),
        name=str(row["run_id"]),
        title=row["kind"] if row["kind"] == row["source"] else f"{row['kind']}, {row['source']}",
        status=status,
        since=row["since"],
        rule=_rule(row),
        policy_version=None,
        may_move_on=status is RunStatus.SUCCEEDED,
        because=_because(row, status, orphaned),
        next_at=None,
        next_step=_next_step(row, status, orphaned),
    )


def _orphaned(row: Mapping[str, Any], status: RunStatus, asked: Instant) -> str | None:
    """Why nobody runs it any more. Heartbeats are not logged: only the last one tells how long it was silent."""
    if status in TERMINAL:
        return None
    if row["gone_worker"] is not None:
        return f"its worker {row['gone_worker']} had ended"
    silent = row["heartbeat_at"] is not None and row["threshold"] is not None
    if status is RunStatus.RUNNING and silent and row["heartbeat_at"] <= asked.at - row["threshold"]:
        return f"it had been silent since {timestamp(row['heartbeat_at'])}"
    return None


def _rule(row: Mapping[str, Any]) -> str:
    what = HAPPENED[row["event_type"]].capitalize()
    by = "" if row["event_type"] == "crashed" else f" by {row['actor_id']}"
    retry = "" if row["retry_of"] is None else f" It is the retry of run {row['retry_of']}."
    return f"{joined(what + by, row['reason'])}.{retry}"


def _because(row: Mapping[str, Any], status: RunStatus, orphaned: str | None) -> str:
    if orphaned is not None:
        return f"It is orphaned: {orphaned}."
    retried = "" if row["retried_by"] is None else f" Its retry is run {row['retried_by']}."
    return {
        RunStatus.QUEUED: "It waits to be claimed.",
        RunStatus.RUNNING: "It is running.",
        RunStatus.SUCCEEDED: "It succeeded.",
        RunStatus.FAILED: f"It failed.{retried}",
        RunStatus.CRASHED: f"It crashed.{retried}",
    }[status]


def _next_step(row: Mapping[str, Any], status: RunStatus, orphaned: str | None) -> str | None:
    if orphaned is not None:
        return "A worker marks it crashed: recoup worker"
    if status is RunStatus.QUEUED:
        return f"Claim it: recoup runs claim --kind {row['kind']}"
    if status in (RunStatus.FAILED, RunStatus.CRASHED) and row["retried_by"] is None:
        return f"See what recovers it: recoup find {row['run_id']}"
    return None


def _event(row: Mapping[str, Any]) -> Event:
    return Event(
        at=row["logged_at"],
        seq=row["seq"],
        kind=RUN,
        id=row["run_id"],
        event=row["event_type"],
        text=joined(HAPPENED[row["event_type"]], row["reason"]),
        actor=row["actor"],
        actor_id=row["actor_id"],
        authority=row["authority"],
        policy_version=None,
    )


TIMELINE = Timeline(
    domain="runs",
    kinds={RUN: "one execution of work, with its retries"},
    statuses=_statuses,
    events=_events,
    connected=_connected,
    follows=(RUN, CANDIDATE),
)
