"""Groups of errors: the same failure, whatever the values in it, how often and where. Changes nothing."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import listing
from recoup.errors.listing import ARCHIVED, Filter
from recoup.signatures import Signature, signature

Q = load("recoup.errors", "grouping.sql")
MAX_MESSAGE = 500  # characters of an example; recoup errors show has it in full
_KEY = re.compile(r"s([0-9]{1,3})-[0-9a-f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A value that does not count, and why."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Errors of one signature. Error and message are those of the newest."""

    error_signature: str
    errors: int
    entities: int
    tables: Mapping[str, int]
    statuses: Mapping[str, int]
    categories: Mapping[str, int]
    first_failed_at: datetime
    last_recorded_at: datetime
    error_id: int
    error_table: str
    error_code: str | None
    error_message: str  # shortened
    remained: str | None  # what counts of it; None: by rules that this program does not know
    masked: Sequence[Masked]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The largest groups, and how many groups and errors there are in all."""

    groups: Sequence[Group]
    all_groups: int
    all_errors: int


def largest(tx: Transaction, asked: Filter, *, limit: int = 20, archived: bool = False) -> Groups:
    """The largest groups of errors that fit; of those that are over only when they are asked for.

    Reads every error that fits: of millions it takes a few seconds.
    """
    errors = Q["all" if archived or ARCHIVED in asked.statuses else "open"]
    query = Q["groups"].format(errors=errors, matching=listing.Q["matching"])
    with tx.cursor(row_factory=dict_row) as cursor:
        # Not prepared: planned for what is asked for now, not for everything that ever might be.
        rows = cursor.execute(query, {**listing.given(tx, asked), "limit": limit}, prepare=False).fetchall()
    return Groups(
        groups=[_group(row) for row in rows],
        all_groups=rows[0]["all_groups"] if rows else 0,
        all_errors=rows[0]["all_errors"] if rows else 0,
    )


def _group(row: Mapping[str, Any]) -> Group:
    tables, statuses, categories = Counter[str](), Counter[str](), Counter[str]()
    for table, status, category, errors in row["counted"]:
        tables[table] += errors
        statuses[status] += errors
        categories[category] += errors
    message = row["error_message"]
    made = _made(row["error_signature"], message, row["error_code"])
    return Group(
        error_signature=row["error_signature"],
        errors=row["errors"],
        entities=row["entities"],
        tables=dict(tables.most_common()),
        statuses=dict(statuses.most_common()),
        categories=dict(categories.most_common()),
        first_failed_at=row["first_failed_at"],
        last_recorded_at=row["last_recorded_at"],
        error_id=row["error_id"],
        error_table=row["error_table"],
        error_code=row["error_code"],
        error_message=message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}…",
        remained=None if made is None else made.remained,
        masked=() if made is None else [Masked(kind=kind, text=text) for kind, text in made.masked],
    )


def _made(key: str, message: str, code: str | None) -> Signature | None:
    """How a key came about, if it did by a version of the rules that we know. A message that was cut may not tell."""
    version = _KEY.fullmatch(key)
    if version is None:
        return None
    try:
        made = signature(message, code, version=int(version[1]))
    except ValueError:
        return None
    return made if made.key == key else None
