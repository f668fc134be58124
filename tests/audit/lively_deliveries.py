"""Deliveries of every kind in one database, by the product's own verbs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from recoup import clock, deliveries
from recoup.database.connection import Database
from recoup.deliveries import delivering
from recoup.deliveries.delivering import Claimed
from recoup.lifecycles.declaration import Authority

LAST = 12  # tries of the shipped route


@dataclass(frozen=True)
class DeliveryCast:
    """Deliveries that became something. One of each, for tests that break something of a kind."""

    notice_delivered: UUID  # at the second try
    notice_dead: UUID  # after its last try
    notice_cancelled: UUID
    notice_waiting: UUID  # after a failed try
    notice_tried: UUID  # under a lease
    notice_new: UUID


def play_deliveries(database: Database) -> DeliveryCast:
    """Delivered, given up, cancelled, waiting, under way, and one whose result came late."""
    delivered, dead = (_sent(database, name) for name in ("delivered", "dead"))
    for number in range(LAST):
        for one in _claimed(database):
            _ended(database, one, None if one.delivery_id == delivered and number == 1 else "HTTP 500")
        _advance(database, hours=1)
    cancelled, late = _sent(database, "cancelled"), _sent(database, "late")
    found = _claimed(database)
    with database.transaction(Authority.OPERATOR, reason="not needed") as tx:
        deliveries.cancel(tx, cancelled)
    _advance(database, minutes=3)
    with database.transaction(Authority.EXECUTOR) as tx:
        delivering.QUEUE.expire(tx)
    for one in found:
        _ended(database, one, None)
    with database.transaction(Authority.OPERATOR) as tx:
        deliveries.cancel(tx, late)
    waiting = _sent(database, "waiting")
    (claimed,) = _claimed(database)
    _ended(database, claimed, "HTTP 503")
    tried = _sent(database, "tried")
    _claimed(database)
    return DeliveryCast(
        notice_delivered=delivered, notice_dead=dead, notice_cancelled=cancelled, notice_waiting=waiting,
        notice_tried=tried, notice_new=_sent(database, "new"),
    )  # fmt: skip


def _sent(database: Database, subject: str) -> UUID:
    with database.transaction(Authority.OPERATOR) as tx:
        return deliveries.send(tx, "log", subject, {"n": 1}, about="INC-1")


def _claimed(database: Database) -> list[Claimed]:
    with database.transaction(Authority.EXECUTOR) as tx:
        return delivering.claim(tx, limit=100, worker="postman")


def _ended(database: Database, claimed: Claimed, failure: str | None) -> None:
    with database.transaction(Authority.EXECUTOR) as tx:
        delivering.finish(tx, [(claimed, failure)])


def _advance(database: Database, **by: int) -> None:
    with database.transaction(Authority.OPERATOR) as tx:
        clock.advance(tx, timedelta(**by))
