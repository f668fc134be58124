"""README, run as printed in a fresh home, and what the demo that it plays shows. The other pages: test_howtos*.py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from following import FIRST, HOW_TOS, ROOT, a_home, follow
from printed import File, matches, steps
from test_howtos import PAGES as SOME
from test_howtos_too import PAGES as OTHERS

from product import LIFECYCLES

README = "README.md"
# Tables that the demo leaves out: an outage of the raw sink, and what candidates ask of partitions.
TESTED_ELSEWHERE = ("partitions.sink", "partitions.requeue_request")
OF_SCHEMAS = ("cl.", "recovery.", "partitions.")
OF_DELIVERIES = "recoup.delivery"
HAPPENED: dict[str, tuple[object, ...]] = {
    # Partitions were given up for each of the three causes, and there is an override of it.
    "select count(distinct c) from partitions.schedule s cross join unnest(s.terminal_causes) c": (3,),
    "select exists (select from partitions.partition_event where event_type = 'terminal_lifted')": (True,),
    "select count(distinct reason_code) from cl.gate_zero_air": (15,),
    "select count(*) from cl.gate_zero_batch where frozen_at is not null and paused_at is not null": (1,),
    "select count(*) > 0 from cl.gate_zero_recovery where status = 'ACTIVE' and next_eligible_at <= now()": (True,),
    "select exists (select from recovery.candidate), exists (select from recoup.error)": (True, True),
    # Automatic ones, approved ones, a worker that died, the retry of an orphaned run, a person who acted.
    "select bool_or(executed_at is not null and decided_at is null), bool_or(executed_at > decided_at),"
    " bool_or(error = 'CRASHED'), bool_or(awaits ->> 'kind' = 'run'), bool_or(overridden_by is not null)"
    " from recovery.candidate": (True,) * 5,
    # Every action.
    "select count(distinct action_type) from recovery.candidate where executed_at is not null": (9,),
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with a_home(tmp_path_factory.mktemp("home")) as found:
        yield {**found, "RECOUP_DEMO_CUSTOMERS": "6"}  # of forty; every kind of day occurs


@pytest.fixture(scope="module")
def said(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the commands of README printed."""
    return follow(README, environment, tmp_path_factory.mktemp("reader"))


@pytest.fixture
def recoup(environment: dict[str, str]) -> Callable[..., str]:
    """A command of somebody who has followed README."""
    return lambda *arguments: (
        subprocess.run(["recoup", *arguments], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    )


@pytest.mark.timeout(1200)  # it plays the whole demo
def test_readme_does_what_it_says(said: dict[str, str]) -> None:
    (played,) = (printed for command, printed in said.items() if command.startswith("make run"))
    for word in (
        "Building",
        "2,002 companies imported",
        "█",
        "STATE_MISMATCH",
        "REENTER",
        "EXISTENCE_CONFIRMED",
        "the vendor is back",
        "Errors by table",
        "1,080 partitions are as their sources are known to be",
        "recovery: what is open now",
    ):
        assert word in played


def test_each_part_of_the_whole_demo_is_there(said: dict[str, str], recoup: Callable[..., str]) -> None:
    (played,) = (printed for command, printed in said.items() if command.startswith("make run"))
    for part in ("gate", "recovery", "partitions", "errors"):
        again = recoup("demo", part)
        assert "Building" not in again
        assert again.strip().splitlines()[-1] in played.splitlines()  # the same as in the whole demo


@pytest.mark.timeout(1200)
def test_the_demo_has_rows_in_every_status(said: dict[str, str], recoup: Callable[..., str]) -> None:
    """Of each table of these domains; and what happened in it is what it promises. Played again: the worker that served
    the first one did what waited."""
    assert said
    recoup("demo", "--fresh")
    with psycopg.connect(recoup("db", "uri", "--demo").strip()) as connection:
        connection.execute("set role recoup_reader")
        for life in LIFECYCLES:
            shown = life.table.startswith(OF_SCHEMAS) or life.table == OF_DELIVERIES
            if shown and life.table not in TESTED_ELSEWHERE:
                rows = connection.execute(f"select distinct {life.status_column} from {life.table}".encode())
                assert {row[0] for row in rows} == set(life.statuses), life.table
        for query, found in HAPPENED.items():
            assert connection.execute(query.encode()).fetchone() == found, query


def test_no_page_is_left_out() -> None:
    assert sorted((*SOME, *OTHERS)) == sorted({*FIRST, *HOW_TOS})


def test_a_first_program_is_short() -> None:
    (program,) = (
        s for s in steps(ROOT / "docs/howto/your-first-pipeline.md") if isinstance(s, File) and s.name[-3:] == ".py"
    )
    assert len([line for line in program.text.splitlines() if line.strip()]) <= 40


def test_what_a_page_shows_is_compared() -> None:
    """The comparison can fail."""
    assert matches("a  b\n…\n3 errors … done", "a b\nx\ny\n3 errors of 7 done\n")
    assert not matches("a\n3 errors", "a\n4 errors\n")
    assert not matches("a", "a\nb\n")
