"""Hooks and the sensor in a real Dagster, with the file that the page prints."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster

from hub import DOL, Hub
from recoup.adapters import entity_of
from recoup.client import Client

ENTITY = entity_of("dagster", "nightly")


def loaded(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("definitions", folder / "definitions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_op_that_fails_is_recorded_and_cleared_by_its_success(
    hub: Hub, client: Client, printed: Callable[[str], Path]
) -> None:
    folder = printed("definitions.py")
    module = loaded(folder)
    with dagster.DagsterInstance.ephemeral() as instance:
        assert not module.nightly.execute_in_process(instance=instance, raise_on_error=False).success
        row = hub.row_of(ENTITY)
        assert (row["error_code"], row["error_message"]) == ("ConnectionError", "the registry does not answer")
        assert (row["work_key"], row["payload"]["dagster"]["op"]) == ("load", "load")
        assert "raise ConnectionError" in row["payload"]["traceback"]
        assert client.errors.is_blocked(ENTITY)
        (folder / "broken").unlink()
        assert module.nightly.execute_in_process(instance=instance).success
    assert not client.errors.is_blocked(ENTITY)
    assert hub.rows("select status, error_table from recoup.error") == [("RESOLVED", DOL)]


def test_the_sensor_records_a_run_that_crashed_and_no_run_whose_op_failed(
    hub: Hub, printed: Callable[[str], Path]
) -> None:
    module = loaded(printed("definitions.py"))
    (sensor,) = module.defs.sensors

    def judged(instance: Any, run: Any, event: Any) -> None:
        context = dagster.build_run_status_sensor_context(
            sensor_name=sensor.name, dagster_instance=instance, dagster_run=run, dagster_event=event
        )
        sensor(context.for_run_failure())

    with dagster.DagsterInstance.ephemeral() as instance:
        failed = module.nightly.execute_in_process(instance=instance, raise_on_error=False)
        judged(instance, failed.dagster_run, failed.get_run_failure_event())
        assert hub.rows("select work_key from recoup.error") == [("load",)]
        crashed = instance.create_run_for_job(module.nightly)
        instance.report_run_failed(crashed, "the process is gone")
        (event,) = (
            one.dagster_event
            for one in instance.all_logs(crashed.run_id)
            if one.dagster_event is not None and one.dagster_event.is_failure
        )
        judged(instance, instance.get_run_by_id(crashed.run_id), event)
    found = hub.rows("select work_key, error_message from recoup.error where work_key = 'run'")
    assert found == [("run", "the process is gone")]
