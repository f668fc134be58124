"""Escalation: parked errors rise from tier to tier while nobody acts, and each tier has a time to review them."""

from typing import NamedTuple

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.worker.duty import seconds

Q = load("recoup.errors", "escalation.sql")


class Raised(NamedTuple):
    """How many reviews were found overdue, and how many errors were raised to another tier."""

    breached: int
    raised: int


def raise_tiers(tx: Transaction, *, limit: int = 1000, only: int | None = None) -> Raised:
    """Mark overdue reviews, and raise parked errors to the tier that is due. Call again until nothing is left."""
    return Raised._make(tx.execute(Q["raise_tiers"], {"limit": limit, "only": only}).fetchone() or (0, 0))


def due(tx: Transaction, *, limit: int = 1000) -> list[int]:
    """Errors whose tier is due, or whose review is overdue, longest first."""
    return [row[0] for row in tx.execute(Q["due"], {"limit": limit})]


def lag(tx: Transaction) -> float | None:
    """Seconds since the first of them was due; None: there is none."""
    return seconds(tx, Q["lag"])
