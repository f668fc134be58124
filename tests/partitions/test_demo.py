"""The demo of partitions, smaller: everything happens, and each partition stands as is known of its source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from product import LIFECYCLES, chosen
from recoup.audit.examine import examine
from recoup.cli.grid import Cell, grid
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.partitions import listing
from recoup.partitions.marks import Mark
from recoup.partitions.selecting import EVERYTHING
from recoup.settings import load
from recoup_demo import partitions as demo
from recoup_demo import partitions_sources as sources
from recoup_demo.partitions_truth import Kind

ELSEWHERE = ("partitions.sink", "partitions.requeue_request")


def rows(database: Database, query: str) -> list[tuple[Any, ...]]:
    with database.transaction(Authority.READER) as tx:
        return tx.execute(query.encode()).fetchall()


def test_it_has_forty_customers_of_three_sources_for_sixty_days_and_fewer_on_request(
    fresh: Callable[..., Database],
) -> None:
    database = fresh()
    of_all = demo.Play(database, lambda _: None).layout
    assert len(of_all.partitions()) == 3 * 40 * 60
    assert {of_all.kind(one) for one in of_all.partitions()} == set(Kind)
    settings = load({"RECOUP_DEMO_CUSTOMERS": "4"})
    with Database(database.conninfo, replace(database.settings, demo_customers=settings.demo_customers)) as fewer:
        assert len(demo.Play(fewer, lambda _: None).layout.partitions()) == 3 * 4 * 60


def test_every_partition_stands_as_is_known_of_its_source(fresh: Callable[..., Database], tmp_path: Path) -> None:
    database, said, answers = fresh(), list[str](), sources.now
    play = demo.Play(database, said.append, customers=4, days=20, sink=tmp_path / "sink")
    assert {play.layout.kind(one) for one in play.layout.partitions()} == set(Kind)
    play.play()
    assert demo.differences(database, play.layout) == []
    assert "240 partitions are as their sources are known to be" in said[-1]
    assert sources.now is answers
    assert demo.STANDSTILL < play.now - play.begun <= demo.SPAN
    # Rows in every status of every table, but for what has tests of its own: an outage of the sink, and what
    # candidates of recovery ask for.
    for life in LIFECYCLES:
        if life.table.startswith("partitions.") and life.table not in ELSEWHERE:
            found = {status for (status,) in rows(database, f"select distinct {life.status_column} from {life.table}")}
            assert found == set(life.statuses), life.table
    causes = rows(database, "select distinct unnest(terminal_causes) from partitions.schedule")
    assert {cause for (cause,) in causes} == {"ATTEMPTS", "AGE", "MARKED"}
    holds = rows(database, "select distinct hold from partitions.schedule where hold is not null")
    assert {hold for (hold,) in holds} == {"OPERATOR", "PAUSED", "CANCELLED"}
    with database.transaction(Authority.READER) as tx:
        cells = [Cell(*row) for row in listing.cells(tx, EVERYTHING, limit=1000)]
        lines = grid(cells, width=200)
    # What it ends with: a row for each customer of a source, a character for each day, and a legend of all marks.
    shown = [line.rpartition("  ")[2] for line in lines if line.count("/") == 2]
    assert [len(row) for row in shown] == [20] * 12
    marks = Counter("".join(shown)) - Counter({Mark.NONE.sign: 10_000})
    assert sum(marks.values()) == len(cells) == 240
    assert {mark for mark in marks if f"{mark} " in lines[-1]} == set(marks)
    assert len(marks) >= 5
    with database.transaction(Authority.READER) as tx:
        assert demo.an_eventful_partition(tx) is not None
        verdicts = examine(tx, chosen(["partitions", "rebuild", "laws"]), settings=play.settings)
    assert {verdict.id: verdict.rows for verdict in verdicts if not verdict.holds} == {}


def test_exactly_the_week_without_a_column_ran_again(fresh: Callable[..., Database], tmp_path: Path) -> None:
    """A selector by rule requeues these and no others; and what a rejected reprocessing leaves is the run before."""
    database = fresh()
    play = demo.Play(database, lambda _: None, customers=4, days=20, sink=tmp_path / "sink")
    play.play()
    layout = play.layout
    ((asked,),) = rows(
        database, "select cardinality(partitions) from partitions.override_log where reason = 'the contract is fixed'"
    )
    assert asked == len(layout.drift) * layout.customers
    assert play.sink is not None
    published = {one: play.sink.runs(one) for one in layout.partitions() if layout.kind(one) is Kind.SPOILED}
    assert {len(runs) for runs in published.values()} == {2}  # both are kept
