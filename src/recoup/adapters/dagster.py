"""Dagster: hooks that record failed ops and clear them when they succeed, and a sensor for runs that crashed.

    record = hooks("warehouse.dagster_errors")

    @job(hooks={record.failed, record.succeeded})

Hooks run in the process of the op. A run whose process died calls none: that is what the sensor is for; it leaves runs
alone of which an op failed. The entity is that of the job, ``entity_of("dagster", job_name)``; the work key names
the op and, if the run has one, the partition.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from recoup.adapters.reporting import Opened, asked_of, captured, cleared, entity_of, key_of, report
from recoup.database.connection import Database
from recoup.errors.recording import NewError

PARTITION = "dagster/partition"  # the tag of a run


class Hooks(NamedTuple):
    """What to give a job, and the sensor for the repository."""

    failed: Any
    succeeded: Any
    crashed: Any  # a sensor


def hooks(
    table: str,
    database: Database | None = None,
    *,
    entity: Callable[[Any], Any] | None = None,
    work_key: Callable[[Any], str | None] | None = None,
) -> Hooks:
    """Hooks of ops, and a sensor of runs.

    table: the error table. database: from ``recoup.connect()``; default: the one that the settings mean. entity,
    work_key: functions of Dagster's context of the hook, instead of the job, and of op and partition.
    """
    from dagster import failure_hook, run_failure_sensor, success_hook

    opened = Opened(database)

    def work(context: Any) -> dict[str, Any]:
        return asked_of(entity or _entity, work_key or _work_key, context)

    def failed(context: Any) -> None:
        error = context.op_exception or RuntimeError(f"{context.op.name} failed")
        payload = {"dagster": {"job": context.job_name, "op": context.op.name, "run_id": context.run_id}}
        report(opened, captured(table, error, payload=payload, **work(context)))

    def succeeded(context: Any) -> None:
        cleared(opened, table, work(context), _ran_for(context))

    def crashed(context: Any) -> None:
        if context.get_step_failure_events():
            return  # the hook has recorded them
        run = context.dagster_run
        payload = {"dagster": {"job": run.job_name, "run_id": run.run_id}}
        message = context.failure_event.message or f"run of {run.job_name} failed"
        key = key_of("run", *_partition(run.tags))
        whose = entity_of("dagster", run.job_name)
        report(opened, NewError(table=table, message=message, outreach_id=whose, work_key=key, payload=payload))

    return Hooks(
        failure_hook(name="recoup_failed")(failed),
        success_hook(name="recoup_succeeded")(succeeded),
        run_failure_sensor(name="recoup_crashed", monitor_all_code_locations=True)(crashed),
    )


def _entity(context: Any) -> Any:
    return entity_of("dagster", context.job_name)


def _work_key(context: Any) -> str:
    run = context.instance.get_run_by_id(context.run_id)
    return key_of(context.op.name, *_partition(run.tags if run is not None else {}))


def _ran_for(context: Any) -> timedelta:
    """Since the run began: what was recorded meanwhile may be of another run."""
    record = context.instance.get_run_record_by_id(context.run_id)
    began = record.start_time if record is not None else None
    return timedelta(0) if began is None else datetime.now(UTC) - datetime.fromtimestamp(began, UTC)


def _partition(tags: Any) -> list[str]:
    return [tags[PARTITION]] if PARTITION in tags else []
