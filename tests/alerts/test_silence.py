"""Silences and maintenance windows: nobody is told, nothing is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from alerts.desk import Desk
from alerts.test_judging import FIRED, fire
from recoup import alerts
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused, Refusal

STILL = "HIGH: parked_errors is still 1,204, above 1,000"
RECOVERED = "recovered: parked_errors is 0 again; it was up to 1,204"


def recover(desk: Desk) -> None:
    desk.see(0)
    desk.pass_by(times=6)


def test_a_silenced_alert_fires_and_tells_when_the_silence_ends(desk: Desk) -> None:
    desk.silence(hours=1)
    fire(desk)
    assert (desk.alerts()[0]["status"], desk.alerts()[0]["notices"], desk.told()) == ("firing", 0, [])
    assert desk.pass_by(times=57) == 0
    assert desk.pass_by() == 2, "the silence has expired, and the alert is told"
    assert desk.told() == [FIRED]
    assert desk.rows("select status, until = ended_at as at_once from recoup.silence") == [
        {"status": "expired", "at_once": True}
    ]
    recover(desk)
    assert desk.told() == [FIRED, RECOVERED]
    assert desk.broken() == []


def test_what_was_never_told_is_not_told_to_be_over(desk: Desk) -> None:
    desk.silence("parked-*", hours=3)
    fire(desk)
    recover(desk)
    assert [alert["status"] for alert in desk.alerts()] == ["recovered"]
    assert desk.told() == []
    assert desk.broken() == []


def test_a_silence_that_began_later_and_ends_while_it_fires_tells_again(desk: Desk) -> None:
    fire(desk)
    silence = desk.silence(hours=10)
    assert desk.pass_by(times=300) == 0, "not even after four hours"
    desk.unsilence(silence)
    assert desk.pass_by() == 1
    assert desk.told() == [FIRED, STILL]
    assert desk.pass_by(times=200) == 0
    with pytest.raises(LawRefused, match="is ended"):
        desk.unsilence(silence)


def test_whoever_was_told_is_told_of_the_end_in_a_silence_too(desk: Desk) -> None:
    """A pager that is not told stays open."""
    fire(desk)
    desk.silence(hours=10)
    desk.pass_by()
    recover(desk)
    assert desk.told() == [FIRED, RECOVERED]


def test_a_silence_covers_its_rule_and_key_only(desk: Desk) -> None:
    desk.silence("deliveries-dead", key="ops*", hours=1)
    for route in ("ops", "ops-2", "log"):
        desk.see(1, "deliveries_dead", route)
    desk.see(1204)
    desk.pass_by(times=2)
    assert {(a["rule"], a["key"]): a["notices"] for a in desk.alerts()} == {
        ("deliveries-dead", "ops"): 0, ("deliveries-dead", "ops-2"): 0, ("deliveries-dead", "log"): 1,
        ("parked-errors", "overall"): 1,
    }  # fmt: skip


def test_a_silence_says_why_and_ends(desk: Desk) -> None:
    with desk.db.transaction(Authority.OPERATOR) as tx:
        for wrong, words in (
            ({"rule": "parked-eror", "reason": "x", "lasts": timedelta(hours=1)}, "no alert rule"),
            ({"rule": "parked-errors", "reason": " ", "lasts": timedelta(hours=1)}, "needs a reason"),
            ({"rule": "parked-errors", "reason": "x", "lasts": timedelta(days=91)}, "90 days"),
            ({"rule": "parked-errors", "reason": "x", "lasts": timedelta(0)}, "90 days"),
            ({"rule": "parked-errors", "reason": "x", "lasts": timedelta(1), "key": "k" * 201}, "200 bytes"),
        ):
            with pytest.raises(InputRefused, match=words):
                alerts.silence(tx, **wrong)  # type: ignore[arg-type]
    (row,) = desk.rows("select count(*) from recoup.silence")
    assert row["count"] == 0


# 2026-01-01, when tests begin, is a Thursday.
WEEKLY = '[alerts.maintenance.night]\ndays = ["thu"]\nfrom_time = "23:00"\nto_time = "01:30"\nrules = ["parked-*"]\n'
ONCE = '[alerts.maintenance.move]\nbegin = "2026-01-03T10:00:00+01:00"\nend = "2026-01-03T10:00:00Z"\n'


@pytest.mark.parametrize(
    ("text", "at", "silenced"),
    [
        (WEEKLY, datetime(2026, 1, 1, 22, 59, tzinfo=UTC), False),
        (WEEKLY, datetime(2026, 1, 1, 23, 0, tzinfo=UTC), True),
        (WEEKLY, datetime(2026, 1, 2, 1, 29, tzinfo=UTC), True),
        (WEEKLY, datetime(2026, 1, 2, 1, 30, tzinfo=UTC), False),
        (WEEKLY, datetime(2026, 1, 1, 1, 0, tzinfo=UTC), False),
        (WEEKLY, datetime(2026, 1, 2, 23, 30, tzinfo=UTC), False),
        (WEEKLY, datetime(2026, 1, 8, 23, 30, tzinfo=UTC), True),
        (ONCE, datetime(2026, 1, 3, 8, 59, tzinfo=UTC), False),
        (ONCE, datetime(2026, 1, 3, 9, 0, tzinfo=UTC), True),
        (ONCE, datetime(2026, 1, 3, 10, 0, tzinfo=UTC), False),
    ],
)
def test_a_maintenance_window_begins_and_ends_to_the_second(
    desk: Desk, text: str, at: datetime, silenced: bool
) -> None:
    desk.policy(text)
    query = "select recoup.in_maintenance(recoup.alert_policy(), 'parked-errors', 'overall', %s)"
    assert desk.rows(query, at) == [{"in_maintenance": silenced}]
    if text == WEEKLY:
        assert desk.rows(query.replace("parked-errors", "blocking-errors"), at) == [{"in_maintenance": False}]


def test_what_fired_in_maintenance_is_told_after_it(desk: Desk) -> None:
    begin = desk.now()
    end = begin + timedelta(minutes=30)
    desk.policy(f'[alerts.maintenance.x]\nbegin = "{begin.isoformat()}"\nend = "{end.isoformat()}"\n')
    fire(desk)
    assert desk.pass_by(times=27) == 0
    assert desk.told() == []
    assert desk.pass_by() == 1
    assert (desk.told(), desk.now()) == ([FIRED], end)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('begin = "2026-01-03T10:00:00"\nend = "2026-01-04T10:00:00Z"', "with its zone"),
        ('begin = "soon"\nend = "2026-01-04T10:00:00Z"', "with its zone"),
        ('begin = "2026-01-05T10:00:00Z"\nend = "2026-01-04T10:00:00Z"', "after begin"),
        ('begin = "2026-01-05T10:00:00Z"', "days, from_time and to_time"),
        ('days = ["thu"]\nfrom_time = "23:00"', "days, from_time and to_time"),
        ('days = ["thursday"]\nfrom_time = "23:00"\nto_time = "01:00"', "mon"),
        ('days = ["thu"]\nfrom_time = "25:00"\nto_time = "01:00"', "a time of day"),
    ],
)
def test_a_window_that_is_none_is_refused(desk: Desk, text: str, words: str) -> None:
    with pytest.raises(InputRefused) as refused:
        desk.policy(f"[alerts.maintenance.x]\n{text}\n")
    assert words in refused.value.next_step


def test_the_database_keeps_the_times_of_silences(desk: Desk) -> None:
    """Whatever is written by hand: not for ever, not in the name of another, not over before its time."""
    made = desk.silence(hours=1)
    for who, statement, state in (
        (Authority.OPERATOR, "insert into recoup.silence (rule, key, until, reason, created_by)"
         " values ('*', '*', recoup.now() + interval '91 days', 'x', recoup.acting_id())", "RC132"),
        (Authority.OPERATOR, "insert into recoup.silence (rule, key, until, reason, created_by)"
         " values ('*', '*', recoup.now() + interval '1 day', 'x', 'somebody else')", "RC132"),
        (Authority.ERROR_WORKER, "update recoup.silence set status = 'expired', ended_at = recoup.now()", "RC132"),
        (Authority.ERROR_WORKER, "update recoup.silence set status = 'ended', ended_at = recoup.now()", "RC002"),
        (Authority.OPERATOR, "delete from recoup.silence", "42501"),
        (Authority.OPERATOR, "update recoup.silence set until = recoup.now()", "42501"),
    ):  # fmt: skip
        with pytest.raises(Refusal) as refused, desk.db.transaction(who) as tx:
            tx.execute(statement.encode())
        assert getattr(refused.value.__cause__, "sqlstate", None) == state, statement
    assert desk.rows("select silence_id, status from recoup.silence") == [{"silence_id": made, "status": "active"}]
