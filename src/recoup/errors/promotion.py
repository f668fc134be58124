"""The promotion gate: may this entity move on? And if not: what keeps it, since when, and whose it is.

A look tells how things stand. Whoever promotes asks with the lock, in the transaction that promotes: no error of the
entity can then slip in between.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.database.tracked import TrackedConnection
from recoup.errors.vocabulary import ErrorStatus, ParkReason

Q = load("recoup.errors", "promotion.sql")


class Blocking(NamedTuple):
    """An error that keeps its entity from moving on."""

    outreach_id: UUID
    error_table: str
    error_id: int
    error_code: str | None
    error_message: str
    status: ErrorStatus
    since: datetime  # when it first failed
    park_reason: ParkReason | str | None
    next_retry_at: datetime | None
    owner: str | None  # to whom it is assigned or escalated, or who answers for its table


def is_blocked(tx: Transaction, entity: UUID) -> bool:
    """Whether an error keeps this entity from moving on, as things stand."""
    (blocked,) = tx.execute(Q["is_blocked"], {"entity": entity}).fetchone() or (False,)
    return bool(blocked)


def blocking(tx: Transaction, entities: Sequence[UUID], *, limit: int | None = None) -> list[Blocking]:
    """Errors that keep one of these entities, by entity, oldest first: all of them, or so many."""
    rows = tx.execute(Q["blocking"], {"entities": list(entities), "limit": limit})
    return [found._replace(status=ErrorStatus(found.status)) for found in map(Blocking._make, rows)]


def count_blocking(tx: Transaction, entities: Sequence[UUID]) -> int:
    """How many errors keep these entities."""
    (count,) = tx.execute(Q["count_blocking"], {"entities": list(entities)}).fetchone() or (0,)
    return int(count)


def blocked_locking(tx: Transaction, entities: Sequence[UUID]) -> set[UUID]:
    """Those of the entities that may not move on. Errors of all of them wait until this transaction is over."""
    blocked, pid = tx.execute(Q["blocked_locking"], {"entities": list(entities)}).fetchone() or ((), None)
    if isinstance(tx, TrackedConnection):
        tx.server_pid = pid
    return set(blocked)
