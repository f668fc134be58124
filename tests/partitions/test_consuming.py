"""What consumers read: current data and no other, from one snapshot; and what differs in the raw sink."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from partitions.people import HOUR, Ward, opened
from recoup.client import Client
from recoup.database import embedded
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.partitions import consuming, select
from recoup.partitions.selecting import of
from recoup.partitions.sink import Sink, SinkUnavailable
from recoup.refusals import InputRefused, LawRefused
from recoup.settings import Settings


@pytest.fixture(scope="module")
def shared(
    new_database: Callable[..., str],
    server: embedded.Server,
    settings: Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ward]:
    yield from opened(new_database, server, settings, tmp_path_factory.mktemp("data"))


@pytest.fixture
def ward(shared: Ward) -> Ward:
    return shared.next_source()


def test_only_current_data_is_read(ward: Ward) -> None:
    ward.accept(ward.key(1), rows=[{"id": 1}, {"id": 2}])
    ward.reject(ward.key(2))
    (one,) = ward.client.partitions.current(ward.all)
    assert (one.partition, one.rows, one.format) == (ward.key(1), 2, "jsonl")
    (files,) = ward.client.partitions.paths(ward.all)
    (path,) = files.paths
    assert path.read_text().count("\n") == 2
    assert f"run_id={one.run_id}" in str(path)
    # A new run that was accepted takes its place; one that was rejected does not.
    ward.client.partitions.reprocess(of(ward.key(1)))
    runs = ward.dispatch()
    ward.publish(runs, [{"id": 3}])
    ward.judge(runs, reason="X", message="no", rule="r")
    assert ward.client.partitions.paths(of(ward.key(1))) == [files]
    ward.client.partitions.reprocess(of(ward.key(1)))
    runs = ward.dispatch()
    ward.publish(runs, [{"id": 3}])
    ward.judge(runs)
    (now,) = ward.client.partitions.paths(of(ward.key(1)))
    assert now.current.run_id == runs[0].run_id


def test_data_is_opened_as_an_arrow_table(ward: Ward) -> None:
    ward.accept(ward.key(1), rows=[{"id": 1, "customer_id": 7}, {"id": 2, "customer_id": 8}])
    ward.accept(ward.key(2), rows=[{"id": 3, "customer_id": 9}])
    table = ward.client.partitions.open(ward.all)
    rows = table.to_pylist()
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert [row["logical_date"] for row in rows] == [ward.key(1).logical_date] * 2 + [ward.key(2).logical_date]
    assert [row["customer_id"] for row in rows] == [7, 8, 9]  # of the data
    assert table.column("source").to_pylist() == [ward.source] * 3
    assert ward.client.partitions.open(of(ward.key(1)), with_key=False).column_names == ["id", "customer_id"]
    assert ward.client.partitions.open(of(ward.key(9))).num_rows == 0


def test_parquet_is_opened_too(ward: Ward) -> None:
    import pyarrow  # type: ignore[import-untyped,unused-ignore]

    ward.enqueue(ward.key(1))
    (run,) = ward.dispatch()
    ward.publish([run], table=pyarrow.table({"id": [1, 2]}))
    ward.judge([run])
    assert ward.client.partitions.open(ward.all).column("id").to_pylist() == [1, 2]


def test_new_data_is_watched(ward: Ward) -> None:
    name = uuid.uuid4().hex
    watch = ward.client.partitions.watch
    ward.accept(ward.key(1))
    assert [[one.partition for one in page] for page in watch(name, ward.all)] == [[ward.key(1)]]
    assert [*watch(name, ward.all)] == []
    ward.accept(ward.key(2), ward.key(3))
    ward.reject(ward.key(4))
    ward.client.partitions.reprocess(of(ward.key(3)))
    runs = ward.dispatch()
    ward.publish(runs, [{"id": 3}])
    ward.judge(runs)
    # Of the runs of a partition only the last one counts by now.
    seen = [one for page in watch(name, ward.all) for one in page]
    assert [one.partition for one in seen] == [ward.key(2), ward.key(3)]
    assert seen[-1].run_id == runs[0].run_id


def test_a_page_that_was_not_finished_comes_again(ward: Ward) -> None:
    name = uuid.uuid4().hex
    ward.accept(ward.key(1))
    for _ in range(2):
        pages = ward.client.partitions.watch(name, ward.all)
        assert [one.partition for one in next(pages)] == [ward.key(1)]
        del pages  # killed before it was acknowledged


def test_another_sink_is_not_read(ward: Ward, tmp_path: object) -> None:
    ward.accept(ward.key(1))
    other = Sink.create(tmp_path / "other")  # type: ignore[operator]
    client = Client(ward.client.conninfo, replace(ward.client.settings, sink=other.root))
    with client, pytest.raises(InputRefused, match="is in the sink") as refused:
        client.partitions.paths(ward.all)
    assert refused.value.code == "sink_of_another"
    missing = Client(ward.client.conninfo, replace(ward.client.settings, sink=other.root / "none"))
    with missing, pytest.raises(SinkUnavailable):
        missing.partitions.paths(ward.all)


def differences(ward: Ward) -> dict[str, tuple[str | None, str | None]]:
    """By location: how it differs, and the status of its run."""
    found = list(consuming.verify(lambda: ward.client.transaction(Authority.READER), ward.sink))
    return {one.location: (one.kind, one.status) for one in found if ward.source in one.location}


def test_what_is_published_while_the_sink_is_read_is_no_difference(ward: Ward) -> None:
    ward.accept(ward.key(1))
    others = [ward.key(2)]

    @contextmanager
    def transaction() -> Iterator[Transaction]:
        with ward.client.transaction(Authority.READER) as tx:
            yield tx
        while others:  # after the first
            ward.accept(others.pop())

    found = list(consuming.verify(transaction, ward.sink))
    assert [one for one in found if ward.source in one.location] == []
    assert len(ward.client.partitions.paths(ward.all)) == 2


def test_the_sink_is_compared_with_the_database(ward: Ward) -> None:
    gone, changed, fine = ward.accept(ward.key(1), ward.key(2), ward.key(3))
    ward.enqueue(ward.key(4), ward.key(5))
    waiting, late = ward.dispatch()
    ward.publish([waiting])
    with ward.sink.writing(late.partition, late.run_id) as writer:
        writer.rows([{"id": 1}])
    ward.sink.publish(writer)
    foreign = ward.sink.root / f"source={ward.source}" / "notes.txt"
    foreign.write_text("not ours")
    places = {one.run_id: one for one in ward.client.partitions.current(ward.all)}
    for run in (gone, changed):
        folder = ward.sink.root / places[run.run_id].location
        folder.chmod(0o755)
        for file in folder.iterdir():
            file.chmod(0o644)
            if run is gone:
                file.unlink()
            elif file.name != "manifest.json":
                file.write_text('{"id": 9}\n')
        if run is gone:
            folder.parent.chmod(0o755)
            folder.rmdir()
    found = differences(ward)
    kinds = {kind: location for location, (kind, _) in found.items()}
    assert f"run_id={gone.run_id}" in kinds["missing"]
    assert f"run_id={changed.run_id}" in kinds["changed"]
    assert "notes.txt" in kinds["foreign"]
    without = {location for location, (kind, _) in found.items() if kind == "without_verdict"}
    assert {location[-36:] for location in without} == {str(waiting.run_id), str(late.run_id)}
    assert not [location for location in found if str(fine.run_id) in location]
    with pytest.raises(LawRefused) as refused:
        ward.client.partitions.paths(of(ward.key(1)))
    assert refused.value.code == "raw_missing"
    assert "recoup state verify" in refused.value.next_step
    ward.advance(HOUR)


def test_consumers_change_nothing(ward: Ward) -> None:
    with (
        pytest.raises(Exception, match=r"permission denied|may not"),
        ward.client.transaction(Authority.CONSUMER) as tx,
    ):
        tx.execute("select partitions.enqueue('{a}', '{b}', '{c}', '{2026-01-01}', 'fresh', null, null)")


def test_the_library_joins_a_callers_transaction(ward: Ward) -> None:
    """What is enqueued with tx= is there when the caller commits, and not before."""
    import psycopg

    with psycopg.connect(ward.client.conninfo) as mine:
        ward.client.partitions.enqueue(ward.key(1), tx=mine)
        assert ward.client.partitions.list(select(source=ward.source)) == []
        mine.rollback()
    assert ward.client.partitions.list(select(source=ward.source)) == []
