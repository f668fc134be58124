"""The facts that a rule sees of a failure: their names, types and meanings, and how they are read from its row."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from recoup.expressions import Language
from recoup.recovery.vocabulary import CandidateStatus

MAX_CONTEXT = 20_000  # bytes of a context that rules see; of a larger one they see nothing
MAX_INCIDENT = 1_000  # matches of an incident that are counted
LARGEST = 2**63 - 1  # integer of the language
TRIED = (CandidateStatus.FAILED, CandidateStatus.SUCCEEDED, CandidateStatus.ROLLED_BACK)


class Fact(NamedTuple):
    """A fact that rules see."""

    type: str  # as CEL writes it
    description: str
    blank: Any


FACTS: Mapping[str, Fact] = {
    "kind": Fact("string", "What failed: error, intake, run, partition or outside.", ""),
    "source": Fact("string", "Where it failed: an error table, a kind of run, a system.", ""),
    "subject": Fact("string", "What failed there: the error, intake or run; of a failure outside, its ref.", ""),
    "signature": Fact("string", "What failures of the same kind have in common.", ""),
    "category": Fact("string", "TRANSIENT, OPERATIONAL or STRUCTURAL.", ""),
    "code": Fact("string", "Code of the failure; empty if it has none.", ""),
    "message": Fact("string", "Message of the failure, as stored: known secrets are redacted.", ""),
    "context": Fact(
        "map<string, dyn>",
        f"Details from its reporter, as stored. Not given if they have more than {MAX_CONTEXT:,} bytes: a rule that"
        " reads it is then no decision. The same holds for a key that is not there: ask first, has(context.key).",
        {},
    ),
    "attempts": Fact("int", "How many candidates of this failure were executed before.", 0),
    "tried": Fact("map<string, int>", "The same by action: 'retry_exponential' in tried.", {}),
    "incident_size": Fact(
        "int", f"Failures of the same incident so far, this one included; {MAX_INCIDENT:,} at most.", 1
    ),
    "age_s": Fact("int", "Seconds since the failure was ingested.", 0),
    "hour": Fact("int", "Hour of the day in UTC, 0 to 23.", 0),
    "weekday": Fact("int", "Day of the week in UTC, 1 (Monday) to 7.", 1),
}
LANGUAGE = Language({name: one.type for name, one in FACTS.items()}, {name: one.blank for name, one in FACTS.items()})
# Facts that are not in the row of the failure: an evaluation is recorded with them.
CHANGING = ("attempts", "tried", "incident_size", "age_s", "hour", "weekday")


def rule_facts(
    row: Mapping[str, Any], candidates: Iterable[tuple[CandidateStatus, str | None]], now: datetime
) -> dict[str, Any]:
    """The facts of a failure at a time, from its row and from the status and action of its candidates so far."""
    tried = Counter(action for status, action in candidates if status in TRIED and action is not None)
    facts = {
        "kind": row["subject_kind"],
        "source": row["source"],
        "subject": row["subject_ref"],
        "signature": row["error_signature"],
        "category": row["category"],
        "code": row["error_code"] or "",
        "message": row["message"],
        "attempts": tried.total(),
        "tried": dict(tried),
        "incident_size": row["incident_size"],
        "age_s": max(0, int((now - row["created_at"]).total_seconds())),
        "hour": now.astimezone(UTC).hour,
        "weekday": now.astimezone(UTC).isoweekday(),
    }
    context = _context(row["context"])
    return facts if context is None else {**facts, "context": context}


def _context(text: str | None) -> dict[str, Any] | None:
    """A context as rules see it. None: it is too large or too deep, or it is no object."""
    if text is None:
        return None
    try:
        found = json.loads(text, parse_int=_number)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _number(text: str) -> int | float:
    """An integer that the language has; a larger one becomes an approximate number."""
    if len(text) > 20:
        return float(text)
    value = int(text)
    return value if -LARGEST <= value <= LARGEST else float(value)
