"""What tests of people and consumers do often: a registry, a raw sink, and a worker that plays one turn at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import product
from recoup import clock
from recoup.client import Client
from recoup.database.acting import acting_as
from recoup.database.connection import Actor
from recoup.lifecycles.declaration import Authority
from recoup.partitions import Selection, control_plane, running, select
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.identity import Partition
from recoup.partitions.running import Judged, PublishedRun
from recoup.partitions.sink import Sink
from recoup.settings import Settings

COMMON = """
[partitions]
jitter = 0
max_attempts = 2
[partitions.contracts.orders]
columns.id.type = "integer"
"""
SOURCE = """
[partitions.sources.{source}]
at_once = 1000
time_zone = "Europe/Berlin"
[partitions.sources.{source}.queries.orders]
extractor = "shop.orders:extract"
contract = "orders"
customers = ["acme", "zeta"]
[partitions.sources.{source}.queries.refunds]
extractor = "shop.refunds:extract"
validator = "shop.refunds:validate"
"""
SOURCES = tuple(f"shop{number:02}" for number in range(1, 61))
POLICY = COMMON + "".join(SOURCE.format(source=source) for source in SOURCES)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ADA = Actor("human", "ada")
FIRST = date(2025, 12, 1)


class Ward:
    """A registry, a raw sink and a worker. Tests share a database, and each has a source of its own."""

    def __init__(self, client: Client, root: Path) -> None:
        self.client = client
        self.sink = Sink.create(root)
        self.source = ""
        self._sources = iter(SOURCES)
        self.policy(POLICY)

    def next_source(self) -> Ward:
        """The same database, with a source in which nothing is."""
        self.source = next(self._sources)
        return self

    def key(self, number: int = 0, *, customer: str = "acme", query: str = "orders") -> Partition:
        """The partition of a day."""
        return Partition(self.source, customer, query, FIRST + number * DAY)

    @property
    def all(self) -> Selection:
        """Everything of the source."""
        return select(source=self.source)

    def policy(self, text: str) -> None:
        with self.client.transaction(Authority.OPERATOR) as tx:
            product.apply_policy(tx, text, reason="a test")

    def advance(self, by: timedelta) -> None:
        with self.client.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)

    def enqueue(self, *partitions: Partition) -> None:
        with self.client.transaction(Authority.CONTROL_PLANE) as tx:
            control_plane.enqueue(tx, partitions)

    def dispatch(self, limit: int = 100) -> list[Dispatched]:
        with self.client.transaction(Authority.CONTROL_PLANE) as tx:
            served = {self.source: ["orders", "refunds"]}
            return control_plane.dispatch(tx, limit=limit, worker="w1", lease=timedelta(minutes=5), served=served)

    def publish(
        self, runs: Sequence[Dispatched], rows: Sequence[Mapping[str, Any]] = ({"id": 1},), table: Any = None
    ) -> None:
        reports = []
        for one in runs:
            with self.sink.writing(one.partition, one.run_id) as writer:
                writer.rows(rows) if table is None else writer.table(table)
            done = self.sink.publish(writer)
            found = done.manifest
            reports.append(
                PublishedRun(
                    one.run_id, one.token, self.sink.sink_id, done.location, done.digest, found.format, found.rows,
                    found.bytes,
                )
            )  # fmt: skip
        with self.client.transaction(Authority.EXTRACTOR) as tx:
            running.publish(tx, reports)

    def judge(self, runs: Sequence[Dispatched], **rejected: str) -> list[str]:
        """Accept runs, or reject them with this reason and message."""
        verdicts = [
            Judged(one.run_id, one.token, not rejected, validator="contract:orders", validator_version="1", **rejected)
            for one in runs
        ]
        with self.client.transaction(Authority.VALIDATOR) as tx:
            answers = running.judge(tx, verdicts)
            with acting_as(tx, Authority.CONTROL_PLANE):
                control_plane.follow(tx)
        return answers

    def lose(self, times: int) -> None:
        """Dispatches that come to nothing; the last one that the policy allows is rejected."""
        for _ in range(times):
            (run,) = self.dispatch()
            reports = {"runs": [run.run_id], "tokens": [run.token], "messages": ["no file"]}
            with self.client.transaction(Authority.CONTROL_PLANE) as tx:
                (answer,) = tx.execute(
                    "select statuses[1] from partitions.lose_runs(%(runs)s, %(tokens)s, '{X}', %(messages)s)", reports
                ).fetchone() or (None,)
            if answer == "cap":
                with self.client.transaction(Authority.VALIDATOR) as tx:
                    tx.execute(
                        "select partitions.reject_lost(%(runs)s, %(tokens)s, %(messages)s, '{s1}', '{TRANSIENT}')",
                        reports,
                    )
            self.follow()
            self.advance(3 * HOUR)

    def fail_all(self) -> None:
        """Everything that waits fails, without anything in the sink: by one dispatch that is all the policy allows."""
        self.policy(POLICY.replace("jitter = 0", "jitter = 0\ndispatch_cap = 1"))
        runs = self.dispatch(limit=1000)
        given = {
            "runs": [one.run_id for one in runs], "tokens": [one.token for one in runs],
            "messages": ["no file"] * len(runs), "signatures": ["s1"] * len(runs),
            "categories": ["TRANSIENT"] * len(runs),
        }  # fmt: skip
        with self.client.transaction(Authority.VALIDATOR) as tx:
            tx.execute(
                "select partitions.reject_lost(%(runs)s, %(tokens)s, %(messages)s, %(signatures)s, %(categories)s)",
                given,
            )
        self.follow()
        self.policy(POLICY)

    def follow(self) -> None:
        with self.client.transaction(Authority.CONTROL_PLANE) as tx:
            control_plane.follow(tx)

    def accept(self, *partitions: Partition, rows: Sequence[Mapping[str, Any]] = ({"id": 1},)) -> list[Dispatched]:
        """Partitions with accepted data."""
        self.enqueue(*partitions)
        runs = self.dispatch()
        self.publish(runs, rows)
        assert set(self.judge(runs)) == {"accepted"}
        return runs

    def reject(
        self,
        *partitions: Partition,
        message: str = "2 rows are null",
        reason: str = "CONTRACT_BROKEN",
        rule: str = "id",
    ) -> list[Dispatched]:
        """Partitions whose first run is rejected."""
        self.enqueue(*partitions)
        runs = self.dispatch()
        self.publish(runs)
        assert set(self.judge(runs, reason=reason, message=message, rule=rule)) == {"rejected"}
        return runs

    def exhaust(self, *partitions: Partition) -> None:
        """Partitions that are terminal for their attempts."""
        self.reject(*partitions)
        self.advance(DAY)
        runs = self.dispatch()
        self.publish(runs)
        self.judge(runs, reason="CONTRACT_BROKEN", message="still", rule="id")

    def read(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        with self.client.transaction(Authority.READER) as tx:
            return tx.execute(query.encode(), given).fetchall()


def opened(new_database: Any, server: Any, settings: Settings, folder: Path) -> Iterator[Ward]:
    """For a fixture of a module."""
    with Client(server.uri(new_database()), replace(settings, sink=folder / "sink")) as client:
        yield Ward(client, folder / "sink")
