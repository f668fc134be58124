"""Storms and flapping over real errors, and routes that fail meanwhile: one notice and one end each, in that order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from uuid import UUID

import pytest

from alerts.desk import RULES, Desk
from alerts.test_judging import FIRED, fire
from alerts.test_notices import TO_OPS
from deliveries.post import SECRET, Receiver, receiving
from recoup.alerts import judging
from recoup.domain import sources
from recoup.domains import MEASURED
from recoup.errors import NewError, Want, parking, recording
from recoup.errors.lookup import ErrorKey
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.refusals import LawRefused
from recoup.signals import Source

DOL = "outreach.dol_errors"
STORMY = ("parked-errors", "blocking-errors", "park-rate", "dol-parked-per-day")
ACTIONS = ("escalate-to-platform", "page-platform-on-call", "review-park-queue")
ERRORS, BATCHES = 10_000, 6
TOLD = """
select a.rule, d.route, d.body ->> 'status' as told, count(*) as times
  from recoup.delivery d join recoup.alert a using (alert_id) group by 1, 2, 3
"""


@pytest.fixture
def receiver(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as there:
        monkeypatch.setenv("TEST_OPS_URL", there.url)
        monkeypatch.setenv("TEST_OPS_SECRET", SECRET)
        yield there


class Storm:
    """Errors of one table, judged every ten seconds as a worker would."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.recorded = desk, 0
        with desk.db.transaction(Authority.READER) as tx:
            self.policy = versions.active(tx).policy
        self.source: Source = next(
            one for one in sources(MEASURED) if any(signal.name == "parked_errors" for signal in one.signals)
        )

    def judge(self, times: int = 1) -> None:
        for _ in range(times):
            self.desk.advance(seconds=10)
            with self.desk.db.transaction(Authority.ERROR_WORKER) as tx:
                judging.judge(tx, self.policy, [self.source])

    def park(self, count: int) -> None:
        numbers = range(self.recorded + 1, self.recorded + count + 1)
        self.recorded += count
        with self.desk.db.transaction(Authority.HUB) as tx:
            recording.record(tx, [
                NewError(table=DOL, message="no EIN", outreach_id=UUID(int=number), want=Want.PARK)
                for number in numbers
            ])  # fmt: skip

    def solve(self, count: int | None = None) -> None:
        """Resolve the oldest of those that are open."""
        query = "select error_table, error_id from recoup.error where status = 'PARKED' order by error_id limit %s"
        with self.desk.db.transaction(Authority.OPERATOR) as tx:
            parking.resolve(tx, [ErrorKey(*row) for row in tx.execute(query, (count,)).fetchall()])

    def told(self) -> Counter[tuple[str, str, str]]:
        """How often each rule told each route that it fires, or ended."""
        rows = self.desk.rows(TOLD)
        return Counter({(row["rule"], row["route"], row["told"]): row["times"] for row in rows})


def test_a_storm_is_one_notice_and_one_end_for_each_rule_and_route(desk: Desk, receiver: Receiver) -> None:
    """Ten thousand errors within a minute; then their number flaps around the threshold for half an hour, and falls."""
    desk.policy(RULES + "".join(f'[alerts.actions.{action}]\nroutes = ["ops", "log"]\n' for action in ACTIONS))
    storm = Storm(desk)
    for number in range(BATCHES):
        storm.park(ERRORS * (number + 1) // BATCHES - ERRORS * number // BATCHES)
        storm.judge()
    assert storm.recorded == ERRORS
    storm.judge(12)
    every = {(rule, route) for rule in STORMY for route in ("ops", "log")}
    firing = Counter({(rule, route, "firing"): 1 for rule, route in every})
    assert storm.told() == firing
    storm.solve(ERRORS - 850)
    for number in range(60):  # 1,150, 850, 1,150, …: below for less than five minutes, above for less than one
        storm.solve(300) if number % 2 else storm.park(300)
        storm.judge(3)
    assert storm.told() == firing
    storm.solve()
    storm.judge(32)
    desk.advance(seconds=24 * 3600)  # what is counted over a day
    storm.judge(40)
    ends = {rule: "no_data" if rule == "park-rate" else "recovered" for rule in STORMY}
    assert {alert["rule"]: alert["status"] for alert in desk.alerts()} == ends
    assert len(desk.alerts()) == len(STORMY), "each fired once"
    assert storm.told() == firing + Counter({(rule, route, ends[rule]): 1 for rule, route in every})
    assert desk.broken() == []


def subjects(receiver: Receiver) -> list[str]:
    return [str(json.loads(body)["subject"]) for _, _, body in receiver.got]


def test_a_route_that_was_down_is_told_in_order(desk: Desk, receiver: Receiver) -> None:
    """An alert that ends meanwhile is not reported as ended first: its receiver would be left with one that fires."""
    receiver.status = 500
    desk.policy(TO_OPS.replace("max_tries = 3\nbase_s = 1\ncap_s = 2", "max_tries = 12\nbase_s = 10\ncap_s = 600"))
    fire(desk)
    for _ in range(6):  # it waits longer and longer
        desk.deliver()
        desk.advance(seconds=320)
    desk.see(0)
    desk.pass_by(times=6)
    assert len(desk.told("ops")) == 2
    desk.deliver()
    receiver.got.clear()
    receiver.status = 200
    for _ in range(30):
        desk.deliver()
        desk.advance(seconds=30)
    assert subjects(receiver) == [FIRED, "recovered: parked_errors is 0 again; it was up to 1,204"]
    assert desk.broken() == []


def test_an_end_reaches_the_routes_that_were_notified_and_no_others(desk: Desk) -> None:
    """Not one that was full when it fired, nor one that the action has since; but one that the action has no longer."""
    routes = "".join(f'[deliveries.routes.{name}]\nkind = "log"\n' for name in ("full", "later", "pager"))
    text = routes + '[deliveries]\nmax_waiting = 2\n[alerts.actions.escalate-to-platform]\nroutes = ["{}", "full"]\n'
    desk.policy(text.format("pager"))
    for number in range(2):
        desk.send("full", f"{number}")
    fire(desk)
    assert desk.alerts()[0]["routes"] == ["pager"]
    desk.deliver()
    desk.policy(text.format("later"))
    desk.see(0)
    desk.pass_by(times=6)
    (alert,) = desk.alerts()
    assert (alert["status"], alert["routes"], alert["unsent"]) == ("recovered", ["pager"], 1)
    assert (len(desk.told("pager")), desk.told("later"), len(desk.told("full"))) == (2, [], 2)
    assert desk.broken() == []


def test_a_route_that_is_full_when_an_alert_ends_is_notified_of_the_end(desk: Desk) -> None:
    """Whoever was paged is told that it is over. Nothing else is queued, so what waits is bounded."""
    desk.policy(
        '[deliveries.routes.pager]\nkind = "log"\n[deliveries]\nmax_waiting = 2\n'
        '[alerts.actions.escalate-to-platform]\nroutes = ["pager"]\n'
    )
    fire(desk)
    desk.deliver()
    for number in range(2):
        desk.send("pager", f"{number}")
    with pytest.raises(LawRefused, match="wait for the route"):
        desk.send("pager", "one more")
    desk.see(0)
    desk.pass_by(times=6)
    (alert,) = desk.alerts()
    assert (alert["status"], alert["routes"], alert["unsent"]) == ("recovered", ["pager"], 0)
    fire(desk)
    assert [alert["routes"] for alert in desk.alerts()] == [["pager"], []], "full: the next one is left out"
    desk.see(0)
    desk.pass_by(times=6)
    ended = "recovered: parked_errors is 0 again; it was up to 1,204"
    assert sorted(desk.told("pager")) == sorted([FIRED, "0", "1", ended])
    assert desk.alerts()[1]["unsent"] == 1
    assert desk.broken() == []
