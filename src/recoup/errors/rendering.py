"""An error in words: why it has its status, what happened to it, and what to do next. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from recoup.errors.policy import ErrorTable
from recoup.errors.vocabulary import ParkReason, Want
from recoup.formatting import duration, plural, timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of an error's history."""

    error_id: int
    logged_at: datetime
    event_type: str
    from_status: str | None
    to_status: str | None
    disposition: str
    retry_count: int
    reason: str | None
    facts: Mapping[str, Any] | None
    actor: str
    actor_id: str
    authority: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A closed error of the same failure."""

    error_id: int
    status: str
    retry_count: int
    max_retries: int
    created_at: datetime
    archived_at: datetime
    archive_reason: str
    superseded_by: int | None


class Line(NamedTuple):
    """One line of a history."""

    at: datetime
    what: str
    detail: str
    by: str


DECIDED = {
    "person": "the caller chose what happens to it",
    "hub rule": "its table has a rule for code {code}",
    "code rule": "the policy has a rule for code {code}",
    "severity": "its severity {severity} decides",
    "table": "no rule matched, the table's default applies",
}
# For each type of event: what happened, and more about it.
HAPPENED = {
    "RECORDED": ("recorded", "{to_status}"),
    "CLAIMED": ("retry {next_retry}", "started"),
    "SUCCEEDED": ("retry {retry_count}", "succeeded"),
    "FAILED": ("retry {retry_count}", "failed"),
    "LAPSED": ("retry {retry_count}", "lease expired without a result"),
    "WINDOW_CLOSED": ("retry window", "closed after {retries}"),
    "PARKED": ("parked", ""),
    "UNPARKED": ("unparked", ""),
    "RESOLVED": ("resolved", ""),
    "CLEARED": ("resolved", "a later run of the same work succeeded"),
    "ESCALATED": ("escalated", "to {to}, tier {level}"),
    "ASSIGNED": ("assigned", "to {to}"),
    "REVIEWED": ("reviewed", ""),
    "SLA_BREACHED": ("review", "overdue in tier {level}, due by {to}"),
    "SUPERSEDED": ("superseded", "by error {superseded_by}"),
    "EXPIRED": ("expired", ""),
    "RETIRED": ("closed", "archived without resolving it"),
    "ARCHIVED": ("archived", ""),
}
RETRIED = ("SUCCEEDED", "FAILED", "LAPSED")  # ends of a retry
MOVES = ("FAILED", "LAPSED", "WINDOW_CLOSED")  # their status after is worth telling


def explained(row: Mapping[str, Any], table: ErrorTable | None, superseded: Sequence[Earlier] = ()) -> list[str]:
    """Why an error has its disposition, sentence by sentence."""
    return list(_explained(row, table, superseded))


def decided(row: Mapping[str, Any]) -> str:
    """Which rule of which policy decided the disposition of an error when it was recorded."""
    by = DECIDED[row["decided_by"]].format(code=row["error_code"], severity=row["severity"])
    refused = f": {row['clamped_from']}, which its table does not allow; it fell back to the nearest that is allowed"
    return f"Under policy {row['policy_version']}, {by}{'' if row['clamped_from'] is None else refused}."


def history(error_id: int, events: Sequence[Event]) -> list[Line]:
    """What happened to an error, and to those that it replaced, a line for each event; one for a retry that ended."""
    ended = {(event.error_id, event.retry_count - 1) for event in events if event.event_type in RETRIED}
    return [
        line(error_id, event)
        for event in events
        if event.event_type != "CLAIMED" or (event.error_id, event.retry_count) not in ended
    ]


def line(error_id: int, event: Event) -> Line:
    """What happened to an error, or to one that it replaced."""
    facts = dict(event.facts or {})
    words = {
        "to_status": event.to_status, "retry_count": event.retry_count, "next_retry": event.retry_count + 1,
        "retries": plural(event.retry_count, "retry", "retries"), "to": facts.get("to"), "level": facts.get("level"),
        "superseded_by": facts.get("superseded_by"),
    }  # fmt: skip
    what, detail = (text.format(**words) for text in HAPPENED[event.event_type])
    reason = None if event.event_type == "CLAIMED" else event.reason
    told = ": ".join(part for part in (detail, reason) if part)
    if event.event_type == "RECORDED" and facts.get("clamped_from"):
        told += f" ({facts['clamped_from']} is not allowed in this table)"
    if event.event_type in MOVES and event.to_status != "RETRY_PENDING":
        told += f"; now {event.to_status}"
    if event.error_id != error_id:
        told += f" (error {event.error_id})"
    return Line(event.logged_at, what, told, f"{event.actor_id} ({event.authority.removeprefix('recoup_')})")


def status(row: Mapping[str, Any], now: datetime) -> str:
    """The status of an error, since when, and why."""
    retries = _retries(row)
    if row["archived_at"] is not None:
        return f"closed {_ago(row['archived_at'], now)}: {row['archive_reason']} ({retries})"
    match row["status"]:
        case "RETRY_PENDING" if row.get("leased_by") is not None:
            return f"being retried by {row['leased_by']} until {timestamp(row['lease_until'])} ({retries})"
        case "RETRY_PENDING":
            late = row["next_retry_at"] <= now
            due = "due for" if late else "due in"
            length = duration(abs(now - row["next_retry_at"]))
            return f"waiting for retry {row['retry_count'] + 1}, {due} {length} ({retries})"
        case "PARKED":
            return f"parked {_ago(row['parked_at'], now)} by {row['parked_by']}: {row['park_reason']} ({retries})"
        case "ESCALATED":
            reason = row["escalation_reason"]
            return f"escalated {_ago(row['escalated_at'], now)} to {row['escalated_to']}: {reason} ({retries})"
        case _ if row["disposition"] == "IGNORE":
            return "counted only; no action is taken"
        case _:
            return "kept until it is archived; no action is taken"


def review(row: Mapping[str, Any], now: datetime) -> str | None:
    """The clock of a parked error's review, in words; None: it has none."""
    due = row["sla_due_at"]
    if row["archived_at"] is not None or row["status"] not in ("PARKED", "ESCALATED") or due is None:
        return None
    if row["sla_met_at"] is not None:
        return "met"
    if now <= due:
        return f"due in {duration(due - now)}"
    seen, since = row["last_reviewed_at"], row["escalated_at"]
    if seen is not None and since is not None and seen > since:
        return "breached, reviewed since"
    return f"breached by {duration(now - due)}"


def tier(row: Mapping[str, Any], now: datetime) -> str | None:
    """The tier of a parked error, since when it has it, and until when it has to be reviewed there."""
    level, clock = row["escalation_level"], review(row, now)
    if row["archived_at"] is not None or row["status"] not in ("PARKED", "ESCALATED") or level == 0:
        return None
    since = f"{level}: {row['escalated_to']}, since {timestamp(row['escalated_at'], seconds=False)}"
    return (
        since if clock is None else f"{since}; review {clock} (SLA {duration(row['sla_due_at'] - row['escalated_at'])})"
    )


def expiry(row: Mapping[str, Any]) -> str:
    """Until when an error is kept."""
    if row["expires_at"] is None:
        return f"never (tier {row['ttl_tier']})"
    return f"{timestamp(row['expires_at'], seconds=False)} (tier {row['ttl_tier']})"


def next_step(row: Mapping[str, Any], table: ErrorTable | None) -> str:
    """What a person can do about an error: a sentence, with the command at its end."""
    error_id = row["error_id"]
    if row["archived_at"] is not None:
        return "nothing to do: it is closed"
    if row["status"] in ("PARKED", "ESCALATED"):
        verb = "unpark" if table is not None and Want.RETRY in table.allowed else "resolve"
        return f'fix the cause, then: recoup errors {verb} {error_id} --reason "…"'
    if row["status"] == "RETRY_PENDING" and row.get("leased_by") is None:
        return f"wait for the retry, or run it now: recoup errors retry {error_id}"
    if row["status"] == "RETRY_PENDING":
        return f'wait for the result, or stop the retry: recoup errors park {error_id} --reason "…"'
    return "nothing to do: it blocks nothing"


def traceback(row: Mapping[str, Any], of_retries: Sequence[str]) -> str | None:
    """The traceback of the last failure that has one: of a retry, or of the first failure."""
    payload = row.get("payload")
    of_first = payload.get("traceback") if isinstance(payload, dict) else None
    found = of_retries[-1] if of_retries else of_first
    return None if found is None else str(found)


def _explained(row: Mapping[str, Any], table: ErrorTable | None, superseded: Sequence[Earlier]) -> Iterator[str]:
    yield decided(row)
    if row["overruled"] is not None:
        yield _overruled(row, superseded)
    elif superseded:
        yield f"It replaces error {superseded[0].error_id} of the same failure, and continues its retries and its age."
    if row["park_reason"] == ParkReason.NON_RETRYABLE_ERROR and row["decided_by"] in ("severity", "table"):
        yield f"{row['category']} errors are not retried automatically; a person can unpark it."
    if row["archived_at"] is not None:
        yield f"Closed at {timestamp(row['archived_at'])}: {row['archive_reason']}. It blocks nothing."
    elif row["outreach_id"] is None:
        yield "It has no entity, so it blocks none."
    elif table is not None and table.blocks and row["disposition"] in ("RETRY", "PARKED"):
        yield "It blocks its entity."
    else:
        yield "It does not block its entity."


def _overruled(row: Mapping[str, Any], superseded: Sequence[Earlier]) -> str:
    older = f"error {superseded[0].error_id}" if superseded else "an open error"
    kept = "parked" if row["disposition"] == "PARKED" else "waiting for a retry"
    return (
        f"The report alone would have meant {row['overruled']}, but {older} of the same failure was {kept}:"
        " a newer error never weakens an open one."
    )


def _retries(row: Mapping[str, Any]) -> str:
    of = plural(row["max_retries"], "retry", "retries")
    return f"{row['retry_count']} of {of} used"


def _ago(time: datetime, now: datetime) -> str:
    return f"{duration(max(now - time, timedelta(0)))} ago"
