"""What the doctor found out about one thing, and how a check of a domain reads the database."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from recoup.database.connection import Transaction
from recoup.database.pinned import pin
from recoup.database.tracked import Row
from recoup.lifecycles.declaration import Authority


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check: ok, warning or error; what was found, and what to do about it."""

    check: str
    verdict: str  # ok, warning, error
    found: str
    next_step: str = ""


Parameters = Mapping[str, object] | tuple[object, ...] | None
Check = Callable[[Transaction], Iterator[CheckResult]]


def judged(check: str, ok: str, wrong: str | None, next_step: str, *, verdict: str = "error") -> CheckResult:
    """The problem and what to do about it; or, without one, that all is ok."""
    if wrong is None:
        return CheckResult(check=check, verdict="ok", found=ok)
    return CheckResult(check=check, verdict=verdict, found=wrong, next_step=next_step)


def read(
    connection: Transaction, query: str, parameters: Mapping[str, object] | tuple[object, ...] | None = None
) -> list[Row]:
    """Rows as the reader sees them."""
    with connection.transaction(force_rollback=True):
        pin(connection)
        connection.execute("select set_config('role', %s, true)", (Authority.READER.role,))
        return connection.execute(query.encode(), parameters).fetchall()
