"""What an evaluation does with a match, as one pure function: from what the rows say to the next step.

An evaluation reads the match, the condition of its subject, its candidates and their scopes. It ends a candidate, ends
the match, proposes an action, attaches a scope, or waits for the next deadline. There is always one of these: nothing
waits for ever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from recoup.recovery.condition import Candidate, Facts, Scope
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.recommending import recommend
from recoup.recovery.vocabulary import ActionType, CandidateStatus, Failure, MatchStatus, Skip, SubjectKind

BUSY_AGAIN = timedelta(hours=1)  # how often a match past its time is evaluated while something of it still runs
NOTHING_APPLICABLE = "NOTHING_APPLICABLE"  # why a match ends: nothing is left to try
NEXT_SCOPE = timedelta(days=1)  # after this time a policy that opens scopes opens another one of an incident
LEASE_OVER = timedelta(seconds=1)  # how long after a lease's last moment its end is looked for


# Steps ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EndCandidate:
    """The open candidate ends."""

    candidate_id: UUID
    status: CandidateStatus
    reason: str | None = None  # skip reason, or error
    teaches: bool = True
    overridden_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attach:
    """The open candidate gets a scope, or its action is rated again."""

    candidate_id: UUID
    action_name: str
    scope: Scope


class Propose(NamedTuple):  # like the decision, made for every match
    """A new candidate, with this action; and with a scope, if there is one that allows it."""

    action_name: str
    scope: Scope | None
    follows: UUID | None
    fired: tuple[str, ...]
    idempotency_key: str | None = None  # of the candidate that it repeats, if nobody knows what came of that one
    held_for_review: bool = False  # a person decides, whatever else allows its start
    weight: float = 1.0  # how strongly the action is recommended
    parameters: Mapping[str, Any] | None = None  # in addition to those of the action


@dataclass(frozen=True, slots=True, kw_only=True)
class EndMatch:
    """The match ends."""

    status: MatchStatus
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing to do before this time, unless something wakes it."""

    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """An action is wanted, and the policy has rules: they are evaluated first, and then it is decided again."""


Step: TypeAlias = Attach | Propose | EndMatch | Wait | Ask


class Decision(NamedTuple):
    """What an evaluation comes to: at most one end of a candidate, then one step of the match."""

    ends: EndCandidate | None
    step: Step


def decide(facts: Facts, policy: RecoveryPolicy, now: datetime) -> Decision:
    """What to do with a match now."""
    decision = _decided(facts, policy, now)
    if facts.status is MatchStatus.STUCK:
        # It may end; to begin something new, an operator resumes it. A candidate that is open has its own deadlines.
        if isinstance(decision.step, Propose):
            return decision._replace(step=Wait(until=max(facts.match_until, now + BUSY_AGAIN)))
        if isinstance(decision.step, Attach):
            return decision._replace(step=_deadline(facts.candidates[-1], policy, now))
    return decision


def _decided(facts: Facts, policy: RecoveryPolicy, now: datetime) -> Decision:
    latest = facts.candidates[-1] if facts.candidates else None
    if latest is None or not latest.is_open:
        return Decision(ends=None, step=_without_candidate(facts, policy, now))
    ends = _candidate_end(latest, facts, policy, now)
    if ends is None:
        return Decision(ends=None, step=_with_candidate(latest, facts, policy, now))
    after = replace(facts, candidates=(*facts.candidates[:-1], _ended(latest, ends)))
    return Decision(ends=ends, step=_without_candidate(after, policy, now))


def _ended(candidate: Candidate, ends: EndCandidate) -> Candidate:
    skipped = ends.status is CandidateStatus.SKIPPED
    return replace(
        candidate,
        status=ends.status,
        skip_reason=ends.reason if skipped else None,
        error=None if skipped else ends.reason,
    )


# With an open candidate -----------------------------------------------------------------------------------------------


def _candidate_end(one: Candidate, facts: Facts, policy: RecoveryPolicy, now: datetime) -> EndCandidate | None:
    """How the open candidate ends now, if it does."""
    if one.status is CandidateStatus.EXECUTING:
        return _outcome(one, facts, now)
    skip = _skip(one, facts, policy, now)
    if skip is None:
        return None
    by_person = facts.person if skip in (Skip.SUBJECT_RECOVERED, Skip.SUBJECT_GONE, Skip.SUBJECT_CHANGED) else None
    return EndCandidate(
        candidate_id=one.candidate_id, status=CandidateStatus.SKIPPED, reason=skip, teaches=False,
        overridden_by=by_person or (facts.reported_recovered_by if skip is Skip.SUBJECT_RECOVERED else None),
    )  # fmt: skip


def _outcome(one: Candidate, facts: Facts, now: datetime) -> EndCandidate | None:
    """The outcome of a candidate that is executed."""
    failed = CandidateStatus.FAILED
    if not one.effect_made:
        crashed = one.lease_until is not None and one.lease_until < now and facts.leases_expire
        return EndCandidate(candidate_id=one.candidate_id, status=failed, reason=Failure.CRASHED) if crashed else None
    if one.reported is not None:
        return EndCandidate(candidate_id=one.candidate_id, status=CandidateStatus(one.reported), reason=one.error)
    person = facts.person or facts.reported_recovered_by
    unit = "good" if facts.reported_recovered_by else one.unit
    if unit == "good":
        return EndCandidate(
            candidate_id=one.candidate_id, status=CandidateStatus.SUCCEEDED, teaches=person is None,
            overridden_by=None if one.overridden_by else person,
        )  # fmt: skip
    if unit in ("failed", "gone"):
        return EndCandidate(
            candidate_id=one.candidate_id, status=failed, reason=Failure.UNIT_FAILED, teaches=person is None,
            overridden_by=None if one.overridden_by else person,
        )  # fmt: skip
    if one.outcome_by is not None and one.outcome_by <= now and not one.is_paused:
        return EndCandidate(candidate_id=one.candidate_id, status=failed, reason=Failure.OUTCOME_OVERDUE)
    return None


def _skip(one: Candidate, facts: Facts, policy: RecoveryPolicy, now: datetime) -> Skip | None:
    """Why a candidate that was not started is skipped now, if it is."""
    action = policy.actions.get(one.action_name or "")
    if facts.standing == "good" or facts.reported_recovered_by:
        return Skip.SUBJECT_RECOVERED
    if facts.standing == "gone":
        return Skip.SUBJECT_GONE
    # A partition that a person marked, or had retried in vain, is terminal as before.
    if facts.standing == "busy" or (facts.kind is SubjectKind.PARTITION and facts.person is not None):
        return Skip.SUBJECT_CHANGED
    if one.action_name is not None and (action is None or action.type is not one.action_type):
        return Skip.ACTION_RETIRED
    if one.scope is not None and not one.scope.is_active:
        return Skip.SCOPE_ENDED
    if one.execute_by is not None and one.execute_by <= now:
        return Skip.EXECUTE_OVERDUE
    if one.status is CandidateStatus.PENDING and one.decide_by <= now:
        return Skip.DECISION_OVERDUE
    rated = one.confidence_of is not None and one.confidence_of == one.action_name
    if (
        one.status is CandidateStatus.PENDING
        and one.proposed_by is None
        and rated
        and one.evidence >= policy.evidence_min
        and one.confidence < policy.skip_below
    ):
        return Skip.LOW_CONFIDENCE
    return None


def _with_candidate(one: Candidate, facts: Facts, policy: RecoveryPolicy, now: datetime) -> Step:
    """The match waits for its candidate, at the latest until that has to end."""
    if one.status is CandidateStatus.PENDING and one.scope is None and one.action_name is not None:
        scope = _scope_for(one.action_name, facts.scopes)
        if scope is not None:
            return Attach(candidate_id=one.candidate_id, action_name=one.action_name, scope=scope)
    if one.status is CandidateStatus.EXECUTING:
        # A lease holds until its last moment: it has expired after that.
        deadline = one.outcome_by if one.effect_made else (one.lease_until or now) + LEASE_OVER
        if deadline is None or deadline <= now:  # while the unit's work is paused, or a moved clock settles
            deadline = now + (LEASE_OVER if not one.effect_made else BUSY_AGAIN)
        return Wait(until=deadline)
    return _deadline(one, policy, now)


def _deadline(one: Candidate, policy: RecoveryPolicy, now: datetime) -> Wait:
    """When a candidate that was not started has to be evaluated again."""
    deadlines = [one.decide_by] if one.status is CandidateStatus.PENDING else []
    if one.execute_by is not None:
        deadlines.append(one.execute_by)
    if lacks_scope(one, policy):
        deadlines.append(now + NEXT_SCOPE)
    return Wait(until=min(deadlines))


def lacks_scope(one: Candidate, policy: RecoveryPolicy) -> bool:
    """Whether a candidate waits for a scope that the policy opens by itself."""
    return (
        policy.scope.opens_by_itself and one.status is CandidateStatus.PENDING and one.scope is None
        and one.action_name is not None and one.proposed_by is None
    )  # fmt: skip


# Without one ----------------------------------------------------------------------------------------------------------


def _without_candidate(facts: Facts, policy: RecoveryPolicy, now: datetime) -> Step:
    """What follows when no candidate is open: the end of the match, the next candidate, or waiting."""
    latest = facts.candidates[-1] if facts.candidates else None
    if facts.standing == "good" or facts.reported_recovered_by:
        return EndMatch(status=MatchStatus.RECOVERED, reason=_how(latest))
    if latest is not None and latest.status is CandidateStatus.SUCCEEDED:
        ended = _after_success(latest, facts)
        if ended is not None:
            return ended
    if facts.standing == "gone":
        return EndMatch(status=MatchStatus.UNRECOVERED, reason=Skip.SUBJECT_GONE)
    if latest is not None and latest.skip_reason == Skip.DECISION_OVERDUE:
        return EndMatch(status=MatchStatus.UNRECOVERED, reason=Skip.DECISION_OVERDUE)
    if facts.standing == "busy" or (latest is not None and latest.is_overdue and latest.unit == "busy"):
        # Something of it is under way, also if nobody waits for its outcome any more.
        return Wait(until=max(facts.match_until, now + BUSY_AGAIN))
    if facts.match_until <= now:
        return EndMatch(status=MatchStatus.UNRECOVERED, reason="TIME_OVER")
    if latest is not None and latest.status is CandidateStatus.SUCCEEDED:
        return Wait(until=facts.match_until)  # a compensating action is done; the failure is still there
    return _next_candidate(latest, facts, policy)


def _how(latest: Candidate | None) -> str:
    if latest is not None and latest.status is CandidateStatus.SUCCEEDED:
        return f"recovered by {latest.action_name}"
    return "recovered by other means"


def _after_success(latest: Candidate, facts: Facts) -> Step | None:
    if latest.action_type is ActionType.SKIP:
        return EndMatch(status=MatchStatus.ACCEPTED, reason=f"accepted by {latest.action_name}")
    # Of a subject in this database its condition says whether the failure is gone; of one outside, its action does.
    is_corrective = latest.action_type is not None and latest.action_type.is_corrective
    if is_corrective and facts.kind is SubjectKind.OUTSIDE:
        return EndMatch(status=MatchStatus.RECOVERED, reason=f"recovered by {latest.action_name}")
    return None


def _next_candidate(latest: Candidate | None, facts: Facts, policy: RecoveryPolicy) -> Step:
    counted = [one for one in facts.candidates if _counts(one)]
    if len(counted) >= policy.candidates_max:
        return EndMatch(status=MatchStatus.UNRECOVERED, reason="LIMIT_REACHED")
    if policy.rules and facts.fired is None:
        return Ask()
    found = recommend(facts, policy)
    if found is None:
        return EndMatch(status=MatchStatus.UNRECOVERED, reason=NOTHING_APPLICABLE)
    name = found.action_name
    scope = _scope_for(name, facts.scopes)
    waited = latest is not None and latest.skip_reason in (Skip.SCOPE_ENDED, Skip.EXECUTE_OVERDUE)
    if waited and scope is None and not policy.scope.opens_by_itself:
        # Proposed again when a scope that allows it opens: otherwise it would be skipped and proposed for ever.
        return Wait(until=facts.match_until)
    given = {**policy.actions[name].parameters, **(found.parameters or {})}
    repeated = repeats((*facts.earlier, *facts.candidates), name, given)
    return Propose(
        action_name=name, scope=scope, follows=latest.candidate_id if latest is not None else None,
        fired=found.fired, idempotency_key=repeated, weight=found.weight, parameters=found.parameters,
        held_for_review=repeated is not None and not policy.actions[name].idempotent,
    )  # fmt: skip


def repeats(candidates: Sequence[Candidate], action_name: str, parameters: Mapping[str, Any]) -> str | None:
    """The idempotency key of what an action repeats, if nobody knows whether the effect of that one was made."""
    tried = [
        one for one in candidates
        if one.action_name == action_name and one.idempotency_key is not None and one.parameters == parameters
        and one.status in (CandidateStatus.FAILED, CandidateStatus.SUCCEEDED, CandidateStatus.ROLLED_BACK)
    ]  # fmt: skip
    return tried[-1].idempotency_key if tried and tried[-1].is_unknown else None


def _counts(one: Candidate) -> bool:
    """Whether a candidate counts towards the limit: tried or rejected, and not a person's own proposal."""
    if one.proposed_by is not None:
        return False
    if one.status is CandidateStatus.FAILED:
        return one.error not in (Failure.SUBJECT_CHANGED, Failure.SCOPE_REVOKED)
    return one.status in (CandidateStatus.REJECTED, CandidateStatus.ROLLED_BACK)


def _scope_for(action_name: str, scopes: Sequence[Scope]) -> Scope | None:
    return next((scope for scope in scopes if scope.is_active and action_name in scope.allowed_actions), None)
