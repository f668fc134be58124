"""Recovery: failures ingested and evaluated, candidates claimed within scopes and ended."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any, TypeAlias

from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.recovery.evaluation import evaluate_due
from recoup.recovery.executing import Claimed, Outcome, claim, finish, turn
from recoup.recovery.matches import NewFailure, ingest
from recoup.signatures import signature
from recoup.worker.standalone import Standalone
from recoup_bench.ground import WORKER, Ground, Twins
from recoup_bench.measure import Timed
from recoup_bench.workload import Aim, Size, Stage, Stopwatch, Trial, Workload, batched, drained, of_raw, small

Q = load("recoup_bench", "recovery.sql")
FAILURE = "the upstream service answered 503"
MESSAGE = "request timed out"
SCOPES = 10
SUCCEEDED, FAILED = Outcome(True), Outcome(False, FAILURE)
COMMITS = Aim(metric="commits", most=0.03)
NOTHING = uuid.UUID(int=0)
CANDIDATES = Twins(
    schema="recovery",
    tables=("incident", "scope", "failure_match", "candidate", "provenance", "lease", "match_queue", "evaluation"),
    tally=Q["tally"],
    new="incident_id > %(after)s order by 1",
)
INGESTED = replace(CANDIDATES, tally=Q["tally_ingested"])
# Only these have rows before a round: what a copy takes is chosen by the incident.
COPIED = replace(CANDIDATES, tables=("incident", "scope", "failure_match", "candidate"))
Fails: TypeAlias = Callable[[int], bool]  # by its place in the batch


def none(_: int) -> bool:
    return False


def half(place: int) -> bool:
    return place % 2 == 0


def fill(ground: Ground, *, rows: int, status: str) -> None:
    """Matches with a candidate each, approved or waiting for a decision, in ours and in raw in the same order."""
    (last,) = ground.admin.execute(Q["last_incident"]).fetchone() or (NOTHING,)
    with ground.unguarded(COPIED.names) as tx:
        given = {"scopes": SCOPES, "rows": rows, "after": last, "status": status}
        for name in ("fill_incidents", "fill_matches", "fill_candidates"):
            tx.execute(Q[name], given)
    ground.copy(COPIED, {"after": last})
    ground.tidy(COPIED)


def ready(trial: Trial) -> Stage:
    """Candidates that may start; and, if asked for, many that wait for a decision."""
    if trial.size.idle:
        fill(trial.ground, rows=trial.size.idle, status="pending")
    while True:
        fill(trial.ground, rows=trial.units, status="approved")
        yield range(trial.units)


def claimed(ground: Ground, batch: Sequence[Any]) -> list[Claimed]:
    with ground.ours.one_statement(Authority.CLAIM_WORKER) as tx:
        return claim(tx, limit=len(batch), worker=WORKER)


def ended(ground: Ground, claims: Sequence[Claimed], *, fails: Fails) -> list[str]:
    with ground.ours.one_statement(Authority.EVALUATOR) as tx:
        return finish(tx, _outcomes(claims, fails))


def turned(ground: Ground, claims: Sequence[Claimed], limit: int, *, fails: Fails) -> tuple[int, list[Claimed]]:
    """As a worker does it: what was claimed before is ended, and more is claimed, in one transaction."""
    with ground.ours.transaction(Authority.CLAIM_WORKER) as tx:
        became, more = turn(tx, _outcomes(claims, fails), limit=limit, worker=WORKER)
    return len(became), more


def _outcomes(claims: Sequence[Claimed], fails: Fails) -> list[tuple[Claimed, Outcome]]:
    return [(one, FAILED if fails(place) else SUCCEEDED) for place, one in enumerate(claims)]


def raw_claimed(ground: Ground, batch: Sequence[Any]) -> list[Any]:
    return ground.by_hand(Q["claim"], limit=len(batch))


def raw_ended(ground: Ground, claims: Sequence[Any], *, fails: Fails) -> list[Any]:
    return ground.by_hand(Q["finish"], **_raw_outcomes(claims, fails))


def _raw_outcomes(claims: Sequence[Any], fails: Fails) -> dict[str, Any]:
    failed = [fails(place) for place in range(len(claims))]
    return {
        "ids": [row[0] for row in claims],
        "tokens": [row[1] for row in claims],
        "outcomes": ["failed" if one else "succeeded" for one in failed],
        "errors": [FAILURE if one else None for one in failed],
    }


def raw_turned(ground: Ground, claims: Sequence[Any], limit: int, *, fails: Fails) -> tuple[int, list[Any]]:
    """Both statements in one transaction and one round trip."""
    if not claims:
        return 0, raw_claimed(ground, range(limit))
    with ground.raw.pipeline(), ground.raw.transaction():
        done = ground.raw.execute(Q["finish"], _raw_outcomes(claims, fails), prepare=True)
        more = ground.raw.execute(Q["claim"], {"limit": limit}, prepare=True)
    return len(done.fetchall()), more.fetchall()


def half_and_none(trial: Trial) -> Timed:
    """Ours alone: sets of which half fail and sets of which none does, in turns."""
    watches, units = {half: Stopwatch(), none: Stopwatch()}, 0
    for number, batch in enumerate(trial.batches()):
        fails = half if number % 2 else none
        with watches[fails]:
            units += len(ended(trial.ground, claimed(trial.ground, batch), fails=fails))
    metrics = {"half_failing_to_none": watches[half].seconds / watches[none].seconds}
    return Timed(units=units, seconds=sum(watch.seconds for watch in watches.values()), metrics=metrics)


# From a failure to its candidate --------------------------------------------------------------------------------------


def new_failures(trial: Trial) -> Stage:
    yield from repeat(range(trial.units))


def evaluated(ground: Ground, batch: Sequence[Any]) -> int:
    """Ingested, and evaluated until each has its candidate."""
    source = f"bench-{uuid.uuid4()}"
    failures = [NewFailure(source=source, message=MESSAGE, key=f"k{place}") for place in range(len(batch))]
    with ground.ours.transaction(Authority.MATCHER) as tx:
        ingest(tx, failures)
    return evaluate_due(Standalone(ground.ours, Authority.EVALUATOR, name=WORKER))


def raw_evaluated(ground: Ground, batch: Sequence[Any]) -> int:
    keys = [f"k{place}" for place in range(len(batch))]
    found = ground.by_hand(
        Q["new_matches"], keys=keys, messages=[MESSAGE] * len(keys), source=f"bench-{uuid.uuid4()}",
        signature=signature(MESSAGE).key,
    )  # fmt: skip
    return len(found)


INGEST = Workload(
    name="ingest-candidate",
    description="ingest failures, 1,000 a call, and evaluate them until each has its candidate",
    unit="failures", k=1000, stage=new_failures, twins=INGESTED, aims=(of_raw(0.25),), weighed=True,
    ours=batched(evaluated), raw=batched(raw_evaluated),
    full=Size(batches=2, rounds=15), quick=small(batches=1, rounds=3),
)  # fmt: skip
CLAIM_FINISH = Workload(
    name="candidates-100",
    description="claim candidates within their scopes and end them, 100 a transaction",
    unit="candidates", k=100, stage=ready, twins=CANDIDATES, aims=(of_raw(0.6),), weighed=True,
    ours=drained(partial(turned, fails=none)), raw=drained(partial(raw_turned, fails=none)),
    full=Size(batches=40, rounds=15), quick=small(batches=4, rounds=3),
)  # fmt: skip
FAILING = Workload(
    name="candidates-100-failing",
    description="the same, sets of which half fail compared with sets of which none does: what failing costs",
    unit="candidates", k=100, stage=ready, ours=half_and_none,
    full=Size(batches=40), quick=small(batches=20), aims=(Aim(metric="half_failing_to_none", most=1.2),),
)  # fmt: skip
CLAIMS = tuple(
    Workload(
        name=f"claim-candidates-1m{'' if k == 100 else f'-{k}'}",
        description=f"claim candidates and end them, {k:,} a transaction, while 1,000,000 others wait for a decision",
        unit="candidates", k=k, stage=ready, twins=CANDIDATES, aims=(of_raw(0.85),),
        ours=drained(partial(turned, fails=none)), raw=drained(partial(raw_turned, fails=none)),
        full=Size(batches=batches, rounds=11, idle=1_000_000),
        quick=small(batches=4, rounds=3, idle=20_000),
    )
    for k, batches in ((100, 20), (1000, 10))
)  # fmt: skip
DRAINS = tuple(
    Workload(
        name=f"drain-candidates-{k}",
        description=f"end candidates as succeeded and claim the next, {k} a transaction, until none may start",
        unit="candidates", k=k, stage=ready, twins=CANDIDATES, weighed=True, peers=(),
        aims=(of_raw(0.6), Aim(metric="times_pgqueuer", least=1.4 if k == 100 else 1.8), COMMITS),
        ours=drained(partial(turned, fails=none)), raw=drained(partial(raw_turned, fails=none)),
        full=Size(batches=batches, rounds=11), quick=small(batches=2, rounds=3),
    )
    for k, batches in ((100, 100), (1000, 20))
)  # fmt: skip
