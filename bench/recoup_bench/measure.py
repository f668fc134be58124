"""The arithmetic: the order of rounds, medians, spreads and ratios. No database here."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

OURS, RAW = "ours", "raw"
RATIO = "ratio_to_raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Some units, how long they took, and what else was counted meanwhile, by name."""

    units: int
    seconds: float
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        return self.units / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One variant of one workload over all counted rounds. ActivePolicy are units per second."""

    variant: str
    median: float
    low: float  # the quartiles: one disturbed round does not move them
    high: float
    ratio: float | None  # of the medians, to the variant that the others are held against; None for that one
    ours_to_it: float | None  # of a peer: how many times as fast ours is
    by_round: float | None  # median of the ratios within each round: steadier when the machine's speed drifts
    figures: Mapping[str, float]  # medians
    rounds: tuple[Timed, ...]

    @property
    def spread(self) -> float:
        """How far apart the quartiles lie, as a share of the median."""
        return (self.high - self.low) / self.median


def interleaved(variants: Sequence[str], rounds: int) -> Iterator[tuple[int, str]]:
    """Round and variant, in the order of running: each round begins with the variant that the last one ended with.

    So what disturbs the machine for a while meets all variants, and none of them always runs behind the same other.
    """
    for number in range(rounds):
        for variant in variants if number % 2 == 0 else reversed(variants):
            yield number, variant


def summed_up(timed: Mapping[str, Sequence[Timed]], *, against: str) -> tuple[Measured, ...]:
    """The medians, and each one's ratio to ``against``."""
    medians = {variant: statistics.median(t.per_second for t in rounds) for variant, rounds in timed.items()}
    base = medians[against]
    return tuple(
        Measured(
            variant=variant,
            median=medians[variant],
            low=quartile(rounds, 1),
            high=quartile(rounds, 3),
            ratio=medians[variant] / base if variant != against else None,
            ours_to_it=medians[OURS] / medians[variant] if variant not in (OURS, RAW) else None,
            by_round=within_rounds(rounds, timed[against]) if variant != against else None,
            figures={name: statistics.median(t.figures[name] for t in rounds) for name in rounds[0].figures},
            rounds=tuple(rounds),
        )
        for variant, rounds in timed.items()
    )


def within_rounds(rounds: Sequence[Timed], against: Sequence[Timed]) -> float:
    """The median of the ratios of neighbours: both ran within one round, in the same weather."""
    return statistics.median(mine.per_second / other.per_second for mine, other in zip(rounds, against, strict=True))


def quartile(rounds: Sequence[Timed], which: int) -> float:
    """The first, second or third quartile of the units per second."""
    figures = [t.per_second for t in rounds]
    if len(figures) == 1:
        return figures[0]
    return statistics.quantiles(figures, n=4, method="inclusive")[which - 1]


class UnlikeWork(AssertionError):  # noqa: N818 - named for what is wrong
    """The two sides did not make the same rows: a bug in the workload, and its speeds say nothing."""


def check_alike(workload: str, tallies: Mapping[str, Mapping[str, int]]) -> None:
    """Raise when the variants made different rows."""
    if not tallies:
        return
    (first, expected), *others = tallies.items()
    for other, found in others:
        for key in sorted({*expected, *found}):
            mine, its = expected.get(key, 0), found.get(key, 0)
            if mine != its:
                raise UnlikeWork(f"{workload}: {key}: {mine} of {first}, {its} of {other}.")
