"""When an alert fires, notifies and ends: to the second, in simulated time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from alerts.desk import Desk
from recoup.signals import OVERALL

FIRED = "HIGH: parked_errors is 1,204, above 1,000"


def fire(desk: Desk, value: float = 1204) -> None:
    """Above, and a minute later still."""
    desk.see(value)
    desk.pass_by(times=2)


def test_it_fires_after_a_minute_above_and_not_before(desk: Desk) -> None:
    desk.see(1204)
    began = desk.now()
    assert desk.judge() == 0
    assert desk.pass_by(seconds=15, times=3) == 0
    assert desk.alerts() == []
    assert desk.pass_by(seconds=15) == 1
    (alert,) = desk.alerts()
    assert (alert["rule"], alert["key"], alert["status"]) == ("parked-errors", OVERALL, "firing")
    assert (alert["fired_at"] - began, alert["value"], alert["threshold"]) == (timedelta(seconds=60), 1204, 1000)
    assert desk.told() == [FIRED]
    assert desk.pass_by(seconds=15, times=20) == 0, "once"
    assert desk.told() == [FIRED]
    assert desk.broken() == []


@pytest.mark.parametrize("value", [1000, 999.99, 0, None])
def test_it_does_not_fire_at_its_threshold_or_without_a_value(desk: Desk, value: float | None) -> None:
    desk.see(value)
    assert desk.pass_by(times=10) == 0
    assert desk.alerts() == []


def test_it_recovers_after_five_minutes_below_nine_tenths(desk: Desk) -> None:
    fire(desk)
    desk.see(901)
    assert desk.pass_by(times=30) == 0, "below the threshold, and not by enough"
    desk.see(899)
    assert desk.pass_by(times=5) == 0
    assert desk.pass_by() == 1
    (alert,) = desk.alerts()
    assert (alert["status"], alert["last_value"], alert["worst_value"]) == ("recovered", 899, 1204)
    assert alert["ended_at"] == desk.now()
    assert desk.told() == [FIRED, "recovered: parked_errors is 899 again; it was up to 1,204"]
    assert desk.pass_by(times=30) == 0
    fire(desk, 2000)
    assert [alert["status"] for alert in desk.alerts()] == ["recovered", "firing"], "the next time is another row"
    assert desk.broken() == []


def test_flapping_around_the_threshold_is_one_notice_and_one_recovery(desk: Desk) -> None:
    """For hours, each side for less than a minute; and when it fires, each low for less than five."""
    for number in range(200):
        desk.see(1001 if number % 3 else 850)
        desk.pass_by(seconds=20)
    assert desk.alerts() == [], "never above for a minute"
    fire(desk)
    for number in range(200):
        desk.see(1300 if number % 10 == 0 else 850)
        desk.pass_by(seconds=20)
    desk.see(850)
    desk.pass_by(times=20)
    assert [alert["status"] for alert in desk.alerts()] == ["recovered"]
    assert len(desk.told()) == 2


def test_it_notifies_again_every_four_hours(desk: Desk) -> None:
    fire(desk)
    fired = desk.now()
    for hours in (4, 8):
        assert desk.pass_by(times=239) == 0
        assert desk.pass_by() == 1
        (alert,) = desk.alerts()
        assert alert["notified_at"] - fired == timedelta(hours=hours)
    assert desk.told() == [FIRED, *["HIGH: parked_errors is still 1,204, above 1,000"] * 2]
    desk.see(0)
    desk.pass_by(times=6)
    assert len(desk.told()) == 4
    assert desk.broken() == []


def test_between_recovery_and_threshold_it_fires_and_repeats_nothing_that_is_untrue(desk: Desk) -> None:
    fire(desk)
    desk.see(950)  # not above 1,000, and not low enough to recover
    assert desk.pass_by(times=300) == 0
    assert desk.told() == [FIRED]
    desk.see(1100)
    assert desk.pass_by() == 1
    assert desk.told()[1:] == ["HIGH: parked_errors is still 1,100, above 1,000"]
    assert desk.broken() == []


def test_without_a_value_it_stays_and_has_no_data_after_an_hour(desk: Desk) -> None:
    fire(desk)
    desk.see(None)
    assert desk.pass_by(times=59) == 0
    assert desk.alerts()[0]["status"] == "firing"
    assert desk.pass_by() == 1
    (alert,) = desk.alerts()
    assert (alert["status"], alert["last_value"], alert["worst_value"]) == ("no_data", None, 1204)
    assert desk.told()[1] == "no data: parked_errors has no value any more; it was up to 1,204"
    fire(desk)
    assert len(desk.alerts()) == 2
    assert desk.broken() == []


def test_a_key_that_is_not_measured_any_more_has_no_data(desk: Desk) -> None:
    """As that of a route that was removed, or of a source that fails."""
    fire(desk)
    desk.values.clear()
    desk.pass_by(times=30)
    desk.breaks = RuntimeError("no such table")
    assert desk.pass_by(times=29) == 1, "that a source fails is an alert"
    assert desk.pass_by() == 1
    assert {alert["rule"]: alert["status"] for alert in desk.alerts()} == {
        "parked-errors": "no_data", "sources-failing": "firing"
    }  # fmt: skip


def test_what_begins_after_a_long_gap_begins_anew(desk: Desk) -> None:
    desk.see(1204)
    desk.judge()
    desk.see(None)
    desk.pass_by(times=61)
    desk.see(1204)
    assert desk.pass_by() == 0, "what was an hour ago says nothing"
    assert desk.pass_by() == 1


@pytest.mark.parametrize(("sample", "fires"), [(19, 0), (20, 1), (None, 1)])
def test_a_share_needs_a_sample(desk: Desk, sample: int | None, fires: int) -> None:
    desk.sample = sample
    fire(desk)
    assert len(desk.alerts()) == fires


def test_every_key_is_an_alert_of_its_own(desk: Desk) -> None:
    for number in range(50):
        desk.see(0.5, "deliveries_dead", f"route-{number:02}")
    desk.judge()
    assert desk.pass_by() == 50
    assert desk.told()[7] == "HIGH: deliveries_dead of route-07 is 50 %, above 0 %"
    desk.see(0, "deliveries_dead", "route-07")
    desk.pass_by(times=6)
    assert [a["key"] for a in desk.alerts() if a["status"] == "recovered"] == ["route-07"]


def test_a_rule_has_keys_a_time_and_a_threshold_of_its_own(desk: Desk) -> None:
    desk.policy(
        '[alerts.rules.mine]\nsignal = "blocking_errors"\nabove = 3\nseverity = "WARNING"\n'
        'action = "notify-operators"\nfor_s = 0\nkeys = ["a.*", "b.errors"]\ncheck = "look at {key}"\n'
    )
    for key in ("a.x", "b.errors", "b.errors_2", "c.x"):
        desk.see(4, "blocking_errors", key)
    assert desk.judge() == 2
    assert [a["key"] for a in desk.alerts()] == ["a.x", "b.errors"]
    (body,) = desk.rows("select body from recoup.delivery where subject like %s", "%a.x%")
    assert body["body"]["check_first"] == "look at a.x"
    assert body["body"]["next"] == f"recoup alerts show {desk.alerts()[0]['alert_id']}"


def test_an_alert_whose_rule_left_the_policy_has_no_data(desk: Desk) -> None:
    """Its action may be gone, too: who was notified that it fires is notified that it ended."""
    rule = (
        '[alerts.rules.mine]\nsignal = "parked_errors"\nabove = 3\nseverity = "WARNING"\naction = "mine"\nfor_s = 0\n'
    )
    desk.policy(rule + '[alerts.actions.mine]\nroutes = ["log"]\n')
    desk.see(4)
    assert desk.pass_by() == 1
    desk.policy("")
    assert desk.pass_by(times=59) == 0
    assert desk.pass_by() == 1
    assert [(a["rule"], a["status"], a["routes"]) for a in desk.alerts()] == [("mine", "no_data", ["log"])]
    assert desk.broken() == []


def test_a_threshold_that_was_raised_lets_an_alert_recover(desk: Desk) -> None:
    fire(desk)
    desk.policy("[alerts.rules.parked-errors]\nabove = 2000\n")
    desk.pass_by(times=5)
    assert desk.alerts()[0]["status"] == "firing"
    desk.pass_by()
    (alert,) = desk.alerts()
    assert (alert["status"], alert["threshold"]) == ("recovered", 1000), "what it was when it fired"
    assert desk.broken() == []
