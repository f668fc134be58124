"""Callbacks in a real Airflow, with the DAG that the page prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import airflow
import pytest

from hub import DOL, Hub
from recoup.adapters import entity_of
from recoup.client import Client

assert airflow.__version__ >= "3", "the callbacks are those of Airflow 3"
ENTITY = entity_of("airflow", "nightly")


@pytest.mark.timeout(1200)  # four commands of Airflow, each of which takes its time to begin
def test_a_task_that_fails_is_recorded_and_cleared_when_its_run_is_repeated(
    hub: Hub, client: Client, printed: Callable[[str], Path]
) -> None:
    folder = printed("dags/nightly.py")
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{folder}/airflow.db",
    }

    def run(*arguments: str) -> str:
        command = [str(Path(sys.executable).with_name("airflow")), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
        return done.stdout + done.stderr

    run("db", "migrate")
    printed_ = run("dags", "test", "nightly", "2026-01-01")
    assert len(client.errors.list(entities=(ENTITY,))) == 1, printed_
    row = hub.row_of(ENTITY)
    assert (row["error_code"], row["error_message"]) == ("ConnectionError", "the registry does not answer")
    assert row["work_key"].startswith("load/")
    assert row["payload"]["airflow"].items() >= {"dag_id": "nightly", "task_id": "load", "map_index": None}.items()
    (folder / "broken").unlink()
    printed_ = run("dags", "test", "nightly", "2026-01-02")
    assert client.errors.is_blocked(ENTITY), "another day's success"
    printed_ = run("dags", "test", "nightly", "2026-01-01")
    assert not client.errors.is_blocked(ENTITY), printed_
    assert hub.rows("select status, error_table from recoup.error") == [("RESOLVED", DOL)]
