"""The register of workers: start, heartbeat and end of each, and what it did of each duty."""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row, dict_row

from recoup import __version__, pauses
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.worker.duty import Duty

Q = load("recoup.worker", "worker.sql")
MAX_FAILURE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredWorker:
    """One life of a worker process, as the database has it."""

    worker_id: UUID
    name: str
    host: str
    pid: int
    status: str
    started_at: datetime
    heartbeat_at: datetime
    ended_at: datetime | None
    recoup_version: str
    duties: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DutyStatus:
    """The status of a duty, over all workers."""

    duty: str
    authority: str
    cadence_s: float
    paused: str | None  # by whom and why
    last_run_at: datetime | None
    lag_s: float | None  # how long the oldest unit has been waiting; None: none waits
    runs: int
    done: int
    failures: int
    last_worker: str | None
    last_failed_at: datetime | None
    last_failure: str | None
    note: str | None  # what keeps it from doing its work, if anything
    description: str


def register(tx: Transaction, *, name: str, duties: Sequence[str]) -> UUID:
    """Register a worker."""
    row = tx.execute(
        Q["register"],
        {
            "name": name, "host": socket.gethostname(), "pid": os.getpid(), "recoup_version": __version__,
            "duties": list(duties),
        },
    ).fetchone()  # fmt: skip
    assert row is not None
    return UUID(str(row[0]))


def beat(tx: Transaction, worker_id: UUID) -> bool:
    """Record a heartbeat. Returns False if the worker was declared lost meanwhile."""
    return tx.execute(Q["beat"], {"worker_id": worker_id}).rowcount > 0


def stop(tx: Transaction, worker_id: UUID) -> None:
    """Record that a worker stopped."""
    tx.execute(Q["stop"], {"worker_id": worker_id})


def tally(tx: Transaction, worker_id: UUID, duty: str, *, done: int, runs: int = 1) -> None:
    """Count a batch, in the transaction that did it."""
    tx.execute(Q["tally_run"], {"worker_id": worker_id, "duty": duty, "done": done, "runs": runs})


def tally_failure(tx: Transaction, worker_id: UUID, duty: str, failure: str) -> None:
    """Count a batch that raised."""
    text = failure.replace("\x00", "")[:MAX_FAILURE]
    tx.execute(Q["tally_failure"], {"worker_id": worker_id, "duty": duty, "failure": text})


def alive(tx: Transaction, *, within_s: float) -> list[tuple[str, str, int]]:
    """Name, host and process of running workers whose last heartbeat is not older."""
    return [(str(name), str(host), int(pid)) for name, host, pid in tx.execute(Q["alive"], {"within_s": within_s})]


def workers(tx: Transaction, *, limit: int = 100) -> list[RegisteredWorker]:
    """Workers, running ones first."""
    with tx.cursor(row_factory=class_row(RegisteredWorker)) as cursor:
        return cursor.execute(Q["list_workers"], {"limit": limit}).fetchall()


def standings(tx: Transaction, duties: Sequence[Duty]) -> list[DutyStatus]:
    """The status of each duty, in the order given."""
    with tx.cursor(row_factory=dict_row) as cursor:
        tallies = {row["duty"]: row for row in cursor.execute(Q["tallies"])}
    found = []
    for duty in duties:
        tally_ = tallies.get(duty.name, {})
        held = pauses.paused(tx, f"duty:{duty.name}")
        found.append(
            DutyStatus(
                duty=duty.name,
                authority=duty.authority,
                cadence_s=duty.cadence_s,
                paused=f"{held.paused_by}: {held.reason}" if held else None,
                last_run_at=tally_.get("last_run_at"),
                lag_s=_rounded(duty.lag(tx)),
                runs=tally_.get("runs", 0),
                done=tally_.get("done", 0),
                failures=tally_.get("failures", 0),
                last_worker=tally_.get("last_worker"),
                last_failed_at=tally_.get("last_failed_at"),
                last_failure=tally_.get("last_failure"),
                note=None if duty.note is None else duty.note(tx),
                description=duty.description,
            )
        )
    return found


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
