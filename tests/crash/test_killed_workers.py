"""Workers killed at every point of an attempt: nothing half done, nothing lost, nothing twice.

The worker is a process of its own that uses the library. It says where it is and waits; then it is killed there.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from recoup.database import embedded
from recoup.database.connection import Database
from recoup.gate import Attempt, Frozen
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
from desk import LEASE, WINDOW, Desk, outcome

PATIENCE_S = 120

WORKER = """
import json, os, sys
from pathlib import Path
from uuid import UUID
from recoup import gate
from recoup.database.connection import Database
from recoup.gate import Failed, Passed
from recoup.reasons import ReasonCode
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings

task, *intakes = sys.argv[1:]
told = []

def reached(point):
    print(json.dumps({"point": point, "told": told}), flush=True)
    sys.stdin.readline()  # continues at a message; most often it is killed here

with Database(os.environ["TEST_CONNINFO"], Settings(home=Path("nowhere"), actor="child")) as db:
    if task == "verify":
        with db.transaction(Authority.GATE) as tx:
            reached("before opening")
            attempts = gate.open_attempts(tx, [UUID(i) for i in intakes], worker="child")
            reached("opening")
        told = [[str(a.attempt_id), str(a.token)] for a in attempts]
        reached("opened")
        outcomes = [
            Failed(attempt_id=a.attempt_id, token=a.token, reason_code=ReasonCode.NO_LINKEDIN_COMPANY) if place % 2
            else Passed(attempt_id=a.attempt_id, token=a.token)
            for place, a in enumerate(attempts)
        ]
        with db.transaction(Authority.GATE) as tx:
            reached("before finishing")
            gate.finish_attempts(tx, outcomes)
            reached("finishing")
        reached("finished")
    elif task == "sweep":
        with db.transaction(Authority.GATE) as tx:
            told = [str(attempt) for attempt in gate.sweep_crashed(tx)]
            reached("sweeping")
    elif task == "freeze":
        with db.transaction(Authority.GATE) as tx:
            told = [str(intake) for intake in gate.freeze(tx).exhausted]
            reached("freezing")
"""


@dataclass(frozen=True)
class Child:
    """A worker process."""

    process: subprocess.Popen[str]

    def comes_to(self, point: str) -> list[list[str]]:
        """Let it go on until it says that it is there. Returns what it has to tell."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            assert line, f"the worker ended before it came to {point!r}"
            said = json.loads(line)
            if said["point"] == point:
                told: list[list[str]] = said["told"]
                return told
            self.go_on()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait(PATIENCE_S) == -signal.SIGKILL


@pytest.fixture(scope="module")
def shared_desk(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Desk]:
    with Database(server.uri(new_database()), settings) as database:
        yield Desk(database)


@pytest.fixture
def desk(shared_desk: Desk) -> Desk:
    """No attempt of earlier tests is open or expired, and no batch is to be frozen."""
    shared_desk.advance(2 * WINDOW)
    while shared_desk.sweep() or shared_desk.freeze().exhausted:
        pass
    return shared_desk


@pytest.fixture
def start(desk: Desk) -> Iterator[Callable[..., Child]]:
    """Starts workers, and ends those that a failed test left behind."""
    with contextlib.ExitStack() as stack:

        def make(task: str, *intakes: UUID) -> Child:
            process = subprocess.Popen(
                [sys.executable, "-c", WORKER, task, *map(str, intakes)],
                env={**os.environ, "TEST_CONNINFO": desk.db.conninfo},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            stack.callback(end, process)
            return Child(process)

        def end(process: subprocess.Popen[str]) -> None:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=PATIENCE_S)

        yield make


def let_go(desk: Desk, intakes: Sequence[UUID]) -> None:
    """Wait, by locking the intakes, until the server has rolled the dead worker's transaction back."""
    with desk.db.transaction(Authority.GATE) as tx:
        tx.execute(
            "select from cl.gate_zero_intake where intake_id = any(%s) order by intake_id for no key update",
            (list(intakes),),
        )


def four(desk: Desk) -> list[UUID]:
    """Two to be tried for the first time, one for the second, one for the third. The worker passes every other one."""
    twice = desk.failed(times=2)
    once = desk.failed()
    desk.wait(twice)
    return [*desk.intakes(2), once, twice]


BEFORE = ["", "", "SF", "SFRF"]
OPENED = ["S", "S", "SFR", "SFRFR"]
FINISHED = ["SPA", "SF", "SFRPAN", "SFRFRFM"]
SWEPT = ["SF", "SF", "SFRF", "SFRFRFM"]


def everything(desk: Desk, intakes: Sequence[UUID]) -> list[object]:
    """All rows that belong to these intakes."""
    return [
        desk.rows(f"select * from {table} where {column} = any(%s) order by 1", list(intakes))
        for table, column in (
            ("cl.gate_zero_intake", "intake_id"),
            ("cl.gate_zero_intake", "reentered_from"),
            ("cl.gate_zero_attempt", "intake_id"),
            ("cl.gate_zero_recovery", "intake_id"),
            ("cl.gate_zero_air", "entity_id"),
        )
    ]


# Before the opening commits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", ["before opening", "opening"])
def test_killed_before_the_opening_commits(desk: Desk, start: Callable[..., Child], point: str) -> None:
    """Nothing happened: no attempt, no event, no lease to wait for. Another worker begins at once."""
    intakes = four(desk)
    before = everything(desk, intakes)
    child = start("verify", *intakes)
    child.comes_to(point)
    child.kill()
    let_go(desk, intakes)
    assert everything(desk, intakes) == before
    assert desk.lawful(*intakes) == BEFORE
    desk.advance(LEASE)
    assert desk.sweep() == []
    attempts = desk.open_all(intakes)
    assert [attempt.attempt_number for attempt in attempts] == [1, 1, 2, 3]


def test_killed_while_it_waits_for_a_lock(desk: Desk, start: Callable[..., Child]) -> None:
    """The server finishes the statement of a client that is no more, and does not commit it."""
    intakes = four(desk)
    child = start("verify", *intakes)
    child.comes_to("before opening")
    with psycopg.connect(desk.db.conninfo) as holder:
        holder.execute("set role recoup_gate")  # the last in id order: the worker has the others already
        holder.execute("select from cl.gate_zero_intake where intake_id = %s for no key update", (max(intakes),))
        child.go_on()
        waits_for(desk, holder)
        child.kill()
    let_go(desk, intakes)
    assert desk.lawful(*intakes) == BEFORE
    assert len(desk.open_all(intakes)) == 4


def waits_for(desk: Desk, holder: psycopg.Connection[tuple[object, ...]]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not desk.rows("select from pg_stat_activity where %s = any(pg_blocking_pids(pid))", holder.info.backend_pid):
        assert time.monotonic() < deadline
        time.sleep(0.005)


# Between the two transactions ---------------------------------------------------------------------------------------


def test_killed_while_it_verifies(desk: Desk, start: Callable[..., Child]) -> None:
    """ATTEMPT is stored, its lease expired: FAIL with TIMEOUT, counted; its late result is stored and not applied."""
    intakes = four(desk)
    child = start("verify", *intakes)
    told = child.comes_to("opened")
    child.kill()
    assert desk.lawful(*intakes) == OPENED
    assert desk.sweep() == []
    with pytest.raises(LawRefused):
        desk.open_all(intakes)

    desk.advance(LEASE)
    assert sorted(map(str, desk.sweep())) == sorted(attempt for attempt, _ in told)
    assert desk.sweep() == []
    assert desk.lawful(*intakes) == SWEPT
    assert desk.rows(
        "select distinct reason_code from cl.gate_zero_air where event_type = 'FAIL' and attempt_id = any(%s::uuid[])",
        [attempt for attempt, _ in told],
    ) == [("TIMEOUT",)]

    swept = everything(desk, intakes)
    late = [
        Attempt(attempt_id=UUID(attempt), intake_id=intake, attempt_number=1, token=UUID(token), lease_until=desk.now())
        for intake, (attempt, token) in zip(intakes, told, strict=True)
    ]
    assert {finished.status for finished in desk.report(*(outcome(attempt, None) for attempt in late))} == {"late"}
    assert everything(desk, intakes) == swept


def test_an_intake_that_kills_its_workers_is_exhausted(desk: Desk, start: Callable[..., Child]) -> None:
    """Three workers die over it, each after the other's wait; there is no fourth."""
    intake = desk.intake()
    for number in (1, 2, 3):
        child = start("verify", intake)
        child.comes_to("opened")
        child.kill()
        desk.advance(LEASE)
        assert len(desk.sweep()) == 1
        assert desk.word(intake) == {1: "SF", 2: "SFRF", 3: "SFRFRFM"}[number]
        if number < 3:
            desk.wait(intake)
    assert desk.rows("select status from cl.gate_zero_attempt where intake_id = %s", intake) == [("crashed",)] * 3


# Inside the outcome -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", ["before finishing", "finishing"])
def test_killed_inside_the_outcome(desk: Desk, start: Callable[..., Child], point: str) -> None:
    """Neither PASS nor AUTH nor a new intake remains of it; the attempts are open, then expired, and swept."""
    intakes = four(desk)
    child = start("verify", *intakes)
    child.comes_to("opened")
    opened = everything(desk, intakes)
    child.go_on()
    told = child.comes_to(point)
    child.kill()
    let_go(desk, intakes)
    assert everything(desk, intakes) == opened
    assert desk.lawful(*intakes) == OPENED
    desk.advance(LEASE)
    assert sorted(map(str, desk.sweep())) == sorted(attempt for attempt, _ in told)
    assert desk.lawful(*intakes) == SWEPT
    assert desk.rows("select from cl.gate_zero_intake where reentered_from = any(%s)", intakes) == []


def test_killed_while_its_outcome_waits_for_a_lock(desk: Desk, start: Callable[..., Child]) -> None:
    """The statement may go through in the server; without its commit it has not happened."""
    intakes = four(desk)
    child = start("verify", *intakes)
    child.comes_to("before finishing")
    with psycopg.connect(desk.db.conninfo) as holder:
        holder.execute("set role recoup_gate")  # the last in id order: the worker has the others already
        holder.execute("select from cl.gate_zero_intake where intake_id = %s for no key update", (max(intakes),))
        child.go_on()
        waits_for(desk, holder)
        child.kill()
    let_go(desk, intakes)
    assert desk.lawful(*intakes) == OPENED
    desk.advance(LEASE)
    assert len(desk.sweep()) == 4
    assert desk.lawful(*intakes) == SWEPT


# After the outcome --------------------------------------------------------------------------------------------------


def test_killed_after_the_outcome_committed(desk: Desk, start: Callable[..., Child]) -> None:
    """All of it is stored, and nothing is done again."""
    intakes = four(desk)
    child = start("verify", *intakes)
    child.comes_to("finished")
    child.kill()
    assert desk.lawful(*intakes) == FINISHED
    stands = everything(desk, intakes)
    desk.advance(LEASE)
    assert desk.sweep() == []
    assert everything(desk, intakes) == stands
    ((new,),) = desk.rows("select count(*) from cl.gate_zero_intake where reentered_from = any(%s)", intakes)
    assert new == 1
    ((late,),) = desk.rows(
        "select count(*) from recoup.late_result where unit_id in"
        " (select attempt_id::text from cl.gate_zero_attempt where intake_id = any(%s))",
        intakes,
    )
    assert late == 0


# Those who clean up -------------------------------------------------------------------------------------------------


def test_a_sweeper_killed_before_it_commits_swept_nothing(desk: Desk, start: Callable[..., Child]) -> None:
    """The next one finds the same attempts, and each counts once."""
    intakes = four(desk)
    attempts = desk.open_all(intakes)
    desk.advance(LEASE)
    child = start("sweep")
    assert len(child.comes_to("sweeping")) == 4
    assert desk.sweep() == []  # passed over while the other one has them
    child.kill()
    let_go(desk, intakes)
    assert desk.lawful(*intakes) == OPENED
    assert set(desk.sweep()) == {attempt.attempt_id for attempt in attempts}
    assert desk.lawful(*intakes) == SWEPT


def test_a_freezer_killed_before_it_commits_froze_nothing(desk: Desk, start: Callable[..., Child]) -> None:
    """Neither the batch nor any of its recoveries; the next one does both."""
    batch = desk.batch(completed=True)
    intakes = desk.intakes(3, batch_id=batch)
    desk.report(*(outcome(attempt) for attempt in desk.open_all(intakes)))
    desk.advance(WINDOW)
    child = start("freeze")
    assert len(child.comes_to("freezing")) == 3
    child.kill()
    let_go(desk, intakes)
    assert desk.lawful(*intakes) == ["SF"] * 3
    assert desk.rows("select status from cl.gate_zero_batch where batch_id = %s", batch) == [("COMPLETED",)]
    frozen = desk.freeze()
    assert frozen.batches == (batch,)
    assert sorted(frozen.exhausted) == sorted(intakes)
    assert desk.lawful(*intakes) == ["SFW"] * 3
    assert desk.freeze() == Frozen(batches=(), exhausted=())
