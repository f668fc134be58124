"""Keys that programs read and recovery may change: every change is a version of its own, and the last one counts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.recovery.effects import KEY
from recoup.recovery.texts import MAX_USABLE, require_no_secret, usable_json
from recoup.refusals import InputRefused

Q = load("recoup.recovery", "config.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a key."""

    key: str
    version: int
    status: str  # set, or removed
    value: Any
    set_by: str
    candidate_id: UUID | None  # the candidate that set it; None: a person did
    reason: str
    set_at: datetime


def value(tx: Transaction, key: str, default: Any = None) -> Any:
    """What a key is now; the default, if it is not set."""
    with tx.cursor() as cursor:
        row = cursor.execute(Q["now_text"], {"key": key}).fetchone()
    return default if row is None or row[0] is None else json.loads(row[0])


def keys(tx: Transaction, *, limit: int = 100, after: str | None = None) -> Sequence[Version]:
    """Every key as it is now, by name; also those that were removed."""
    with tx.cursor(row_factory=class_row(Version)) as cursor:
        return cursor.execute(Q["keys"], {"limit": limit, "after": after}).fetchall()


def versions(tx: Transaction, key: str, *, limit: int = 100) -> Sequence[Version]:
    """The versions of a key, newest first."""
    with tx.cursor(row_factory=class_row(Version)) as cursor:
        found = cursor.execute(Q["versions"], {"key": key, "limit": limit}).fetchall()
    if not found:
        raise InputRefused("key_unknown", f"There is no key {key[:100]!r}.", "List them: recoup recovery config list")
    return found


def put(tx: Transaction, key: str, value: Any) -> int:
    """Set a key, as an operator; the reason is that of the transaction. Returns its version."""
    if not KEY.fullmatch(key):
        raise InputRefused(
            "key_unusable", f"{key[:100]!r} is not a usable key.", "Write it like this: vendor.batch_size"
        )
    text = usable_json(value)
    if text is None:
        raise InputRefused(
            "value_unusable",
            "The value is not JSON, is too long, or holds a NUL.",
            f"Give what JSON has, and at most {MAX_USABLE:,} characters.",
        )
    require_no_secret(key, value)
    (made,) = tx.execute(Q["put"], {"key": key, "value": text}).fetchone() or (0,)
    return int(made)
