"""Events by step of time, from the positions of a log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from hub import Hub
from recoup.database.connection import Database
from recoup.domain import logs
from recoup.domains import DOMAINS
from recoup.ledger.rates import events_by_step
from recoup.lifecycles.declaration import Authority
from recoup.lifecycles.logs import Log

HOUR = timedelta(hours=1)
(ERRORS,) = [log for log in logs(DOMAINS) if log.table == "recoup.error_event"]


def counted(db: Database, log: Log, steps: int) -> list[int]:
    with db.transaction(Authority.READER) as tx:
        (until,) = tx.execute("select recoup.now()").fetchone() or (None,)
        return events_by_step(tx, log, until=until, step=HOUR, steps=steps)


def test_steps_have_the_events_of_their_time(fresh: Callable[..., Database]) -> None:
    db = fresh()
    hub = Hub(db)
    assert counted(db, ERRORS, 4) == [0, 0, 0, 0]
    expected = []
    for errors in (3, 0, 5, 1):
        for _ in range(errors):
            hub.record("no such column: ein")
        hub.advance(HOUR)
        expected.append(errors)
    found = counted(db, ERRORS, 6)
    recorded = [len(hub.rows("select 1 from recoup.error_event where event_type = 'RECORDED'"))]
    assert recorded == [sum(expected)]
    assert found == [0, 0, *expected]  # each error is one event
    with db.transaction(Authority.READER) as tx:
        (until,) = tx.execute("select recoup.now()").fetchone() or (None,)
        assert events_by_step(tx, ERRORS, until=until, step=HOUR, steps=4, most=2) == [2, 0, 2, 1]


def test_every_log_can_be_asked(db: Database) -> None:
    for log in logs(DOMAINS):
        if any("seq" in columns for columns in log.columns):
            assert all(count >= 0 for count in counted(db, log, 24))
