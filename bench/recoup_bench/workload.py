"""What a workload is: data. In a scratch database it becomes a trial, whose sides run in turn.

Its stage is a generator: the code before the first yield runs once, what it yields is the work of one round, for
every side alike, and the code after it cleans up. None of it is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from psycopg.sql import SQL

from recoup_bench.ground import Ground, Twins
from recoup_bench.measure import OURS, RATIO, RAW, Timed
from recoup_bench.peers import Peer

Stage: TypeAlias = Generator[Any, None, None]
Step: TypeAlias = Callable[[Ground, Any], Any]
Turn: TypeAlias = Callable[[Ground, Sequence[Any], int], tuple[int, Sequence[Any]]]  # how many ended, what is claimed
Side: TypeAlias = Callable[["Trial"], Timed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much: the rows that exist before, and the work of one round."""

    batches: int = 1  # of one round
    idle: int = 0  # rows that exist during the whole run
    rounds: int = 25
    warm_ups: int = 2


small = partial(Size, rounds=5, warm_ups=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """A metric of ours, with its minimum or maximum.

    In addition to its own metrics there are ``per_second``, ``ratio_to_raw`` and ``times_<peer>``.
    """

    metric: str
    least: float | None = None
    most: float | None = None

    def __str__(self) -> str:
        bound = f"at least {self.least:,}" if self.least is not None else f"at most {self.most:,}"
        return f"{self.metric.replace('_', ' ')} {bound}"

    def reached(self, value: float) -> bool:
        """Whether this value is within the bound."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


def of_raw(least: float) -> Aim:
    """The minimum ratio to raw."""
    return Aim(metric=RATIO, least=least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is measured, in which unit, and what must be reached."""

    name: str
    description: str
    unit: str
    stage: Callable[[Trial], Stage]
    ours: Side
    raw: Side | None = None
    k: int  # units of one batch
    twins: Twins | None = None  # that both sides write to, and must leave equal
    full: Size
    quick: Size
    aims: tuple[Aim, ...] = ()
    weighed: bool = False  # the WAL and processor time of a unit are metrics
    simulated: bool = False  # needs a database whose time can be moved
    peers: Sequence[Peer] | None = None  # other job queues; None: they cannot do this work
    fails_once: bool = False  # each unit of a peer fails at its first try


class Trial:
    """A workload that is ready to run in a scratch database."""

    def __init__(self, workload: Workload, ground: Ground, size: Size) -> None:
        self.workload, self.ground, self.size = workload, ground, size
        self.units = size.batches * workload.k  # of one round
        self.rows: Any = ()  # of this round
        self.sides: dict[str, Side] = {OURS: workload.ours} | ({RAW: workload.raw} if workload.raw else {})
        if workload.twins is not None:
            ground.make_raw(workload.twins)
        self.peers = {peer.name: peer for peer in workload.peers or ()}
        for name, peer in self.peers.items():
            peer.setup(ground.conninfo)
            self.sides[name] = partial(Trial._peer, peer=peer)
        if workload.weighed:
            ground.read_wal()
        self._stage = workload.stage(self)

    def prepare(self) -> None:
        """Make what the next round needs, for every side. Not timed."""
        self.rows = next(self._stage)

    def run(self, side: str) -> Timed:
        """One round of one side. A peer's units are enqueued before, and its tables are vacuumed as ours are."""
        if side in self.peers:
            self.peers[side].enqueue(self._share(self.peers[side]))
            self.ground.admin.execute("vacuum (analyze)")
        return self._weighed(side) if self.workload.weighed else self.sides[side](self)

    def _weighed(self, side: str) -> Timed:
        busy, since = self.ground.processor_us(side), self.ground.wal_position()
        timed = self.sides[side](self)
        metrics = {**timed.metrics, **self.ground.wal_metrics(since, units=timed.units)}
        busy = self.ground.processor_us(side) - busy
        if busy and side not in self.peers:  # whose connections come and go
            metrics["backend_us"] = busy / timed.units
        return replace(timed, metrics=metrics)

    def _peer(self, *, peer: Peer) -> Timed:
        units, given = self._share(peer), self.workload
        return Timed(units=units, seconds=peer.work(units, batch=given.k, fails_once=given.fails_once))

    def _share(self, peer: Peer) -> int:
        return max(1, round(self.units * peer.share))

    def batches(self) -> Iterator[Any]:
        """The rows of this round, a batch at a time."""
        return sliced(self.rows, self.workload.k)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        """The rows that each side made, by table and status. They must agree."""
        return self.ground.tallies(self.workload.twins) if self.workload.twins else {}

    def close(self) -> None:
        """Release what does not belong to the scratch database."""
        self._stage.close()
        for peer in self.peers.values():
            peer.close()


def batched(*steps: Step | SQL, then: Step | None = None) -> Side:
    """A side that takes the rows a batch at a time: each step is given what the one before returned.

    The last one returns how many units were done, or a list of them; ``then`` is given the same, and is not timed. A
    step of raw's side can be a statement: it has the parameters ``batch`` and ``limit``, the length of the batch.
    """

    def run(step: Step | SQL, ground: Ground, batch: Any) -> Any:
        return ground.by_hand(step, batch=batch, limit=len(batch)) if isinstance(step, SQL) else step(ground, batch)

    def side(trial: Trial) -> Timed:
        watch, units = Stopwatch(), 0
        for done in trial.batches():
            with watch:
                for step in steps:
                    done = run(step, trial.ground, done)
            units += done if isinstance(done, int) else len(done)
            if then is not None:
                then(trial.ground, done)
        return Timed(units=units, seconds=watch.seconds, metrics=watch.metrics(units))

    return side


def drained(turn: Turn, *, tries: int = 1, between: Callable[[Ground], None] | None = None) -> Side:
    """A side that ends a batch and claims the next, until nothing is left; and again after ``between``, if given.

    Each unit must end exactly ``tries`` times, or the round has failed.
    """

    def side(trial: Trial) -> Timed:
        with Stopwatch() as watch:
            ended = _drained(trial, turn)
            if between is not None:
                between(trial.ground)
                ended += _drained(trial, turn)
        assert ended == tries * trial.units, f"{ended} ends of {trial.units} units that are tried {tries} times"
        return Timed(units=trial.units, seconds=watch.seconds, metrics=watch.metrics(trial.units))

    return side


def _drained(trial: Trial, turn: Turn) -> int:
    ended, claims = turn(trial.ground, (), trial.workload.k)
    while claims:
        count, claims = turn(trial.ground, claims, trial.workload.k)
        ended += count
    return ended


def drain(trial: Trial, claim: Step, end: Step) -> int:
    """Claim and end until nothing is left; how many were ended."""
    ended = 0
    while claims := claim(trial.ground, range(trial.workload.k)):
        ended += len(end(trial.ground, claims))
    return ended


def sliced(rows: Any, size: int) -> Iterator[Any]:
    """A sequence in slices of at most this size."""
    return (rows[start : start + size] for start in range(0, len(rows), size))


class Stopwatch:
    """Adds up the time spent inside its blocks, and how much of it this thread was working."""

    def __init__(self) -> None:
        self.seconds = self.busy_s = 0.0
        self._since = (0.0, 0.0)

    def __enter__(self) -> Stopwatch:
        self._since = time.perf_counter(), time.thread_time()
        return self

    def __exit__(self, *exc: object) -> None:
        wall, busy = self._since
        self.seconds += time.perf_counter() - wall
        self.busy_s += time.thread_time() - busy

    def metrics(self, units: int) -> dict[str, float]:
        """Microseconds per unit in the client, and waiting for the database or for a core."""
        return {"client_us": self.busy_s / units * 1e6, "database_us": (self.seconds - self.busy_s) / units * 1e6}
