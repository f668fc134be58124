"""Retries of errors, claimed and ended in sets: half of them failing, and what their failing costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recoup.database.queries import load
from recoup.errors.retrying import Claimed, Failed, Succeeded, claim, finish
from recoup.lifecycles.declaration import Authority
from recoup_bench import error_ground
from recoup_bench.ground import ACTOR, Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import OURS, RAW, Bound, Size, Stopwatch, Trial, Workload

Q = load("recoup_bench", "error_retries.sql")
K = 100
WORKER = "bench"
FAILURE = "the upstream service answered 503"
RETRIED = [name for name, table in error_ground.policy().tables.items() if "RETRY" in table.allowed]


class Retries(Trial):
    """Both sides retry copies of the same errors. Every second retry fails; of ten that fail two were the last."""

    def __init__(self, ground: Ground, size: Size) -> None:
        self.ground, self.size = ground, size
        error_ground.twin_tables(ground)

    def prepare(self) -> None:
        error_ground.fill(self.ground, Q["fill_due"], {"rows": self.size.batches * K})
        error_ground.tidy(self.ground)

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours, RAW: self.raw}

    def ours(self) -> Timed:
        done = 0
        with Stopwatch() as watch:
            for _ in range(self.size.batches):
                done += retry(self.ground, failing=every_second)
        return Timed(units=done, seconds=watch.seconds)

    def raw(self) -> Timed:
        done = 0
        with Stopwatch() as watch:
            for _ in range(self.size.batches):
                claimed = raw_claim(self.ground, K)
                done += raw_finish(self.ground, claimed, failing=every_second)
        return Timed(units=done, seconds=watch.seconds)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        return error_ground.tallies(self.ground)


class Failing(Trial):
    """Ours alone: sets of which half fail and sets of which none does, in turns."""

    def __init__(self, ground: Ground, size: Size) -> None:
        self.ground, self.size = ground, size

    def prepare(self) -> None:
        error_ground.fill(self.ground, Q["fill_due"], {"rows": self.size.batches * K}, raw=False)
        error_ground.tidy(self.ground, raw=False)

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours}

    def ours(self) -> Timed:
        half, none, done = Stopwatch(), Stopwatch(), 0
        for number in range(self.size.batches):
            failing, watch = (every_second, half) if number % 2 else (never, none)
            with watch:
                done += retry(self.ground, failing=failing)
        return Timed(
            units=done,
            seconds=half.seconds + none.seconds,
            figures={"half_failing_to_none": half.seconds / none.seconds},
        )


def every_second(error_id: int) -> bool:
    return error_id % 2 == 0


def never(error_id: int) -> bool:
    return False


def retry(ground: Ground, *, failing: Callable[[int], bool]) -> int:
    """Claim a set and end it, in a transaction each."""
    with ground.ours.transaction(Authority.ERROR_WORKER) as tx:
        claimed = claim(tx, limit=K, worker=WORKER)
    outcomes = [_outcome(one, failing(one.error_id)) for one in claimed]
    with ground.ours.transaction(Authority.ERROR_WORKER) as tx:
        return len(finish(tx, outcomes))


def _outcome(one: Claimed, failed: bool) -> Succeeded | Failed:
    if failed:
        return Failed(error_table=one.error_table, error_id=one.error_id, token=one.token, failure=FAILURE)
    return Succeeded(error_table=one.error_table, error_id=one.error_id, token=one.token)


def raw_claim(ground: Ground, limit: int) -> Sequence[tuple[Any, ...]]:
    """The rows of errors whose retry is raw's now: table, id and token first."""
    given = {"limit": limit, "worker": WORKER, "actor": ACTOR, "tables": RETRIED}
    return ground.raw.execute(Q["claim"], given).fetchall()


def raw_finish(ground: Ground, claimed: Sequence[tuple[Any, ...]], *, failing: Callable[[int], bool]) -> int:
    """End a set by hand."""
    failed = [failing(row[1]) for row in claimed]
    given = {
        "tables": [row[0] for row in claimed],
        "ids": [row[1] for row in claimed],
        "tokens": [row[2] for row in claimed],
        "outcomes": ["FAILED" if one else "SUCCEEDED" for one in failed],
        "failures": [FAILURE if one else None for one in failed],
        "actor": ACTOR,
    }
    return len(ground.raw.execute(Q["finish"], given).fetchall())


WORKLOADS = (
    Workload(
        name=f"retry-{K}",
        says=f"claim due errors and end their retries, {K} a transaction, half of them failing",
        unit="retries",
        begin=Retries,
        full=Size(batches=20, rounds=25),
        quick=Size(batches=10, rounds=5, warm_ups=1),
        goal=0.6,
    ),
    Workload(
        name=f"retry-{K}-failing",
        says="the same, sets of which half fail beside sets of which none does: what failing costs",
        unit="retries",
        begin=Failing,
        full=Size(batches=40, rounds=25),
        quick=Size(batches=20, rounds=5, warm_ups=1),
        bound=Bound(figure="half_failing_to_none", most=1.2),
    ),
)
