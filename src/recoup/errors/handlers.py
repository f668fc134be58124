"""Which handler retries the errors of which table, and where it is named.

A handler is a function that takes the claimed error. It is named in the project file, under ``[handlers]``, or by an
installed package, as an entry point of the group ``recoup.error_handlers``; the project file comes first.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

from recoup import observe
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.retrying import Claimed
from recoup.project import refuse_if_of_others
from recoup.redaction import in_words
from recoup.refusals import Refusal
from recoup.settings import Settings

Q = load("recoup.errors", "retrying.sql")
GROUP = "recoup.error_handlers"
MAX_COUNTED = 10_000  # due retries: more are not counted one by one
Function = Callable[[Claimed], object]


class Handler(NamedTuple):
    """A handler of one table."""

    table: str
    name: str  # module:function
    source: str  # who names it: a project file, a package, the program itself
    function: Function | None  # None: it cannot be used
    problem: str | None = None  # why not


class DueTable(NamedTuple):
    """A table with due retries."""

    table: str
    due: int  # at most MAX_COUNTED


def find(settings: Settings) -> tuple[Handler, ...]:
    """The handlers that the settings and the installed packages name. One that cannot be used says why."""
    return _find(tuple(sorted(settings.handlers.items())), settings.project)


def functions(found: Iterable[Handler]) -> dict[str, Function]:
    """What to call for which table."""
    return {one.table: one.function for one in found if one.function is not None}


def given(handlers: Mapping[str, Function]) -> tuple[Handler, ...]:
    """Handlers that a program passes itself."""
    return tuple(Handler(table, _name(one), "this program", _callable(one)) for table, one in handlers.items())


def due(tx: Transaction) -> list[DueTable]:
    """Tables with due retries that nobody has claimed, and how many; the longest due are counted."""
    return [DueTable(*row) for row in tx.execute(Q["due_by_table"], {"limit": MAX_COUNTED})]


def unserved(tx: Transaction, found: Iterable[Handler]) -> list[DueTable]:
    """Tables with due retries that none of these handlers serves."""
    served = functions(found)
    return [one for one in due(tx) if one.table not in served]


def counted(tables: Iterable[DueTable]) -> str:
    """Tables with their due retries, in words."""
    many = {one: f"{'at least ' if one.due >= MAX_COUNTED else ''}{one.due:,}" for one in tables}
    return ", ".join(f"{one.table} ({number} due)" for one, number in many.items())


@lru_cache(maxsize=8)  # importing has effects, and is tried once
def _find(named: tuple[tuple[str, str], ...], project: Path | None) -> tuple[Handler, ...]:
    found = {table: _imported(table, name, project) for table, name in named if project is not None}
    for point in entry_points(group=GROUP):
        package = f"package {point.dist.name}" if point.dist is not None else "an installed package"
        found.setdefault(point.name, _loaded(point.name, point.value, package, point.load))
    for one in found.values():
        if one.problem is not None:
            observe.logger().error(
                "handler cannot be loaded", table=one.table, handler=one.name, source=one.source, failure=one.problem
            )
    return tuple(found.values())


def _imported(table: str, name: str, project: Path) -> Handler:
    module, _, path = name.partition(":")

    def load_function() -> object:
        # Modules are imported from this folder: a user who can write there could run anything.
        refuse_if_of_others(project.parent, os.stat(project.parent))
        if str(project.parent) not in sys.path:
            sys.path.insert(0, str(project.parent))
        found: object = importlib.import_module(module)
        for attribute in path.split("."):
            found = getattr(found, attribute)
        return found

    return _loaded(table, name, str(project), load_function)


def _loaded(table: str, name: str, source: str, load_function: Callable[[], object]) -> Handler:
    try:
        return Handler(table, name, source, _callable(load_function()))
    except Refusal as refusal:
        return Handler(table, name, source, None, f"{refusal.happened} {refusal.next_step}")
    except Exception as error:  # noqa: BLE001 - whatever its import raises, others work
        return Handler(table, name, source, None, f"{type(error).__name__}: {in_words(error)}")


def _callable(loaded: object) -> Function:
    if not callable(loaded):
        raise TypeError(f"a handler is a function of the claimed error, and this is of type {type(loaded).__name__}")
    return loaded


def _name(function: Function) -> str:
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__name__)}"
