"""The way into the archive: errors that are over and errors that have expired, moved in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from recoup.database.queries import load
from recoup.errors.archive import sweep
from recoup.lifecycles.declaration import Authority
from recoup_bench import error_ground
from recoup_bench.ground import ACTOR, Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import OURS, RAW, Size, Stopwatch, Trial, Workload

Q = load("recoup_bench", "error_archive.sql")
K = 1000
TABLE = "outreach.dol_errors"  # the first of the policy, so that a sweep finds enough in it and looks no further


class Archive(Trial):
    """Both sides empty copies of the same table, of which half is resolved and half has expired."""

    def __init__(self, ground: Ground, size: Size) -> None:
        self.ground, self.size = ground, size
        error_ground.twin_tables(ground)
        error_ground.make_months(ground, TABLE)

    def prepare(self) -> None:
        error_ground.fill(self.ground, Q["fill"], {"table": TABLE, "rows": self.size.batches * K})
        error_ground.tidy(self.ground)

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours, RAW: self.raw}

    def ours(self) -> Timed:
        gone = 0
        with Stopwatch() as watch:
            for _ in range(self.size.batches):
                with self.ground.ours.transaction(Authority.ARCHIVER) as tx:
                    gone += sweep(tx, limit=K).gone
        return Timed(units=gone, seconds=watch.seconds)

    def raw(self) -> Timed:
        gone, given = 0, {"table": TABLE, "limit": K, "actor": ACTOR}
        with Stopwatch() as watch:
            for _ in range(self.size.batches):
                gone += (self.ground.raw.execute(Q["archive"], given).fetchone() or (0,))[0]
        return Timed(units=gone, seconds=watch.seconds)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        return error_ground.tallies(self.ground)


WORKLOADS = (
    Workload(
        name=f"archive-{K}",
        says=f"archive errors, {K} a transaction, half of them resolved and half expired",
        unit="errors",
        begin=Archive,
        full=Size(batches=10, rounds=25),
        quick=Size(batches=4, rounds=5, warm_ups=1),
        goal=0.5,
    ),
)
