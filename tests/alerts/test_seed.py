"""Every threshold and every alert rule of the requirement document, and the minute at which each fires and ends."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from importlib.resources import files

import pytest

import product
from alerts.desk import Desk
from recoup import policy
from recoup.alerts import judging
from recoup.alerts.policy import AlertPolicy
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.signals import Reading, Signal, Source

# Section 11.2, and 11.1 where 11.2 names no rule: those are warnings. DOL's 50 a day are a threshold of their own.
SEED = {
    "error-rate": ("error_rate", 0.05, "WARNING", "notify-hub-team"),
    "error-rate-high": ("error_rate", 0.10, "HIGH", "page-on-call"),
    "park-rate": ("park_rate", 0.20, "WARNING", "review-park-queue"),
    "retry-exhaustion-rate": ("retry_exhaustion_rate", 0.30, "WARNING", "notify-hub-team"),
    "ttl-utilization": ("average_ttl_utilization", 0.80, "WARNING", "notify-hub-team"),
    "escalation-rate": ("escalation_rate", 0.10, "WARNING", "notify-hub-team"),
    "parked-errors": ("parked_errors", 1000, "HIGH", "escalate-to-platform"),
    "blocking-errors": ("blocking_errors", 100, "CRITICAL", "page-platform-on-call"),
    "dol-parked-per-day": ("parked_per_day", 50, "WARNING", "review-park-queue"),
}
WHOLE = tomllib.loads(files("recoup.alerts").joinpath("policy.toml").read_text(encoding="utf-8"))["alerts"]


@pytest.mark.parametrize("name", SEED)
def test_the_shipped_rules_are_those_of_the_document(name: str) -> None:
    rule = WHOLE["rules"][name]
    assert (rule["signal"], rule["above"], rule["severity"], rule["action"]) == SEED[name]
    assert rule["action"] in WHOLE["actions"]


def test_the_threshold_of_a_signal_is_the_lowest_of_its_rules() -> None:
    policy = AlertPolicy.shipped()
    assert (policy.threshold("error_rate"), policy.threshold("error_rate", "outreach.dol_errors")) == (0.05, 0.05)
    assert (policy.threshold("parked_per_day"), policy.threshold("parked_per_day", "outreach.dol_errors")) == (None, 50)
    assert policy.threshold("no_such_signal") is None


def test_a_month_gives_every_alert_at_its_minute(desk: Desk) -> None:
    """Each signal rises on a day of its own, to just above its thresholds, and falls an hour later."""
    text = "".join(_rule(name, rule) for name, rule in WHOLE["rules"].items())
    now: dict[str, float] = {}
    signals = {rule["signal"] for rule in WHOLE["rules"].values()} - {judging.FAILING.name}
    declared = tuple(Signal(name=name, unit="share", description="of this test") for name in sorted(signals))
    source = Source(
        signals=declared,
        measure=lambda _tx, _policy: [
            Reading(signal=name, key="outreach.dol_errors", value=value, sample=100) for name, value in now.items()
        ],
    )
    _unchecked(desk, text)

    def judge(**by: float) -> None:
        desk.advance(**by)
        with desk.db.transaction(Authority.ERROR_WORKER) as tx:
            judging.judge(tx, versions.active(tx).policy, [source])

    began = desk.now()
    expected = {}
    for day, signal in enumerate(sorted(signals)):
        rules = {name: rule for name, rule in WHOLE["rules"].items() if rule["signal"] == signal}
        highest = max(rule["above"] for rule in rules.values())
        judge(minutes=(began + timedelta(days=day) - desk.now()).total_seconds() / 60 or 1)
        now[signal] = highest * 1.001 + 0.001
        at = desk.now()
        for _ in range(60):
            judge(minutes=1)
        now[signal] = 0
        for _ in range(10):
            judge(minutes=1)
        for name, rule in rules.items():
            first = at + timedelta(minutes=1)  # the first round that sees it
            fired = first + timedelta(seconds=rule.get("for_s", 60))
            expected[name] = (fired, at + timedelta(minutes=66), rule["severity"])
    while desk.now() < began + timedelta(days=30):
        judge(hours=12)
    found = {alert["rule"]: (alert["fired_at"], alert["ended_at"], alert["severity"]) for alert in desk.alerts()}
    assert found == expected
    assert len(desk.alerts()) == len(expected)
    assert len(desk.told()) == 2 * len(expected), "one notice and one recovery"


def _rule(name: str, rule: dict[str, object]) -> str:
    values = "".join(f"{key} = {_toml(value)}\n" for key, value in rule.items())
    return f"[alerts.rules.{name}]\n{values}"


def _toml(value: object) -> str:
    return str(value) if isinstance(value, int | float) else repr(value).replace("'", '"')


def _unchecked(desk: Desk, text: str) -> None:
    """Applied as the section alone would be, which knows no list of signals."""
    parts = tuple(AlertPolicy if issubclass(part, AlertPolicy) else part for part in product.PARTS)
    with desk.db.transaction(Authority.OPERATOR) as tx:
        policy.apply(tx, text, parts, reason="a test", replace=True)
