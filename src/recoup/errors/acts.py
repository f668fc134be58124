"""What a person may do with an error, and when not. Pure: nothing here asks a database or a clock.

Whoever is refused is told why in words that do not name the error, so that the reasons of many can be counted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from recoup.errors.tables import insert_only
from recoup.errors.vocabulary import ErrorStatus, Tier, Want
from recoup.policy.errors import ErrorTable
from recoup.refusals import InputRefused

REASON_BYTES_MOST = 2000
NAME_BYTES_MOST = 500
LEVEL_MOST = 3  # tiers of escalation


class Verb(StrEnum):
    """What a person does with an error."""

    PARK = "park"  # it waits for a person
    UNPARK = "unpark"  # it is retried, once more than it has been at least
    RESOLVE = "resolve"  # it is done with
    ESCALATE = "escalate"  # somebody else is to look at it
    ASSIGN = "assign"  # somebody answers for it
    REVIEW = "review"  # somebody looked at it
    ARCHIVE = "archive"  # nothing more is done about it


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One decision of a person, over one error or many."""

    verb: Verb
    reason: str | None = None
    to: str | None = None  # to whom it is assigned or escalated
    level: int | None = None  # of an escalation; None: the next one

    def __post_init__(self) -> None:
        if self.reason is None and self.verb in (Verb.PARK, Verb.ESCALATE):
            raise InputRefused(
                "reason_missing", f"To {self.verb} needs a reason.", "Say why; whoever comes next will ask."
            )
        if self.to is None and self.verb is Verb.ASSIGN:
            raise InputRefused("owner_missing", "It is assigned to nobody.", "Say to whom.")
        if self.level is not None and not 1 <= self.level <= LEVEL_MOST:
            raise InputRefused("escalation_level", f"There is no level {self.level}.", f"Give 1 to {LEVEL_MOST}.")
        _check("reason", self.reason, REASON_BYTES_MOST)
        _check("name", self.to, NAME_BYTES_MOST)

    @property
    def arguments(self) -> dict[str, Any]:
        """How it is done, as an operation keeps it."""
        return {name: value for name, value in asdict(self).items() if name != "verb" and value is not None}


class Standing(NamedTuple):
    """Where an error stands, as far as it matters to what may be done with it."""

    status: ErrorStatus
    ttl_tier: Tier
    escalation_level: int
    assigned_to: str | None
    next_retry_at: datetime | None
    archive_reason: str | None  # it is over
    is_expired: bool


class Why(NamedTuple):
    """Why something is not done with an error."""

    code: str
    happened: str
    next_step: str


UNKNOWN = Why("error_unknown", "There is no such error.", "Check table and id: recoup errors list.")
ARCHIVED = Why(
    "error_archived",
    "It is in the archive.",
    "What is over does not come back: if it still fails, record it anew.",
)


def why_not(act: Act, error_table: str, table: ErrorTable | None, error: Standing) -> Why | None:
    """Why this is not done with an error that stands so; None: it is. No table: the policy lists it no longer."""
    if error.ttl_tier is Tier.INFINITE or (table is not None and insert_only(table)):
        return Why(
            "table_insert_only",
            f"{error_table} keeps its errors for ever, as they were recorded.",
            "Look at it: recoup errors show. Nothing is done with it.",
        )
    if error.archive_reason is not None:
        return Why(
            "error_over", f"It is over ({error.archive_reason}), and waits for the archiver.", ARCHIVED.next_step
        )
    match act.verb:
        case Verb.PARK:
            return _why_not_parked(error_table, table, error)
        case Verb.UNPARK:
            return _why_not_retried(error_table, table, error)
        case Verb.ESCALATE:
            return _why_not_escalated(act, error)
        case Verb.ASSIGN if error.assigned_to == act.to:
            return Why("assigned_already", f"It is assigned to {act.to} already.", "Nothing is to be done.")
        case _:
            return None


def level_after(act: Act, level: int) -> int:
    """The tier that an escalation leads to. Parking was the first."""
    return act.level if act.level is not None else min(max(level, 1) + 1, LEVEL_MOST)


def _why_not_parked(error_table: str, table: ErrorTable | None, error: Standing) -> Why | None:
    if error.status in (ErrorStatus.PARKED, ErrorStatus.ESCALATED):
        return Why("parked_already", f"It is {error.status} already.", "Assign it, review it or escalate it.")
    return _not_allowed(error_table, table, Want.PARK, "Resolve it, or archive it.")


def _why_not_retried(error_table: str, table: ErrorTable | None, error: Standing) -> Why | None:
    if error.status is ErrorStatus.RETRY_PENDING:
        return Why("retry_pending_already", "It is being retried, or waits for its retry.", "Wait for the outcome.")
    refused = _not_allowed(
        error_table, table, Want.RETRY, "Mend the cause by hand and resolve it; if it still fails, it is recorded anew."
    )
    # Where what blocks is held back from the archive, it may still be repaired.
    if refused is None and error.is_expired and not (table is not None and table.hold_blocking_past_ttl):
        return Why(
            "error_expired",
            "Its time is over: it is on its way to the archive.",
            "Resolve it if it is mended; if it still fails, it is recorded anew.",
        )
    return refused


def _why_not_escalated(act: Act, error: Standing) -> Why | None:
    if error.status not in (ErrorStatus.PARKED, ErrorStatus.ESCALATED):
        return Why(
            "not_parked", f"It is {error.status}, and nobody waits for it.", "Park it first: recoup errors park."
        )
    after = level_after(act, error.escalation_level)
    if after < error.escalation_level or (error.status is ErrorStatus.ESCALATED and after == error.escalation_level):
        return Why(
            "escalated_already",
            f"It is escalated to level {error.escalation_level} already.",
            f"Levels rise, to {LEVEL_MOST}. To give it to somebody else: recoup errors assign.",
        )
    return None


def _not_allowed(error_table: str, table: ErrorTable | None, want: Want, advice: str) -> Why | None:
    if table is None:
        return Why("table_unlisted", f"{error_table} is not in the policy in force.", "Resolve it, or archive it.")
    if want in table.allowed:
        return None
    allowed = ", ".join(table.allowed)
    return Why(f"{want.lower()}_not_allowed", f"{error_table} does not allow {want}; it allows {allowed}.", advice)


def _check(what: str, text: str | None, most: int) -> None:
    if text is None:
        return
    if not text.strip() or "\0" in text or len(text.encode("utf-8", "replace")) > most:
        raise InputRefused(
            f"{what}_unusable",
            f"The {what} {text[:50]!r} is empty, too long, or holds a NUL.",
            f"Give some words, of at most {most:,} bytes.",
        )
