"""Attempts opened and finished in batches, half of them failing; and attempts only opened, which is event append."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

from recoup import gate
from recoup.database.queries import load
from recoup.gate import Attempt, Failed, NewIntake, Passed
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup_bench.ground import ACTOR, Ground
from recoup_bench.measure import Timed
from recoup_bench.tally import tally
from recoup_bench.workload import OURS, RAW, Size, Stopwatch, Trial, Workload

Q = load("recoup_bench", "moves.sql")
T = TypeVar("T")
WORKER = "bench"
REASON = ReasonCode.STATE_MISMATCH
ADDED_MOST = 10_000  # intakes added in one statement


class Moves(Trial):
    """Both sides work on copies of the same intakes, of one import batch a round."""

    def __init__(self, ground: Ground, size: Size, *, k: int, finish: bool = True) -> None:
        self.ground, self.size, self.k, self.finish = ground, size, k, finish
        self.round = 0
        self.waiting: list[UUID] = []
        ground.twin_tables()

    def prepare(self) -> None:
        self.round += 1
        batch_id = f"round-{self.round}"
        companies = [
            NewIntake(company_name=f"Company {n}", company_domain=f"company-{n}.example", state="TX")
            for n in range(self.size.batches * self.k)
        ]
        with self.ground.ours.transaction(Authority.HUB) as tx:
            gate.create_batch(tx, batch_id)
            self.waiting = [
                intake
                for some in sliced(companies, ADDED_MOST)
                for intake in gate.add_intakes(tx, some, batch_id=batch_id)
            ]
        for table in ("gate_zero_batch", "gate_zero_intake"):
            self.ground.copy_to_raw(table, batch_id=batch_id)
        self.ground.tidy()

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours, RAW: self.raw}

    def ours(self) -> Timed:
        db = self.ground.ours
        with Stopwatch() as watch:
            for intakes in sliced(self.waiting, self.k):
                with db.transaction(Authority.GATE) as tx:
                    attempts = gate.open_attempts(tx, intakes, worker=WORKER)
                if self.finish:
                    with db.transaction(Authority.GATE) as tx:
                        gate.finish_attempts(tx, [outcome(place, attempt) for place, attempt in enumerate(attempts)])
        return Timed(units=len(self.waiting), seconds=watch.seconds)

    def raw(self) -> Timed:
        raw = self.ground.raw
        with Stopwatch() as watch:
            for intakes in sliced(self.waiting, self.k):
                opened = raw.execute(Q["open"], {"intakes": intakes, "worker": WORKER, "actor": ACTOR}).fetchall()
                if self.finish:
                    given = {
                        "attempts": [row[0] for row in opened],
                        "tokens": [row[3] for row in opened],
                        "reasons": [REASON.value if place % 2 else None for place in range(len(opened))],
                        "actor": ACTOR,
                    }
                    raw.execute(Q["finish"], given).fetchall()
        return Timed(units=len(self.waiting), seconds=watch.seconds)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        return {OURS: tally(self.ground.admin, "cl"), RAW: tally(self.ground.admin, "raw")}


def outcome(place: int, attempt: Attempt) -> Passed | Failed:
    """Every second one fails."""
    if place % 2:
        return Failed(attempt_id=attempt.attempt_id, token=attempt.token, reason_code=REASON)
    return Passed(attempt_id=attempt.attempt_id, token=attempt.token)


def sliced(rows: Sequence[T], size: int) -> Iterator[list[T]]:
    """The rows in slices of at most so many."""
    for start in range(0, len(rows), size):
        yield list(rows[start : start + size])


WORKLOADS = (
    *(
        Workload(
            name=f"moves-{k}",
            says=f"open and finish attempts, {k} a transaction, half of them failing; history, intakes and recoveries",
            unit="attempts",
            begin=partial(Moves, k=k),
            full=Size(batches=batches, rounds=25),
            quick=Size(batches=batches, rounds=5, warm_ups=1),
            goal=goal,
        )
        for k, batches, goal in ((1, 100, None), (100, 10, 0.6), (1000, 2, 0.6))
    ),
    Workload(
        name="append-1000",
        says="open attempts, 1000 a transaction: one event each, through guard and recorder",
        unit="events",
        begin=partial(Moves, k=1000, finish=False),
        full=Size(batches=4, rounds=25),
        quick=Size(batches=4, rounds=5, warm_ups=1),
    ),
)
