"""Retries under the bench: how they end, what they write, and several workers on one queue."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest

from benching import begun, silent
from recoup.refusals import ServerRefused
from recoup.settings import Settings
from recoup_bench.errors import ERRORS
from recoup_bench.ground import Ground, scratch
from recoup_bench.measure import OURS
from recoup_bench.retries import fill_due, none, raw_claimed, turned
from recoup_bench.run import chosen, measure
from recoup_bench.workers import CREWS
from recoup_bench.workload import Aim, Size, drained


def by_status(ground: Ground) -> dict[tuple[str, int], int]:
    found = ground.admin.execute("select status, retry_count, count(*)::integer from recoup.error group by 1, 2")
    return {(status, retries): count for status, retries, count in found}


def test_half_of_the_retries_fail(settings: Settings, template: str) -> None:
    """Of 200 half succeed; of those that fail a fifth had no other retry left, and is parked."""
    with scratch(settings, template=template) as ground:
        trial = begun(ground, "retry-100", batches=2)
        trial.run(OURS)
        ended = ground.admin.execute("select status, count(*)::integer from recoup.error group by 1").fetchall()
    assert dict(ended) == {"RESOLVED": 100, "RETRY_PENDING": 80, "PARKED": 20}


def test_what_fails_once_is_retried_twice(settings: Settings) -> None:
    """All 200 are resolved by their second retry, in both rounds: the time that has passed is no hindrance."""
    with scratch(settings, simulated_from=datetime.now(UTC)) as ground:
        trial = begun(ground, "fail-once-100", batches=2)
        trial.run(OURS)
        assert by_status(ground) == {("RESOLVED", 2): 200}
        trial.prepare()
        trial.run(OURS)
        assert by_status(ground) == {("RESOLVED", 2): 400}


def test_what_is_not_drained_is_found(settings: Settings, template: str) -> None:
    """A side that ends early, or ends what is not of this round, has no speed."""
    with scratch(settings, template=template) as ground:
        trial = begun(ground, "drain-100", batches=1)
        with pytest.raises(AssertionError, match="0 ends of 100 units"):
            drained(lambda ground, claims, limit: (0, []))(trial)
        fill_due(trial)
        with pytest.raises(AssertionError, match="200 ends of 100 units"):
            drained(partial(turned, fails=none))(trial)


def test_plans_of_raw_are_kept(settings: Settings, template: str) -> None:
    """From the first use on: raw is not measured while it plans."""
    with scratch(settings, template=template) as ground:
        ground.make_raw(ERRORS)
        for _ in range(3):
            raw_claimed(ground, range(10))
        kept = ground.raw.execute(
            "select generic_plans, custom_plans from pg_prepared_statements where statement like '%skip locked%'"
        ).fetchall()
    assert kept == [(3, 0)]


def test_what_is_written_to_the_wal_is_measured_by_unit(settings: Settings, template: str) -> None:
    """A hundred kilobytes for ten units are ten for each, and a little more; images of pages are not among them.

    A server that cannot tell is refused in words. Only from 18 on one can be made to hide an extension.
    """
    with scratch(settings, template=template) as ground:
        if ground.admin.info.server_version >= 180000:
            ground.admin.execute("set extension_control_path = '/nowhere'")
            with pytest.raises(ServerRefused, match="pg_walinspect") as refused:
                ground.read_wal()
            assert "contrib" in refused.value.next_step
            ground.admin.execute("reset extension_control_path")
        ground.read_wal()
        ground.admin.execute("create table told (text text); alter table told alter text set storage plain")
        since = ground.wal_position()
        for _ in range(20):
            ground.raw.execute("insert into told values (repeat('x', 5000))")
        for _ in range(2):  # a checkpoint removes what is behind the one before
            ground.admin.execute("select pg_switch_wal()")
            ground.admin.execute("checkpoint")
        assert 10_000 <= ground.wal_metrics(since, units=10)["wal_bytes"] < 12_000
        ground.raw.execute("create table many as select n from generate_series(1, 2000) n")
        since = ground.wal_position()
        ground.raw.execute("create index on many (n)")  # written as images
        indexed = ground.wal_metrics(since, units=1)
        assert indexed["wal_image_bytes"] >= 8000
        assert 0 < indexed["wal_bytes"] < 20_000


def test_what_failing_costs_is_a_metric_with_a_bound(settings: Settings, template: str) -> None:
    """Sets of which half fail compared with sets of which none does, all of ours and all in one run."""
    (workload,) = chosen(["retry-100-failing"])
    size = Size(batches=4, rounds=1, warm_ups=0)
    (outcome,) = measure([replace(workload, quick=size)], settings, say=silent, quick=True, template=template).outcomes
    (ours,) = outcome.variants
    assert [done.units for done in ours.rounds] == [400]
    assert outcome.workload.aims == (Aim(metric="half_failing_to_none", most=1.2),)
    assert ours.metrics["half_failing_to_none"] > 0
    assert outcome.reached is (ours.metrics["half_failing_to_none"] <= 1.2)


def test_workers_share_a_queue_and_lose_nothing(settings: Settings, template: str) -> None:
    """One, two and four end every retry once. Where more is resolved than was there, nothing is reported."""
    with scratch(settings, template=template) as ground:
        trial = begun(ground, "drain-workers", batches=4)
        done = trial.run(OURS)
        assert {f"per_second_{size}" for size in CREWS} < set(done.metrics)
        assert done.metrics["four_to_two"] == pytest.approx(done.metrics["per_second_4"] / done.metrics["per_second_2"])
        assert by_status(ground) == {("RESOLVED", 1): 400 * len(CREWS)}
        fill_due(trial)
        with pytest.raises(AssertionError, match="800 of 400 were resolved by 1 workers"):
            trial.run(OURS)
        trial.close()
    assert multiprocessing.active_children() == []
