"""Tiny real runs of the bench. What is tested is that both sides do the same; how fast they are is not."""

from __future__ import annotations

import json
import socket
from collections import Counter
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from benching import begun, silent
from recoup.database import embedded
from recoup.refusals import InputRefused
from recoup.settings import Settings
from recoup_bench import logs
from recoup_bench.errors import ERRORS, FILLED, POLICY, filling
from recoup_bench.gate_zero import GATE_ZERO
from recoup_bench.ground import PREFIX, Ground, scratch
from recoup_bench.measure import OURS, RAW, UnlikeWork, check_alike
from recoup_bench.results import as_json, rows, save, written
from recoup_bench.run import WORKLOADS, chosen, measure
from recoup_bench.workload import Aim, Size, Trial, Workload, batched

TINY: dict[str, Size] = {
    "moves-1": Size(batches=3, rounds=2, warm_ups=1),
    "moves-100": Size(batches=2, rounds=2, warm_ups=1),
    "append-1000": Size(batches=1, rounds=2, warm_ups=0),
    "outcomes": Size(batches=1, rounds=2, warm_ups=1),
    "settled-read": Size(idle=4000, rounds=2, warm_ups=0),
    "seal": Size(batches=1, rounds=2, warm_ups=0),
    "claim-1m-100": Size(batches=2, idle=500, rounds=2, warm_ups=1),
    "record-1000": Size(batches=1, rounds=2, warm_ups=0),
    "record-1000-plain": Size(batches=1, rounds=2, warm_ups=0),
    "retry-1": Size(batches=3, rounds=2, warm_ups=0),
    "retry-100": Size(batches=2, rounds=2, warm_ups=0),
    "drain-100": Size(batches=2, rounds=2, warm_ups=0),
    "drain-1000": Size(batches=1, rounds=2, warm_ups=0),
    "fail-once-100": Size(batches=2, rounds=2, warm_ups=0),
    "fail-once-1000": Size(batches=1, rounds=2, warm_ups=0),
    "claim-errors-1m": Size(batches=2, idle=500, rounds=2, warm_ups=0),
    "archive-1000": Size(batches=1, rounds=2, warm_ups=0),
    "gate-1m": Size(batches=1, idle=3000, rounds=2, warm_ups=0),
}


def tiny(name: str) -> Workload:
    (workload,) = chosen([name])
    return replace(workload, quick=TINY[name])


def left_behind(server: embedded.Server, template: str) -> list[str]:
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        found = admin.execute("select datname from pg_database where starts_with(datname, %s)", (PREFIX,))
        return [name for (name,) in found if name != template]


@pytest.mark.parametrize("name", TINY)
def test_both_sides_of_a_workload_make_the_same_rows(
    name: str, settings: Settings, server: embedded.Server, template: str
) -> None:
    """A run ends with metrics for both, after their rows were counted and found alike; nothing is left behind."""
    (outcome,) = measure([tiny(name)], settings, say=silent, quick=True, template=template).outcomes
    assert [measured.variant for measured in outcome.variants] == [OURS, RAW]
    for measured in outcome.variants:
        assert len(measured.rounds) == 2
        assert all(done.units > 0 and done.seconds > 0 for done in measured.rounds)
    ours, raw = outcome.variants
    assert [done.units for done in ours.rounds] == [done.units for done in raw.rounds]
    assert left_behind(server, template) == []


def test_outcomes_are_mixed_as_told(settings: Settings, template: str) -> None:
    """Of 200 half pass and a quarter fail at once; a tenth passes and a tenth fails again; ten fail for good."""
    with scratch(settings, template=template) as ground:
        trial = begun(ground, "outcomes", batches=1)
        before = trial.tallies()[OURS]
        trial.run(OURS)
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
    """Every company is verified over real sockets; the share of the time in the database is a metric with a bound."""
    (workload,) = chosen(["verify"])
    results = measure(
        [replace(workload, quick=Size(batches=1, rounds=1, warm_ups=0))], settings, say=silent, quick=True
    )
    (outcome,) = results.outcomes
    (ours,) = outcome.variants
    assert [done.units for done in ours.rounds] == [200]
    assert 0 < ours.metrics["database_share"] < 1
    assert 1 < ours.metrics["turns"] <= 200
    assert ours.metrics["timeouts"] == 0
    assert outcome.aimed == {Aim(metric="database_share", most=0.25): ours.metrics["database_share"]}
    assert outcome.reached is (ours.metrics["database_share"] <= 0.25)
    (row,) = rows(outcome)
    assert row["database_share"] == f"{ours.metrics['database_share']:.3g}"
    (stored,) = json.loads(written(results))["workloads"]
    share = round(ours.metrics["database_share"], 3)
    assert stored["aims"] == [{"metric": "database_share", "least": None, "most": 0.25, "value": share}]
    assert stored["variants"][0]["metrics"]["database_share"] == share


def test_recorded_errors_are_of_four_tables(settings: Settings, template: str) -> None:
    """A batch has errors that are retried, parked and kept, and some with a payload whose secret is not in it."""
    with scratch(settings, template=template) as ground:
        trial = begun(ground, "record-1000", batches=1)
        trial.run(OURS)
        found = ground.admin.execute(
            "select error_table, disposition, clamped_from, payload ->> 'api_key', count(*)::integer,"
            " count(distinct error_signature)::integer from recoup.error group by 1, 2, 3, 4 order by 1"
        ).fetchall()
    assert found == [
        ("company.url_discovery_failures", "ARCHIVE", "IGNORE", None, 250, 1),
        ("outreach.company_target_errors", "RETRY", None, None, 250, 1),
        ("outreach.dol_errors", "RETRY", None, "[redacted]", 250, 1),
        ("people.people_errors", "PARKED", None, None, 250, 1),
    ]


def test_the_gate_is_held_to_a_percentile(settings: Settings, template: str) -> None:
    """What is bounded is the p99 of ours as a multiple of raw's, of as many calls each."""
    (outcome,) = measure([tiny("gate-1m")], settings, say=silent, quick=True, template=template).outcomes
    ours, raw = outcome.variants
    assert [done.units for done in (*ours.rounds, *raw.rounds)] == [1000] * 4
    assert outcome.workload.aims == (Aim(metric="p99_to_raw", most=1.5),)
    for done, beside in zip(ours.rounds, raw.rounds, strict=True):
        assert 0 < done.metrics["p50_ms"] <= done.metrics["p99_ms"]
        assert done.metrics["p99_to_raw"] == pytest.approx(done.metrics["p99_ms"] / beside.metrics["p99_ms"])


def test_progress_names_the_round_and_the_variant(settings: Settings, template: str) -> None:
    said: list[str] = []
    measure([tiny("moves-1")], settings, say=said.append, quick=True, rounds=1, template=template)
    assert any(line.startswith("moves-1: warm-up, ours") for line in said)
    assert any(line.startswith("moves-1: round 1 of 1, raw") for line in said)


def test_rows_that_raw_lacks_are_found(settings: Settings, template: str) -> None:
    """A workload whose sides differ by one event is not reported."""
    with scratch(settings, template=template) as ground:
        moves = begun(ground, "moves-100", batches=1)
        moves.run(OURS)
        moves.run(RAW)
        check_alike("moves-100", moves.tallies())
        ground.raw.execute(
            "delete from raw.gate_zero_air"
            " where seq = (select max(seq) from raw.gate_zero_air where event_type = 'AUTH')"
        )
        with pytest.raises(UnlikeWork, match="event AUTH"):
            check_alike("moves-100", moves.tallies())


def test_an_error_that_raw_lacks_is_found(settings: Settings, template: str) -> None:
    """A workload over errors whose sides differ by one event is not reported either."""
    with scratch(settings, template=template) as ground:
        trial = begun(ground, "retry-100", batches=1)
        trial.run(OURS)
        trial.run(RAW)
        check_alike("retry-100", trial.tallies())
        ground.raw.execute(
            "delete from raw.error_event where seq = (select max(seq) from raw.error_event where event_type = 'FAILED')"
        )
        with pytest.raises(UnlikeWork, match="FAILED"):
            check_alike("retry-100", trial.tallies())


def test_units_that_raw_left_out_are_found(settings: Settings, template: str) -> None:
    """A workload whose sides leave no rows to count must have done as many units."""
    workload = replace(tiny("seal"), raw=batched(lambda ground, ranges: 1))
    with pytest.raises(UnlikeWork, match="rows: 20000 of ours, 2 of raw"):
        measure([workload], settings, say=silent, quick=True, template=template)


def test_filling_leaves_the_guards_as_they_were(settings: Settings, template: str) -> None:
    """Ours is measured with every trigger that a user's database has."""
    with scratch(settings, template=template) as ground:
        before = triggers(ground)
        logs.append_events(ground, 10, transactions=2)
        for lean in (False, True):
            with filling(ground, lean=lean):
                assert triggers(ground) != before
        assert triggers(ground) == before
        tables = {table for table, _, _ in before}
        assert tables >= {*GATE_ZERO.names, *FILLED, *POLICY.tables}
        with pytest.raises(psycopg.Error) as refused:
            ground.admin.execute("delete from cl.gate_zero_air")
        assert refused.value.sqlstate == "RC009"
        with pytest.raises(psycopg.Error) as refused:
            ground.admin.execute("truncate recoup.error_event")
        assert refused.value.sqlstate == "RC009"


def test_a_lean_filling_leaves_every_index_whole(settings: Settings, template: str) -> None:
    """Indexes are out of the way while millions of rows come in, and find all of them afterwards."""
    with scratch(settings, template=template) as ground:
        (workload,) = chosen(["gate-1m"])
        Trial(workload, ground, Size(batches=0, idle=900)).prepare()
        (resting,) = ground.admin.execute(
            "select count(*) from pg_index where not (indisready and indisvalid)"
        ).fetchone() or (None,)
        ground.admin.execute("set enable_seqscan = off")
        (found,) = ground.admin.execute(
            "select count(*) from recoup.error where next_retry_at > now() and status = 'RETRY_PENDING'"
            " and token is null and archived_at is null"
        ).fetchone() or (None,)
        assert (resting, found) == (0, 600)


def triggers(ground: Ground) -> list[tuple[str, str, str]]:
    return ground.admin.execute(
        "select n.nspname || '.' || c.relname, t.tgname, t.tgenabled::text"
        " from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace"
        " where not t.tgisinternal order by 1, 2"
    ).fetchall()


def test_raw_has_the_same_indexes(settings: Settings, template: str) -> None:
    """The same number on every table, and the same fill factor: raw is neither helped nor hindered."""
    with scratch(settings, template=template) as ground:
        ground.make_raw(GATE_ZERO)
        indexes, options = (
            "select count(*) from pg_index where indrelid = %s::regclass",
            "select reloptions from pg_class where oid = %s::regclass",
        )
        for table in GATE_ZERO.tables:
            for question in (indexes, options):
                (ours,) = ground.admin.execute(question, (f"cl.{table}",)).fetchone() or (None,)
                (raw,) = ground.admin.execute(question, (f"raw.{table}",)).fetchone() or (None,)
                assert ours == raw, table


def test_raw_has_the_same_error_tables(settings: Settings, template: str) -> None:
    """Every partition has the same indexes with the same predicates, the same checks and the same fill factor.

    Raw has a little more: who retries an error and when it is due, for which ours has a queue.
    """
    with scratch(settings, template=template) as ground:
        ground.make_raw(ERRORS)
        for table in POLICY.tables:
            archive = f"{table}_archive"
            assert made(ground, archive) == made(ground, f"raw.{archive.split('.')[1]}"), archive
            more = Counter(made(ground, f"raw.{table.split('.')[1]}")) - Counter(made(ground, table))
            assert len(more) == 5, more
            assert all("lease" in one or "retry" in one for one in more), more
            assert not Counter(made(ground, table)) - Counter(made(ground, f"raw.{table.split('.')[1]}"))
        assert made(ground, "recoup.error_event") == made(ground, "raw.error_event")
        (triggers,) = ground.admin.execute(
            "select count(*) from pg_trigger where tgrelid::regclass::text like 'raw.%%' and not tgisinternal"
        ).fetchone() or (None,)
        assert triggers == 0


def made(ground: Ground, table: str) -> list[str]:
    """How a table was made: columns, checks and indexes, without their names."""
    rows = ground.admin.execute(
        "select regexp_replace(pg_get_indexdef(indexrelid), ' INDEX .* USING ', ' ') from pg_index"
        " where indrelid = %(table)s::regclass"
        " union all select pg_get_constraintdef(oid) from pg_constraint where conrelid = %(table)s::regclass"
        " union all select reloptions::text from pg_class where oid = %(table)s::regclass and reloptions is not null"
        " union all select attname || format_type(atttypid, atttypmod) || attnotnull from pg_attribute"
        " where attrelid = %(table)s::regclass and attnum > 0 and not attisdropped"
        " order by 1",
        {"table": table},
    ).fetchall()
    return [row[0] for row in rows]


def test_an_interrupted_run_drops_its_database(settings: Settings, server: embedded.Server, template: str) -> None:
    def interrupted(line: str) -> None:
        if "round 1" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure([tiny("moves-1"), tiny("moves-100")], settings, say=interrupted, quick=True)
    assert left_behind(server, template) == []


@pytest.mark.usefixtures("server")
def test_results_tell_the_machine_and_name_nobody(settings: Settings, tmp_path: Path, template: str) -> None:
    """Every metric with its rounds, the server's settings, no host, no user, no folder."""
    results = measure([tiny("moves-100")], settings, say=silent, quick=True, template=template)
    path = save(results, tmp_path)
    assert path.name == f"{results.began_at:%Y-%m-%d}-moves-100-quick.json"
    assert save(results, tmp_path).name.endswith("-quick-2.json")
    text = path.read_text(encoding="utf-8")
    assert text == written(results)
    stored = json.loads(text)
    assert set(stored) == {"began_at", "quick", "machine", "workloads"}
    assert stored["machine"]["server_settings"]["fsync"] == "off"  # as the server of the tests has it
    assert stored["machine"]["server_settings"]["synchronous_commit"] == "on"
    assert stored["machine"]["server"].startswith("PostgreSQL ")
    (workload,) = stored["workloads"]
    assert workload["workload"] == "moves-100"
    assert workload["ratio"] == workload["variants"][0]["ratio"]
    assert workload["aims"] == [{"metric": "ratio_to_raw", "least": 0.6, "most": None, "value": workload["ratio"]}]
    assert workload["reached"] is (workload["variants"][0]["ratio"] >= 0.6)
    for variant in workload["variants"]:
        assert set(variant) == {
            "variant",
            "per_second",
            "spread",
            "ratio",
            "ratio_by_round",
            "ours_to_it",
            "metrics",
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


@pytest.mark.parametrize("rounds", [0, -1, 1001])
def test_rounds_are_bounded(rounds: int, settings: Settings) -> None:
    with pytest.raises(InputRefused) as refused:
        measure([tiny("moves-1")], settings, say=silent, rounds=rounds)
    assert refused.value.code == "rounds_out_of_bounds"
