"""What tests of runs do often."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from recoup import clock, policy
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.runs import orphans
from recoup.runs.orphans import Orphan
from recoup.worker import register

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def advance(database: Database, by: timedelta) -> None:
    with database.transaction(Authority.OPERATOR) as tx:
        clock.advance(tx, by)


def sweep(database: Database) -> list[Orphan]:
    """What a worker's duty does, once."""
    with database.transaction(Authority.ORPHAN_RECOVERY) as tx:
        return orphans.sweep(tx, policy.in_force(tx).policy)


def new_worker(database: Database, name: str = "w") -> UUID:
    with database.transaction(Authority.RUNNER) as tx:
        return register.register(tx, name=name, duties=[])


def lose_workers(database: Database) -> None:
    with database.transaction(Authority.ORPHAN_RECOVERY) as tx:
        tx.execute("update recoup.worker set status = 'lost', ended_at = recoup.now() where status = 'running'")


def read(database: Database, query: str, *given: Any) -> list[tuple[Any, ...]]:
    with database.transaction(Authority.READER) as tx:
        return tx.execute(query.encode(), given).fetchall()


def trace(database: Database, run: UUID) -> list[str]:
    """The events of a run, in their order."""
    query = "select event_type from recovery.run_trace where run_id = %s order by seq"
    return [event for (event,) in read(database, query, run)]
