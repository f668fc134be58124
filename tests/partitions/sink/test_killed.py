"""A process that is killed at any step of writing and publishing leaves no half of a run. All of it can be repeated."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from partitions.sink import dying
from partitions.sink.given import PARTITION, asides
from recoup.partitions.sink import Sink

KINDS = ("jsonl", "parquet")


@pytest.fixture(scope="module", params=KINDS)
def deaths(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[Any]]:
    """The sinks that killed processes left, and how each process ended."""
    root = tmp_path_factory.mktemp("killed")
    ran = subprocess.run(
        [sys.executable, dying.__file__, str(root), request.param], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return root, request.param, [json.loads(line) for line in ran.stdout.splitlines()]


def test_every_step_was_met_by_a_kill(deaths: tuple[Path, str, list[Any]]) -> None:
    _, _, ends = deaths
    *killed, last = ends
    assert {one["ended"] for one in killed} == {-signal.SIGKILL}
    assert last["ended"] == 0
    assert len(last["calls"]) <= len(killed)
    assert {"open", "mkdir", "write", "fchmod", "fsync", "rename"} <= set(last["calls"])


def test_a_run_is_visible_as_a_whole_or_not_at_all(deaths: tuple[Path, str, list[Any]]) -> None:
    root, kind, ends = deaths
    renamed = ends[-1]["calls"].index("rename")
    for one in ends:
        sink = Sink.open(root / str(one["step"]))
        found = sink.published(PARTITION, dying.RUN)
        assert (found is not None) == (one["step"] > renamed), one["step"]
        assert sink.runs(PARTITION) == ([dying.RUN] if found else [])
        if found is not None:
            assert sink.check(PARTITION, dying.RUN, found.digest) is None
            assert found.manifest.rows == (2 if kind == "jsonl" else 3)
            assert {stat.S_IMODE(file.stat().st_mode) for file in sink.folder(found).iterdir()} == {0o444}
        manifests = list(sink.root.glob("source=*/**/manifest.json"))
        assert manifests == ([] if found is None else [sink.folder(found) / "manifest.json"])


def test_the_same_run_can_be_written_and_published_again(deaths: tuple[Path, str, list[Any]]) -> None:
    root, kind, ends = deaths
    for one in ends:
        sink = Sink.open(root / str(one["step"]))
        before = sink.published(PARTITION, dying.RUN)
        with sink.writing(PARTITION, dying.RUN) as writer:
            dying.extract(writer, kind)
        again = sink.publish(writer)
        assert again.already == (before is not None)
        assert before in (None, again)
        assert sink.check(PARTITION, dying.RUN, again.digest) is None
        assert stat.S_IMODE(sink.folder(again).stat().st_mode) == 0o555
        sink.sweep_aside(lambda _: True, timedelta(), datetime.now(UTC) + timedelta(days=1))
        assert asides(sink) == []
        assert list(sink.verify([(PARTITION, dying.RUN, again.digest)])) == []


def test_everything_is_on_disk_before_the_rename_and_the_place_after_it(deaths: tuple[Path, str, list[Any]]) -> None:
    """What a crash of the machine would keep: files, manifest, and the folders that name them."""
    _, kind, ends = deaths
    calls = ends[-1]["calls"]
    renamed = calls.index("rename")
    written = max(place for place, call in enumerate(calls) if call == "write")
    assert calls.count("rename") == 1
    assert "write" not in calls[renamed:]
    # The last write is that of the manifest; it is synced, and then its folder.
    assert calls[written + 1 : renamed].count("fsync") == 2
    assert "fsync" in calls[renamed:]
    files = 2 if kind == "jsonl" else 3
    folders = 2 + 4 + 1 + 1  # of the folder aside, of the path, of aside itself, and of the run
    assert calls[:renamed].count("fsync") == files + folders
