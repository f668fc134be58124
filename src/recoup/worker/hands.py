"""Whoever does work that waits for the world between its transactions: a worker at a duty, or a person."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from recoup.database.connection import Transaction
from recoup.policy import Policy


class Hands(Protocol):
    """Takes its transactions as it needs them, and tallies what each did."""

    name: str

    @property
    def policy(self) -> Policy: ...

    def transaction(self) -> AbstractContextManager[Transaction]: ...

    def may_claim(self, tx: Transaction) -> bool:
        """Whether to take on more: not while paused, and not when told to stop."""

    def tally(self, tx: Transaction, done: int) -> None:
        """Count what this transaction did, in it."""
