"""What happened to errors in the window, read in both ways: from the counts of a worker, and event by event."""

from __future__ import annotations

import time
from datetime import datetime

from hub import Hub
from recoup.database.connection import Database
from recoup.errors.metrics import UNCOUNTED_AFTER, WINDOW, Q, _happened
from recoup.lifecycles.declaration import Authority

PATIENCE_S = 120
Happened = dict[tuple[str, int], tuple[int, datetime | None]]  # events, and the last that is older than an hour


def settle(db: Database) -> None:
    """Whatever is open in this server now ends: transactions of other databases hold the counting back, too."""
    with db.transaction(Authority.ERROR_WORKER) as tx:
        now = tx.execute("select pg_current_xact_id()").fetchone()
    assert now is not None
    end = time.monotonic() + PATIENCE_S
    ended = "select pg_snapshot_xmin(pg_current_snapshot()) > %s::xid8"
    while True:
        with db.transaction(Authority.READER) as tx:
            if tx.execute(ended, (str(now[0]),)).fetchone() == (True,):
                return
        assert time.monotonic() < end, "a transaction does not end"
        time.sleep(0.05)


def by_counts(hub: Hub) -> Happened | None:
    """As metrics read it; None: the counts are not complete, and every event is read."""
    return _read(hub, counted=True)


def by_events(hub: Hub) -> Happened:
    found = _read(hub, counted=False)
    assert found is not None
    return found


def _read(hub: Hub, *, counted: bool) -> Happened | None:
    now = hub.now()
    given = {"until": now, "since": now - WINDOW, "hour_ago": now - UNCOUNTED_AFTER}
    with hub.db.transaction(Authority.READER) as tx:
        query, given = _happened(tx, given) if counted else (Q["happened"], given)
        if counted and query is Q["happened"]:
            return None
        rows = tx.execute(query, given).fetchall()
    return {(table, flags): (events, last) for table, flags, events, last in rows}
