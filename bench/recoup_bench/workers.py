"""Several worker processes on one queue: what more workers gain, and whether four slow each other down."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection

from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings
from recoup_bench.measure import Timed
from recoup_bench.retries import fill_due, none, turned_in
from recoup_bench.workload import Aim, Size, Stage, Stopwatch, Trial, Workload, small

CREWS = (1, 2, 4)
MAX_ANSWER_S = 300


def crew(trial: Trial) -> Stage:
    """Worker processes that are connected and wait for a message; the same ones in every round."""
    spawning = multiprocessing.get_context("spawn")
    with contextlib.ExitStack() as stack:
        pipes = []
        for _ in range(max(CREWS)):
            pipe, theirs = spawning.Pipe()
            given = (theirs, trial.ground.ours.conninfo, trial.ground.ours.settings, trial.workload.k)
            process = spawning.Process(target=worker, args=given, daemon=True)
            process.start()
            theirs.close()  # so that its end is noticed here
            stack.callback(process.join, MAX_ANSWER_S)
            pipes.append(stack.enter_context(pipe))
        for pipe in pipes:
            _answer(pipe)
        while True:
            yield pipes


def worker(pipe: Connection, conninfo: str, settings: Settings, batch: int) -> None:
    """Drains the queue at every message, and replies with how many retries it ended."""
    with Database(conninfo, settings) as database, contextlib.suppress(EOFError):
        with database.transaction(Authority.ERROR_WORKER):
            pipe.send(0)
        while pipe.recv():
            pipe.send(_drain(database, batch))


def _drain(database: Database, batch: int) -> int:
    resolved, claims = turned_in(database, (), batch, fails=none)
    while claims:
        ended, claims = turned_in(database, claims, batch, fails=none)
        resolved += ended
    return resolved


def by_crews(trial: Trial) -> Timed:
    """The same queue again for each crew. The reported speed is that of the largest crew."""
    metrics: dict[str, float] = {}
    for size in CREWS:
        fill_due(trial)
        with Stopwatch() as watch:
            resolved = _drained(trial.rows[:size])
        assert resolved == trial.units, f"{resolved} of {trial.units} were resolved by {size} workers"
        metrics[f"per_second_{size}"] = resolved / watch.seconds
    metrics["four_to_two"] = metrics["per_second_4"] / metrics["per_second_2"]
    return Timed(units=trial.units, seconds=watch.seconds, metrics=metrics)


def _drained(pipes: Sequence[Connection]) -> int:
    for pipe in pipes:
        pipe.send(True)
    return sum(map(_answer, pipes))


def _answer(pipe: Connection) -> int:
    assert pipe.poll(MAX_ANSWER_S), f"a worker did not answer within {MAX_ANSWER_S} s"
    return int(pipe.recv())


DRAIN = Workload(
    name="drain-workers",
    description="one, two and four worker processes end the retries of one queue, 100 a transaction",
    unit="retries", k=100, stage=crew, ours=by_crews, aims=(Aim(metric="four_to_two", least=1.0),),
    full=Size(batches=30, rounds=11), quick=small(batches=4, rounds=2),
)  # fmt: skip
