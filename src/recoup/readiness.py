"""Whether a service can be used: the database answers, its schema is known, and a worker works."""

from collections.abc import Sequence

import psycopg

from recoup import policy
from recoup.database.connection import Database, Transaction
from recoup.database.releases import check_schema
from recoup.domain import Domain, releases
from recoup.health import CheckResult
from recoup.lifecycles.declaration import Authority
from recoup.refusals import Refusal
from recoup.worker import register
from recoup.worker.policy import WorkerPolicy


def readiness(database: Database, domains: Sequence[Domain]) -> list[CheckResult]:
    """Database, schema, workers. After an error the rest is not checked. Words hold no address and no login."""
    done: list[CheckResult] = []
    try:
        with database.transaction(Authority.READER) as tx:
            done.append(CheckResult(check="database", verdict="ok", found="it answers"))
            try:
                check_schema(tx, releases(domains))
            except Refusal as refusal:
                return [*done, _error("schema", refusal.code, "recoup migrate, or start the program of that version")]
            done.append(CheckResult(check="schema", verdict="ok", found="known to this program"))
            return [*done, _workers(tx)]
    except (psycopg.Error, Refusal):
        return [_error("database", "it does not answer", "recoup doctor")]


def is_ready(found: Sequence[CheckResult]) -> bool:
    return all(one.verdict != "error" for one in found)


def _workers(tx: Transaction) -> CheckResult:
    values = policy.in_force(tx).policy[WorkerPolicy]
    alive = register.alive(tx, within_s=values.lost_after_s)
    if alive:
        return CheckResult(check="workers", verdict="ok", found=f"{len(alive)} running")
    return _error("workers", f"none sent a heartbeat within {values.lost_after_s} s", "recoup worker")


def _error(check: str, found: str, next_step: str) -> CheckResult:
    return CheckResult(check=check, verdict="error", found=found, next_step=next_step)
