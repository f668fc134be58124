"""All metrics of errors, compared with one sequential count of the live ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.metrics import metrics, tally
from recoup.lifecycles.declaration import Authority
from recoup_bench.errors import BLOCKING, ERRORS, FILLED, filling
from recoup_bench.errors import Q as ERRORS_Q
from recoup_bench.measure import OURS, RAW, Timed
from recoup_bench.workload import Aim, Size, Stage, Trial, Workload, small

Q = load("recoup_bench", "metrics.sql")


MONTH_HOURS, DAY_HOURS = 720, 23  # all of the day's errors are still in the window of 24 hours when it is read


def readings(trial: Trial, *, hours: int) -> Stage:
    """What both sides of a round took, in turns on one connection: they run under the same load."""
    filled(trial, hours)
    while True:
        took = {OURS: 0.0, RAW: 0.0}
        for side, read in ((OURS, read_metrics), (RAW, read_count)) * trial.units:
            with trial.ground.ours.transaction(Authority.READER) as tx:
                took[side] += _timed(tx, read, trial.size.idle)
        yield took


def filled(trial: Trial, hours: int) -> None:
    """Put the errors of a trial into ours, with their events, spread over these hours."""
    given = {"rows": trial.size.idle, "tables": BLOCKING, "hours": hours}
    with filling(trial.ground, lean=True) as tx:
        tx.execute(Q["fill"], given)
    with trial.ground.ours.transaction(Authority.ARCHIVER) as tx:
        tx.execute(Q["make_months"], given)
    with trial.ground.unguarded((*FILLED, "recoup.error_archive")) as tx:
        if hours == MONTH_HOURS:
            tx.execute(Q["fill_archive"])
        tx.execute(Q["fill_events"])
        tx.execute(ERRORS_Q["fill_queue"], {"after": 0})
    with trial.ground.ours.transaction(Authority.HUB) as tx:
        tx.execute(Q["fill_processed"], {"tables": BLOCKING})
    trial.ground.tidy(ERRORS)
    trial.ground.admin.execute("vacuum (analyze) recoup.error_queue, recoup.processed")
    with trial.ground.ours.transaction(Authority.ERROR_WORKER) as tx:
        tally(tx)  # as a worker has done by then


def read_metrics(tx: Transaction) -> float:
    """Every metric of every table. One of 25 live errors is parked."""
    since = time.perf_counter()
    found = metrics(tx)
    READ.append(time.perf_counter() - since)
    return 25 * found.overall.parked_errors


def read_count(tx: Transaction) -> float:
    tx.execute(Q["one_scan"])
    since = time.perf_counter()
    (count,) = tx.execute(Q["count"]).fetchone() or (0,)
    READ.append(time.perf_counter() - since)
    return int(count)


READ: list[float] = []  # how long the last one took


def _timed(tx: Transaction, read: Callable[[Transaction], float], errors: int) -> float:
    READ.clear()
    assert read(tx) == errors, "not every live error was read"
    return READ[0]


def compared(trial: Trial, *, side: str) -> Timed:
    """What a round took, and how many sequential counts that is."""
    took = trial.rows[side]
    shown = {"ms": 1000 * took / trial.units, "counts": took / trial.rows[RAW]}
    return Timed(units=trial.units, seconds=took, metrics=shown)


METRICS, METRICS_DAY = (
    Workload(
        name=name, description=f"compute every metric of errors{of}, compared with one sequential count of them",
        unit="readings", k=1, stage=partial(readings, hours=hours), ours=partial(compared, side=OURS),
        raw=partial(compared, side=RAW), full=Size(batches=2, idle=1_000_000, rounds=11),
        quick=small(batches=1, idle=100_000, rounds=3), aims=(Aim(metric="counts", most=3),),
    )
    for name, of, hours in (("error-metrics", "", MONTH_HOURS), ("error-metrics-day", " of one day", DAY_HOURS))
)  # fmt: skip
