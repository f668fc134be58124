"""Evaluations: matches are claimed from their queue, looked at, and get their next step, in sets.

A batch is one transaction: reading, deciding (:mod:`recoup.recovery.decision`) and writing, each statement under the
authority that owns it. What fails in a batch is evaluated alone; a match whose evaluation fails five times is stuck.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from recoup import observe
from recoup.database.acting import acting_as
from recoup.database.arrays import Routine
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.recovery.confidence import rate
from recoup.recovery.decision import (
    Attach,
    Candidate,
    Decision,
    EndCandidate,
    EndMatch,
    Facts,
    Propose,
    Scope,
    Wait,
    decide,
)
from recoup.recovery.lifecycle import MATCH
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.vocabulary import ActionType, CandidateStatus, Failure, MatchStatus, SubjectKind
from recoup.redaction import in_words
from recoup.refusals import Refusal
from recoup.work.queues import WorkQueue
from recoup.worker.duty import MAX_BATCH, Context

Q = load("recoup.recovery", "evaluation.sql")
EVALUATIONS = WorkQueue(MATCH)
MAX_FAILURE = 2_000
END = Routine(
    name="recovery.end_evaluations",
    sets=(
        {
            "units": "uuid", "tokens": "uuid", "outcomes": "text", "failures": "text", "targets": "text",
            "reasons": "text", "next_at": "timestamptz", "seen_wakes": "integer",
        },
    ),
    results={"failure_match_id": "ended", "status": "statuses"},
)  # fmt: skip
Value = TypeVar("Value")


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


def evaluate_due(context: Context) -> int:
    """Evaluate every match that is due. Returns how many evaluations ended."""
    done = 0
    while True:
        with context.transaction() as tx:
            if not context.may_claim(tx):
                return done
            claimed = EVALUATIONS.claim(tx, Claimed, limit=MAX_BATCH, worker=context.name)
        if not claimed:
            return done
        done += _evaluated(context, claimed)


def _evaluated(context: Context, claimed: Sequence[Claimed]) -> int:
    """A batch in one transaction; if it is refused, each match alone."""
    policy = context.policy[RecoveryPolicy]
    try:
        with context.transaction() as tx:
            evaluate(tx, claimed, policy)
            context.tally(tx, len(claimed))
    except (psycopg.errors.OperationalError, psycopg.errors.InterfaceError):
        raise  # the server: leases expire, and they are evaluated again
    except Exception as error:  # noqa: BLE001 - one bad match must not stop the others
        if len(claimed) == 1:
            _failed(context, claimed[0], error)
            return 1
        return sum(_evaluated(context, [one]) for one in claimed)
    return len(claimed)


def _failed(context: Context, one: Claimed, error: BaseException) -> None:
    said = error.happened if isinstance(error, Refusal) else f"{type(error).__name__}: {error}"
    with context.transaction() as tx:
        became = fail(tx, one, in_words(said))
        context.tally(tx, 1)
    log = observe.logger(worker=context.name)
    say = log.error if became == MatchStatus.STUCK else log.warning
    say("evaluation failed", match=str(one.failure_match_id), failure=said[:500], status=became,
        then=f"recoup recovery show {one.failure_match_id}")  # fmt: skip


def fail(tx: Transaction, one: Claimed, failure: str) -> str:
    """Report an evaluation that failed. Returns the status of its match."""
    given = _given([one]) | {
        "outcomes": ["FAILED"], "failures": [failure[:MAX_FAILURE]], "targets": [None], "reasons": [None],
        "next_at": [None],
    }  # fmt: skip
    return str(END.call(tx, **given)["status"][0])


def expire(tx: Transaction) -> int:
    """Count as failed the evaluations whose lease expired. Call again until it returns 0."""
    (leases_expire,) = tx.execute("select recovery.leases_expire()").fetchone() or (True,)
    return EVALUATIONS.expire(tx) if leases_expire else 0


def evaluate(tx: Transaction, claimed: Sequence[Claimed], policy: RecoveryPolicy) -> list[Decision]:
    """Evaluate claimed matches in the caller's transaction, as the evaluator, with a login that is also the matcher."""
    tx.execute(Q["lock_open"], {"ids": [one.failure_match_id for one in claimed]})
    now, leases_expire = tx.execute("select recoup.now(), recovery.leases_expire()").fetchone() or (None, True)
    assert isinstance(now, datetime)
    seen = look(tx, claimed, leases_expire=leases_expire)
    decided = [(one, decide(one.facts, policy, now)) for one in seen]
    decided = _with_scopes(tx, decided, policy)
    ended = _end_candidates(tx, decided)
    # A candidate that was decided or started meanwhile is not what was seen: its match is evaluated again at once.
    current = [(one, decision) for one, decision in decided if _stands(decision, ended)]
    waits = _attach(tx, current, policy, now) | _propose(tx, current, policy, now)
    _finish(tx, decided, {one.claimed.failure_match_id for one, _ in current}, waits, now)
    return [decision for _, decision in decided]


def _stands(decision: Decision, ended: set[UUID]) -> bool:
    return decision.ends is None or decision.ends.candidate_id in ended


# Reading --------------------------------------------------------------------------------------------------------------


def look(tx: Transaction, claimed: Sequence[Claimed], *, leases_expire: bool = True) -> list[Seen]:
    """What the rows say of these matches."""
    ids = {"ids": [one.failure_match_id for one in claimed]}
    matches = {row["failure_match_id"]: row for row in _rows(tx, "matches", ids)}
    by_match: defaultdict[UUID, list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(tx, "candidates", ids):
        by_match[row["failure_match_id"]].append(row)
    latest = {match: rows[-1] for match, rows in by_match.items()}
    scopes, of_incident = _scopes(tx, matches.values(), latest.values())
    standings = _standings(tx, matches.values(), latest.values())
    people = _people(tx, matches, latest, standings)
    left_out = _not_applicable(tx, matches.values())
    paused = {row["scope_id"] for row in _rows(tx, "paused_tables", {})}
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
                candidates=[_candidate(c, scopes, standings, row, paused) for c in by_match[row["failure_match_id"]]],
                scopes=of_incident[row["incident_id"]],
                not_applicable=left_out.get((row["subject_kind"], row["subject_ref"]), ()),
                leases_expire=leases_expire,
            ),
        )
        for one in claimed
        for row in (matches.get(one.failure_match_id),)
        if row is not None
    ]


def _rows(tx: Transaction, name: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    with tx.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(Q[name], given).fetchall()


def _scopes(
    tx: Transaction, matches: Iterable[Mapping[str, Any]], latest: Iterable[Mapping[str, Any]]
) -> tuple[dict[UUID, Scope], defaultdict[UUID, list[Scope]]]:
    given = {
        "incidents": list({row["incident_id"] for row in matches}),
        "scopes": list({row["scope_id"] for row in latest if row["scope_id"] is not None}),
    }
    scopes: dict[UUID, Scope] = {}
    of_incident: defaultdict[UUID, list[Scope]] = defaultdict(list)
    for row in _rows(tx, "scopes", given):
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
    """Where subjects and awaited units stand, by kind and ref, each with the newest unit of it."""
    asked = {(row["subject_kind"], row["subject_ref"]) for row in matches}
    asked |= {(row["awaits"]["kind"], row["awaits"]["key"]) for row in latest if row["awaits"] is not None}
    kinds = {kind for kind, _ in asked}
    if kinds <= {"outside", "partition"}:  # nothing of ours to look at
        return dict.fromkeys(asked, ("failed", None))
    given = {"kinds": [kind for kind, _ in asked], "refs": [ref for _, ref in asked]}
    return {(row["kind"], row["ref"]): (row["standing"], row["unit"]) for row in _rows(tx, "standings", given)}


def _people(
    tx: Transaction,
    matches: Mapping[UUID, Mapping[str, Any]],
    latest: Mapping[UUID, Mapping[str, Any]],
    standings: Mapping[tuple[str, str], tuple[Any, str | None]],
) -> dict[UUID, str]:
    """Who acted on the subjects of open candidates: people, since the candidate was made."""
    moved: dict[str, list[tuple[UUID, str, str, datetime]]] = {"error": [], "intake": []}
    for match, candidate in latest.items():
        row = matches[match]
        standing, unit = standings.get((row["subject_kind"], row["subject_ref"]), ("gone", None))
        is_open = candidate["status"] in ("pending", "approved", "executing")
        if (
            is_open
            and unit is not None
            and row["subject_kind"] in moved
            and (standing != "failed" or candidate["awaits"] is not None)
        ):
            since = candidate["effect_made_at"] or candidate["created_at"]
            moved[row["subject_kind"]].append((match, row["subject_ref"], unit, since))
    found: dict[str, str] = {}
    for kind, query in (("error", "people_on_errors"), ("intake", "people_on_intakes")):
        if moved[kind]:
            _, refs, units, since = zip(*moved[kind], strict=True)
            given = {"refs": list(refs), "units": list(units), "since": list(since)}
            found |= {row["ref"]: row["actor_id"] for row in _rows(tx, query, given)}
    return {match: found[ref] for some in moved.values() for match, ref, *_ in some if ref in found}


def _not_applicable(tx: Transaction, matches: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Actions that do not apply to a subject although they do to its kind: to retry what may not be retried."""
    refs: defaultdict[str, list[str]] = defaultdict(list)
    for row in matches:
        refs[row["subject_kind"]].append(row["subject_ref"])
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for kind, query in (("intake", "restarted"), ("error", "unretryable")):
        if refs[kind]:
            for (ref,) in tx.execute(Q[query], {"refs": refs[kind]}):
                found[kind, str(ref)] = (ActionType.RETRY.value,)
    return found


def _candidate(
    row: Mapping[str, Any],
    scopes: Mapping[UUID, Scope],
    standings: Mapping[tuple[str, str], tuple[Any, str | None]],
    match: Mapping[str, Any],
    paused: set[str],
) -> Candidate:
    awaits = row["awaits"]
    unit = None
    if awaits is not None and (row["status"] == "executing" or row["error"] == Failure.OUTCOME_OVERDUE):
        # Of errors, intakes and runs the subject's standing is that of the newest unit, which is what is awaited.
        own = awaits["kind"] in ("delivery", "task")
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
        outcome_by=row["outcome_by"],
        is_paused=awaits is not None and not paused.isdisjoint(_tables_of(awaits)),
        skip_reason=row["skip_reason"],
        error=row["error"],
        overridden_by=row["overridden_by"],
        scope=scopes.get(row["scope_id"]) if row["scope_id"] is not None else None,
        parameters=row["parameters"],
        idempotency_key=row["idempotency_key"],
    )


def _tables_of(awaits: Mapping[str, Any]) -> set[str]:
    """The names under which work on an awaited unit can be paused."""
    of = {
        "error": {"recoup.error", str(awaits["key"]).partition("/")[0]}, "run": {"recovery.run"},
        "intake": {"cl.gate_zero_intake", "cl.gate_zero_attempt"}, "delivery": {"recoup.delivery"},
    }  # fmt: skip
    return {"everything"} | of.get(str(awaits["kind"]), set())


# Writing --------------------------------------------------------------------------------------------------------------

Decided = Sequence[tuple[Seen, Decision]]


def _with_scopes(tx: Transaction, decided: Decided, policy: RecoveryPolicy) -> list[tuple[Seen, Decision]]:
    """Open scopes by themselves, where the policy says so, for what is proposed without one."""
    lacking = {
        one.incident_id: one.facts.kind
        for one, decision in decided
        if isinstance(decision.step, Propose) and decision.step.scope is None
    }
    if not policy.scope.opens_by_itself or not lacking:
        return list(decided)
    opened: dict[UUID, Scope] = {}
    for kind in set(lacking.values()):
        names = list(dict.fromkeys(policy.plan.get(kind, ())))
        given = {
            "incidents": [incident for incident, of in lacking.items() if of is kind], "actions": names,
            "max_attempts": policy.scope.max_attempts, "cost_limit": policy.scope.cost_limit,
            "least_cost": min(policy.actions[name].cost for name in names), "ttl_seconds": policy.scope.ttl_seconds,
            "per_day": policy.scope.opened_per_day,
        }  # fmt: skip
        with acting_as(tx, Authority.SCOPED_EXECUTION):
            for scope_id, incident, is_active, actions, expires_at in tx.execute(Q["open_scopes"], given):
                opened[incident] = Scope(
                    scope_id=scope_id, is_active=is_active, allowed_actions=tuple(actions), expires_at=expires_at
                )
    return [(one, _within(decision, opened.get(one.incident_id))) for one, decision in decided]


def _within(decision: Decision, scope: Scope | None) -> Decision:
    step = decision.step
    if scope is not None and isinstance(step, Propose) and step.scope is None:
        return replace(decision, step=replace(step, scope=scope))
    return decision


def _end_candidates(tx: Transaction, decided: Decided) -> set[UUID]:
    """End candidates, those that were skipped and those that were executed; those that had not changed meanwhile."""
    ends = [(one.facts.candidates[-1], d.ends) for one, d in decided if d.ends is not None]
    skips = [(was, end) for was, end in ends if end.status is CandidateStatus.SKIPPED]
    others = [end for _, end in ends if end.status is not CandidateStatus.SKIPPED]
    done: set[UUID] = set()
    if skips:
        given = {
            "ids": [end.candidate_id for _, end in skips], "reasons": [end.reason for _, end in skips],
            "people": [end.overridden_by for _, end in skips], "was": [was.status.value for was, _ in skips],
        }  # fmt: skip
        done |= {row[0] for row in tx.execute(Q["skipped"], given)}
    if others:
        row = tx.execute(Q["end_candidates"], _ends(others)).fetchone()
        done |= set(row[0]) if row is not None else set()
    return done


def _ends(ends: Sequence[EndCandidate]) -> dict[str, Any]:
    return {
        "ids": [end.candidate_id for end in ends],
        "targets": [end.status.value for end in ends],
        "errors": [end.reason for end in ends],
        "teach": [end.teaches for end in ends],
        "people": [end.overridden_by for end in ends],
    }


def _attach(tx: Transaction, decided: Decided, policy: RecoveryPolicy, now: datetime) -> dict[UUID, datetime]:
    """Give open candidates their scope, and rate them again. Returns until when their matches wait."""
    steps = [(one, d.step) for one, d in decided if isinstance(d.step, Attach)]
    if not steps:
        return {}
    given = {
        "ids": [step.candidate_id for _, step in steps],
        "scopes": [step.scope.scope_id for _, step in steps],
        "execute_by": [step.scope.expires_at for _, step in steps],
    }
    attached = {row[0] for row in tx.execute(Q["attached"], given)}
    with acting_as(tx, Authority.MATCHER):
        rated = rate(
            tx, {step.candidate_id: step.action_name for _, step in steps if step.candidate_id in attached}, policy
        )
    return {
        one.claimed.failure_match_id: min(step.scope.expires_at, one.facts.candidates[-1].decide_by)
        if step.candidate_id in attached and not rated[step.action_name].is_low(policy) else now
        for one, step in steps
    }  # fmt: skip


def _propose(tx: Transaction, decided: Decided, policy: RecoveryPolicy, now: datetime) -> dict[UUID, datetime]:
    """New candidates: the evaluation, the birth, the action, its confidence, each by its authority."""
    steps = [(one, d.step) for one, d in decided if isinstance(d.step, Propose)]
    if not steps:
        return {}
    ids = [one.claimed.failure_match_id for one, _ in steps]
    names = [step.action_name for _, step in steps]
    with acting_as(tx, Authority.RULE_ENGINE):
        tx.execute(
            Q["evaluated"],
            {
                "ids": ids, "numbers": [one.claimed.evaluation_no + 1 for one, _ in steps],
                "fired": [",".join(step.fired) for _, step in steps], "actions": names,
                "facts": [json.dumps(_facts(one.facts)) for one, _ in steps],
            },
        )  # fmt: skip
    made = create(
        tx, policy, ids=ids, actions=names, follows=[step.follows for _, step in steps], proposers=[None] * len(ids)
    )
    select_actions(
        tx, policy,
        {
            made[one.claimed.failure_match_id]: Selection(
                step.action_name, step.scope, key=step.idempotency_key, held=step.held_for_review
            )
            for one, step in steps
        },
    )  # fmt: skip
    with acting_as(tx, Authority.MATCHER):
        rated = rate(tx, {made[match]: name for match, name in zip(ids, names, strict=True)}, policy)
    # The candidate's own deadlines; at once if its confidence is so low that it is skipped.
    (decide_by,) = tx.execute(
        "select recoup.now() + make_interval(hours => %s)", (policy.decide_within_hours,)
    ).fetchone() or (now,)
    return {
        one.claimed.failure_match_id: now if rated[step.action_name].is_low(policy)
        else min(decide_by, step.scope.expires_at) if step.scope else decide_by
        for one, step in steps
    }  # fmt: skip


def _facts(facts: Facts) -> dict[str, Any]:
    """What an evaluation is recorded with."""
    return {
        "kind": facts.kind, "standing": facts.standing, "candidates": len(facts.candidates),
        "scopes": len(facts.scopes),
    }  # fmt: skip


def create(
    tx: Transaction,
    policy: RecoveryPolicy,
    *,
    ids: Sequence[UUID],
    actions: Sequence[str],
    follows: Sequence[UUID | None],
    proposers: Sequence[str | None],
) -> dict[UUID, UUID]:
    """Create candidates, by match."""
    given = {
        "ids": list(ids), "follows": list(follows), "proposers": list(proposers), "actions": list(actions),
        "decide_hours": policy.decide_within_hours,
    }  # fmt: skip
    with acting_as(tx, Authority.MATCHER):
        made: dict[UUID, UUID] = dict(tx.execute(Q["created"], given).fetchall())
    return made


class Selection(NamedTuple):
    """What a candidate is given."""

    action: str
    scope: Scope | None = None
    parameters: Mapping[str, Any] | None = None  # beside those of the policy
    key: str | None = None  # idempotency key of the candidate that it repeats
    held: bool = False  # it needs an approval, whatever else allows its start


def select_actions(tx: Transaction, policy: RecoveryPolicy, chosen: Mapping[UUID, Selection]) -> None:
    """Select the actions of candidates, as the policy has them, with their scopes."""
    actions = [policy.actions[one.action] for one in chosen.values()]
    tx.execute(
        Q["selected"],
        {
            "ids": list(chosen),
            "actions": [one.action for one in chosen.values()],
            "types": [action.type.value for action in actions],
            "parameters": [
                json.dumps({**action.parameters, **(one.parameters or {})})
                for action, one in zip(actions, chosen.values(), strict=True)
            ],
            "costs": [action.cost for action in actions],
            "timeouts": [action.timeout_s for action in actions],
            "automated": [action.is_automated for action in actions],
            "approvals": [action.requires_approval for action in actions],
            "scopes": [one.scope.scope_id if one.scope else None for one in chosen.values()],
            "execute_by": [one.scope.expires_at if one.scope else None for one in chosen.values()],
            "keys": [one.key for one in chosen.values()],
            "held": [one.held for one in chosen.values()],
        },
    )


def _finish(
    tx: Transaction, decided: Decided, current: set[UUID], waits: Mapping[UUID, datetime], now: datetime
) -> None:
    """End the evaluations: what each match is now, and when it is looked at again."""
    targets: list[str] = []
    reasons: list[str | None] = []
    next_at: list[datetime] = []
    # The order in which matches are locked by those who wake them.
    decided = sorted(decided, key=lambda pair: pair[0].claimed.failure_match_id)
    for one, decision in decided:
        match = one.claimed.failure_match_id
        target, reason, due = MatchStatus.EVALUATED.value, None, waits.get(match, now)
        if match in current and isinstance(decision.step, EndMatch):
            target, reason = decision.step.status.value, decision.step.reason
        elif match in current and isinstance(decision.step, Wait):
            due = decision.step.until
        targets.append(target)
        reasons.append(reason)
        next_at.append(due)
    claimed = [one.claimed for one, _ in decided]
    END.call(
        tx,
        **_given(claimed),
        outcomes=["SUCCEEDED"] * len(claimed),
        failures=[None] * len(claimed),
        targets=targets,
        reasons=reasons,
        next_at=next_at,
    )


def _given(claimed: Sequence[Claimed]) -> dict[str, Any]:
    return {
        "units": [one.failure_match_id for one in claimed],
        "tokens": [one.token for one in claimed],
        "seen_wakes": [one.wakes for one in claimed],
    }
