"""Partitions in full, as ``recoup state inspect`` and ``recoup state history`` print them."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from recoup.cli.output import Column, command, print_rows, print_wrapped, shown
from recoup.formatting import plural, timestamp
from recoup.partitions.listing import Happened, Inspected
from recoup.partitions.selecting import of
from recoup.partitions.vocabulary import PartitionStatus, ScheduleStatus

ATTEMPTS = (
    Column("number", "attempt", rank=0),
    Column("judged_at", "at", least=12, rank=2),
    Column("verdict", rank=1),
    Column("reason", cut="end", least=12, rank=4),
    Column("rule", cut="end", least=10, rank=6),
    Column("rows", rank=5),
    Column("validator", cut="middle", least=12, rank=7),
    Column("validator_version", "version", rank=9),
    Column("run_id", "run", least=36, rank=8),
    Column("message", cut="fold", least=20, rank=3),
)
LOST = (
    Column("ended_at", "at", least=12),
    Column("worker", cut="middle", least=8),
    Column("reason", cut="end", least=12),
    Column("message", cut="fold", least=20),
)


def print_inspected(one: Inspected, *, demo: bool) -> None:
    """Title, status, next retry, attempts, dispatches that came to nothing, and what to do next."""
    print(f"Partition {shown(str(one.partition))} · {one.status_text}")
    print_wrapped(_summary(one), indent=2)
    if one.attempts:
        print("\n  Attempts")
        print_rows(one.attempts, as_json=False, columns=ATTEMPTS, empty="")
    if one.lost:
        print("\n  Dispatches that came to nothing")
        print_rows(one.lost, as_json=False, columns=LOST, empty="")
    print(f"\n  Next: {next_step(one, demo=demo)}")


def _summary(one: Inspected) -> list[tuple[str, object]]:
    allowed = one.max_attempts + one.granted_attempts
    granted = f", {one.granted_attempts:,} of them granted" if one.granted_attempts else ""
    lines: list[tuple[str, object]] = [("Attempts", f"{one.attempt_count:,} of {allowed:,}{granted}")]
    lines.append(("Next run", _next_run(one)))
    if one.dispatches:
        lines.append(
            ("Dispatches", f"{one.dispatches:,} of {one.dispatch_cap:,} came to nothing since the last verdict")
        )
    if one.run is not None:
        lines.append(("Running", _running(one.run)))
    if one.error_message is not None:
        lines.append(("Message", one.error_message))
    if one.current_run_id is not None:
        lines.append(("Current run", f"{one.current_run_id} ({plural(one.rows or 0, 'row')})"))
    if one.terminal_at is not None:
        lines.append(("Given up", f"{timestamp(one.terminal_at)}, by version {one.terminal_policy} of the policy"))
    lines.append(("Enqueued", f"{timestamp(one.first_enqueued_at)}, lane {one.lane}"))
    if one.backfill_id is not None:
        lines.append(("Backfill", one.backfill_id))
    if one.requested_at is not None:
        lines.append(("Requested", f"{timestamp(one.requested_at)} by {one.requested_by}"))
    lines.append(("Updated", timestamp(one.updated_at)))
    return lines


def _next_run(one: Inspected) -> str:
    match one.schedule:
        case ScheduleStatus.WAITING if one.next_run_at is not None:
            return timestamp(one.next_run_at)
        case ScheduleStatus.OPEN:
            return "now: a run is under way"
        case ScheduleStatus.HELD if one.held_at is not None:
            why = {"OPERATOR": "a structural failure waits for a person", "PAUSED": "its backfill is paused"}
            return f"none: held since {timestamp(one.held_at)}, {why.get(one.hold or '', 'its backfill was cancelled')}"
        case ScheduleStatus.TERMINAL:
            return f"none: terminal ({', '.join(one.terminal_causes or ())})"
        case _:
            return "none: it succeeded"


def _running(run: Any) -> str:
    until = f", lease until {run['lease_until'][:19].replace('T', ' ')}Z" if run["lease_until"] else ""
    return f"run {run['run_id']}, {run['status']}, by {run['worker']}{until}"


def next_step(one: Inspected, *, demo: bool) -> str:
    """What a person may do about it, as a command."""
    key = str(of(one.partition))
    if one.schedule == ScheduleStatus.TERMINAL:
        return command(f'state retry {key} --include-terminal --because "…"', demo=demo)
    if one.schedule == ScheduleStatus.HELD or one.status == PartitionStatus.FAILED:
        return command(f"state retry {key}", demo=demo)
    if one.status == PartitionStatus.SUCCESS:
        return command(f"state paths {key}", demo=demo)
    return command(f"state history {key}", demo=demo)


def print_history(found: Sequence[Happened]) -> None:
    """What happened to each partition, a line for each event."""
    for number, (key, events) in enumerate(groupby(found, key=_key)):
        if number:
            print()
        print(f"Partition {shown('/'.join(map(str, key)))}")
        listed = list(events)
        what = max(len(one.event_type) for one in listed)
        print_wrapped(
            [
                (f"{timestamp(one.logged_at)}  {one.event_type:<{what}}", f"{_detail(one)}  {one.actor_id}")
                for one in listed
            ],
            indent=2,
        )


def _key(one: Happened) -> tuple[object, ...]:
    return (one.source, one.customer_id, one.query_name, one.logical_date)


def _detail(one: Happened) -> str:
    facts = one.facts or {}
    moved = (
        f"{one.subject} {one.from_status} → {one.to_status}" if one.from_status else f"{one.subject} {one.to_status}"
    )
    if one.event_type == "late_verdict":
        moved = f"a verdict came too late and does not count: {one.to_status}"
    named = [f"{title} {_fact(name, facts[name])}" for name, title in SHOWN.items() if name in facts]
    return ", ".join([moved, *([one.reason] if one.reason else []), *named])


def _fact(name: str, value: Any) -> str:
    return timestamp(datetime.fromisoformat(value)) if name == "next_run_at" else shown(value)


# Facts of events that are printed, and what they are called.
SHOWN = {
    "attempt_count": "attempts", "rows": "rows", "message": "message", "lane": "lane", "next_run_at": "next run",
    "hold": "hold", "causes": "causes", "granted": "granted", "backfill_id": "backfill",
}  # fmt: skip
