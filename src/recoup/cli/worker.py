"""``recoup worker``, ``recoup duties``, ``recoup workers``"""

import dataclasses
import os
import socket
import sys
import threading
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from recoup import observe, pauses
from recoup.cli.completers import background_tasks
from recoup.cli.context import acting, opened
from recoup.cli.demo import beside
from recoup.cli.output import Demo, Json, Limit, print_rows, shown
from recoup.cli.progress import stop_by_signal
from recoup.database.connection import Database
from recoup.domain import duties as every
from recoup.domain import releases
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from recoup.settings import load
from recoup.worker import register
from recoup.worker.duty import Duty
from recoup.worker.loop import Worker


def worker(
    *,
    duty: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            help="Run only this background task; may be given several times. Default: all.",
            completer=background_tasks,
        ),
    ] = (),
    name: Annotated[str | None, Parameter(help="Its name in the logs. Default: this host and process.")] = None,
    once: Annotated[
        bool, Parameter(negative="", show_default=False, help="Do what there is to do now, and end.")
    ] = False,
    log_level: Annotated[str, Parameter(help="debug, info, warning or error.")] = "info",
    demo: Demo = False,
) -> None:
    """Do the duties until stopped. Any number of workers, on any number of machines, work side by side.

    SIGTERM or Ctrl-C lets it finish the batches in hand; a second one ends it at once, and nothing is lost either.
    """
    duties = _chosen(duty)
    _check_level(log_level)
    settings = load()
    name = name or f"{socket.gethostname()}-{os.getpid()}"
    # A connection for each duty, one to beat, one to spare; and the worker's name is in their logins already.
    settings = dataclasses.replace(settings, pool_max=max(settings.pool_max, len(duties) + 2), actor=name)
    observe.configure(level=log_level)
    with opened(settings=settings, demo=demo) as database, beside(demo=demo):
        working = Worker(database, duties, name=name, releases=releases(DOMAINS))
        if once:
            for what, done in working.run_once().items():
                print(f"{what}: {done}")
            _say_what_stood_still(database, duties)
            if working.failed:
                sys.exit(1)
            return
        _until_stopped(working)
    if working.refusal is not None:
        raise working.refusal


def duties(*, demo: Demo = False, json: Json = False) -> None:
    """List the duties: authority, cadence, last run, lag, done, failed, by whom."""
    with acting(Authority.READER, demo=demo) as tx:
        found = register.standings(tx, every(DOMAINS))
    columns = (
        "duty",
        "authority",
        "cadence_s",
        "last_run_at",
        "lag_s",
        "done",
        "failures",
        "last_worker",
        "paused",
        "last_failure",
    )
    print_rows(found, as_json=json, columns=columns, empty="There are no duties.")
    if not json and not any(standing.last_run_at for standing in found):
        print("\nNo worker has run yet. Start one: recoup worker")


def workers(*, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List workers: those that run, then those that stopped or were lost."""
    with acting(Authority.READER, demo=demo) as tx:
        found = register.workers(tx, limit=limit)
    columns = ("name", "status", "started_at", "heartbeat_at", "ended_at", "pid", "recoup_version", "duties")
    print_rows(found, as_json=json, columns=columns, empty="No worker yet. Start one: recoup worker")


def _say_what_stood_still(database: Database, duties: Sequence[Duty]) -> None:
    with database.transaction(Authority.READER) as tx:
        for duty in duties:
            if held := pauses.paused(tx, f"duty:{duty.name}"):
                print(f"{duty.name} is paused by {shown(held.paused_by)}: {shown(held.reason)}")


def _chosen(names: Sequence[str]) -> tuple[Duty, ...]:
    known = [duty.name for duty in every(DOMAINS)]
    for name in names:
        if name not in known:
            raise InputRefused(
                "duty_unknown", f"There is no duty {name!r}.", f"Duties are: {', '.join(known)}.", duty=name
            )
    return tuple(duty for duty in every(DOMAINS) if not names or duty.name in names)


def _check_level(level: str) -> None:
    if level not in ("debug", "info", "warning", "error"):
        raise InputRefused("log_level_unknown", f"{level!r} is not a level.", "Use debug, info, warning or error.")


def _until_stopped(working: Worker) -> None:
    """Run it in a thread, so that signals find the main one waiting for them."""
    stop_by_signal(working.stop, "stopping: the batches in hand are finished first")
    failure: list[BaseException] = []

    def run() -> None:
        try:
            working.run()
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            failure.append(error)

    thread = threading.Thread(target=run, name="worker")
    thread.start()
    while thread.is_alive():
        thread.join(0.5)
    if failure:
        raise failure[0]
