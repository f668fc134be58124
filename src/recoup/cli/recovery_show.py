"""A match in full, as ``recoup recovery show`` prints it."""

import json
from collections.abc import Sequence

from recoup.cli.layout import folded, shown, width
from recoup.cli.output import PIPED_WIDTH, hint, print_wrapped
from recoup.formatting import plural, timestamp
from recoup.recovery.estimate import explain
from recoup.recovery.scopes import Scope
from recoup.recovery.story import Event, Shown, Similar, Situation, Tried

WORDS = {"failed": "still failed", "busy": "being worked on", "good": "recovered", "gone": "given up elsewhere"}


def print_shown(found: Shown, *, demo: bool) -> None:
    """Title, message, status, candidates, scopes, history, and what to do next."""
    match = found.match
    print(f"Match {match['failure_match_id']} · {match['source']} · {match['status']} · {match['category']}")
    for line in str(match["error_message"]).splitlines() or [""]:
        for part in folded(shown(line), (width() or PIPED_WIDTH) - 2):
            print(f"  {part}")
    print()
    print_wrapped(_summary(found), indent=2)
    for one in found.candidates:
        mark = " (asked for)" if one.candidate_id == found.asked else ""
        print(f"\n  Candidate {one.candidate_id} · {shown(one.action_name)} · {one.status}{mark}")
        print_wrapped(_candidate(one), indent=4)
    if found.similar:
        print(f"\n  Similar cases of {shown(found.candidates[-1].action_name)}")
        print_wrapped([(timestamp(one.finished_at), _similar(one)) for one in found.similar], indent=2)
    if found.scopes:
        print("\n  Scopes")
        print_wrapped([(str(scope.scope_id), _scope(scope)) for scope in found.scopes], indent=2)
    print("\n  History")
    what = max((len(one.event_type) for one in found.events), default=0)
    print_wrapped(
        [(f"{timestamp(one.logged_at)}  {one.event_type:<{what}}", f"{_event(one)}  {one.actor_id}") for one in
         found.events],
        indent=2,
    )  # fmt: skip
    print(f"\n  Next: {shown(hint(found.next_step, demo=demo))}")


def _summary(found: Shown) -> list[tuple[str, object]]:
    match = found.match
    lines: list[tuple[str, object]] = [("Status", _status(found)), ("Subject", _where(found.subject, found))]
    if found.awaits is not None:
        lines.append(("Awaits", _where(found.awaits, found)))
    if match["error_code"] is not None:
        lines.append(("Code", match["error_code"]))
    lines.append(("Signature", match["error_signature"]))
    if match["context"]:
        lines.append(("Context", ", ".join(f"{k} {v}" for k, v in match["context"].items() if v is not None)))
    incident = found.incident
    open_ = plural(incident.open, "match", "matches")
    lines.append(("Incident", f"{incident.incident_id} ({incident.status}, {open_} open)"))
    if found.evaluations:
        last = found.evaluations[-1]
        why = ", ".join(last.fired)
        what = last.recommended_action or "nothing"
        lines.append(("Evaluated", f"{plural(match['evaluation_no'], 'time')}; last recommended {what} ({why})"))
        for name, reason in last.passed_over.items():
            lines.append(("Passed over", f"{name}: {reason}"))
        for name, error in (last.errors or {}).items():
            lines.append(("Rule failed", f"{name}: {error}"))
    if found.follows is not None:
        lines.append(("Follows", f"match {found.follows.failure_match_id} ({found.follows.status})"))
    for other in found.followed_by:
        lines.append(("Followed by", f"match {other.failure_match_id} ({other.status})"))
    return lines


def _status(found: Shown) -> str:
    match = found.match
    if match["ended_at"] is not None:
        return f"{match['status']} at {timestamp(match['ended_at'])}: {match['end_reason']}"
    if match["status"] == "stuck":
        failed = plural(match["evaluation_failures"], "evaluation")
        return f"stuck: {failed} failed, the last one with {match['last_failure']}"
    reported = f"; reported as recovered by {match['reported_by']}" if match["reported_end"] is not None else ""
    return f"{match['status']}, next evaluation {timestamp(match['evaluate_at'])}{reported}"


def _where(one: Situation | None, found: Shown) -> str:
    if one is None:
        return f"{found.match['subject_kind']} {found.match['subject_ref']}: not there any more"
    newest = f", now {one.unit}" if one.unit not in (None, one.ref) else ""
    status = f" ({one.status})" if one.status is not None else ""
    if one.unit is None and found.match["ended_at"] is not None:  # of what is outside, only its match tells
        return f"{one.kind} {one.ref}"
    return f"{one.kind} {one.ref}{newest}: {WORDS[one.standing]}{status}"


def _candidate(one: Tried) -> list[tuple[str, object]]:
    lines: list[tuple[str, object]] = [
        ("Confidence", f"{one.confidence:.2f}, from {plural(one.evidence, 'outcome')}; cost {shown(one.cost)}")
    ]
    why_so = explain(one.confidence_basis, one.confidence, one.action_name)
    if why_so is not None:
        lines.append(("Because", why_so))
    if one.parameters:
        lines.append(("Parameters", json.dumps(one.parameters, ensure_ascii=False)))
    if one.held_for_review:
        lines.append(("Held", "for a person to decide, whatever its confidence"))
    if one.proposed_by is not None:
        lines.append(("Proposed", f"by {one.proposed_by}"))
    if one.waits_for == "decision":
        lines.append(("Decide by", one.decide_by))
    if one.decided_by is not None and one.decided_at is not None:
        how = "rejected" if one.status == "rejected" else "approved"
        note = f": {one.decision_note}" if one.decision_note else ""
        lines.append(("Decided", f"{how} by {one.decided_by} at {timestamp(one.decided_at)}{note}"))
    if one.executed_at is not None:
        lines.append(("Executed", f"by {one.worker} at {timestamp(one.executed_at)}"))
    if one.awaits is not None:
        due = f", until {timestamp(one.outcome_by)}" if one.outcome_by is not None else ""
        lines.append(("Awaits", f"{one.awaits['kind']} {one.awaits['key']}{due}"))
    if one.finished_at is not None:
        why = one.skip_reason or one.error
        lines.append(("Outcome", f"{one.status} at {timestamp(one.finished_at)}" + (f": {why}" if why else "")))
    if one.overridden_by is not None:
        lines.append(("Overridden", f"by {one.overridden_by}"))
    if one.result is not None:
        lines.append(("Result", json.dumps(one.result, ensure_ascii=False)))
    return lines


def _similar(one: Similar) -> str:
    why = f": {one.error}" if one.error else ""
    return f"{one.status}{why} ({one.source}, confidence {one.confidence:.2f}, candidate {one.candidate_id})"


def _scope(scope: Scope) -> str:
    attempts, cost = scope.max_attempts - scope.attempts_used, scope.cost_limit - scope.cost_used
    return (
        f"{scope.status}, {attempts:,} of {scope.max_attempts:,} attempts and {cost:,} of {scope.cost_limit:,} units"
        f" left, until {timestamp(scope.expires_at)}: {', '.join(scope.allowed_actions)}"
    )


def _event(one: Event) -> str:
    parts: Sequence[object] = (
        one.action_name,
        None if one.from_status in (None, one.to_status) else f"{one.from_status} → {one.to_status}",
        None if one.confidence is None or one.evidence is None else f"confidence {one.confidence:.2f}",
        None if one.outcome in (None, "SUCCEEDED") else one.outcome,
        one.reason,
    )
    return ", ".join(str(part) for part in parts if part is not None)
