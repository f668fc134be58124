"""Companies and batches on a time line: where an intake was at an instant, and every event of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from psycopg.rows import dict_row

from recoup import pauses
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.formatting import timestamp
from recoup.gate.lifecycle import BatchStatus, IntakeStatus
from recoup.pauses import TABLE, Pause
from recoup.timeline import MAX_TEXT, Event, Instant, Page, Row, Status, Timeline, ids, joined

Q = load("recoup.gate", "timeline.sql")
COMPANY, BATCH = "company", "batch"
MAX_ATTEMPTS = 3  # as the tables have it
TABLES = ("cl.gate_zero_intake", "cl.gate_zero_attempt", "cl.gate_zero_recovery")
PENDING, AUTHORIZED, FAILED, REENTERED, EXHAUSTED = IntakeStatus
HAPPENED = {
    "START": "attempt 1 started",
    "RETRY": "attempt {number} started",
    "CHECKS_PASSED": "attempt {number} passed",
    "EXISTENCE_CONFIRMED": "existence confirmed: authorized",
    "RECOVERY_SUCCESS": "a retry passed: it re-entered as a new intake",
    "MAX_ATTEMPTS_REACHED": "exhausted: no attempts are left",
    "RECOVERY_WINDOW_CLOSED": "exhausted: the retry window of its batch closed",
}
OF_BATCHES = {
    "IMPORTED": "the import began",
    "COMPLETED": "the import was declared complete; the retry window opened",
    "FROZEN": "the retry window closed",
    "PAUSE": "recovery paused",
    "RESUME": "recovery resumed",
}


def _connected(tx: Transaction, rows: Sequence[Row]) -> list[Row]:
    """Intakes of the same company by re-entry and restart, and the batch of each."""
    given = {"intakes": ids(rows, COMPANY)}
    intakes = tx.execute(Q["lineages"], given, prepare=False).fetchall()
    batches = tx.execute(Q["batches_of"], given, prepare=False).fetchall()
    return [*(Row(COMPANY, intake) for (intake,) in intakes), *(Row(BATCH, batch) for (batch,) in batches)]


def _statuses(tx: Transaction, rows: Sequence[Row], asked: Instant) -> list[Status]:
    companies = _read(tx, "companies", intakes=ids(rows, COMPANY), until=asked.bound, text=MAX_TEXT)
    named = ids(rows, BATCH)
    scopes = [(BATCH, one) for one in dict.fromkeys((*named, *(row["batch_id"] for row in companies))) if one]
    paused = pauses.paused_at(tx, [*scopes, *((TABLE, table) for table in TABLES)], asked.bound)
    batches = _read(tx, "batches", batches=named, until=asked.bound)
    return [*(_company(row, paused, asked) for row in companies), *(_batch(row, paused, asked) for row in batches)]


def _events(tx: Transaction, rows: Sequence[Row], page: Page) -> list[Event]:
    given = {**page.given, "text": MAX_TEXT}
    companies = _read(tx, "events", intakes=ids(rows, COMPANY), **given)
    batches = _read(tx, "batch_events", batches=ids(rows, BATCH), **given)
    return [*map(_company_event, companies), *map(_batch_event, batches)]


def _read(tx: Transaction, query: str, **given: Any) -> list[dict[str, Any]]:
    with tx.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(Q[query], given, prepare=False).fetchall()


# Companies ------------------------------------------------------------------------------------------------------------


def _company(row: Mapping[str, Any], paused: Sequence[Pause], asked: Instant) -> Status:
    status = _status(row)
    stopped = next((one for one in paused if one.scope != BATCH or one.scope_id == row["batch_id"]), None)
    closed = row["batch_freeze_at"] is not None and row["batch_freeze_at"] <= asked.at
    tried_again = status is FAILED and not closed
    return Status(
        kind=COMPANY,
        id=str(row["intake_id"]),
        name=", ".join(part for part in (row["company_name"], row["company_domain"], row["state"]) if part),
        title=None,
        status=status,
        since=_since(row, status),
        rule=_rule(row, status),
        policy_version=row["policy_version"] or row["open_policy"],
        may_move_on=status in (AUTHORIZED, REENTERED),
        because=_because(row, status, stopped, asked, closed=closed),
        next_at=row["next_eligible_at"] if tried_again and row["open_number"] is None else None,
        next_step=_next_step(row, status, stopped),
    )


def _status(row: Mapping[str, Any]) -> IntakeStatus:
    """What the attempts that had ended make of it."""
    if row["reentered_from"] is not None:
        return AUTHORIZED
    match row["outcome"]:
        case None:
            return PENDING
        case "passed":
            return AUTHORIZED if row["attempt_number"] == 1 else REENTERED
        case _ if row["exhausted_by"] is not None or row["attempt_number"] >= MAX_ATTEMPTS:
            return EXHAUSTED
        case _:
            return FAILED


def _since(row: Mapping[str, Any], status: IntakeStatus) -> datetime:
    at: datetime = row["exhausted_at"] or row["finished_at"] if status is EXHAUSTED else row["finished_at"]
    return at or row["created_at"]


def _rule(row: Mapping[str, Any], status: IntakeStatus) -> str:
    number, found = row["attempt_number"], joined(row["check_name"], row["message"])
    if row["reentered_from"] is not None:
        return f"A retry of intake {row['reentered_from']} passed, and made this one."
    if status is PENDING:
        return "No attempt had ended yet."
    if row["outcome"] == "passed":
        return f"Every check of attempt {number} passed."
    if status is EXHAUSTED and row["exhausted_by"] == "RECOVERY_WINDOW_CLOSED":
        return f"The retry window of its batch closed after attempt {number} failed with {row['reason_code']}."
    how = "expired without a result" if row["outcome"] == "crashed" else "failed"
    last = f", the last of {MAX_ATTEMPTS}" if status is EXHAUSTED else ""
    return joined(f"Attempt {number}{last}, {how} with {row['reason_code']}", found) + "."


def _because(
    row: Mapping[str, Any], status: IntakeStatus, paused: Pause | None, asked: Instant, *, closed: bool
) -> str:
    if row["open_number"] is not None:
        return (
            f"Attempt {row['open_number']} is in progress: claimed by {row['open_worker']} until"
            f" {timestamp(row['open_until'])}."
        )
    held = "" if paused is None else f" It is paused by {paused.paused_by}: {paused.reason}."
    match status:
        case IntakeStatus.AUTHORIZED:
            return "It is authorized."
        case IntakeStatus.REENTER_SUCCEEDED:
            return f"It moves on as intake {row['reentered_as']}."
        case IntakeStatus.PENDING:
            return f"It waits for its first attempt.{held}"
        case IntakeStatus.EXHAUSTED:
            restarted = row["restarted_as"]
            return "It is exhausted." if restarted is None else f"It is exhausted, and was restarted as {restarted}."
        case IntakeStatus.FAILED:
            if closed:
                return f"The retry window of batch {row['batch_id']} closed at {timestamp(row['batch_freeze_at'])}."
            due = row["next_eligible_at"]
            may = "may be tried again since" if due <= asked.at else "may not be tried again before"
            return f"It {may} {timestamp(due)}.{held}"


def _next_step(row: Mapping[str, Any], status: IntakeStatus, paused: Pause | None) -> str | None:
    if status is EXHAUSTED and row["restarted_as"] is None:
        return f'Restart it, with corrections: recoup gate restart {row["intake_id"]} --reason "…"'
    if status in (PENDING, FAILED) and paused is not None:
        name = "" if paused.scope == pauses.GLOBAL else f" {paused.scope_id}"
        return f'Resume: recoup resume {paused.scope}{name} --reason "…"'
    if status in (PENDING, FAILED) and row["open_number"] is None:
        return "A worker verifies it: recoup worker"
    return None


def _company_event(row: Mapping[str, Any]) -> Event:
    if row["event"] == "CAME_IN":
        text = "came in" if row["detail"] is None else f"came in, for intake {row['detail']}"
    elif row["event"] == "RESTARTED":
        text = joined("restarted", row["detail"])
    else:
        said = HAPPENED.get(row["reason"], "attempt {number} failed: " + row["reason"])
        text = joined(said.format(number=row["number"]), row["detail"] if row["event"] in ("PASS", "FAIL") else None)
    return _event(COMPANY, str(row["intake_id"]), row, text, row["at"], row["policy_version"])


# Batches --------------------------------------------------------------------------------------------------------------


def _batch(row: Mapping[str, Any], paused: Sequence[Pause], asked: Instant) -> Status:
    stopped = next((one for one in paused if one.scope == BATCH and one.scope_id == row["batch_id"]), None)
    status = BatchStatus(row["status"])
    window = {
        BatchStatus.OPEN: "Its retry window opens when the import is declared complete.",
        BatchStatus.COMPLETED: f"Its retry window is open until {timestamp(row['batch_freeze_at'] or asked.at)}.",
        BatchStatus.FROZEN: "Its retry window is closed.",
    }[status]
    return Status(
        kind=BATCH,
        id=row["batch_id"],
        name=row["batch_id"],
        title=None,
        status=status,
        since=row["since"],
        rule=OF_BATCHES["IMPORTED" if status is BatchStatus.OPEN else status].capitalize() + ".",
        policy_version=None if status is BatchStatus.OPEN else row["policy_version"],
        may_move_on=None,
        because=window if stopped is None else f"{window} It is paused by {stopped.paused_by}: {stopped.reason}.",
        next_at=row["batch_freeze_at"] if status is BatchStatus.COMPLETED else None,
        next_step=None if stopped is None else f'Resume it: recoup resume batch {row["batch_id"]} --reason "…"',
    )


def _batch_event(row: Mapping[str, Any]) -> Event:
    text = joined(OF_BATCHES.get(row["event"], row["event"]), row["reason"])
    return _event(BATCH, row["batch_id"], row, text, row["logged_at"], None)


def _event(kind: str, id_: str, row: Mapping[str, Any], text: str, at: datetime, version: int | None) -> Event:
    return Event(
        at=at, seq=row["seq"], kind=kind, id=id_, event=row["event"], text=text, actor=row["actor"],
        actor_id=row["actor_id"], authority=row["authority"], policy_version=version,
    )  # fmt: skip


TIMELINE = Timeline(
    domain="gate",
    kinds={COMPANY: "an intake of Gate Zero, with its re-entry and its restarts", BATCH: "an import batch"},
    statuses=_statuses,
    events=_events,
    connected=_connected,
    follows=(COMPANY,),
)
