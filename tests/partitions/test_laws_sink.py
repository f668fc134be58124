"""The audit of the raw sink: it reads what partitions point at, and says what it could not see."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

import extraction
from product import chosen
from recoup.audit.examine import InvariantResult, examine
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.partitions import running, sinks
from recoup.partitions.running import PublishedRun
from recoup.partitions.sink import Sink

IN_SINK = chosen(["partitions/9/current-run-in-the-sink"])


@dataclasses.dataclass(frozen=True)
class Shore:
    """A database with one partition that succeeded, and the sink that has its data."""

    database: Database
    sink: Sink
    folder: Path

    def audited(self, **settings: object) -> InvariantResult:
        given = dataclasses.replace(self.database.settings, **{"sink": self.sink.root, **settings})  # type: ignore[arg-type]
        with self.database.transaction(Authority.READER) as tx:
            (result,) = examine(tx, IN_SINK, settings=given)
        return result


@pytest.fixture
def shore(fresh: Callable[..., Database], tmp_path: Path) -> Shore:
    database, sink = fresh(), Sink.create(tmp_path / "sink")
    with database.transaction(Authority.OPERATOR) as tx:
        sinks.register(tx, sink, "default")
    with database.transaction(Authority.EXTRACTOR) as tx:
        run = extraction.dispatched(tx, extraction.new_partition(tx))
        with sink.writing(run.partition, run.run_id) as writer:
            writer.rows([{"order": 1}])
        made = sink.publish(writer)
        told = PublishedRun(run.run_id, run.token, sink.sink_id, made.location, made.digest, "jsonl", 1, 1)
        assert running.publish(tx, [told]) == {run.run_id}
        assert extraction.judge(tx, run) == "accepted"
    return Shore(database, sink, sink.folder(made))


def test_what_is_there_and_unchanged_holds(shore: Shore) -> None:
    result = shore.audited()
    assert (result.holds, result.note) == (True, None)


def test_a_changed_file_is_found(shore: Shore) -> None:
    (file,) = shore.folder.glob("*.jsonl")
    file.chmod(0o600)
    file.write_bytes(file.read_bytes().replace(b"1", b"2"))
    result = shore.audited()
    assert (result.holds, result.found) == (False, 1)


def test_a_missing_run_is_found(shore: Shore) -> None:
    shore.folder.parent.chmod(0o700)
    shore.folder.rename(shore.folder.with_name("elsewhere"))
    result = shore.audited()
    assert not result.holds
    assert "not in the raw sink" in str(result.rows[0]["problem"])


def test_without_a_sink_it_says_so(shore: Shore, tmp_path: Path) -> None:
    """Nothing is broken, and nothing was checked."""
    result = shore.audited(sink=None, home=tmp_path / "home")
    assert result.holds
    assert result.note is not None
    assert "none is configured here" in result.note


def test_runs_of_another_sink_are_not_checked(shore: Shore, tmp_path: Path) -> None:
    other = Sink.create(tmp_path / "other")
    result = shore.audited(sink=other.root)
    assert (result.holds, (result.note or "")[:21]) == (True, "1 of 1 current runs a")


def test_a_sink_that_is_configured_and_gone_is_an_error(shore: Shore, tmp_path: Path) -> None:
    result = shore.audited(sink=tmp_path / "gone")
    assert not result.holds
    assert "SinkUnavailable" in str(result.rows[0]["error"])
