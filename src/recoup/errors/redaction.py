"""Secrets are not recorded: what stands under a telling key, and passwords in URLs, are replaced before storing.

Whatever failed, its failure is recorded: so nothing here raises, and nothing takes for ever, whatever a payload holds.
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

REDACTED = "[redacted]"
DEPTH_MOST = 50  # what lies deeper is left out: nobody reads it, and a recursion without end would end us
VALUES_MOST = 100_000  # of one payload; the rest is left out. What contains itself has no end
DIGITS_MOST = 1_000  # a longer number is told by its length
_KEY_MOST = 200  # characters of a key that is remembered …
_KEYS_MOST = 10_000  # … and how many of them are
# Up to the last @ before a space: a password may hold one, and a slash.
_URL_PASSWORD = re.compile(r"(://[^\s/@:]{0,200}:)[^\s\"'<>]{1,1000}@")


def redacted(payload: Any, keys: Sequence[str]) -> Any:
    """A payload as JSON can hold it, without the values of keys that have one of these in their name."""
    return _Walk(_telling(tuple(keys))).value(payload, DEPTH_MOST)


def without_passwords(text: str) -> str:
    """A text without the passwords of the URLs in it."""
    return _URL_PASSWORD.sub(rf"\1{REDACTED}@", text) if "://" in text and "@" in text else text


def in_words(value: object) -> str:
    """Whatever it is, as a text that the database can keep."""
    try:
        text = value if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 - whatever its author made of it
        return f"[{type(value).__name__} that cannot be printed]"
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return without_passwords(text if text.isascii() else text.encode("utf-8", "replace").decode())


def tells(key: str, keys: Sequence[str]) -> bool:
    """Whether a key has one of these in its name, whatever its spelling."""
    return _telling(tuple(keys))[key]


class _Telling(dict[str, bool]):
    """Whether a key tells a secret, by name. Payloads have the same few keys again and again."""

    def __init__(self, parts: Sequence[str]) -> None:
        self.parts = [_plain(part) for part in parts]

    def __missing__(self, key: str) -> bool:
        plain = _plain(key)
        found = any(part in plain for part in self.parts)
        if len(key) <= _KEY_MOST:
            if len(self) >= _KEYS_MOST:
                self.clear()
            self[key] = found
        return found


_telling = lru_cache(maxsize=20)(_Telling)


class _Walk:
    """One walk through a payload, which ends."""

    def __init__(self, telling: _Telling) -> None:
        self.telling = telling
        self.left = VALUES_MOST

    def value(self, value: Any, depth: int) -> Any:
        self.left -= 1
        if depth == 0 or self.left < 0:
            return "[too deep]" if depth == 0 else "[too much]"
        if isinstance(value, str):
            return in_words(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Mapping):
            return self.mapping(value, depth)
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(one, depth - 1) for one in list(value)[: max(self.left, 0) + 1]]
        return _number(value) if isinstance(value, int | float) else in_words(value)

    def mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for key, one in value.items():
            name = in_words(key)
            plain[name] = REDACTED if self.telling[name] else self.value(one, depth - 1)
            if self.left < 0:
                break
        return plain


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    bits = int(value).bit_length()
    return int(value) if bits <= DIGITS_MOST * 3 else f"[a number of {bits} bits]"


def _plain(key: str) -> str:
    """X-Api-Key, apiKey and API_KEY are one word."""
    return re.sub(r"[^a-z0-9]", "", key.lower())
