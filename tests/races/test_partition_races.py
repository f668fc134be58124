"""Two control planes and eight executors on the same partitions; and lanes and sources take turns, however many wait.

`make soak` has more interleavings, and more that wait.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from random import Random

import pytest

from product import PARTS, chosen
from recoup import policy
from recoup.database import embedded
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.partitions import control_plane, running
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.identity import Partition
from recoup.partitions.running import Judged, LostRun, PublishedRun
from recoup.partitions.sink import Sink
from recoup.partitions.sinks import register
from recoup.partitions.vocabulary import Lane
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
sys.path.insert(0, str(Path(__file__).parent))
from lively import audited, broken
from racing import together

CONTROL_PLANE, EXTRACTOR, VALIDATOR = Authority.CONTROL_PLANE, Authority.EXTRACTOR, Authority.VALIDATOR
ROUNDS, MORE_ROUNDS = 40, 20  # of the long run 20, each time
STEPS, PARTITIONS, EXECUTORS, RECENT = 8, 4, 8, 6
LEASES = (timedelta(milliseconds=15), timedelta(milliseconds=200), timedelta(seconds=30), timedelta(seconds=30))
DAY = date(2026, 1, 1)
POLICY = """
[partitions]
backoff_strategy = "none"
jitter = 0
dispatch_cap = 3
max_attempts = 4
at_once = 1000
"""
# Nothing that was accepted earlier is current after something that was accepted later, and runs do not overlap.
OVERLAPPING = """
select r.partition_id from partitions.run r
  join partitions.run x on x.partition_id = r.partition_id and x.number = r.number + 1
 where r.ended_at is null or x.opened_at < r.ended_at
"""
MOVED_BACK = """
select e.partition_id from (
  select a.partition_id, r.number, lag(r.number) over (partition by a.partition_id order by a.seq) as before
    from partitions.attempt a join partitions.run r on r.run_id = a.run_id) e
 where e.number <= e.before
"""


@pytest.fixture
def is_long(pytestconfig: pytest.Config) -> bool:
    return int(pytestconfig.getoption("--cases")) > 200


@pytest.fixture
def chance(request: pytest.FixtureRequest, seed: int, again: int) -> Random:
    return Random(f"{request.node.originalname} {seed} {again}")


@pytest.fixture
def database(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, tmp_path: Path
) -> Iterator[Database]:
    with Database(server.uri(new_database(simulated_from=None)), settings) as database:
        with database.transaction(Authority.OPERATOR) as tx:
            policy.apply(tx, POLICY, PARTS, reason="nobody waits")
            register(tx, Sink.create(tmp_path / "sink"), "default")
        yield database


class Floor:
    """A few partitions of one source, and everybody who works on them."""

    def __init__(self, database: Database, number: int) -> None:
        self.db, self.source = database, f"race-{number}"
        with database.transaction(CONTROL_PLANE) as tx:
            found = control_plane.enqueue(
                tx, [Partition(self.source, f"c{n}", "q", DAY) for n in range(PARTITIONS)]
            )  # fmt: skip
            ((self.sink,),) = tx.execute("select sink_id from partitions.sink").fetchall()
        self.ids = [one.partition_id for one in found]
        self.runs: list[Dispatched] = []
        self.lock = threading.Lock()
        self.said: Counter[str] = Counter()

    def control(self, chance: Random) -> None:
        """A control plane: dispatches, follows, ends what expired, and does what people ask for."""
        for _ in range(STEPS):
            act = chance.choice((self.dispatch, self.dispatch, self.follow, self.expire, self.ask))
            act(chance)

    def dispatch(self, chance: Random) -> None:
        with self.db.transaction(CONTROL_PLANE) as tx:
            found = control_plane.dispatch(
                tx, limit=chance.randint(1, PARTITIONS), worker="w", lease=chance.choice(LEASES),
                served={self.source: ["q"]}, starts=chance.random() < 0.5, pool=chance.choice(("one", "two")),
            )  # fmt: skip
        with self.lock:
            self.runs += found

    def follow(self, _: Random) -> None:
        with self.db.transaction(CONTROL_PLANE) as tx:
            control_plane.follow(tx, only=self.ids)

    def expire(self, _: Random) -> None:
        with self.db.transaction(CONTROL_PLANE) as tx:
            running.expire(tx)
            control_plane.follow(tx, only=self.ids)

    def ask(self, chance: Random) -> None:
        with self.db.transaction(CONTROL_PLANE, actor=Actor("human", "ann"), reason="again") as tx:
            tx.execute(
                "select partitions.ask(%s, %s, 1, null, null, null, null, null, true)",
                ([chance.choice(self.ids)], chance.choice(("retry", "reprocess", "mark"))),
            )

    def execute(self, chance: Random) -> None:
        """An executor: reports on any run it has heard of, its own or another's, in time or not, once or twice."""
        for _ in range(STEPS):
            with self.lock:
                run = chance.choice(self.runs[-RECENT:]) if self.runs else None
            if run is None:
                time.sleep(0.002)
                continue
            act = chance.choice(
                (self.extract, self.extract, self.extract, self.judge, self.judge, self.judge, self.lose)
            )
            act(run, chance)

    def extract(self, run: Dispatched, _: Random) -> None:
        where = f"run_id={run.run_id}"
        with self.db.transaction(EXTRACTOR if run.status == "open" else VALIDATOR) as tx:
            running.start(tx, run.run_id, run.token)
        if run.status != "open":
            return  # it is to be validated again
        with self.db.transaction(EXTRACTOR) as tx:
            running.publish(
                tx, [PublishedRun(run.run_id, run.token, self.sink, where, "0" * 64, "jsonl", 1, 1)]
            )  # fmt: skip

    def judge(self, run: Dispatched, chance: Random) -> None:
        verdict = Judged(run.run_id, run.token, chance.random() < 0.5, "R", None, "no", "v", "1")
        with self.db.transaction(VALIDATOR) as tx:
            (became,) = running.judge(tx, [verdict])
        with self.lock:
            self.said[became] += 1

    def lose(self, run: Dispatched, chance: Random) -> None:
        reason = chance.choice(("EXTRACTOR_ERROR", "SINK_UNAVAILABLE"))
        with self.db.transaction(CONTROL_PLANE) as tx:
            running.lose(tx, [LostRun(run.run_id, run.token, reason, "it raised")])


@pytest.mark.timeout(600)
def test_two_control_planes_and_eight_executors(
    database: Database, chance: Random, pytestconfig: pytest.Config
) -> None:
    """Never two runs of a partition under way, no pointer moved back, every attempt counted once; and nobody fails."""
    said: Counter[str] = Counter()
    for number in range(ROUNDS if int(pytestconfig.getoption("--times")) == 1 else MORE_ROUNDS):
        floor = Floor(database, number)
        acts: list[Callable[[], None]] = []
        for n in range(2 + EXECUTORS):
            own = Random(chance.random())
            acts.append(lambda work=floor.control if n < 2 else floor.execute, own=own: work(own))  # type: ignore[misc]
        assert together(*acts) == [None] * len(acts)
        said += floor.said
    with database.transaction(Authority.READER) as tx:
        assert tx.execute(OVERLAPPING).fetchall() == []
        assert tx.execute(MOVED_BACK).fetchall() == []
    held = chosen(["partitions", "rebuild", "laws/L5", "laws/L2/chain"])
    assert broken(audited(database, *(one for one in held if one.outside is None))) == {}
    assert said["accepted"] > 0
    assert said["rejected"] > 0
    assert said["late"] > 0


# Turns ----------------------------------------------------------------------------------------------------------------

FRESH = ("fresh-a", "fresh-b", "both")
OLD = ("both", "history")
SLOTS, TURNS = 20, 60
FIRST_FRESH = 10_000_000  # customers from here on are of fresh partitions
AGAIN = 0.4  # share of runs whose validator is lost


def test_lanes_and_sources_take_turns_however_many_wait(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, chance: Random, is_long: bool
) -> None:
    """Fresh goes first, of each ten one at least is of backfill while one waits, and no source waits for another.

    Some are dispatched twice, because their validator was lost the first time: that is a dispatch like any other.
    """
    waiting = 100_000 if is_long else 5_000
    with Database(server.uri(new_database()), settings) as database:
        with database.transaction(Authority.OPERATOR) as tx:
            policy.apply(tx, POLICY, PARTS, reason="nobody waits")
        for source in OLD:
            for first in range(0, waiting // len(OLD), 5_000):
                _enqueue(database, source, Lane.BACKFILL, range(first, min(first + 5_000, waiting // len(OLD))))
        left: Counter[str] = Counter()  # fresh ones that wait, by source
        made = FIRST_FRESH
        since = again = 0
        last: dict[str, str] = {}
        for _ in range(TURNS):
            for source in FRESH:
                more = chance.choice((0, 0, 3, 9, 25))
                _enqueue(database, source, Lane.FRESH, range(made, made + more))
                left[source] += more
                made += more
            with database.transaction(CONTROL_PLANE) as tx:
                runs = control_plane.dispatch(tx, limit=SLOTS, worker="w", lease=timedelta(minutes=5))
            assert len(runs) == SLOTS, "a slot is free, and something waits"
            waited: dict[str, Counter[str]] = defaultdict(Counter)
            for run in runs:
                lane = "backfill" if int(run.customer_id) < FIRST_FRESH else "fresh"
                if lane == "fresh":
                    assert since < 9, "of each ten dispatches one is of a backfill"
                    left[run.source] -= 1
                    since += 1
                else:
                    assert since == 9 or not +left, "a free slot goes to fresh first"
                    since = 0
                others = [s for s in (+left if lane == "fresh" else OLD) if s != run.source]
                assert last.get(lane) != run.source or not others, "sources take turns"
                last[lane] = run.source
                waited[lane].update(others)
                waited[lane][run.source] = 0
                assert max(waited[lane].values(), default=0) <= len(FRESH), "no source starves another"
            lost = [run for run in runs if run.status == "open" and chance.random() < AGAIN]
            _lose(database, lost)
            left.update(run.source for run in lost if int(run.customer_id) >= FIRST_FRESH)
            again += sum(run.status == "published" for run in runs)
            _end(database, [run for run in runs if run not in lost])
        assert again > TURNS


def _enqueue(database: Database, source: str, lane: Lane, customers: range) -> None:
    if customers:
        with database.transaction(CONTROL_PLANE) as tx:
            control_plane.enqueue(tx, [Partition(source, str(n), "q", DAY) for n in customers], lane=lane)


def _publish(database: Database, runs: list[Dispatched]) -> None:
    with database.transaction(EXTRACTOR) as tx:
        told = [PublishedRun(r.run_id, r.token, r.run_id, "l", "0" * 64, "jsonl", 1, 1) for r in runs]
        assert len(running.publish(tx, told)) == len(runs)


def _lose(database: Database, runs: list[Dispatched]) -> None:
    """Published, and their validators are gone: they wait to be validated again."""
    _publish(database, runs)
    with database.transaction(CONTROL_PLANE) as tx:
        told = [LostRun(r.run_id, r.token, "VALIDATOR_GONE", "it is gone") for r in runs]
        assert set(running.lose(tx, told)) <= {"released"}
        assert control_plane.follow(tx, only=[r.partition_id for r in runs]) == len(runs)


def _end(database: Database, runs: list[Dispatched]) -> None:
    """Published, accepted and followed."""
    _publish(database, [run for run in runs if run.status == "open"])
    with database.transaction(VALIDATOR) as tx:
        assert set(running.judge(tx, [Judged(r.run_id, r.token, True) for r in runs])) == {"accepted"}
    with database.transaction(CONTROL_PLANE) as tx:
        assert control_plane.follow(tx, only=[r.partition_id for r in runs]) == len(runs)
