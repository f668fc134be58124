"""The promotion gate: may this entity move on? If not, which errors block it, since when, and who owns them.

``is_blocked`` and ``blocking`` show the present. A promotion asks with the lock (``blocked_locking``), in the
transaction that promotes: then no error of the entity can be recorded in between.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID
from weakref import ref

from psycopg.pq import TransactionStatus

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.database.tracked import TrackedConnection
from recoup.errors.vocabulary import ErrorStatus, ParkReason

Q = load("recoup.errors", "promotion.sql")
# Connections of callers that asked with the lock, in this thread or task, and the server process of each.
PROMOTING: ContextVar[tuple[tuple[ref[Any], int], ...]] = ContextVar("promoting", default=())


class Blocking(NamedTuple):
    """An error that blocks its entity. ``owner``: who it is assigned or escalated to, or the owner of its table."""

    outreach_id: UUID
    error_table: str
    error_id: int
    error_code: str | None
    error_message: str
    status: ErrorStatus
    since: datetime  # when it first failed
    park_reason: ParkReason | str | None
    next_retry_at: datetime | None
    owner: str | None


def is_blocked(tx: Transaction, entity: UUID) -> bool:
    """Whether an open error blocks this entity now."""
    (blocked,) = tx.execute(Q["is_blocked"], {"entity": entity}).fetchone() or (False,)
    return bool(blocked)


def blocking(tx: Transaction, entities: Sequence[UUID], *, limit: int | None = None) -> list[Blocking]:
    """Errors that block these entities, by entity, oldest first: all of them, or the first ``limit``."""
    rows = tx.execute(Q["blocking"], {"entities": list(entities), "limit": limit})
    return [found._replace(status=ErrorStatus(found.status)) for found in map(Blocking._make, rows)]


def blocking_owners(tx: Transaction, entities: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
    """Which of these entities are blocked, and the owners of the tables that block each.

    It is all that a transaction of a hub learns about the errors of others.
    """
    return {entity: tuple(owners) for entity, owners in tx.execute(Q["blocking_owners"], {"entities": list(entities)})}


def count_blocking(tx: Transaction, entities: Sequence[UUID]) -> int:
    """How many errors block these entities."""
    (count,) = tx.execute(Q["count_blocking"], {"entities": list(entities)}).fetchone() or (0,)
    return int(count)


def blocked_locking(tx: Transaction, entities: Sequence[UUID]) -> set[UUID]:
    """Which of these entities are blocked. Until this transaction ends, no error of any of them can be recorded."""
    blocked, pid = tx.execute(Q["blocked_locking"], {"entities": list(entities)}).fetchone() or ((), 0)
    if isinstance(tx, TrackedConnection):
        tx.server_pid = pid
    else:
        _remember(getattr(tx, "async_connection", tx), pid)
    return set(blocked)


def promoting_here() -> set[int]:
    """Server processes of callers' transactions around this code that asked with the lock."""
    return {pid for one, pid in PROMOTING.get() if _is_open(one())}


def _remember(connection: Any, pid: int) -> None:
    others = [(one, other) for one, other in PROMOTING.get() if one() is not connection and _is_open(one())]
    PROMOTING.set((*others, (ref(connection), pid)))


def _is_open(connection: Any) -> bool:
    return (
        connection is not None
        and not connection.closed
        and connection.pgconn.transaction_status != TransactionStatus.IDLE
    )
