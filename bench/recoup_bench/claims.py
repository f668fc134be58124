"""Claims of due retries while a million others wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from recoup import gate
from recoup.database.queries import load
from recoup.gate import Failed
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup_bench.ground import ACTOR, TABLES, Ground
from recoup_bench.measure import Timed
from recoup_bench.tally import tally
from recoup_bench.workload import OURS, RAW, Size, Stopwatch, Trial, Workload

Q = load("recoup_bench", "claims.sql")
WORKER = "bench"
IMPORTS = 100  # batches that the waiting intakes came in with


class Claims(Trial):
    """What a claim took fails before the next one, untimed: each finds its rows at the front, as in daily work."""

    def __init__(self, ground: Ground, size: Size, *, k: int) -> None:
        self.ground, self.size, self.k = ground, size, k
        due = (size.rounds + size.warm_ups) * size.batches * k
        given = {"rows": size.standing + due, "due": due, "batches": IMPORTS}
        with ground.unguarded() as tx:
            for part in ("batches", "intakes", "attempts", "recoveries", "events"):
                tx.execute(Q[f"fill_{part}"], given)
        ground.twin_tables()
        for table in TABLES:
            ground.copy_to_raw(table)
        ground.tidy()

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours, RAW: self.raw}

    def ours(self) -> Timed:
        db, watch, units = self.ground.ours, Stopwatch(), 0
        for _ in range(self.size.batches):
            with watch, db.transaction(Authority.GATE) as tx:
                claimed = gate.claim_attempts(tx, limit=self.k, worker=WORKER, retries=True)
            units += len(claimed)
            with db.transaction(Authority.GATE) as tx:
                gate.finish_attempts(
                    tx,
                    [Failed(attempt_id=a.attempt_id, token=a.token, reason_code=ReasonCode.TIMEOUT) for a in claimed],
                )
        return Timed(units=units, seconds=watch.seconds)

    def raw(self) -> Timed:
        raw, watch, units = self.ground.raw, Stopwatch(), 0
        for _ in range(self.size.batches):
            with watch:
                claimed = raw.execute(Q["claim"], {"limit": self.k, "worker": WORKER, "actor": ACTOR}).fetchall()
            units += len(claimed)
            raw.execute(Q["fail"], {"attempts": [row[0] for row in claimed], "actor": ACTOR})
        return Timed(units=units, seconds=watch.seconds)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        return {OURS: tally(self.ground.admin, "cl"), RAW: tally(self.ground.admin, "raw")}


WORKLOADS = tuple(
    Workload(
        name=f"claim-1m-{k}",
        says=f"claim due retries, {k} a transaction, while 1,000,000 others wait",
        unit="claims",
        begin=partial(Claims, k=k),
        full=Size(batches=batches, standing=1_000_000, rounds=25),
        quick=Size(batches=batches, standing=50_000, rounds=5, warm_ups=1),
        goal=0.85,
    )
    for k, batches in ((100, 10), (1000, 2))
)
