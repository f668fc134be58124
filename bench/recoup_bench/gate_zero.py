"""Gate Zero: attempts opened, finished and claimed in sets, outcomes mixed, and units that all fail once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import count, cycle, islice, repeat
from typing import Any
from uuid import UUID

from recoup import clock, gate
from recoup.database.queries import load
from recoup.gate import Attempt, Failed, Finished, NewIntake, Passed
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup_bench.ground import WORKER, Ground, Twins
from recoup_bench.measure import Timed
from recoup_bench.workload import Size, Stage, Stopwatch, Trial, Workload, batched, drain, of_raw, sliced, small

Q = load("recoup_bench", "gate_zero.sql")
REASON = ReasonCode.STATE_MISMATCH
# Reasons of outcomes, in turn; None: it passed.
Reasons = Sequence[ReasonCode | None]
HALF: Reasons = (None, REASON)
TIMED_OUT: Reasons = (ReasonCode.TIMEOUT,)
MIXED: Reasons = (*[None] * 10, *[REASON] * 5, None, None, *[REASON] * 3)  # first attempts, then retries, then a third
EVIDENCE = "check:state the directory says Texas"
OUTCOMES_K = 200
MAX_ADDED = 10_000  # intakes added in one statement
IMPORTS = 100  # batches that the waiting intakes came in with
WAIT = timedelta(hours=24)


GATE_ZERO = Twins(
    schema="cl",
    tables=("gate_zero_batch", "gate_zero_intake", "gate_zero_attempt", "gate_zero_recovery", "gate_zero_air"),
    tally=Q["tally"],
    new="batch_id = any(%(batches)s) order by ctid",
)


def new_intakes(trial: Trial) -> Stage:
    """Intakes of one import batch a round."""
    for number in count(1):
        batch_id = f"round-{number}"
        with trial.ground.ours.transaction(Authority.HUB) as tx:
            gate.create_batch(tx, batch_id)
        intakes = added(trial, batch_id)
        trial.ground.copy(GATE_ZERO, {"batches": [batch_id]})
        trial.ground.tidy(GATE_ZERO)
        yield intakes


def added(trial: Trial, batch_id: str | None = None) -> list[UUID]:
    """The intakes of one round."""
    companies = [
        NewIntake(company_name=f"Company {n}", company_domain=f"company-{n}.example", state="TX")
        for n in range(trial.units)
    ]
    with trial.ground.ours.transaction(Authority.HUB) as tx:
        parts = [gate.add_intakes(tx, some, batch_id=batch_id) for some in sliced(companies, MAX_ADDED)]
    return [intake for part in parts for intake in part]


def open_attempts(trial: Trial) -> Stage:
    """Open attempts of one import batch a round: of every twenty fifteen first, four second and one third."""
    for number in count(1):
        given = {"batches": [f"round-{number}"], "rows": trial.units, "due": trial.units}
        fill(trial.ground, {**given, "second": 15, "third": 19, "open": True})
        yield [Attempt(*row) for row in trial.ground.admin.execute(Q["open_attempts"], given).fetchall()]


def due_retries(trial: Trial) -> Stage:
    """Failed intakes that wait for their second attempt, and at the front as many due ones as all rounds claim."""
    due = (trial.size.rounds + trial.size.warm_ups) * trial.units
    given = {"batches": [f"bench-{number}" for number in range(IMPORTS)], "rows": trial.size.idle + due, "due": due}
    fill(trial.ground, {**given, "second": 0, "third": 20, "open": False})
    yield from repeat(range(trial.units))


def fill(ground: Ground, given: Mapping[str, Any]) -> None:
    with ground.unguarded(GATE_ZERO.names) as tx:
        for part in ("fill_batches", "fill_intakes", "fill_attempts", "fill_recoveries", "fill_events"):
            tx.execute(Q[part], given)
    ground.copy(GATE_ZERO, given)
    ground.tidy(GATE_ZERO)


def units_to_do(trial: Trial) -> Stage:
    """Intakes that exist before the timer starts."""
    while True:
        trial.ground.tidy(GATE_ZERO)
        yield added(trial)


def opened(ground: Ground, intakes: Sequence[UUID]) -> list[Attempt]:
    with ground.ours.one_statement(Authority.GATE) as tx:
        return gate.open_attempts(tx, intakes, worker=WORKER)


def claimed(ground: Ground, batch: Sequence[Any], *, retries: bool = True) -> list[Attempt]:
    with ground.ours.one_statement(Authority.GATE) as tx:
        return gate.claim_attempts(tx, limit=len(batch), worker=WORKER, retries=retries)


def ended(
    ground: Ground, attempts: Sequence[Attempt], *, reasons: Reasons, evidence: str | None = None
) -> list[Finished]:
    outcomes = [_outcome(attempt, why, evidence) for attempt, why in zip(attempts, cycle(reasons), strict=False)]
    with ground.ours.one_statement(Authority.GATE) as tx:
        return gate.finish_attempts(tx, outcomes)


def _outcome(attempt: Attempt, reason: ReasonCode | None, evidence: str | None) -> Passed | Failed:
    if reason is None:
        return Passed(attempt_id=attempt.attempt_id, token=attempt.token, payload_ref=evidence)
    return Failed(attempt_id=attempt.attempt_id, token=attempt.token, reason_code=reason, payload_ref=evidence)


def raw_ended(
    ground: Ground, attempts: Sequence[Any], *, query: str, reasons: Reasons = HALF, evidence: str | None = None
) -> list[Any]:
    """Rows of attempts have the id first and the token fourth, as an Attempt has."""
    return ground.by_hand(
        Q[query],
        attempts=[row[0] for row in attempts],
        tokens=[row[3] for row in attempts],
        reasons=[why and why.value for why in islice(cycle(reasons), len(attempts))],
        payloads=[evidence] * len(attempts),
    )


def fail_once(trial: Trial) -> Timed:
    """First attempts fail, the hours to the retries pass at once in simulated time, and the retries pass."""
    with Stopwatch() as watch:
        failed = drain(trial, partial(claimed, retries=False), partial(ended, reasons=[REASON]))
        with trial.ground.ours.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, WAIT)
        passed = drain(trial, claimed, partial(ended, reasons=[None]))
    assert failed == passed == trial.units, f"{failed} failed and {passed} passed of {trial.units}"
    return Timed(units=passed, seconds=watch.seconds)


MOVES = tuple(
    Workload(
        name=f"moves-{k}",
        description=f"open and finish attempts, {k} a transaction, half of them failing; history, intakes and"
        " recoveries",
        unit="attempts", k=k, stage=new_intakes, twins=GATE_ZERO, aims=(of_raw(goal),),
        ours=batched(opened, partial(ended, reasons=HALF)),
        raw=batched(Q["open"], partial(raw_ended, query="finish_first")),
        full=Size(batches=batches), quick=small(batches=batches),
    )
    for k, batches, goal in ((1, 200, 0.6), (100, 10, 0.6), (1000, 2, 0.6))
)  # fmt: skip
APPEND = Workload(
    name="append-1000", description="open attempts, 1000 a transaction: one event each, through guard and recorder",
    unit="events", k=1000, stage=new_intakes, twins=GATE_ZERO, ours=batched(opened), raw=batched(Q["open"]),
    full=Size(batches=4), quick=small(batches=4),
)  # fmt: skip
OUTCOMES = Workload(
    name="outcomes",
    description=f"write outcomes, {OUTCOMES_K} a transaction: passes, failures, re-entries and last failures",
    unit="outcomes", k=OUTCOMES_K, stage=open_attempts, twins=GATE_ZERO, aims=(of_raw(0.5),),
    ours=batched(partial(ended, reasons=MIXED, evidence=EVIDENCE)),
    raw=batched(partial(raw_ended, query="finish", reasons=MIXED, evidence=EVIDENCE)),
    full=Size(batches=10), quick=small(batches=5),
)  # fmt: skip
# What a claim took fails before the next one: each finds its rows at the front, as in daily work.
CLAIMS = tuple(
    Workload(
        name=f"claim-1m-{k}", description=f"claim due retries, {k} a transaction, while 1,000,000 others wait",
        unit="claims", k=k, stage=due_retries, twins=GATE_ZERO, aims=(of_raw(0.85),),
        ours=batched(claimed, then=partial(ended, reasons=TIMED_OUT)),
        raw=batched(Q["claim"], then=partial(raw_ended, query="finish", reasons=TIMED_OUT)),
        full=Size(batches=batches, idle=1_000_000), quick=small(batches=batches, idle=50_000),
    )
    for k, batches in ((100, 10), (1000, 2))
)  # fmt: skip
# Where job queues fall behind. A peer retries without a wait.
FAIL_ONCE = Workload(
    name="fail-once",
    description="every unit fails once and passes at its retry, 1000 a transaction; peers run on request",
    unit="units", k=1000, stage=units_to_do, ours=fail_once, peers=(), fails_once=True, simulated=True,
    full=Size(batches=10, rounds=5, warm_ups=1), quick=small(batches=2, rounds=3),
)  # fmt: skip
