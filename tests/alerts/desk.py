"""Somebody who judges alerts, in simulated time, over readings that a test gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

import product
from deliveries.post import Office
from recoup import alerts, clock
from recoup.alerts import judging
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy, versions
from recoup.signals import OVERALL, Reading, Signal, Source

RULES = """
[deliveries.routes.ops]
kind = "webhook"
url_env = "TEST_OPS_URL"
secret_env = "TEST_OPS_SECRET"
timeout_s = 2
max_tries = 3
base_s = 1
cap_s = 2
"""
SIGNALS = (
    Signal(name="parked_errors", unit="count", description="of this test"),
    Signal(name="blocking_errors", unit="count", description="of this test"),
    Signal(name="deliveries_dead", unit="share", description="of this test"),
)


@dataclass
class Desk(Office):
    """A database of alerts. Its signals are what a test says."""

    values: dict[tuple[str, str], float | None] = field(default_factory=dict)
    sample: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    breaks: Exception | None = None

    @property
    def source(self) -> Source:
        return Source(signals=SIGNALS, measure=self._measure)

    def _measure(self, _tx: Transaction, _policy: Policy) -> list[Reading]:
        if self.breaks is not None:
            raise self.breaks
        return [
            Reading(signal=signal, key=key, value=value, sample=self.sample, facts=self.facts)
            for (signal, key), value in self.values.items()
        ]

    def see(self, value: float | None, signal: str = "parked_errors", key: str = OVERALL) -> None:
        self.values[signal, key] = value

    def judge(self) -> int:
        with self.db.transaction(Authority.ERROR_WORKER) as tx:
            return judging.judge(tx, versions.active(tx).policy, [self.source])

    def pass_by(self, *, seconds: float = 60, times: int = 1) -> int:
        """Time passes in steps, and after each one everything is judged. Returns how much moved."""
        moved = 0
        for _ in range(times):
            self.advance(seconds=seconds)
            moved += self.judge()
        return moved

    def policy(self, text: str) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            product.apply_policy(tx, text, reason="a test")

    def silence(self, rule: str = "parked-errors", *, key: str = "*", **lasts: float) -> UUID:
        with self.db.transaction(Authority.OPERATOR) as tx:
            return alerts.silence(tx, rule, key=key, lasts=timedelta(**lasts), reason="maintenance")

    def unsilence(self, silence: UUID) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            alerts.unsilence(tx, silence)

    def now(self) -> datetime:
        with self.db.transaction(Authority.READER) as tx:
            return clock.read(tx).now

    def rows(self, query: str, *parameters: Any) -> list[dict[str, Any]]:
        with self.db.transaction(Authority.READER) as tx, tx.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query.encode(), parameters).fetchall()

    def alerts(self) -> list[dict[str, Any]]:
        return self.rows("select * from recoup.alert order by fired_at, rule, key")

    def told(self, route: str = "log") -> list[str]:
        """The subjects of all notices, in the order in which they were queued."""
        found = self.rows("select subject from recoup.delivery where route = %s order by created_at, subject", route)
        return [str(row["subject"]) for row in found]
