"""``db.alerts``: list and silence alerts, and test their routes. They fire and end by themselves."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias
from uuid import UUID

from recoup import alerts
from recoup.alerts import Alert, RuleStatus, Shown, Silence
from recoup.client.calls import Tx, Verbs, Who
from recoup.lifecycles.declaration import Authority
from recoup.signals import OVERALL

OPERATOR, READER = Authority.OPERATOR, Authority.READER
Rows: TypeAlias = list[Alert]
Ids: TypeAlias = list[UUID]
Rules: TypeAlias = list[RuleStatus]
Silences: TypeAlias = list[Silence]


class Alerts(Verbs):
    """Alerts, judged by a worker: each fires once, and notifies when it fires and when it ends."""

    def list(
        self,
        *,
        ended: bool = False,
        rule: str | None = None,
        limit: int = 100,
        after: UUID | None = None,
        tx: Tx = None,
    ) -> Rows:
        """Alerts that fire, newest first; with ``ended`` also those that ended."""
        return self._call(READER, lambda on: alerts.alerts(on, ended=ended, rule=rule, limit=limit, after=after), tx=tx)

    def show(self, alert_id: UUID, *, tx: Tx = None) -> Shown:
        """One alert, with every step and every notice."""
        return self._call(READER, lambda on: alerts.show(on, alert_id), tx=tx)

    def rules(self, *, tx: Tx = None) -> Rules:
        """Every rule of the policy, with its present value for each key."""
        return self._call(READER, alerts.rules, tx=tx)

    def silence(
        self, rule: str, *, key: str = "*", lasts: timedelta, reason: str, tx: Tx = None, actor: Who = None
    ) -> UUID:
        """Notify nobody of a rule for a time, and return the id of the silence."""
        return self._call(
            OPERATOR,
            lambda on: alerts.silence(on, rule, key=key, lasts=lasts, reason=reason),
            tx=tx,
            actor=actor,
            reason=reason,
        )

    def silences(self, *, ended: bool = False, limit: int = 100, after: UUID | None = None, tx: Tx = None) -> Silences:
        """Active silences, newest first; with ``ended`` all of them. ``after``, the last one's id: the next page."""
        return self._call(READER, lambda on: alerts.silences(on, ended=ended, limit=limit, after=after), tx=tx)

    def unsilence(self, silence_id: UUID, *, reason: str | None = None, tx: Tx = None, actor: Who = None) -> None:
        """End a silence: alerts that fire notify."""
        self._call(OPERATOR, lambda on: alerts.unsilence(on, silence_id), tx=tx, actor=actor, reason=reason)

    def send_test(
        self,
        rule: str | None = None,
        *,
        key: str = OVERALL,
        route: str | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Ids:
        """Send a notice that says it is a test, by a route or by the routes of a rule. Returns the deliveries."""
        return self._call(OPERATOR, lambda on: alerts.send_test(on, rule, key=key, route=route), tx=tx, actor=actor)
