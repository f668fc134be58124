"""Convert values of any class to plain ones: for payloads that cannot be read in the usual way.

For example a row of an ORM whose session is closed, a mapping that raises, or a subclass of str with methods of its
own. What can be read is kept; the rest is replaced by a note.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from recoup.redaction.payloads import MAX_DEPTH, MAX_VALUES

# Methods of the built-in type: a subclass may have overridden them.
_BUILT_IN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__), (bool, bool), (int, int.__index__), (float, float.__float__)
)  # fmt: skip
_ITEMS: tuple[tuple[type, Callable[[Any], Iterable[Any]]], ...] = (
    (list, list.__iter__), (tuple, tuple.__iter__), (set, set.__iter__), (frozenset, frozenset.__iter__)
)  # fmt: skip


def plain(value: object) -> Any:
    """The same value made of dicts, lists, texts and numbers. Never raises."""
    return _Walk().value(value, MAX_DEPTH)


class _Walk:
    """One conversion, of a bounded number of values."""

    def __init__(self) -> None:
        self.left = MAX_VALUES

    def value(self, value: object, depth: int) -> Any:
        self.left -= 1
        if depth == 0 or self.left < 0:
            return "[too deep]" if depth == 0 else "[too much]"
        try:
            return self._value(value, depth)
        except Exception:  # noqa: BLE001 - a class of the caller's may raise anything
            return f"[{type(value).__name__} that cannot be read]"

    def _value(self, value: Any, depth: int) -> Any:
        kinds = type(value).__mro__
        for kind, of in _BUILT_IN:
            if kind in kinds:
                return of(value)
        for kind, each in _ITEMS:
            if kind in kinds:
                return [self.value(one, depth - 1) for one in islice(each(value), max(self.left, 0) + 1)]
        if dict in kinds or isinstance(value, Mapping):
            items = dict.items(value) if dict in kinds else value.items()
            pairs = islice(items, max(self.left, 0) + 1)
            return {str(self.value(key, 2)): self.value(one, depth - 1) for key, one in pairs}
        return value if value is None else str.__str__(str(value))
