"""Alerts and silences in every status, for the suites that try every table."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any
from uuid import UUID

from company import acting, advance
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority

RULE = "parked-errors"
GAUGE = (
    "insert into recoup.alert_gauge (rule, key, unit, value, facts, worst, seen_at, above_since)"
    " values ('parked-errors', %s, 'count', 2000, '{}', 2000, recoup.now(), recoup.now() - interval '2 minutes')"
)
COLUMNS = (
    "rule, key, signal, unit, severity, action, threshold, value, last_value, worst_value, fired_at, updated_at,"
    " notices, notified_at, routes"
)
VALUES = (
    "'parked-errors', %(of)s, 'parked_errors', 'count', 'HIGH', 'escalate-to-platform', 1000, 2000, 2000, 2000, t.now_,"
    " t.now_, 1, t.now_, '{log}'"
)
ALERT_ROW = f"({COLUMNS}) select {VALUES} from (select recoup.now() as now_) t"
MOVES = {
    "firing": "status = 'firing', ended_at = null, notices = notices + 1, notified_at = t.now_, updated_at = t.now_",
    "recovered": "status = 'recovered', ended_at = t.now_, updated_at = t.now_, last_value = 1",
    "no_data": "status = 'no_data', ended_at = t.now_, updated_at = t.now_, last_value = null",
}
SILENCE_ROW = (
    "(rule, key, until, reason, created_by)"
    " values ('parked-*', '*', recoup.now() + interval '1 hour', 'r', recoup.acting_id())"
)
SILENCE_MOVES = {
    "active": "status = 'active', ended_at = null",
    "expired": "status = 'expired', ended_at = t.now_",
    "ended": "status = 'ended', ended_at = t.now_",
}


def due_alert(tx: Transaction) -> dict[str, Any]:
    """A key that was above the threshold for long enough."""
    of = f"key-{uuid.uuid4()}"
    with acting(tx, Authority.ERROR_WORKER):
        tx.execute(GAUGE, (of,))
    return {"of": of}


def alert_in(tx: Transaction, status: str = "firing") -> UUID:
    given = due_alert(tx)
    with acting(tx, Authority.ERROR_WORKER):
        (made,) = (
            tx.execute(f"insert into recoup.alert {ALERT_ROW} returning alert_id".encode(), given).fetchone() or ()
        )
        if status != "firing":
            move = f"update recoup.alert set {MOVES[status]} from (select recoup.now() as now_) t where alert_id = %s"
            tx.execute(move.encode(), (made,))
    assert isinstance(made, UUID)
    return made


def silence_in(tx: Transaction, status: str = "active") -> UUID:
    with acting(tx, Authority.OPERATOR):
        (made,) = tx.execute(f"insert into recoup.silence {SILENCE_ROW} returning silence_id".encode()).fetchone() or ()
    assert isinstance(made, UUID)
    if status != "active":
        if status == "expired":
            advance(tx, timedelta(hours=2))
        with acting(tx, Authority.OPERATOR if status == "ended" else Authority.ERROR_WORKER):
            move = f"update recoup.silence set {SILENCE_MOVES[status]} from (select recoup.now() as now_) t"
            tx.execute(f"{move} where silence_id = %s".encode(), (made,))
    return made
