"""Sealing a log, beside one scan that digests the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup_bench.ground import Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import OURS, RAW, Size, Stopwatch, Trial, Workload

Q = load("recoup_bench", "seals.sql")
BLOCK = 10_000
LOG = "cl.gate_zero_air"


class Seal(Trial):
    """Every round seals rows that are new; raw digests the same ones, found by their range of seq."""

    def __init__(self, ground: Ground, size: Size) -> None:
        self.ground, self.size = ground, size
        self.range = (0, 0)
        self.sealed: dict[str, int] = {OURS: 0, RAW: 0}

    def prepare(self) -> None:
        self.ground.append_events(self.size.batches * BLOCK, transactions=self.size.batches)
        (last,) = self.ground.admin.execute(Q["last_seq"]).fetchone() or (0,)
        self.range = (self.range[1], last)

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours, RAW: self.raw}

    def ours(self) -> Timed:
        units = 0
        with Stopwatch() as watch:
            while (rows := self._next_block()) is not None:
                units += rows
        self.sealed[OURS] += units
        return Timed(units=units, seconds=watch.seconds)

    def _next_block(self) -> int | None:
        with self.ground.ours.transaction(Authority.ARCHIVER) as tx:
            row = tx.execute(Q["seal"], {"log": LOG, "most": BLOCK}).fetchone()
        return int(row[0]) if row is not None else None

    def raw(self) -> Timed:
        after, last = self.range
        with Stopwatch() as watch:
            (units, _) = self.ground.raw.execute(Q["digest"], {"after": after, "last": last}).fetchone() or (0, b"")
        self.sealed[RAW] += units
        return Timed(units=units, seconds=watch.seconds)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        return {side: {"rows sealed": rows} for side, rows in self.sealed.items()}


WORKLOADS = (
    Workload(
        name="seal",
        says=f"seal a log in blocks of {BLOCK}, beside one scan that digests the same rows",
        unit="rows",
        begin=Seal,
        full=Size(batches=20, rounds=7, warm_ups=1),
        quick=Size(batches=2, rounds=5, warm_ups=1),
        goal=0.5,
    ),
)
