"""The same work on threads, on processes and on a Dask cluster; and a cluster that loses a worker."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import LocalCluster

from partitions.plant import Plant, planted
from recoup.database import embedded
from recoup.partitions import executors, working
from recoup.refusals import SettingRefused
from recoup.settings import Settings

PARTITIONS = 500
CUSTOMERS = ["a", "b", "rejected", "raising", "drifting"]
PATIENCE_S = 60


@contextmanager
def cluster(*, allowed_failures: int = 0, workers: int = 2) -> Iterator[Any]:
    with dask.config.set({"distributed.scheduler.allowed-failures": allowed_failures}):
        make: Any = LocalCluster
        with make(
            n_workers=workers, threads_per_worker=4, processes=True, dashboard_address=None, silence_logs=50
        ) as one:
            yield one


def results(plant: Plant) -> list[tuple[Any, ...]]:
    """What became of each partition, without what differs between two runs of anything."""
    return plant.read(
        "select p.customer_id, p.logical_date, p.status, p.attempt_count, p.error_message, a.verdict, a.reason, a.rule,"
        " a.rows, a.category, a.error_signature, a.digest is null, s.status, s.dispatches, s.hold"
        " from partitions.partition_state p join partitions.schedule s using (partition_id)"
        " left join partitions.attempt a using (partition_id) order by 1, 2"
    )


def test_the_same_set_gives_the_same_result_everywhere(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, tmp_path: Path
) -> None:
    found = {}
    with cluster() as dask_cluster:
        for executor in ("threads", "processes", "dask"):
            plant = planted(
                server.uri(new_database()), settings, tmp_path / executor, slots=2, partition_executor=executor,
                dask_scheduler=dask_cluster.scheduler_address,
            )  # fmt: skip
            with plant.db:
                plant.policy(
                    extract={"raises": ["raising"]},
                    validate={"rejects": ["rejected"], "raises": ["drifting"]},
                    at_once=4,
                )
                plant.enqueue(CUSTOMERS, days=4, lane="backfill")
                plant.work()
                found[executor] = results(plant)
                assert len(plant.visible()) == 16
            working.release(plant.name)
    assert found["threads"] == found["processes"] == found["dask"]
    assert Counter((row[2], row[6]) for row in found["dask"]) == {
        ("success", None): 8, ("failed", "TOO_FEW"): 4, ("failed", "VALIDATOR_ERROR"): 4, ("pending", None): 4,
    }  # fmt: skip


def test_a_cluster_that_repeats_tasks_is_refused() -> None:
    with cluster(allowed_failures=3, workers=1) as one, pytest.raises(SettingRefused, match="repeats a task"):
        executors.dask(one.scheduler_address)
    with pytest.raises(SettingRefused, match="no scheduler is named"):
        executors.dask(None)


def test_a_killed_worker_of_the_cluster_loses_nothing_and_validates_nothing_twice(plant: Plant, tmp_path: Path) -> None:
    """Dask runs tasks again that had finished on the killed worker: they report what stands."""
    notes = tmp_path / "notes"
    plant.db.settings = replace(plant.settings, partition_slots=40)
    plant.policy(extract={"rows": 2}, validate={"notes": str(notes)}, at_once=40)
    plant.enqueue([f"c{n}" for n in range(PARTITIONS // 100)], days=100)
    with cluster() as one:
        place = executors.dask(one.scheduler_address)
        thread = threading.Thread(target=plant.work, kwargs={"place": place})
        thread.start()
        finished = _kill_after_some(plant, notes)
        thread.join()
        # What was lost with the worker was dispatched, and is due again after its backoff.
        for _ in range(3):
            plant.advance()
            plant.duty("partition-expiry")
            plant.advance()
            plant.work(place)
        place.close()
    assert {status for status, *_ in plant.states().values()} == {"success"}
    assert plant.read("select count(*), count(distinct run_id) from partitions.attempt") == [(PARTITIONS, PARTITIONS)]
    assert plant.read("select count(*) from partitions.partition_state where attempt_count <> 1") == [(0,)]
    # Once for each dispatch: a run that was dispatched again was being validated when its worker was killed.
    calls = Counter(re.findall(r"validate \S+ (\S+)", notes.read_text()))
    dispatches = {str(run): 1 + again for run, again in plant.read("select run_id, validations from partitions.run")}
    assert all(calls[run] <= dispatches[run] for run in calls)
    # What had a verdict when the worker was killed was validated once, also if the cluster ran its task again.
    assert len(finished) >= 10
    assert {(calls[run], dispatches[run]) for run in finished} == {(1, 1)}
    assert sum(dispatches.values()) < PARTITIONS + 60  # few were on the killed worker
    assert len({line.split()[0] for line in notes.read_text().splitlines()}) >= 2


def _kill_after_some(plant: Plant, notes: Path) -> set[str]:
    """Kill the busier worker once some runs have a verdict. Which those are."""
    end = time.monotonic() + PATIENCE_S
    while len(finished := {str(run) for (run,) in plant.read("select run_id from partitions.attempt")}) < 10:
        assert time.monotonic() < end
        time.sleep(0.01)
    busy = Counter(line.split()[0] for line in notes.read_text().splitlines())
    ((pid, _),) = busy.most_common(1)
    os.kill(int(pid), signal.SIGKILL)
    return finished
