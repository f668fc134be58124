"""A raw sink that is full, read-only or unmounted: nothing is counted, nothing is lost, there is one alert, and work
goes on by itself when the sink is back."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import product
from partitions.plant import SOURCE, Plant, planted
from recoup.database import embedded
from recoup.lifecycles.declaration import Authority
from recoup.partitions import sinks, working
from recoup.partitions.duties import DUTIES
from recoup.partitions.sink import Sink
from recoup.policy import versions
from recoup.recovery.breakers import close_breaker, open_breaker
from recoup.refusals import InputRefused
from recoup.settings import Settings

PATIENCE_S = 60
CUSTOMERS = list("abcdef")
LARGE = "large"  # its data does not fit on the disk


def mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk, mounted twice: what is unmounted from the one place is still there."""
    kept, folder = tmp_path / "kept", tmp_path / "disk"
    kept.mkdir()
    folder.mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(kept)):
        pytest.skip("mounting a file system needs root, and a machine that permits it")
    assert mount("--bind", str(kept), str(folder))
    yield folder
    for one in (folder, kept):
        while os.path.ismount(one):
            subprocess.run(["umount", str(one)], check=True)


@pytest.fixture
def small(new_database: Callable[..., str], server: embedded.Server, settings: Settings, disk: Path) -> Iterator[Plant]:
    one = planted(server.uri(new_database()), settings, disk)
    with one.db:
        yield one
    working.release(one.name)


class Outage:
    """How a sink fails, and how it is back."""

    def __init__(self, disk: Path) -> None:
        self.disk = disk

    def read_only(self) -> Callable[[], object]:
        assert mount("-o", "remount,bind,ro", str(self.disk))
        return lambda: mount("-o", "remount,bind,rw", str(self.disk))

    def unmounted(self) -> Callable[[], object]:
        subprocess.run(["umount", str(self.disk)], check=True)
        return lambda: mount("--bind", str(self.disk.parent / "kept"), str(self.disk))

    def little_space(self) -> Callable[[], object]:
        ballast = self.disk / "source=ballast"
        ballast.write_bytes(bytes(3_300_000))
        return ballast.unlink

    def full(self) -> Callable[[], object]:
        """With enough space before the dispatch, and too little for what is extracted."""
        return lambda: mount("-o", "remount,size=64m", str(self.disk.parent / "kept"))


OUTAGES = {"read_only": "read_only", "unmounted": "absent", "little_space": "full", "full": "full"}


def alerts(plant: Plant) -> list[tuple[str, str, str]]:
    """Judge, and return which alerts there are of sinks."""
    (duty,) = (one for one in product.DUTIES if one.name == "alerts")
    assert duty.batch is not None
    with plant.db.transaction(duty.authority) as tx:
        duty.batch(tx, versions.active(tx).policy)
    return plant.read("select rule, key, status from recoup.alert where signal = 'sinks_unavailable'")


def outages(plant: Plant) -> list[str]:
    query = "select to_status from recoup.control_log where subject = 'partitions.sink' and from_status <> to_status"
    return [status for (status,) in plant.read(query + " order by seq")]


@pytest.mark.parametrize("kind", OUTAGES)
def test_nothing_is_counted_and_nothing_is_lost(
    small: Plant, disk: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "full":  # there is room for small ones: before the disk is larger it is not tried again
        monkeypatch.setattr(sinks, "FIRST_WAIT_S", 5.0)
    large = [LARGE] if kind == "full" else []
    small.policy(extract={"large": large})
    small.enqueue(["before"])
    assert small.work() == 1
    back = getattr(Outage(disk), kind)()
    small.enqueue(large + CUSTOMERS)
    small.work()
    started = len(small.runs())
    for _ in range(3):
        assert small.work() == 0  # its breaker is open
    assert len(small.runs()) == started
    # Nothing is counted: no attempt, no dispatch. What was under way is to be done again.
    assert {run for run in small.runs() if run[0] != "accepted"} <= {("lost", "SINK_UNAVAILABLE")}
    assert {(status, count) for status, count, _ in small.states().values()} <= {("pending", 0), ("success", 1)}
    assert {dispatches for _, dispatches, _ in small.schedules()} == {0}
    # One alert, however often it was tried.
    assert small.read("select status, cause from partitions.sink") == [("unavailable", OUTAGES[kind])]
    assert outages(small) == ["unavailable"]
    assert alerts(small) == [("sinks-unavailable", "default", "firing")]
    (duty,) = (one for one in DUTIES if one.name == "partition-work")
    assert duty.note is not None
    with small.db.transaction(Authority.READER) as tx:
        assert f"({OUTAGES[kind]})" in (duty.note(tx) or "")
    back()
    end = time.monotonic() + PATIENCE_S
    while {status for status, *_ in small.states().values()} != {"success"}:
        assert time.monotonic() < end, small.states()
        small.advance()  # what was under way waits by the backoff
        small.work()
        time.sleep(0.05)
    assert {count for _, count, _ in small.states().values()} == {1}
    assert len(small.visible()) == 1 + len(CUSTOMERS) + len(large)
    assert outages(small) == ["unavailable", "available"]
    for _ in range(7):  # as long as an alert needs to recover
        alerts(small)
        small.advance(timedelta(minutes=1))
    assert alerts(small) == [("sinks-unavailable", "default", "recovered")]


def test_a_sink_that_is_gone_during_a_validation_says_nothing_about_the_data(
    small: Plant, disk: Path, tmp_path: Path
) -> None:
    let_go = tmp_path / "let_go"
    small.policy(validate={"hangs": ["a"], "until": str(let_go)})
    small.enqueue(["a"])
    thread = threading.Thread(target=small.work)
    thread.start()
    end = time.monotonic() + PATIENCE_S
    while small.runs() != [("published", None)]:
        assert time.monotonic() < end
        time.sleep(0.02)
    back = Outage(disk).unmounted()
    let_go.touch()
    thread.join()
    assert small.runs() == [("published", "SINK_UNAVAILABLE")]
    assert small.states()["a"] == ("pending", 0, None)
    assert small.schedules() == [("waiting", 0, None)]
    back()
    while small.states()["a"][0] != "success":
        assert time.monotonic() < end
        small.advance()
        small.work()
        time.sleep(0.05)
    assert small.read("select validations, status from partitions.run") == [(1, "accepted")]


def test_a_folder_that_is_not_the_registered_sink_gets_nothing(plant: Plant, tmp_path: Path) -> None:
    """Neither an empty folder nor another sink."""
    plant.policy()
    plant.enqueue(["a"])
    other = Sink.create(tmp_path / "other")
    for root in (tmp_path / "nowhere", other.root):
        object.__setattr__(plant.settings, "sink", root)
        assert plant.work() == 0
        working.release(plant.name)  # with its breaker
    assert plant.runs() == []
    assert plant.read("select status, cause from partitions.sink") == [("unavailable", "absent")]
    assert list(other.root.glob("source=*")) == []


def test_a_name_is_of_one_sink(plant: Plant, tmp_path: Path) -> None:
    other = Sink.create(tmp_path / "other")
    with plant.db.transaction(Authority.OPERATOR) as tx:
        assert sinks.register(tx, plant.sink, "default").sink_id == plant.sink.sink_id
        with pytest.raises(InputRefused, match="another sink's"):
            sinks.register(tx, other, "default")
        with pytest.raises(InputRefused, match="under another name"):
            sinks.register(tx, plant.sink, "second")


def test_only_the_host_that_reported_an_outage_ends_it_unless_it_is_silent(plant: Plant) -> None:
    given = {"sink_id": plant.sink.sink_id, "cause": "full", "message": "no space"}

    def report(host: str) -> str:
        with plant.db.transaction(Authority.CONTROL_PLANE) as tx:
            (said,) = tx.execute(sinks.Q["report"], {**given, "host": host}).fetchone() or ("",)
            return str(said)

    def restore(host: str) -> bool:
        with plant.db.transaction(Authority.CONTROL_PLANE) as tx:
            (done,) = tx.execute(sinks.Q["restore"], {**given, "host": host}).fetchone() or (False,)
            return bool(done)

    assert report("one") == "reported"
    assert report("two") == report("one") == "known"
    assert not restore("two")
    assert restore("one")
    assert report("two") == "reported"
    plant.advance()
    assert restore("one")
    assert outages(plant) == ["unavailable", "available"] * 2


def test_an_outage_is_not_counted_as_age(plant: Plant) -> None:
    """A failed partition is given up after a week in which something could have become of it."""
    plant.policy(validate={"rejects": ["a"]})
    plant.enqueue(["a"])
    plant.work()
    given = {"sink_id": plant.sink.sink_id, "host": "one", "cause": "full", "message": "no space"}
    with plant.db.transaction(Authority.CONTROL_PLANE) as tx:
        tx.execute(sinks.Q["report"], given)
    plant.advance(timedelta(days=10))
    assert plant.duty("partition-age") == 0
    with plant.db.transaction(Authority.CONTROL_PLANE) as tx:
        tx.execute(sinks.Q["restore"], given)
    plant.advance(timedelta(days=6))
    assert plant.duty("partition-age") == 0
    plant.advance(timedelta(days=2))
    assert plant.duty("partition-age") == 1


def test_every_outage_of_a_sink_or_a_source_is_not_age_and_what_overlaps_is_not_age_once(plant: Plant) -> None:
    """Two outages of the sink, the first while its source is paused and behind a breaker: seven days count."""
    plant.policy(validate={"rejects": ["a"]})
    plant.enqueue(["a"])
    plant.work()
    given = {"sink_id": plant.sink.sink_id, "host": "one", "cause": "full", "message": "no space"}

    def sink(statement: str) -> None:
        with plant.db.transaction(Authority.CONTROL_PLANE) as tx:
            tx.execute(sinks.Q[statement], given)

    plant.advance(timedelta(days=1))
    sink("report")
    with plant.db.transaction(Authority.OPERATOR) as tx:
        product.pause(tx, "partition-source", SOURCE, reason="the sink is full")
        assert open_breaker(tx, SOURCE, reason="the same")
    plant.advance(timedelta(days=5))
    sink("restore")
    with plant.db.transaction(Authority.OPERATOR) as tx:
        product.resume(tx, "partition-source", SOURCE, reason="it is back")
        close_breaker(tx, SOURCE)
    plant.advance(timedelta(days=1))
    sink("report")
    plant.advance(timedelta(hours=1))
    sink("restore")
    plant.advance(timedelta(days=4, hours=12))
    assert plant.duty("partition-age") == 0  # six and a half days of twelve
    plant.advance(timedelta(days=1))
    assert plant.duty("partition-age") == 1
