"""Claims of due errors while a million others wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from recoup.errors.retrying import Succeeded, claim, finish
from recoup.lifecycles.declaration import Authority
from recoup_bench import error_ground
from recoup_bench.error_retries import WORKER, K, Q, never, raw_claim, raw_finish
from recoup_bench.ground import Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import OURS, RAW, Size, Stopwatch, Trial, Workload


class ErrorClaims(Trial):
    """What a claim took succeeds before the next one, untimed: each finds its rows at the front, as in daily work."""

    def __init__(self, ground: Ground, size: Size) -> None:
        self.ground, self.size = ground, size
        due = (size.rounds + size.warm_ups) * size.batches * K
        error_ground.twin_tables(ground)
        error_ground.fill(ground, Q["fill_waiting"], {"rows": size.standing + due, "due": due})
        error_ground.tidy(ground)

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours, RAW: self.raw}

    def ours(self) -> Timed:
        db, watch, units = self.ground.ours, Stopwatch(), 0
        for _ in range(self.size.batches):
            with watch, db.transaction(Authority.ERROR_WORKER) as tx:
                claimed = claim(tx, limit=K, worker=WORKER)
            units += len(claimed)
            outcomes = [Succeeded(error_table=c.error_table, error_id=c.error_id, token=c.token) for c in claimed]
            with db.transaction(Authority.ERROR_WORKER) as tx:
                finish(tx, outcomes)
        return Timed(units=units, seconds=watch.seconds)

    def raw(self) -> Timed:
        watch, units = Stopwatch(), 0
        for _ in range(self.size.batches):
            with watch:
                claimed = raw_claim(self.ground, K)
            units += raw_finish(self.ground, claimed, failing=never)
        return Timed(units=units, seconds=watch.seconds)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        return error_ground.tallies(self.ground)


WORKLOADS = (
    Workload(
        name="claim-errors-1m",
        says=f"claim due errors, {K} a transaction, while 1,000,000 others wait",
        unit="claims",
        begin=ErrorClaims,
        full=Size(batches=10, standing=1_000_000, rounds=25),
        quick=Size(batches=10, standing=50_000, rounds=5, warm_ups=1),
        goal=0.85,
    ),
)
