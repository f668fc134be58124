"""Alerts and deliveries over HTTP."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Query
from pydantic import Field

from recoup import alerts, deliveries
from recoup.alerts import Alert, RuleStatus, Silence
from recoup.alerts import Shown as ShownAlert
from recoup.api import cursors
from recoup.api.answers import Listing, Page, page
from recoup.api.declare import Area, Because, Given, Length, Name, Paged, Perhaps, Why
from recoup.database.connection import Transaction
from recoup.deliveries import Delivery
from recoup.deliveries import Shown as ShownDelivery
from recoup.deliveries.lifecycle import DeliveryStatus
from recoup.lifecycles.declaration import Authority

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
