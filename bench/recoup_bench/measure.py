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
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        return self.units / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One variant of one workload over all counted rounds. Numbers are units per second."""

    variant: str
    median: float
    low: float  # the quartiles: one disturbed round does not move them
    high: float
    ratio: float | None  # of the medians, to the variant that the others are compared with; None for that one
    ours_to_it: float | None  # of a peer: how many times as fast ours is
    by_round: float | None  # median of the ratios within each round: steadier when the machine's speed drifts
    metrics: Mapping[str, float]  # medians
    rounds: tuple[Timed, ...]

    @property
    def spread(self) -> float:
        """The distance between the quartiles, as a share of the median."""
        return (self.high - self.low) / self.median


def interleaved(variants: Sequence[str], rounds: int) -> Iterator[tuple[int, str]]:
    """Round and variant, in the order of running: each round begins with the variant that the last one ended with.

    So a disturbance of the machine affects all variants, and none always runs after the same other one.
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
            metrics={name: statistics.median(t.metrics[name] for t in rounds) for name in rounds[0].metrics},
            rounds=tuple(rounds),
        )
        for variant, rounds in timed.items()
    )


def within_rounds(rounds: Sequence[Timed], against: Sequence[Timed]) -> float:
    """The median of the ratios within each round: both ran at the same time, under the same load."""
    return statistics.median(mine.per_second / other.per_second for mine, other in zip(rounds, against, strict=True))


def quartile(rounds: Sequence[Timed], which: int) -> float:
    """The first, second or third quartile of the units per second."""
    metrics = [t.per_second for t in rounds]
    if len(metrics) == 1:
        return metrics[0]
    return statistics.quantiles(metrics, n=4, method="inclusive")[which - 1]


class UnlikeWork(AssertionError):  # noqa: N818 - named for what is wrong
    """The two sides did not make the same rows: a bug in the workload, and its speeds mean nothing."""


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
