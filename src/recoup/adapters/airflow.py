"""Airflow: callbacks that record failed tasks, and clear them when the same task succeeds for the same day.

    record = callbacks("warehouse.airflow_errors")
    with DAG("nightly", default_args={"on_failure_callback": record.failed, "on_success_callback": record.succeeded}):

Airflow calls them in the process of the task: failed after its last retry. The entity is that of the DAG,
``entity_of("airflow", dag_id)``; the work key names task, logical date (of a run without one, its id) and map index, so
that a task which runs again for the same day resolves its own error, and no other day's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from recoup.adapters.reporting import Opened, asked_of, captured, cleared, entity_of, key_of, report
from recoup.database.connection import Database
from recoup.errors.recording import NewError

Context = Mapping[str, Any]


class Callbacks(NamedTuple):
    """What to give Airflow."""

    failed: Callable[[Context], None]
    succeeded: Callable[[Context], None]


def callbacks(
    table: str,
    database: Database | None = None,
    *,
    entity: Callable[[Context], Any] | None = None,
    work_key: Callable[[Context], str | None] | None = None,
) -> Callbacks:
    """Callbacks for tasks, or as default_args of a DAG.

    table: the error table. database: from ``recoup.connect()``; default: the one that the settings mean. entity,
    work_key: functions of Airflow's context, instead of the DAG, and of task, date and map index.
    """
    opened = Opened(database)

    def work(context: Context) -> dict[str, Any]:
        return asked_of(entity or _entity, work_key or _work_key, context)

    def failed(context: Context) -> None:
        ti, error = context["ti"], context.get("exception")
        payload = {
            "airflow": {
                "dag_id": ti.dag_id, "task_id": ti.task_id, "run_id": ti.run_id, "map_index": _map_index(ti),
                "try_number": ti.try_number,
            }
        }  # fmt: skip
        if isinstance(error, BaseException):
            new = captured(table, error, payload=payload, **work(context))
        else:  # a task that was killed, say: Airflow has words or nothing
            message = str(error) if error else f"{ti.dag_id}.{ti.task_id} failed"
            new = NewError(table=table, message=message, payload=payload, **work(context))
        report(opened, new)

    def succeeded(context: Context) -> None:
        began = context["ti"].start_date
        cleared(opened, table, work(context), datetime.now(UTC) - began if began else timedelta(0))

    return Callbacks(failed, succeeded)


def _entity(context: Context) -> Any:
    return entity_of("airflow", context["ti"].dag_id)


def _work_key(context: Context) -> str:
    ti = context["ti"]
    mapped, date = _map_index(ti), context.get("logical_date")
    return key_of(ti.task_id, date.isoformat() if date else ti.run_id, *([] if mapped is None else [mapped]))


def _map_index(ti: Any) -> int | None:
    """The number of a mapped task; Airflow gives -1 to all others."""
    found = getattr(ti, "map_index", -1)
    return found if isinstance(found, int) and found >= 0 else None
