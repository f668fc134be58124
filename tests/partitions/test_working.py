"""The work on partitions: dispatched, extracted, published, validated, and followed."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from partitions.plant import NEXT, Plant
from recoup.in_process import Worker
from recoup.lifecycles.declaration import Authority
from recoup.partitions import control_plane, functions, running, working
from recoup.partitions.duties import DUTIES
from recoup.partitions.executors import Place, ProcessSlots
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.running import LostRun, PublishedRun, publish
from recoup.partitions.tasks import End, Outcome
from recoup.partitions.windows import window
from recoup.work.flow import ThreadEach
from recoup.worker.stopping import WorkerStopped

PATIENCE_S = 120
HUNG = timedelta(hours=2)  # longer than run_max_hours in these tests


@contextmanager
def working_beside(plant: Plant, *names: str) -> Iterator[None]:
    """Workers at work on threads of their own, until the block ends."""
    threads = [threading.Thread(target=plant.work, kwargs={"name": name}) for name in names]
    for thread in threads:
        thread.start()
    yield
    for thread, name in zip(threads, names, strict=True):
        thread.join()
        working.release(name)


def wait_for(plant: Plant, query: str) -> None:
    until(lambda: bool(plant.read(query)[0][0]), query)


def until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def _has_lines(path: Path, number: int) -> bool:
    return path.exists() and len(path.read_text().splitlines()) >= number


def test_everything_due_ends_in_a_verdict(plant: Plant) -> None:
    plant.policy()
    plant.enqueue(["a", "b", "c"], days=3)
    assert plant.work() == 9
    assert set(plant.runs()) == {("accepted", None)}
    assert plant.states() == dict.fromkeys("abc", ("success", 1, None))
    assert len(plant.visible()) == 9
    assert set(plant.schedules()) == {("idle", 0, None)}
    assert plant.work() == 0
    # What an attempt says about its validator, and what the run says about its data.
    assert set(plant.read("select validator, validator_version, rows from partitions.attempt")) == {
        ("partitions.own:validate", "7", 3)
    }
    assert plant.read("select count(*) from partitions.run r join partitions.sink s using (sink_id)") == [(9,)]


def test_a_day_is_as_long_as_its_zone_has_it(plant: Plant) -> None:
    berlin = [window(date(2026, month, day), "Europe/Berlin") for month, day in ((3, 29), (7, 1), (10, 25))]
    assert [(one.end - one.start) / timedelta(hours=1) for one in berlin] == [23, 24, 25]
    # Where midnight does not exist, the day begins when clocks are set forward.
    assert window(date(2026, 3, 8), "America/Havana").start == datetime(2026, 3, 8, 5, tzinfo=UTC)
    plant.policy(query={"time_zone": "Asia/Tokyo"})
    plant.enqueue(["a"])
    plant.work()
    (run,) = plant.visible()
    text = (plant.sink.root / run / "part-00000.jsonl").read_text()
    assert '"from": "2026-01-04T15:00:00+00:00", "until": "2026-01-05T15:00:00+00:00"' in text


def test_an_extractor_that_raises_is_a_dispatch_and_not_an_attempt(plant: Plant) -> None:
    plant.policy(extract={"raises": ["a"]})
    plant.enqueue(["a", "b"])
    assert plant.work() == 2
    assert plant.states() == {"a": ("pending", 0, None), "b": ("success", 1, None)}
    assert plant.schedules()[0] == ("waiting", 1, None)
    assert plant.work() == 0  # it waits by the backoff
    ((message,),) = plant.read("select message from partitions.run where status = 'lost'")
    assert message.startswith("ConnectionError: the source does not answer")
    assert "hunter2secret" not in message
    assert len(plant.visible()) == 1
    for _ in range(4):
        plant.advance()
        assert plant.work() == 1
    assert [run for run in plant.runs() if run[0] != "accepted"] == [
        *[("lost", "EXTRACTOR_ERROR")] * 4, ("rejected", "NOTHING_TO_VALIDATE"),
    ]  # fmt: skip
    assert plant.states()["a"] == ("failed", 1, message)


def test_a_validator_that_raises_has_rejected(plant: Plant) -> None:
    plant.policy(validate={"raises": ["a"]})
    plant.enqueue(["a"])
    plant.work()
    ((reason, message, validator, rows),) = plant.read(
        "select reason, message, validator, rows from partitions.attempt"
    )
    assert (reason, validator, rows) == ("VALIDATOR_ERROR", "partitions.own:validate", 3)
    assert message.startswith("ConnectionError:")
    assert plant.states()["a"] == ("failed", 1, message)


def test_a_rejection_is_retried_until_it_is_terminal(plant: Plant) -> None:
    plant.policy(validate={"rejects": ["a"]}, max_attempts=2)
    plant.enqueue(["a"])
    plant.work()
    assert plant.states()["a"] == ("failed", 1, "connection timed out while counting")
    assert plant.schedules() == [("waiting", 0, None)]
    plant.advance()
    plant.work()
    assert plant.states()["a"][:2] == ("failed", 2)
    assert plant.read("select status, terminal_causes from partitions.schedule") == [("terminal", ["ATTEMPTS"])]
    # The requeue by the control plane itself is logged as any other: with its dispatch, by a program.
    requeued = "select from_status, to_status, authority, actor, actor_id from partitions.partition_event"
    assert plant.read(f"{requeued} where event_type = 'requeued'") == [
        ("failed", "pending", "recoup_control_plane", "system", "worker")
    ]
    assert plant.read("select distinct reason, rule from partitions.attempt") == [("TOO_FEW", "rows")]
    assert len(plant.visible()) == 2  # each attempt has a run of its own, and none is removed


def test_files_that_change_during_validation_are_not_accepted(plant: Plant) -> None:
    plant.policy(validate={"changes": ["a"]})
    plant.enqueue(["a", "b"])
    plant.work()
    assert plant.states()["a"][:2] == ("failed", 1)
    assert plant.read(
        "select reason, message like '%%part-00000%%' from partitions.attempt where verdict = 'rejected'"
    ) == [("DIGEST_CHANGED", True)]
    assert plant.states()["b"] == ("success", 1, None)


# Lost validators ------------------------------------------------------------------------------------------------------


def test_a_hung_validator_is_a_dispatch_five_times_and_then_an_attempt(plant: Plant, tmp_path: Path) -> None:
    """Each worker hangs in its validation, and loses its lease to the next. Nothing is extracted again."""
    let_go, notes = tmp_path / "until", tmp_path / "notes"
    plant.policy(validate={"hangs": ["a"], "until": str(let_go), "notes": str(notes)}, run_max_hours=1)
    plant.enqueue(["a"])
    names = [f"worker-{n}" for n in range(5)]
    for n, name in enumerate(names):
        threading.Thread(target=plant.work, kwargs={"name": name}, daemon=True).start()
        wait_for(plant, f"select bool_or(lease_until is not null and validations = {n}) from partitions.run"
                        " where status = 'published'")  # fmt: skip
        until(partial(_has_lines, notes, n + 1), "the validator was called")
        assert plant.states()["a"][:2] == ("pending", 0)
        plant.advance(HUNG)
        assert plant.duty("partition-expiry") == 1
        if n < 4:
            plant.advance(NEXT)
    assert plant.runs() == [("rejected", "VALIDATOR_LOST")]
    ((message,),) = plant.read("select message from partitions.attempt")
    assert message == "No verdict within its lease: worker-4 is gone or hangs."
    assert plant.states()["a"] == ("failed", 1, message)
    assert len(plant.visible()) == 1
    let_go.touch()  # the verdicts that now come are late
    wait_for(plant, "select count(*) = 5 from recoup.late_result")
    assert plant.states()["a"] == ("failed", 1, message)
    for name in names:
        working.release(name)


def test_a_thread_past_its_lease_is_a_lost_slot_and_half_of_them_stop_the_worker(plant: Plant, tmp_path: Path) -> None:
    let_go = tmp_path / "until"
    plant.db.settings = replace(plant.settings, partition_slots=2)
    plant.policy(validate={"hangs": ["a"], "until": str(let_go)}, run_max_hours=1, lease_s=10)
    plant.enqueue(["a"])
    found: list[BaseException] = []

    def run() -> None:
        try:
            plant.work()
        except WorkerStopped as refusal:
            found.append(refusal)

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(plant, "select count(*) = 1 from partitions.run where status = 'published'")
    plant.advance(HUNG)
    thread.join()
    assert [str(one) for one in found] != []
    with pytest.raises(WorkerStopped, match="1 of 2 slots"):  # and it claims nothing more
        plant.enqueue(["b"])
        plant.work()
    assert plant.states()["b"] == ("pending", 0, None)
    let_go.touch()


def test_leases_are_extended_while_a_task_runs(plant: Plant, tmp_path: Path) -> None:
    let_go = tmp_path / "until"
    plant.policy(extract={"hangs": ["a"], "until": str(let_go)}, lease_s=10, run_max_hours=1)
    plant.enqueue(["a"])
    with working_beside(plant, "worker-1"):
        wait_for(plant, "select count(*) = 1 from partitions.run")
        plant.advance(timedelta(seconds=8))  # not yet expired
        wait_for(plant, "select lease_until > recoup.now() + interval '5 seconds' from partitions.run")
        let_go.touch()
    assert plant.runs() == [("accepted", None)]


def test_what_is_gone_from_the_sink_is_extracted_again(plant: Plant, tmp_path: Path) -> None:
    let_go = tmp_path / "until"
    plant.policy(validate={"hangs": ["a"], "until": str(let_go)}, run_max_hours=1)
    plant.enqueue(["a"])
    with working_beside(plant, "worker-1"):
        wait_for(plant, "select count(*) = 1 from partitions.run where status = 'published'")
        plant.advance(HUNG)
        assert plant.duty("partition-expiry") == 1
        (run,) = plant.visible()
        (plant.sink.root / run).chmod(0o755)
        shutil.rmtree(plant.sink.root / run)
        let_go.touch()
    plant.advance()
    assert plant.work() == 1
    assert plant.runs() == [("lost", "RAW_GONE")]
    plant.advance()
    assert plant.work() == 1
    assert plant.runs() == [("lost", "RAW_GONE"), ("accepted", None)]


def test_a_second_call_of_a_task_touches_nothing_and_reports_what_stands(plant: Plant, tmp_path: Path) -> None:
    """As an executor does that may run a task twice: after it ended, or while the first call is still at it."""
    notes = tmp_path / "notes"
    plant.policy(extract={"notes": str(notes)}, validate={"notes": str(notes)})
    plant.enqueue(["a"])
    tasks: list[partial[Outcome]] = []
    place = Place(_Twice(tasks), repeats=True)
    assert plant.work(place) == 1
    assert plant.runs() == [("accepted", None)]
    (task,) = tasks
    assert task() == Outcome(end=End.STANDS, stands="accepted")
    assert len(notes.read_text().splitlines()) == 2  # one extraction, one validation
    assert len(plant.visible()) == 1
    assert plant.states()["a"] == ("success", 1, None)


class _Twice(ThreadEach):
    """Runs every task twice at the same time, as a cluster may, and has the result of the first that ends."""

    def __init__(self, tasks: list[partial[Outcome]]) -> None:
        self.tasks = tasks

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tasks.append(fn)
        first, second = super().submit(fn), super().submit(fn)
        # One of the two found that the other had started, and said so.
        ends = [one.result(PATIENCE_S) for one in (first, second)]
        assert [one.stands for one in ends].count("accepted") >= 1, ends
        done: Future[Any] = Future()
        done.set_result(next(one for one in ends if one.stands == "accepted"))
        return done


# Processes ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def processes() -> Iterator[Place]:
    slots = ProcessSlots()
    yield Place(slots, apart=True, kill=slots.kill)
    slots.shutdown()


def test_a_process_that_dies_takes_only_its_own_task(plant: Plant, processes: Place, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    plant.db.settings = replace(plant.settings, partition_slots=2)
    plant.policy(extract={"dies": ["c"], "notes": str(notes)})
    plant.enqueue(list("abcdef"))
    assert plant.work(processes) == 6
    assert {customer: status for customer, (status, *_) in plant.states().items()} == {
        **dict.fromkeys("abdef", "success"), "c": "pending",
    }  # fmt: skip
    assert [run for run in plant.runs() if run[0] != "accepted"] == [("lost", "EXECUTOR_ERROR")]
    assert str(os.getpid()) not in {line.split()[0] for line in notes.read_text().splitlines()}


def test_a_process_that_hangs_is_killed_and_its_slot_is_free(plant: Plant, processes: Place, tmp_path: Path) -> None:
    plant.db.settings = replace(plant.settings, partition_slots=2)
    notes = tmp_path / "notes"
    plant.policy(
        extract={"hangs": ["a"], "until": str(tmp_path / "never"), "notes": str(notes)}, run_max_hours=1, lease_s=10
    )
    plant.enqueue(["a"])
    thread = threading.Thread(target=plant.work, kwargs={"place": processes})
    thread.start()
    wait_for(plant, "select count(*) = 1 from partitions.run")
    until(notes.exists, "the extractor was called")
    plant.advance(HUNG)
    thread.join()
    assert plant.runs() == [("lost", "EXECUTOR_ERROR")]
    plant.enqueue(["b"])
    assert plant.work(processes) == 1
    assert plant.states()["b"] == ("success", 1, None)


# Who serves what ------------------------------------------------------------------------------------------------------


def test_what_cannot_be_loaded_here_is_left_to_others(plant: Plant) -> None:
    plant.policy(query={"extractor": "partitions.own:nothing_like_it"})
    plant.enqueue(["a"])
    assert plant.work() == 0
    assert plant.runs() == []
    found = functions.served(plant.context().policy[PartitionPolicy], None)
    assert list(found.problems) == [("shop", "orders")]
    assert "nothing_like_it" in found.problems["shop", "orders"]
    plant.policy(query={"validator": "no.such.module:validate"})
    assert "ModuleNotFoundError" in str(functions.served(plant.context().policy[PartitionPolicy], None).problems)
    plant.policy(query={"validator": "nameless"})
    assert "entry point 'nameless'" in str(functions.served(plant.context().policy[PartitionPolicy], None).problems)


def test_a_contract_is_a_validator(plant: Plant) -> None:
    plant.policy(query={"contract": "orders"}, contracts={"orders": CONTRACT})
    plant.enqueue(["a"])
    plant.work()
    assert plant.read("select validator, validator_version, length(contract_digest) > 10 from partitions.attempt") == [
        ("contract:orders", "1", True)
    ]


CONTRACT = {"columns": {"n": {"type": "integer"}}}


def test_a_project_files_folder_comes_first(plant: Plant, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "recoup.toml").touch()
    (folder / "nightly_orders.py").write_text("def extract(extraction, writer):\n    writer.rows([{'n': 1}])\n")
    plant.db.settings = replace(plant.settings, project=folder / "recoup.toml")
    plant.policy(query={"extractor": "nightly_orders:extract"})
    plant.enqueue(["a"])
    assert plant.work() == 1
    assert plant.read("select rows from partitions.run") == [(1,)]


# Duties ---------------------------------------------------------------------------------------------------------------


def test_old_failures_are_given_up(plant: Plant) -> None:
    plant.policy(validate={"rejects": ["a"]})
    plant.enqueue(["a"])
    plant.work()
    assert plant.duty("partition-age") == 0
    plant.advance(timedelta(days=8))
    (age,) = (one for one in DUTIES if one.name == "partition-age")
    with plant.db.transaction(Authority.READER) as tx:
        assert age.lag(tx) == pytest.approx(timedelta(days=1).total_seconds(), rel=0.01)
    assert plant.duty("partition-age") == 1
    assert plant.read("select status, terminal_causes from partitions.schedule") == [("terminal", ["AGE"])]


def test_verdicts_of_others_are_followed(plant: Plant) -> None:
    """A verdict by SQL, as another program writes it."""
    plant.policy()
    plant.enqueue(["a"])
    with plant.db.transaction(Authority.CONTROL_PLANE) as tx:
        tx.execute("select partitions.dispatch('default', 1, 'x', null, interval '1 minute', true)")
    ((run, token),) = plant.read("select run_id, token from partitions.run")
    with plant.db.transaction(Authority.EXTRACTOR) as tx:
        publish(tx, [PublishedRun(run, token, plant.sink.sink_id, "here", "0" * 64, "jsonl", 1, 1)])
    with plant.db.transaction(Authority.VALIDATOR) as tx:
        tx.execute("update partitions.run set status = 'accepted', lease_until = null, ended_with = token,"
                   " ended_at = recoup.now(), updated_at = recoup.now()")  # fmt: skip
    assert plant.schedules() == [("open", 0, None)]
    (duty,) = (one for one in DUTIES if one.name == "partition-follow")
    with plant.db.transaction(Authority.READER) as tx:
        assert duty.lag(tx) == 0.0
    assert plant.duty("partition-follow") == 1
    assert plant.schedules() == [("idle", 0, None)]


def test_what_ended_runs_left_aside_is_swept_after_a_day(plant: Plant) -> None:
    plant.policy(extract={"raises": ["a"]})
    plant.enqueue(["a"])
    plant.work()
    aside = plant.sink.root / ".aside"
    (left,) = aside.iterdir()
    assert plant.duty("partition-sweep") == 0
    os.utime(left, (1, 1))
    assert plant.duty("partition-sweep") == 1
    assert list(aside.iterdir()) == []


def test_without_work_no_duty_lags(plant: Plant) -> None:
    with plant.db.transaction(Authority.READER) as tx:
        assert [one.lag(tx) for one in DUTIES] == [None] * len(DUTIES)


# A worker ------------------------------------------------------------------------------------------------------------


def test_a_worker_that_lost_half_of_its_slots_stops_with_a_refusal(plant: Plant, tmp_path: Path) -> None:
    """What `recoup worker` is: its exit code is that of a refusal."""
    let_go = tmp_path / "until"
    plant.db.settings = replace(plant.settings, partition_slots=2)
    plant.policy(validate={"hangs": ["a"], "until": str(let_go)}, run_max_hours=1, lease_s=10)
    plant.enqueue(["a"])
    worker = Worker(plant.db, duties=["partition-work"], name="stuck")
    found: list[WorkerStopped] = []

    def run() -> None:
        try:
            worker.run()
        except WorkerStopped as refusal:
            found.append(refusal)

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(plant, "select count(*) = 1 from partitions.run where status = 'published'")
    plant.advance(HUNG)
    thread.join()
    assert [one.code for one in found] == ["slots_lost"]
    assert plant.read("select failures, last_failure like '%%1 of 2 slots%%' from recoup.duty_tally") == [(1, True)]
    let_go.touch()


def test_a_worker_does_all_of_it(plant: Plant) -> None:
    plant.policy(validate={"rejects": ["b"]})
    plant.enqueue(["a", "b"], days=2)
    worker = Worker(plant.db, duties=[duty.name for duty in DUTIES], name="all of it")
    assert worker.run_once()["partition-work"] == 4
    assert {customer: state[:2] for customer, state in plant.states().items()} == {
        "a": ("success", 1),
        "b": ("failed", 1),
    }


def test_what_was_published_into_another_sink_is_left_to_workers_that_have_it(plant: Plant) -> None:
    """It is not lost, not extracted again and not counted; what this worker can do goes on meanwhile."""
    plant.policy()
    plant.enqueue(["a"])
    elsewhere = uuid4()
    lease = timedelta(minutes=5)
    with plant.db.transaction(Authority.CONTROL_PLANE) as tx:
        (run,) = control_plane.dispatch(tx, limit=1, worker="other", lease=lease)
    with plant.db.transaction(Authority.EXTRACTOR) as tx:
        running.publish(tx, [PublishedRun(run.run_id, run.token, elsewhere, "l", "0" * 64, "jsonl", 1, 1)])
    with plant.db.transaction(Authority.CONTROL_PLANE) as tx:
        assert running.lose(tx, [LostRun(run.run_id, run.token, "VALIDATOR_GONE", "it is gone")]) == ["released"]
        control_plane.follow(tx)
    plant.advance()
    plant.enqueue(["b"])
    assert plant.work() == 1
    assert plant.runs() == [("published", "VALIDATOR_GONE"), ("accepted", None)]
    assert plant.states()["a"] == ("pending", 0, None)
    with plant.db.transaction(Authority.CONTROL_PLANE) as tx:
        (again,) = control_plane.dispatch(tx, limit=9, worker="other", lease=lease, sink=elsewhere)
    assert (again.run_id, again.status) == (run.run_id, "published")
