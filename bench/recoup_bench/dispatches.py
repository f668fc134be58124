"""Partitions from their schedule to their verdict: dispatched in turn, published, judged, followed."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from recoup import policy
from recoup.database.acting import acting_as
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.partitions.control_plane import Dispatched, dispatch, follow
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.running import Judged, PublishedRun, judge, publish
from recoup_bench.ground import WORKER, Ground, Twins
from recoup_bench.workload import Size, Stage, Trial, Workload, drained, of_raw, small

Q = load("recoup_bench", "dispatches.sql")
SINK, DIGEST = uuid.UUID(int=1), "0" * 64
LEASE = timedelta(minutes=5)
PARTITIONS = Twins(
    schema="partitions",
    tables=("partition_state", "schedule", "run", "attempt", "partition_event"),
    tally=Q["tally"],
    new="partition_id > %(after)s order by partition_id",
)
# Only these have rows before a round.
COPIED = replace(PARTITIONS, tables=("partition_state", "schedule"))


def ready(trial: Trial) -> Stage:
    """Partitions that are due, of several sources; slots are not what is measured."""
    with trial.ground.ours.transaction(Authority.OPERATOR) as tx:
        policy.apply(tx, "[partitions]\nat_once = 1000\n", (PartitionPolicy,), reason="more than any batch needs")
    while True:
        (last,) = trial.ground.admin.execute(Q["last"]).fetchone() or (0,)
        with trial.ground.unguarded(COPIED.names) as tx:
            tx.execute(Q["fill"], {"rows": trial.units, "tag": str(last)})
        trial.ground.copy(COPIED, {"after": last})
        trial.ground.tidy(COPIED)
        yield range(trial.units)


def turned(ground: Ground, claims: Sequence[Dispatched], limit: int) -> tuple[int, list[Dispatched]]:
    """As a worker does it: what was extracted is published, and in the next transaction judged, followed, and more
    dispatched."""
    if claims:
        with ground.ours.one_statement(Authority.EXTRACTOR) as tx:
            publish(
                tx,
                [
                    PublishedRun(c.run_id, c.token, SINK, f"run_id={c.run_id}", DIGEST, "jsonl", 10, 1000)
                    for c in claims
                ],
            )
    became: list[str] = []
    with ground.ours.transaction(Authority.CONTROL_PLANE) as tx:
        if claims:
            with acting_as(tx, Authority.VALIDATOR):
                became = judge(tx, [Judged(c.run_id, c.token, True) for c in claims])
            follow(tx, only=[c.partition_id for c in claims])
        more = dispatch(tx, limit=limit, worker=WORKER, lease=LEASE)
    return len(became), more


def raw_turned(ground: Ground, claims: Sequence[Any], limit: int) -> tuple[int, list[Any]]:
    """The same two transactions, the second in one round trip."""
    if not claims:
        return 0, ground.by_hand(Q["dispatch"], limit=limit)
    given = {"ids": [row[0] for row in claims], "tokens": [row[1] for row in claims]}
    ground.by_hand(Q["publish"], **given, sink=SINK, digest=DIGEST)
    with ground.raw.pipeline(), ground.raw.transaction():
        done = ground.raw.execute(Q["judge"], given, prepare=True)
        more = ground.raw.execute(Q["dispatch"], {"limit": limit}, prepare=True)
    return len(done.fetchall()), more.fetchall()


RUNS = tuple(
    Workload(
        name=f"partition-runs-{k}",
        description=f"dispatch partitions, publish and accept their runs, {k} at a time, with a no-op extractor",
        unit="partitions", k=k, stage=ready, twins=PARTITIONS, aims=(of_raw(0.5),), weighed=True,
        ours=drained(turned), raw=drained(raw_turned),
        full=Size(batches=batches, rounds=11), quick=small(batches=2, rounds=3),
    )
    for k, batches in ((100, 20), (1000, 4))
)  # fmt: skip
