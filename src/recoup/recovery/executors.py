"""Which function executes which action outside of this database, and where it is named.

An executor is named in the project file, under ``[actions]``, or by an installed package, as an entry point of the
group ``recoup.actions``; the project file comes first.
"""

from collections.abc import Iterable, Mapping

from recoup.own_functions import OwnFunction, Role
from recoup.recovery.executing import Executor, Executors, Function
from recoup.settings import Settings


def _executor(loaded: object) -> Executor:
    if isinstance(loaded, Executor):
        return loaded
    if not callable(loaded):
        raise TypeError(f"an executor is a function, and this is of type {type(loaded).__name__}")
    return Executor(loaded)


ACTIONS = Role(word="executor", serves="action", group="recoup.actions", checked=_executor)


def find(settings: Settings) -> tuple[OwnFunction, ...]:
    """The executors that the settings and the installed packages name. One that cannot be used says why."""
    return ACTIONS.find(settings.actions, settings.project)


def executors(found: Iterable[OwnFunction]) -> Executors:
    """What to call for which action."""
    return ACTIONS.usable(found)


def given(actions: Mapping[str, Executor | Function]) -> tuple[OwnFunction, ...]:
    """Executors that a program passes itself."""
    return ACTIONS.given(actions)
