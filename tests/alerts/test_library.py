"""``db.alerts``, and its async twin."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from alerts.desk import Desk
from alerts.test_judging import fire
from recoup.client import Client


def test_the_verbs_of_the_library(desk: Desk) -> None:
    fire(desk)
    with Client(desk.db.conninfo, desk.settings) as db:
        (alert,) = db.alerts.list()
        assert (alert.rule, alert.status, alert.last_value, alert.notices) == ("parked-errors", "firing", 1204.0, 1)
        shown = db.alerts.show(alert.alert_id)
        assert [(one.route, one.status) for one in shown.deliveries] == [("log", "queued")]
        (rule,) = (one for one in db.alerts.rules() if one.rule == "parked-errors")
        assert (rule.condition, rule.above, rule.silenced) == ("firing", 1000.0, False)
        made = db.alerts.silence("parked-errors", lasts=timedelta(hours=1), reason="we know", actor="ada")
        (silence,) = db.alerts.silences()
        assert (silence.silence_id, silence.created_by, silence.key) == (made, "ada", "*")
        db.alerts.unsilence(made)
        assert db.alerts.silences() == []
        assert len(db.alerts.silences(ended=True)) == 1
        assert len(db.alerts.send_test("parked-errors")) == 1
        assert asyncio.run(db.aio.alerts.list()) == [alert]
