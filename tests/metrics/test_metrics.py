"""Metrics of a database: accepted by Prometheus, true, documented, and as cheap with many idle rows as without."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from company import acting
from hub import DOL, Hub
from plans import assert_reads_only, carried_out
from recoup import policy, readiness
from recoup.alerts import judging
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.domain import sources
from recoup.domains import DOMAINS
from recoup.errors import retrying
from recoup.ledger import subscriptions
from recoup.ledger.subscriptions import Log
from recoup.lifecycles.declaration import Authority
from recoup.metrics import declared
from recoup.metrics.reading import Q, Reader, Value
from recoup.metrics.rendering import Exposition, rendered
from recoup.settings import Settings
from recoup.worker import register

PROMTOOL = shutil.which("promtool")
NO_PROMTOOL = "promtool is not installed: apt-get install prometheus"
ROOT = Path(__file__).parents[2]
ERRORS = Log(table="recoup.error_event", columns=("seq", "event_type"))
IDLE = 50_000


@pytest.fixture(scope="module")
def hub(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Hub]:
    with Database(server.uri(new_database()), settings) as database:
        yield Hub(database)


def read(db: Database) -> dict[tuple[str, tuple[str, ...]], float]:
    return {(one.metric.name.removeprefix("recoup_"), one.labels): one.value for one in Reader(DOMAINS).read(db)}


@pytest.fixture(scope="module")
def busy(hub: Hub) -> Hub:
    """Three errors to be retried, one of them claimed; a worker; a subscriber who has read nothing."""
    for _ in range(3):
        hub.record("the request timed out")
    hub.advance(timedelta(hours=2))
    with hub.db.transaction(Authority.ERROR_WORKER) as tx:
        assert len(retrying.claim(tx, limit=1, worker="w", lease=timedelta(minutes=9))) == 1
    with hub.db.transaction(Authority.RUNNER) as tx:
        worker = register.register(tx, name="w", duties=["seal"])
        register.tally(tx, worker, "seal", done=7)
    with hub.db.transaction(Authority.CONSUMER) as tx:
        subscriptions.subscribe(tx, ERRORS, "reader")
    with hub.db.transaction(Authority.ERROR_WORKER) as tx:
        judging.judge(tx, policy.in_force(tx).policy, sources(DOMAINS))
    hub.advance(timedelta(minutes=5))
    return hub


def test_the_values_are_those_of_the_database(busy: Hub) -> None:
    found = read(busy.db)
    queue = "recoup.error_queue"
    assert found["up", ()] == 1
    assert {value for (name, _), value in found.items() if name == "scrape_failed"} == {0}
    assert found["queue_units", (queue, "due")] == 2
    assert found["queue_units", (queue, "claimed")] == 1
    assert found["queue_lag_seconds", (queue,)] > 3600
    assert found["oldest_lease_seconds", (queue,)] == pytest.approx(300, abs=30)
    assert found["duty_lag_seconds", ("error-retry",)] == found["queue_lag_seconds", (queue,)]
    assert found["workers", ("silent",)] == 1, "its last heartbeat is five minutes old"
    assert found["duty_units_total", ("seal", "w")] == 7
    assert found["subscription_lag_seconds", ("recoup.error_event", "reader")] > 7000
    assert found["parked_per_day", (DOL,)] == 0
    assert ("park_rate_ratio", (DOL,)) not in found, "of three errors there is no rate"
    assert found["blocking_errors", ("overall",)] == 3
    assert found["alerts_judged_age_seconds", ()] == pytest.approx(300, abs=30)
    assert found["policy_version", ()] >= 1


def test_an_open_transaction_holds_the_horizon(busy: Hub, admin: Transaction) -> None:
    with busy.db.transaction(Authority.HUB) as tx:
        tx.execute("select pg_current_xact_id()")
        for _ in range(3):
            busy.record()
        assert read(busy.db)["log_horizon_transactions", ()] >= 3


@pytest.mark.skipif(PROMTOOL is None, reason=NO_PROMTOOL)
def test_promtool_accepts_the_text(busy: Hub) -> None:
    assert PROMTOOL is not None
    text = Exposition(busy.db, DOMAINS).text()
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_hostile_names_stay_within_their_label() -> None:
    """A subscription, an owner or a worker may have any name."""
    name = 'x"} 1\nrecoup_up 0\n# \\' + "é" * 300
    text = rendered([Value(declared.SUBSCRIPTION_LAG, ("log", name), 1.0), Value(declared.UP, (), 1.0)]).decode()
    families = {one.name: one for one in text_string_to_metric_families(text)}
    assert set(families) == {"recoup_up", "recoup_subscription_lag_seconds"}
    assert families["recoup_up"].samples[0].value == 1
    assert families["recoup_subscription_lag_seconds"].samples[0].labels["subscription"] == name


def test_every_metric_is_declared_once_and_documented(busy: Hub) -> None:
    names = [metric.name for metric in declared.every(DOMAINS)]
    assert len(names) == len(set(names))
    page = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(recoup_\w+)`", page)) == set(names)
    assert {one.metric.name for one in Reader(DOMAINS).read(busy.db)} <= set(names)


def test_a_database_that_is_gone_is_a_value(settings: Settings) -> None:
    """And costs one wait, not one for each part."""
    nobody = Database("host=/nowhere dbname=x user=x connect_timeout=2", settings)
    begun = time.monotonic()
    assert read(nobody)["up", ()] == 0
    assert time.monotonic() - begun < 5
    assert [one.check for one in readiness.readiness(nobody, DOMAINS)] == ["database"]
    assert not readiness.is_ready(readiness.readiness(nobody, DOMAINS))


def test_a_part_that_fails_hides_no_other(busy: Hub, server: embedded.Server) -> None:
    with busy.db.transaction(Authority.READER) as tx:
        name = tx.info.dbname
    with (
        psycopg.connect(server.uri(name, admin=True), autocommit=True) as admin,
        admin.transaction(force_rollback=True),
    ):
        admin.execute("lock table recoup.alert_gauge")
        with Database(busy.db.conninfo, busy.db.settings) as own:
            found = read(own)
    assert found["scrape_failed", ("alerts",)] == 1
    assert found["scrape_failed", ("queues",)] == 0
    assert found["up", ()] == 1


def test_scrapes_at_once_read_once(busy: Hub) -> None:
    exposition = Exposition(busy.db, DOMAINS)
    texts: list[bytes] = []
    threads = [threading.Thread(target=lambda: texts.append(exposition.text())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 8
    assert len(set(texts)) == 1


def test_it_is_ready_while_a_worker_beats(busy: Hub) -> None:
    def verdicts() -> dict[str, str]:
        return {one.check: one.verdict for one in readiness.readiness(busy.db, DOMAINS)}

    assert verdicts() == {"database": "ok", "schema": "ok", "workers": "error"}
    with busy.db.transaction(Authority.RUNNER) as tx:
        worker = register.register(tx, name=f"w-{uuid.uuid4().hex}", duties=[])
    assert verdicts()["workers"] == "ok"
    with busy.db.transaction(Authority.RUNNER) as tx:
        register.stop(tx, worker)
    assert verdicts()["workers"] == "error"


def test_a_schema_of_another_epoch_is_not_ready(busy: Hub, server: embedded.Server) -> None:
    later = [dataclasses.replace(one, epoch=one.epoch + 1) for one in DOMAINS]
    found = readiness.readiness(busy.db, later)
    assert [(one.check, one.verdict) for one in found] == [("database", "ok"), ("schema", "error")]


FILL = """
alter table recoup.error_queue disable trigger user;
alter table recoup.worker disable trigger user;
alter table recoup.duty_tally disable trigger user;
alter table recovery.run disable trigger user;
alter table recoup.error_event disable trigger user;
insert into recoup.error_queue (unit, part, wake_at, category, max_retries)
select -g, 'outreach.dol_errors', recoup.now() + interval '1 day' + g * interval '1 second', 'OPERATIONAL', 3
  from generate_series(1, {n}) g;
insert into recoup.worker (name, host, pid, recoup_version, duties, started_at, heartbeat_at, status, ended_at)
select 'w' || g, 'h', g, '1', '{{seal}}', recoup.now(), recoup.now(), 'stopped', recoup.now()
  from generate_series(1, {n} / 10) g;
insert into recoup.duty_tally (worker_id, duty, runs, done, failures, last_run_at)
select w.worker_id, 'seal', 1, 1, 0, recoup.now() from recoup.worker w where w.status = 'stopped';
insert into recoup.error_event (incarnation, logged_at, error_table, error_id, event_type, to_status, disposition,
  retry_count, actor, actor_id, authority, xid)
select 1, recoup.now(), 'outreach.dol_errors', -g, 'RECORDED', 'RETRY_PENDING', 'RETRY', 0, 'system', 'w', 'recoup_hub',
       '3'::xid8 from generate_series(1, {n}) g;
alter table recoup.error_queue enable trigger user;
alter table recoup.worker enable trigger user;
alter table recoup.duty_tally enable trigger user;
alter table recovery.run enable trigger user;
alter table recoup.error_event enable trigger user;
"""
BIG = {"error_queue", "worker", "duty_tally", "error_event"}


@pytest.fixture
def quiet(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """A superuser's connection to a database in which nothing else waits."""
    with (
        contextlib.closing(connect(server.uri(new_database(), admin=True), settings)) as connection,
        connection.transaction(force_rollback=True),
    ):
        yield connection


@pytest.mark.parametrize("analysed", [False, True], ids=["never analysed", "analysed"])
def test_a_scrape_reads_little_whatever_lies_idle(quiet: Transaction, analysed: bool) -> None:
    """What is claimed, due or unread is found by indexes; what waits, is done or was is not read."""
    quiet.execute("select setseed(0)")
    for statement in FILL.format(n=IDLE).split(";\n"):
        quiet.execute(statement.encode())
    with acting(quiet, Authority.CONSUMER):
        subscriptions.subscribe(quiet, ERRORS, "idle")
    if analysed:
        for table in ("recoup.error_queue", "recoup.worker", "recoup.duty_tally", "recoup.error_event"):
            quiet.execute(f"analyze {table}".encode())
    reader = Reader(DOMAINS)
    with carried_out(quiet, kept=False) as plans, acting(quiet, Authority.READER):
        plans.take()
        values = [value for name in ("workers", "queues", "logs", "alerts") for value in reader.parts[name](quiet)]
        found = plans.take()
    assert values
    assert Q
    assert_reads_only(found, 3_000, big=BIG)
