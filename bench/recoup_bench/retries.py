"""Retries of errors: claimed and ended in sets, until the queue is empty, and after every one has failed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from itertools import repeat
from typing import Any, TypeAlias

from recoup import clock
from recoup.database.connection import Database
from recoup.database.queries import load
from recoup.errors.retrying import Claimed, Ended, Failed, Succeeded, claim, finish, turn
from recoup.errors.vocabulary import Category
from recoup.lifecycles.declaration import Authority
from recoup_bench.errors import BLOCKING, ERRORS, POLICY, fill
from recoup_bench.ground import WORKER, Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import Aim, Size, Stage, Stopwatch, Trial, Workload, batched, drained, of_raw, small

Q = load("recoup_bench", "errors.sql")
FAILURE = "the upstream service answered 503"
RETRIED = [name for name, table in POLICY.tables.items() if "RETRY" in table.allowed]
STEP = timedelta(seconds=POLICY.retry[Category.OPERATIONAL].base_s)  # the wait is one of them longer each time
WAL = Aim(metric="wal_bytes", most=1600)
Fails: TypeAlias = Callable[[int, int], bool]  # by the error's id, and how many retries it has had


def none(error_id: int, retries: int) -> bool:
    return False


def half(error_id: int, retries: int) -> bool:
    return error_id % 2 == 0


def first(error_id: int, retries: int) -> bool:
    return retries == 0


def due_errors(trial: Trial, *, last: int = 0) -> Stage:
    """Errors that are due; of every ten, ``last`` have one retry left."""
    while True:
        fill_due(trial, last=last)
        yield range(trial.units)


def fill_due(trial: Trial, *, last: int = 0) -> None:
    """The errors of one round."""
    fill(trial.ground, Q["fill_due"], tables=BLOCKING, rows=trial.units, due=trial.units, last=last)


def waiting_errors(trial: Trial) -> Stage:
    """Errors that wait, and at the front as many due ones as all rounds claim."""
    due = (trial.size.rounds + trial.size.warm_ups) * trial.units
    fill(trial.ground, Q["fill_due"], tables=BLOCKING, rows=trial.size.idle + due, due=due, last=0)
    yield from repeat(range(trial.units))


def claimed(ground: Ground, batch: Sequence[Any]) -> list[Claimed]:
    with ground.ours.one_statement(Authority.ERROR_WORKER) as tx:
        return claim(tx, limit=len(batch), worker=WORKER)


def ended(ground: Ground, claims: Sequence[Claimed], *, fails: Fails) -> list[Ended]:
    with ground.ours.one_statement(Authority.ERROR_WORKER) as tx:
        return finish(tx, _outcomes(claims, fails))


def turned(ground: Ground, claims: Sequence[Claimed], limit: int, *, fails: Fails) -> tuple[int, list[Claimed]]:
    """As a worker does it: what was claimed before is ended, and more is claimed, in one transaction."""
    return turned_in(ground.ours, claims, limit, fails=fails)


def turned_in(database: Database, claims: Sequence[Claimed], limit: int, *, fails: Fails) -> tuple[int, list[Claimed]]:
    with database.one_statement(Authority.ERROR_WORKER) as tx:
        ended, claimed = turn(tx, _outcomes(claims, fails), limit=limit, worker=WORKER)
    return len(ended), claimed


def _outcomes(claims: Sequence[Claimed], fails: Fails) -> list[Succeeded | Failed]:
    return [_outcome(one, fails(one.error_id, one.retry_count)) for one in claims]


def _outcome(one: Claimed, failed: bool) -> Succeeded | Failed:
    if failed:
        return Failed(error_table=one.error_table, error_id=one.error_id, token=one.token, failure=FAILURE)
    return Succeeded(error_table=one.error_table, error_id=one.error_id, token=one.token)


def wait(ground: Ground) -> None:
    """Move the clock to the second retry."""
    with ground.ours.transaction(Authority.OPERATOR) as tx:
        clock.advance(tx, 2 * STEP)


def raw_claimed(ground: Ground, batch: Sequence[Any]) -> list[Any]:
    """Rows of errors: table, id, token and the retries that each has had first."""
    return ground.by_hand(Q["claim"], limit=len(batch), tables=RETRIED)


def raw_ended(ground: Ground, claims: Sequence[Any], *, fails: Fails, step: timedelta = STEP) -> list[Any]:
    return ground.by_hand(Q["finish"], **_raw_outcomes(claims, fails, step))


def _raw_outcomes(claims: Sequence[Any], fails: Fails, step: timedelta) -> dict[str, Any]:
    failed = [fails(row[1], row[3]) for row in claims]
    return {
        "tables": [row[0] for row in claims],
        "ids": [row[1] for row in claims],
        "tokens": [row[2] for row in claims],
        "outcomes": ["FAILED" if one else "SUCCEEDED" for one in failed],
        "failures": [FAILURE if one else None for one in failed],
        "step": step,
    }


def raw_turned(
    ground: Ground, claims: Sequence[Any], limit: int, *, fails: Fails, step: timedelta = STEP
) -> tuple[int, list[Any]]:
    """Both statements in one transaction and one round trip."""
    if not claims:
        return 0, raw_claimed(ground, range(limit))
    with ground.raw.pipeline(), ground.raw.transaction():
        ended = ground.raw.execute(Q["finish"], _raw_outcomes(claims, fails, step), prepare=True)
        claimed = ground.raw.execute(Q["claim"], {"limit": limit, "tables": RETRIED}, prepare=True)
    return len(ended.fetchall()), claimed.fetchall()


def half_and_none(trial: Trial) -> Timed:
    """Ours alone: sets of which half fail and sets of which none does, in turns."""
    watches, units = {half: Stopwatch(), none: Stopwatch()}, 0
    for number, batch in enumerate(trial.batches()):
        fails = half if number % 2 else none
        with watches[fails]:
            units += len(ended(trial.ground, claimed(trial.ground, batch), fails=fails))
    metrics = {"half_failing_to_none": watches[half].seconds / watches[none].seconds}
    return Timed(units=units, seconds=sum(watch.seconds for watch in watches.values()), metrics=metrics)


RETRIES = tuple(
    Workload(
        name=f"retry-{k}",
        description=f"claim due errors and end their retries, {k} a transaction, half of them failing",
        unit="retries", k=k, stage=partial(due_errors, last=2), twins=ERRORS, aims=(of_raw(0.6), WAL), weighed=True,
        ours=batched(claimed, partial(ended, fails=half)), raw=batched(raw_claimed, partial(raw_ended, fails=half)),
        full=Size(batches=batches), quick=small(batches=quick),
    )
    for k, batches, quick in ((1, 1000, 20), (100, 20, 10))
)  # fmt: skip
FAILING = Workload(
    name="retry-100-failing",
    description="the same, sets of which half fail compared with sets of which none does: what failing costs",
    unit="retries", k=100, stage=partial(due_errors, last=2), ours=half_and_none,
    full=Size(batches=40), quick=small(batches=20), aims=(Aim(metric="half_failing_to_none", most=1.2),),
)  # fmt: skip
# What a claim took succeeds before the next one: each finds its rows at the front, as in daily work.
CLAIM = Workload(
    name="claim-errors-1m", description="claim due errors, 100 a transaction, while 1,000,000 others wait",
    unit="claims", k=100, stage=waiting_errors, twins=ERRORS, aims=(of_raw(0.85),),
    ours=batched(claimed, then=partial(ended, fails=none)),
    raw=batched(raw_claimed, then=partial(raw_ended, fails=none)),
    full=Size(batches=10, idle=1_000_000), quick=small(batches=10, idle=50_000),
)  # fmt: skip
DRAINS = tuple(
    Workload(
        name=f"drain-{k}",
        description=f"end retries as succeeded and claim the next, {k} a transaction, until none is due",
        unit="retries", k=k, stage=due_errors, twins=ERRORS, weighed=True, peers=(),
        aims=(of_raw(0.6), WAL, Aim(metric="times_pgqueuer", least=1.4 if k == 100 else 1.8)),
        ours=drained(partial(turned, fails=none)), raw=drained(partial(raw_turned, fails=none)),
        full=Size(batches=batches, rounds=11), quick=small(batches=2, rounds=3),
    )
    for k, batches in ((100, 100), (1000, 30))
)  # fmt: skip
# Raw and peers retry without a wait: what has failed is at the end of raw's queue.
FAIL_ONCE = tuple(
    Workload(
        name=f"fail-once-{k}",
        description=f"every retry fails once, waits in simulated time and succeeds, {k} a transaction",
        unit="units", k=k, stage=due_errors, twins=ERRORS, weighed=True, peers=(), fails_once=True, simulated=True,
        aims=(of_raw(0.6), Aim(metric="times_pgqueuer", least=5.0 if k == 100 else 7.0)),
        ours=drained(partial(turned, fails=first), tries=2, between=wait),
        raw=drained(partial(raw_turned, fails=first, step=timedelta(0)), tries=2),
        full=Size(batches=batches, rounds=11), quick=small(batches=2, rounds=3),
    )
    for k, batches in ((100, 50), (1000, 5))
)  # fmt: skip
