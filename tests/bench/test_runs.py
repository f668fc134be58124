"""Tiny real runs of the bench. What is tested is that both sides do the same; how fast they are is not."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from recoup.bench import peers, retries
from recoup.bench.ground import PREFIX, TABLES, Ground, scratch
from recoup.bench.moves import Moves
from recoup.bench.outcomes import Outcomes
from recoup.bench.results import as_json, save, written
from recoup.bench.run import WORKLOADS, chosen, measure, rows
from recoup.bench.workload import OURS, RAW, Bound, Size, UnlikeWork, Workload, check_alike
from recoup.database import embedded
from recoup.refusals import InputRefused
from recoup.settings import Settings

TINY: dict[str, Size] = {
    "moves-1": Size(batches=3, rounds=2, warm_ups=1),
    "moves-100": Size(batches=2, rounds=2, warm_ups=1),
    "append-1000": Size(batches=1, rounds=2, warm_ups=0),
    "outcomes": Size(batches=1, rounds=2, warm_ups=1),
    "settled-read": Size(standing=4000, rounds=2, warm_ups=0),
    "seal": Size(batches=1, rounds=2, warm_ups=0),
    "claim-1m-100": Size(batches=2, standing=500, rounds=2, warm_ups=1),
}


def tiny(name: str) -> Workload:
    (workload,) = chosen([name])
    return replace(workload, quick=TINY[name])


def silent(line: str) -> None:
    assert line


def scratch_databases(server: embedded.Server) -> list[str]:
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        found = admin.execute("select datname from pg_database where starts_with(datname, %s)", (PREFIX,))
        return [name for (name,) in found]


@pytest.mark.parametrize("name", TINY)
def test_both_sides_of_a_workload_make_the_same_rows(name: str, settings: Settings, server: embedded.Server) -> None:
    """A run ends with figures for both, after their rows were counted and found alike; nothing is left behind."""
    (outcome,) = measure([tiny(name)], settings, say=silent, quick=True).outcomes
    assert [measured.variant for measured in outcome.variants] == [OURS, RAW]
    for measured in outcome.variants:
        assert len(measured.rounds) == 2
        assert all(done.units > 0 and done.seconds > 0 for done in measured.rounds)
    ours, raw = outcome.variants
    assert [done.units for done in ours.rounds] == [done.units for done in raw.rounds]
    assert scratch_databases(server) == []


def test_outcomes_are_mixed_as_told(settings: Settings) -> None:
    """Of 200 half pass and a quarter fail at once; a tenth passes and a tenth fails again; ten fail for good."""
    with scratch(settings) as ground:
        trial = Outcomes(ground, Size(batches=1))
        trial.prepare()
        before = trial.tallies()[OURS]
        trial.ours()
        after = trial.tallies()[OURS]
    changed = {key: after.get(key, 0) - before.get(key, 0) for key in {*before, *after}}
    assert {key: by for key, by in changed.items() if not key.startswith("event")} == {
        "intake PENDING": -150, "intake AUTHORIZED": 100 + 20, "intake FAILED": 50 - 20 - 10,
        "intake REENTER_SUCCEEDED": 20, "intake EXHAUSTED": 10,
        "attempt 1 open": -150, "attempt 1 passed": 100, "attempt 1 failed": 50,
        "attempt 2 open": -40, "attempt 2 passed": 20, "attempt 2 failed": 20,
        "attempt 3 open": -10, "attempt 3 failed": 10,
        "recovery 1 ACTIVE": 50 - 40, "recovery 1 SUCCEEDED": 20,
        "recovery 2 ACTIVE": 20 - 10, "recovery 3 EXHAUSTED": 10,
    }  # fmt: skip


def test_a_verification_tells_how_much_of_it_was_bookkeeping(settings: Settings, tmp_path: Path) -> None:
    """Every company is looked at over real sockets; the share of the time in the database is a figure with a bound."""
    (workload,) = chosen(["verify"])
    results = measure(
        [replace(workload, quick=Size(batches=1, rounds=1, warm_ups=0))], settings, say=silent, quick=True
    )
    (outcome,) = results.outcomes
    (ours,) = outcome.variants
    assert [done.units for done in ours.rounds] == [200]
    assert 0 < ours.figures["database_share"] < 1
    assert 1 < ours.figures["turns"] <= 200
    assert ours.figures["timeouts"] == 0
    assert outcome.bound == Bound(figure="database_share", most=0.25)
    assert outcome.reached is (ours.figures["database_share"] <= 0.25)
    (row,) = rows(outcome)
    assert row["database_share"] == f"{ours.figures['database_share']:.3g}"
    (stored,) = json.loads(written(results))["workloads"]
    assert stored["bound"] == {"figure": "database_share", "most": 0.25}
    assert stored["variants"][0]["figures"]["database_share"] == round(ours.figures["database_share"], 3)


def test_progress_names_the_round_and_the_variant(settings: Settings) -> None:
    said: list[str] = []
    measure([tiny("moves-1")], settings, say=said.append, quick=True, rounds=1)
    assert any(line.startswith("moves-1: warm-up, ours") for line in said)
    assert any(line.startswith("moves-1: round 1 of 1, raw") for line in said)


def test_rows_that_raw_lacks_are_found(settings: Settings) -> None:
    """A workload whose sides differ by one event is not reported."""
    with scratch(settings) as ground:
        moves = Moves(ground, Size(batches=1), k=10)
        moves.prepare()
        moves.ours()
        moves.raw()
        check_alike("moves-10", moves.tallies())
        ground.raw.execute(
            "delete from raw.gate_zero_air"
            " where seq = (select max(seq) from raw.gate_zero_air where event_type = 'AUTH')"
        )
        with pytest.raises(UnlikeWork, match="event AUTH"):
            check_alike("moves-10", moves.tallies())


def test_filling_leaves_the_guards_as_they_were(settings: Settings) -> None:
    """Ours is measured with every trigger that a user's database has."""
    with scratch(settings) as ground:
        before = triggers(ground)
        ground.append_events(10, transactions=2)
        assert triggers(ground) == before
        assert {table for table, _, _ in before} >= {f"cl.{table}" for table in TABLES}
        with pytest.raises(psycopg.Error) as refused:
            ground.admin.execute("delete from cl.gate_zero_air")
        assert refused.value.sqlstate == "RC009"


def triggers(ground: Ground) -> list[tuple[str, str, str]]:
    return ground.admin.execute(
        "select t.tgrelid::regclass::text, t.tgname, t.tgenabled::text"
        " from pg_trigger t join pg_class c on c.oid = t.tgrelid"
        " where c.relnamespace = 'cl'::regnamespace and not t.tgisinternal order by 1, 2"
    ).fetchall()


def test_raw_has_the_same_indexes(settings: Settings) -> None:
    """The same number on every table, and the same fill factor: raw is neither helped nor hindered."""
    with scratch(settings) as ground:
        ground.twin_tables()
        indexes, options = (
            "select count(*) from pg_index where indrelid = %s::regclass",
            "select reloptions from pg_class where oid = %s::regclass",
        )
        for table in TABLES:
            for question in (indexes, options):
                (ours,) = ground.admin.execute(question, (f"cl.{table}",)).fetchone() or (None,)
                (raw,) = ground.admin.execute(question, (f"raw.{table}",)).fetchone() or (None,)
                assert ours == raw or (ours, raw) == (None, ["fillfactor=100"]), table


def test_an_interrupted_run_drops_its_database(settings: Settings, server: embedded.Server) -> None:
    def interrupted(line: str) -> None:
        if "round 1" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure([tiny("moves-1")], settings, say=interrupted, quick=True)
    assert scratch_databases(server) == []


class Beside:
    """A peer that does nothing, at once."""

    name = "beside"
    share = 0.001

    def __init__(self) -> None:
        self.calls: list[str] = []

    def setup(self, conninfo: str) -> None:
        with psycopg.connect(conninfo) as connection:
            self.calls.append(f"setup in {connection.info.dbname[: len(PREFIX)]}")

    def run(self, units: int) -> float:
        self.calls.append(f"run {units}")
        return 0.5

    def close(self) -> None:
        self.calls.append("close")


def test_a_peer_runs_beside_ours(settings: Settings) -> None:
    """Both take turns in one database; the peer's ratio is to ours."""
    peer = Beside()
    workload = replace(retries.with_peers([peer]), quick=Size(batches=1, rounds=1, warm_ups=1))
    (outcome,) = measure([workload], settings, say=silent, quick=True).outcomes
    assert [row["variant"] for row in rows(outcome)] == [OURS, "beside"]
    assert peer.calls == [f"setup in {PREFIX}", "run 1", "run 1", "close"]
    ours, beside = outcome.variants
    assert ours.ratio is None
    assert beside.ratio is not None


def test_results_tell_the_machine_and_name_nobody(settings: Settings, tmp_path: Path) -> None:
    """Every figure with its rounds, the server's settings, no host, no user, no folder."""
    results = measure([tiny("moves-100")], settings, say=silent, quick=True)
    path = save(results, tmp_path)
    assert path.name == f"{results.began_at:%Y-%m-%d}-moves-100-quick.json"
    assert save(results, tmp_path).name.endswith("-quick-2.json")
    text = path.read_text(encoding="utf-8")
    assert text == written(results)
    stored = json.loads(text)
    assert set(stored) == {"began_at", "quick", "machine", "workloads"}
    assert stored["machine"]["server_settings"]["fsync"] == "on"
    assert stored["machine"]["server_settings"]["synchronous_commit"] == "on"
    assert stored["machine"]["server"].startswith("PostgreSQL ")
    (workload,) = stored["workloads"]
    assert workload["workload"] == "moves-100"
    assert workload["ratio"] == workload["variants"][0]["ratio"]
    assert workload["reached"] is (results.outcomes[0].ratio >= workload["goal"])
    for variant in workload["variants"]:
        assert set(variant) == {
            "variant",
            "per_second",
            "spread",
            "ratio",
            "ratio_by_round",
            "figures",
            "units",
            "seconds",
        }
        assert len(variant["units"]) == len(variant["seconds"]) == 2
    for telling in (socket.gethostname(), str(settings.home), str(Path.home()), PREFIX, "recoup_admin"):
        assert telling not in json.dumps(as_json(results), default=str)


def test_an_unknown_workload_is_refused_with_suggestions() -> None:
    with pytest.raises(InputRefused) as refused:
        chosen(["move-1000"])
    assert refused.value.code == "workload_unknown"
    assert "moves-1000" in refused.value.next_step


def test_all_workloads_run_when_none_is_named() -> None:
    assert chosen([]) == WORKLOADS
    assert [workload.name for workload in chosen(["seal", "moves-1", "seal"])] == ["seal", "moves-1"]


def test_peers_need_their_workload() -> None:
    with pytest.raises(InputRefused) as refused:
        chosen(["moves-1"], peers_named=["pgqueuer"])
    assert refused.value.code == "peers_elsewhere"
    assert "fail-once" in refused.value.next_step


@pytest.mark.parametrize(
    ("named", "code", "says"),
    [
        ("pgqueur", "peer_unknown", "pgqueuer"),
        ("json:Queue", "peer_unknown", "factory"),
        ("no_such_queue:Queue", "peer_missing", "pip install no_such_queue"),
    ],
)
def test_a_peer_that_is_not_there_is_refused(named: str, code: str, says: str) -> None:
    """The refusal says which ones there are, or what to install."""
    with pytest.raises(InputRefused) as refused:
        peers.find(named)
    assert refused.value.code == code
    assert says in refused.value.next_step


@pytest.mark.parametrize("rounds", [0, -1, 1001])
def test_rounds_are_bounded(rounds: int, settings: Settings) -> None:
    with pytest.raises(InputRefused) as refused:
        measure([tiny("moves-1")], settings, say=silent, rounds=rounds)
    assert refused.value.code == "rounds_out_of_bounds"
