"""The promotion gate compared with a bare EXISTS over the same tables, while millions of errors are open."""

from __future__ import annotations

import hashlib
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from uuid import UUID

from psycopg.sql import SQL, Identifier

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.promotion import is_blocked
from recoup.lifecycles.declaration import Authority
from recoup_bench.errors import BLOCKING, ERRORS, filling
from recoup_bench.measure import OURS, RAW, Timed
from recoup_bench.workload import Aim, Size, Stage, Trial, Workload, small

Q = load("recoup_bench", "errors.sql")
EXISTS = SQL("select ") + SQL(" or ").join(
    Q["blocked"].format(table=Identifier(*table.split("."))) for table in BLOCKING
)


def calls(trial: Trial) -> Stage:
    """What each call of a round took, by side. Of two entities one is blocked.

    Both sides run here, in turns on one connection, each about entities of its own: only alternating calls run
    under the same load, and a percentile shows all of it.
    """
    with filling(trial.ground, lean=True) as tx:
        tx.execute(Q["fill_open"], {"rows": trial.size.idle, "tables": BLOCKING})
    trial.ground.tidy(ERRORS)
    while True:
        numbers = random.sample(range(1, trial.size.idle + 1), trial.units)
        took: dict[str, list[float]] = {OURS: [], RAW: []}
        with trial.ground.ours.transaction(Authority.READER) as tx:
            for place, number in enumerate(signed for n in numbers for signed in (n, -n)):
                side = OURS if place % 4 in (0, 3) else RAW
                took[side].append(_timed(tx, ASK[side], entity(number), number > 0))
        yield took


def entity(number: int) -> UUID:
    """The entity of this number, as the fill makes it; one below zero has no error."""
    return UUID(hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest())


def exists(tx: Transaction, entity: UUID) -> bool:
    """The same query, written by hand."""
    (found,) = tx.execute(EXISTS, {"entity": entity}, prepare=True).fetchone() or (False,)
    return bool(found)


ASK: Mapping[str, Callable[[Transaction, UUID], bool]] = {OURS: is_blocked, RAW: exists}


def _timed(tx: Transaction, ask: Callable[[Transaction, UUID], bool], entity: UUID, blocked: bool) -> float:
    since = time.perf_counter()
    answer = ask(tx, entity)
    took = time.perf_counter() - since
    assert answer is blocked, f"{entity} is {'blocked' if blocked else 'free'}, and the answer was another"
    return took


def percentiles(trial: Trial, *, side: str) -> Timed:
    """The finished calls of a round, as times and percentiles."""
    took, p99_raw = trial.rows[side], p99(trial.rows[RAW])
    shown = {"p50_ms": 1000 * statistics.median(took), "p99_ms": 1000 * p99(took), "p99_to_raw": p99(took) / p99_raw}
    return Timed(units=len(took), seconds=sum(took), metrics=shown)


def p99(took: Sequence[float]) -> float:
    """What 99 of 100 calls stay below."""
    return statistics.quantiles(took, n=100, method="inclusive")[98]


GATE = tuple(
    Workload(
        name=f"gate-{name}", description=f"ask whether an entity is blocked, while {full:,} errors are open",
        unit="calls", k=1000, stage=calls, ours=partial(percentiles, side=OURS), raw=partial(percentiles, side=RAW),
        full=Size(batches=2, idle=full, rounds=11), quick=small(batches=2, idle=quick, rounds=3),
        aims=(Aim(metric="p99_to_raw", most=1.5),),
    )
    for name, full, quick in (("1m", 1_000_000, 50_000), ("10m", 10_000_000, 200_000))
)  # fmt: skip
