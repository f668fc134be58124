"""Alerts of every kind in one database, judged as a worker does it, over readings that are given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from recoup import alerts, clock
from recoup.alerts import judging
from recoup.database.connection import Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy, versions
from recoup.signals import Reading, Signal, Source

SIGNAL = Signal(name="deliveries_dead", unit="count", description="of this cast")


@dataclass(frozen=True)
class AlertCast:
    """Alerts and silences that became something."""

    alert_firing: UUID  # told twice
    alert_recovered: UUID
    alert_without_data: UUID
    alert_silenced: UUID  # never told
    silence_active: UUID
    silence_expired: UUID
    silence_ended: UUID


def play_alerts(database: Database) -> AlertCast:
    """Fired, told again, recovered, without data, silenced; silences that are active, expired and ended."""
    values: dict[str, float | None] = {"firing": 3, "recovered": 3, "nothing": 3, "silenced": 3}

    def measure(_tx: Transaction, _policy: Policy) -> list[Reading]:
        return [Reading(signal=SIGNAL.name, key=key, value=value) for key, value in values.items()]

    def judged(minutes: int, times: int = 1) -> None:
        for _ in range(times):
            with database.transaction(Authority.OPERATOR) as tx:
                clock.advance(tx, timedelta(minutes=minutes))
            with database.transaction(Authority.ERROR_WORKER) as tx:
                judging.judge(tx, versions.active(tx).policy, [Source(signals=(SIGNAL,), measure=measure)])

    def silenced(key: str, **lasts: int) -> UUID:
        with database.transaction(Authority.OPERATOR) as tx:
            return alerts.silence(tx, "deliveries-dead", key=key, lasts=timedelta(**lasts), reason="as agreed")

    active, expired, ended = silenced("silenced", days=80), silenced("other", minutes=1), silenced("another", days=1)
    with database.transaction(Authority.OPERATOR) as tx:
        alerts.unsilence(tx, ended)
    judged(1, times=3)
    values |= {"recovered": 0, "nothing": None}
    judged(3, times=4)
    values["firing"] = 4
    judged(120, times=2)
    with database.transaction(Authority.READER) as tx:
        found = {one.key: one.alert_id for one in alerts.alerts(tx, ended=True)}
    return AlertCast(
        alert_firing=found["firing"], alert_recovered=found["recovered"], alert_without_data=found["nothing"],
        alert_silenced=found["silenced"], silence_active=active, silence_expired=expired, silence_ended=ended,
    )  # fmt: skip
