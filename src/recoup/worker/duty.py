"""What a duty is: a background task that workers run.

A duty does one bounded batch per call, in one transaction under its own authority, and returns how many units it did;
or, where it waits for other systems, it opens many transactions. Duties are safe to run from any number of workers at
once: each takes only what nobody else has claimed.
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
    """Who does work that waits for other systems between its transactions: a worker with a duty, or a person."""

    name: str

    @property
    def settings(self) -> Settings: ...

    @property
    def conninfo(self) -> str:
        """Of the database, for work in other processes."""

    @property
    def policy(self) -> Policy: ...

    def transaction(self) -> AbstractContextManager[Transaction]: ...

    def may_claim(self, tx: Transaction) -> bool:
        """Whether to claim more: not while paused, and not while stopping."""

    def tally(self, tx: Transaction, done: int) -> None:
        """Count what this transaction did, within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """One background task."""

    name: str
    authority: Authority
    cadence_s: float  # polls at least this often; sooner when it is woken
    description: str
    lag: Callable[[Transaction], float | None]  # seconds that the oldest unit has been waiting; None: none waits
    # One of the two; both return how many units they did. A batch is one transaction. A flow waits for other systems
    # between its transactions, and continues until nothing is left.
    batch: Callable[[Transaction, Policy], int] | None = None
    flow: Callable[[Context], int] | None = None
    # For a batch that was refused as a whole: its units, and one of them alone, so that one bad row stops only itself.
    units: Callable[[Transaction], Sequence[Any]] | None = None
    one: Callable[[Transaction, Any], int] | None = None
    serves: str | None = None  # the table whose operations with a canary it continues
    note: Callable[[Transaction], str | None] | None = None  # what keeps it from doing its work, if anything


def seconds(tx: Transaction, query: Any, parameters: Any = None) -> float | None:
    """The number that a query for a lag returns, if it returns one."""
    row = tx.execute(query, parameters).fetchone()
    return None if row is None or row[0] is None else float(row[0])
