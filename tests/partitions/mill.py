"""Partitions worked on without files: dispatched, published and judged by hand."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

from recoup.database.acting import acting_as
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.partitions import control_plane
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.identity import Partition
from recoup.partitions.running import Judged, PublishedRun, judge, publish

DAY = date(2026, 1, 1)
LEASE = timedelta(minutes=5)
SINK = uuid.UUID(int=7)


class Mill:
    """A source of its own in a database, and what is done to its partitions."""

    def __init__(self, database: Database) -> None:
        self.database, self.source = database, f"s-{uuid.uuid4()}"

    def partition(self, customer: str = "c", *, query: str = "q", day: int = 0) -> Partition:
        return Partition(self.source, customer, query, DAY + timedelta(days=day))

    def enqueue(self, *partitions: Partition, **given: Any) -> list[int]:
        with self.database.transaction(Authority.CONTROL_PLANE) as tx:
            return [one.partition_id for one in control_plane.enqueue(tx, partitions, **given)]

    def dispatch(self, limit: int = 100, *, queries: Sequence[str] = ("q",), **given: Any) -> list[Dispatched]:
        with self.database.transaction(Authority.CONTROL_PLANE) as tx:
            return control_plane.dispatch(
                tx, limit=limit, worker="w", lease=LEASE, served={self.source: list(queries)}, **given
            )

    def end(self, runs: Sequence[Dispatched], accepts: Callable[[Dispatched], bool] = lambda _: True,
            message: str = "the data is late") -> list[str]:  # fmt: skip
        """Published, judged and followed."""
        with self.database.transaction(Authority.EXTRACTOR) as tx:
            publish(
                tx,
                [PublishedRun(r.run_id, r.token, SINK, f"run_id={r.run_id}", "0" * 64, "jsonl", 1, 10) for r in runs],
            )
        with self.database.transaction(Authority.VALIDATOR) as tx:
            verdicts = [
                Judged(r.run_id, r.token, True)
                if accepts(r)
                else Judged(r.run_id, r.token, False, "LATE", None, message)
                for r in runs
            ]
            became = judge(tx, verdicts)
            with acting_as(tx, Authority.CONTROL_PLANE):
                control_plane.follow(tx)
        return became

    def read(self, query: str, *given: object) -> list[tuple[Any, ...]]:
        with self.database.transaction(Authority.READER) as tx:
            return tx.execute(query, given).fetchall()

    def stands(self, customer: str = "c", *, query: str = "q", day: int = 0) -> tuple[str, str, int]:
        """Status of the partition and of its schedule, and how often it was tried."""
        ((state, schedule, count),) = self.read(
            "select p.status, s.status, p.attempt_count from partitions.partition_state p"
            " join partitions.schedule s using (partition_id)"
            " where p.source = %s and p.customer_id = %s and p.query_name = %s and p.logical_date = %s",
            *self.partition(customer, query=query, day=day),
        )
        return state, schedule, count
