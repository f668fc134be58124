"""Alerts and deliveries over HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Query
from pydantic import Field

from recoup import alerts, deliveries
from recoup.alerts import Alert, RuleStatus, Silence
from recoup.alerts import Shown as ShownAlert
from recoup.alerts.policy import AlertPolicy
from recoup.api import cursors
from recoup.api.answers import Listing, Page, page
from recoup.api.declare import Area, Because, Given, Length, Name, Paged, Perhaps, Why
from recoup.api.endpoints import Call
from recoup.database.connection import Transaction
from recoup.deliveries import Delivery, secrets
from recoup.deliveries import Shown as ShownDelivery
from recoup.deliveries.lifecycle import DeliveryStatus
from recoup.deliveries.policy import DeliveryPolicy
from recoup.deliveries.routes import resolved
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.signals import OVERALL

OPERATOR = Authority.OPERATOR
ALERTS = Area(name="alerts", about="What fires, and silences. Alerts fire and end by themselves.")
DELIVERIES = Area(name="deliveries", about="Notices on their way out, by the routes of the policy.")


class AlertsAsked(Paged):
    """Which alerts."""

    ended: bool = False
    rule: Name | None = None


class SilencesAsked(Paged):
    """Which silences."""

    ended: bool = False


class NewSilence(Because):
    """A silence: nobody is notified of a rule for a time."""

    rule: Annotated[Name, Field(examples=["error-rate"])]
    key: Annotated[str, Field(min_length=1, max_length=200, description="*: all of its keys.")] = "*"
    lasts: Annotated[Length, Field(examples=["2h"])]


class Silenced(Given):
    """A silence that was made."""

    silence_id: UUID


class AlertTest(Perhaps):
    """Whose routes are tested: a rule's, or one route."""

    rule: Annotated[Name | None, Field(examples=["parked-errors"])] = None
    key: Annotated[str, Field(min_length=1, max_length=200, description="As for this table, duty or route.")] = OVERALL
    route: Annotated[Name | None, Field(description="By this route, without a rule.")] = None


class Tested(Given):
    """Notices that were queued."""

    deliveries: list[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notified:
    """A route that an action of rules notifies."""

    action: str
    key: str  # for this table, duty or route, or for tables of this owner; *: for all others
    route: str
    rules: Sequence[str]  # that have the action
    usable: bool  # by the process that answers
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteStatus:
    """A route of the policy."""

    route: str
    kind: str
    url_env: str | None  # the variable that has its address
    secret_env: str | None
    path: str | None
    timeout_s: float
    max_tries: int
    usable: bool  # by the process that answers
    problem: str | None


class DeliveriesAsked(Paged):
    """Which deliveries."""

    status: Annotated[tuple[DeliveryStatus, ...], Field(max_length=10)] = ()
    route: Name | None = None
    about: Name | None = None


class Notice(Perhaps):
    """A notice to be sent."""

    route: Annotated[Name, Field(examples=["ops"])]
    subject: Annotated[str, Field(min_length=1, max_length=500)]
    body: dict[str, Any] | None = None
    about: Name | None = None
    dedup_key: Name | None = None


class Queued(Given):
    """A delivery that was queued."""

    delivery_id: UUID


@ALERTS.get("/v1/alerts")
def list_alerts(tx: Transaction, *, asked: Annotated[AlertsAsked, Query()]) -> Page[Alert]:
    """List alerts that fire, newest first; with ended also those that ended."""
    found = alerts.alerts(
        tx, ended=asked.ended, rule=asked.rule, limit=asked.limit, after=cursors.read_id("alerts", asked.after)
    )
    return page(found, asked.limit, "alerts", lambda one: one.alert_id)


@ALERTS.get("/v1/alerts/rules")
def rules(tx: Transaction) -> Listing[RuleStatus]:
    """List every rule of the policy, with its present value for each key."""
    return Listing(items=alerts.rules(tx))


@ALERTS.get("/v1/alerts/silences")
def silences(tx: Transaction, *, asked: Annotated[SilencesAsked, Query()]) -> Page[Silence]:
    """List active silences, newest first; with ended all of them."""
    after = cursors.read_id("silences", asked.after)
    found = alerts.silences(tx, ended=asked.ended, limit=asked.limit, after=after)
    return page(found, asked.limit, "silences", lambda one: one.silence_id)


@ALERTS.post("/v1/alerts/silences", OPERATOR, status=201)
def silence(tx: Transaction, *, body: Annotated[NewSilence, Body()]) -> Silenced:
    """Notify nobody of a rule for a time. It is judged as always."""
    return Silenced(silence_id=alerts.silence(tx, body.rule, key=body.key, lasts=body.lasts, reason=body.reason))


@ALERTS.delete("/v1/alerts/silences/{silence_id}", OPERATOR, status=204)
def unsilence(tx: Transaction, *, silence_id: UUID, reason: Why = None) -> None:
    """End a silence: alerts that fire notify."""
    alerts.unsilence(tx, silence_id)


@ALERTS.get("/v1/alerts/routes", whole=True)
def alert_routes(tx: Transaction, *, call: Call) -> Listing[Notified]:
    """List the actions of rules with their routes, and whether this process can use them."""
    active = versions.active(tx).policy
    unusable = _unusable(active[DeliveryPolicy], call)
    used: dict[str, list[str]] = {}
    for name, rule in active[AlertPolicy].rules.items():
        used.setdefault(rule.action, []).append(name)
    return Listing(
        items=[
            Notified(
                action=name, key=key, route=route, rules=used.get(name, []), usable=route not in unusable,
                problem=unusable.get(route),
            )
            for name, action in active[AlertPolicy].actions.items()
            for key, listed in (("*", action.routes), *action.by_key.items(), *action.by_owner.items())
            for route in listed
        ]
    )  # fmt: skip


@ALERTS.post("/v1/alerts/test", OPERATOR, status=201, whole=True)
def send_test(tx: Transaction, *, body: Annotated[AlertTest, Body()]) -> Tested:
    """Send a notice that says it is a test, by the routes of a rule or by one route."""
    return Tested(deliveries=alerts.send_test(tx, body.rule, key=body.key, route=body.route))


@ALERTS.get("/v1/alerts/{alert_id}")
def show_alert(tx: Transaction, *, alert_id: UUID) -> ShownAlert:
    """Show one alert, with every step and every notice."""
    return alerts.show(tx, alert_id)


@DELIVERIES.get("/v1/deliveries")
def list_deliveries(tx: Transaction, *, asked: Annotated[DeliveriesAsked, Query()]) -> Page[Delivery]:
    """List deliveries, newest first."""
    found = deliveries.deliveries(
        tx, statuses=asked.status, route=asked.route, about=asked.about, limit=asked.limit,
        after=cursors.read_id("deliveries", asked.after),
    )  # fmt: skip
    return page(found, asked.limit, "deliveries", lambda one: one.delivery_id)


@DELIVERIES.post("/v1/deliveries", OPERATOR, status=201)
def send(tx: Transaction, *, body: Annotated[Notice, Body()]) -> Queued:
    """Queue a notice. Refused while another with the same dedup_key is queued."""
    sent = deliveries.send(
        tx, body.route, body.subject, body.body, about=body.about, dedup_key=body.dedup_key
    )  # fmt: skip
    return Queued(delivery_id=sent)


@DELIVERIES.get("/v1/deliveries/routes", whole=True)
def delivery_routes(tx: Transaction, *, call: Call) -> Listing[RouteStatus]:
    """List the routes of the policy, and whether this process can use them. Tells no address."""
    active = versions.active(tx).policy[DeliveryPolicy]
    unusable = _unusable(active, call)
    return Listing(
        items=[
            RouteStatus(
                route=name, kind=one.kind, url_env=one.url_env, secret_env=one.secret_env, path=one.path,
                timeout_s=one.timeout_s, max_tries=one.max_tries, usable=name not in unusable,
                problem=unusable.get(name),
            )
            for name, one in active.routes.items()
        ]
    )  # fmt: skip


@DELIVERIES.get("/v1/deliveries/{delivery_id}")
def show_delivery(tx: Transaction, *, delivery_id: UUID) -> ShownDelivery:
    """Show one delivery, with its body and every try."""
    return deliveries.show(tx, delivery_id)


@DELIVERIES.post("/v1/deliveries/{delivery_id}/retry", OPERATOR, status=201)
def retry(tx: Transaction, *, delivery_id: UUID, body: Annotated[Perhaps | None, Body()] = None) -> Queued:
    """Send a dead delivery again, as a new one."""
    return Queued(delivery_id=deliveries.retry(tx, delivery_id))


@DELIVERIES.post("/v1/deliveries/{delivery_id}/cancel", OPERATOR, status=204)
def cancel(tx: Transaction, *, delivery_id: UUID, body: Annotated[Perhaps | None, Body()] = None) -> None:
    """Cancel a queued delivery."""
    deliveries.cancel(tx, delivery_id)


def _unusable(policy: DeliveryPolicy, call: Call) -> dict[str, str]:
    """Routes that this process cannot use, and why, in words without an address."""
    settings = call.database.settings
    return resolved(policy, home=settings.home, environment=secrets.of(settings)).unusable
