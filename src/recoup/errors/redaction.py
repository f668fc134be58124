"""Secrets are not recorded: what stands under a telling key is replaced before a payload is stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

REDACTED = "[redacted]"
DEPTH_MOST = 50  # what lies deeper is left out: nobody reads it, and a recursion without end would end us
_KEY_MOST = 200  # characters of a key that is remembered; payloads have the same few keys again and again


def redacted(payload: Any, keys: Sequence[str]) -> Any:
    """A payload without the values of keys that have one of these in their name, whatever their spelling."""
    return _redacted(payload, tuple(keys), DEPTH_MOST)


def _redacted(value: Any, telling: tuple[str, ...], depth: int) -> Any:
    if depth == 0:
        return "[too deep]"
    if isinstance(value, Mapping):
        return {
            str(key): REDACTED if tells(str(key), telling) else _redacted(one, telling, depth - 1)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(one, telling, depth - 1) for one in value]
    return value


def tells(key: str, keys: Sequence[str]) -> bool:
    """Whether a key has one of these in its name, whatever its spelling."""
    telling = tuple(keys)
    return _remembered(key, telling) if len(key) <= _KEY_MOST else _is_telling(key, telling)


def _is_telling(key: str, telling: tuple[str, ...]) -> bool:
    plain = _plain(key)
    return any(_plain(part) in plain for part in telling)


_remembered = lru_cache(maxsize=10_000)(_is_telling)


def _plain(key: str) -> str:
    """X-Api-Key, apiKey and API_KEY are one word."""
    return re.sub(r"[^a-z0-9]", "", key.lower())
