"""Celery: record tasks that failed, send them again when their retry is due, and report how that ended.

In the module of the Celery application, which the Celery workers import, too:

    app = Celery("shop", broker="redis://localhost")
    record_failures(app, "outreach.dol_errors", entity=lambda task, args, kwargs: args[0])
    retry = resend(app)  # in recoup.toml, under [handlers]: "outreach.dol_errors" = "shop:retry"

A task fails, finally, after its own retries: that is recorded, with its arguments. When the policy's retry is due, a
worker of Recoup calls ``retry``: it sends the task again, under an id that names the error and the token of the claim.
The Celery worker that runs it reports the outcome with that token, and records no second error; ``retry`` waits for
that report and writes nothing itself. So each outcome is reported once, also if a worker dies meanwhile: a report that
never comes counts as a failed retry when the lease expires, and one that comes later is stored, and not applied.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from recoup import observe
from recoup.adapters.reporting import Opened, asked_of, captured, key_of, report
from recoup.database.connection import Database
from recoup.errors import active_policy
from recoup.errors.handling import raised
from recoup.errors.reruns import seconds_left
from recoup.errors.resilient import retried
from recoup.errors.retrying import Claimed, Failed, Reported, Succeeded, finish, reported
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words, redacted

KEY = "celery"  # of the payload
MAX_ARGUMENTS = 10_000  # characters as JSON; a task with more is not sent again
MAX_SHOWN = 500  # characters of arguments that cannot be sent again
POLL_S = 0.2
MAX_POLL_S = 2.0
SPARE_S = 1.0  # before the lease ends: time to report that nothing was reported
TASK_ID = re.compile(r"recoup:(?P<error_table>[^/]+)/(?P<error_id>\d+):(?P<token>[0-9a-f-]{36})")

Work = Callable[[str, Sequence[Any], Mapping[str, Any]], Any]


def record_failures(
    app: Any,
    table: str,
    database: Database | None = None,
    *,
    entity: Work | None = None,
    work_key: Work | None = None,
    tasks: Collection[str] | None = None,
) -> None:
    """Record the failed tasks of an application, and report the outcome of those that were sent again.

    table: the error table; one of schema public if tasks have no entity. database: from ``recoup.connect()``; default:
    the one that the settings mean. entity, work_key: functions of the task's name, its args and its kwargs. Default of
    work_key: the name and a digest of the arguments, so that each call fails by itself. tasks: the names of the tasks
    to record; default: all.
    """
    from celery import signals

    opened = Opened(database)

    def is_ours(task: Any) -> bool:
        return task.app is app and (tasks is None or task.name in tasks)

    def failed(sender: Any, task_id: str, exception: Any, args: Any, kwargs: Any, **_: Any) -> None:
        if not is_ours(sender):
            return
        if again := TASK_ID.fullmatch(task_id):
            why = raised(exception)
            _end(opened, table, Failed(**_claim(again), failure=why.message, traceback=why.traceback))
            return
        call = (sender.name, args or (), kwargs or {})
        payload = {KEY: {"task": sender.name, "id": task_id, **_kept(opened, *call[1:])}}
        work = asked_of(entity, work_key or (lambda *_: _work_key(*call)), *call)
        report(opened, captured(table, exception, payload=payload, **work))

    def succeeded(sender: Any, **_: Any) -> None:
        if is_ours(sender) and (again := TASK_ID.fullmatch(str(sender.request.id))):
            _end(opened, table, Succeeded(**_claim(again)))

    # By these names a module that is imported twice connects once.
    name = f"recoup:{app.main}:{table}:{','.join(sorted(tasks or ()))}"
    signals.task_failure.connect(failed, weak=False, dispatch_uid=f"{name}:failed")
    signals.task_success.connect(succeeded, weak=False, dispatch_uid=f"{name}:succeeded")


def resend(app: Any, database: Database | None = None) -> Callable[[Claimed], Reported | Failed]:
    """The handler: send the task of an error again, and wait until a Celery worker has reported how it ended.

    A task that no Celery worker starts within the lease (``errors.retry_lease_s``) expires in its queue. Chains, groups
    and links of the first call are not continued.
    """
    opened = Opened(database)

    def retry(error: Claimed) -> Reported | Failed:
        from kombu.utils import json as encoded

        kept = error.payload.get(KEY) if isinstance(error.payload, Mapping) else None
        if not isinstance(kept, Mapping) or "args" not in kept:
            why = kept.get("not_sent_again") if isinstance(kept, Mapping) else "it was not recorded by this adapter"
            return _failed(error, f"This task cannot be sent again: {why}.")
        args, kwargs = encoded.loads(json.dumps([kept["args"], kept["kwargs"]]))
        left_s = seconds_left(error) - SPARE_S
        until = time.monotonic() + left_s
        task_id = f"recoup:{error.error_table}/{error.error_id}:{error.token}"
        app.send_task(kept["task"], args=args, kwargs=kwargs, task_id=task_id, expires=max(left_s, SPARE_S))
        wait_s = POLL_S
        while time.monotonic() < until:
            time.sleep(wait_s)
            wait_s = min(wait_s * 1.5, MAX_POLL_S)
            with opened().transaction(Authority.READER) as tx:
                outcome = reported(tx, error)
            if outcome is not None:
                return outcome
        words = "No Celery worker reported an outcome within the lease. They must import what calls record_failures."
        return _failed(error, f"{words} Task: {task_id}.")

    return retry


def _failed(error: Claimed, message: str) -> Failed:
    return Failed(error_table=error.error_table, error_id=error.error_id, token=error.token, failure=message)


def _claim(again: re.Match[str]) -> dict[str, Any]:
    return {
        "error_table": again["error_table"],
        "error_id": int(again["error_id"]),
        "token": UUID(again["token"]),
    }


def _end(database: Opened, table: str, outcome: Succeeded | Failed) -> None:
    """Report the outcome of a task that was sent again."""
    if outcome.error_table != table:
        return  # another call of record_failures has it

    def written() -> str:
        with database().transaction(Authority.HUB) as tx:
            ((_, status),) = finish(tx, [outcome])
        return status

    try:
        if retried(written) == "late":
            observe.logger().warning("outcome of a task came late", table=table, error_id=outcome.error_id)
    except Exception as error:  # noqa: BLE001 - the task has ended; without a report the lease expires
        observe.logger().error(
            "outcome of a task was not reported", table=table, error_id=outcome.error_id, why=in_words(error)
        )


def _kept(database: Opened, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as they can be sent again; or why they cannot be, and how they look."""
    try:
        text = _encoded(args, kwargs)
        with database().transaction(Authority.HUB) as tx:
            secret_names = active_policy.cached(tx).errors.redact_keys
        call = dict(zip(("args", "kwargs"), json.loads(text), strict=True))
    except Exception as error:  # noqa: BLE001 - recorded all the same
        return {"not_sent_again": f"its arguments cannot be stored ({type(error).__name__})"}
    stored = redacted(call, secret_names)
    shown = {"shown": json.dumps(stored, ensure_ascii=False)[:MAX_SHOWN]}
    if len(text) > MAX_ARGUMENTS:
        return {"not_sent_again": f"its arguments have more than {MAX_ARGUMENTS:,} characters", **shown}
    if stored != call:
        return {"not_sent_again": "its arguments hold a secret, or what cannot be stored", **shown}
    return call


def _encoded(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """As JSON, with the types that Celery's own JSON keeps: times, UUIDs, decimals."""
    from kombu.utils import json as encoded

    return str(encoded.dumps([list(args), dict(kwargs)]))


def _work_key(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(json.loads(_encoded(args, kwargs)), sort_keys=True)
    except Exception:  # noqa: BLE001 - arguments of any kind
        text = f"{args!r} {kwargs!r}"
    return key_of(name, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16])
