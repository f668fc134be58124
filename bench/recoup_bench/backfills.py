"""The planning of a backfill: 100,000 partitions in chunks of 10,000, each by one statement."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import date, timedelta

from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.partitions.backfilling import CHUNK, Selection, plan, start
from recoup_bench.ground import Ground, Twins
from recoup_bench.workload import Size, Stage, Trial, Workload, batched, small

Q = load("recoup_bench", "backfills.sql")
CUSTOMERS, FIRST = 100, date(2020, 1, 1)
BACKFILLS = Twins(
    schema="partitions",
    tables=("partition_state", "schedule", "partition_event", "backfill", "backfill_item"),
    tally=Q["tally"],
    new="true",  # nothing is there before
)


def asked(trial: Trial) -> Stage:
    """In each round a backfill of a source of its own, of which nothing is planned yet."""
    customers = min(CUSTOMERS, trial.units)
    while True:
        selection = Selection(
            source=f"bench-{uuid.uuid4()}", queries=("q",), customers=tuple(f"c{n:03}" for n in range(customers)),
            first=FIRST, last=FIRST + timedelta(days=trial.units // customers - 1),
        )  # fmt: skip
        assert selection.size == trial.units
        with trial.ground.ours.transaction(Authority.CONTROL_PLANE) as tx:
            backfill = start(tx, selection, reason="bench")
        trial.ground.admin.execute(Q["begin"], {"backfill": backfill})
        trial.ground.tidy(BACKFILLS)
        yield [backfill] * trial.units


def planned(ground: Ground, chunk: Sequence[uuid.UUID]) -> int:
    """The next chunk, as a command or a worker plans it."""
    with ground.ours.one_statement(Authority.CONTROL_PLANE) as tx:
        plan(tx, chunk[0], chunk=len(chunk))
    return len(chunk)


def raw_planned(ground: Ground, chunk: Sequence[uuid.UUID]) -> int:
    ((count,),) = ground.by_hand(Q["plan"], backfill=chunk[0], limit=len(chunk))
    return int(count)


PLAN = Workload(
    name="backfill-plan",
    description=f"plan a backfill of 100,000 partitions, {CHUNK:,} at a time",
    unit="partitions", k=CHUNK, stage=asked, twins=BACKFILLS, weighed=True,
    ours=batched(planned), raw=batched(raw_planned),
    full=Size(batches=10, rounds=5, warm_ups=1), quick=small(batches=2, rounds=1),
)  # fmt: skip
