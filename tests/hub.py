"""A hub at its errors: each verb in a transaction of its own, as the authority that owns it."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

import product
from recoup import clock
from recoup.audit import audit
from recoup.database.connection import Database, connect
from recoup.errors import archive, escalation, recording, retrying
from recoup.errors.archive import Swept
from recoup.errors.escalation import Raised
from recoup.errors.recording import NewError, Recorded
from recoup.errors.retrying import Claimed, Ended, Failed, Succeeded
from recoup.lifecycles.declaration import Authority

DOL, TARGET, PEOPLE = "outreach.dol_errors", "outreach.company_target_errors", "people.people_errors"
URLS, LOG, MASTER, ORPHANS = (
    "company.url_discovery_failures", "public.shq_error_log", "public.shq_master_error_log", "public.shq_orphan_errors",
)  # fmt: skip
TABLES = (DOL, TARGET, PEOPLE, URLS, LOG, MASTER, ORPHANS)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TRANSIENT, OPERATIONAL, STRUCTURAL = "the request timed out", "the EIN did not match", "no such column: ein"


@dataclass(frozen=True)
class Hub:
    """A database of errors and the people at it. Every call commits, or is refused."""

    db: Database

    def now(self) -> datetime:
        with self.db.transaction(Authority.READER) as tx:
            return clock.read(tx).now

    def advance(self, by: timedelta) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)

    def record_all(self, errors: Iterable[NewError]) -> list[Recorded]:
        with self.db.transaction(Authority.HUB) as tx:
            return recording.record(tx, errors)

    def record(self, message: str = OPERATIONAL, *, table: str = DOL, **more: Any) -> int:
        """One error, of an entity of its own unless one is given."""
        entity = {"outreach_id": uuid.uuid4()} | more
        (recorded,) = self.record_all([NewError(table=table, message=message, **entity)])
        return recorded.error_id

    def row(self, error_id: int, *, archived: bool = False) -> dict[str, Any]:
        """The row of an error, and of one that is live who holds it."""
        held = "null as held, null as worker, null as lease_until"
        queued = "q.token as held, q.worker, case when q.token is not null then q.wake_at end as lease_until"
        table = "recoup.error_archive" if archived else "recoup.error"
        query = f"select e.*, {held if archived else queued} from {table} e"
        query += "" if archived else " left join recoup.error_queue q on q.unit = e.error_id"
        with self.db.transaction(Authority.READER) as tx, tx.cursor(row_factory=dict_row) as cursor:
            found = cursor.execute(f"{query} where e.error_id = %s", (error_id,)).fetchone()
        assert found is not None, f"there is no error {error_id} in {table}"
        return found

    def row_of(self, entity: UUID) -> dict[str, Any]:
        """The one open error of an entity."""
        ((error_id,),) = self.rows(
            "select error_id from recoup.error where outreach_id = %s and archived_at is null", entity
        )
        return self.row(error_id)

    def archived(self, error_id: int) -> dict[str, Any]:
        return self.row(error_id, archived=True)

    def events(self, error_id: int) -> list[str]:
        found = self.rows("select event_type from recoup.error_story where error_id = %s order by seq", error_id)
        return [row[0] for row in found]

    def rows(self, query: str, *parameters: Any) -> list[Any]:
        with self.db.transaction(Authority.READER) as tx:
            return tx.execute(query, parameters).fetchall()

    def claim(self, *, limit: int = 1000, worker: str = "hub", **more: Any) -> list[Claimed]:
        with self.db.transaction(Authority.HUB) as tx:
            return retrying.claim(tx, limit=limit, worker=worker, **more)

    def claim_one(self, error_id: int) -> Claimed:
        """That one, whatever else is due; the others are given back as they were."""
        (found,) = [claimed for claimed in self.claim() if claimed.error_id == error_id]
        return found

    def finish(self, outcomes: Sequence[Succeeded | Failed]) -> list[Ended]:
        with self.db.transaction(Authority.HUB) as tx:
            return retrying.finish(tx, outcomes)

    def fail(self, claimed: Claimed, said: str = "failed again") -> str:
        ((_, status),) = self.finish([failed(claimed, said)])
        return status

    def succeed(self, claimed: Claimed) -> str:
        ((_, status),) = self.finish([succeeded(claimed)])
        return status

    def fail_when_due(self, error_id: int) -> dict[str, Any]:
        """Let time come to its next retry, which fails."""
        if (wait := self.row(error_id)["next_retry_at"] - self.now()) > timedelta(0):
            self.advance(wait)
        self.fail(self.claim_one(error_id))
        return self.row(error_id)

    def lapse(self) -> int:
        with self.db.transaction(Authority.ERROR_WORKER) as tx:
            return retrying.lapse(tx)

    def close_windows(self) -> int:
        with self.db.transaction(Authority.ERROR_WORKER) as tx:
            return retrying.close_windows(tx)

    def sweep(self, *, limit: int = 1000) -> Swept:
        with self.db.transaction(Authority.ARCHIVER) as tx:
            return archive.sweep(tx, limit=limit)

    def sweep_all(self) -> int:
        gone = 0
        while moved := self.sweep().gone:
            gone += moved
        return gone

    def raise_tiers(self) -> Raised:
        with self.db.transaction(Authority.ERROR_WORKER) as tx:
            return escalation.raise_tiers(tx)

    def age(self, by: timedelta) -> None:
        """Let time pass; at its end the review of the last tier is overdue of whatever was parked that long."""
        last = 4 * HOUR + SECOND
        self.advance(by - last)
        self.raise_tiers()
        self.advance(last)
        self.raise_tiers()

    def operate(self, change: str, error_id: int) -> None:
        """What an operator changes, past the library."""
        with self.db.transaction(Authority.OPERATOR, reason="a test") as tx:
            done = tx.execute(f"update recoup.error set {change} where error_id = %s", (error_id,))
            assert done.rowcount == 1

    def apply_policy(self, text: str) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            product.apply_policy(tx, text, reason="a test")

    def broken(self) -> list[str]:
        """What the audit finds of errors, and of late results."""
        asked = [one for one in product.chosen(()) if one.id.startswith(("errors/", "rebuild/recoup.error", "laws/L5"))]
        with contextlib.closing(connect(self.db.conninfo, self.db.settings)) as connection:
            return [f"{v.id}: {v.rows[:2]}" for v in audit(connection, asked) if not v.holds]

    def is_blocked(self, entity: UUID) -> bool:
        ((blocked,),) = self.rows("select recoup.is_blocked(%s)", entity)
        return bool(blocked)


NewHub = Callable[[], Hub]  # a hub with a database of its own


def succeeded(claimed: Claimed) -> Succeeded:
    return Succeeded(error_table=claimed.error_table, error_id=claimed.error_id, token=claimed.token)


def failed(claimed: Claimed, said: str = "failed again") -> Failed:
    return Failed(error_table=claimed.error_table, error_id=claimed.error_id, token=claimed.token, failure=said)
