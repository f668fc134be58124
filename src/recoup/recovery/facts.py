"""What an evaluation reads: matches, where their subjects are, their candidates and scopes, for a whole batch."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import dict_row

from recoup.database.arrays import literal
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.recovery.breakers import Shut, earlier_times, parts_of, paused_times, shut_times, time_behind
from recoup.recovery.condition import Candidate, Facts, Scope
from recoup.recovery.rules import Judged
from recoup.recovery.vocabulary import ActionType, CandidateStatus, Failure, MatchStatus, SubjectKind

Q = load("recoup.recovery", "evaluation.sql")
CANDIDATE = "candidate:"  # the subject of a match that is about undoing a candidate
CORRECTIVE = tuple(one.value for one in ActionType if one.is_corrective and one is not ActionType.ROLLBACK)
# What requeues its subject, and needs what a retry needs.
RETRIES = tuple(
    one.value for one in (ActionType.RETRY, ActionType.FALLBACK, ActionType.RECONFIGURE, ActionType.ROLLBACK)
)


class Claimed(NamedTuple):
    """A match that is being evaluated."""

    failure_match_id: UUID
    evaluation_no: int
    wakes: int
    token: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A match as an evaluation sees it."""

    claimed: Claimed
    incident_id: UUID
    facts: Facts
    judged: Judged | None = None  # what the rules say of it; None: they were not evaluated


def look(
    tx: Transaction,
    claimed: Sequence[Claimed],
    locked: Sequence[dict[str, Any]] | None = None,
    *,
    leases_expire: bool = True,
) -> list[Seen]:
    """What the rows say of these matches, whose own rows may have been read as they were locked."""
    ids = {"ids": literal("uuid", [one.failure_match_id for one in claimed])}
    matches = {row["failure_match_id"]: row for row in (rows(tx, "matches", ids) if locked is None else locked)}
    by_match: defaultdict[UUID, list[dict[str, Any]]] = defaultdict(list)
    for row in rows(tx, "candidates", ids):
        by_match[row["failure_match_id"]].append(row)
    latest = {match: rows[-1] for match, rows in by_match.items()}
    earlier = _earlier(tx, matches.values())
    scopes, of_incident = _scopes(tx, matches.values(), latest.values())
    standings = _standings(tx, matches.values(), latest.values())
    people = _people(tx, matches, latest, standings)
    left_out = not_applicable(tx, matches.values())
    shut = shut_times(tx)
    awaiting = [row for row in latest.values() if _awaits(row)]
    if awaiting:
        shut += earlier_times(tx, min(int(row["awaits"]["since_seq"]) for row in awaiting))
        shut += paused_times(tx, min(row["effect_made_at"] for row in awaiting))
    return [
        Seen(
            claimed=one,
            incident_id=row["incident_id"],
            facts=Facts(
                status=MatchStatus(row["status"]),
                kind=SubjectKind(row["subject_kind"]),
                standing=standings.get((row["subject_kind"], row["subject_ref"]), ("gone", None))[0],
                person=people.get(row["failure_match_id"]),
                reported_recovered_by=row["reported_by"],
                match_until=row["match_until"],
                candidates=[_candidate(c, scopes, standings, row, shut) for c in by_match[row["failure_match_id"]]],
                earlier=earlier[row["failure_match_id"]],
                scopes=of_incident[row["incident_id"]],
                not_applicable=left_out.get((row["subject_kind"], row["subject_ref"]), ()),
                leases_expire=leases_expire,
            ),
        )
        for one in claimed
        for row in (matches.get(one.failure_match_id),)
        if row is not None
    ]


def rows(tx: Transaction, name: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    with tx.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(Q[name], given).fetchall()


def _earlier(tx: Transaction, matches: Iterable[Mapping[str, Any]]) -> defaultdict[UUID, list[Candidate]]:
    """What was executed outside for the same failures, in the matches that these follow."""
    found: defaultdict[UUID, list[Candidate]] = defaultdict(list)
    following = [row["failure_match_id"] for row in matches if row["follows"] is not None]
    for row in rows(tx, "earlier", {"ids": following}) if following else ():
        match = row.pop("failure_match_id")
        status, type_ = CandidateStatus(row.pop("status")), ActionType(row.pop("action_type"))
        found[match].append(Candidate(status=status, action_type=type_, **row))
    return found


def _scopes(
    tx: Transaction, matches: Iterable[Mapping[str, Any]], latest: Iterable[Mapping[str, Any]]
) -> tuple[dict[UUID, Scope], defaultdict[UUID, list[Scope]]]:
    given = {
        "incidents": list({row["incident_id"] for row in matches}),
        "scopes": list({row["scope_id"] for row in latest if row["scope_id"] is not None}),
    }
    scopes: dict[UUID, Scope] = {}
    of_incident: defaultdict[UUID, list[Scope]] = defaultdict(list)
    for row in rows(tx, "scopes", given):
        scope = Scope(
            scope_id=row["scope_id"], is_active=row["is_active"], allowed_actions=tuple(row["allowed_actions"]),
            expires_at=row["expires_at"],
        )  # fmt: skip
        scopes[scope.scope_id] = scope
        if scope.is_active:
            of_incident[row["incident_id"]].append(scope)
    return scopes, of_incident


def _standings(
    tx: Transaction, matches: Iterable[Mapping[str, Any]], latest: Iterable[Mapping[str, Any]]
) -> dict[tuple[str, str], tuple[Any, str | None]]:
    """The condition of subjects and awaited units, by kind and ref, each with the newest unit of it."""
    asked = {(row["subject_kind"], row["subject_ref"]) for row in matches}
    asked |= {(row["awaits"]["kind"], row["awaits"]["key"]) for row in latest if row["awaits"] is not None}
    kinds = {kind for kind, _ in asked}
    if kinds <= {"outside"}:  # nothing of ours to read
        return dict.fromkeys(asked, ("failed", None))
    given = {"kinds": [kind for kind, _ in asked], "refs": [ref for _, ref in asked]}
    return {(row["kind"], row["ref"]): (row["standing"], row["unit"]) for row in rows(tx, "standings", given)}


def _people(
    tx: Transaction,
    matches: Mapping[UUID, Mapping[str, Any]],
    latest: Mapping[UUID, Mapping[str, Any]],
    standings: Mapping[tuple[str, str], tuple[Any, str | None]],
) -> dict[UUID, str]:
    """Who acted on the subjects of open candidates: people, since the candidate was made."""
    moved: dict[str, list[tuple[UUID, str, str, datetime]]] = {"error": [], "intake": [], "partition": []}
    for match, candidate in latest.items():
        row = matches[match]
        standing, unit = standings.get((row["subject_kind"], row["subject_ref"]), ("gone", None))
        is_open = candidate["status"] in ("pending", "approved", "executing")
        if (
            is_open
            and unit is not None
            and row["subject_kind"] in moved
            # What a person marked terminal failed as before, and is not to be retried all the same.
            and (standing != "failed" or candidate["awaits"] is not None or row["subject_kind"] == "partition")
        ):
            since = candidate["effect_made_at"] or candidate["created_at"]
            moved[row["subject_kind"]].append((match, row["subject_ref"], unit, since))
    found: dict[str, str] = {}
    for kind, query in (
        ("error", "people_on_errors"), ("intake", "people_on_intakes"), ("partition", "people_on_partitions"),
    ):  # fmt: skip
        if moved[kind]:
            ids, refs, units, since = zip(*moved[kind], strict=True)
            given = {"ids": list(ids), "refs": list(refs), "units": list(units), "since": list(since)}
            found |= {row["ref"]: row["actor_id"] for row in rows(tx, query, given)}
    return _people_on_awaited(tx, latest) | _of(moved, found)


def _people_on_awaited(tx: Transaction, latest: Mapping[UUID, Mapping[str, Any]]) -> dict[UUID, str]:
    """Who ended what candidates await: a breaker that was closed by hand, a notice that was cancelled."""
    found: dict[UUID, str] = {}
    for kind, query in (("breaker", "people_on_breakers"), ("delivery", "people_on_deliveries")):
        awaited = {
            match: row["awaits"]["key"] for match, row in latest.items()
            if row["status"] == "executing" and row["awaits"] is not None and row["awaits"]["kind"] == kind
        }  # fmt: skip
        if awaited:
            ended = {row["ref"]: row["actor_id"] for row in rows(tx, query, {"refs": [*awaited.values()]})}
            found |= {match: ended[ref] for match, ref in awaited.items() if ref in ended}
    return found


def _of(moved: Mapping[str, Sequence[tuple[UUID, str, str, datetime]]], found: Mapping[str, str]) -> dict[UUID, str]:
    return {match: found[ref] for some in moved.values() for match, ref, *_ in some if ref in found}


def not_applicable(tx: Transaction, matches: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Actions that do not apply to a subject although they do to its kind: to retry what may not be retried."""
    refs: defaultdict[str, list[str]] = defaultdict(list)
    for row in matches:
        refs[row["subject_kind"]].append(row["subject_ref"])
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for kind, query in (("intake", "restarted"), ("error", "unretryable")):
        if refs[kind]:
            for (ref,) in tx.execute(Q[query], {"refs": refs[kind]}):
                found[kind, str(ref)] = RETRIES
    # To undo something is a person's wish: if that does not work, a person is asked, and nothing else is tried.
    found |= {("outside", ref): CORRECTIVE for ref in refs["outside"] if ref.startswith(CANDIDATE)}
    return found


def _awaits(row: Mapping[str, Any]) -> bool:
    return row["status"] == CandidateStatus.EXECUTING and row["outcome_by"] is not None


def _candidate(
    row: Mapping[str, Any],
    scopes: Mapping[UUID, Scope],
    standings: Mapping[tuple[str, str], tuple[Any, str | None]],
    match: Mapping[str, Any],
    shut: Sequence[Shut],
) -> Candidate:
    awaits = row["awaits"]
    unit = None
    outcome_by, is_behind = row["outcome_by"], False
    if shut and _awaits(row):
        # Its clock stops.
        parts = parts_of(awaits, match["source"], match["run_kind"], match["batch"])
        held, is_behind = time_behind(shut, parts, row["effect_made_at"])
        outcome_by += held
    if awaits is not None and (row["status"] == "executing" or row["error"] == Failure.OUTCOME_OVERDUE):
        # Of errors, intakes and runs the subject's condition is that of the newest unit, which is what is awaited.
        own = awaits["kind"] in ("delivery", "task", "breaker")
        key = (awaits["kind"], awaits["key"]) if own else (match["subject_kind"], match["subject_ref"])
        unit = standings.get(key, ("gone", None))[0]
    return Candidate(
        candidate_id=row["candidate_id"],
        status=CandidateStatus(row["status"]),
        action_name=row["action_name"],
        action_type=ActionType(row["action_type"]) if row["action_type"] is not None else None,
        proposed_by=row["proposed_by"],
        confidence=row["confidence"],
        confidence_of=row["confidence_of"],
        evidence=row["evidence"],
        decide_by=row["decide_by"],
        execute_by=row["execute_by"],
        lease_until=row["lease_until"],
        effect_made=row["effect_made_at"] is not None,
        reported=row["reported"],
        awaits=awaits is not None,
        unit=unit,
        outcome_by=outcome_by,
        is_paused=is_behind,
        skip_reason=row["skip_reason"],
        error=row["error"],
        overridden_by=row["overridden_by"],
        scope=scopes.get(row["scope_id"]) if row["scope_id"] is not None else None,
        parameters=row["parameters"],
        idempotency_key=row["idempotency_key"],
    )
