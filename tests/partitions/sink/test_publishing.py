"""A run is published once, as a whole, and never changed again."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from partitions.sink.given import PARTITION, ROWS, asides, publish, writable
from recoup.partitions.sink import Published, RunWriter, Sink, SinkRefused
from recoup.partitions.sink.manifest import parse

DAY = timedelta(days=1)
OTHERS = [{"day": 9}]


def written(sink: Sink, run_id: UUID, rows: object = ROWS) -> RunWriter:
    with sink.writing(PARTITION, run_id) as writer:
        writer.rows(rows)  # type: ignore[arg-type]
    return writer


def refusal(sink: Sink, writer: RunWriter) -> str:
    with pytest.raises(SinkRefused) as refused:
        sink.publish(writer)
    return refused.value.code


def test_nothing_is_visible_before_it_is_published(sink: Sink) -> None:
    run_id = uuid4()
    writer = written(sink, run_id)
    assert sink.published(PARTITION, run_id) is None
    assert [path.name for path in sink.root.iterdir() if not path.name.startswith(".")] == []
    one = sink.publish(writer)
    assert sink.published(PARTITION, run_id) == one
    assert not one.already
    assert sink.runs(PARTITION) == [run_id]
    assert asides(sink) == []


def test_the_manifest_is_in_the_folder_and_gives_the_digest(sink: Sink) -> None:
    one = publish(sink)
    assert parse((sink.folder(one) / "manifest.json").read_bytes()) == one.manifest
    assert one.digest == one.manifest.digest
    assert one.location == str(sink.folder(one).relative_to(sink.root))


def test_the_time_of_a_run_can_be_given(sink: Sink) -> None:
    at = datetime(2026, 3, 2, tzinfo=UTC)
    assert sink.publish(written(sink, uuid4()), written_at=at).manifest.written_at == at


def test_a_published_run_is_read_only(sink: Sink) -> None:
    folder = sink.folder(publish(sink))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o555
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o444}


def test_publishing_again_changes_nothing(sink: Sink) -> None:
    run_id = uuid4()
    writer = written(sink, run_id)
    first = sink.publish(writer)
    inode = sink.folder(first).stat().st_ino
    again = sink.publish(writer)  # the same writer, whose folder has moved
    other = sink.publish(written(sink, run_id))  # another writer, later, of the same data
    assert again == other == first
    assert again.already
    assert other.already
    assert sink.folder(first).stat().st_ino == inode


def test_a_run_is_never_overwritten(sink: Sink) -> None:
    first = publish(sink)
    run_id = first.manifest.run_id
    assert refusal(sink, written(sink, run_id, OTHERS)) == "run_published"
    assert sink.check(PARTITION, run_id, first.digest) is None
    assert len(asides(sink)) == 1  # and what was not published stays where it was


def test_a_file_in_the_place_of_the_run_is_not_overwritten(sink: Sink) -> None:
    folder = sink.folder(publish(sink))
    run_id = uuid4()
    (folder.parent / f"run_id={run_id}").write_text("mine")
    assert refusal(sink, written(sink, run_id)) == "run_published"
    assert (folder.parent / f"run_id={run_id}").read_text() == "mine"


def test_a_folder_without_a_manifest_is_neither_a_run_nor_overwritten(sink: Sink) -> None:
    run_id = uuid4()
    folder = sink.folder(publish(sink)).parent / f"run_id={run_id}"
    folder.mkdir()
    (folder / "part-00000.jsonl").write_text("{}\n")
    assert sink.published(PARTITION, run_id) is None
    assert run_id not in sink.runs(PARTITION)
    assert refusal(sink, written(sink, run_id)) == "run_published"
    assert [file.name for file in folder.iterdir()] == ["part-00000.jsonl"]


def test_an_empty_folder_in_its_place_is_no_obstacle(sink: Sink) -> None:
    run_id = uuid4()
    (sink.folder(publish(sink)).parent / f"run_id={run_id}").mkdir()
    assert sink.publish(written(sink, run_id)).manifest.run_id == run_id


def test_runs_of_a_partition_are_side_by_side(sink: Sink) -> None:
    runs = sorted(publish(sink).manifest.run_id for _ in range(3))
    publish(sink, partition=PARTITION._replace(customer_id="other"))
    assert sink.runs(PARTITION) == runs
    assert sink.runs(PARTITION._replace(customer_id="unknown")) == []


@pytest.mark.parametrize("same", [True, False])
def test_two_publishers_of_one_run_at_once(sink: Sink, same: bool) -> None:
    """Exactly one publishes. The other finds it published, or is refused if its data differs."""
    for _ in range(10):
        run_id, together = uuid4(), threading.Barrier(4)
        writers = [written(sink, run_id, ROWS if same else [{"day": number}]) for number in range(4)]

        def race(writer: RunWriter, together: threading.Barrier = together) -> Published | str:
            together.wait()
            try:
                return sink.publish(writer)
            except SinkRefused as refused:
                return refused.code

        with ThreadPoolExecutor(4) as pool:
            ends = list(pool.map(race, writers))
        first = [end for end in ends if isinstance(end, Published) and not end.already]
        assert len(first) == 1
        assert sink.check(PARTITION, run_id, first[0].digest) is None
        others = [end for end in ends if end is not first[0]]
        assert others == ([first[0]] * 3 if same else ["run_published"] * 3)


def test_what_ended_runs_left_aside_is_removed_after_a_day(sink: Sink) -> None:
    ended, live, young = uuid4(), uuid4(), uuid4()
    for run_id in (ended, live):
        written(sink, run_id)
    strange = sink.root / ".aside" / "notes"
    strange.mkdir()
    later = datetime.now(UTC) + DAY + timedelta(minutes=1)
    for path in [*sink.root.glob(".aside/*"), *sink.root.glob(".aside/*/*")]:
        os.utime(path, ((later - DAY * 3).timestamp(),) * 2)
    written(sink, young)
    recent = datetime.now(UTC)
    assert sink.sweep_aside(lambda run_id: run_id in (ended, young), DAY, recent) == 1
    assert sorted(path.name[:36] for path in asides(sink)) == sorted([str(live), str(young), "notes"])
    assert sink.sweep_aside(lambda run_id: run_id in (ended, young), DAY, later) == 1
    assert sink.sweep_aside(lambda _: True, DAY, later) == 1
    assert [path.name for path in asides(sink)] == ["notes"]


def test_a_file_that_is_still_written_keeps_its_folder(sink: Sink) -> None:
    """The time of a folder does not change while one of its files grows."""
    written(sink, uuid4())
    [folder] = asides(sink)
    now = datetime.now(UTC)
    os.utime(folder, ((now - DAY * 3).timestamp(),) * 2)
    assert sink.sweep_aside(lambda _: True, DAY, now) == 0


def test_a_run_that_was_swept_cannot_be_published(sink: Sink) -> None:
    writer = written(sink, uuid4())
    assert sink.sweep_aside(lambda _: True, timedelta(), datetime.now(UTC) + DAY) == 1
    assert refusal(sink, writer) == "written_removed"
    assert sink.runs(PARTITION) == []


def test_sweeping_leaves_published_runs_and_what_links_lead_to(sink: Sink, tmp_path: Path) -> None:
    one = publish(sink)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    written(sink, uuid4())
    [folder] = asides(sink)
    (folder / "link").symlink_to(outside)
    (sink.root / ".aside" / f"{uuid4()}-{'0' * 16}").symlink_to(outside)
    assert sink.sweep_aside(lambda _: True, timedelta(), datetime.now(UTC) + DAY) == 1
    assert (outside / "kept").read_text() == "kept"
    assert sink.check(PARTITION, one.manifest.run_id, one.digest) is None


def test_an_empty_sink_has_nothing_to_sweep(sink: Sink) -> None:
    assert sink.sweep_aside(lambda _: True, timedelta(), datetime.now(UTC)) == 0


@pytest.mark.parametrize("depth", range(4))
def test_a_link_in_the_sink_does_not_lead_outside(sink: Sink, tmp_path: Path, depth: int) -> None:
    """At each level of the path: nothing is written through it, and nothing behind it is a run."""
    other = Sink.create(tmp_path / "other")
    one = publish(other)
    names = Path(one.location).parts
    (sink.root.joinpath(*names[:depth])).mkdir(parents=True, exist_ok=True)
    sink.root.joinpath(*names[: depth + 1]).symlink_to(other.root.joinpath(*names[: depth + 1]))
    run_id = one.manifest.run_id
    assert sink.published(PARTITION, run_id) is None
    assert sink.runs(PARTITION) == []
    assert sink.check(PARTITION, run_id, one.digest) is not None
    assert refusal(sink, written(sink, uuid4())) == "sink_path_taken"
    assert other.runs(PARTITION) == [run_id]


def test_a_link_in_the_place_of_a_run_or_of_aside_leads_nowhere(sink: Sink, tmp_path: Path) -> None:
    other = Sink.create(tmp_path / "other")
    one = publish(other)
    run_id = one.manifest.run_id
    sink.folder(one).parent.mkdir(parents=True)
    sink.folder(one).symlink_to(other.folder(one))
    assert sink.runs(PARTITION) == []
    assert refusal(sink, written(sink, run_id)) == "run_published"
    shutil.rmtree(sink.root / ".aside")
    (sink.root / ".aside").symlink_to(tmp_path)
    with pytest.raises(SinkRefused), sink.writing(PARTITION, uuid4()):
        pytest.fail("nothing is written")


def test_a_link_in_the_place_of_a_file_is_not_read(sink: Sink, tmp_path: Path) -> None:
    for name in ("part-00000.jsonl", "manifest.json"):
        one = publish(sink)
        folder = sink.folder(one)
        writable(folder)
        (folder / name).rename(tmp_path / name)
        (folder / name).symlink_to(tmp_path / name)
        assert sink.published(PARTITION, one.manifest.run_id) is None
        assert sink.check(PARTITION, one.manifest.run_id, one.digest) is not None
