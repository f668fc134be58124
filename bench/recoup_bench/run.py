"""Running workloads: a scratch database each, warm-ups, interleaved rounds, the check that both sides did the same."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from recoup.refusals import InputRefused
from recoup.settings import Settings
from recoup.worker import loaded
from recoup_bench import (
    api,
    backfills,
    console,
    dispatches,
    errors,
    gate_zero,
    logs,
    metrics,
    partitions,
    peers,
    promotion,
    recovery,
    retries,
    rules,
    signatures,
    verify,
    workers,
)
from recoup_bench.ground import Ground, migrated, scratch
from recoup_bench.machine import describe
from recoup_bench.measure import OURS, RAW, Timed, check_alike, interleaved, summed_up
from recoup_bench.results import Outcome, Results
from recoup_bench.workload import Trial, Workload

WORKLOADS: tuple[Workload, ...] = (
    *gate_zero.MOVES, gate_zero.APPEND, gate_zero.OUTCOMES, verify.VERIFY, logs.READ, logs.SEAL, *gate_zero.CLAIMS,
    gate_zero.FAIL_ONCE, errors.RECORD, errors.PLAIN, api.RECORD, *retries.RETRIES, retries.FAILING, retries.CLAIM,
    *retries.DRAINS, *retries.FAIL_ONCE, workers.DRAIN, errors.ARCHIVE, metrics.METRICS, metrics.METRICS_DAY,
    console.CONSOLE, *promotion.GATE,
    signatures.SIGNATURES, recovery.INGEST, recovery.CLAIM_FINISH, recovery.FAILING, *recovery.CLAIMS,
    *recovery.DRAINS, rules.EVALUATE, *dispatches.RUNS, backfills.PLAN, partitions.CONTRACT,
)  # fmt: skip
MAX_ROUNDS = 1000


def chosen(names: Sequence[str], *, peers_named: Sequence[str] = ()) -> tuple[Workload, ...]:
    """Workloads by name, all when none is named; peers run in the workloads that they can do."""
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
    found = [by_name[name] for name in dict.fromkeys(names)] or list(WORKLOADS)
    if peers_named and all(workload.peers is None for workload in found):
        theirs = [workload.name for workload in WORKLOADS if workload.peers is not None]
        raise InputRefused(
            "peers_elsewhere",
            f"Peers run in {', '.join(theirs)}, and none of them was chosen.",
            f"Add one: recoup bench {' '.join(names)} {theirs[0]}",
        )
    # Each workload has peers of its own: a peer is set up once, in one database.
    return tuple(w if w.peers is None else replace(w, peers=tuple(map(peers.find, peers_named))) for w in found)


def measure(
    workloads: Sequence[Workload],
    settings: Settings,
    *,
    say: Callable[[str], None],
    show: Callable[[Outcome], None] = lambda outcome: None,
    rounds: int | None = None,
    quick: bool = False,
    template: str | None = None,
) -> Results:
    """Run each workload in a database of its own. ``say`` gets a line for every step, ``show`` each outcome at once.

    The template is a migrated database to copy. Without one, several workloads make one, and share it.
    """
    if rounds is not None and not 1 <= rounds <= MAX_ROUNDS:
        raise InputRefused("rounds_out_of_bounds", f"{rounds} rounds.", f"Ask for 1 to {MAX_ROUNDS}.", rounds=rounds)
    began_at = datetime.now(UTC).replace(microsecond=0)
    machine: dict[str, Any] = {}
    outcomes: list[Outcome] = []
    with contextlib.ExitStack() as stack:
        if template is None and sum(not workload.simulated for workload in workloads) > 1:
            template = stack.enter_context(migrated(settings))
        for workload in workloads:
            size = workload.quick if quick else workload.full
            size = replace(size, rounds=rounds) if rounds is not None else size
            say(f"{workload.name}: creating its database" + (f", {size.idle:,} rows" if size.idle else ""))
            with _ground(workload, settings, template, began_at) as ground:
                machine = machine or describe(ground.admin)
                trial = Trial(workload, ground, size)
                try:
                    outcomes.append(_run(trial, say))
                finally:
                    trial.close()
            show(outcomes[-1])
    complete = len(outcomes) == len(WORKLOADS)
    return Results(began_at=began_at, quick=quick, complete=complete, machine=machine, outcomes=tuple(outcomes))


def _ground(
    workload: Workload, settings: Settings, template: str | None, began_at: datetime
) -> AbstractContextManager[Ground]:
    if workload.simulated:
        return scratch(settings, simulated_from=began_at)
    return scratch(settings, template=template)


def _run(trial: Trial, say: Callable[[str], None]) -> Outcome:
    workload, size = trial.workload, trial.size
    loaded.keep()  # as a worker does
    timed: dict[str, list[Timed]] = {side: [] for side in trial.sides}
    for number, side in interleaved(list(timed), size.warm_ups + size.rounds):
        if sum(map(len, timed.values())) == number * len(timed):  # the first of its round
            trial.prepare()
        done = trial.run(side)
        timed[side].append(done)
        what = f"round {number - size.warm_ups + 1} of {size.rounds}" if number >= size.warm_ups else "warm-up"
        say(f"{workload.name}: {what}, {side}: {done.per_second:,.0f} {workload.unit}/s")
    check_alike(workload.name, trial.tallies())
    if RAW in timed:
        check_alike(workload.name, {s: {workload.unit: sum(t.units for t in timed[s])} for s in (OURS, RAW)})
    counted = {side: rounds[size.warm_ups :] for side, rounds in timed.items()}
    measured = summed_up(counted, against=RAW if RAW in timed else OURS)
    return Outcome(workload=workload, size=size, variants=measured)
