"""What a workload is: data. In a scratch database it becomes a trial, of which each side runs in turn.

Its stage is a generator: what comes before the first yield is made once, what is yielded is worked on in one round, by
every side alike, and what comes after is given back. None of it is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from psycopg.sql import SQL

from recoup_bench.ground import Domain, Ground
from recoup_bench.measure import OURS, RAW, Timed
from recoup_bench.peers import Peer

Stage: TypeAlias = Generator[Any, None, None]
Step: TypeAlias = Callable[[Ground, Any], Any]
Side: TypeAlias = Callable[["Trial"], Timed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much of it: what stands there before, and what one round does."""

    batches: int = 1  # of one round
    standing: int = 0  # rows that lie there all the while
    rounds: int = 25
    warm_ups: int = 2


small = partial(Size, rounds=5, warm_ups=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A figure of ours, and what it may come to at most."""

    figure: str
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is measured, in which unit, and the ratio or the bound that must be reached."""

    name: str
    says: str
    unit: str
    stage: Callable[[Trial], Stage]
    ours: Side
    raw: Side | None = None
    k: int  # units of one batch
    twins: Domain | None = None  # that both sides write to, and must leave alike
    full: Size
    quick: Size
    goal: float | None = None  # least ratio of ours to raw
    bound: Bound | None = None
    simulated: bool = False  # needs a database whose time can be moved
    peers: Sequence[Peer] | None = None  # job queues beside ours; None: it is no work for them

    @property
    def aim(self) -> str | None:
        """What must be reached, in words."""
        if self.bound is not None:
            return f"{self.bound.figure.replace('_', ' ')} at most {self.bound.most}"
        return f"{self.goal} of raw" if self.goal is not None else None


class Trial:
    """A workload that stands ready in a scratch database."""

    def __init__(self, workload: Workload, ground: Ground, size: Size) -> None:
        self.workload, self.ground, self.size = workload, ground, size
        self.units = size.batches * workload.k  # of one round
        self.rows: Any = ()  # of this round
        self.sides: dict[str, Side] = {OURS: workload.ours} | ({RAW: workload.raw} if workload.raw else {})
        if workload.twins is not None:
            ground.make_raw(workload.twins)
        for peer in workload.peers or ():
            peer.setup(ground.conninfo)
            self.sides[peer.name] = partial(Trial._beside, peer=peer)
        self._stage = workload.stage(self)

    def prepare(self) -> None:
        """Make what the next round needs, for every side. Not timed."""
        self.rows = next(self._stage)

    def run(self, side: str) -> Timed:
        """One round of one side."""
        return self.sides[side](self)

    def _beside(self, *, peer: Peer) -> Timed:
        units = max(1, round(self.units * peer.share))
        return Timed(units=units, seconds=peer.run(units))

    def batches(self) -> Iterator[Any]:
        """The rows of this round, a batch at a time."""
        return sliced(self.rows, self.workload.k)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        """What each side has left, by table and status. They must agree."""
        return self.ground.tallies(self.workload.twins) if self.workload.twins else {}

    def close(self) -> None:
        """Give back what is not the ground's."""
        self._stage.close()
        for peer in self.workload.peers or ():
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
        return Timed(units=units, seconds=watch.seconds)

    return side


def sliced(rows: Any, size: int) -> Iterator[Any]:
    """A sequence in slices of at most this size."""
    return (rows[start : start + size] for start in range(0, len(rows), size))


class Stopwatch:
    """Adds up the time spent inside its blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = 0.0

    def __enter__(self) -> Stopwatch:
        self._since = time.perf_counter()
        return self

    def __exit__(self, *exc: object) -> None:
        self.seconds += time.perf_counter() - self._since
