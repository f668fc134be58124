"""Results of dbt, as files of the shape that it documents: failures are recorded, successes clear them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from command_line import clean_environment
from hub import DOL, Hub
from recoup.adapters import entity_of
from recoup.adapters.dbt import record_run
from recoup.adapters.reporting import MAX_KEY, key_of
from recoup.client import Client
from recoup.refusals import InputRefused


class Project:
    """A project of dbt's, by its target folder: one model, and a test of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        name = uuid.uuid4().hex
        self.model, self.test = f"model.{name}.orders", f"test.{name}.unique_orders_id.1f2e"
        nodes = {
            self.model: {"resource_type": "model", "original_file_path": "models/orders.sql"},
            self.test: {"resource_type": "test", "attached_node": self.model, "depends_on": {"nodes": [self.model]}},
        }
        (folder / "manifest.json").write_text(json.dumps({"metadata": {}, "nodes": nodes, "sources": {}}))

    def ran(self, statuses: dict[str, str], *, ago: timedelta = timedelta(0)) -> None:
        """Write what dbt writes after a run."""
        ended = datetime.now(UTC) - ago
        timing = {"name": "execute", "started_at": f"{ended.isoformat()}", "completed_at": f"{ended.isoformat()}"}
        results: list[dict[str, Any]] = [
            {
                "status": status, "unique_id": node, "timing": [timing], "execution_time": 0.1, "thread_id": "Thread-1",
                "message": f"Database Error in {node}: the connection timed out" if status == "error" else None,
                "failures": 2 if status == "fail" else None, "adapter_response": {},
            }
            for node, status in statuses.items()
        ]  # fmt: skip
        metadata = {"generated_at": ended.isoformat().replace("+00:00", "Z"), "invocation_id": str(uuid.uuid4())}
        document = {"metadata": metadata, "results": results, "elapsed_time": 0.2, "args": {}}
        (self.folder / "run_results.json").write_text(json.dumps(document))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_failed_model_blocks_its_entity_until_it_succeeds(hub: Hub, client: Client, project: Project) -> None:
    entity = entity_of("dbt", project.model)
    project.ran({project.model: "error", project.test: "skipped"})
    done = record_run(client, DOL, project.folder)
    assert (len(done.recorded), done.resolved, done.still_open) == (1, [], [])
    row = hub.row_of(entity)
    assert (row["error_code"], row["work_key"]) == ("DBT_ERROR", project.model)
    assert row["payload"]["dbt"]["file"] == "models/orders.sql"
    assert client.errors.is_blocked(entity)
    project.ran({project.model: "success", project.test: "pass"})
    hub.advance(timedelta(hours=1))
    again = record_run(client, DOL, project.folder)
    assert (again.recorded, again.resolved, again.still_open) == ([], [row["error_id"]], [])
    assert not client.errors.is_blocked(entity)


def test_a_failed_test_counts_for_what_it_tests_and_only_its_own_success_clears_it(
    hub: Hub, client: Client, project: Project
) -> None:
    entity = entity_of("dbt", project.model)
    project.ran({project.model: "success", project.test: "fail"})
    (recorded,) = record_run(client, DOL, project.folder).recorded
    row = hub.row_of(entity)
    assert (row["work_key"], row["error_message"]) == (project.test, f"{project.test}: fail")
    hub.advance(timedelta(hours=1))
    project.ran({project.model: "success"})
    assert record_run(client, DOL, project.folder).resolved == []
    project.ran({project.model: "success", project.test: "warn"})
    assert record_run(client, DOL, project.folder).resolved == [recorded.error_id]


def test_a_success_of_before_clears_nothing_that_failed_since(hub: Hub, client: Client, project: Project) -> None:
    project.ran({project.model: "error"})
    (recorded,) = record_run(client, DOL, project.folder).recorded
    project.ran({project.model: "success"}, ago=timedelta(minutes=5))
    assert record_run(client, DOL, project.folder).still_open == [recorded.error_id]


def test_one_entity_for_all_nodes_and_no_manifest(hub: Hub, client: Client, project: Project) -> None:
    (project.folder / "manifest.json").unlink()
    entity = uuid.uuid4()
    project.ran({project.model: "error", project.test: "fail"})
    assert len(record_run(client, DOL, project.folder, entity=entity).recorded) == 2
    keys = hub.rows("select work_key from recoup.error where outreach_id = %s order by 1", entity)
    assert keys == [(project.model,), (project.test,)]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"metadata": {}, "results": [{"status": "error"}]}'])
def test_a_file_that_is_none_of_dbts_is_refused(client: Client, tmp_path: Path, text: str) -> None:
    (tmp_path / "run_results.json").write_text(text)
    with pytest.raises(InputRefused) as refused:
        record_run(client, DOL, tmp_path)
    assert refused.value.code == "dbt_results"


def test_from_the_shell(client: Client, project: Project) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "recoup.adapters.dbt", DOL, *arguments]
        environment: dict[str, Any] = {**clean_environment(), "RECOUP_DSN": client.conninfo}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    project.ran({project.model: "error"})
    done = run("--target", os.fspath(project.folder))
    assert (done.stdout, done.returncode) == ("1 recorded, 0 resolved, 0 still open\n", 0), done.stderr
    refused = run("--target", "nowhere")
    assert refused.returncode == 1
    assert refused.stderr.startswith("refused: nowhere/run_results.json cannot be read")


def test_a_long_work_key_ends_with_a_digest() -> None:
    long = [key_of("test.shop", "x" * 300, last) for last in "ab"]
    assert [len(key) for key in long] == [MAX_KEY, MAX_KEY]
    assert long[0] != long[1]
    assert key_of("a\nb") != key_of("a\tb")
