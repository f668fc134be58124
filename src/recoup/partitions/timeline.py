"""Partitions and their runs on a time line: verdicts, what the control plane planned, and overrides."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.find import Found
from recoup.formatting import timestamp
from recoup.partitions.identity import Partition
from recoup.partitions.listing import status_text
from recoup.partitions.selecting import of
from recoup.partitions.vocabulary import PartitionStatus, RunStatus, ScheduleStatus
from recoup.timeline import MAX_TEXT, MOST, Event, Instant, Page, Row, Status, Timeline, ids, joined

Q = load("recoup.partitions", "timeline.sql")
PARTITION, RUN = "partition", "partition run"
OF_PARTITIONS = {
    "enqueued": "enqueued",
    "requeued": "pending again",
    "accepted": "success: run accepted",
    "rejected": "run rejected: {to_status}",
}
OF_RUNS = {
    "dispatched": "run dispatched to {reason}",
    "started": "run started",
    "published": "run published",
    "released": "run released for another validation: {reason}",
    "accepted": "run accepted",
    "rejected": "run rejected: {reason}",
    "lost": "run lost: {reason}",
}
OF_SCHEDULES = {
    "scheduled": "next run at {next_run_at}",
    "opened": "a run is under way",
    "held": "held: {hold}",
    "released": "released",
    "requested": "requested by {requested_by}",
    "done": "nothing more is planned",
    "terminal_marked": "terminal: {causes}",
    "terminal_marked_too": "terminal for another cause, too: {causes}",
    "terminal_lifted": "terminal mark lifted by {requested_by}",
}


def _row(tx: Transaction, found: Found) -> Row | None:
    """A partition by its key, as it is printed."""
    source, customer, query, day = found.id.split("/")
    given = {"source": source, "customer": customer, "query": query, "day": day}
    row = tx.execute(Q["of_name"], given, prepare=False).fetchone()
    return None if row is None else Row(PARTITION, row[0])


def _connected(tx: Transaction, rows: Sequence[Row]) -> list[Row]:
    """The runs of partitions."""
    given = {"partitions": ids(rows, PARTITION), "most": MOST}
    return [Row(RUN, run) for (run,) in tx.execute(Q["runs"], given, prepare=False)]


def _statuses(tx: Transaction, rows: Sequence[Row], asked: Instant) -> list[Status]:
    given = {"until": asked.bound, "text": MAX_TEXT}
    return [
        *(_partition(row, asked) for row in _read(tx, "partitions", partitions=ids(rows, PARTITION), **given)),
        *(_run(row) for row in _read(tx, "run_statuses", runs=ids(rows, RUN), **given)),
    ]


def _events(tx: Transaction, rows: Sequence[Row], page: Page) -> list[Event]:
    read = _read(tx, "events", partitions=ids(rows, PARTITION), **page.given, text=MAX_TEXT)
    return [_event(row) for row in read]


def _read(tx: Transaction, query: str, **given: Any) -> list[dict[str, Any]]:
    with tx.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(Q[query], given, prepare=False).fetchall()


def _partition(row: Mapping[str, Any], asked: Instant) -> Status:
    partition = Partition(row["source"], row["customer_id"], row["query_name"], row["logical_date"])
    facts = row["facts"] or {}
    status, schedule = PartitionStatus(row["to_status"]), ScheduleStatus(row["schedule"] or ScheduleStatus.IDLE)
    terminal = schedule is ScheduleStatus.TERMINAL
    return Status(
        kind=PARTITION,
        id=str(row["partition_id"]),
        name=str(partition),
        title=None,
        status=status_text(status, schedule, hold=facts.get("hold"), causes=facts.get("causes", ())),
        since=row["since"],
        rule=_rule(row),
        policy_version=facts.get("terminal_policy") if terminal else row["policy_version"],
        may_move_on=status is PartitionStatus.SUCCESS,
        because=_because(row, status, schedule, asked),
        next_at=_time(facts.get("next_run_at")) if schedule is ScheduleStatus.WAITING else None,
        next_step=_next_step(partition, status, schedule),
    )


def _rule(row: Mapping[str, Any]) -> str:
    """The last verdict, and what the control plane made of it."""
    asked = f" {row['given_reason']}." if row["event_type"] in ("enqueued", "requeued") and row["given_reason"] else ""
    if row["verdict"] is None:
        return f"It was enqueued, and has no verdict yet.{asked}"
    if row["verdict"] == "accepted":
        verdict = f"Attempt {row['number']} was accepted."
    else:
        rejected = f"Attempt {row['number']} was rejected with {row['reason']}"
        verdict = joined(rejected, row["rule"], row["message"]) + "."
    planned = joined(_planned(row), row["schedule_reason"])
    return f"{verdict}{asked} {planned[:1].upper()}{planned[1:]}." if planned else f"{verdict}{asked}"


def _planned(row: Mapping[str, Any]) -> str | None:
    if row["schedule"] is None:
        return None
    return _of_schedule(row["scheduled_by"], row["facts"] or {})


def _of_schedule(event: str, facts: Mapping[str, Any]) -> str:
    at = _time(facts.get("next_run_at"))
    return OF_SCHEDULES[event].format(
        next_run_at="no time" if at is None else timestamp(at),
        hold=facts.get("hold"),
        causes=", ".join(facts.get("causes", ())),
        requested_by=facts.get("requested_by"),
    )


def _because(row: Mapping[str, Any], status: PartitionStatus, schedule: ScheduleStatus, asked: Instant) -> str:
    facts = row["facts"] or {}
    current = "It has an accepted run. " if status is PartitionStatus.SUCCESS else ""
    match schedule:
        case ScheduleStatus.TERMINAL:
            return f"{current}It is terminal ({', '.join(facts.get('causes', ()))}): no run follows by itself."
        case ScheduleStatus.HELD:
            return f"{current}It is held ({facts.get('hold')}): no run follows until it is released."
        case ScheduleStatus.OPEN:
            return f"{current}A run is under way."
        case ScheduleStatus.WAITING:
            due = _time(facts.get("next_run_at"))
            when = "now" if due is None or due <= asked.at else f"at {timestamp(due)}"
            return f"{current}The next run is due {when}."
        case ScheduleStatus.IDLE:
            return current.strip() or "Nothing is planned for it."


def _next_step(partition: Partition, status: PartitionStatus, schedule: ScheduleStatus) -> str | None:
    which = of(partition)
    if schedule is ScheduleStatus.TERMINAL:
        return f'Fix the cause, then: recoup state retry {which} --include-terminal --reason "…"'
    if schedule is ScheduleStatus.HELD:
        return f"Fix the cause, then: recoup state retry {which}"
    if status is not PartitionStatus.SUCCESS:
        return f"A worker extracts it: recoup worker; see it: recoup state inspect {which}"
    return None


def _run(row: Mapping[str, Any]) -> Status:
    status = RunStatus(row["to_status"])
    what = OF_RUNS[row["event_type"]].format(reason=row["reason"])
    told = joined(what[:1].upper() + what[1:], row["rule"], row["verdict"] or row["message"])
    return Status(
        kind=RUN,
        id=str(row["run_id"]),
        name=str(row["run_id"]),
        title=f"run {row['number']}, lane {row['lane']}",
        status=status,
        since=row["since"],
        rule=told + ".",
        policy_version=row["policy_version"],
        may_move_on=status is RunStatus.ACCEPTED,
        because=f"It is {status}.",
        next_at=None,
        next_step=None,
    )


def _event(row: Mapping[str, Any]) -> Event:
    facts = row["facts"] or {}
    match row["subject"]:
        case "run":
            text = joined(OF_RUNS[row["event_type"]].format(reason=row["reason"]), facts.get("message"))
        case "partition":
            text = joined(OF_PARTITIONS[row["event_type"]].format(to_status=row["to_status"]), row["reason"])
        case _:
            text = joined(_of_schedule(row["event_type"], facts), row["reason"])
    of_run = row["subject"] == "run"
    return Event(
        at=row["logged_at"],
        seq=row["seq"],
        kind=RUN if of_run else PARTITION,
        id=row["run_id"] if of_run else row["partition_id"],
        event=row["event_type"],
        text=text[: 2 * MAX_TEXT],
        actor=row["actor"],
        actor_id=row["actor_id"],
        authority=row["authority"],
        policy_version=row["policy_version"],
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


TIMELINE = Timeline(
    domain="partitions",
    kinds={PARTITION: "a day of a query for a customer of a source", RUN: "one extraction of a partition"},
    statuses=_statuses,
    events=_events,
    connected=_connected,
    follows=(PARTITION,),
    row=_row,
)
