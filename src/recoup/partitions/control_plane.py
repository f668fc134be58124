"""The control plane's verbs, in sets: enqueue, dispatch, follow, give up, ask.

Only the control plane decides which partitions are worked on and when. Workers report to it, and it follows.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from recoup.database.arrays import Routine, records
from recoup.database.connection import Transaction
from recoup.partitions.identity import Partition
from recoup.partitions.vocabulary import Lane

POOL = "default"
ENQUEUE = Routine(
    name="partitions.enqueue",
    sets=({"sources": "text", "customers": "text", "queries": "text", "dates": "date"},),
    plain={"lane_": "text", "priority_": "integer", "backfill_": "uuid"},
    results={"partition_id": "ids", "known": "known"},
)
DISPATCH = Routine(
    name="partitions.dispatch",
    plain={
        "pool_": "text", "most": "integer", "worker_": "text", "served": "jsonb", "lease": "interval",
        "starts": "boolean", "sink_": "uuid",
    },
    results={
        "run_id": "ids", "partition_id": "partitions_", "source": "sources", "customer_id": "customers",
        "query_name": "queries", "logical_date": "dates", "status": "statuses", "alternative": "alternatives",
        "location": "locations", "digest": "digests", "token": "token_", "lease_until": "until_",
    },
)  # fmt: skip
FOLLOW = Routine(
    name="partitions.follow_runs",
    plain={"most": "integer", "only_": "bigint[]"},
    results={"decided": "decided", "terminal": "terminal"},
)


class Enqueued(NamedTuple):
    """A partition, and whether it was known before."""

    partition_id: int
    known: bool


class Dispatched(NamedTuple):
    """A run whose turn it is: to be extracted (open), or validated again (published)."""

    run_id: UUID
    partition_id: int
    source: str
    customer_id: str
    query_name: str
    logical_date: date
    status: str
    alternative: dict[str, Any] | None
    location: str | None
    digest: str | None
    token: UUID
    lease_until: datetime

    @property
    def partition(self) -> Partition:
        return Partition(self.source, self.customer_id, self.query_name, self.logical_date)


def enqueue(
    tx: Transaction,
    partitions: Sequence[Partition],
    *,
    lane: Lane = Lane.FRESH,
    priority: int | None = None,
    backfill: UUID | None = None,
) -> list[Enqueued]:
    """Enqueue partitions, due now. Those that are known are left as they are."""
    found = ENQUEUE.call(
        tx,
        sources=[one.source for one in partitions],
        customers=[one.customer_id for one in partitions],
        queries=[one.query_name for one in partitions],
        dates=[one.logical_date for one in partitions],
        lane_=lane,
        priority_=priority,
        backfill_=backfill,
    )
    return records(Enqueued, found)


def dispatch(
    tx: Transaction,
    *,
    limit: int,
    worker: str,
    lease: timedelta,
    served: dict[str, list[str]] | None = None,
    pool: str = POOL,
    starts: bool = True,
    sink: UUID | None = None,
) -> list[Dispatched]:
    """Open runs of the partitions whose turn it is, at most ``limit``, under one token and one lease.

    ``served`` names the queries of each source that the worker can extract and validate; None: all. With ``starts``
    they count as started; otherwise each task starts its run itself. ``sink``: what was published into another raw
    sink is left to workers that have that one.
    """
    given = None if served is None else Jsonb(served)
    found = DISPATCH.call(
        tx, pool_=pool, most=limit, worker_=worker, served=given, lease=lease, starts=starts, sink_=sink
    )
    return records(Dispatched, found)


def follow(tx: Transaction, *, limit: int = 1000, only: Sequence[int] | None = None) -> int:
    """Decide what follows from runs that ended. Call again until it returns 0."""
    found = FOLLOW.call(tx, most=limit, only_=None if only is None else list(only))
    return int(found["decided"] or 0)
