"""Errors by name: an id, which is unique, or table and id: ``outreach.dol_errors/123``."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.refusals import InputRefused

Q = load("recoup.errors", "lookup.sql")
MAX_ID = 2**63 - 1  # of a bigint
_NAME = re.compile(r"(?:(?P<table>[^/\s]{1,130})/)?(?P<id>[0-9]{1,19})", re.ASCII)


class ErrorKey(NamedTuple):
    """Which error: table and id."""

    error_table: str
    error_id: int


class Location(NamedTuple):
    """Where an error is."""

    key: ErrorKey
    is_archived: bool


def keys(tx: Transaction, names: Sequence[str]) -> list[ErrorKey]:
    """The errors with these names, live or archived, in the order given. Refused when one does not exist."""
    return [place.key for place in places(tx, names)]


def places(tx: Transaction, names: Sequence[str]) -> list[Location]:
    """The same, and whether each is archived."""
    asked = [_read(name) for name in names]
    found: dict[int, list[Location]] = {}
    # Not prepared: planned for these ids, whatever else was asked before.
    for table, error_id, is_archived in tx.execute(Q["places"], {"ids": sorted({i for _, i in asked})}, prepare=False):
        found.setdefault(error_id, []).append(Location(ErrorKey(table, error_id), is_archived))
    return [_meant(name, table, found.get(error_id, [])) for name, (table, error_id) in zip(names, asked, strict=True)]


def tables(tx: Transaction) -> list[str]:
    """All error tables, also those that the policy no longer lists."""
    return [row[0] for row in tx.execute(Q["tables"])]


def visible_tables(tx: Transaction) -> list[str]:
    """The error tables of the hub that the transaction is limited to; all, if it is not."""
    return [row[0] for row in tx.execute(Q["visible_tables"])]


def _read(name: str) -> tuple[str | None, int]:
    match = _NAME.fullmatch(name)
    if match is None or int(match["id"]) > MAX_ID or "\0" in name:
        raise InputRefused(
            "error_name",
            f"{name[:200]!r} is not the id of an error.",
            "Give its id, such as 123, or table and id, such as outreach.dol_errors/123.",
        )
    return match["table"], int(match["id"])


def _meant(name: str, table: str | None, found: Sequence[Location]) -> Location:
    fitting = [place for place in found if table is None or place.key.error_table == table]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:  # only rows written past the recorder can share an id
        raise InputRefused(
            "error_ambiguous",
            f"{len(fitting)} errors have the id {name}.",
            f"Name the table: {', '.join(f'{p.key.error_table}/{p.key.error_id}' for p in fitting)}.",
        )
    elsewhere = f" That id is of {found[0].key.error_table}." if found else ""
    raise InputRefused(
        "error_unknown",
        f"No error {name}, open or archived.{elsewhere}",
        "List errors: recoup errors list",
        error=name,
    )
