"""``recoup worker``, ``recoup duties``, ``recoup workers``"""

import sys
import threading
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from recoup import observe, pauses
from recoup.cli.completers import background_tasks
from recoup.cli.context import acting, opened
from recoup.cli.demo import demo_services
from recoup.cli.demo import handlers as demo_handlers
from recoup.cli.output import Demo, Json, Limit, command, print_rows, shown
from recoup.cli.progress import stop_by_signal
from recoup.database.connection import Database
from recoup.domain import duties as every
from recoup.domains import DOMAINS
from recoup.in_process import Worker
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from recoup.settings import load
from recoup.worker import loaded, register
from recoup.worker.duty import Duty

LEVELS = ("debug", "info", "warning", "error")


def worker(
    *,
    duty: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="Run only this duty; may be repeated. Default: all.", completer=background_tasks),
    ] = (),
    name: Annotated[str | None, Parameter(help="Name in logs and claims. Default: host and process id.")] = None,
    once: Annotated[
        bool, Parameter(negative="", show_default=False, help="Do what there is to do now, then exit.")
    ] = False,
    log_level: Annotated[str | None, Parameter(help="debug, info, warning or error. Default: info.")] = None,
    demo: Demo = False,
) -> None:
    """Run background tasks (duties) until stopped. Any number of workers can run, on any number of machines.

    Handlers for retries are named in recoup.toml, under [handlers], functions for actions of recovery under [actions];
    installed packages can name both. With --demo only the demo's own are called. SIGTERM or Ctrl-C stops it after the
    batches in progress; a second one at once, and nothing is lost then either.
    """
    settings = load()
    if log_level is not None and log_level not in LEVELS:
        raise InputRefused("log_level_unknown", f"{log_level!r} is not a log level.", f"Use {', '.join(LEVELS)}.")
    named = duty or tuple(one.strip() for one in (settings.worker_duties or "").split(",") if one.strip())
    form = {"auto": None, "text": False, "json": True}[settings.log_format]
    observe.configure(level=log_level or settings.log_level, json=form)
    with opened(settings=settings, demo=demo) as database, demo_services(demo=demo):
        working = Worker(
            database,
            handlers=demo_handlers() if demo else None,
            actions={} if demo else None,
            duties=named,
            name=name,
        )
        if not once:
            _until_stopped(working)
            return
        for what, done in working.run_once().items():
            print(f"{what}: {done}")
        _print_pauses(database, working.duties)
        if working.failed:
            sys.exit(1)


def duties(*, demo: Demo = False, json: Json = False) -> None:
    """List background tasks (duties): last run, lag, units done, failures, last worker."""
    with acting(Authority.READER, demo=demo) as tx:
        found = register.standings(tx, every(DOMAINS))
    columns = (
        "duty", "authority", "cadence_s", "last_run_at", "lag_s", "done", "failures", "last_worker", "paused",
        "last_failure",
    )  # fmt: skip
    print_rows(found, as_json=json, columns=columns, empty="There are no duties.")
    if json:
        return
    for standing in found:
        if standing.note is not None and not demo:
            print(f"\n{standing.duty}: {standing.note}\n  Next: recoup doctor")
    if not any(standing.last_run_at for standing in found):
        print(f"\nNo worker has run yet. Start one: {command('worker', demo=demo)}")


def workers(*, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List workers: running ones first, then those that stopped or were lost."""
    with acting(Authority.READER, demo=demo) as tx:
        found = register.workers(tx, limit=limit)
    columns = ("name", "status", "started_at", "heartbeat_at", "ended_at", "pid", "recoup_version", "duties")
    print_rows(found, as_json=json, columns=columns, empty=f"No worker yet. Start one: {command('worker', demo=demo)}")


def _print_pauses(database: Database, duties: Sequence[Duty]) -> None:
    with database.transaction(Authority.READER) as tx:
        for duty in duties:
            if held := pauses.paused(tx, f"duty:{duty.name}"):
                print(f"{duty.name} is paused by {shown(held.paused_by)}: {shown(held.reason)}")


def _until_stopped(working: Worker) -> None:
    """Run it in a thread, so that signals reach the main one."""
    loaded.keep()
    stop_by_signal(working.stop, "stopping: finishing the batches in progress")
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
