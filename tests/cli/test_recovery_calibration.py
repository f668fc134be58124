"""Calibration at the command line: scores, table and plot, by action, source and week; readable at 80 columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from command_line import Run, refusal, run_in
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.settings import Settings
from recovery.stage import NOTIFY, RETRY, Stage

COMMAND = ("recovery", "calibration")


@pytest.fixture(scope="module")
def stage(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Stage]:
    """Two sources, two weeks apart: what one half was predicted for, and how it ended."""
    with Database(server.uri(new_database()), settings) as database:
        made = Stage(database)
        made.teach(RETRY, {True: 3, False: 1}, source="crm", signature="one")
        made.advance(days=14)
        made.teach(RETRY, {False: 4}, source="erp", signature="two", category="STRUCTURAL")
        yield made


@pytest.fixture
def recoup(stage: Stage) -> Run:
    return run_in({"RECOUP_DSN": stage.db.conninfo, "RECOUP_ACTOR": "ada", "COLUMNS": "80"})


def test_scores_table_and_plot(recoup: Run) -> None:
    said = recoup(*COMMAND).stdout
    assert max(map(len, said.splitlines())) <= 80
    assert said.startswith("8 cases within 90 days, 3 succeeded\nBrier score ")
    assert "o predicted, x observed, * both" in said
    found = json.loads(recoup(*COMMAND, "--json").stdout)
    total = found["total"]
    assert (total["count"], total["succeeded"], list(found["by_action"])) == (8, 3, [RETRY])
    assert {name: (one["count"], one["succeeded"]) for name, one in found["by_source"].items()} == {
        "crm": (4, 3), "erp": (4, 0),
    }  # fmt: skip
    assert [one["count"] for one in found["by_week"].values()] == [4, 4]
    # The scores, from the table: nobody predicted two different values within a bin.
    assert total["ece"] == pytest.approx(
        sum(one["count"] * abs(one["predicted"] - one["observed"]) for one in total["bins"]) / 8
    )
    off = [
        one["count"] * (one["observed"] * (1 - one["predicted"]) ** 2 + (1 - one["observed"]) * one["predicted"] ** 2)
        for one in total["bins"]
    ]
    assert total["brier"] == pytest.approx(sum(off) / 8)


def test_of_one_source_or_time(recoup: Run) -> None:
    assert json.loads(recoup(*COMMAND, "--source", "crm", "--json").stdout)["total"]["count"] == 4
    assert json.loads(recoup(*COMMAND, "--days", "7", "--json").stdout)["total"]["count"] == 4
    assert "No outcome of the source nobody within 90 days" in recoup(*COMMAND, "--source", "nobody").stdout
    assert (
        f"No outcome of the action {NOTIFY} within 7 days" in recoup(*COMMAND, "--action", NOTIFY, "--days", "7").stdout
    )


def test_an_action_that_there_is_not_is_refused(recoup: Run) -> None:
    found = refusal(recoup(*COMMAND, "--action", "nope", "--json", fails=True))
    assert (found["refused"], found["happened"]) == ("action_unknown", "There is no action 'nope'.")
