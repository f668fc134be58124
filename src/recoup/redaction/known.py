"""What counts as a secret, from secrets.toml: names, tokens by prefix, and patterns; compiled once.

A token is a prefix and a minimum number of characters of a kind: however long the text, a failed match reads no more
than that. Tests check the same for the other patterns.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

MAX_KEY = 200  # characters of a name that is remembered …
MAX_KEYS = 10_000  # … and how many of them are
BOUNDARY = "(?<![A-Za-z0-9_])"  # where a token may begin
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


class Hint(IntEnum):
    """What a name implies about its value."""

    NOTHING = 0
    TEXT = 1  # a secret, unless it is a number
    ALL = 2  # a secret, whatever it is
    NAME = 3  # its value is the name of another value: {"name": "Authorization", "value": …}
    VALUE = 4  # that other value


class Form(NamedTuple):
    """A pattern, whose group ``secret`` is what is replaced."""

    name: str
    pattern: re.Pattern[str]
    begins: str = ""  # a token's
    is_named: bool = False  # its group ``name`` decides


class Names:
    """The names of secret values."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.parts: tuple[str, ...] = tuple(document["parts"])
        self.words = frozenset(document["words"])
        self.whole = frozenset(_joined(name) for name in document["whole"])
        self.query = frozenset(document["query"])
        self.headers = frozenset(document["headers"])
        self.unsure = frozenset(document["unsure"])
        self.innocent = frozenset(document["innocent"])
        self.first, self.last = frozenset(document["innocent_first"]), frozenset(document["innocent_last"])
        self.hints: tuple[str, ...] = tuple(document["hints"])
        self.signed_hints: tuple[str, ...] = tuple(document["signed_hints"])
        self.innocent_values = frozenset(document["innocent_values"])
        self.innocent_beginnings: tuple[str, ...] = tuple(document["innocent_beginnings"])

    def hint(self, name: str) -> Hint:
        """By its words; a name that only describes a secret (token_count) implies nothing."""
        words = words_of(name)
        plain = "".join(words)
        if plain in self.whole:
            return Hint.ALL
        if not words or words[-1] in self.last or words[0] in self.first or plain in self.innocent:
            return Hint.NOTHING
        if any(part in plain for part in self.parts):
            return Hint.ALL
        runs = ("".join(words[at : at + length]) for at in range(len(words)) for length in (1, 2, 3))
        return Hint.NOTHING if self.words.isdisjoint(runs) else Hint.TEXT

    def knows(self, part: str) -> bool:
        """Whether a part of a name is already known."""
        plain = _joined(part)
        return plain in self.words or plain in self.whole or any(known in plain for known in self.parts)


class HintTable(dict[str, Hint]):
    """What a name implies, cached by name; includes names of the policy. Payloads repeat the same few names."""

    def __init__(self, own: Sequence[str]) -> None:
        self.own = [_joined(part) for part in own if not names().knows(part)]

    def __missing__(self, name: str) -> Hint:
        found = self._hint(name)
        if len(name) <= MAX_KEY:
            if len(self) >= MAX_KEYS:
                self.clear()
            self[name] = found
        return found

    def _hint(self, name: str) -> Hint:
        plain = _joined(name[:MAX_KEY])
        if any(part in plain for part in self.own):
            return Hint.ALL
        if plain in ("name", "key", "header", "headername", "field", "param"):
            return Hint.NAME
        if plain in ("value", "val", "headervalue", "content"):
            return Hint.VALUE
        return names().hint(name[:MAX_KEY])


hints = lru_cache(maxsize=20)(HintTable)


def words_of(name: str) -> list[str]:
    """X-Api-Key, apiKey and API_KEY are the same two words."""
    return [word.lower() for word in _WORDS.findall(name)]


def _joined(name: str) -> str:
    return "".join(words_of(name))


@cache
def names() -> Names:
    return Names(document()["names"])


@cache
def forms() -> tuple[Form, ...]:
    return tuple(
        Form(one["name"], re.compile(one["pattern"]), is_named=one.get("named", False)) for one in document()["forms"]
    )


@cache
def tokens() -> tuple[Form, ...]:
    return tuple(_token(begins, token) for token in document()["tokens"] for begins in token["begins"])


@cache
def document() -> Mapping[str, Any]:
    """The file, read at first use."""
    return tomllib.loads(files(__package__).joinpath("secrets.toml").read_text("utf-8"))


def _token(begins: str, token: Mapping[str, Any]) -> Form:
    of, least = token["of"], token["least"]
    # Bounded: unlimited lookahead from every position would take quadratic time.
    digit = rf"(?=[{of.replace('0-9', '')}]{{0,64}}+[0-9])" if token.get("digit") else ""
    pattern = rf"{BOUNDARY}{re.escape(begins)}{digit}(?P<secret>[{of}]{{{least},}}+)"
    return Form(token["name"], re.compile(pattern), begins)
