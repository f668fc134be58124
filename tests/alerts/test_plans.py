"""Judging, listing and showing read what they need, however many alerts and deliveries there have been."""

from __future__ import annotations

import pytest

from alarms import alert_in
from company import acting
from plans import assert_reads_only, carried_out
from recoup import alerts
from recoup.alerts import judging
from recoup.database.connection import Transaction
from recoup.deliveries import gauges
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.signals import Reading, Signal, Source

ENDED = """
  alter table recoup.alert disable trigger user;
  alter table recoup.alert_event disable trigger user;
  alter table recoup.delivery disable trigger user;
  insert into recoup.alert (rule, key, signal, unit, severity, action, threshold, value, status, ended_at)
  select 'parked-errors', 'key-' || n % 100, 's', 'count', 'HIGH', 'a', 1, 2, 'recovered', recoup.now()
    from generate_series(1, 100000) n;
  insert into recoup.alert_event (incarnation, logged_at, alert_id, rule, key, to_status, notices, routes, unsent,
                                  actor, actor_id, authority)
  select 1, recoup.now(), a.alert_id, a.rule, a.key, 'firing', 1, '{log}', 0, 'system', 'x', 'x' from recoup.alert a;
  insert into recoup.delivery (route, subject, body, dedup_key, origin, alert_id, status, outcome, ended_at)
  select 'log', 's', '{}', a.alert_id::text, 'alert', a.alert_id, 'delivered', 'SUCCEEDED', recoup.now()
    from recoup.alert a;
  alter table recoup.alert enable trigger user;
  alter table recoup.alert_event enable trigger user;
  alter table recoup.delivery enable trigger user;
"""
SIGNAL = Signal(name="parked_errors", unit="count", description="of this test")
BIG = {"alert", "alert_event", "delivery"}


@pytest.mark.parametrize("analysed", [False, True])
def test_a_round_reads_what_fires(scratch: Transaction, analysed: bool) -> None:
    """A thousand rows at most: the keys that are measured now."""
    scratch.execute(ENDED)
    made = alert_in(scratch)
    if analysed:
        scratch.execute("analyze recoup.alert, recoup.alert_event, recoup.delivery")
    readings = [Reading(signal="parked_errors", key=f"key-{number}", value=2000) for number in range(100)]
    source = Source(signals=(SIGNAL,), measure=lambda _tx, _policy: readings)
    with carried_out(scratch, kept=True) as plans, acting(scratch, Authority.ERROR_WORKER):
        policy = versions.active(scratch).policy
        plans.take()
        assert judging.judged(scratch, policy, readings, [source], failures={})["ended"] == 0
        assert list(gauges.DELIVERED.measure(scratch, policy))
        assert_reads_only(plans.take(), 20_000, big=BIG)
    with carried_out(scratch, kept=False) as plans, acting(scratch, Authority.READER):
        plans.take()
        alerts.alerts(scratch)
        alerts.show(scratch, made)
        alerts.alerts(scratch, ended=True, limit=20)
        alerts.rules(scratch)
        assert_reads_only(plans.take(), 2_000, big=BIG)
