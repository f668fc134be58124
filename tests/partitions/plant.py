"""What tests of the work on partitions do often: a database, a raw sink, a policy, and somebody who works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import product
from recoup import clock
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.partitions import control_plane, sinks, working
from recoup.partitions.duties import DUTIES
from recoup.partitions.executors import Place
from recoup.partitions.identity import Partition
from recoup.partitions.sink import Sink
from recoup.policy.rendering import rendered
from recoup.settings import Settings
from recoup.worker.standalone import Standalone

DAY = date(2026, 1, 5)
NEXT = timedelta(hours=3)  # longer than any backoff of the policy
SOURCE, QUERY = "shop", "orders"


@dataclass
class Plant:
    """A database of partitions. Every call commits, or is refused."""

    db: Database
    sink: Sink
    name: str = "worker"

    @property
    def settings(self) -> Settings:
        return self.db.settings

    def policy(
        self, *, extract: dict[str, Any] | None = None, validate: dict[str, Any] | None = None, **values: Any
    ) -> None:
        """The registry has one query, with functions of tests/partitions/own.py."""
        whole = product.shipped()
        section = whole["partitions"]
        section["min_free_mb"] = 1
        query: dict[str, Any] = {
            "extractor": "partitions.own:extract", "extract_with": extract or {},
            "validator": "partitions.own:validate", "validate_with": validate or {},
        }  # fmt: skip
        section |= {name: value for name, value in values.items() if name not in ("query",)}
        query |= values.get("query", {})
        if "contract" in query:
            del query["validator"]  # it has the one or the other
        section["sources"] = {SOURCE: {"queries": {QUERY: query}}}
        with self.db.transaction(Authority.OPERATOR) as tx:
            product.apply_policy(tx, rendered(whole, product.PARTS), reason="a test")

    def enqueue(self, customers: Sequence[str], days: int = 1, **more: Any) -> list[int]:
        partitions = [
            Partition(SOURCE, customer, QUERY, DAY + timedelta(days=n)) for customer in customers for n in range(days)
        ]
        with self.db.transaction(Authority.CONTROL_PLANE) as tx:
            return [one.partition_id for one in control_plane.enqueue(tx, partitions, **more)]

    def context(self, name: str | None = None) -> Standalone:
        return Standalone(self.db, Authority.CONTROL_PLANE, name=name or self.name)

    def work(self, place: Place | None = None, name: str | None = None) -> int:
        return working.work_due(self.context(name), place=place)

    def duty(self, name: str) -> int:
        """One batch of a duty."""
        (duty,) = (one for one in DUTIES if one.name == name)
        context = self.context()
        if duty.flow is not None:
            return duty.flow(context)
        assert duty.batch is not None
        with self.db.transaction(duty.authority) as tx:
            return duty.batch(tx, context.policy)

    def advance(self, by: timedelta = NEXT) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)

    def read(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        with self.db.transaction(Authority.READER) as tx:
            return tx.execute(query.encode(), given).fetchall()

    def states(self) -> dict[str, tuple[str, int, str | None]]:
        """Of each customer: status, attempts, message."""
        found = self.read("select customer_id, status, attempt_count, error_message from partitions.partition_state")
        return {customer: (status, count, message) for customer, status, count, message in found}

    def runs(self) -> list[tuple[str, str | None]]:
        """Status and reason of each run, in the order of their dispatch."""
        return self.read("select status, reason from partitions.run order by dispatch_no")

    def schedules(self) -> list[tuple[str, int, str | None]]:
        """Status, dispatches and hold."""
        query = "select status, dispatches, hold from partitions.schedule order by partition_id"
        return self.read(query)

    def visible(self) -> list[str]:
        """Folders of runs that are in the raw sink."""
        return sorted(str(one.relative_to(self.sink.root)) for one in self.sink.root.glob("source=*/*/*/*/run_id=*"))


def planted(conninfo: str, settings: Settings, root: Path, *, slots: int = 4, **more: Any) -> Plant:
    """A database with a registered sink."""
    sink = Sink.create(root)
    own = replace(settings, sink=root, partition_slots=slots, pool_max=8, **more)
    plant = Plant(Database(conninfo, own), sink)
    with plant.db.transaction(Authority.OPERATOR) as tx:
        sinks.register(tx, sink, "default")
    return plant
