"""A log read to its end through a subscription, beside the plain page query that loses events."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from psycopg.rows import dict_row

from recoup import ledger
from recoup.database.queries import load
from recoup.gate import AIR
from recoup.lifecycles.declaration import Authority
from recoup_bench.ground import Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import OURS, RAW, Size, Stopwatch, Trial, Workload

Q = load("recoup_bench", "reads.sql")
PAGE = 1000
TRANSACTIONS = 20  # that wrote the log


class SettledRead(Trial):
    """Both sides read every event in pages; ours also takes the subscription and acknowledges each page."""

    def __init__(self, ground: Ground, size: Size) -> None:
        self.ground = ground
        self.names = 0
        self.read: dict[str, int] = {OURS: 0, RAW: 0}
        ground.append_events(size.standing, transactions=TRANSACTIONS)

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours, RAW: self.raw}

    def ours(self) -> Timed:
        db, units, caught_up = self.ground.ours, 0, False
        self.names += 1
        name = f"bench-{self.names}"  # a subscription of its own, so that each round begins at the first event
        with db.transaction(Authority.CONSUMER) as tx:
            ledger.subscribe(tx, AIR, name)
        with Stopwatch() as watch:
            while not caught_up:
                with db.transaction(Authority.CONSUMER) as tx:
                    page = ledger.read(tx, AIR, name, limit=PAGE)
                    ledger.acknowledge(tx, page)
                units += len(page.events)
                caught_up = page.caught_up
        self.read[OURS] += units
        return Timed(units=units, seconds=watch.seconds)

    def raw(self) -> Timed:
        units, after, short = 0, 0, False
        # The same shape of rows as ours hands out.
        with Stopwatch() as watch, self.ground.raw.cursor(row_factory=dict_row) as cursor:
            while not short:
                events = cursor.execute(Q["page"], {"after": after, "limit": PAGE}).fetchall()
                units += len(events)
                short = len(events) < PAGE
                after = events[-1]["seq"] if events else after
        self.read[RAW] += units
        return Timed(units=units, seconds=watch.seconds)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        return {side: {"events read": read} for side, read in self.read.items()}


WORKLOADS = (
    Workload(
        name="settled-read",
        says=f"read a log through a subscription in pages of {PAGE}, each acknowledged, beside a plain page query",
        unit="events",
        begin=SettledRead,
        full=Size(standing=200_000, rounds=9, warm_ups=1),
        quick=Size(standing=20_000, rounds=5, warm_ups=1),
    ),
)
