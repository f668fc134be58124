"""A world whose success rates are known: what the estimate makes of it can be compared with the truth."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from recoup.recovery.calibration import Group, Score, score
from recoup.recovery.estimate import Estimate, Known, Tally, estimate, weight
from recoup.recovery.policy import RecoveryPolicy

SIGNATURES, ACTIONS, OUTCOMES, SCORED = 50, 5, 5_000, 2_000
SOURCES, CATEGORIES = 5, 3
Cell = tuple[int, int]  # signature, action


@dataclass
class Seen:
    """The outcomes so far, kept as the database keeps them: each of a cell, sums by day of what is wider."""

    policy: RecoveryPolicy
    cells: defaultdict[Cell, list[tuple[float, bool]]] = field(default_factory=lambda: defaultdict(list))
    days: defaultdict[tuple[int, ...], dict[int, list[int]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, cell: Cell, at: float, good: bool) -> None:
        self.cells[cell].append((at, good))
        for level in self._levels(cell):
            sums = self.days[level].setdefault(int(at), [0, 0])
            sums[0] += good
            sums[1] += 1

    def estimate(self, cell: Cell, at: float) -> Estimate:
        latest = self.cells[cell][-self.policy.evidence_max :]
        half = self.policy.evidence_half_life_days
        weights = [(weight(at - then, half), good) for then, good in latest]
        own = Tally(sum(w for w, good in weights if good), sum(w for w, _ in weights))
        wider = tuple(self._wider(level, int(at), half) for level in self._levels(cell))
        return estimate(Known(own, sum(good for _, good in latest), len(latest), 0, wider), self.policy)

    def _wider(self, level: tuple[int, ...], today: int, half: float) -> Tally:
        weights = [(weight(today - day, half), *sums) for day, sums in self.days[level].items()]
        return Tally(sum(w * good for w, good, _ in weights), sum(w * ended for w, _, ended in weights))

    @staticmethod
    def _levels(cell: Cell) -> Iterator[tuple[int, ...]]:
        signature, action = cell
        yield (action,)
        yield (action, signature % SOURCES)
        yield (action, signature % SOURCES, signature // SOURCES % CATEGORIES)


@dataclass
class Played:
    """What was predicted, and what happened."""

    ece: float
    brier: float
    automatic: int  # executions that would have started by themselves
    of_bad_cells: int  # of these, where the true rate is below 0.7
    raw_ece: float  # the same for the share of successes per cell
    raw_automatic: int
    raw_of_bad_cells: int
    global_ece: float
    global_brier: float

    @property
    def bad_share(self) -> float:
        return self.of_bad_cells / max(self.automatic, 1)


def rates(chance: random.Random) -> dict[Cell, float]:
    return {(s, a): chance.betavariate(2, 2) for s in range(SIGNATURES) for a in range(ACTIONS)}


def play(seed: int, policy: RecoveryPolicy, *, days: float) -> Played:
    """5,000 outcomes of actions drawn at random; each is predicted before it is seen, the last 2,000 are scored."""
    chance = random.Random(seed)
    true = rates(chance)
    seen = Seen(policy)
    ours, raw, overall = (Scores() for _ in range(3))
    all_good = 0
    automatic: list[float] = []
    raw_automatic: list[float] = []
    for number in range(OUTCOMES):
        at = days * number / OUTCOMES
        cell = (chance.randrange(SIGNATURES), chance.randrange(ACTIONS))
        good = chance.random() < true[cell]
        if number >= OUTCOMES - SCORED:
            rated = seen.estimate(cell, at)
            past = seen.cells[cell]
            share = sum(one for _, one in past) / len(past) if past else 0.5
            ours.add(rated.confidence, good)
            raw.add(share, good)
            overall.add(all_good / number, good)
            if starts(rated, policy):
                automatic.append(true[cell])
            if share >= policy.confidence_floor and len(past) >= policy.evidence_min:
                raw_automatic.append(true[cell])
        seen.add(cell, at, good)
        all_good += good
    return Played(
        ece=ours.total.ece, brier=ours.total.brier, automatic=len(automatic),
        of_bad_cells=sum(rate < 0.7 for rate in automatic), raw_ece=raw.total.ece, raw_automatic=len(raw_automatic),
        raw_of_bad_cells=sum(rate < 0.7 for rate in raw_automatic), global_ece=overall.total.ece,
        global_brier=overall.total.brier,
    )  # fmt: skip


def starts(rated: Estimate, policy: RecoveryPolicy) -> bool:
    return rated.confidence >= policy.confidence_floor and rated.evidence >= policy.evidence_min


class Scores:
    """Predictions in bins, as the product scores them."""

    def __init__(self) -> None:
        self.groups: defaultdict[int, list[float]] = defaultdict(lambda: [0, 0, 0, 0])

    def add(self, predicted: float, good: bool) -> None:
        sums = self.groups[min(int(predicted * 10), 9)]
        for place, one in enumerate((1, predicted, good, (predicted - good) ** 2)):
            sums[place] += one

    @property
    def total(self) -> Score:
        return score(Group(bin=number, count=int(n), predicted=p, succeeded=int(g), squared=q)
                     for number, (n, p, g, q) in self.groups.items())  # fmt: skip


def shifted(seed: int, policy: RecoveryPolicy, *, days: float) -> list[int]:
    """Rates are drawn anew in the middle. Of each automatic cell that turned bad: outcomes until it stops."""
    chance = random.Random(seed)
    before, after = rates(chance), rates(chance)
    seen = Seen(policy)
    waits: dict[Cell, int] = {}
    closed: dict[Cell, int] = {}
    for number in range(OUTCOMES):
        at = days * number / OUTCOMES
        if number == OUTCOMES // 2:
            waits = {cell: 0 for cell, rate in after.items()
                     if rate < 0.7 and starts(seen.estimate(cell, at), policy)}  # fmt: skip
        cell = (chance.randrange(SIGNATURES), chance.randrange(ACTIONS))
        true = before if number < OUTCOMES // 2 else after
        seen.add(cell, at, chance.random() < true[cell])
        if cell in waits and cell not in closed:
            waits[cell] += 1
            if not starts(seen.estimate(cell, at), policy):
                closed[cell] = waits[cell]
    return [closed.get(cell, OUTCOMES) for cell in waits]
