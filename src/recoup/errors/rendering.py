"""An error in words: how it came to stand as it does, and what happened to it, as a story. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from recoup.errors.policy import ErrorTable
from recoup.errors.vocabulary import ParkReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened to an error."""

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


DECIDED = {
    "person": "whoever recorded it said what is to become of it",
    "hub rule": "its table has a rule for its code",
    "code rule": "the policy has a rule for its code",
    "severity": "its severity decided",
    "table": "nobody said otherwise, and its table's default was taken",
}
HAPPENED = {
    "RECORDED": "recorded as {to_status}",
    "CLAIMED": "retry {number} began",
    "SUCCEEDED": "retry {retry_count} succeeded",
    "FAILED": "retry {retry_count} failed; it is {to_status}",
    "LAPSED": "retry {retry_count} was never heard of again; it is {to_status}",
    "WINDOW_CLOSED": "nobody retried it in time; it is {to_status}",
    "PARKED": "parked",
    "UNPARKED": "to be retried once more",
    "RESOLVED": "resolved",
    "CLEARED": "resolved: a later run of the same work succeeded",
    "ESCALATED": "escalated",
    "ASSIGNED": "assigned",
    "REVIEWED": "reviewed",
    "SUPERSEDED": "superseded by a newer error of the same failure",
    "EXPIRED": "its time was over",
    "RETIRED": "archived by hand",
    "ARCHIVED": "moved to the archive",
}


def explained(row: Mapping[str, Any], table: ErrorTable | None) -> list[str]:
    """Why an error stands as it does, sentence by sentence."""
    return list(_explained(row, table))


def story(events: Sequence[Event]) -> list[str]:
    """What happened to an error, a line for each event."""
    return [_line(event) for event in events]


def _explained(row: Mapping[str, Any], table: ErrorTable | None) -> Iterator[str]:
    yield _decided(row)
    if row["overruled"] is not None:
        yield f"That made it {row['overruled']}, but the same failure was open, and a newer error never weakens it."
    if row["park_reason"] == ParkReason.NON_RETRYABLE_ERROR and row["decided_by"] in ("severity", "table"):
        yield f"That was a retry, but none helps against what is {row['category']}: a person may start one."
    if row["archived_at"] is not None:
        yield f"It is over since {_at(row['archived_at'])}: {row['archive_reason']}. It blocks nothing."
        return
    yield from _next(row)
    blocks = table is not None and table.blocks and row["disposition"] in ("RETRY", "PARKED")
    if row["outreach_id"] is None:
        yield "It is about no entity, and keeps none from moving on."
    else:
        yield f"It {'keeps its entity' if blocks else 'does not keep its entity'} from moving on."
    if row["expires_at"] is None:
        yield "It is kept for ever."
    else:
        yield f"It is kept {row['ttl_tier']}: until {_at(row['expires_at'])}."


def _decided(row: Mapping[str, Any]) -> str:
    by = f"When it was recorded, under policy {row['policy_version']}, {DECIDED[row['decided_by']]}"
    severity = f" ({row['severity']})" if row["decided_by"] == "severity" else ""
    if row["clamped_from"] is None:
        return f"{by}{severity}."
    return f"{by}{severity}: {row['clamped_from']}, which its table does not allow, so it took what comes nearest."


def _next(row: Mapping[str, Any]) -> Iterator[str]:
    tries = f"{row['retry_count']} of {row['max_retries']} retries have ended"
    match row["status"]:
        case "RETRY_PENDING" if row["leased_by"] is not None:
            yield f"It is {row['category']}; {tries}, and {row['leased_by']} is at it until {_at(row['lease_until'])}."
        case "RETRY_PENDING":
            yield f"It is {row['category']}; {tries}, and the next is due at {_at(row['next_retry_at'])}."
        case "PARKED" | "ESCALATED":
            yield f"It waits for a person since {_at(row['parked_at'])}: {row['park_reason']}; {tries}."
            if row["escalated_to"] is not None:
                yield f"It was escalated to {row['escalated_to']}, level {row['escalation_level']}."
        case _ if row["disposition"] == "IGNORE":
            yield "Nothing is done about it; it is counted."
        case _:
            yield "Nothing is done about it until it is archived."
    if row["assigned_to"] is not None:
        yield f"{row['assigned_to']} answers for it."


def _line(event: Event) -> str:
    words = HAPPENED[event.event_type].format(
        to_status=event.to_status, retry_count=event.retry_count, number=event.retry_count + 1
    )
    facts = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in (event.facts or {}).items())
    beside = "".join(f" ({part})" for part in (event.reason, facts) if part)
    return f"{_at(event.logged_at)}  {words}{beside}, by {event.actor_id} as {event.authority.removeprefix('recoup_')}"


def _at(time: datetime | None) -> str:
    return "no time" if time is None else f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
