"""Finding errors: by id, entity, work key, signature or text. Changes nothing."""

from collections.abc import Sequence
from typing import Any

from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import listing, lookup
from recoup.errors.lookup import ErrorKey
from recoup.find import Finder, Found, Wanted
from recoup.formatting import plural
from recoup.refusals import InputRefused

Q = load("recoup.errors", "find.sql")
SEARCHED = 50_000  # errors whose messages are searched
COUNTED = 1000  # errors of one look-up
SIGNATURE = "s"  # what every signature begins with


def _look_up(tx: Transaction, wanted: Wanted) -> list[Found]:
    found = _by_id(tx, wanted)
    if wanted.ids is not None:
        low, high = wanted.ids
        found += [_entity(row) for row in _rows(tx, "entities", wanted, low=low, high=high)]
    if wanted.text.startswith(SIGNATURE):
        found += [_signature(row) for row in _rows(tx, "signatures", wanted)]
    return found + _errors(tx, [_key(row) for row in _rows(tx, "work_keys", wanted)])


def _search(tx: Transaction, wanted: Wanted) -> list[Found]:
    return _errors(tx, [_key(row) for row in _rows(tx, "by_text", wanted, newest=SEARCHED)])


def _by_id(tx: Transaction, wanted: Wanted) -> list[Found]:
    try:
        return _errors(tx, lookup.keys(tx, [wanted.text]))
    except InputRefused:  # not an id, or of no error
        return []


def _rows(tx: Transaction, query: str, wanted: Wanted, **more: Any) -> list[dict[str, Any]]:
    given = {"text": wanted.text, **wanted.texts, "limit": wanted.limit, "most": COUNTED, **more}
    with tx.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(Q[query], given, prepare=False).fetchall()  # planned for these values


def _key(row: dict[str, Any]) -> ErrorKey:
    return ErrorKey(row["error_table"], row["error_id"])


def _errors(tx: Transaction, keys: Sequence[ErrorKey]) -> list[Found]:
    if not keys:
        return []
    statuses = listing.statuses(tx, keys)
    given = {"tables": [key.error_table for key in keys], "ids": [key.error_id for key in keys]}
    with tx.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(Q["errors"], given).fetchall()
    return [
        Found(
            kind="error",
            id=f"{row['error_table']}/{row['error_id']}",
            title=": ".join(part for part in (row["work_key"], row["error_message"]) if part),
            status=statuses.get(_key(row), f"ARCHIVED: {row['archive_reason']}"),
            next_step=f"recoup errors show {row['error_id']}",
        )
        for row in rows
    ]


def _entity(row: dict[str, Any]) -> Found:
    errors = f"{plural(row['errors'], 'error')}, {row['open']} open"
    blocked = row["blocking"] > 0
    verb = f"blocked {row['outreach_id']}" if blocked else f"list --archived --entity {row['outreach_id']}"
    return Found(
        kind="entity",
        id=str(row["outreach_id"]),
        title=None,
        status=f"blocked by {plural(row['blocking'], 'error')}; {errors}" if blocked else f"not blocked; {errors}",
        next_step=f"recoup errors {verb}",
    )


def _signature(row: dict[str, Any]) -> Found:
    more = "at least " if row["errors"] == COUNTED else ""
    return Found(
        kind="signature",
        id=row["error_signature"],
        title=None,
        status=f"{more}{plural(row['errors'], 'error')}, newest {row['newest']}",
        next_step=f"recoup errors list --signature {row['error_signature']}",
    )


FINDER = Finder(look_up=_look_up, search=_search, searched=f"messages and codes of the newest {SEARCHED:,} errors")
