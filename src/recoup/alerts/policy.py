"""The policy's section on alerts: which rules there are, what routes each notifies, and when nobody is notified.

A rule names a signal of some domain and an action; an action names routes of the section on deliveries. No address and
no secret is a part of it: the same holds as for routes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from recoup.deliveries.policy import DeliveryPolicy, RouteName, RouteOrNone
from recoup.errors.policy import ErrorPolicy
from recoup.policy.section import Part, Section, one_of, shipped_values, wrong_value

Name = Annotated[
    str,
    Field(pattern=r"^[a-z][a-z0-9_-]{0,59}$", description="a name of lower-case letters, digits, - and _"),
]
Pattern = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_.-]{0,199}[A-Za-z0-9_.*-]$",
        description="a name, or how names begin and then *",
    ),
]
Key = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_.-]{1,200}$", description="the name of an error table, a duty or a route, or overall"),
]
Owner = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_. -]{1,100}$", description="the owner of an error table, as the policy names it"),
]
Instant = Annotated[str, Field(max_length=40, description="a time such as 2026-12-24T22:00:00Z, with its zone")]
TimeOfDay = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$", description="a time of day in UTC, as 02:30")]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Routes = Annotated[list[RouteName], Field(max_length=20)]
Patterns = Annotated[list[Pattern], Field(max_length=100)]
Words = Annotated[
    str, Field(pattern=r"^[^\pC]*$", max_length=300, description="one line of up to 300 characters, without a URL")
]


def matches(pattern: str, name: str) -> bool:
    """Whether a name is this one, or begins as this one before its *. As recoup.matches_pattern."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


class Action(Section):
    """The routes that an alert notifies: those of its key, of the owner of its table, or of the action."""

    routes: Routes
    by_key: Annotated[dict[Key, Routes], Field(default_factory=dict)]
    by_owner: Annotated[dict[Owner, Routes], Field(default_factory=dict)]


class Rule(Section):
    """When an alert fires."""

    signal: Annotated[str, Field(min_length=1, max_length=60, description="the name of a signal")]
    above: Annotated[float, Field(ge=0, le=1e12)]
    severity: Literal["WARNING", "HIGH", "CRITICAL"]
    action: Name
    keys: Annotated[Patterns, Field(default_factory=list)]  # empty: all
    for_s: Annotated[int, Field(ge=0, le=604_800)] | None = None  # None: as for all rules
    check: Words = ""  # what to check first

    def is_for(self, key: str | None) -> bool:
        """Whether it is for this key; None: for every one."""
        return not self.keys or (key is not None and any(matches(pattern, key) for pattern in self.keys))

    @field_validator("check")
    @classmethod
    def _is_no_address(cls, check: str) -> str:
        if "://" in check:
            raise wrong_value("", check, "words without a URL: an address may be a secret")
        return check


class Window(Section):
    """A time in which nobody is notified: once, or every week."""

    begin: Instant | None = None
    end: Instant | None = None
    days: Annotated[list[Day], Field(default_factory=list, max_length=7)]
    from_time: TimeOfDay | None = None
    to_time: TimeOfDay | None = None
    rules: Annotated[Patterns, Field(default_factory=list)]  # empty: all
    keys: Annotated[Patterns, Field(default_factory=list)]

    @field_validator("begin", "end")
    @classmethod
    def _is_an_instant(cls, text: str | None) -> str | None:
        try:
            at = None if text is None else datetime.fromisoformat(text)
        except ValueError:
            at = datetime.min
        if at is not None and at.tzinfo is None:
            raise wrong_value("", text, "a time such as 2026-12-24T22:00:00Z, with its zone")
        return None if at is None else at.astimezone(UTC).isoformat()

    @model_validator(mode="after")
    def _is_once_or_weekly(self) -> Window:
        once, weekly = (self.begin, self.end), (self.from_time, self.to_time)
        if None not in once and weekly == (None, None) and not self.days:
            if str(self.begin) >= str(self.end):
                raise wrong_value("end", self.end, "a time after begin")
        elif None in weekly or once != (None, None) or not self.days:
            raise wrong_value("", "this", "begin and end; or days, from_time and to_time")
        return self


class AlertPolicy(Part):
    """Alerts."""

    section: ClassVar[str] = "alerts"
    package: ClassVar[str] = "recoup.alerts"
    decides: ClassVar[tuple[str, ...]] = (
        "min_sample", "for_s", "recover_after_s", "recover_below_percent", "again_after_hours", "no_data_after_s",
        "heartbeat_every_s",
    )  # fmt: skip
    signals: ClassVar[tuple[str, ...] | None] = None  # those of the product; None: not known here

    every_s: Annotated[int, Field(ge=1, le=3_600)]
    source_timeout_s: Annotated[int, Field(ge=1, le=600)]
    min_sample: Annotated[int, Field(ge=1, le=1_000_000)]
    for_s: Annotated[int, Field(ge=0, le=604_800)]
    recover_after_s: Annotated[int, Field(ge=0, le=604_800)]
    recover_below_percent: Annotated[int, Field(ge=1, le=100)]
    again_after_hours: Annotated[int, Field(ge=1, le=8_760)]
    no_data_after_s: Annotated[int, Field(ge=60, le=2_592_000)]
    heartbeat_every_s: Annotated[int, Field(ge=15, le=86_400)]
    heartbeat_route: RouteOrNone
    actions: dict[Name, Action]
    rules: dict[Name, Rule]
    maintenance: Annotated[dict[Name, Window], Field(default_factory=dict, max_length=100)]

    @classmethod
    def base(cls, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """The shipped values; without rules for tables of the documents if the profile has none of these."""
        shipped = shipped_values(cls)
        if not ErrorPolicy.is_empty(document):
            return shipped
        gone = set(ErrorPolicy.shipped().tables)
        rules = {name: rule for name, rule in shipped["rules"].items() if not set(rule.get("keys", ())) & gone}
        return {**shipped, "rules": rules}

    @field_validator("rules")
    @classmethod
    def _signals_are_known(cls, rules: dict[str, Rule], info: ValidationInfo) -> dict[str, Rule]:
        for name, rule in rules.items():
            known = cls.signals
            if known is not None and rule.signal not in known and info.context and info.context.get("is_new"):
                raise wrong_value(f"{name}.signal", rule.signal, one_of(rule.signal, known))
        return rules

    @model_validator(mode="after")
    def _actions_are_known(self) -> AlertPolicy:
        for name, rule in self.rules.items():
            if rule.action not in self.actions:
                raise wrong_value(f"rules.{name}.action", rule.action, one_of(rule.action, self.actions))
        return self

    def threshold(self, signal: str, key: str | None = None) -> float | None:
        """The lowest threshold of a signal, of rules for this key or for every one; None: no rule is about it."""
        return min(
            (rule.above for rule in self.rules.values() if rule.signal == signal and rule.is_for(key)), default=None
        )

    def check_with(self, whole: Section) -> None:
        """Routes are those of the section on deliveries."""
        deliveries = getattr(whole, DeliveryPolicy.section, None)
        if not isinstance(deliveries, DeliveryPolicy):
            return
        for key, route in self._named():
            if route not in deliveries.routes:
                raise wrong_value(f"{self.section}.{key}", route, one_of(route, deliveries.routes))

    def _named(self) -> Iterable[tuple[str, str]]:
        if self.heartbeat_route:
            yield "heartbeat_route", self.heartbeat_route
        for name, action in self.actions.items():
            for routes in (action.routes, *action.by_key.values(), *action.by_owner.values()):
                yield from ((f"actions.{name}.routes", route) for route in routes)
