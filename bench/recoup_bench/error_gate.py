"""The promotion gate beside a bare EXISTS over the same tables, while millions of errors are open."""

from __future__ import annotations

import hashlib
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.promotion import is_blocked
from recoup.lifecycles.declaration import Authority
from recoup_bench import error_ground
from recoup_bench.ground import Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import OURS, RAW, Bound, Size, Trial, Workload

Q = load("recoup_bench", "error_gate.sql")
CALLS = 1000  # of each side, in one batch


class Gate(Trial):
    """Both are asked in turns on one connection, each about entities of its own; of two one is blocked."""

    def __init__(self, ground: Ground, size: Size) -> None:
        self.ground, self.size = ground, size
        with error_ground.filling(ground, lean=True) as tx:
            tx.execute(Q["fill"], {"rows": size.standing, "tables": list(error_ground.BLOCKING)})
        error_ground.tidy(ground, raw=False)
        self.took: dict[str, list[float]] = {}

    def prepare(self) -> None:
        """A round of both at once: only calls that alternate meet the same weather, and a percentile sees all of it."""
        calls = self.size.batches * CALLS
        asked = [
            ask for n in random.sample(range(1, self.size.standing + 1), calls) for ask in ((n, True), (-n, False))
        ]
        self.took = {OURS: [], RAW: []}
        with self.ground.ours.transaction(Authority.READER) as tx:
            for place, (number, blocked) in enumerate(asked):
                side = OURS if place % 4 in (0, 3) else RAW
                self.took[side].append(_timed(tx, ASK[side], entity(number), blocked))

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: lambda: self._told(OURS), RAW: lambda: self._told(RAW)}

    def _told(self, side: str) -> Timed:
        took = self.took[side]
        return Timed(
            units=len(took),
            seconds=sum(took),
            figures={
                "p50_ms": 1000 * statistics.median(took),
                "p99_ms": 1000 * p99(took),
                "p99_to_raw": p99(took) / p99(self.took[RAW]),
            },
        )


def entity(number: int) -> UUID:
    """The entity of this number, as the fill makes it; one below zero has no error."""
    return UUID(hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest())


def exists(tx: Transaction, asked: UUID) -> bool:
    """The question by hand."""
    (found,) = tx.execute(Q["exists"], {"entity": asked}).fetchone() or (False,)
    return bool(found)


ASK: Mapping[str, Callable[[Transaction, UUID], bool]] = {OURS: is_blocked, RAW: exists}


def _timed(tx: Transaction, ask: Callable[[Transaction, UUID], bool], asked: UUID, blocked: bool) -> float:
    since = time.perf_counter()
    answer = ask(tx, asked)
    took = time.perf_counter() - since
    assert answer is blocked, f"{asked} is {'blocked' if blocked else 'free'}, and the answer was another"
    return took


def p99(took: Sequence[float]) -> float:
    """What 99 of 100 calls stay below."""
    return statistics.quantiles(took, n=100, method="inclusive")[98]


WORKLOADS = tuple(
    Workload(
        name=f"gate-{name}",
        says=f"ask whether an entity may move on, while {full:,} errors are open",
        unit="calls",
        begin=Gate,
        full=Size(batches=2, standing=full, rounds=11),
        quick=Size(batches=2, standing=quick, rounds=3, warm_ups=1),
        bound=Bound(figure="p99_to_raw", most=1.5),
    )
    for name, full, quick in (("1m", 1_000_000, 50_000), ("10m", 10_000_000, 200_000))
)
