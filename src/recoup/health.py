"""What the doctor says of one thing, and how a check of a domain reads the database."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from recoup.database.connection import Transaction
from recoup.database.pinned import pin
from recoup.database.tracked import Row
from recoup.lifecycles.declaration import Authority


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check: well, worth a look, or broken; and what to do about it."""

    check: str
    verdict: str  # well, look, broken
    found: str
    next_step: str = ""


Check = Callable[[Transaction], Iterator[Finding]]


def judged(check: str, well: str, wrong: str | None, next_step: str, *, verdict: str = "broken") -> Finding:
    """What was found wrong and what to do about it; or that all is well."""
    if wrong is None:
        return Finding(check=check, verdict="well", found=well)
    return Finding(check=check, verdict=verdict, found=wrong, next_step=next_step)


def read(connection: Transaction, query: str, parameters: tuple[object, ...] | None = None) -> list[Row]:
    """Rows as the reader sees them."""
    with connection.transaction(force_rollback=True):
        pin(connection)
        connection.execute("select set_config('role', %s, true)", (Authority.READER.role,))
        return connection.execute(query.encode(), parameters).fetchall()
