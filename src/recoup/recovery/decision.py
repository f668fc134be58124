"""What an evaluation does with a match, as one pure function: from what the rows say to the next step.

An evaluation reads the match, the condition of its subject, its candidates and their scopes. It ends a candidate, ends
the match, proposes an action, attaches a scope, or waits for the next deadline. There is always one of these: nothing
waits for ever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias
from uuid import UUID

from recoup.recovery.effects import lacks
from recoup.recovery.policy import Action, RecoveryPolicy, Rule
from recoup.recovery.vocabulary import ActionType, CandidateStatus, Failure, MatchStatus, Skip, SubjectKind

Standing: TypeAlias = Literal["failed", "busy", "good", "gone"]
BUSY_AGAIN = timedelta(hours=1)  # how often a match past its time is evaluated while something of it still runs
NOTHING_APPLICABLE = "NOTHING_APPLICABLE"  # why a match ends: nothing is left to try
LEASE_OVER = timedelta(seconds=1)  # how long after a lease's last moment its end is looked for
OPEN = (CandidateStatus.PENDING, CandidateStatus.APPROVED, CandidateStatus.EXECUTING)
# Skipped for a reason that leaves the action to be tried again.
UNTRIED = (Skip.SCOPE_ENDED, Skip.EXECUTE_OVERDUE, Skip.SUBJECT_CHANGED, Skip.ACTION_RETIRED, Skip.OVERTAKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A scope of the match's incident."""

    scope_id: UUID
    is_active: bool  # active, and not expired
    allowed_actions: tuple[str, ...] = ()
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A candidate of the match, open or ended."""

    candidate_id: UUID
    status: CandidateStatus
    action_name: str | None
    action_type: ActionType | None
    proposed_by: str | None = None
    confidence: float = 0.0
    confidence_of: str | None = None
    evidence: int = 0
    decide_by: datetime
    execute_by: datetime | None = None
    lease_until: datetime | None = None
    effect_made: bool = False
    reported: str | None = None
    awaits: bool = False
    unit: Standing | None = None  # the condition of what it awaits
    outcome_by: datetime | None = None
    is_paused: bool = False  # whether work on what it awaits is paused
    skip_reason: str | None = None
    error: str | None = None
    overridden_by: str | None = None
    scope: Scope | None = None
    parameters: Mapping[str, Any] | None = None
    idempotency_key: str | None = None

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def is_overdue(self) -> bool:
        """Whether its outcome did not come in time; what it started may still be under way."""
        return self.status is CandidateStatus.FAILED and self.error == Failure.OUTCOME_OVERDUE

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows if its effect was made."""
        return self.status is CandidateStatus.FAILED and self.error in (Failure.CRASHED, Failure.OUTCOME_OVERDUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the rows say of a match."""

    status: MatchStatus
    kind: SubjectKind
    standing: Standing
    person: str | None = None  # who acted on the subject since its last candidate
    reported_recovered_by: str | None = None
    match_until: datetime
    candidates: Sequence[Candidate] = ()  # oldest first
    scopes: Sequence[Scope] = ()  # active ones of its incident
    fired: tuple[str, ...] | None = None  # rules whose condition is true; None: they were not evaluated
    not_applicable: tuple[str, ...] = ()  # types of action that do not apply to this very subject
    leases_expire: bool = True  # not after a simulated clock moved, until every worker has sent a heartbeat


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Propose:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What an evaluation comes to: at most one end of a candidate, then one step of the match."""

    ends: EndCandidate | None
    step: Step


def decide(facts: Facts, policy: RecoveryPolicy, now: datetime) -> Decision:
    """What to do with a match now."""
    decision = _decided(facts, policy, now)
    if facts.status is MatchStatus.STUCK and isinstance(decision.step, Propose | Attach):
        # It may end; to begin something new, an operator resumes it.
        return replace(decision, step=Wait(until=max(facts.match_until, now + BUSY_AGAIN)))
    return decision


def _decided(facts: Facts, policy: RecoveryPolicy, now: datetime) -> Decision:
    latest = facts.candidates[-1] if facts.candidates else None
    if latest is None or not latest.is_open:
        return Decision(ends=None, step=_without_candidate(facts, policy, now))
    ends = _candidate_end(latest, facts, policy, now)
    if ends is None:
        return Decision(ends=None, step=_with_candidate(latest, facts, now))
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
    if facts.standing == "busy":
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


def _with_candidate(one: Candidate, facts: Facts, now: datetime) -> Step:
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
    deadlines = [one.decide_by] if one.status is CandidateStatus.PENDING else []
    if one.execute_by is not None:
        deadlines.append(one.execute_by)
    return Wait(until=min(deadlines))


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
    if is_corrective and facts.kind in (SubjectKind.OUTSIDE, SubjectKind.PARTITION):
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
    repeated = repeats(facts.candidates, name, {**policy.actions[name].parameters, **(found.parameters or {})})
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """An action that rules or the plan recommend."""

    action_name: str
    fired: tuple[str, ...]  # what decided first: a rule, or the plan; then all other rules that are true
    weight: float = 1.0
    parameters: Mapping[str, Any] | None = None


def recommend(facts: Facts, policy: RecoveryPolicy) -> Recommendation | None:
    """What the rules recommend that are true; without one whose action is left to be tried, what the plan does."""
    fired = by_weight(facts.fired or (), policy)
    for name in fired:
        rule = policy.rules[name]
        if _is_left(rule, facts, policy):
            others = tuple(one for one in fired if one != name)
            return Recommendation(
                action_name=rule.action, fired=(name, *others), weight=rule.weight, parameters=rule.parameters or None
            )
    planned = next_action(facts, policy)
    return None if planned is None else Recommendation(action_name=planned, fired=(f"plan.{facts.kind}", *fired))


def by_weight(fired: Sequence[str], policy: RecoveryPolicy) -> tuple[str, ...]:
    """Rules, the one that recommends most strongly first."""
    return tuple(sorted(fired, key=lambda name: (-policy.rules[name].weight, name)))


def _is_left(rule: Rule, facts: Facts, policy: RecoveryPolicy) -> bool:
    """Whether the action of a rule can be executed, was not rejected or found useless, and may be tried again."""
    of_it = [one for one in facts.candidates if one.action_name == rule.action]
    if any(one.status is CandidateStatus.REJECTED or one.skip_reason == Skip.LOW_CONFIDENCE for one in of_it):
        return False
    tried = [one for one in of_it if one.skip_reason not in UNTRIED and not _untried(one)]
    action = policy.actions[rule.action]
    return (
        len(tried) < rule.times
        and action.type not in facts.not_applicable
        and executable(action, facts.kind, rule.parameters)
    )


def next_action(facts: Facts, policy: RecoveryPolicy) -> str | None:
    """The first action of the plan that applies, was not rejected, and was not tried as often as it is listed."""
    left = list(policy.plan.get(facts.kind, ()))
    for one in facts.candidates:
        if one.status is CandidateStatus.REJECTED or one.skip_reason == Skip.LOW_CONFIDENCE:
            left = [name for name in left if name != one.action_name]
        elif one.action_name in left and one.skip_reason not in UNTRIED and not _untried(one):
            left.remove(one.action_name)
    for name in left:
        action = policy.actions.get(name)
        if action is not None and action.type not in facts.not_applicable and executable(action, facts.kind):
            return name
    return None


def _untried(one: Candidate) -> bool:
    return one.status is CandidateStatus.FAILED and one.error in (Failure.SUBJECT_CHANGED, Failure.SCOPE_REVOKED)


# By type of action: for which kinds of subject it can be executed. The same as recovery.applicable in the database.
APPLICABLE: Mapping[ActionType, frozenset[SubjectKind]] = {
    ActionType.RETRY: frozenset({SubjectKind.ERROR, SubjectKind.INTAKE, SubjectKind.RUN, SubjectKind.OUTSIDE}),
    ActionType.NOTIFY: frozenset(SubjectKind),
    ActionType.MANUAL: frozenset(SubjectKind),
    ActionType.SKIP: frozenset(SubjectKind),
    ActionType.FALLBACK: frozenset({SubjectKind.ERROR, SubjectKind.RUN, SubjectKind.OUTSIDE}),
    ActionType.CIRCUIT_BREAKER: frozenset(SubjectKind),
    ActionType.RECONFIGURE: frozenset(SubjectKind) - {SubjectKind.PARTITION},
    ActionType.ESCALATE: frozenset(SubjectKind),
    ActionType.ROLLBACK: frozenset(SubjectKind) - {SubjectKind.PARTITION},
}


def applicable(action: Action, kind: SubjectKind) -> bool:
    """Whether an action can be executed for subjects of this kind."""
    return kind in APPLICABLE[action.type]


def executable(action: Action, kind: SubjectKind, more: Mapping[str, Any] | None = None) -> bool:
    """Whether it is, with what it is given: its parameters, and more."""
    return applicable(action, kind) and lacks(action.type, kind, {**action.parameters, **(more or {})}) is None


def _scope_for(action_name: str, scopes: Sequence[Scope]) -> Scope | None:
    return next((scope for scope in scopes if scope.is_active and action_name in scope.allowed_actions), None)
