"""What is taken for a secret, as secrets.toml has it: names, tokens by how they begin, and forms; compiled once.

A token is a beginning and at least so many characters of a kind: however long the text, no try goes over more than that
before it fails. Forms are held to the same by their tests.
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
    """What a name tells of its value."""

    NOTHING = 0
    TEXT = 1  # a secret, unless it is a number
    ALL = 2  # a secret, whatever it is
    NAME = 3  # it is the name of another value: {"name": "Authorization", "value": …}
    VALUE = 4  # and that is the other value


class Form(NamedTuple):
    """A pattern, whose group ``secret`` is what is replaced."""

    name: str
    pattern: re.Pattern[str]
    begins: str = ""  # a token's
    is_named: bool = False  # what stands under its group ``name`` decides


class Names:
    """The names under which secrets stand."""

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

    def tells(self, name: str) -> Hint:
        """By its words; one that merely tells of a secret (token_count) tells nothing."""
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
        """Whether a part of a name need not be added: it is here already."""
        plain = _joined(part)
        return plain in self.words or plain in self.whole or any(known in plain for known in self.parts)


class HintTable(dict[str, Hint]):
    """What a name tells, by name; those of the policy tell too. Payloads have the same few names again and again."""

    def __init__(self, own: Sequence[str]) -> None:
        self.own = [_joined(part) for part in own if not names().knows(part)]

    def __missing__(self, name: str) -> Hint:
        found = self._told(name)
        if len(name) <= MAX_KEY:
            if len(self) >= MAX_KEYS:
                self.clear()
            self[name] = found
        return found

    def _told(self, name: str) -> Hint:
        plain = _joined(name[:MAX_KEY])
        if any(part in plain for part in self.own):
            return Hint.ALL
        if plain in ("name", "key", "header", "headername", "field", "param"):
            return Hint.NAME
        if plain in ("value", "val", "headervalue", "content"):
            return Hint.VALUE
        return names().tells(name[:MAX_KEY])


telling = lru_cache(maxsize=20)(HintTable)


def words_of(name: str) -> list[str]:
    """X-Api-Key, apiKey and API_KEY are two words, and the same ones."""
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
    """The file, read when it is first asked for."""
    return tomllib.loads(files(__package__).joinpath("secrets.toml").read_text("utf-8"))


def _token(begins: str, token: Mapping[str, Any]) -> Form:
    of, least = token["of"], token["least"]
    # Bounded: what looks ahead without end from every place would take the square of the time.
    digit = rf"(?=[{of.replace('0-9', '')}]{{0,64}}+[0-9])" if token.get("digit") else ""
    pattern = rf"{BOUNDARY}{re.escape(begins)}{digit}(?P<secret>[{of}]{{{least},}}+)"
    return Form(token["name"], re.compile(pattern), begins)
