"""Workers killed at every step of a partition: of its files, and of its statements; none is left out.

The worker is a process of its own. It is killed before its first step in the raw sink, before the second, and so on
until it lives to the end; and behind each of its statements in the same way. Whatever it left: no half of a run is
visible, nothing is counted that did not happen, and another worker ends the partition.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from partitions.plant import DAY, QUERY, SOURCE, Plant, planted
from recoup.database import embedded
from recoup.database.connection import connect
from recoup.partitions import working
from recoup.partitions.identity import Partition
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from lively import audited, broken

sys.path.insert(0, str(Path(__file__).parent))
from killing import KILLED, Ground, Worker, bearing
from wire import Wire

LEASE = timedelta(minutes=6)  # longer than that of the policy
NO_STEP = "0"


@pytest.fixture(scope="module")
def bears() -> Iterator[subprocess.Popen[str]]:
    with bearing() as process:
        yield process


@dataclass(frozen=True)
class PartitionGround(Ground):
    """The same, with a raw sink."""

    plant: Plant

    def struck_in(self, step: int) -> int:
        """A worker that is killed before a step in the raw sink. How it ended."""
        self.wire.leave_be()
        worker = self.born("work on partitions", str(self.plant.sink.root), str(step))
        worker.go()
        return worker.ends()

    def struck_behind(self, boundary: int) -> int:
        """A worker that is killed behind a statement. How it ended."""
        return self.struck("work on partitions", boundary, Worker.kill, given=(str(self.plant.sink.root), NO_STEP))


@pytest.fixture
def ground(
    new_database: Callable[..., str],
    server: embedded.Server,
    settings: Settings,
    bears: subprocess.Popen[str],
    tmp_path: Path,
) -> Iterator[PartitionGround]:
    plant = planted(server.uri(new_database()), settings, tmp_path / "sink")
    with (
        plant.db,
        # A folder with a short name: that of a socket is bounded.
        tempfile.TemporaryDirectory() as folder,
        Wire(plant.db.conninfo, Path(folder)) as wire,
        contextlib.closing(connect(server.uri("postgres", admin=True), settings)) as admin,
    ):
        yield PartitionGround(wire=wire, bears=bears, admin=admin, plant=plant)
    working.release(plant.name)


RUNS = (
    "select r.run_id, r.status, r.reason, r.manifest_digest from partitions.run r"
    " join partitions.partition_state p using (partition_id) where p.customer_id = %s order by r.number"
)
STATE = (
    "select p.status, p.attempt_count, p.current_run_id, (select count(*) from partitions.attempt a"
    " where a.partition_id = p.partition_id), s.status, s.dispatches"
    " from partitions.partition_state p join partitions.schedule s using (partition_id) where p.customer_id = %s"
)


def holds(plant: Plant, customer: str) -> None:
    """What is true at any moment: only whole runs are visible, and what is counted has happened."""
    partition = Partition(SOURCE, customer, QUERY, DAY)
    folder = plant.sink.root / f"source={SOURCE}" / f"customer_id={customer}"
    visible = {one.name.removeprefix("run_id=") for one in folder.glob("*/*/run_id=*")}
    assert visible == {str(run) for run in plant.sink.runs(partition)}  # each has a manifest, and all its files
    ((status, attempts, current, logged, _, _),) = plant.read(STATE, customer)
    assert attempts == logged == (status == "success")
    for run_id, of_run, _, digest in plant.read(RUNS, customer):
        if of_run in ("published", "accepted"):
            assert plant.sink.check(partition, run_id, digest) is None
        assert (of_run == "accepted") == (run_id == current)


def picked_up(plant: Plant, customer: str) -> None:
    """Another worker ends what the killed one left: once, and under a token of its own."""
    left = [run[1] for run in plant.read(RUNS, customer)]
    plant.advance(LEASE)
    plant.duty("partition-expiry")
    plant.advance()
    plant.work()
    holds(plant, customer)
    assert plant.read(STATE, customer)[0][:2] == ("success", 1)
    assert plant.read(STATE, customer)[0][3:] == (1, "idle", 0)
    ended = [run[1] for run in plant.read(RUNS, customer)]
    # What was published is validated again; what was not is extracted again, by another run.
    assert ended == {"open": ["lost", "accepted"]}.get(left[0] if left else "", ["accepted"])


@pytest.mark.parametrize("where", ["files", "statements"])
def test_killed_at_every_step(ground: PartitionGround, where: str) -> None:
    ground.plant.policy()
    seen: set[str] = set()
    strike = ground.struck_in if where == "files" else ground.struck_behind
    for step in count(1):
        customer = f"{where}-{step}"
        ground.plant.enqueue([customer])
        ended = strike(step)
        holds(ground.plant, customer)
        seen |= {str(run[1]) for run in ground.plant.read(RUNS, customer)} or {"none"}
        if ended != KILLED:
            assert ended == 0
            break
        picked_up(ground.plant, customer)
    # There were kills before, while and after it was published.
    assert seen == ({"open", "accepted"} if where == "files" else {"none", "open", "published", "accepted"})
    assert step > (10 if where == "files" else 12)
    # Killed between its rename and its record a run is whole, and nobody's: its partition has another one.
    of = {str(run): status for run, status in ground.plant.read("select run_id, status from partitions.run")}
    visible = [of[path.rpartition("run_id=")[2]] for path in ground.plant.visible()]
    assert visible.count("accepted") == step
    assert set(visible) == {"accepted", "lost"}
    assert broken(audited(ground.plant.db)) == {}
