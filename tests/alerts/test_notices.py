"""Notices of alerts: who gets them, what happens when a route fails, and that nothing secret stands anywhere."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg.conninfo import conninfo_to_dict

from alerts.desk import RULES, Desk
from alerts.test_judging import FIRED, fire
from deliveries.post import SECRET, SECRET_PATH, Receiver, receiving
from recoup import alerts
from recoup.alerts import judging
from recoup.database import embedded, programs
from recoup.database.connection import Transaction
from recoup.domain import sources
from recoup.domains import MEASURED
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy, versions
from recoup.refusals import InputRefused, LawRefused, Refusal
from recoup.signals import Reading, Signal, Source

TO_OPS = RULES + '[alerts.actions.escalate-to-platform]\nroutes = ["ops", "log"]\n'


@pytest.fixture
def receiver(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as there:
        monkeypatch.setenv("TEST_OPS_URL", there.url)
        monkeypatch.setenv("TEST_OPS_SECRET", SECRET)
        desk.policy(TO_OPS)
        yield there


def statuses(desk: Desk, route: str = "ops") -> list[tuple[str, int]]:
    found = desk.rows("select status, attempts from recoup.delivery where route = %s order by delivery_id", route)
    return [(row["status"], row["attempts"]) for row in found]


def test_a_notice_reaches_every_route_of_its_action(desk: Desk, receiver: Receiver) -> None:
    fire(desk)
    assert desk.deliver() == 2
    ((_, headers, body),) = receiver.got
    assert "Recoup-Signature" in headers
    told = json.loads(body)
    (alert,) = desk.alerts()
    assert (told["subject"], told["origin"], told["about"]) == (FIRED, "alert", str(alert["alert_id"]))
    assert told["body"]["check_first"] == "recoup errors list --queue"
    assert (told["body"]["value"], told["body"]["threshold"], told["body"]["severity"]) == (1204, 1000, "HIGH")
    with desk.db.transaction(Authority.READER) as tx:
        shown = alerts.show(tx, alert["alert_id"])
    assert sorted((one.route, one.status) for one in shown.deliveries) == [("log", "delivered"), ("ops", "delivered")]
    assert [(one.to_status, one.notices) for one in shown.events] == [("firing", 1)]


@pytest.mark.parametrize(
    ("more", "routes"),
    [
        ("", {"a.errors": ["log"], "outreach.dol_errors": ["log"]}),
        ('[alerts.actions.notify-operators.by_key]\n"a.errors" = ["ops"]\n',
         {"a.errors": ["ops"], "outreach.dol_errors": ["log"]}),
        ('[alerts.actions.notify-operators.by_owner]\n"{owner}" = ["log", "ops"]\n',
         {"a.errors": ["log"], "outreach.dol_errors": ["log", "ops"]}),
        ('[alerts.actions.notify-operators.by_key]\n"a.errors" = []\n',
         {"a.errors": [], "outreach.dol_errors": ["log"]}),
    ],
)  # fmt: skip
def test_a_table_or_its_owner_has_routes_of_its_own(desk: Desk, more: str, routes: dict[str, list[str]]) -> None:
    with desk.db.transaction(Authority.READER) as tx:
        owner = versions.active(tx).policy.figures["errors"]["tables"]["outreach.dol_errors"]["owner"]
    desk.policy(RULES + more.replace("{owner}", owner))
    for key in routes:
        desk.see(1, "deliveries_dead", key)
    desk.pass_by(times=2)
    assert {alert["key"]: alert["routes"] for alert in desk.alerts()} == routes
    assert desk.broken() == []


@pytest.mark.parametrize("how", ["down", "slow", "500", "unset"])
def test_a_route_that_fails_blocks_nothing_and_loses_nothing(
    desk: Desk, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Alerts are judged, the other route is told at once; what failed is tried again, and delivered when it can be."""
    up = receiver.url
    match how:
        case "down":
            monkeypatch.setenv("TEST_OPS_URL", "http://127.0.0.1:9/")
        case "slow":
            receiver.hold.clear()
        case "500":
            receiver.status = 500
        case "unset":
            monkeypatch.delenv("TEST_OPS_URL")
    fire(desk)
    began = time.monotonic()
    desk.deliver()
    assert desk.pass_by(times=5) == 0
    assert time.monotonic() - began < 20
    assert statuses(desk, "log") == [("delivered", 1)]
    assert statuses(desk) == [("queued", 0 if how == "unset" else 1)]
    monkeypatch.setenv("TEST_OPS_URL", up)
    receiver.hold.set()
    receiver.status = 200
    desk.deliver()
    assert [status for status, _ in statuses(desk)] == ["delivered"]
    assert desk.broken() == []


def test_a_route_that_no_worker_can_use_alerts_by_another_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its variable is set nowhere: it is never tried, so it never dies. Notices behind the first are not told."""
    monkeypatch.delenv("TEST_OPS_URL", raising=False)
    desk.policy(TO_OPS.replace('"ops", "log"', '"ops"'))
    signals = [source for source in sources(MEASURED) if any(one.name == "deliveries_dead" for one in source.signals)]

    def judge(minutes: float = 1) -> None:
        desk.advance(seconds=60 * minutes)
        desk.deliver()
        with desk.db.transaction(Authority.ERROR_WORKER) as tx:
            judging.judge(tx, versions.active(tx).policy, signals)

    fire(desk)
    for _ in range(15):
        judge()
    assert desk.told() == []
    for _ in range(2):
        judge()
    assert desk.told() == ["HIGH: deliveries_waiting of ops is 1, above 0"]
    (alert,) = [one for one in desk.alerts() if one["rule"] == "deliveries-waiting"]
    assert alert["facts"]["oldest"] < desk.now().isoformat()
    desk.see(0)
    desk.pass_by(times=6)
    judge(20)
    ((waiting,),) = {tuple(row.values()) for row in desk.rows("select value from recoup.alert_gauge where rule = %s"
                                                              " and key = 'ops'", "deliveries-waiting")}  # fmt: skip
    assert (waiting, statuses(desk)) == (1, [("queued", 0), ("queued", 0)])
    with receiving() as there:
        monkeypatch.setenv("TEST_OPS_URL", there.url)
        monkeypatch.setenv("TEST_OPS_SECRET", SECRET)
        for _ in range(8):
            judge()
    assert [status for status, _ in statuses(desk)] == ["delivered", "delivered"]
    assert desk.told()[-1] == "recovered: deliveries_waiting of ops is 0 again; it was up to 1"
    assert desk.broken() == []


def test_what_its_route_cannot_deliver_goes_once_by_the_fallback_route(desk: Desk, receiver: Receiver) -> None:
    receiver.status = 500
    desk.policy(TO_OPS.replace('"ops", "log"', '"ops"') + '[deliveries]\nfallback_route = "log"\n')
    fire(desk)
    for _ in range(3):
        desk.deliver()
        desk.advance(seconds=10)
    assert statuses(desk) == [("dead", 3)]
    desk.deliver()
    ((dead,), (instead,)) = (
        desk.rows("select delivery_id, subject, origin, instead_of from recoup.delivery where route = %s", route)
        for route in ("ops", "log")
    )
    assert instead["instead_of"] == dead["delivery_id"]
    assert (instead["subject"], instead["origin"]) == (FIRED, "fallback")
    assert statuses(desk, "log") == [("delivered", 1)]
    with desk.db.transaction(Authority.READER) as tx:
        shown = alerts.show(tx, desk.alerts()[0]["alert_id"])
    assert [(one.route, one.status) for one in shown.deliveries] == [("ops", "dead"), ("log", "delivered")]
    assert desk.broken() == []


def test_a_route_that_left_the_policy_falls_back_and_a_fallback_does_not(desk: Desk, receiver: Receiver) -> None:
    receiver.status = 500
    desk.policy(RULES + '[deliveries]\nfallback_route = "ops"\n[deliveries.routes.old]\nkind = "log"\n')
    made = desk.send("old", "it failed")
    cancelled = desk.send("old", "not needed")
    desk.cancel(cancelled)
    desk.policy(RULES + '[deliveries]\nfallback_route = "ops"\n')
    for _ in range(5):
        desk.deliver()
        desk.advance(seconds=10)
    found = desk.rows("select route, status, instead_of from recoup.delivery order by created_at, delivery_id")
    assert found == [
        {"route": "old", "status": "dead", "instead_of": None},
        {"route": "old", "status": "dead", "instead_of": None},
        {"route": "ops", "status": "dead", "instead_of": made},
    ]
    assert desk.broken() == []


def test_a_full_route_is_left_out_and_counted(desk: Desk) -> None:
    """No exception blocks the alert, and what was left out is visible. When there is room, it is told again."""
    text = TO_OPS + "[deliveries]\nmax_waiting = 2\n"
    desk.policy(text)
    for number in range(2):
        desk.send("ops", f"{number}")
    fire(desk)
    (alert,) = desk.alerts()
    assert (alert["routes"], alert["unsent"], alert["notices"]) == (["log"], 1, 1)
    with pytest.raises(LawRefused, match="wait for the route"):
        desk.send("ops", "one more")
    for _ in range(24):
        desk.pass_by(seconds=3600)
        desk.deliver()  # by the other route: the variable of this one is not set
    (alert,) = desk.alerts()
    assert len(statuses(desk)) == 2, "bounded"
    assert (alert["unsent"], alert["notices"]) == (7, 7)
    assert desk.broken() == []


def test_two_workers_at_once_are_one_alert_and_one_notice(desk: Desk) -> None:
    desk.see(1204)
    desk.pass_by()
    desk.advance(seconds=60)
    together = threading.Barrier(6)

    def work(_: int) -> int:
        together.wait(10)
        return desk.judge()

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(work, range(6))) == 1
    assert len(desk.alerts()) == 1
    assert desk.told() == [FIRED]
    assert desk.broken() == []


def test_a_worker_that_measures_holds_up_no_other(desk: Desk) -> None:
    """The other one finds the round taken, and goes on with its work."""
    desk.see(1204)
    with desk.db.transaction(Authority.ERROR_WORKER) as tx:
        assert judging.judge(tx, versions.active(tx).policy, [desk.source]) == 0
        began = time.monotonic()
        assert desk.judge() == 0
        assert time.monotonic() - began < 5


def test_a_source_reads_and_can_do_nothing_else(desk: Desk) -> None:
    """It is the reader, in a transaction that is read-only, and not for long; its failure is seen by people."""

    def write(tx: Transaction, _policy: Policy) -> list[Reading]:
        tx.execute("insert into recoup.alert_gauge (rule, key, unit, facts) values ('x', 'y', 'count', '{}')")
        return []

    def slow(tx: Transaction, _policy: Policy) -> list[Reading]:
        tx.execute("select pg_sleep(30)")
        return []

    def other(_tx: Transaction, _policy: Policy) -> list[Reading]:
        return [Reading(signal="not_mine", value=1)]

    def nonsense(_tx: Transaction, _policy: Policy) -> list[Reading]:
        return [Reading(signal="nonsense", key="x\x00y" * 100, value=1)]

    def told(_tx: Transaction, _policy: Policy) -> list[Reading]:
        raise RuntimeError("password=hunter2-very-secret")

    desk.policy("[alerts]\nsource_timeout_s = 1\n")
    desk.see(1204)
    broken = [
        Source(signals=(Signal(name=measure.__name__, unit="count", description="x"),), measure=measure)
        for measure in (write, slow, other, nonsense, told)
    ]
    for _ in range(2):
        desk.advance(seconds=60)
        with desk.db.transaction(Authority.ERROR_WORKER) as tx:
            judging.judge(tx, versions.active(tx).policy, [*broken, desk.source])
    assert {alert["rule"]: alert["value"] for alert in desk.alerts()} == {"parked-errors": 1204, "sources-failing": 5}
    with desk.db.transaction(Authority.READER) as tx:
        note = judging.note(tx) or ""
    assert "statement timeout" in note
    assert "hunter2" not in note


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 1e300, -5.0, 1e-300])
def test_no_value_stops_the_judging_of_others(desk: Desk, value: float) -> None:
    desk.see(value, "blocking_errors", "strange")
    desk.facts = {"text": "\x00 \ud800 <script>", "long": "x" * 50_000}
    fire(desk)
    assert ("parked-errors", "overall") in {(a["rule"], a["key"]) for a in desk.alerts()}
    assert desk.broken() == []


def test_a_heartbeat_is_sent_while_alerts_are_judged(desk: Desk, receiver: Receiver) -> None:
    desk.policy(RULES + '[alerts]\nheartbeat_route = "ops"\n')
    desk.pass_by(times=1)
    assert desk.told("ops") == ["heartbeat: alerts are judged"]
    desk.deliver()
    desk.pass_by(times=4)
    assert len(desk.told("ops")) == 1
    desk.pass_by()
    assert len(desk.told("ops")) == 2
    desk.pass_by(times=20)
    assert len(desk.told("ops")) == 2, "while one waits, no other is queued"
    desk.deliver()
    desk.pass_by(times=5)
    assert len(desk.told("ops")) == 3
    assert {row["origin"] for row in desk.rows("select origin from recoup.delivery")} == {"heartbeat"}


def test_a_heartbeat_that_fails_does_not_keep_the_next_one_waiting(desk: Desk, receiver: Receiver) -> None:
    """The wait after a failed try is not doubled: when its receiver is back, it hears from us within seconds."""
    receiver.status = 500
    text = RULES.replace("max_tries = 3\nbase_s = 1\ncap_s = 2", "max_tries = 100\nbase_s = 10\ncap_s = 3600")
    desk.policy(text + '[alerts]\nheartbeat_route = "ops"\n')
    for _ in range(20):
        desk.pass_by(seconds=10)
        desk.deliver()
    assert statuses(desk) == [("queued", 20)]
    receiver.status = 200
    desk.pass_by(seconds=10)
    desk.deliver()
    assert statuses(desk) == [("delivered", 21)]
    desk.pass_by(seconds=100)
    assert len(desk.told("ops")) == 2
    assert desk.broken() == []


def test_a_test_reaches_the_routes_and_changes_nothing(desk: Desk, receiver: Receiver) -> None:
    with desk.db.transaction(Authority.OPERATOR) as tx:
        assert len(alerts.send_test(tx, "parked-errors")) == 2
        alerts.send_test(tx, route="ops")
        for wrong in ({}, {"rule": "parked", "route": None}, {"rule": "parked-errors", "route": "ops"}):
            with pytest.raises(InputRefused):
                alerts.send_test(tx, **wrong)
    desk.deliver()
    assert sorted(json.loads(body)["subject"] for _, _, body in receiver.got) == [
        "test of the route ops", "test: HIGH alert parked-errors; nothing is wrong"
    ]  # fmt: skip
    assert all(json.loads(body)["body"]["test"] for _, _, body in receiver.got)
    assert desk.alerts() == []


WRONG = (
    ('[alerts.rules.x]\nsignal = "parked_eror"\nabove = 1\nseverity = "HIGH"\naction = "notify-operators"\n',
     "did you mean parked_errors"),
    ('[alerts.rules.x]\nsignal = "parked_errors"\nabove = 1\nseverity = "HIGH"\naction = "notify-operator"\n',
     "did you mean notify-operators"),
    ('[alerts.actions.page-on-call]\nroutes = ["logg"]\n', "did you mean log"),
    ('[alerts]\nheartbeat_route = "opps"\n', "one of log"),
    ('[deliveries]\nfallback_route = "lgo"\n', "did you mean log"),
    ('[alerts.rules.x]\nsignal = "parked_errors"\nabove = -1\nseverity = "HIGH"\naction = "notify-operators"\n',
     "a number from 0"),
    ('[alerts.rules.x]\nsignal = "parked_errors"\nabove = 1\nseverity = "BAD"\naction = "notify-operators"\n',
     "one of WARNING, HIGH, CRITICAL"),
    ('[alerts.rules.parked-errors]\ncheck = "see https://hooks.example.com/T0/secret"\n', "without a URL"),
    ('[alerts.actions.page-on-call.by_owner]\n"https://hooks.example.com/T0" = ["log"]\n', "owner"),
    ('[alerts.actions.page-on-call]\nurl = "https://hooks.example.com/T0"\n', "no such key"),
    ('[deliveries.routes.ops]\nkind = "webhook"\nurl_env = "https://hooks.example.com/T0"\n', "environment variable"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_a_policy_that_means_nothing_or_tells_a_secret_is_refused(desk: Desk, text: str, words: str) -> None:
    with pytest.raises(InputRefused) as refused:
        desk.policy(text)
    assert words in refused.value.next_step


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("{deliveries,routes,log,url_env}", '"https://hooks.example.com/T0"'),
        ("{deliveries,routes,log,url}", '"hooks.example.com"'),
        ("{deliveries,routes,log,secret_env}", '"s3cret-value"'),
        ("{alerts,rules,parked-errors,check}", '"https://hooks.example.com/T0"'),
        ("{alerts,actions,page-on-call,routes}", '["https://hooks.example.com/T0"]'),
    ],
)
def test_the_database_refuses_a_secret_in_a_policy_too(desk: Desk, path: str, value: str) -> None:
    """Also to somebody who says that a program has validated it."""
    with pytest.raises(Refusal) as refused, desk.db.transaction(Authority.OPERATOR) as tx:
        (figures,) = tx.execute(
            "select jsonb_set(figures, %s, %s)::text from recoup.policy order by version desc limit 1", (path, value)
        ).fetchone() or ("",)
        tx.execute("select set_config('recoup.policy_checked', md5(%s::jsonb::text), true)", (figures,))
        tx.execute(
            "insert into recoup.policy (version, figures, document, reason)"
            " select max(version) + 1, %s, '', 'x' from recoup.policy",
            (figures,),
        )
    assert refused.value.code == "route_secret"
    assert "hooks.example.com" not in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_no_secret_of_a_route_stands_in_a_table_a_log_or_a_dump(
    desk: Desk, receiver: Receiver, server: embedded.Server, capfd: pytest.CaptureFixture[str]
) -> None:
    """Delivered, failed and given up: the URL and the key are in the environment only."""
    fire(desk)
    desk.deliver()
    receiver.status = 500
    desk.see(0)
    desk.pass_by(times=6)
    for _ in range(4):
        desk.deliver()
        desk.advance(seconds=10)
    assert [status for status, _ in statuses(desk)] == ["delivered", "dead"]
    name = str(conninfo_to_dict(desk.db.conninfo)["dbname"])
    dump = subprocess.run(
        [programs.binaries(desk.settings) / "pg_dump", server.uri(name, admin=True)],
        capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    printed = "".join(capfd.readouterr())
    assert "parked_errors" in dump
    for text in (dump, printed):
        assert SECRET not in text
        assert SECRET_PATH not in text
        assert f":{receiver.port}" not in text
