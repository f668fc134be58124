"""Several people act at one moment."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any

from desk import Desk

from recoup import gate
from recoup.gate import Attempt
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused

PATIENCE_S = 120
STEP_S = 0.0001
STEP_MOST_S = 0.02
JITTER_S = 0.0002


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Run all of them from one moment on. What each returned, or the refusal it got; anything else is raised."""
    line = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        line.wait(PATIENCE_S)
        try:
            return act()
        except LawRefused as refusal:
            return refusal

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result(PATIENCE_S) for future in [pool.submit(run, act) for act in acts]]


def claim(desk: Desk, *, retries: bool, limit: int = 20) -> list[Attempt]:
    with desk.db.transaction(Authority.GATE) as tx:
        return gate.claim_attempts(tx, limit=limit, worker="claimer", retries=retries)


def kinds(results: list[Any]) -> tuple[list[Any], list[str]]:
    """Results, and the codes of refusals."""
    return (
        [result for result in results if not isinstance(result, LawRefused)],
        [result.code for result in results if isinstance(result, LawRefused)],
    )


def held_back(by_s: float, act: Callable[[], Any]) -> Callable[[], Any]:
    """The same act, begun a little later."""

    def later() -> Any:
        time.sleep(by_s)
        return act()

    return later


@dataclass
class Match:
    """Two sides that are to meet, many times over.

    Whoever came first is held back longer the next time, more and more until the other one does. So both orders happen
    on any machine, and most rounds are played where the two meet.
    """

    chance: Random
    firsts: Counter[bool] = field(default_factory=Counter)  # how often this side, and the other, came first
    _held_s: float = 0.0  # this side; below zero, the other
    _step_s: float = STEP_S
    _last: bool | None = None

    def offsets(self) -> tuple[float, float]:
        """By how much to hold back this side and the other."""
        held_s = self._held_s + self.chance.gauss(0, JITTER_S)
        return max(held_s, 0.0), max(-held_s, 0.0)

    def came_first(self, this_side: bool) -> None:
        self.firsts[this_side] += 1
        self._step_s = min(self._step_s * 2, STEP_MOST_S) if this_side == self._last else STEP_S
        self._held_s += self._step_s if this_side else -self._step_s
        self._last = this_side

    @property
    def both_ways(self) -> bool:
        return self.firsts[True] > 0 and self.firsts[False] > 0
