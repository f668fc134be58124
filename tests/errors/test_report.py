"""The report of a day, and trends: counted by hand."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta

import pytest

from hub import DAY, DOL, HOUR, LOG, OPERATIONAL, SECOND, STRUCTURAL, TARGET, Hub, NewHub
from recoup.cli.charts import BAR, bar, percent, sparkline
from recoup.database.connection import Actor
from recoup.errors import parking, processed
from recoup.errors.lookup import ErrorKey
from recoup.errors.processed import NewProcessed
from recoup.errors.report import Report, TableDay, report
from recoup.errors.trend import trends
from recoup.errors.vocabulary import Severity
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused


def reported(hub: Hub, day: date | None = None) -> Report:
    with hub.db.transaction(Authority.READER) as tx:
        return report(tx, day)


def of(found: Report, table: str = DOL) -> TableDay:
    return next(one for one in found.tables if one.error_table == table)


def act(hub: Hub, verb: str, *errors: int, **more: object) -> None:
    with hub.db.transaction(Authority.OPERATOR, actor=Actor("human", "ada")) as tx:
        done = getattr(parking, verb)(tx, [ErrorKey(DOL, one) for one in errors], **more)
    assert all(one.done for one in done), done


def to_midnight(hub: Hub) -> date:
    """Let time come to the beginning of a day, and return it."""
    now = hub.now().astimezone(UTC)
    day = now.date() + DAY
    hub.advance(datetime(day.year, day.month, day.day, tzinfo=UTC) - now)
    return day


def test_a_day_is_told_from_midnight_to_midnight(new_hub: NewHub) -> None:
    """In UTC; its first moment belongs to it, and that of the next day does not."""
    hub = new_hub()
    day = to_midnight(hub)
    parked = [hub.record(STRUCTURAL) for _ in range(3)]
    resolved = hub.record()
    hub.record(table=LOG, message="the disk is nearly full")
    act(hub, "resolve", resolved)
    act(hub, "escalate", parked[0], reason="urgent", to="bob")
    act(hub, "unpark", parked[1])
    hub.sweep_all()
    with hub.db.transaction(Authority.HUB) as tx:
        processed.report(tx, [NewProcessed(table=DOL, count=80)])
    so_far = reported(hub, day)
    assert not so_far.is_over
    hub.advance(DAY - SECOND)
    hub.record(STRUCTURAL)
    hub.advance(SECOND)
    hub.record(STRUCTURAL)
    found = reported(hub)
    assert (found.day, found.is_over) == (day, True)
    one = of(found)
    assert (one.recorded, one.parked, one.unparked, one.escalated, one.resolved, one.archived) == (5, 4, 1, 1, 1, 1)
    assert (one.processed, one.error_rate, one.owner, one.parked_now) == (80, 5 / 80, "dol-hub", 4)
    assert (of(found, LOG).recorded, of(found, LOG).ignored, of(found, LOG).error_rate) == (1, 1, None)
    assert (found.overall.recorded, found.overall.ignored, found.overall.error_rate) == (6, 1, 5 / 80)
    assert of(reported(hub, day + DAY)).recorded == 1
    assert of(reported(hub, day - DAY)) == TableDay(error_table=DOL, owner="dol-hub", parked_now=4)


def test_a_period_over_midnight_counts_for_both_days(new_hub: NewHub) -> None:
    hub = new_hub()
    day = to_midnight(hub)
    hub.advance(6 * HOUR)
    now = hub.now()
    with hub.db.transaction(Authority.HUB) as tx:
        processed.report(tx, [NewProcessed(table=DOL, count=80, period_from=now - 8 * HOUR, period_to=now)])
    assert (of(reported(hub, day)).processed, of(reported(hub)).processed) == (60, 20)
    assert of(reported(hub, day - 2 * DAY)).processed is None


def test_the_oldest_parked_come_first_with_their_owners(new_hub: NewHub) -> None:
    hub = new_hub()
    first = hub.record(STRUCTURAL)
    hub.advance(HOUR)
    second = hub.record(STRUCTURAL, table=TARGET)
    for _ in range(6):
        hub.advance(HOUR)
        hub.record(STRUCTURAL)
    act(hub, "assign", first, to="eve")
    oldest = reported(hub).oldest_parked
    assert len(oldest) == 5
    assert [(one.error_id, one.owner) for one in oldest[:2]] == [(first, "eve"), (second, "company-target-hub")]
    assert oldest[0].parked_for_s == 7 * 3600


@pytest.mark.parametrize("task_first", [True, False])
def test_a_review_that_came_too_late_is_counted_once(new_hub: NewHub, task_first: bool) -> None:
    """Whoever comes first: the task that marks it, or, after days without a worker, the person who ends it."""
    hub = new_hub()
    resolved, unparked, escalated, archived, reviewed, in_time = (hub.record(STRUCTURAL) for _ in range(6))
    act(hub, "review", in_time)
    hub.advance(DAY + SECOND)
    if task_first:
        hub.raise_tiers()
    act(hub, "resolve", resolved, in_time)
    act(hub, "unpark", unparked)
    act(hub, "escalate", escalated, reason="urgent")
    act(hub, "archive", archived)
    act(hub, "review", reviewed)
    hub.sweep_all()
    hub.raise_tiers()
    assert of(reported(hub, hub.now().astimezone(UTC).date())).sla_breached == 5


def test_the_largest_groups_of_the_day(new_hub: NewHub) -> None:
    """Of failures that began on it, also if they have left since."""
    hub = new_hub()
    day = to_midnight(hub)
    hub.record("of the day before", table=LOG)
    hub.advance(DAY)
    for _ in range(3):
        hub.record(OPERATIONAL)
    act(hub, "resolve", hub.record(STRUCTURAL))
    hub.sweep_all()
    groups = reported(hub, day + DAY).groups
    assert [one.errors for one in groups] == [3, 1]
    assert [one.errors for one in reported(hub, day).groups] == [1]


def test_what_expires_while_it_blocks_is_told(new_hub: NewHub) -> None:
    hub = new_hub()
    hub.record(STRUCTURAL, severity=Severity.HIGH)
    hub.age(40 * DAY)
    hub.sweep_all()
    hub.advance(DAY)
    found = reported(hub)
    assert (of(found).expired_blocking, found.overall.expired_blocking) == (1, 1)


@pytest.mark.parametrize("day", [date(9999, 12, 31), date(1, 1, 1)])
def test_days_that_have_no_report(new_hub: NewHub, day: date) -> None:
    with pytest.raises(InputRefused, match="no report"):
        reported(new_hub(), day)


def test_trends_end_now(new_hub: NewHub) -> None:
    """The last step ends now, the first begins a day before."""
    hub = new_hub()
    hub.record(STRUCTURAL, outreach_id=uuid.uuid4())
    hub.advance(2 * HOUR)
    act(hub, "resolve", hub.record(), hub.record())
    hub.record(table=TARGET)
    hub.advance(HOUR - SECOND)
    with hub.db.transaction(Authority.READER) as tx:
        found = trends(tx)
        assert list(found.overall.recorded) == [0] * 21 + [1, 0, 3]
        assert list(found.overall.parked) == [0] * 21 + [1, 0, 0]
        assert list(found.overall.resolved) == [0] * 23 + [2]
        one = trends(tx, tables=[DOL], step=timedelta(days=1), steps=3)
        assert (list(one.overall.recorded), len(one.tables)) == ([0, 0, 3], 1)
    hub.advance(21 * HOUR + SECOND)
    with hub.db.transaction(Authority.READER) as tx:
        assert sum(trends(tx).overall.recorded) == 3


@pytest.mark.parametrize(
    ("value", "cells", "above"), [(None, 0, 0), (0.0, 0, 0), (0.025, 5, 0), (0.05, 10, 0), (0.0501, 10, 1),
                                  (0.075, 10, 5), (9.0, 10, 10)]
)  # fmt: skip
def test_a_bar_has_its_threshold_in_the_middle(value: float | None, cells: int, above: int) -> None:
    """What is above it is seen to be, by however little."""
    left, right = bar(value, 0.05).split("│")
    assert (left.count("█"), right.count("█")) == (cells, above)
    assert len(left + right) == BAR


def test_a_line_of_columns() -> None:
    assert sparkline([0, 1, 4, 8]) == "·▂▅█"
    assert (sparkline([]), sparkline([0, 0])) == ("", "··")
    assert [percent(one) for one in (None, 0.0, 0.00001, 0.0725, 1.5)] == ["–", "0.0%", "<0.1%", "7.2%", "150.0%"]
