"""Groups of errors: the same failure, whatever the values in it. Changes nothing."""

import contextlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import listing
from recoup.errors.listing import ARCHIVED, Filter
from recoup.errors.lookup import MAX_ID
from recoup.signatures import Signature, signature

Q = load("recoup.errors", "grouping.sql")
MAX_MESSAGE = 500  # characters of an example; recoup errors show has it in full
HOLE = "<…>"
_KEY = re.compile(r"s([0-9]{1,3})-[0-9a-f]+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A variable part of a message, and of what kind it is."""

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
    pattern: str  # its message, with <…> in place of the variable parts
    remained: str | None  # the words that make the signature; None: by rules that this program does not know
    masked: Sequence[Masked]  # the variable parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The largest groups, and how many groups and errors there are in all."""

    groups: Sequence[Group]
    all_groups: int
    all_errors: int


def largest(
    tx: Transaction, asked: Filter, *, limit: int = 20, archived: bool = False, newest: int | None = None
) -> Groups:
    """The largest groups of errors that match; closed and archived errors only with ``archived``.

    Reads every error that matches: with millions this takes a few seconds. With ``newest`` it reads at most that
    number of open errors, the newest ones, and knows the groups of these.
    """
    errors = Q["newest" if newest else "all" if archived or ARCHIVED in asked.statuses else "open"]
    query = Q["groups"].format(errors=errors, matching=listing.Q["matching"])
    along = listing.without_sorting(tx) if newest else contextlib.nullcontext()
    with along, tx.cursor(row_factory=dict_row) as cursor:
        # Not prepared: planned for these conditions, not for every possible set of them.
        rows = cursor.execute(
            query, {**listing.given(tx, asked), "limit": limit, "newest": newest, "below": MAX_ID}, prepare=False
        ).fetchall()
    return Groups(
        groups=[_group(row) for row in rows],
        all_groups=rows[0]["all_groups"] if rows else 0,
        all_errors=rows[0]["all_errors"] if rows else 0,
    )


def recent(
    tx: Transaction, asked: Filter, signatures: Sequence[str], *, newest: int, step: timedelta, steps: int
) -> dict[str, list[int]]:
    """How many errors of each signature began in each of these steps until now, of the newest open ones."""
    given = {
        **listing.given(tx, asked), "signatures": list(signatures), "newest": newest, "below": MAX_ID, "steps": steps,
        "step_s": step.total_seconds(),
    }  # fmt: skip
    found = {key: [0] * steps for key in signatures}
    with listing.without_sorting(tx):
        rows = tx.execute(Q["recent"].format(errors=Q["newest"]), given, prepare=False).fetchall()
    for key, place, errors in rows:
        found[key][steps - 1 - place] = errors
    return found


def pattern(message: str, remained: str | None) -> str:
    """A message on one line, with ``<…>`` for whatever is not among the words of its signature.

    Without those words, the message as it is.
    """
    text = " ".join(message.split())
    if remained is None:
        return text
    words = _WORD.findall(remained.casefold())
    parts, at = [""], 0
    for word in _WORD.finditer(text):
        if words and word[0].casefold() == words[0]:
            words.pop(0)
            parts += [_between(text[at : word.start()]), word[0]]
            at = word.end()
    parts.append(_between(text[at:]))
    return "".join(parts).strip()


def _between(text: str) -> str:
    """The text between two words of a signature: a hole, or punctuation as it is."""
    if not any(map(str.isalnum, text)):
        return text
    return f" {HOLE}{text[len(text.rstrip(' :;,.!?')) :] or ' '}"


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
        pattern=pattern(message[:MAX_MESSAGE], None if made is None else made.remained),
        remained=None if made is None else made.remained,
        masked=() if made is None else [Masked(kind=kind, text=text) for kind, text in made.masked],
    )


def _made(key: str, message: str, code: str | None) -> Signature | None:
    """The signature of a message, if this program knows the version of its rules; None also where a message was cut."""
    version = _KEY.fullmatch(key)
    if version is None:
        return None
    try:
        made = signature(message, code, version=int(version[1]))
    except ValueError:
        return None
    return made if made.key == key else None
