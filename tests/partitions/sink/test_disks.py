"""A sink on a real file system that is full, read-only or unmounted. No half of a run is visible, and work resumes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pytest

from partitions.sink.given import PARTITION, publish
from recoup.partitions.sink import Cause, Kind, Sink, SinkUnavailable

NOBODY = 65534
NOISE = [{"text": os.urandom(600).hex()} for _ in range(1000)]  # more than the disk holds


def mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)):
        pytest.skip("mounting a file system needs root, and a machine that permits it")
    yield folder
    while os.path.ismount(folder):
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("verb", ["rows", "table", "file"])
def test_a_full_disk(disk: Path, tmp_path: Path, verb: str) -> None:
    sink = Sink.create(disk)
    (tmp_path / "noise.jsonl").write_text("".join(row["text"] for row in NOISE))
    data = {"rows": NOISE, "table": pa.Table.from_pylist(NOISE), "file": tmp_path / "noise.jsonl"}[verb]
    before, run_id = publish(sink), uuid4()
    with pytest.raises(SinkUnavailable) as unavailable, sink.writing(PARTITION, run_id) as writer:
        getattr(writer, verb)(data)
    assert unavailable.value.cause is Cause.FULL
    assert sink.free_bytes() == 0
    assert sink.runs(PARTITION) == [before.manifest.run_id]
    with pytest.raises(SinkUnavailable), sink.writing(PARTITION, uuid4()) as writer:
        writer.rows([{"a": 1}])
    assert mount("-o", "remount,size=4m", str(disk))
    assert publish(sink, run_id, NOISE).manifest.rows == 1000
    assert sink.check(PARTITION, before.manifest.run_id, before.digest) is None


def test_a_disk_that_is_full_when_the_manifest_is_written(disk: Path) -> None:
    """The same writer can publish later."""
    sink = Sink.create(disk)
    with sink.writing(PARTITION, uuid4()) as writer:
        writer.rows([{"a": 1}])
    ballast = disk / ".ballast"
    with pytest.raises(OSError, match="No space"), ballast.open("wb") as file:
        while True:
            file.write(bytes(2**16))
            file.flush()
    with pytest.raises(SinkUnavailable) as unavailable:
        sink.publish(writer)
    assert unavailable.value.cause is Cause.FULL
    assert sink.runs(PARTITION) == []
    ballast.unlink()
    assert not sink.publish(writer).already
    assert sink.runs(PARTITION) == [writer.run_id]


def test_a_read_only_disk(disk: Path) -> None:
    sink = Sink.create(disk)
    one = publish(sink)
    with sink.writing(PARTITION, uuid4()) as writer:
        writer.rows([{"a": 1}])
    assert mount("-o", "remount,ro", str(disk))
    with pytest.raises(SinkUnavailable) as unavailable:
        publish(sink)
    assert unavailable.value.cause is Cause.READ_ONLY
    with pytest.raises(SinkUnavailable) as unavailable:
        sink.publish(writer)
    assert unavailable.value.cause is Cause.READ_ONLY
    assert sink.check(PARTITION, one.manifest.run_id, one.digest) is None  # it can still be read
    assert mount("-o", "remount,rw", str(disk))
    assert not sink.publish(writer).already


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """As a user to whom rights apply."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_user_without_rights() -> None:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        sink = Sink.create(Path(place, "sink"))
        one = publish(sink)
        sink.root.chmod(0o555)
        with without_privileges():
            with pytest.raises(SinkUnavailable) as unavailable:
                Sink.create(Path(place, "sink", "another"))
            assert unavailable.value.cause is Cause.DENIED
            with pytest.raises(SinkUnavailable) as unavailable:
                publish(sink, partition=PARTITION._replace(source="another"))
            assert unavailable.value.cause is Cause.DENIED
            assert sink.check(PARTITION, one.manifest.run_id, one.digest) is None
        sink.folder(one).chmod(0)
        with without_privileges():  # of one run alone: the sink as a whole is available
            assert sink.check(PARTITION, one.manifest.run_id, one.digest) == "It cannot be read: Permission denied."
            found = list(sink.verify([(PARTITION, one.manifest.run_id, one.digest)]))
        assert Kind.CHANGED in [difference.kind for difference in found]
        sink.folder(one).chmod(0o755)
        sink.root.chmod(0o755)


def test_a_user_without_privileges_writes_publishes_and_sweeps() -> None:
    """Whom modes concern: a folder that is made read-only too early could not be moved."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)
        with without_privileges():
            sink = Sink.create(Path(place, "sink"))
            run_id = uuid4()
            one = publish(sink, run_id)
            assert publish(sink, run_id).already
            with pytest.raises(PermissionError):
                (sink.folder(one) / "more").write_text("")
            with pytest.raises(PermissionError):
                sink.files(one)[0].write_text("")
            assert sink.sweep_aside(lambda _: True, timedelta(), datetime.now(UTC) + timedelta(days=1)) == 1
            sink.folder(one).chmod(0o755)


def test_an_unmounted_disk_is_not_an_empty_sink(disk: Path) -> None:
    sink = Sink.create(disk)
    publish(sink)
    subprocess.run(["umount", str(disk)], check=True)
    for operation in (lambda: publish(sink), lambda: Sink.open(disk, sink.sink_id), lambda: sink.runs(PARTITION)):
        with pytest.raises(SinkUnavailable) as unavailable:
            operation()
        assert unavailable.value.cause is Cause.ABSENT
    assert list(disk.iterdir()) == []


def test_another_disk_in_its_place_is_not_the_sink(disk: Path) -> None:
    sink = Sink.create(disk)
    assert mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk))
    Sink.create(disk)
    with pytest.raises(SinkUnavailable) as unavailable:
        publish(sink)
    assert unavailable.value.cause is Cause.ABSENT
    subprocess.run(["umount", str(disk)], check=True)
    publish(sink)
