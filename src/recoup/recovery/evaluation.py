"""Evaluations: matches are claimed from their queue, evaluated, and given their next step, in sets.

A batch is one transaction: reading, deciding (:mod:`recoup.recovery.decision`) and writing, each statement under the
authority that owns it. What fails in a batch is evaluated alone; a match whose evaluation fails five times is stuck.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

from recoup import observe
from recoup.database.acting import acting_as
from recoup.database.arrays import Routine, literal
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.recovery.condition import Scope
from recoup.recovery.confidence import rate
from recoup.recovery.decision import (
    NEXT_SCOPE,
    NOTHING_APPLICABLE,
    Ask,
    Attach,
    Decision,
    EndCandidate,
    EndMatch,
    Propose,
    Wait,
    decide,
    lacks_scope,
)
from recoup.recovery.facts import Claimed, Seen, look, rows
from recoup.recovery.lifecycle import MATCH
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.recommending import by_weight, executable
from recoup.recovery.rules import active_policy, judge, require_engine
from recoup.recovery.selection import Selection, create, select_actions
from recoup.recovery.vocabulary import CandidateStatus, MatchStatus, SubjectKind
from recoup.redaction import in_words
from recoup.refusals import Refusal
from recoup.work.flow import OF_A_UNIT, UNREACHABLE
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


def evaluate_due(context: Context) -> int:
    """Evaluate every match that is due. Returns how many evaluations ended."""
    done = 0
    while True:
        with context.transaction() as tx:
            if not context.may_claim(tx):
                return done
            require_engine(active_policy(tx))  # before anything is claimed: other workers may have it
            claimed = EVALUATIONS.claim(tx, Claimed, limit=MAX_BATCH, worker=context.name)
        if not claimed:
            return done
        done += _evaluated(context, claimed)


def _evaluated(context: Context, claimed: Sequence[Claimed]) -> int:
    """A batch in one transaction; if it is refused, each match alone."""
    try:
        with context.transaction() as tx:
            evaluate(tx, claimed, active_policy(tx))
            context.tally(tx, len(claimed))
    except Exception as error:
        if isinstance(error, UNREACHABLE) and not isinstance(error, OF_A_UNIT):
            raise  # the server: leases expire, and they are evaluated again
        if len(claimed) == 1:
            _failed(context, claimed[0], error)
            return 1
        return sum(_evaluated(context, [one]) for one in claimed)
    return len(claimed)


def _failed(context: Context, one: Claimed, error: BaseException) -> None:
    said = in_words(error.happened if isinstance(error, Refusal) else f"{type(error).__name__}: {error}")
    with context.transaction() as tx:
        became = fail(tx, one, said)
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
    ids = {"ids": literal("uuid", [one.failure_match_id for one in claimed])}
    tx.execute(Q["lock_open"], ids)
    locked = rows(tx, "locked_matches", ids)
    now, leases_expire = tx.execute("select recoup.now(), recovery.leases_expire()").fetchone() or (None, True)
    assert isinstance(now, datetime)
    seen = look(tx, claimed, locked, leases_expire=leases_expire)
    decided = _with_rules(tx, [(one, decide(one.facts, policy, now)) for one in seen], policy, now)
    opened = _open_scopes(tx, decided, policy)
    ended = _end_candidates(tx, decided)
    # A candidate that was decided or started meanwhile is not what was seen: its match is evaluated again at once.
    current = [(one, decision) for one, decision in decided if _is_current(decision, ended)]
    waits = _attach(tx, current, policy, now) | _propose(tx, current, opened, policy, now)
    _record_ends(tx, current, policy)
    _finish(tx, decided, {one.claimed.failure_match_id for one, _ in current}, waits, now)
    return [decision for _, decision in decided]


def _is_current(decision: Decision, ended: set[UUID]) -> bool:
    return decision.ends is None or decision.ends.candidate_id in ended


# Writing --------------------------------------------------------------------------------------------------------------

Decided = Sequence[tuple[Seen, Decision]]


def _with_rules(
    tx: Transaction, decided: Decided, policy: RecoveryPolicy, now: datetime
) -> list[tuple[Seen, Decision]]:
    """Decide again with what the rules say, where an action is wanted.

    Those that the rules had no time for still ask: they are due again at once.
    """
    asked = [one for one, decision in decided if isinstance(decision.step, Ask)]
    if not asked:
        return list(decided)
    found = judge(tx, {one.claimed.failure_match_id: one.facts.candidates for one in asked}, policy, now)
    heard: list[tuple[Seen, Decision]] = []
    for one, decision in decided:
        judged = found.get(one.claimed.failure_match_id)
        if judged is not None:
            seen = replace(one, judged=judged, facts=replace(one.facts, fired=judged.true))
            heard.append((seen, decide(seen.facts, policy, now)))
        else:
            heard.append((one, decision))
    return heard


def _open_scopes(tx: Transaction, decided: Decided, policy: RecoveryPolicy) -> dict[UUID, Scope]:
    """Open scopes by themselves, where the policy says so, for what has or is proposed without one. By incident."""
    if not policy.scope.opens_by_itself:
        return {}
    lacking = {one.incident_id: one.facts.kind for one, decision in decided if _lacks_scope(one, decision, policy)}
    opened: dict[UUID, Scope] = {}
    for kind in set(lacking.values()):
        rules = (
            one.action for one in policy.rules.values()
            if executable(policy.actions[one.action], kind, one.parameters)
        )  # fmt: skip
        names = list(dict.fromkeys([*policy.plan.get(kind, ()), *rules]))
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
    return opened


def _lacks_scope(one: Seen, decision: Decision, policy: RecoveryPolicy) -> bool:
    if isinstance(decision.step, Propose):
        return decision.step.scope is None
    waits = isinstance(decision.step, Wait) and decision.ends is None and one.facts.status is not MatchStatus.STUCK
    # One that is opened now wakes it: then it is attached.
    return waits and len(one.facts.candidates) > 0 and lacks_scope(one.facts.candidates[-1], policy)


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
        rated = rate(tx, [step.candidate_id for _, step in steps if step.candidate_id in attached], policy)
    return {
        one.claimed.failure_match_id: min(step.scope.expires_at, one.facts.candidates[-1].decide_by)
        if step.candidate_id in attached and not rated[step.candidate_id].is_low else now
        for one, step in steps
    }  # fmt: skip


def _propose(
    tx: Transaction, decided: Decided, opened: Mapping[UUID, Scope], policy: RecoveryPolicy, now: datetime
) -> dict[UUID, datetime]:
    """New candidates: the evaluation, the birth, the action, its confidence, each by its authority."""
    steps = [
        (one, d.step, d.step.scope or opened.get(one.incident_id)) for one, d in decided if isinstance(d.step, Propose)
    ]
    if not steps:
        return {}
    ids = [one.claimed.failure_match_id for one, *_ in steps]
    names = [step.action_name for _, step, _ in steps]
    _record(tx, [(one, step.fired, step.action_name, step.weight) for one, step, _ in steps])
    made = create(
        tx, policy, ids=ids, actions=names, follows=[step.follows for _, step, _ in steps], proposers=[None] * len(ids)
    )
    select_actions(
        tx, policy,
        {
            made[one.claimed.failure_match_id]: Selection(
                step.action_name, scope, parameters=step.parameters, key=step.idempotency_key,
                held=step.held_for_review,
            )
            for one, step, scope in steps
        },
    )  # fmt: skip
    with acting_as(tx, Authority.MATCHER):
        rated = rate(tx, [made[match] for match in ids], policy)
    # The candidate's own deadlines; at once if its confidence is so low that it is skipped.
    (decide_by,) = tx.execute(
        "select recoup.now() + make_interval(hours => %s)", (policy.decide_within_hours,)
    ).fetchone() or (now,)
    without = min(decide_by, now + NEXT_SCOPE) if policy.scope.opens_by_itself else decide_by
    return {
        one.claimed.failure_match_id: now if rated[made[one.claimed.failure_match_id]].is_low
        else min(decide_by, scope.expires_at) if scope else without
        for one, _, scope in steps
    }  # fmt: skip


def _record_ends(tx: Transaction, decided: Decided, policy: RecoveryPolicy) -> None:
    """The evaluations of rules that found nothing to recommend: they are recorded too, with what failed in them."""
    ended = [
        (one, by_weight(one.facts.fired or (), policy), None, 0.0)
        for one, d in decided
        if one.judged is not None and isinstance(d.step, EndMatch) and d.step.reason == NOTHING_APPLICABLE
    ]
    if ended:
        _record(tx, ended)


def _record(tx: Transaction, evaluated: Sequence[tuple[Seen, Sequence[str], str | None, float]]) -> None:
    """Record evaluations: which rules were true, which failed, what is recommended how strongly, on which facts."""
    with acting_as(tx, Authority.RULE_ENGINE):
        tx.execute(
            Q["evaluated"],
            {
                "ids": literal("uuid", [one.claimed.failure_match_id for one, *_ in evaluated]),
                "numbers": literal("integer", [one.claimed.evaluation_no + 1 for one, *_ in evaluated]),
                "rules": literal("text", ["plan" if one.judged is None else "rules" for one, *_ in evaluated]),
                "fired": literal("text", [",".join(fired) for _, fired, _, _ in evaluated]),
                "actions": literal("text", [action for _, _, action, _ in evaluated]),
                "weights": literal("float4", [weight for *_, weight in evaluated]),
                "facts": literal("jsonb", [_recorded(one) for one, *_ in evaluated]),
                "errors": literal(
                    "jsonb", [json.dumps(one.judged.errors) if one.judged and one.judged.errors else None
                              for one, *_ in evaluated]
                ),
            },
        )  # fmt: skip


def _recorded(one: Seen) -> str:
    """What an evaluation is recorded with: what is not in the row of the failure."""
    facts = one.facts
    plain = _plain_facts(facts.kind, facts.standing, len(facts.candidates), len(facts.scopes))
    return plain if one.judged is None else json.dumps(json.loads(plain) | one.judged.facts)


@lru_cache(maxsize=1_000)  # the failures of an incident have it in common
def _plain_facts(kind: SubjectKind, standing: str, candidates: int, scopes: int) -> str:
    return json.dumps({"kind": kind, "subject": standing, "candidates": candidates, "scopes": scopes})


def _finish(
    tx: Transaction, decided: Decided, current: set[UUID], waits: Mapping[UUID, datetime], now: datetime
) -> None:
    """End the evaluations: what each match is now, and when it is evaluated again."""
    targets: list[str] = []
    reasons: list[str | None] = []
    next_at: list[datetime] = []
    # The order in which matches are locked by those who wake them.
    decided = sorted(decided, key=lambda pair: pair[0].claimed.failure_match_id.int)
    for one, decision in decided:
        match = one.claimed.failure_match_id
        target, reason, due = MatchStatus.EVALUATED.value, None, waits.get(match, now)
        if isinstance(decision.step, Ask):  # it is not evaluated yet
            target = one.facts.status.value
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
