"""Control: workers and background tasks, what is paused, seals. The policy and keys have modules of their own."""

from datetime import timedelta
from typing import Annotated

from fastapi import Query
from psycopg.rows import dict_row

from recoup import doctor, pauses
from recoup.api.declare import Given, Name
from recoup.audit import results
from recoup.console.declare import Context, Section, Seen
from recoup.database.queries import load
from recoup.domain import duties
from recoup.domains import DOMAINS
from recoup.ledger import seals
from recoup.ledger.policy import SealPolicy
from recoup.policy import versions
from recoup.worker import register
from recoup.worker.register import DutyStatus

Q = load("recoup.console", "control.sql")
CONTROL = Section(
    name="control",
    title="Control",
    links=(("Workers", "/control/workers"), ("Pauses", "/control/pauses"), ("Policy", "/control/policy"),
           ("Seals", "/control/seals"), ("Health", "/control/doctor"), ("Keys", "/control/keys")),
)  # fmt: skip
WORKERS = 100
LOG = 50
NAMES = 100
LATE_S = 60.0  # of a background task
AUDITS = 10  # results that were kept, newest first
MAX_BLOCKS = 1000  # "1,000+" says as much as the number would
LATE = timedelta(minutes=5)  # a worker seals each few seconds
VERDICTS = ("error", "warning", "ok")
ORDER = {"lost": 0, "running": 1, "stopped": 2}


class NamesAsked(Given):
    """What can be paused."""

    scope: Annotated[Name | None, Query()] = None
    text: Annotated[Name | None, Query()] = None


@CONTROL.page("/control/workers", "control/workers.html", whole=True)
def workers(seen: Seen) -> Context:
    """Workers, and what they do: each background task with its lag and its last failure."""
    found = register.workers(seen.tx, limit=WORKERS)
    paused = pauses.pauses(seen.tx)
    return {
        "workers": sorted(found, key=lambda one: ORDER.get(one.status, len(ORDER))),
        "tasks": sorted(register.standings(seen.tx, duties(DOMAINS)), key=lambda one: not _needs_somebody(one)),
        "paused": {one.scope_id for one in paused if one.scope == pauses.DUTY},
        "everything": any(one.scope == pauses.GLOBAL for one in paused),
    }


@CONTROL.page("/control/pauses", "control/pauses.html", whole=True)
def paused(seen: Seen) -> Context:
    """What is paused, what can be, and the log."""
    asked = seen.asked(NamesAsked)
    held = pauses.pauses(seen.tx)
    return {
        "pauses": held,
        "everything": any(one.scope == pauses.GLOBAL for one in held),
        "log": pauses.log(seen.tx, limit=LOG),
        "scopes": pauses.pausable_scopes(seen.tx),
        "names": pauses.names(seen.tx, scope=asked.scope or pauses.DUTY, text=asked.text, limit=NAMES),
        "scope": asked.scope or pauses.DUTY,
        "most": NAMES,
    }


@CONTROL.page("/control/seals", "control/seals.html", whole=True)
def sealed(seen: Seen) -> Context:
    """The last seal of each log, and how much waits for the next one."""
    with seen.tx.cursor(row_factory=dict_row) as cursor:
        logs = cursor.execute(Q["sealed"], {"most": MAX_BLOCKS + 1}).fetchall()
    lags = seals.seal_lag(seen.tx)
    newest = seals.list_seals(seen.tx, limit=1)
    return {
        "logs": [{**one, "lag": lags.get(one["log"])} for one in logs],
        "most": MAX_BLOCKS,
        "late": LATE,
        "newest": newest[0] if newest else None,
        "audits": results.results(seen.tx, limit=AUDITS),
        "policy": versions.active(seen.tx).policy[SealPolicy],
    }


@CONTROL.page("/control/doctor", "control/doctor.html", whole=True)
def health(seen: Seen) -> Context:
    """The checks of the doctor that are cheap: those of the domains. What is wrong comes first."""
    found = list(doctor.of_domains(seen.tx, DOMAINS))
    return {"checks": sorted(found, key=lambda one: VERDICTS.index(one.verdict))}


def _needs_somebody(task: DutyStatus) -> bool:
    """Whether a task is to be read first: it is paused, failed in its last run, or is late."""
    has_failed = task.last_failed_at is not None and task.last_failed_at >= (task.last_run_at or task.last_failed_at)
    return bool(task.paused or task.note or has_failed or (task.lag_s or 0) > LATE_S)
