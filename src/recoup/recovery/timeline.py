"""Matches and candidates on a time line: which rule recommended what, who decided, and what came of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.formatting import timestamp
from recoup.recovery.vocabulary import CandidateStatus, MatchStatus, SubjectKind
from recoup.timeline import MAX_TEXT, MOST, Event, Instant, Page, Row, Status, Timeline, ids, joined

Q = load("recoup.recovery", "timeline.sql")
MATCH, CANDIDATE = "match", "candidate"
# Kinds of rows as other domains call them, by the kind of subject, or of what is awaited.
ROWS = {
    SubjectKind.ERROR.value: "error",
    SubjectKind.INTAKE.value: "company",
    SubjectKind.RUN.value: "run",
    SubjectKind.PARTITION.value: "partition",
    "delivery": "delivery",
    MATCH: MATCH,
    CANDIDATE: CANDIDATE,
}
SUBJECTS = {ROWS[kind.value]: kind.value for kind in SubjectKind if kind.value in ROWS}
HAPPENED = {
    "match_created": "the failure was matched",
    "match_evaluated": "evaluation {number} ended",
    "match_resumed": "resumed, or its end reported",
    "match_ended": "ended: {to_status}",
    "rule_evaluated": "evaluation {number} recommended {action}",
    "created": "candidate created: {action}",
    "action_selected": "action selected: {action}",
    "confidence_updated": "confidence {confidence}",
    "approved": "{action} approved",
    "rejected": "{action} rejected",
    "executed": "{action} started",
    "effect_made": "effect of {action} made",
    "success": "{action} succeeded",
    "failure": "{action} failed",
    "crashed": "lease of {action} expired",
    "rolled_back": "{action} rolled itself back",
    "skipped": "{action} skipped",
    "manual_override": "a person acted instead",
}
EVALUATION = ("match_evaluated", "match_ended")


def _connected(tx: Transaction, rows: Sequence[Row]) -> list[Row]:
    """The matches of subjects, the candidates of matches, and what either is about."""
    subjects = [row for row in rows if row.kind in SUBJECTS]
    found: list[tuple[str, str]] = []
    if subjects:
        given = {"kinds": [SUBJECTS[row.kind] for row in subjects], "refs": [row.id for row in subjects]}
        matches = tx.execute(Q["of_subjects"], {**given, "most": MOST}, prepare=False)
        found += [(MATCH, match) for (match,) in matches]
    if matches_ := ids(rows, MATCH):
        found += tx.execute(Q["of_matches"], {"matches": matches_, "most": MOST}, prepare=False).fetchall()
    if candidates := ids(rows, CANDIDATE):
        found += tx.execute(Q["of_candidates"], {"candidates": candidates}, prepare=False).fetchall()
    return [Row(ROWS[kind], ref) for kind, ref in found if kind in ROWS]


def _statuses(tx: Transaction, rows: Sequence[Row], asked: Instant) -> list[Status]:
    given = {"until": asked.bound, "text": MAX_TEXT}
    matches, candidates = ids(rows, MATCH), ids(rows, CANDIDATE)
    return [
        *(_match(row) for row in (_read(tx, "matches", matches=matches, **given) if matches else ())),
        *(_candidate(row) for row in (_read(tx, "candidates", candidates=candidates, **given) if candidates else ())),
    ]


def _events(tx: Transaction, rows: Sequence[Row], page: Page) -> list[Event]:
    matches = ids(rows, MATCH)
    if not matches:
        return []
    return [_event(row) for row in _read(tx, "events", matches=matches, **page.given, text=MAX_TEXT)]


def _read(tx: Transaction, query: str, **given: Any) -> list[dict[str, Any]]:
    with tx.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(Q[query], given, prepare=False).fetchall()


# Matches --------------------------------------------------------------------------------------------------------------


def _match(row: Mapping[str, Any]) -> Status:
    status = MatchStatus(row["to_status"])
    ended = status in (MatchStatus.RECOVERED, MatchStatus.ACCEPTED, MatchStatus.UNRECOVERED)
    return Status(
        kind=MATCH,
        id=str(row["failure_match_id"]),
        name=str(row["failure_match_id"]),
        title=joined(row["source"], row["message"]),
        status=status,
        since=row["since"],
        rule=_recommended(row, status),
        policy_version=row["evaluation_policy"] or row["policy_version"],
        may_move_on=None,
        because=_of_match(row, status),
        next_at=None,
        next_step=None if ended else f"See its candidates: recoup recovery show {row['failure_match_id']}",
    )


def _recommended(row: Mapping[str, Any], status: MatchStatus) -> str:
    reason = f" {row['reason']}." if row["reason"] else ""
    if status is MatchStatus.NEW and row["evaluation_no"] is None:
        return f"It was not evaluated yet.{reason}"
    if row["evaluation_no"] is None:
        return reason.strip() or "No rule was evaluated."
    rules = ", ".join(row["fired"]) or "no rule"
    what = row["recommended_action"] or "nothing"
    return f"Evaluation {row['evaluation_no']} recommended {what}, by {rules}.{reason}"


def _of_match(row: Mapping[str, Any], status: MatchStatus) -> str:
    match status:
        case MatchStatus.RECOVERED:
            return "The failure is gone."
        case MatchStatus.ACCEPTED:
            return "A person accepted the failure."
        case MatchStatus.UNRECOVERED:
            return "Nothing is left to try, or its time has passed."
        case MatchStatus.STUCK:
            return "Its evaluation fails; an operator has to resume it."
        case _ if row["candidate_id"] is not None:
            return f"Its latest candidate, {row['action_name'] or 'without an action'}, is {row['open_candidate']}."
        case _:
            return "It has no candidate."


# Candidates -----------------------------------------------------------------------------------------------------------


def _candidate(row: Mapping[str, Any]) -> Status:
    status = CandidateStatus(row["to_status"])
    return Status(
        kind=CANDIDATE,
        id=str(row["candidate_id"]),
        name=str(row["candidate_id"]),
        title=row["action_name"] or row["recommended_action"],
        status=status,
        since=row["since"],
        rule=_decided(row),
        policy_version=row["policy_version"],
        may_move_on=None,
        because=_of_candidate(row, status),
        next_at=None,
        next_step=_next_step(row, status),
    )


def _decided(row: Mapping[str, Any]) -> str:
    """Which rule recommended it, how sure that was, and the event that gave it its status."""
    parts = []
    if row["proposed_by"] is not None:
        parts.append(f"Proposed by {row['proposed_by']}.")
    elif row["evaluation_no"] is not None:
        rules = ", ".join(row["fired"]) or "no rule"
        parts.append(f"Recommended by {rules} in evaluation {row['evaluation_no']}.")
    if row["confidence"] is not None:
        parts.append(f"Confidence {row['confidence']:.2f} from {row['evidence']} outcomes.")
    if row["event_type"] != "created":
        what = row["event_type"].replace("_", " ").capitalize()
        parts.append(joined(f"{what} by {row['actor_id']}", row["reason"]) + ".")
    return " ".join(parts) or "Created."


def _of_candidate(row: Mapping[str, Any], status: CandidateStatus) -> str:
    selected = row["selected"] or {}
    match status:
        case CandidateStatus.PENDING if not row["scope_id"]:
            return "It has no scope, so it cannot be started."
        case CandidateStatus.PENDING | CandidateStatus.APPROVED if row["scope_status"] not in (None, "active"):
            return f"Its scope is {row['scope_status']}, so it cannot be started."
        case CandidateStatus.PENDING if selected.get("held_for_review"):
            return f"It is held for a person to decide, until {timestamp(row['decide_by'])}."
        case CandidateStatus.PENDING if selected.get("requires_approval", True):
            return f"It waits for an approval until {timestamp(row['decide_by'])}."
        case CandidateStatus.PENDING:
            return f"It starts when its gates allow, or is decided until {timestamp(row['decide_by'])}."
        case CandidateStatus.APPROVED:
            return "It is approved, and waits to be started."
        case CandidateStatus.EXECUTING:
            awaits = row["awaits"] or {}
            return f"It awaits {awaits['kind']} {awaits['key']}." if "kind" in awaits else "A worker is executing it."
        case _:
            return f"It has ended: {status}."


def _next_step(row: Mapping[str, Any], status: CandidateStatus) -> str | None:
    id_ = row["candidate_id"]
    if status is CandidateStatus.PENDING:
        return f"Decide: recoup recovery approve {id_}, or reject it"
    if status in (CandidateStatus.APPROVED, CandidateStatus.EXECUTING):
        return f"Follow it: recoup recovery show {id_}"
    return None


def _event(row: Mapping[str, Any]) -> Event:
    words = {
        "number": row["number"],
        "to_status": row["to_status"],
        "action": row["action_name"] or "nothing",
        "confidence": f"{row['confidence']:.2f}" if row["confidence"] is not None else "unknown",
    }
    outcome = row["outcome"] if row["event_type"] in EVALUATION and row["outcome"] == "FAILED" else None
    fired = None if row["fired"] is None else f"by {', '.join(row['fired']) or 'no rule'}"
    reason = None if row["event_type"] == "rule_evaluated" else row["reason"]
    of_candidate = row["candidate_id"] is not None
    return Event(
        at=row["logged_at"],
        seq=row["seq"],
        kind=CANDIDATE if of_candidate else MATCH,
        id=row["candidate_id"] if of_candidate else row["failure_match_id"],
        event=row["event_type"],
        text=joined(joined(HAPPENED[row["event_type"]].format(**words), fired, by=" "), outcome, reason),
        actor=row["actor"],
        actor_id=row["actor_id"],
        authority=row["authority"],
        policy_version=row["policy_version"],
    )


TIMELINE = Timeline(
    domain="recovery",
    kinds={MATCH: "a failure that is to be recovered from", CANDIDATE: "an action that may recover it"},
    statuses=_statuses,
    events=_events,
    connected=_connected,
    follows=(*SUBJECTS, MATCH, CANDIDATE),
)
