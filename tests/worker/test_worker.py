"""A worker does its duties, whatever one of them does; and ends when it is told to."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
import structlog
from prometheus_client import generate_latest

from company import acting, new_intake
from product import DUTIES, RELEASES, apply_policy, pause, resume
from recoup import gate, observe
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.refusals import InputRefused, from_database
from recoup.settings import Settings
from recoup.worker import loop, register
from recoup.worker.duty import Duty
from recoup.worker.loop import WorkerLoop

PATIENCE_S = 120
NEVER_S = 600.0  # a cadence that no test waits for


def until(true: Callable[[], object]) -> None:
    """Wait for something to become true; a test that cannot wait for it fails."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def duty(name: str, batch: Callable[[Transaction, Policy], int], *, cadence_s: float = NEVER_S) -> Duty:
    return Duty(
        name=name, authority=Authority.GATE, cadence_s=cadence_s, description="a test", batch=batch, lag=lambda _: None
    )


@contextlib.contextmanager
def working(db: Database, *duties: Duty) -> Iterator[WorkerLoop]:
    worker = WorkerLoop(db, duties, name=f"worker-{time.monotonic_ns()}")
    thread = threading.Thread(target=worker.run)
    thread.start()
    assert worker.started.wait(PATIENCE_S)
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "it did not stop"


def tally(db: Database, name: str) -> tuple[int, int]:
    with db.transaction(Authority.READER) as tx:
        row = tx.execute(
            "select coalesce(sum(done), 0)::int, coalesce(sum(failures), 0)::int"
            " from recoup.duty_tally where duty = %s",
            (name,),
        ).fetchone()
    assert row is not None
    return row


def counted(name: str, **labels: str) -> float:
    return observe.REGISTRY.get_sample_value(name, labels) or 0


@pytest.fixture
def lonely(fresh: Callable[..., Database]) -> Database:
    """A database that no other worker works on, with a quick heartbeat."""
    db = fresh()
    with db.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, "[worker]\nheartbeat_s = 1\nlost_after_s = 3\n", reason="tests are in a hurry")
    return db


def test_a_duty_that_raises_stops_neither_the_others_nor_itself(lonely: Database) -> None:
    """It is counted, said, and tried again; the others go on meanwhile."""
    tries: list[float] = []
    sound: list[float] = []

    def broken(_tx: Transaction, _policy: Policy) -> int:
        tries.append(time.monotonic())
        raise ZeroDivisionError("a bug of ours")

    def well(_tx: Transaction, _policy: Policy) -> int:
        sound.append(time.monotonic())
        return 0

    with working(lonely, duty("broken", broken, cadence_s=0.05), duty("well", well, cadence_s=0.05)):
        until(lambda: len(tries) >= 3 and len(sound) >= 5)
        until(lambda: tally(lonely, "broken")[1] >= 3)
    with lonely.transaction(Authority.READER) as tx:
        row = tx.execute("select last_failure from recoup.duty_tally where duty = 'broken'").fetchone()
    assert row == ("ZeroDivisionError: a bug of ours",)
    assert b'recoup_duty_batches_total{duty="broken",outcome="failed"}' in generate_latest(observe.REGISTRY)


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Standard error is a pipe whose other end is closed, as when what kept the log has died."""
    reader, writer = os.pipe()
    os.close(reader)
    broken = os.fdopen(writer, "w", buffering=1)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", broken)
        observe.configure()
        yield
    structlog.reset_defaults()
    with contextlib.suppress(BrokenPipeError):
        broken.close()


def test_a_worker_goes_on_when_nobody_reads_its_log(lonely: Database, unread: None) -> None:
    done = iter(range(3))
    with working(lonely, duty("busy", lambda tx, _: int(next(done, None) is not None))):
        until(lambda: tally(lonely, "busy") == (3, 0))


def test_a_batch_that_raises_leaves_nothing_behind(lonely: Database) -> None:
    """What it wrote before is rolled back with it."""
    ran = threading.Event()

    def half(tx: Transaction, _policy: Policy) -> int:
        gate.add_intakes(tx, [gate.NewIntake(company_name="half done")])
        ran.set()
        raise RuntimeError("in the middle")

    with working(lonely, duty("half", half)):
        assert ran.wait(PATIENCE_S)
        until(lambda: tally(lonely, "half")[1] >= 1)  # twice, if its listener wakes it by then
    assert tally(lonely, "half")[0] == 0
    with lonely.transaction(Authority.READER) as tx:
        assert tx.execute("select from cl.gate_zero_intake").rowcount == 0


def test_one_bad_unit_stops_only_itself(lonely: Database, server: embedded.Server, settings: Settings) -> None:
    """A set that is refused because of one row is done row by row, and the bad one is named."""
    with lonely.transaction(Authority.HUB) as tx:
        intakes = gate.add_intakes(tx, [gate.NewIntake(company_name="x")] * 5)
    with lonely.transaction(Authority.GATE) as tx:
        gate.open_attempts(tx, intakes, worker="w")
    bad = intakes[2]
    name = str(psycopg.conninfo.conninfo_to_dict(lonely.conninfo)["dbname"])
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin, admin.transaction():
        # A row that no verb of ours makes: its failure would be the first, and it is authorised.
        admin.execute("alter table cl.gate_zero_intake disable trigger user")
        admin.execute("update cl.gate_zero_intake set status = 'AUTHORIZED' where intake_id = %s", (bad,))
        admin.execute("alter table cl.gate_zero_intake enable trigger user")
        for (trigger,) in admin.execute(
            "select tgname from pg_trigger where tgrelid = 'cl.gate_zero_intake'::regclass and not tgisinternal"
        ).fetchall():
            admin.execute(f"alter table cl.gate_zero_intake enable always trigger {trigger}")
    with lonely.transaction(Authority.OPERATOR) as tx:
        tx.execute("update recoup.clock set at = at + interval '1 hour'")
    (sweep,) = (d for d in DUTIES if d.name == "attempt-sweep")
    with working(lonely, sweep):
        until(lambda: tally(lonely, "attempt-sweep")[0] == 4)
    with lonely.transaction(Authority.READER) as tx:
        rows = tx.execute("select intake_id from cl.gate_zero_attempt where status = 'open'").fetchall()
    assert rows == [(bad,)]


def test_done_once_one_bad_unit_stops_only_itself(lonely: Database) -> None:
    """The others are done, the other duties are done, and it is said which one was not."""

    def bad(_tx: Transaction, _policy: Policy) -> int:
        raise InputRefused("bad", "One of them is bad.", "Look at it.")

    ran: list[str] = []

    def one(_tx: Transaction, unit: str) -> int:
        ran.append(unit)
        if unit == "bad":
            raise InputRefused("bad", "It is bad.", "Look at it.")
        return 1

    sets = Duty(
        name="sets", authority=Authority.GATE, cadence_s=1, description="a test", batch=bad, lag=lambda _: None,
        units=lambda _tx: ["good", "bad", "better"], one=one,
    )  # fmt: skip
    worker = WorkerLoop(lonely, [sets, duty("after", lambda _tx, _policy: 0)], name="once")
    assert worker.run_once() == {"sets": 0, "after": 0}
    assert (ran, worker.failed) == (["good", "bad", "better"], ["sets"])
    assert tally(lonely, "sets") == (2, 1)


def test_a_notification_wakes_a_duty(lonely: Database) -> None:
    """Long before its cadence: a moved clock, a resumed pause, a batch that was completed."""
    ran: list[int] = []

    def count(_tx: Transaction, _policy: Policy) -> int:
        ran.append(1)
        return 0

    with working(lonely, duty("sleepy", count)):
        until(lambda: len(ran) >= 4)  # at its start, when the listener began, and then it sleeps for longer and longer
        woken, before = counted("recoup_worker_wakes_total"), len(ran)
        with lonely.transaction(Authority.OPERATOR) as tx:
            tx.execute("update recoup.clock set at = at + interval '1 second'")
        until(lambda: counted("recoup_worker_wakes_total") > woken and len(ran) > before)


def test_many_notifications_are_few_looks(lonely: Database) -> None:
    """However many there are: a duty looks once for all those of a moment."""
    looks: list[float] = []

    def look(_tx: Transaction, _policy: Policy) -> int:
        looks.append(time.monotonic())
        return 0

    with working(lonely, duty("flooded", look)), contextlib.closing(connect(lonely.conninfo, lonely.settings)) as other:
        until(lambda: looks)
        time.sleep(0.3)
        begun, before = time.monotonic(), len(looks)
        while time.monotonic() < begun + 1:
            other.execute("select pg_notify('recoup_wake', 'flooded')")
        time.sleep(0.2)
        assert 2 <= len(looks) - before <= 2 * (time.monotonic() - begun) / loop.MIN_WAKE_S


def test_who_finds_nothing_to_do_wakes_nobody(lonely: Database) -> None:
    """Tasks that look for work and change nothing would otherwise wake each other for ever."""
    looked = "select count(*) from recoup.duty_tally t join recoup.worker w using (worker_id) where w.name = %s"
    with (
        working(lonely, *DUTIES) as worker,
        contextlib.closing(connect(lonely.conninfo, lonely.settings)) as other,
    ):
        with lonely.transaction(Authority.READER) as tx:
            until(lambda: tx.execute(looked, (worker.name,)).fetchone() == (len(DUTIES),))
        other.execute(f"listen {loop.CHANNEL}")
        assert list(other.notifies(timeout=3)) == []


def test_a_flood_of_notifications_is_not_listened_to(lonely: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a while; what is notified meanwhile is looked for at its end."""
    monkeypatch.setattr(loop, "FLOOD_PAUSE_S", 1.0)
    looks: list[float] = []

    def look(_tx: Transaction, _policy: Policy) -> int:
        looks.append(time.monotonic())
        return 0

    with working(lonely, duty("flooded", look)), contextlib.closing(connect(lonely.conninfo, lonely.settings)) as other:
        until(lambda: looks)
        time.sleep(0.3)
        flood = "select pg_notify('recoup_wake', n::text) from generate_series(1, %s) n"
        heard, before = counted("recoup_worker_wakes_total"), len(looks)
        for _ in range(20):
            other.execute(flood, (loop.FLOOD,))
        other.execute("select pg_notify('recoup_wake', 'flooded')")
        until(lambda: len(looks) > before)
        assert counted("recoup_worker_wakes_total") - heard < 20 * loop.FLOOD / 2


def test_a_paused_duty_does_nothing_until_it_is_resumed(lonely: Database) -> None:
    """By its own pause or the global one; a resumption wakes it."""
    ran: list[int] = []

    def count(_tx: Transaction, _policy: Policy) -> int:
        ran.append(1)
        return 0

    for scope, name in (("duty", "seal"), ("global", None)):
        with lonely.transaction(Authority.OPERATOR) as tx:
            assert pause(tx, scope, name, reason="look into it")
        looked = counted("recoup_duty_batches_total", duty="seal", outcome="paused")
        with working(lonely, duty("seal", count)):
            until(lambda: counted("recoup_duty_batches_total", duty="seal", outcome="paused") >= looked + 2)  # noqa: B023
            assert ran == []
            with lonely.transaction(Authority.OPERATOR) as tx:
                assert resume(tx, scope, name, reason="looked")
            until(lambda: ran)
        ran.clear()


def test_told_to_stop_it_finishes_the_batch_in_hand(lonely: Database) -> None:
    """What was begun is committed, and the worker says goodbye."""
    begun, go = threading.Event(), threading.Event()

    def slow(tx: Transaction, _policy: Policy) -> int:
        if begun.is_set():
            return 0
        begun.set()
        assert go.wait(PATIENCE_S)
        return len(gate.add_intakes(tx, [gate.NewIntake(company_name="in hand")]))

    with working(lonely, duty("slow", slow)) as worker:
        assert begun.wait(PATIENCE_S)
        worker.stop()
        go.set()
    with lonely.transaction(Authority.READER) as tx:
        assert tx.execute("select from cl.gate_zero_intake").rowcount == 1
        (found,) = register.workers(tx)
    assert (found.status, found.worker_id) == ("stopped", worker.worker_id)


def test_a_silent_worker_is_declared_lost_and_comes_back_as_another(lonely: Database) -> None:
    """Its incarnation is over; what it does from then on is another's."""
    (lost,) = (d for d in DUTIES if d.name == "lost-workers")
    with lonely.transaction(Authority.RUNNER) as tx:
        dead = register.register(tx, name="dead", duties=[])
    with working(lonely, duty("idle", lambda _tx, _policy: 0), lost) as worker:
        first = worker.worker_id
        with lonely.transaction(Authority.OPERATOR) as tx:
            tx.execute("update recoup.clock set at = at + interval '1 hour'")  # everybody was silent for an hour
        until(lambda: worker.worker_id != first)
        with lonely.transaction(Authority.READER) as tx:
            statuses = {w.worker_id: w.status for w in register.workers(tx)}
        assert (statuses[dead], statuses[first], statuses[worker.worker_id]) == ("lost", "lost", "running")


def test_a_worker_survives_its_connections(lonely: Database, server: embedded.Server, settings: Settings) -> None:
    """Every connection of it is cut; it goes on."""
    ran: list[int] = []

    def count(_tx: Transaction, _policy: Policy) -> int:
        ran.append(1)
        return 0

    name = str(psycopg.conninfo.conninfo_to_dict(lonely.conninfo)["dbname"])
    with working(lonely, duty("steady", count, cadence_s=0.05)):
        until(lambda: len(ran) > 2)
        with contextlib.closing(connect(server.uri("postgres", admin=True), settings)) as admin:
            cut = admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (name,))
            assert cut.rowcount > 1
        before = len(ran)
        until(lambda: len(ran) > before + 2)


def test_a_worker_stops_when_the_schema_is_not_its_own_any_more(
    lonely: Database, server: embedded.Server, settings: Settings
) -> None:
    """A program of another epoch migrated the database: an older worker must not go on writing."""
    name = str(psycopg.conninfo.conninfo_to_dict(lonely.conninfo)["dbname"])
    worker = WorkerLoop(lonely, [duty("idle", lambda _tx, _policy: 0)], name="old", releases=RELEASES)
    thread = threading.Thread(target=worker.run)
    thread.start()
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin:
        admin.execute("select pg_advisory_lock(7265666)")
        admin.execute("update recoup.domain set epoch = epoch + 1 where name = 'errors'")
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert worker.refusal is not None
    assert worker.refusal.code == "schema_newer"


def test_done_once_means_done_once(lonely: Database) -> None:
    """``run_once`` does what there is to do, counts it and ends."""
    with lonely.transaction(Authority.HUB) as tx:
        intakes = gate.add_intakes(tx, [gate.NewIntake(company_name="x")] * 3)
    with lonely.transaction(Authority.GATE) as tx:
        gate.open_attempts(tx, intakes, worker="w")
    with lonely.transaction(Authority.OPERATOR) as tx:
        tx.execute("update recoup.clock set at = at + interval '1 hour'")
    done = WorkerLoop(lonely, DUTIES, name="once").run_once()
    assert done["attempt-sweep"] == 3
    assert done["seal"] >= 6
    again = WorkerLoop(lonely, DUTIES, name="again").run_once()
    assert (again["attempt-sweep"], again["batch-freeze"]) == (0, 0)
    with lonely.transaction(Authority.READER) as tx:
        standings = {standing.duty: standing for standing in register.standings(tx, DUTIES)}
    assert standings["attempt-sweep"].done == 3
    assert standings["attempt-sweep"].last_worker == "again"
    assert standings["attempt-sweep"].lag_s is None


def test_lag_is_how_long_the_oldest_unit_waits(lonely: Database) -> None:
    """Seconds since a lease lapsed or a window closed; nothing waits, nothing lags."""
    with lonely.transaction(Authority.HUB) as tx:
        gate.create_batch(tx, "b")
        gate.complete_batch(tx, "b")
        intakes = gate.add_intakes(tx, [gate.NewIntake(company_name="x")])
    with lonely.transaction(Authority.GATE) as tx:
        gate.open_attempts(tx, intakes, worker="w")
        assert gate.sweep_lag(tx) is None
        assert gate.freeze_lag(tx) is None
    with lonely.transaction(Authority.OPERATOR) as tx:
        tx.execute("update recoup.clock set at = at + interval '14 days 10 seconds'")
    with lonely.transaction(Authority.READER) as tx:
        lags = {standing.duty: standing.lag_s for standing in register.standings(tx, DUTIES)}
    assert lags["batch-freeze"] == 10
    assert lags["attempt-sweep"] == timedelta(days=14, seconds=10, minutes=-5).total_seconds()


def test_every_duty_has_an_authority_that_may_tally_it(admin: Transaction) -> None:
    """Each counts in the transaction of its batch, under its own authority."""
    for known in DUTIES:
        row = admin.execute(
            "select has_table_privilege(%s, 'recoup.duty_tally', 'insert, update')", (known.authority.role,)
        ).fetchone()
        assert row == (True,), known.name


def test_an_unknown_duty_cannot_be_paused(scratch: Transaction) -> None:
    """A misspelt pause would stop nothing."""
    with acting(scratch, Authority.OPERATOR), pytest.raises(psycopg.Error) as caught, scratch.transaction():
        pause(scratch, "duty", "seals", reason="x")
    refusal = from_database(caught.value)
    assert refusal is not None
    assert refusal.code == "pause_scope"
    assert "seal" in refusal.next_step


def test_only_a_runner_registers(scratch: Transaction) -> None:
    """And only orphan recovery declares a worker lost."""
    with acting(scratch, Authority.RUNNER):
        worker: UUID = register.register(scratch, name="w", duties=["seal"])
        assert register.beat(scratch, worker)
    new_intake(scratch)
    with acting(scratch, Authority.RUNNER), pytest.raises(psycopg.Error) as caught, scratch.transaction():
        scratch.execute(
            "update recoup.worker set status = 'lost', ended_at = recoup.now() where worker_id = %s", (worker,)
        )
    assert caught.value.sqlstate == "RC002"
