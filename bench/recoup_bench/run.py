"""Running workloads: a scratch database each, warm-ups, interleaved rounds, the check that both sides did the same."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from recoup.refusals import InputRefused
from recoup.settings import Settings
from recoup_bench import (
    claims,
    error_archive,
    error_claims,
    error_gate,
    error_record,
    error_retries,
    moves,
    outcomes,
    peers,
    reads,
    retries,
    seals,
    signatures,
    verify,
)
from recoup_bench.ground import scratch
from recoup_bench.machine import Machine, describe
from recoup_bench.measure import Measured, Timed, interleaved, summed_up
from recoup_bench.workload import OURS, RAW, Bound, Size, Trial, Workload, check_alike

WORKLOADS: tuple[Workload, ...] = (
    *moves.WORKLOADS, *outcomes.WORKLOADS, *verify.WORKLOADS, *reads.WORKLOADS, *seals.WORKLOADS, *claims.WORKLOADS,
    *retries.WORKLOADS, *error_record.WORKLOADS, *error_retries.WORKLOADS, *error_claims.WORKLOADS,
    *error_archive.WORKLOADS, *error_gate.WORKLOADS, *signatures.WORKLOADS,
)  # fmt: skip
ROUNDS_MOST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one workload came to."""

    workload: str
    says: str
    unit: str
    size: Size
    aim: str | None  # in words
    goal: float | None
    ratio: float | None  # of ours to raw
    bound: Bound | None
    reached: bool | None
    variants: tuple[Measured, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """One run of the bench, as it is stored."""

    began_at: datetime
    quick: bool
    machine: Machine
    outcomes: tuple[Outcome, ...]


def chosen(names: Sequence[str], *, peers_named: Sequence[str] = ()) -> tuple[Workload, ...]:
    """Workloads by name, all when none is named; peers take their place beside fail-once."""
    by_name = {workload.name: workload for workload in WORKLOADS}
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=3, cutoff=0.4)
            raise InputRefused(
                "workload_unknown",
                f"There is no workload {name!r}.",
                f"Did you mean {' or '.join(near)}?" if near else f"They are: {', '.join(by_name)}.",
                workload=name,
                known=list(by_name),
            )
    if peers_named:
        if names and retries.NAME not in names:
            raise InputRefused(
                "peers_elsewhere",
                f"Peers run in {retries.NAME}, which was not asked for.",
                f"Add it: recoup bench {' '.join(names)} {retries.NAME}",
            )
        by_name[retries.NAME] = retries.with_peers([peers.find(name) for name in peers_named])
    return tuple(by_name[name] for name in dict.fromkeys(names)) if names else tuple(by_name.values())


def measure(
    workloads: Sequence[Workload],
    settings: Settings,
    *,
    say: Callable[[str], None],
    show: Callable[[Outcome], None] = lambda outcome: None,
    rounds: int | None = None,
    quick: bool = False,
) -> Results:
    """Run each workload in a database of its own. ``say`` gets a line for every step, ``show`` each outcome at once."""
    if rounds is not None and not 1 <= rounds <= ROUNDS_MOST:
        raise InputRefused("rounds_out_of_bounds", f"{rounds} rounds.", f"Ask for 1 to {ROUNDS_MOST}.", rounds=rounds)
    began_at = datetime.now(UTC).replace(microsecond=0)
    machine: Machine | None = None
    outcomes: list[Outcome] = []
    for workload in workloads:
        size = workload.quick if quick else workload.full
        size = replace(size, rounds=rounds) if rounds is not None else size
        say(f"{workload.name}: making its database" + (f", {size.standing:,} rows" if size.standing else ""))
        with scratch(settings, simulated_from=began_at if workload.simulated else None) as ground:
            machine = machine or describe(ground.admin)
            trial = workload.begin(ground, size)
            try:
                outcomes.append(_run(workload, trial, size, say))
            finally:
                trial.close()
        show(outcomes[-1])
    assert machine is not None, "nothing to measure"
    return Results(began_at=began_at, quick=quick, machine=machine, outcomes=tuple(outcomes))


def _run(workload: Workload, trial: Trial, size: Size, say: Callable[[str], None]) -> Outcome:
    variants = trial.variants()
    timed: dict[str, list[Timed]] = {variant: [] for variant in variants}
    begun = -1
    for number, variant in interleaved(list(variants), size.warm_ups + size.rounds):
        counted = number - size.warm_ups + 1
        if number != begun:
            begun = number
            trial.prepare()
        done = variants[variant]()
        what = f"round {counted} of {size.rounds}" if counted > 0 else "warm-up"
        say(f"{workload.name}: {what}, {variant}: {done.per_second:,.0f} {workload.unit}/s")
        if counted > 0:
            timed[variant].append(done)
    check_alike(workload.name, trial.tallies())
    measured = summed_up(timed, against=RAW if RAW in timed else OURS)
    ours = next(m for m in measured if m.variant == OURS)
    return Outcome(
        workload=workload.name,
        says=workload.says,
        unit=workload.unit,
        size=size,
        aim=workload.aim,
        goal=workload.goal,
        ratio=ours.ratio,
        bound=workload.bound,
        reached=_reached(workload, ours),
        variants=measured,
    )


def _reached(workload: Workload, ours: Measured) -> bool | None:
    """Whether ours is fast enough, and within its bound; None when nothing was aimed at, or nothing to compare with."""
    if workload.bound is not None:
        return ours.figures[workload.bound.figure] <= workload.bound.most
    return ours.ratio >= workload.goal if ours.ratio is not None and workload.goal is not None else None


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    """The table of one workload."""
    against = RAW if any(m.variant == RAW for m in outcome.variants) else OURS
    return [
        {
            "variant": m.variant,
            f"{outcome.unit}_per_second": f"{m.median:,.0f}",
            "spread": f"{m.spread:.0%}",
            f"ratio_to_{against}": f"{m.ratio:.2f}" if m.ratio is not None else None,
            "ratio_by_round": f"{m.by_round:.2f}" if m.by_round is not None else None,
            **{name: f"{figure:.3g}" for name, figure in m.figures.items()},
        }
        for m in outcome.variants
    ]
