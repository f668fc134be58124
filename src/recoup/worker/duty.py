"""What a duty is: something that workers do by themselves.

A duty does one bounded batch per call, in one transaction under its own authority, and says how many units it did; or,
where it waits for the world, it flows through many. Duties are safe to run from any number of workers at once: each
takes what nobody else holds.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.settings import Settings

MAX_BATCH = 1000


class Context(Protocol):
    """Whoever does work that waits for the world between its transactions: a worker at a duty, or a person."""

    name: str

    @property
    def settings(self) -> Settings: ...

    @property
    def policy(self) -> Policy: ...

    def transaction(self) -> AbstractContextManager[Transaction]: ...

    def may_claim(self, tx: Transaction) -> bool:
        """Whether to take on more: not while paused, and not when told to stop."""

    def tally(self, tx: Transaction, done: int) -> None:
        """Count what this transaction did, in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """One thing that workers do by themselves."""

    name: str
    authority: Authority
    cadence_s: float  # looks at least so often; sooner when it is woken
    description: str
    lag: Callable[[Transaction], float | None]  # seconds for which the oldest unit has been waiting; None: none waits
    # One of the two; both return how many units they did. A batch is one transaction. A flow waits for the world
    # between its transactions, and goes on until nothing is left.
    batch: Callable[[Transaction, Policy], int] | None = None
    flow: Callable[[Context], int] | None = None
    # For a batch that was refused as a whole: its units, and one of them alone, so that one bad row stops only itself.
    units: Callable[[Transaction], Sequence[Any]] | None = None
    one: Callable[[Transaction, Any], int] | None = None
    note: Callable[[Transaction], str | None] | None = None  # what keeps it from doing its work, if anything


def seconds(tx: Transaction, query: Any, parameters: Any = None) -> float | None:
    """The one number that a query for a lag gives, if it gives one."""
    row = tx.execute(query, parameters).fetchone()
    return None if row is None or row[0] is None else float(row[0])
