"""Alerts: what fires, rules with their values, silences, notices on their way out and their routes."""

from typing import Annotated

from fastapi import Query

from recoup import alerts as library
from recoup import deliveries
from recoup.alerts import RuleStatus
from recoup.alerts.people import covers
from recoup.alerts.policy import AlertPolicy
from recoup.api.declare import Given, Name
from recoup.api.routes.notices import AlertsAsked, DeliveriesAsked
from recoup.api.routes.notices import list_alerts as found_alerts
from recoup.api.routes.notices import list_deliveries as found_deliveries
from recoup.console.declare import Context, Section, Seen
from recoup.console.pages.operations import as_id
from recoup.deliveries.lifecycle import DeliveryStatus
from recoup.deliveries.policy import DeliveryPolicy
from recoup.domain import sources
from recoup.domains import DOMAINS
from recoup.policy import versions

ALERTS = Section(
    name="alerts",
    title="Alerts",
    links=(("Firing", "/alerts"), ("Rules", "/alerts/rules"), ("Silences", "/alerts/silences"),
           ("Deliveries", "/alerts/deliveries"), ("Routes", "/alerts/routes")),
)  # fmt: skip
LATELY = 20  # that ended, below those that fire
CONDITIONS = ("firing", "above", "ok", "no value", "no value yet")
SHOWN = 500  # rows of lists that have no pages


class RulesAsked(Given):
    """Which rules."""

    condition: Annotated[Name | None, Query()] = None
    text: Annotated[Name | None, Query()] = None


class SilencesAsked(Given):
    """Which silences."""

    ended: bool = False

    rule: Name | None = None


@ALERTS.page("/alerts", "alerts/list.html", whole=True)
def listed(seen: Seen) -> Context:
    """Alerts that fire, and those that ended lately; or all of them."""
    asked = seen.asked(AlertsAsked)
    found = found_alerts(seen.tx, asked=asked)
    ended = [] if asked.ended else library.alerts(seen.tx, ended=True, rule=asked.rule, limit=2 * LATELY)
    return {
        "page": found,
        "ended": [one for one in ended if one.ended_at is not None][:LATELY],
        "rules": list(versions.active(seen.tx).policy[AlertPolicy].rules),
        "asked": asked,
    }


@ALERTS.page("/alerts/rules", "alerts/rules.html", whole=True)
def rules(seen: Seen) -> Context:
    """Every rule of the policy, with its value for each key."""
    asked = seen.asked(RulesAsked)
    found = [one for one in library.rules(seen.tx) if _is_asked(one, asked)]
    found.sort(key=lambda one: (CONDITIONS.index(one.condition), one.rule, one.key or ""))
    units = {signal.name: signal.unit for source in sources(DOMAINS) for signal in source.signals}
    return {"rules": found[:SHOWN], "more": max(0, len(found) - SHOWN), "conditions": CONDITIONS, "units": units}


@ALERTS.page("/alerts/silences", "alerts/silences.html", whole=True)
def silences(seen: Seen) -> Context:
    """Silences, and how many of the alerts that fire each covers."""
    asked = seen.asked(SilencesAsked)
    found = library.silences(seen.tx, ended=asked.ended, limit=SHOWN)
    known = library.rules(seen.tx)
    firing = {
        one.silence_id: sum(rule.condition == "firing" and covers(one.rule, one.key, rule) for rule in known)
        for one in found
        if one.status == "active"
    }
    return {"silences": found, "firing": firing, "ended": asked.ended}


@ALERTS.page("/alerts/deliveries", "alerts/deliveries.html", whole=True)
def notices(seen: Seen) -> Context:
    """Deliveries, newest first."""
    return {
        "page": found_deliveries(seen.tx, asked=seen.asked(DeliveriesAsked)),
        "statuses": [one.value for one in DeliveryStatus],
        "routes": list(versions.active(seen.tx).policy[DeliveryPolicy].routes),
    }


@ALERTS.page("/alerts/deliveries/{delivery_id}", "alerts/delivery.html", whole=True)
def notice(seen: Seen) -> Context:
    """One delivery: its body, and every try."""
    return {"found": deliveries.show(seen.tx, as_id(seen.params["delivery_id"], "delivery"))}


@ALERTS.page("/alerts/routes", "alerts/routes.html", whole=True)
def routes(seen: Seen) -> Context:
    """The routes of the policy, and which actions notify them."""
    policy = versions.active(seen.tx).policy
    rules_of: dict[str, list[str]] = {}
    for name, rule in policy[AlertPolicy].rules.items():
        rules_of.setdefault(rule.action, []).append(name)
    actions = [
        {"action": name, "of": of, "routes": listed_, "rules": rules_of.get(name, [])}
        for name, action in policy[AlertPolicy].actions.items()
        for of, listed_ in (("all", action.routes), *action.by_key.items(), *action.by_owner.items())
    ]
    return {"policy": policy[DeliveryPolicy], "heartbeat": policy[AlertPolicy].heartbeat_route, "actions": actions}


@ALERTS.page("/alerts/{alert_id}", "alerts/one.html", whole=True)
def one(seen: Seen) -> Context:
    """One alert: its rule, values, steps, and notices with their deliveries."""
    found = library.show(seen.tx, as_id(seen.params["alert_id"], "alert"))
    alert = found.alert
    rule = versions.active(seen.tx).policy[AlertPolicy].rules.get(alert.rule)
    now = [each for each in library.rules(seen.tx) if (each.rule, each.key) == (alert.rule, alert.key)]
    held = [
        each
        for each in library.silences(seen.tx, limit=SHOWN)
        if any(covers(each.rule, each.key, standing) for standing in now)
    ]
    return {"found": found, "alert": alert, "rule": rule, "standing": now[0] if now else None, "silences": held}


def _is_asked(one: RuleStatus, asked: RulesAsked) -> bool:
    words = f"{one.rule} {one.key or ''} {one.signal}".lower()
    return asked.condition in (None, one.condition) and (asked.text is None or asked.text.lower() in words)
