"""Reading errors: lists by filter, and one error in full with its history. Changes nothing."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import class_row, dict_row
from psycopg.sql import SQL, Composed

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy, lookup
from recoup.errors.lookup import MAX_ID, ErrorKey
from recoup.errors.policy import ErrorTable
from recoup.errors.rendering import Earlier, Event, explained, next_step, review, status, traceback
from recoup.errors.tracebacks import tracebacks
from recoup.errors.vocabulary import Category, Severity
from recoup.refusals import InputRefused

ORDERED_BY_ARRAYS = 170000  # from here on an index scan with = any(array) keeps the order
Q = load("recoup.errors", "listing.sql")
ARCHIVED = "ARCHIVED"  # the status of errors in the archive
MAX_OCCURRENCES = 1000  # counted of one failure
MAX_EARLIER = 100  # errors of the same failure that are read to find what an error superseded
MAX_CHAIN = 10  # superseded errors whose history is part of an error's


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which errors. One of each list has to match; an empty list matches everything."""

    tables: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    severities: tuple[Severity, ...] = ()
    categories: tuple[Category, ...] = ()
    entities: tuple[UUID, ...] = ()
    text: str | None = None  # in the message or the code, in any case
    older_than: timedelta | None = None  # since it first failed
    newer_than: timedelta | None = None
    parked_longer_than: timedelta | None = None
    breached: bool = False  # their review is overdue

    @property
    def is_empty(self) -> bool:
        return not self.conditions

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions, as an operation keeps them."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value if value is True else str(value) if isinstance(value, timedelta | str) else [*map(str, value)]
            for name, value in given.items()
            if value
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An error as a list shows it."""

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
    escalated_to: str | None
    escalation_level: int
    parked_since: datetime | None  # when it was first parked: its tiers count from there
    escalated_at: datetime | None
    last_reviewed_at: datetime | None
    sla_due_at: datetime | None  # until when the owner of its tier has to review it
    sla_met_at: datetime | None
    sla_breached_at: datetime | None
    created_at: datetime
    expires_at: datetime | None
    archived_at: datetime | None
    archive_reason: str | None
    lineage_id: int  # the first error of the failure, if newer ones superseded it; else its own id
    owner: str | None = None  # the person it is assigned or escalated to, or the owner of its table
    review: str | None = None  # the clock of its review: due in …, met, breached by …, or breached and reviewed since
    occurrences: int = 1  # errors of the same table, entity, signature and work key, as far as they are kept
    first_seen_at: datetime | None = None
    last_seen_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One error in full."""

    row: Mapping[str, Any]
    owner: str | None
    blocks: bool  # its entity
    occurrences: int
    first_seen_at: datetime
    last_seen_at: datetime
    superseded: Sequence[Earlier]  # the errors that this one replaced, newest first
    explanation: Sequence[str]
    events: Sequence[Event]  # its own and theirs
    traceback: str | None
    next_step: str
    read_at: datetime


class Seen(NamedTuple):
    """How often a failure was recorded, and when."""

    error_id: int
    occurrences: int
    first_seen_at: datetime
    last_seen_at: datetime


def list_errors(
    tx: Transaction, asked: Filter, *, limit: int = 100, archived: bool = False, after: int | None = None
) -> list[Listed]:
    """Errors that match, newest first; closed and archived ones only with ``archived``.

    ``after``, the id of the last that was listed, gives the next page. Errors recorded meanwhile move no page.
    """
    archived = archived or ARCHIVED in asked.statuses
    page = {"archived": archived, "limit": limit, "after": MAX_ID if after is None else after}
    found = _rows(tx, "list_live", asked, page)
    if archived:
        found += _rows(tx, "list_archived", asked, page)
    return _completed(tx, sorted(found, key=lambda error: error.error_id, reverse=True)[:limit])


def park_queue(tx: Transaction, asked: Filter, *, limit: int = 100) -> list[Listed]:
    """Parked errors that wait for their review, in the order in which it is due: those that are overdue first."""
    return _completed(tx, _rows(tx, "park_queue", asked, {"limit": limit}))


def _completed(tx: Transaction, found: Sequence[Listed]) -> list[Listed]:
    """With their owners, with how often each failure was recorded, and with the clocks of their reviews."""
    tables = active_policy.reloaded(tx).errors.tables
    seen = _seen(tx, [asdict(error) for error in found])
    (now,) = tx.execute("select recoup.now()").fetchone() or (None,)
    return [
        replace(
            error,
            owner=_owner(asdict(error), tables.get(error.error_table)),
            review=review(asdict(error), now),
            **seen[error.error_id],
        )
        for error in found
    ]


def show(tx: Transaction, name: str) -> Shown:
    """An error, live or archived: its row, why it has its status, and everything that happened to it."""
    (place,) = lookup.places(tx, [name])
    key = place.key._asdict()
    with tx.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(Q["show_archived" if place.is_archived else "show_live"], key).fetchone()
    if row is None and not place.is_archived:  # the archiver moved it just now
        return show(tx, name)
    assert row is not None
    superseded = _superseded(tx, row)
    with tx.cursor(row_factory=class_row(Event)) as cursor_:
        ids = [row["error_id"], *(one.error_id for one in superseded)]
        events = cursor_.execute(Q["events"], {**key, "ids": ids}).fetchall()
    table = active_policy.reloaded(tx).errors.tables.get(place.key.error_table)
    (read_at,) = tx.execute("select recoup.now()").fetchone() or (row["updated_at"],)
    return Shown(
        row=row,
        owner=_owner(row, table),
        blocks=_blocks(row, table),
        **_seen(tx, [row])[row["error_id"]],
        superseded=superseded,
        explanation=explained(row, table, superseded),
        events=events,
        traceback=traceback(row, [one.traceback for one in tracebacks(tx, [place.key])]),
        next_step=next_step(row, table),
        read_at=read_at,
    )


def statuses(tx: Transaction, errors: Sequence[ErrorKey]) -> dict[ErrorKey, str]:
    """The status of errors now, in words; archived ones are left out."""
    parameters = {"tables": [key.error_table for key in errors], "ids": [key.error_id for key in errors]}
    with tx.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(Q["live"], parameters).fetchall()
    return {
        ErrorKey(row["error_table"], row["error_id"]): f"{row['status']}: {status(row, row['read_at'])}" for row in rows
    }


def matching(query: str, queries: Mapping[str, SQL] = Q) -> Composed:
    """A query with the conditions of a filter in it."""
    return queries[query].format(matching=Q["matching"])


def known_tables(tx: Transaction, names: Sequence[str]) -> list[str]:
    """These error tables, or all. Refuses unknown ones."""
    there = lookup.tables(tx)
    for name in names:
        if name not in there:
            active_policy.reloaded(tx).errors.table(name)
            raise InputRefused("table_not_made", f"{name} is in the policy, but not created.", "Run: recoup migrate")
    return list(names) or there


def visible_tables(tx: Transaction, names: Sequence[str]) -> list[str]:
    """The same, for what shows a line for each table: those of the hub of the transaction, if it has one."""
    known, visible = known_tables(tx, names), lookup.visible_tables(tx)
    for name in names:
        if name not in visible:
            raise InputRefused(
                "table_of_another_hub", f"{name} is no table of this hub.", "Leave it out, or use a key without a hub."
            )
    return [name for name in known if name in visible]


def given(tx: Transaction, asked: Filter) -> dict[str, Any]:
    """The parameters of the conditions. Refuses unknown tables, and text that no error can hold."""
    tables = known_tables(tx, asked.tables)
    for text in (*asked.codes, *asked.signatures, asked.text or ""):
        if "\0" in text:
            raise InputRefused("text_has_nul", f"{text[:50]!r} holds a NUL character.", "Remove it.")
    return {
        "tables": tables,
        "statuses": list(asked.statuses) or None,
        "codes": list(asked.codes) or None,
        "signatures": list(asked.signatures) or None,
        "severities": list(asked.severities) or None,
        "categories": list(asked.categories) or None,
        "entities": list(asked.entities) or None,
        "text": asked.text or None,
        "older": asked.older_than,
        "newer": asked.newer_than,
        "parked": asked.parked_longer_than,
        "breached": asked.breached or None,
    }


def _rows(tx: Transaction, query: str, asked: Filter, page: Mapping[str, Any]) -> list[Listed]:
    parameters = {**given(tx, asked), **page}
    with tx.cursor(row_factory=class_row(Listed)) as cursor, _along_the_keys(tx):
        # Not prepared: planned for these conditions, not for every possible set of them.
        return cursor.execute(matching(query), parameters, prepare=False).fetchall()


@contextlib.contextmanager
def _along_the_keys(tx: Transaction) -> Iterator[None]:
    """Let an older server read a page in order: on tables without statistics it would sort all rows instead."""
    if tx.info.server_version >= ORDERED_BY_ARRAYS:
        yield
        return
    with without_sorting(tx):
        yield


@contextlib.contextmanager
def without_sorting(tx: Transaction) -> Iterator[None]:
    """Let the server read rows in the order of an index, where it would rather read and sort all of them."""
    tx.execute("set local enable_sort = off")
    yield
    tx.execute("set local enable_sort to default")


def _seen(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """Occurrences of the failures of these errors, by error."""
    parameters = {
        "ids": [row["error_id"] for row in rows],
        "tables": [row["error_table"] for row in rows],
        "entities": [row["outreach_id"] for row in rows],
        "signatures": [row["error_signature"] for row in rows],
        "work_keys": [row["work_key"] for row in rows],
        "created": [row["created_at"] for row in rows],
        "most": MAX_OCCURRENCES,
    }
    found = map(Seen._make, tx.execute(Q["seen"], parameters, prepare=False)) if rows else ()
    return {one.error_id: {name: value for name, value in one._asdict().items() if name != "error_id"} for one in found}


def _superseded(tx: Transaction, row: Mapping[str, Any]) -> list[Earlier]:
    """The errors that this one replaced, one after the other, newest first."""
    if row["outreach_id"] is None:
        return []
    with tx.cursor(row_factory=class_row(Earlier)) as cursor:
        found = cursor.execute(Q["earlier"], {**row, "limit": MAX_EARLIER}, prepare=False).fetchall()
    chain: list[Earlier] = []
    newer = row["error_id"]
    for one in found:
        if one.superseded_by == newer and len(chain) < MAX_CHAIN:
            chain.append(one)
            newer = one.error_id
    return chain


def _owner(row: Mapping[str, Any], table: ErrorTable | None) -> str | None:
    return row["assigned_to"] or row["escalated_to"] or (None if table is None else table.owner)


def _blocks(row: Mapping[str, Any], table: ErrorTable | None) -> bool:
    waits = row["archived_at"] is None and row["disposition"] in ("RETRY", "PARKED")
    return waits and row["outreach_id"] is not None and table is not None and table.blocks
