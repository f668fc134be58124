"""Sixty days of three sources: loaded by backfills, troubled in every known way, repaired, and checked against truth.

The history of forty customers, or of as many as the settings say, is loaded within hours of simulated time. Data comes
late and is retried; a shop leaves out a column for a week, which waits for people, who fix the contract and ask for
exactly that week again; a tracker is down, its days are given up, and repaired by a backfill when it is back; totals
are wrong until they are too old. People mark, override, reprocess, pause and cancel. Then no worker runs for days, and
they catch up. At the end there are rows in every status, and every partition is as
:mod:`recoup_demo.partitions_truth` has it.
"""

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from recoup import clock, policy
from recoup.database.access import of_demo
from recoup.database.connection import Actor, Database, Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.partitions import backfilling, control_plane, duties, registry, running, sinks, working
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.executors import Place
from recoup.partitions.identity import Partition
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.sink import Sink
from recoup.worker.duty import Duty
from recoup.worker.standalone import Standalone
from recoup_demo import partitions_people as people
from recoup_demo import partitions_sources as sources
from recoup_demo.partitions_truth import BILLING, DAYS, QUERIES, SHOP, TRACKER, Kind, Layout

Q = load("recoup_demo", "partitions.sql")
SPAN = sources.THE_PRESENT
STANDSTILL = timedelta(days=5, hours=6)  # since the beginning: workers are there again
WORKER = "demo-partitions"
# Most of the time a run waits for the disk. Many in flight are many verdicts and dispatches in one transaction.
IN_FLIGHT, THREADS, CONNECTIONS = 128, 32, 16
BUSY = timedelta(days=5)  # the lease of what is worked on at the end
# When workers look, since the first load: retries wait 5 and 30 minutes, and 2 hours; those of the tracker 10 minutes.
ROUNDS = (6, 18, 30, 42, 54)  # minutes
LATER_ROUNDS = (180, 360)
AGE = next(duty for duty in duties.DUTIES if duty.name == "partition-age")


class Play:
    """The demo: the database, and its simulated time."""

    def __init__(
        self, database: Database, say: Callable[[str], None], *, customers: int | None = None, days: int = DAYS,
        sink: Path | None = None,
    ) -> None:  # fmt: skip
        self.database, self.say = database, say
        # Never the configured sink: the demo empties its own.
        self.settings = replace(of_demo(database.settings), partition_slots=IN_FLIGHT, pool_max=CONNECTIONS)
        if sink is not None:
            self.settings = replace(self.settings, sink=sink)
        self.sink: Sink | None = None
        with database.transaction(Authority.READER) as tx:
            self.begun = self.now = clock.read(tx).now
        last = (self.begun + STANDSTILL - timedelta(hours=1)).date() - timedelta(days=1)
        self.layout = Layout(last=last, customers=customers or self.settings.demo_customers, days=days)
        self._place: Place | None = None

    def play(self) -> None:
        """From the first load to the present."""
        with ThreadPoolExecutor(THREADS) as threads:
            self._place = Place(threads)
            self._days()
        working.release(WORKER)
        wrong = differences(self.database, self.layout)
        count = len(self.layout.partitions())
        self.tell(
            f"{count:,} partitions are as their sources are known to be"
            if not wrong
            else f"{len(wrong):,} of {count:,} partitions differ from what is known, e.g. {wrong[0]}"
        )

    # Scenes ---------------------------------------------------------------------------------------------------------

    def _days(self) -> None:
        with self._sources():
            self._prepare()
            self._first_load()
            for minutes in ROUNDS:
                self.at(timedelta(minutes=minutes))
                self.work()
            people.during_the_day(self)
            for minutes in LATER_ROUNDS:
                self.at(timedelta(minutes=minutes))
                self.work()
        with self._sources():
            self.at(STANDSTILL)
            self._catch_up()
            people.when_the_tracker_is_back(self)
            self._last_day()

    def _prepare(self) -> None:
        root = sinks.folder(self.settings)
        if root.exists():
            shutil.rmtree(root)  # of a demo that was played before
        self.sink = Sink.create(root)
        with self.acting(Authority.OPERATOR, people.LEAD, "three sources are registered") as tx:
            policy.apply(tx, people.registered(self.layout, self.begun), (PartitionPolicy,), reason="the first load")
            sinks.register(tx, self.sink, self.settings.sink_name)

    def _first_load(self) -> None:
        """The history, by backfills. Two customers of the shop joined later: their first days are not wanted yet."""
        layout, history = self.layout, self.layout.number(self.begun.date()) - 1
        everybody = range(layout.customers)
        self.backfill(SHOP, everybody[:-2], (0, history), "history of the shop")
        self.backfill(SHOP, everybody[-2:], (layout.week, history), "history of two customers who joined later")
        self.backfill(BILLING, everybody, (0, history), "history of billing")
        self.backfill(TRACKER, everybody, (0, history), "history of the tracker")
        self.tell(f"{history + 1} days of three sources are loaded: {self.work():,} runs")

    def _catch_up(self) -> None:
        """Workers are there again: what has become too old is given up, and the days since are enqueued."""
        done = self.work(expected=True)
        self.tell(f"no worker ran for days: {done:,} runs since, and what is too old is given up")

    def _last_day(self) -> None:
        """What is open at the end: partitions that are extracted, validated, and not dispatched yet."""
        today = [one for one in self.layout.partitions() if one.logical_date == self.layout.last]
        by_kind = {kind: [one for one in today if self.layout.kind(one) is kind] for kind in Kind}
        self._enqueue(by_kind[Kind.GOOD] + by_kind[Kind.NOT_YET])
        self.work()
        self._dispatch(by_kind[Kind.EXTRACTED_NOW])
        self._publish(self._dispatch(by_kind[Kind.VALIDATED_NOW]))
        self._enqueue(by_kind[Kind.WAITING])
        people.at_the_end(self)

    def _dispatch(self, partitions: Sequence[Partition]) -> list[Dispatched]:
        """Dispatched to a worker that is still busy."""
        self._enqueue(partitions)
        with self.acting(Authority.CONTROL_PLANE) as tx:
            found = control_plane.dispatch(tx, limit=len(partitions), worker="demo-busy", lease=BUSY)
        assert {one.partition for one in found} == set(partitions)  # nothing else is due
        return found

    def _publish(self, runs: Sequence[Dispatched]) -> None:
        assert self.sink is not None
        done = []
        for run in runs:
            with self.sink.writing(run.partition, run.run_id) as writer:
                people.extract(self, run, writer)
            at = self.sink.publish(writer, written_at=self.now)
            found = at.manifest
            done.append(
                running.PublishedRun(
                    run.run_id, run.token, self.sink.sink_id, at.location, at.digest, found.format, found.rows,
                    found.bytes,
                )
            )  # fmt: skip
        with self.acting(Authority.EXTRACTOR) as tx:
            running.publish(tx, done)

    # What it is made of ---------------------------------------------------------------------------------------------

    def work(self, *, expected: bool = False) -> int:
        """What workers do, until nothing is due. ``expected``: also enqueue what the registry expects."""
        hands = Standalone(self.database, Authority.CONTROL_PLANE, name=WORKER)
        hands.settings = self.settings
        done = 0
        self._finish(hands, AGE)
        if expected:
            self._finish(hands, registry.EXPECTED)
        done = working.work_due(hands, place=self._place)
        self._finish(hands, backfilling.DUTY)
        return done

    def _finish(self, hands: Standalone, duty: Duty) -> None:
        assert duty.batch is not None
        more = 1
        while more:
            with hands.transaction() as tx:
                more = duty.batch(tx, hands.policy)

    def backfill(
        self, source: str, customers: Sequence[int], days: tuple[int, int], reason: str, *, planned: bool = True,
        **given: Any,
    ) -> Any:  # fmt: skip
        """Start a backfill and plan it."""
        selection = backfilling.Selection(
            source=source, queries=(QUERIES[source],), customers=tuple(map(self.layout.customer, customers)),
            first=self.layout.day(days[0]), last=self.layout.day(days[1]),
        )  # fmt: skip
        with self.acting(Authority.CONTROL_PLANE, people.LEAD, reason) as tx:
            found = backfilling.start(tx, selection, reason=reason, **given)
        if planned:
            backfilling.plan_all(lambda: self.acting(Authority.CONTROL_PLANE, people.LEAD, reason), found)
        return found

    def _enqueue(self, partitions: Sequence[Partition]) -> None:
        with self.acting(Authority.CONTROL_PLANE) as tx:
            control_plane.enqueue(tx, partitions)

    def acting(self, authority: Authority, actor: Actor | None = None, reason: str | None = None) -> Any:
        return self.database.transaction(authority, actor=actor or Actor("system", WORKER), reason=reason)

    @contextmanager
    def _sources(self) -> Any:
        """The sources answer by the demo's time."""
        before, sources.now = sources.now, lambda: self.now
        try:
            yield
        finally:
            sources.now = before

    def at(self, since: timedelta) -> None:
        self.wait(self.begun + since - self._read())

    def wait(self, by: timedelta) -> None:
        if by > timedelta(0):
            with self.acting(Authority.OPERATOR, people.LEAD) as tx:
                clock.advance(tx, by)
        self.now = self._read()

    def _read(self) -> datetime:
        with self.database.transaction(Authority.READER) as tx:
            return clock.read(tx).now

    def tell(self, line: str) -> None:
        self.say(f"{self.now:%Y-%m-%d %H:%M}  {line}")


def play(database: Database, say: Callable[[str], None], *_meanwhile: object) -> None:
    """Build this part of the demo. It runs nothing meanwhile."""
    Play(database, say).play()


def differences(database: Database, layout: Layout) -> list[str]:
    """Where Recoup differs from what is true of each partition."""
    with database.transaction(Authority.READER) as tx:
        found = {Partition(*row[:4]): row[4:] for row in tx.execute(Q["partitions"])}
    wrong = []
    for partition in layout.partitions():
        kind, found_as = layout.kind(partition), found.pop(partition, None)
        if found_as is None:
            wrong.append(f"{partition} ({kind.name}) is not there")
            continue
        status, schedule, hold, causes, attempts, current = found_as
        end = kind.end
        expected = (end.status, end.schedule, end.hold, end.causes)
        counted = (end.attempts in (None, attempts)) and (end.current is None or end.current == current)
        if (status, schedule, hold, tuple(causes or ())) != expected or not counted:
            wrong.append(f"{partition} ({kind.name}) is {found_as}, and not {tuple(end)}")
    return wrong + [f"{partition} is not known" for partition in found]


def an_eventful_partition(tx: Transaction) -> Partition | None:
    """A partition that succeeded after many events."""
    row = tx.execute(Q["eventful"]).fetchone()
    return None if row is None else Partition(*row)
