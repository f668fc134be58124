"""Which handler retries the errors of which table, and where it is named.

A handler is a function that takes the claimed error. It is named in the project file, under ``[handlers]``, or by an
installed package, as an entry point of the group ``recoup.error_handlers``; the project file comes first.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.retrying import Claimed
from recoup.own_functions import OwnFunction, Role
from recoup.settings import Settings

Q = load("recoup.errors", "retrying.sql")
MAX_COUNTED = 10_000  # due retries: more are not counted one by one
Function = Callable[[Claimed], object]


def _callable(loaded: object) -> Function:
    if not callable(loaded):
        raise TypeError(f"a handler is a function of the claimed error, and this is of type {type(loaded).__name__}")
    return loaded


HANDLERS = Role(word="handler", serves="table", group="recoup.error_handlers", checked=_callable)


class DueTable(NamedTuple):
    """A table with due retries."""

    table: str
    due: int  # at most MAX_COUNTED


def find(settings: Settings) -> tuple[OwnFunction, ...]:
    """The handlers that the settings and the installed packages name. One that cannot be used says why."""
    return HANDLERS.find(settings.handlers, settings.project)


def functions(found: Iterable[OwnFunction]) -> dict[str, Function]:
    """What to call for which table."""
    return HANDLERS.usable(found)


def given(handlers: Mapping[str, Function]) -> tuple[OwnFunction, ...]:
    """Handlers that a program passes itself."""
    return HANDLERS.given(handlers)


def due(tx: Transaction) -> list[DueTable]:
    """Tables with due retries that nobody has claimed, and how many; the longest due are counted."""
    return [DueTable(*row) for row in tx.execute(Q["due_by_table"], {"limit": MAX_COUNTED})]


def unserved(tx: Transaction, found: Iterable[OwnFunction]) -> list[DueTable]:
    """Tables with due retries that none of these handlers serves."""
    served = functions(found)
    return [one for one in due(tx) if one.table not in served]


def counted(tables: Iterable[DueTable]) -> str:
    """Tables with their due retries, in words."""
    many = {one: f"{'at least ' if one.due >= MAX_COUNTED else ''}{one.due:,}" for one in tables}
    return ", ".join(f"{one.table} ({number} due)" for one, number in many.items())
