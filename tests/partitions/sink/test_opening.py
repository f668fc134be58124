"""A folder is a sink by its id file. Without it, it is absent, not empty."""

from __future__ import annotations

import errno
import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from partitions.sink.given import PARTITION, publish
from recoup.partitions.sink import Cause, Sink, SinkRefused, SinkUnavailable
from recoup.partitions.sink.availability import CAUSES, reaching

ID = ".recoup-sink.json"


def absent(root: Path, expect: UUID | None = None) -> str:
    with pytest.raises(SinkUnavailable) as unavailable:
        Sink.open(root, expect)
    assert unavailable.value.cause is Cause.ABSENT
    assert unavailable.value.path == str(root)
    return unavailable.value.detail


def test_a_sink_is_opened_by_its_id(tmp_path: Path) -> None:
    sink = Sink.create(tmp_path / "a" / "b")
    assert Sink.open(sink.root) == Sink.open(sink.root, sink.sink_id) == sink
    assert json.loads((sink.root / ID).read_text()) == {"format_version": 1, "sink_id": str(sink.sink_id)}
    assert [path.name for path in sink.root.iterdir()] == [ID]
    assert sink.free_bytes() > 0


def test_a_folder_that_is_no_sink_is_absent(tmp_path: Path) -> None:
    assert absent(tmp_path / "missing") == "there is no such folder"
    (tmp_path / "file").write_text("")
    assert absent(tmp_path / "file") == "there is no such folder"
    assert absent(tmp_path) == f"the folder has no {ID}; perhaps it is not mounted"


def test_another_sink_in_its_place_is_absent(sink: Sink) -> None:
    other = uuid4()
    assert absent(sink.root, other) == f"the folder is the sink {sink.sink_id}, not {other}"


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "null", '{"format_version": 1, "sink_id": 7}', "[" * 3000, "{" + " " * 5000 + "}"]
)
def test_a_damaged_id_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / ID).write_text(content)
    absent(tmp_path)


def test_an_id_behind_a_link_is_none(sink: Sink, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / ID).symlink_to(sink.root / ID)
    absent(tmp_path / "b")


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / ID).write_text(json.dumps({"format_version": 2, "sink_id": str(uuid4())}))
    with pytest.raises(SinkRefused) as refused:
        Sink.open(tmp_path)
    assert refused.value.code == "sink_version"


def test_a_sink_that_vanishes_is_noticed_by_every_operation(sink: Sink) -> None:
    one = publish(sink)
    with sink.writing(PARTITION, uuid4()) as writer:
        writer.rows([])
    sink.root.rename(sink.root.with_name("gone"))
    sink.root.mkdir()
    run_id = one.manifest.run_id
    for operation in (
        lambda: sink.free_bytes(),
        lambda: sink.writing(PARTITION, run_id).__enter__(),
        lambda: sink.publish(writer),
        lambda: sink.published(PARTITION, run_id),
        lambda: sink.runs(PARTITION),
        lambda: sink.check(PARTITION, run_id, one.digest),
        lambda: list(sink.verify([])),
    ):
        with pytest.raises(SinkUnavailable) as unavailable:
            operation()
        assert unavailable.value.cause is Cause.ABSENT
    assert list(sink.root.iterdir()) == []
    sink.root.rmdir()
    sink.root.with_name("gone").rename(sink.root)
    assert sink.publish(writer).manifest.rows == 0
    assert sink.check(PARTITION, run_id, one.digest) is None


def test_a_sink_is_created_once(sink: Sink) -> None:
    with pytest.raises(SinkRefused) as refused:
        Sink.create(sink.root)
    assert refused.value.code == "sink_exists"
    assert Sink.open(sink.root) == sink


def test_a_folder_with_other_things_in_it_does_not_become_a_sink(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    with pytest.raises(SinkRefused) as refused:
        Sink.create(tmp_path)
    assert refused.value.code == "sink_not_empty"
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]


def test_a_file_does_not_become_a_sink(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for root in (tmp_path / "file", tmp_path / "file" / "in it"):
        with pytest.raises(SinkUnavailable) as unavailable:
            Sink.create(root)
        assert unavailable.value.cause is Cause.ABSENT


def test_a_new_file_system_becomes_a_sink(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / f"{ID}.0123").write_text("{")  # of a creation that was killed
    assert Sink.open(tmp_path, Sink.create(tmp_path).sink_id)


def test_two_that_create_a_sink_at_once(tmp_path: Path) -> None:
    def create(number: int) -> Sink | None:
        try:
            return Sink.create(tmp_path / "sink")
        except SinkRefused:
            return None

    with ThreadPoolExecutor(4) as pool:
        created = [sink for sink in pool.map(create, range(4)) if sink is not None]
    assert created == [Sink.open(tmp_path / "sink")]


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.ENOSPC, Cause.FULL),
        (errno.EDQUOT, Cause.FULL),
        (errno.EROFS, Cause.READ_ONLY),
        (errno.EIO, Cause.IO_ERROR),
        (errno.ESTALE, Cause.STALE),
        (errno.EACCES, Cause.DENIED),
    ],
)
def test_errors_of_the_file_system_are_the_fault_of_the_sink(number: int, cause: Cause) -> None:
    with pytest.raises(SinkUnavailable) as unavailable, reaching("/sink"):
        raise OSError(number, os.strerror(number))
    error = pickle.loads(pickle.dumps(unavailable.value))
    assert (error.code, error.cause, error.path) == ("sink_unavailable", cause, "/sink")
    assert error.as_json() == unavailable.value.as_json()
    assert set(CAUSES.values()) == set(Cause) - {Cause.ABSENT}


def test_other_errors_are_not() -> None:
    with pytest.raises(FileNotFoundError), reaching("/sink"):
        raise FileNotFoundError(errno.ENOENT, "missing")


def test_a_full_disk_of_the_extractor_is_not_the_fault_of_the_sink(sink: Sink) -> None:
    with pytest.raises(OSError, match="my own disk"), sink.writing(PARTITION, uuid4()) as writer:
        writer.rows({"a": 1 / 0} if number else _full() for number in range(1))


def _full() -> dict[str, object]:
    raise OSError(errno.ENOSPC, "my own disk")
