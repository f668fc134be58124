"""Which action a match gets next: that of a rule that is true, or the next one of the plan. Pure functions."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from recoup.recovery.condition import Candidate, Facts
from recoup.recovery.effects import lacks
from recoup.recovery.policy import Action, RecoveryPolicy, Rule
from recoup.recovery.vocabulary import ActionType, CandidateStatus, Failure, Skip, SubjectKind

# Skipped for a reason that leaves the action to be tried again.
UNTRIED = (Skip.SCOPE_ENDED, Skip.EXECUTE_OVERDUE, Skip.SUBJECT_CHANGED, Skip.ACTION_RETIRED, Skip.OVERTAKEN)


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
