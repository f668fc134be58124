"""Functions of yours that Recoup calls: named in the project file, or by an installed package as an entry point.

The project file comes first. A function that cannot be used says why, and the others work.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from recoup import observe
from recoup.project import refuse_if_of_others
from recoup.redaction import in_words
from recoup.refusals import Refusal

Usable = TypeVar("Usable")


class OwnFunction(NamedTuple):
    """A function of yours, and what it serves."""

    serves: str  # an error table, or an action
    name: str  # module:function
    source: str  # who names it: a project file, a package, the program itself
    function: Any  # None: it cannot be used
    problem: str | None = None  # why not


@dataclass(frozen=True)
class Role(Generic[Usable]):
    """What functions are called for, and how they are named."""

    word: str  # what such a function is called in logs
    serves: str  # what it serves, in logs
    group: str  # of entry points
    checked: Callable[[object], Usable]  # what was loaded as what is called; or it raises

    def find(self, named: Mapping[str, str], project: Path | None) -> tuple[OwnFunction, ...]:
        """The functions that a project file and the installed packages name. One that cannot be used says why."""
        return _find(self, tuple(sorted(named.items())), project)

    def named(self, name: str, project: Path | None) -> OwnFunction:
        """A function that the policy names: module:function, from the folder of the project file first; or the name of
        an entry point. One that cannot be used says why."""
        return _named(self, name, project)

    def given(self, functions: Mapping[str, object]) -> tuple[OwnFunction, ...]:
        """Functions that a program passes itself."""
        return tuple(
            OwnFunction(serves, _name(one), "this program", self.checked(one)) for serves, one in functions.items()
        )

    def usable(self, found: Iterable[OwnFunction]) -> dict[str, Usable]:
        """What to call, by what it serves."""
        return {one.serves: one.function for one in found if one.function is not None}

    def loaded(self, serves: str, name: str, source: str, load: Callable[[], object]) -> OwnFunction:
        """A function as it was loaded, or why it cannot be used."""
        try:
            return OwnFunction(serves, name, source, self.checked(load()))
        except Refusal as refusal:
            return OwnFunction(serves, name, source, None, f"{refusal.happened} {refusal.next_step}")
        except Exception as error:  # noqa: BLE001 - whatever its import raises, others work
            return OwnFunction(serves, name, source, None, f"{type(error).__name__}: {in_words(error)}")


@lru_cache(maxsize=16)  # importing has effects, and is tried once
def _find(role: Role[Any], named: tuple[tuple[str, str], ...], project: Path | None) -> tuple[OwnFunction, ...]:
    found: dict[str, OwnFunction] = {}
    if project is not None:
        for serves, name in named:
            found[serves] = role.loaded(serves, name, str(project), partial(_imported, name, project))
    for point in entry_points(group=role.group):
        package = f"package {point.dist.name}" if point.dist is not None else "an installed package"
        if point.name not in found:
            found[point.name] = role.loaded(point.name, point.value, package, point.load)
    for one in found.values():
        if one.problem is not None:
            observe.logger().error(
                f"{role.word} cannot be loaded",
                source=one.source, failure=one.problem, **{role.serves: one.serves, role.word: one.name},
            )  # fmt: skip
    return tuple(found.values())


@lru_cache(maxsize=10_000)
def _named(role: Role[Any], name: str, project: Path | None) -> OwnFunction:
    if ":" in name:
        return role.loaded(name, name, "the policy", partial(_imported, name, project))
    for point in entry_points(group=role.group):
        if point.name == name:
            package = f"package {point.dist.name}" if point.dist is not None else "an installed package"
            return role.loaded(name, point.value, package, point.load)
    return OwnFunction(
        name, name, "the policy", None, f"no installed package has an entry point {name!r} in {role.group}"
    )


def _imported(name: str, project: Path | None) -> object:
    if project is not None:
        # Modules are imported from this folder: a user who can write there could run anything.
        refuse_if_of_others(project.parent, os.stat(project.parent))
        if str(project.parent) not in sys.path:
            sys.path.insert(0, str(project.parent))
    module, _, path = name.partition(":")
    found: object = importlib.import_module(module)
    for attribute in path.split("."):
        found = getattr(found, attribute)
    return found


def _name(function: object) -> str:
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__name__)}"
