"""The policy's section on recovery: deadlines, gates, scopes, which failures become matches, and the actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from recoup.errors.vocabulary import ParkReason
from recoup.policy.section import Part, Section, wrong_value
from recoup.recovery.rule_facts import LANGUAGE
from recoup.recovery.texts import looks_secret
from recoup.recovery.vocabulary import ActionType, SubjectKind
from recoup.redaction import REDACTED
from recoup.refusals import InputRefused

Days = Annotated[int, Field(ge=1, le=365)]
Hours = Annotated[int, Field(ge=1, le=8_760)]
Seconds = Annotated[int, Field(ge=1, le=86_400)]
Units = Annotated[int, Field(ge=1, le=1_000_000)]
Share = Annotated[float, Field(ge=0, le=1, strict=False)]
ActionName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]{0,99}$", description="a name in lower case, like retry_later")
]
TypeWord = Annotated[ActionType, Field(strict=False)]
KindWord = Annotated[SubjectKind, Field(strict=False)]
ParkWord = Annotated[ParkReason, Field(strict=False)]
MAX_RULES = 200
# Of probes: more than a week is a breaker that nobody looks after.
Wait = Annotated[int, Field(ge=1, le=604_800)]
PartName = Annotated[str, Field(min_length=1, max_length=500)]
# What a type of action has to be given, and what each of these must be.
GIVEN: dict[ActionType, dict[str, type]] = {
    ActionType.NOTIFY: {"route": str},
    ActionType.MANUAL: {"owner": str, "due_hours": int},
}


def _without_secrets(parameters: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Everybody who reads the database reads the policy and its candidates. What is stored already is left alone."""
    found = [
        name for name, value in parameters.items() if (info.context or {}).get("is_new") and looks_secret(name, value)
    ]
    if found:
        raise wrong_value(
            "", REDACTED, "the place of a secret, such as the name of an environment variable",
            problem=f"{found[0]} looks like a secret, and every version of a policy is kept for good",
        )  # fmt: skip
    return parameters


Parameters = Annotated[dict[str, Any], Field(default_factory=dict), AfterValidator(_without_secrets)]


class Action(Section):
    """An action of the catalogue."""

    type: TypeWord
    is_automated: bool
    requires_approval: bool
    cost: Units
    timeout_s: Seconds
    # Whether a repetition under the same idempotency key makes nothing twice.
    idempotent: bool = False
    # Whether its executor, a function of yours, can undo it.
    undo: bool = False
    parameters: Parameters

    @model_validator(mode="after")
    def _given_what_it_needs(self) -> Action:
        wrong = wrong_parameter(self.type, self.parameters)
        if wrong is not None:
            raise wrong_value(f"parameters.{wrong[0]}", *wrong[1:])
        return self


def wrong_parameter(type_: ActionType, parameters: Mapping[str, Any]) -> tuple[str, object, str] | None:
    """A parameter that an action of a type cannot do with: its name, its value, and what is needed. None: all fit."""
    for name, kind in GIVEN.get(type_, {}).items():
        value = parameters.get(name)
        if type(value) is not kind or not value:
            what = "a text" if kind is str else "a number of hours, 1 or more"
            return name, value, f"{what}: every {type_} needs it"
    return None


class Rule(Section):
    """A condition over the facts of a failure, and the action that it recommends."""

    when: Annotated[str, Field(min_length=1, description="a condition in CEL")]
    action: ActionName
    weight: Share = 1.0
    # How often its action may be tried for one failure.
    times: Annotated[int, Field(ge=1, le=100)] = 1
    # In addition to those of the action.
    parameters: Parameters
    description: Annotated[str, Field(max_length=500, description="a text of at most 500 characters")] = ""

    @field_validator("when")
    @classmethod
    def _is_a_condition(cls, when: str, info: ValidationInfo) -> str:
        # What is stored was checked when it was applied; those who only read it need no engine.
        problem = LANGUAGE.problem(when) if (info.context or {}).get("is_new") else None
        if problem is not None:
            raise wrong_value("", when, "a condition in CEL that is true or false", problem=str(problem))
        return when


class OutcomeWithin(Section):
    """How long an outcome is awaited, in hours, by what is awaited."""

    error: Hours
    run: Hours
    delivery: Hours
    partition: Hours
    intake: Hours
    task: Hours
    breaker: Hours


class ScopeDefaults(Section):
    """What a new scope has."""

    max_attempts: Units
    cost_limit: Units
    ttl_seconds: Annotated[int, Field(ge=1, le=31_536_000)]
    max_ttl_seconds: Annotated[int, Field(ge=1, le=31_536_000)]
    opens_by_itself: bool
    opened_per_day: Annotated[int, Field(ge=1, le=1000)]

    @model_validator(mode="after")
    def _default_is_allowed(self) -> ScopeDefaults:
        if self.ttl_seconds > self.max_ttl_seconds:
            raise wrong_value("ttl_seconds", self.ttl_seconds, f"at most max_ttl_seconds ({self.max_ttl_seconds})")
        return self


class BreakerDefaults(Section):
    """How long a breaker stays open that says nothing else."""

    wait_s: Wait
    max_wait_s: Wait

    @model_validator(mode="after")
    def _wait_is_allowed(self) -> BreakerDefaults:
        if self.wait_s > self.max_wait_s:
            raise wrong_value("wait_s", self.wait_s, f"at most max_wait_s ({self.max_wait_s})")
        return self


class Breaker(Section):
    """What depends on a breaker: error tables and those of Gate Zero, kinds of runs, sources of failures."""

    tables: Annotated[list[PartName], Field(default_factory=list)]
    run_kinds: Annotated[list[PartName], Field(default_factory=list)]
    sources: Annotated[list[PartName], Field(default_factory=list)]
    wait_s: Wait | None = None
    max_wait_s: Wait | None = None

    @model_validator(mode="after")
    def _has_dependents(self) -> Breaker:
        if not (self.tables or self.run_kinds or self.sources):
            raise wrong_value("tables", self.tables, "what depends on it: tables, run_kinds or sources")
        return self


class Subjects(Section):
    """Which failures become matches by themselves."""

    intakes: bool
    runs: bool
    partitions: bool
    park_reasons: dict[str, list[ParkWord]]


class RecoveryPolicy(Part):
    """Recovery."""

    section: ClassVar[str] = "recovery"
    package: ClassVar[str] = "recoup.recovery"
    decides: ClassVar[tuple[str, ...]] = (
        "match_within_days", "evidence_min", "incident_quiet_hours", "evaluation_lease_s",
        "candidate_lease_s", "evaluation_failures_max", "hold_days", "outcome_within_hours.error",
        "outcome_within_hours.run", "outcome_within_hours.delivery", "outcome_within_hours.partition",
        "outcome_within_hours.intake", "outcome_within_hours.task", "outcome_within_hours.breaker",
        "scope.max_ttl_seconds", "breaker.wait_s", "breaker.max_wait_s",
    )  # fmt: skip

    match_within_days: Days
    decide_within_hours: Hours
    candidates_max: Annotated[int, Field(ge=1, le=100)]
    skip_below: Share
    # The documents ask for 0.8 and for some evidence: floors, which a policy may only raise.
    confidence_floor: Annotated[float, Field(ge=0.8, le=1, strict=False)]
    evidence_min: Annotated[int, Field(ge=5, le=1_000_000)]
    evidence_max: Annotated[int, Field(ge=5, le=10_000)]
    evidence_half_life_days: Days
    # Half of them at most: what waits for a person is not tried by itself.
    held_share: Annotated[float, Field(ge=0, le=0.5, strict=False)]
    incident_quiet_hours: Hours
    evaluation_lease_s: Seconds
    candidate_lease_s: Seconds
    evaluation_failures_max: Annotated[int, Field(ge=1, le=100)]
    claims_at_once: Annotated[int, Field(ge=1, le=1000)]
    hold_days: Days
    outcome_within_hours: OutcomeWithin
    scope: ScopeDefaults
    subjects: Subjects
    breaker: BreakerDefaults
    breakers: Annotated[dict[PartName, Breaker], Field(default_factory=dict)]
    plan: dict[KindWord, list[ActionName]]
    actions: dict[ActionName, Action]
    rules: Annotated[dict[ActionName, Rule], Field(default_factory=dict, max_length=MAX_RULES)]

    def action(self, name: str) -> Action:
        """An action of the catalogue, or a refusal."""
        found = self.actions.get(name)
        if found is None:
            raise InputRefused(
                "action_unknown", f"There is no action {name!r}.", f"Actions are: {', '.join(self.actions)}."
            )
        return found

    @model_validator(mode="after")
    def _breakers_wait_longer_each_time(self) -> RecoveryPolicy:
        for name, one in self.breakers.items():
            longest = self.breaker.max_wait_s if one.max_wait_s is None else one.max_wait_s
            first = self.breaker.wait_s if one.wait_s is None else one.wait_s
            if first > longest:
                raise wrong_value(f"breakers.{name}.wait_s", first, f"at most its max_wait_s ({longest})")
        return self

    @model_validator(mode="after")
    def _plans_name_actions(self) -> RecoveryPolicy:
        for kind, names in self.plan.items():
            for name in names:
                if name not in self.actions:
                    raise wrong_value(f"plan.{kind}", name, f"actions of recovery.actions: {', '.join(self.actions)}")
        return self

    @model_validator(mode="after")
    def _rules_recommend_actions(self) -> RecoveryPolicy:
        for name, rule in self.rules.items():
            action = self.actions.get(rule.action)
            if action is None:
                known = f"actions of recovery.actions: {', '.join(self.actions)}"
                raise wrong_value(f"rules.{name}.action", rule.action, known)
            wrong = wrong_parameter(action.type, {**action.parameters, **rule.parameters})
            if wrong is not None:
                raise wrong_value(f"rules.{name}.parameters.{wrong[0]}", *wrong[1:])
        return self
