"""The difference of two policies as lines: what is gone and what came, each with its sign."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

GONE, CAME = "\N{MINUS SIGN}", "+"


def lines(changes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """A sign and a text for each value before and after; of a list of rules only for those that differ."""
    for change in changes:
        given = change if isinstance(change, Mapping) else vars_of(change)
        before, after = _items(given["before"]), _items(given["after"])
        if gone_or_came := set(before) ^ set(after):
            before, after = ([one for one in side if one in gone_or_came] for side in (before, after))
        yield from ((GONE, f"{given['key']} = {one}") for one in before)
        yield from ((CAME, f"{given['key']} = {one}") for one in after)


def vars_of(change: Any) -> Mapping[str, Any]:
    return {name: getattr(change, name) for name in ("key", "before", "after")}


def _items(value: Any) -> list[str]:
    """A value as text; a list of rules as one text each; none: nothing is there."""
    if value is None:
        return []
    if isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        return [_text(one) for one in value]
    return [_text(value)]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
