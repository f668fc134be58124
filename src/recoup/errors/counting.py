"""Counts of errors by table. Changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import lookup

Q = load("recoup.errors", "listing.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStats:
    """Counts of a table's errors."""

    error_table: str
    open: int
    ignored: int = 0
    to_archive: int = 0
    retry_pending: int = 0
    parked: int = 0
    escalated: int = 0
    blocking: int = 0  # block their entity
    due_now: int = 0  # not claimed yet
    overdue: int = 0  # not claimed before their window closed
    retrying: int = 0  # claimed
    lapsed: int = 0  # claimed, and the lease expired
    oldest_parked_at: datetime | None = None
    for_the_archiver: int = 0  # closed or expired
    archived: Mapping[str, int]  # by reason, in the archive


class _Count(NamedTuple):
    error_table: str
    archive_reason: str
    errors: int


def stats(tx: Transaction) -> list[TableStats]:
    """Counts of errors by table and status. Reads every row: with millions this takes seconds."""
    archived = [_Count._make(row) for row in tx.execute(Q["count_archived"])]
    with tx.cursor(row_factory=dict_row) as cursor:
        counted = {row["error_table"]: row for row in cursor.execute(Q["count_live"])}
    nothing = {"open": 0}
    return [
        TableStats(
            **{"error_table": table, **counted.get(table, nothing)},
            archived={one.archive_reason: one.errors for one in archived if one.error_table == table},
        )
        for table in lookup.tables(tx)
    ]
