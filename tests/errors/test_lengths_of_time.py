"""A length of time is as long in every session: a day has 24 hours, whatever its time zone calls one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from hub import DAY, HOUR, TRANSIENT, Hub, NewHub
from recoup import clock
from recoup.database.connection import Transaction
from recoup.errors import retrying
from recoup.errors.listing import Filter, list_errors
from recoup.lifecycles.declaration import Authority

END, BEGINNING = datetime(2026, 10, 31, 12, tzinfo=UTC), datetime(2026, 3, 7, 12, tzinfo=UTC)  # a day before each


@contextmanager
def in_new_york(hub: Hub, authority: Authority) -> Iterator[Transaction]:
    with hub.db.transaction(authority) as tx:
        tx.execute("select set_config('timezone', 'America/New_York', true)")
        yield tx


@pytest.mark.parametrize("begun", [END, BEGINNING], ids=["the end", "the beginning"])
def test_days_over_a_change_of_daylight_saving_have_24_hours(new_hub: NewHub, begun: datetime) -> None:
    """A clock is moved by them, a lease lasts so long, and errors are as old."""
    hub = new_hub()
    hub.advance(begun - hub.now())
    error = hub.record(TRANSIENT)
    hub.advance(HOUR)
    with in_new_york(hub, Authority.HUB) as tx:
        (claimed,) = retrying.claim(tx, limit=1, worker="w", lease=DAY)
    assert (claimed.error_id, claimed.lease_until) == (error, begun + HOUR + DAY)
    with in_new_york(hub, Authority.OPERATOR) as tx:
        assert clock.advance(tx, 7 * DAY).now == begun + HOUR + 7 * DAY
    for length, found in ((7 * DAY + HOUR, []), (7 * DAY + HOUR - timedelta(microseconds=1), [error])):
        with in_new_york(hub, Authority.READER) as tx:
            assert [one.error_id for one in list_errors(tx, Filter(older_than=length))] == found
