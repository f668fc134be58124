"""What a workload is, and how the two sides of one are held to the same work."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from recoup_bench.ground import Ground
from recoup_bench.measure import Timed

OURS, RAW = "ours", "raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much of it: what stands there before, and what one round does."""

    batches: int = 1  # of one round
    standing: int = 0  # rows that lie there all the while
    rounds: int = 11
    warm_ups: int = 2


class Trial(ABC):
    """A workload that stands ready in a scratch database."""

    def prepare(self) -> None:  # noqa: B027 - most have nothing to do here, some do
        """Make what the next round needs, for every variant. Not timed."""

    @abstractmethod
    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        """What runs in turn; each call is one round of one variant."""

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        """What each variant has made, by table and status. Those named here must agree."""
        return {}

    def close(self) -> None:  # noqa: B027
        """Give back what is not the ground's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A figure of ours, and what it may come to at most."""

    figure: str
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One row of the list: what is measured, in which unit, and the ratio or the bound that must be reached."""

    name: str
    says: str
    unit: str
    begin: Callable[[Ground, Size], Trial]
    full: Size
    quick: Size
    goal: float | None = None  # least ratio of ours to raw
    bound: Bound | None = None
    simulated: bool = False  # needs a database whose time can be moved

    @property
    def aim(self) -> str | None:
        """What must be reached, in words."""
        if self.bound is not None:
            return f"{self.bound.figure.replace('_', ' ')} at most {self.bound.most}"
        return f"{self.goal} of raw" if self.goal is not None else None


class UnlikeWork(AssertionError):  # noqa: N818 - named for what is wrong
    """The two sides did not make the same rows: a bug in the workload, and its speeds say nothing."""


def check_alike(workload: str, tallies: Mapping[str, Mapping[str, int]]) -> None:
    """Raise when the variants made different rows."""
    if not tallies:
        return
    (first, expected), *others = tallies.items()
    for other, found in others:
        for key in sorted({*expected, *found}):
            if expected.get(key, 0) != found.get(key, 0):
                raise UnlikeWork(
                    f"{workload}: {key}: {expected.get(key, 0)} of {first}, {found.get(key, 0)} of {other}."
                )


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
