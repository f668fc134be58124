"""Gate Zero under two hands at once: exactly one outcome, and every history lawful.

Each race is run many times with both sides let go at the same moment, and the interleavings that matter are also
spelled out: one side holds its transaction open until the other is seen waiting for it, or done.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from product import LIFECYCLES, MIGRATIONS, check_schema, migrate
from recoup import gate
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.gate import Attempt, Finished, Frozen
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.refusals import LawRefused
from recoup.schema.migrate import Migrated
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
from desk import DAY, FAILURE, LEASE, TICK, WINDOW, Desk, outcome

sys.path.insert(0, str(Path(__file__).parent))
from racing import PATIENCE_S, kinds, together

ROUNDS = 30


@pytest.fixture(scope="module")
def shared_desk(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Desk]:
    """One database for this file, and connections for everybody."""
    with Database(server.uri(new_database()), dataclasses.replace(settings, pool_max=16)) as database:
        yield Desk(database)


@pytest.fixture
def desk(shared_desk: Desk) -> Desk:
    """No attempt of earlier tests is open or expired, and no batch is to be frozen."""
    shared_desk.advance(40 * DAY)
    while shared_desk.sweep() or shared_desk.freeze().exhausted:
        pass
    return shared_desk


@contextlib.contextmanager
def held(desk: Desk, authority: Authority) -> Iterator[Transaction]:
    """A transaction of somebody who takes his time. Commits at the end of the block."""
    with psycopg.connect(desk.db.conninfo) as tx:
        tx.execute("select set_config('role', %s, true)", (authority.role,))
        yield tx


def waits_for(desk: Desk, holder: Transaction, work: Future[Any]) -> None:
    """Return once somebody waits for the holder's transaction. Fails when the work ends without having waited."""
    deadline = time.monotonic() + PATIENCE_S
    while not desk.rows("select from pg_stat_activity where %s = any(pg_blocking_pids(pid))", holder.info.backend_pid):
        assert not work.done(), work.result()
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


# Opening ------------------------------------------------------------------------------------------------------------


def test_the_second_worker_waits_and_is_refused(desk: Desk, aside: ThreadPoolExecutor) -> None:
    """The first has opened and not committed yet. Rolled back, the second opens; committed, it is refused."""
    for commits in (False, True):
        intake = desk.intake()
        with held(desk, Authority.GATE) as first:
            gate.open_attempts(first, [intake], worker="first")
            second = aside.submit(desk.open, intake)
            waits_for(desk, first, second)
            if not commits:
                first.rollback()
                assert second.result(PATIENCE_S).attempt_number == 1
        if commits:
            with pytest.raises(LawRefused):
                second.result(PATIENCE_S)
        assert desk.word(intake) == "S"


# Ending -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", [None, FAILURE])
def test_a_finish_against_the_sweep_at_the_leases_end(desk: Desk, reason: ReasonCode | None) -> None:
    """One of them ends the attempt. The worker that lost finds its result stored and not applied."""
    told: list[str] = []
    for number in range(ROUNDS):
        retry = number % 2 == 1
        intake = desk.failed() if retry else desk.intake()
        if retry:
            desk.wait(intake)
        attempt = desk.open(intake)
        desk.advance(LEASE)
        finished, swept = together(partial(desk.finish, attempt, reason), desk.sweep)
        assert isinstance(finished, Finished)
        # What is late is late though the sweep passed it over while it was reported; the next one comes by.
        swept = swept or desk.sweep()
        assert (finished.status == "late") == (swept == [attempt.attempt_id])
        late = desk.rows("select result from recoup.late_result where unit_id = %s::text", attempt.attempt_id)
        assert len(late) == (1 if finished.status == "late" else 0)
        expected = "F" if finished.status == "late" or reason else "PAN" if retry else "PA"
        assert desk.word(intake) == ("SFR" if retry else "S") + expected
        told.append(finished.status)
    assert set(told) <= {"passed", "failed", "late"}


def test_a_finish_that_waits_for_the_sweep_is_late(desk: Desk, aside: ThreadPoolExecutor) -> None:
    """The sweep has declared the worker dead and not committed yet."""
    intake = desk.intake()
    attempt = desk.open(intake)
    desk.advance(LEASE)
    with held(desk, Authority.GATE) as sweeper:
        assert attempt.attempt_id in gate.sweep_crashed(sweeper)
        finishing = aside.submit(desk.finish, attempt, None)
        waits_for(desk, sweeper, finishing)
    assert finishing.result(PATIENCE_S).status == "late"
    assert desk.word(intake) == "SF"


def test_the_sweep_does_not_wait_for_a_finish(desk: Desk) -> None:
    """A worker that is writing its result at this moment is alive: it is passed over, and the sweep goes on."""
    intake, other = desk.intakes(2)
    attempt, dead = desk.open_all([intake, other])
    with held(desk, Authority.GATE) as worker:
        (finished,) = gate.finish_attempts(worker, [outcome(attempt, None)])
        assert finished.status == "passed"
        desk.advance(LEASE)
        assert desk.sweep() == [dead.attempt_id]
    assert desk.sweep() == []
    assert desk.lawful(intake, other) == ["SPA", "SF"]


# Freeze and pause ---------------------------------------------------------------------------------------------------


def due_at_the_windows_end(desk: Desk) -> tuple[str, UUID]:
    """A batch whose window closes at the next tick, and an intake of it that may be tried until then."""
    batch = desk.batch(completed=True)
    intake = desk.failed(batch_id=batch)
    desk.advance(WINDOW - TICK)
    return batch, intake


def test_a_freeze_passes_over_a_retry_that_is_being_opened(desk: Desk) -> None:
    """The attempt opened before the window closed and commits after the freeze: it may still be saved."""
    batch, intake = due_at_the_windows_end(desk)
    with held(desk, Authority.GATE) as worker:
        (attempt,) = gate.open_attempts(worker, [intake], worker="w")
        desk.advance(TICK)
        assert desk.freeze() == Frozen(batches=(batch,), exhausted=())
    assert desk.freeze() == Frozen(batches=(), exhausted=())
    assert desk.word(intake) == "SFR"
    desk.finish(attempt, None)
    assert desk.word(intake) == "SFRPAN"


@pytest.mark.parametrize("by_hand", [False, True], ids=["library", "plain SQL"])
def test_a_retry_that_waits_for_the_freeze_is_refused(desk: Desk, aside: ThreadPoolExecutor, by_hand: bool) -> None:
    """The freeze has ended the recovery and not committed yet; the rules look again after they have waited."""
    _, intake = due_at_the_windows_end(desk)

    def retry() -> None:
        with desk.db.transaction(Authority.GATE) as tx:
            tx.execute(
                "insert into cl.gate_zero_attempt (intake_id, batch_id, attempt_number, worker, opened_at, lease_until)"
                " select intake_id, batch_id, 2, 'w', recoup.now(), recoup.now() + interval '1 hour'"
                " from cl.gate_zero_intake where intake_id = %s",
                (intake,),
            )

    desk.advance(TICK)
    with held(desk, Authority.GATE) as freezer:
        assert gate.freeze(freezer).exhausted == (intake,)
        retrying = aside.submit(retry if by_hand else partial(desk.open, intake))
        waits_for(desk, freezer, retrying)
    with pytest.raises(LawRefused) as refused:
        retrying.result(PATIENCE_S)
    assert refused.value.code == "attempts_spent"
    assert desk.word(intake) == "SFW"


def test_exhausting_by_plain_sql_waits_for_the_retry_and_is_refused(desk: Desk, aside: ThreadPoolExecutor) -> None:
    """A session that ends a recovery reads its attempts after the last of them has committed."""
    _, intake = due_at_the_windows_end(desk)

    def exhaust() -> None:
        with desk.db.transaction(Authority.GATE) as tx:
            tx.execute("update cl.gate_zero_recovery set status = 'EXHAUSTED' where intake_id = %s", (intake,))

    with held(desk, Authority.GATE) as worker:
        gate.open_attempts(worker, [intake], worker="w")
        desk.advance(TICK)
        exhausting = aside.submit(exhaust)
        waits_for(desk, worker, exhausting)
    with pytest.raises(LawRefused) as refused:
        exhausting.result(PATIENCE_S)
    assert refused.value.code == "attempt_open"
    assert desk.word(intake) == "SFR"


def test_two_freezes_end_each_recovery_once(desk: Desk) -> None:
    """Two workers freeze at the same time: between them everything, nothing twice, nobody fails."""
    for _ in range(5):
        batches = [desk.batch(completed=True) for _ in range(3)]
        intakes = [intake for batch in batches for intake in desk.intakes(10, batch_id=batch)]
        desk.report(*(outcome(attempt) for attempt in desk.open_all(intakes)))
        desk.advance(WINDOW)
        both = together(desk.freeze, desk.freeze)
        left = desk.freeze()
        ended = [intake for frozen in (*both, left) for intake in frozen.exhausted]
        assert sorted(ended) == sorted(intakes)
        assert sorted(batch for frozen in (*both, left) for batch in frozen.batches) == sorted(batches)
        assert set(desk.lawful(*intakes)) == {"SFW"}


def test_two_pauses_are_one(desk: Desk) -> None:
    """One of two operators paused it, and the log says it once."""
    for _ in range(10):
        batch = desk.batch()
        done = together(partial(desk.pause, batch, reason="one"), partial(desk.pause, batch, reason="two"))
        assert sorted(done) == [False, True]
        reason = ("one", "two")[done.index(True)]
        assert desk.rows("select reason from recoup.pause_log where scope_id = %s", batch) == [(reason,)]


# Sets that overlap --------------------------------------------------------------------------------------------------


def test_sets_opened_in_opposite_order_do_not_deadlock(desk: Desk, seed: int, again: int) -> None:
    """Eight workers, overlapping sets in any order: each set opens as a whole or is refused as a whole."""
    rng = random.Random(f"opened {seed} {again}")
    opened_sets = 0
    for _ in range(12):
        batch = desk.batch()
        intakes = desk.intakes(48, batch_id=batch)
        for retry in (False, True):
            if retry:
                desk.advance(DAY)
            sets = [rng.sample(intakes, 8) for _ in range(8)]
            sets[1] = sets[0][::-1]
            results = together(*(partial(desk.open_all, some) for some in sets))
            opened, refused = kinds(results)
            opened_sets += len(opened)
            taken = [attempt.intake_id for attempts in opened for attempt in attempts]
            assert len(taken) == len(set(taken))
            assert len(opened) >= 1
            assert len(opened) + len(refused) == 8
            words = dict(zip(intakes, desk.lawful(*intakes), strict=True))
            assert {intake for intake, word in words.items() if word.endswith(("S", "R"))} == set(taken)
            desk.report(*(outcome(attempt) for attempts in opened for attempt in attempts))
            rest = [intake for intake in intakes if intake not in taken]
            if not retry and rest:
                desk.report(*(outcome(attempt) for attempt in desk.open_all(rest)))
        desk.lawful(*intakes)
    assert opened_sets > 24


def test_sets_ended_in_opposite_order_do_not_deadlock(desk: Desk, seed: int, again: int) -> None:
    """Eight workers hold the same tokens and report overlapping sets, while others sweep, freeze and pause."""
    rng = random.Random(f"ended {seed} {again}")
    for number in range(12):
        batch = desk.batch(completed=True)
        intakes = desk.intakes(40, batch_id=batch)
        attempts = desk.open_all(intakes, lease=LEASE if number % 2 else 30 * DAY)
        desk.advance(WINDOW)

        def reports(some: list[Attempt], passed: bool) -> list[Finished]:
            return desk.report(*(outcome(attempt, None if passed else FAILURE) for attempt in some))

        sets = [rng.sample(attempts, 20) for _ in range(7)]
        sets.append(sets[0][::-1])
        results = together(
            *(partial(reports, some, place % 3 == 0) for place, some in enumerate(sets)),
            desk.sweep,
            desk.freeze,
            partial(desk.pause, batch),
        )
        finished = [f for reported in results[:8] for f in reported]
        swept = set(results[8]) & {attempt.attempt_id for attempt in attempts}
        # A report of the stored outcome gets the same answer; another one is late.
        applied = {f.attempt_id: f.status for f in finished if f.status != "late"}
        assert all(f.status in ("late", applied.get(f.attempt_id)) for f in finished)
        assert not set(applied) & swept
        if number % 2 == 0:
            assert swept == set()
            assert set(applied) == {attempt.attempt_id for some in sets for attempt in some}
        assert set(desk.lawful(*intakes)) <= {"S", "SPA", "SFW"}
        desk.advance(30 * DAY)
        while desk.sweep():
            pass
        assert set(desk.lawful(*intakes)) <= {"SPA", "SFW"}


# Migrations ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("round_", range(2))
def test_migrations_at_once_make_one_schema(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, round_: int
) -> None:
    """One of them does all of it, the others wait and find nothing to do."""
    name = new_database(migrated=False)

    def bring_up() -> Migrated:
        with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
            return migrate(connection, login=server.app)

    results: list[Migrated] = together(*[bring_up] * (2 + round_))
    nothing = Migrated(applied=(), routines=(), domains=(), kept=(), policy=None, made=())
    (did,) = [result for result in results if result != nothing]
    assert did.applied == tuple(file.path.rpartition("/")[2] for file in MIGRATIONS)
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
        check_schema(connection)
        assert connection.execute("select count(*) from recoup.lifecycle").fetchone() == (len(LIFECYCLES),)
        assert connection.execute("select count(*) from recoup.clock").fetchone() == (1,)
    with Database(server.uri(name), settings) as database:
        desk = Desk(database)
        intake = desk.intake()
        desk.finish(desk.open(intake, lease=timedelta(hours=1)), None)
        assert desk.word(intake) == "SPA"
