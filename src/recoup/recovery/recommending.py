"""Which action a match gets next: that of a rule that is true, or the next one of the plan. Pure functions."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from recoup.recovery.condition import Facts
from recoup.recovery.effects import lacks
from recoup.recovery.policy import Action, RecoveryPolicy, Rule
from recoup.recovery.vocabulary import ActionType, CandidateStatus, Failure, Skip, SubjectKind

# Skipped for a reason that leaves the action to be tried again.
UNTRIED = (Skip.SCOPE_ENDED, Skip.EXECUTE_OVERDUE, Skip.SUBJECT_CHANGED, Skip.ACTION_RETIRED, Skip.OVERTAKEN)


class Ended(Protocol):
    """A candidate of a match that has ended."""

    @property
    def action_name(self) -> str | None: ...
    @property
    def status(self) -> str: ...
    @property
    def skip_reason(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...


class Recommendation(NamedTuple):
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
        if why_not(rule, facts.kind, facts.candidates, policy, left_out=facts.not_applicable) is None:
            others = tuple(one for one in fired if one != name)
            return Recommendation(
                action_name=rule.action, fired=(name, *others), weight=rule.weight, parameters=rule.parameters or None
            )
    planned = next_action(facts, policy)
    return None if planned is None else Recommendation(action_name=planned, fired=(f"plan.{facts.kind}", *fired))


def by_weight(fired: Sequence[str], policy: RecoveryPolicy) -> tuple[str, ...]:
    """Rules, the one that recommends most strongly first."""
    return tuple(sorted(fired, key=lambda name: (-policy.rules[name].weight, name)))


def passed_over(fired: Sequence[str], recommended: str | None, policy: RecoveryPolicy) -> tuple[str, ...]:
    """Of the rules that were true, as an evaluation recorded them, those that come before what decided."""
    ordered = by_weight([name for name in fired if name in policy.rules], policy)
    decided = fired[0] if fired and recommended is not None else None
    return ordered[: ordered.index(decided)] if decided in ordered else ordered


def why_not(
    rule: Rule, kind: SubjectKind, ended: Iterable[Ended], policy: RecoveryPolicy, *, left_out: Collection[str] = ()
) -> str | None:
    """Why the action of a rule that is true is not recommended: rejected, found useless, tried, or not executable.

    ended: what was tried of the match. left_out: types of action that do not apply to this very subject.
    """
    of_it = [one for one in ended if one.action_name == rule.action]
    if any(one.status == CandidateStatus.REJECTED for one in of_it):
        return f"{rule.action} was rejected"
    if any(one.skip_reason == Skip.LOW_CONFIDENCE for one in of_it):
        return f"{rule.action} was skipped for its low confidence"
    tried = sum(one.skip_reason not in UNTRIED and not _untried(one) for one in of_it)
    if tried >= rule.times:
        return f"{rule.action} was tried {tried} of {rule.times} times"
    action = policy.actions[rule.action]
    if action.type in left_out or not executable(action, kind, rule.parameters):
        return f"{rule.action} cannot be executed for it"
    return None


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


def _untried(one: Ended) -> bool:
    return one.status == CandidateStatus.FAILED and one.error in (Failure.SUBJECT_CHANGED, Failure.SCOPE_REVOKED)


# By type of action: for which kinds of subject it can be executed. The same as recovery.applicable in the database.
APPLICABLE: Mapping[ActionType, frozenset[SubjectKind]] = {
    ActionType.RETRY: frozenset(SubjectKind),
    ActionType.NOTIFY: frozenset(SubjectKind),
    ActionType.MANUAL: frozenset(SubjectKind),
    ActionType.SKIP: frozenset(SubjectKind),
    ActionType.FALLBACK: frozenset(SubjectKind) - {SubjectKind.INTAKE},
    ActionType.CIRCUIT_BREAKER: frozenset(SubjectKind),
    ActionType.RECONFIGURE: frozenset(SubjectKind),
    ActionType.ESCALATE: frozenset(SubjectKind),
    ActionType.ROLLBACK: frozenset(SubjectKind),
}


def applicable(action: Action, kind: SubjectKind) -> bool:
    """Whether an action can be executed for subjects of this kind."""
    return kind in APPLICABLE[action.type]


def executable(action: Action, kind: SubjectKind, more: Mapping[str, Any] | None = None) -> bool:
    """Whether it is, with what it is given: its parameters, and more."""
    return applicable(action, kind) and lacks(action.type, kind, {**action.parameters, **(more or {})}) is None
