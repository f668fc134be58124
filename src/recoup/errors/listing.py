"""Looking at errors: which there are, one in full with its story, and how many stand where. Changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import class_row, dict_row
from psycopg.sql import SQL, Composed

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy, lookup
from recoup.errors.lookup import MAX_ID
from recoup.errors.rendering import Event, explained
from recoup.errors.vocabulary import Category, Severity
from recoup.refusals import InputRefused

Q = load("recoup.errors", "listing.sql")
ARCHIVED = "ARCHIVED"  # the status of whatever is in an archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which errors. Of each list one has to fit; what is empty fits everything."""

    tables: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    severities: tuple[Severity, ...] = ()
    categories: tuple[Category, ...] = ()
    entities: tuple[UUID, ...] = ()
    older_than: timedelta | None = None  # since it first failed
    newer_than: timedelta | None = None
    parked_longer_than: timedelta | None = None

    @property
    def is_empty(self) -> bool:
        return not self.conditions

    @property
    def conditions(self) -> dict[str, Any]:
        """What is asked for, as an operation keeps it."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: str(value) if isinstance(value, timedelta) else [str(one) for one in value]
            for name, value in given.items()
            if value
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An error as a list has it."""

    error_id: int
    error_table: str
    outreach_id: UUID | None
    work_key: str | None
    error_code: str | None
    error_message: str
    error_signature: str
    severity: str | None
    category: str
    status: str
    disposition: str
    retry_count: int
    max_retries: int
    next_retry_at: datetime | None
    leased_by: str | None
    parked_at: datetime | None
    park_reason: str | None
    assigned_to: str | None
    escalation_level: int
    created_at: datetime
    expires_at: datetime | None
    archived_at: datetime | None
    archive_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One error in full."""

    row: Mapping[str, Any]
    explanation: Sequence[str]
    events: Sequence[Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStats:
    """How many errors of a table stand where."""

    error_table: str
    open: int
    ignored: int = 0
    to_archive: int = 0
    retry_pending: int = 0
    parked: int = 0
    escalated: int = 0
    blocking: int = 0  # keep an entity from moving on
    due_now: int = 0  # nobody has claimed them yet
    overdue: int = 0  # nobody did before their window closed
    retrying: int = 0  # claimed
    lapsed: int = 0  # claimed, and the lease is over
    oldest_parked_at: datetime | None = None
    for_the_archiver: int = 0  # over, or expired
    archived: Mapping[str, int]  # by reason, in the archive


class _Count(NamedTuple):
    error_table: str
    archive_reason: str
    errors: int


def list_errors(
    tx: Transaction, asked: Filter, *, limit: int = 100, archived: bool = False, after: int | None = None
) -> list[Listed]:
    """Errors that fit, newest first; those that are over only when they are asked for.

    ``after``, the id of the last that was listed, gives the next page. What is recorded meanwhile moves no page.
    """
    archived = archived or ARCHIVED in asked.statuses
    page = {"archived": archived, "limit": limit, "after": MAX_ID if after is None else after}
    found = _rows(tx, "list_live", asked, page)
    if archived:
        found += _rows(tx, "list_archived", asked, page)
    return sorted(found, key=lambda error: error.error_id, reverse=True)[:limit]


def show(tx: Transaction, name: str) -> Shown:
    """An error, live or archived: its row, how it came to stand so, and everything that happened to it."""
    (place,) = lookup.places(tx, [name])
    given = place.key._asdict()
    with tx.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(Q["show_archived" if place.is_archived else "show_live"], given).fetchone()
    if row is None and not place.is_archived:  # the archiver came for it just now
        return show(tx, name)
    assert row is not None
    with tx.cursor(row_factory=class_row(Event)) as cursor_:
        events = cursor_.execute(Q["events"], given).fetchall()
    table = active_policy.reloaded(tx).errors.tables.get(place.key.error_table)
    return Shown(row=row, explanation=explained(row, table), events=events)


def stats(tx: Transaction) -> list[TableStats]:
    """How many errors stand where, table by table. Counts every row: on millions it takes its time."""
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


def matching(query: str, queries: Mapping[str, SQL] = Q) -> Composed:
    """A query with the conditions of a filter in it."""
    return queries[query].format(matching=Q["matching"])


def given(tx: Transaction, asked: Filter) -> dict[str, Any]:
    """The parameters of the conditions. Refuses a table that there is not, and text that no error has."""
    there = lookup.tables(tx)
    for name in asked.tables:
        if name not in there:
            active_policy.reloaded(tx).errors.table(name)
            raise InputRefused("table_not_made", f"{name} is in the policy, but not made.", "Run: recoup migrate")
    for text in (*asked.codes, *asked.signatures):
        if "\0" in text:
            raise InputRefused("text_has_nul", f"{text[:50]!r} holds a NUL character.", "Remove it.")
    return {
        "tables": list(asked.tables) or there,
        "statuses": list(asked.statuses) or None,
        "codes": list(asked.codes) or None,
        "signatures": list(asked.signatures) or None,
        "severities": list(asked.severities) or None,
        "categories": list(asked.categories) or None,
        "entities": list(asked.entities) or None,
        "older": asked.older_than,
        "newer": asked.newer_than,
        "parked": asked.parked_longer_than,
    }


def _rows(tx: Transaction, query: str, asked: Filter, page: Mapping[str, Any]) -> list[Listed]:
    parameters = {**given(tx, asked), **page}
    with tx.cursor(row_factory=class_row(Listed)) as cursor:
        # Not prepared: planned for what is asked for now, not for everything that ever might be.
        return cursor.execute(matching(query), parameters, prepare=False).fetchall()
