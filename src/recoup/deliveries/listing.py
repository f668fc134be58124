"""Reading deliveries. Changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.refusals import InputRefused

Q = load("recoup.deliveries", "deliveries.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A delivery as a list shows it."""

    delivery_id: UUID
    route: str
    subject: str
    about: str | None
    origin: str
    candidate_id: UUID | None
    status: str
    attempts: int
    next_try_at: datetime | None  # None: it has ended
    outcome: str | None
    last_failure: str | None
    dedup_key: str
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    policy_version: int
    claimed_by: str | None

    def __post_init__(self) -> None:
        if self.ended_at is not None:
            object.__setattr__(self, "next_try_at", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One step of a delivery."""

    logged_at: datetime
    from_status: str | None
    to_status: str
    attempts: int
    outcome: str | None
    reason: str | None
    actor_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One delivery in full."""

    delivery: Delivery
    body: Any
    events: Sequence[Event]


def deliveries(
    tx: Transaction,
    *,
    statuses: Sequence[str] = (),
    route: str | None = None,
    about: str | None = None,
    limit: int = 100,
    after: UUID | None = None,
) -> list[Delivery]:
    """Deliveries, newest first; older than ``after``, if it is given."""
    given = {"statuses": list(statuses) or None, "route": route, "about": about, "limit": limit, "after": after}
    with tx.cursor(row_factory=class_row(Delivery)) as cursor:
        return cursor.execute(Q["list_deliveries"], given, prepare=False).fetchall()


def show(tx: Transaction, delivery_id: UUID) -> Shown:
    """One delivery, with its body and every step."""
    with tx.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(Q["show_delivery"], {"delivery_id": delivery_id}).fetchone()
    if row is None:
        raise unknown(delivery_id)
    with tx.cursor(row_factory=class_row(Event)) as cursor:
        events = cursor.execute(Q["events"], {"delivery_id": delivery_id}).fetchall()
    body = row.pop("body")
    return Shown(delivery=Delivery(**row), body=body, events=events)


def unknown(delivery_id: UUID) -> InputRefused:
    """There is no such delivery."""
    return InputRefused("delivery_unknown", f"There is no delivery {delivery_id}.", "List them: recoup deliveries list")
