"""Reading alerts, rules and silences. Changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.refusals import InputRefused

Q = load("recoup.alerts", "alerts.sql")
MAX_STORY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert as a list shows it."""

    alert_id: UUID
    rule: str
    key: str
    severity: str
    status: str
    signal: str
    unit: str
    threshold: float
    value: float  # when it fired
    last_value: float | None  # now; of one that ended, at its end
    worst_value: float | None
    fired_at: datetime
    ended_at: datetime | None
    notices: int
    notified_at: datetime | None
    unsent: int  # routes that were left out because too much waited for them
    action: str
    policy_version: int
    silenced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One step of an alert."""

    logged_at: datetime
    from_status: str | None
    to_status: str
    value: float | None
    notices: int
    routes: list[str]
    unsent: int
    actor_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A notice of an alert on one route."""

    delivery_id: UUID
    route: str
    subject: str
    status: str
    attempts: int
    last_failure: str | None
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One alert in full."""

    alert: Alert
    sample: int | None
    facts: dict[str, Any]
    events: Sequence[Event]
    deliveries: Sequence[Sent]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleStatus:
    """A rule of the policy, and what it makes of one key."""

    rule: str
    key: str | None  # None: its signal was not measured yet
    signal: str
    unit: str | None
    above: float
    severity: str
    action: str
    value: float | None
    sample: int | None
    seen_at: datetime | None
    condition: str  # ok, above, firing, no value
    silenced: bool
    since: datetime | None  # it is above, or fires


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A time in which nobody is notified of some alerts."""

    silence_id: UUID
    rule: str
    key: str
    until: datetime
    reason: str
    created_by: str
    created_at: datetime
    status: str
    ended_at: datetime | None


def alerts(
    tx: Transaction, *, ended: bool = False, rule: str | None = None, limit: int = 100, after: UUID | None = None
) -> list[Alert]:
    """Alerts that fire, newest first; with ``ended`` also those that ended. Older than ``after``, if it is given."""
    given = {"ended": ended, "rule": rule, "limit": limit, "after": after, "alert_id": None}
    with tx.cursor(row_factory=class_row(Alert)) as cursor:
        return cursor.execute(Q["list_alerts"], given, prepare=False).fetchall()


def show(tx: Transaction, alert_id: UUID) -> Shown:
    """One alert, with every step and every notice."""
    given = {"ended": True, "rule": None, "limit": 1, "after": None, "alert_id": alert_id}
    with tx.cursor(row_factory=class_row(Alert)) as cursor:
        found = cursor.execute(Q["list_alerts"], given, prepare=False).fetchone()
    if found is None:
        raise InputRefused("alert_unknown", f"There is no alert {alert_id}.", "List them: recoup alerts list --all")
    sample, facts, _ = tx.execute(Q["facts"], {"alert_id": alert_id}).fetchone() or (None, {}, [])
    with tx.cursor(row_factory=class_row(Event)) as cursor:
        events = cursor.execute(Q["events"], {"alert_id": alert_id, "limit": MAX_STORY}).fetchall()
    with tx.cursor(row_factory=class_row(Sent)) as cursor:
        sent = cursor.execute(Q["deliveries"], {"alert_id": alert_id, "limit": MAX_STORY}).fetchall()
    return Shown(alert=found, sample=sample, facts=facts, events=events, deliveries=sent)


def rules(tx: Transaction) -> list[RuleStatus]:
    """Every rule of the policy, with its present value for each key."""
    with tx.cursor(row_factory=class_row(RuleStatus)) as cursor:
        return cursor.execute(Q["rules"]).fetchall()


def silences(tx: Transaction, *, ended: bool = False, limit: int = 100, after: UUID | None = None) -> list[Silence]:
    """Silences that are active, newest first; with ``ended`` all of them.

    ``after``, the id of the last one, gives the next page.
    """
    with tx.cursor(row_factory=class_row(Silence)) as cursor:
        return cursor.execute(Q["silences"], {"ended": ended, "limit": limit, "after": after}).fetchall()
