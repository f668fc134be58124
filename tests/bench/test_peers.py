"""Other job queues: which there are, when they are refused, and that each does the work."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import psycopg
import pytest

from benching import silent
from recoup.database import embedded
from recoup.refusals import InputRefused
from recoup.settings import Settings
from recoup_bench import peers
from recoup_bench.gate_zero import FAIL_ONCE
from recoup_bench.ground import PREFIX
from recoup_bench.measure import OURS, RAW
from recoup_bench.results import rows, written
from recoup_bench.run import chosen, measure
from recoup_bench.workload import Aim, Size

BESIDE = [
    "fail-once", "drain-100", "drain-1000", "fail-once-100", "fail-once-1000", "drain-candidates-100",
    "drain-candidates-1000",
]  # fmt: skip

# How often a unit was tried, by what each of them leaves behind.
TRIES = {
    "pgqueuer": "select count(*) from pgqueuer_log where status = 'picked'",
    "pgmq": "select sum(read_ct) from told",
    "procrastinate": "select sum(attempts) from procrastinate_jobs where status = 'succeeded'",
}
PGMQ_TOLD = """
  create table told (read_ct integer);
  create function tell() returns trigger language plpgsql as
    'begin insert into told values (old.read_ct); return null; end';
  create trigger tell after delete on pgmq.q_unit for each row execute function tell()"""


class Beside:
    """A peer that does nothing, at once; what it enqueues is a megabyte."""

    name = "beside"
    share = 0.01

    def __init__(self) -> None:
        self.calls: list[str] = []

    def setup(self, conninfo: str) -> None:
        self.connection = psycopg.connect(conninfo, autocommit=True)
        self.calls.append(f"setup in {self.connection.info.dbname[: len(PREFIX)]}")

    def enqueue(self, units: int) -> None:
        self.connection.execute("create table if not exists heavy as select n from generate_series(1, 20000) n")
        self.connection.execute("update heavy set n = n + 1")
        self.calls.append(f"enqueue {units}")

    def work(self, units: int, *, batch: int, fails_once: bool) -> float:
        self.connection.execute("create table if not exists light ()")
        self.calls.append(f"work {units} by {batch}{', failing once' if fails_once else ''}")
        return 0.5

    def close(self) -> None:
        self.connection.close()
        self.calls.append("close")


def test_a_peer_runs_with_ours(settings: Settings, template: str) -> None:
    """Both take turns in one database; where there is no raw, the peer's ratio is to ours."""
    peer = Beside()
    workload = replace(FAIL_ONCE, k=100, peers=[peer], quick=Size(batches=1, rounds=1, warm_ups=1))
    (outcome,) = measure([workload], settings, say=silent, quick=True, template=template).outcomes
    assert [row["variant"] for row in rows(outcome)] == [OURS, "beside"]
    assert peer.calls == [f"setup in {PREFIX}", *["enqueue 1", "work 1 by 100, failing once"] * 2, "close"]
    ours, beside = outcome.variants
    assert ours.ratio is None
    assert beside.ratio == pytest.approx(beside.median / ours.median)


def test_a_peer_is_compared_with_raw_and_ours(settings: Settings, template: str) -> None:
    """Every variant with its speed, its WAL and its ratio to raw, and for the peer how many times as fast ours is."""
    aim = Aim(metric="times_beside", least=1.0)
    (workload,) = chosen(["drain-100"])
    workload = replace(workload, peers=[Beside()], aims=(aim,), quick=Size(batches=1, rounds=1, warm_ups=0))
    results = measure([workload], settings, say=silent, quick=True, template=template)
    (outcome,) = results.outcomes
    stored = {variant["variant"]: variant for variant in json.loads(written(results))["workloads"][0]["variants"]}
    assert list(stored) == [OURS, RAW, "beside"]
    assert [stored[name]["ours_to_it"] for name in (OURS, RAW)] == [None, None]
    speeds = {name: stored[name]["per_second"]["median"] for name in stored}
    assert stored["beside"]["ours_to_it"] == pytest.approx(speeds[OURS] / speeds["beside"], rel=0.01)
    assert stored["beside"]["ratio"] == pytest.approx(speeds["beside"] / speeds[RAW], rel=0.05, abs=0.001)
    assert outcome.aimed == {aim: pytest.approx(speeds[OURS] / speeds["beside"], rel=0.01)}
    assert outcome.reached is (speeds[OURS] >= speeds["beside"])
    written_by = {name: stored[name]["metrics"]["wal_bytes"] for name in stored}
    assert 500 < written_by[OURS] < 5000
    assert 0.5 < written_by[OURS] / written_by[RAW] < 2  # the same rows
    assert all(stored[name]["metrics"]["backend_us"] > 0 for name in (OURS, RAW))
    assert 0 < written_by["beside"] < 100_000  # of its work; what it enqueued is a megabyte


@pytest.mark.parametrize("name", TRIES)
def test_a_known_peer_does_the_work(name: str, server: embedded.Server) -> None:
    """Each of five units once, and then each of five others twice, the first time failing."""
    pytest.importorskip(name)
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        admin.execute(f"create database peer_{name}")
    conninfo = server.uri(f"peer_{name}", admin=True)
    peer = peers.find(name)
    peer.setup(conninfo)
    with psycopg.connect(conninfo, autocommit=True) as admin:
        if name == "pgmq":
            admin.execute(PGMQ_TOLD)
        for fails_once, tries in ((False, 5), (True, 15)):
            peer.enqueue(5)
            assert peer.work(5, batch=2, fails_once=fails_once) > 0
            assert admin.execute(TRIES[name]).fetchone() == (tries,)
    peer.close()


def test_peers_need_their_workload() -> None:
    with pytest.raises(InputRefused) as refused:
        chosen(["moves-1"], peers_named=["pgqueuer"])
    assert refused.value.code == "peers_elsewhere"
    assert "fail-once" in refused.value.next_step
    beside = {workload.name: workload.peers for workload in chosen([], peers_named=["pgqueuer"]) if workload.peers}
    found = {name: [peer.name for peer in theirs] for name, theirs in beside.items()}
    assert found == {name: ["pgqueuer"] for name in BESIDE}


@pytest.mark.parametrize(
    ("named", "code", "description"),
    [
        ("pgqueur", "peer_unknown", "pgqueuer"),
        ("json:Queue", "peer_unknown", "factory"),
        ("no_such_queue:Queue", "peer_missing", "pip install no_such_queue"),
    ],
)
def test_a_peer_that_is_not_there_is_refused(named: str, code: str, description: str) -> None:
    """The refusal says which ones there are, or what to install."""
    with pytest.raises(InputRefused) as refused:
        peers.find(named)
    assert refused.value.code == code
    assert description in refused.value.next_step


@pytest.mark.parametrize(
    ("name", "installs"), [("pgqueuer", "pgqueuer asyncpg"), ("pgmq", "pgmq"), ("procrastinate", "procrastinate")]
)
def test_a_peer_that_is_not_installed_is_refused(name: str, installs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it connects to anything."""
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputRefused) as refused:
        peers.find(name).setup("host=nowhere.invalid")
    assert refused.value.code == "peer_missing"
    assert refused.value.next_step.endswith(f"pip install {installs}")
