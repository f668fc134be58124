"""The archive: closed and expired errors leave the live tables, and old months leave the archive.

Errors are moved in bounded batches, one transaction each, and written to the archive by the statement that deletes
them. Archives are partitioned by month; a month whose retention has ended is dropped, with its count and digest logged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy, tracebacks
from recoup.errors.policy import ErrorPolicy, ErrorTable
from recoup.worker.duty import seconds

Q = load("recoup.errors", "archive.sql")
MAX_DROP_MS = 3_600_000  # to read a month and drop it


class Swept(NamedTuple):
    """What a sweep moved, and how many of them still blocked their entity when they expired."""

    gone: int
    was_blocking: int


class Leaving(NamedTuple):
    """An error that is closed, and still in its live table."""

    error_table: str
    error_id: int


class Month(NamedTuple):
    """A month of the archive of a table."""

    table: str
    month: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A month of an archive that was dropped."""

    error_table: str
    month: date
    rows: int
    digest: bytes


def sweep(tx: Transaction, *, limit: int = 1000, only: Leaving | None = None) -> Swept:
    """Move at most ``limit`` errors to their archives: closed ones first, then expired ones.

    Call again until nothing is left. ``only`` takes one alone, for when a whole set was refused because of one row.
    """
    gone = was_blocking = 0
    for table in [only.error_table] if only else _finite(active_policy.reloaded(tx).errors):
        given = {"table": table, "limit": limit - gone, "only": only.error_id if only else None}
        moved, blocked = tx.execute(Q["sweep"], given).fetchone() or (0, 0)
        gone, was_blocking = gone + moved, was_blocking + blocked
        if gone >= limit:
            break
    return Swept(gone, was_blocking)


def leaving(tx: Transaction, *, limit: int = 1000) -> list[Leaving]:
    """Errors that are closed or expired, and not moved yet."""
    return [Leaving(*row) for row in tx.execute(Q["leaving"], {"limit": limit})]


def lag(tx: Transaction) -> float | None:
    """For how many seconds the oldest error has been waiting for the archiver; None: none is."""
    return seconds(tx, Q["lag"])


def drop_month(tx: Transaction, *, only: Month | None = None) -> Dropped | None:
    """Drop the oldest month whose retention has ended, or this one; logs count and digest. None: there is none."""
    month = only or next(iter(months_over(tx, limit=1)), None)
    if month is None or tx.execute(Q["lock_month"], month._asdict()).fetchone() is None:
        return None  # or another process has just dropped it
    # A month may hold more than is read within the time of other statements.
    tx.execute("select set_config('statement_timeout', %s, true)", (str(MAX_DROP_MS),))
    held = tracebacks.of_month(tx, month.table, month.month)
    rows, digest = tx.execute(Q["drop_month"], month._asdict()).fetchone() or (0, b"")
    tracebacks.delete(tx, held)
    return Dropped(error_table=month.table, month=month.month, rows=rows, digest=bytes(digest))


def months_over(tx: Transaction, *, limit: int = 1000) -> list[Month]:
    """Months whose retention has ended, oldest first."""
    return [Month(*row[:2]) for row in _over(tx, limit)]


def retention_lag(tx: Transaction) -> float | None:
    """How many seconds ago the retention ended of the oldest month that still exists; None: there is none."""
    return next((float(row[2]) for row in _over(tx, 1)), None)


def _over(tx: Transaction, limit: int) -> list[Any]:
    tables = active_policy.reloaded(tx).errors.tables
    given = {"tables": list(tables), "years": [table.archive_years for table in tables.values()], "limit": limit}
    return tx.execute(Q["months_over"], given).fetchall()


def _finite(policy: ErrorPolicy) -> Mapping[str, ErrorTable]:
    """Tables that errors leave: a log is kept for ever."""
    return {name: table for name, table in policy.tables.items() if not table.insert_only}
