"""A log read to its end through a subscription, and a log sealed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from psycopg.rows import dict_row

from recoup import ledger
from recoup.database.queries import load
from recoup.gate import AIR
from recoup.lifecycles.declaration import Authority
from recoup_bench.ground import Ground
from recoup_bench.workload import Size, Stage, Trial, Workload, batched, of_raw, small

Q = load("recoup_bench", "logs.sql")
PAGE = 1000
TRANSACTIONS = 20  # that wrote the log which is read
BLOCK = 10_000


def append_events(ground: Ground, rows: int, *, transactions: int) -> None:
    """Insert events into Gate Zero's log, without their moves."""
    for _ in range(transactions):
        with ground.unguarded([AIR.table]) as tx:
            tx.execute(Q["append_events"], {"rows": rows // transactions})
    ground.admin.execute("vacuum (analyze) cl.gate_zero_air")


def subscriptions(trial: Trial) -> Stage:
    """A subscription of its own for each round, so that it begins at the first event."""
    append_events(trial.ground, trial.size.idle, transactions=TRANSACTIONS)
    for number in count(1):
        with trial.ground.ours.transaction(Authority.CONSUMER) as tx:
            ledger.subscribe(tx, AIR, f"bench-{number}")
        yield [f"bench-{number}"]


def read(ground: Ground, names: Sequence[str]) -> int:
    """Every event in pages, each acknowledged."""
    units, caught_up = 0, False
    while not caught_up:
        with ground.ours.transaction(Authority.CONSUMER) as tx:
            page = ledger.read(tx, AIR, names[0], limit=PAGE)
            ledger.acknowledge(tx, page)
        units += len(page.events)
        caught_up = page.caught_up
    return units


def raw_read(ground: Ground, names: Sequence[str]) -> int:
    """The plain page query, which loses events. The same shape of rows as ours hands out."""
    units, after, short = 0, 0, False
    with ground.raw.cursor(row_factory=dict_row) as cursor:
        while not short:
            events = cursor.execute(Q["page"], {"after": after, "limit": PAGE}, prepare=True).fetchall()
            units += len(events)
            short = len(events) < PAGE
            after = events[-1]["seq"] if events else after
    return units


def new_events(trial: Trial) -> Stage:
    """New rows for each round, which raw finds by their range of seq."""
    after = 0
    while True:
        append_events(trial.ground, trial.units, transactions=trial.size.batches)
        (last,) = trial.ground.admin.execute(Q["last_seq"]).fetchone() or (0,)
        yield [(after, last)]
        after = last


def sealed(ground: Ground, ranges: Sequence[tuple[int, int]]) -> int:
    """Block after block, until no row is left to seal."""
    units = 0
    while True:
        with ground.ours.transaction(Authority.ARCHIVER) as tx:
            row = tx.execute(Q["seal"], {"most": BLOCK}).fetchone()
        if row is None:
            return units
        units += row[0]


def digested(ground: Ground, ranges: Sequence[tuple[int, int]]) -> int:
    after, last = ranges[0]
    ((units, _),) = ground.by_hand(Q["digest"], after=after, last=last)
    return int(units)


READ = Workload(
    name="settled-read",
    description=f"read a log through a subscription in pages of {PAGE}, each acknowledged; raw is a plain page query",
    unit="events", k=1, stage=subscriptions, ours=batched(read), raw=batched(raw_read),
    full=Size(idle=200_000, rounds=9, warm_ups=1), quick=small(idle=20_000),
)  # fmt: skip
SEAL = Workload(
    name="seal", description=f"seal a log in blocks of {BLOCK}, raw is one scan that digests the same rows",
    unit="rows", k=BLOCK, stage=new_events, ours=batched(sealed), raw=batched(digested), aims=(of_raw(0.5),),
    full=Size(batches=20, rounds=7, warm_ups=1), quick=small(batches=2),
)  # fmt: skip
