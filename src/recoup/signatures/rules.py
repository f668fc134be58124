"""The rules of categories.toml, indexed by what they begin with."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from recoup.categories import Category
from recoup.signatures.advice import Advice

MAX_CACHE = 50_000
MAX_WORD = 40  # a longer one is not kept: it does not come again
STEM = 3  # letters that an open word of a phrase has at least

CATEGORIES = (Category.TRANSIENT, Category.OPERATIONAL, Category.STRUCTURAL)
Weight = tuple[float, float, float]  # for each of them


class Judgement(NamedTuple):
    """A category, which rule decided, and what in the text it was about."""

    category: Category
    rule: str
    because: str = ""

    def explain(self) -> str:
        """In words."""
        return f"{self.category}: {self.rule}" + (f" ({self.because})" if self.because else "")


class Phrase(NamedTuple):
    rank: int
    words: tuple[str, ...]
    category: Category
    rule: str


class Number(NamedTuple):
    category: Category
    vocabulary: str
    marks: frozenset[str]  # one of these words is needed: a number means different things in different programs


class Rules:
    """The rules of categories.toml."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.names: dict[str, tuple[Category, str]] = {}
        self.late: dict[str, Category] = {}
        self.beginnings: list[tuple[str, Category, str]] = []
        self.endings: list[tuple[str, Category, str]] = []
        self.http: dict[str, Category] = {}
        self._sqlstates: dict[str, Category] = {}
        self._numbers: dict[str, list[Number]] = {}
        for vocabulary in document["vocabulary"]:
            self._take(vocabulary)
        self.marks = frozenset(mark for found in self._numbers.values() for one in found for mark in one.marks)
        self._phrases = [
            Phrase(rank, tuple(phrase.split()), Category(wording["category"]), wording["rule"])
            for rank, wording in enumerate(document["wording"])
            for phrase in wording["phrases"]
        ]
        first = [wording.get("first", False) for wording in document["wording"]]
        self.first = [phrase for phrase in self._phrases if first[phrase.rank]]  # asked before the words
        self.first_words = frozenset(phrase.words[0] for phrase in self.first)
        self.advice = Advice.read(document)
        self.begins: dict[str, tuple[Phrase, ...]] = {}  # filled when a word is first looked up
        self._exact: dict[str, list[Phrase]] = {}
        for phrase in self._phrases:
            self._exact.setdefault(phrase.words[0], []).append(phrase)
        self._open: dict[str, list[Phrase]] = {}  # those whose first word is open, by how it begins
        for phrase in self._phrases:
            if phrase.words[0].endswith("*"):
                self._open.setdefault(phrase.words[0][:STEM], []).append(phrase)
        self.at_first: Weight = tuple(document["words"]["at_first"])
        self.weights: dict[str, Weight] = {word: tuple(one) for word, one in document["words"]["weights"].items()}

    @property
    def words(self) -> Iterator[str]:
        """The words in the rules."""
        yield from self.weights
        yield from self.marks
        for phrase in self._phrases:
            yield from phrase.words

    @property
    def terms(self) -> Iterator[str]:
        """The names, statuses, states and numbers in the rules."""
        for known in (self.names, self.late, self.http, self._sqlstates, self._numbers):
            yield from known

    def sqlstate(self, state: str, *, is_whole: bool = False) -> Judgement | None:
        """By an SQLSTATE, or its class."""
        for key in (state,) if is_whole else (state, state[:2]):
            if key in self._sqlstates:
                return Judgement(self._sqlstates[key], "SQLSTATE" if key == state else "an SQLSTATE's class", key)
        return None

    def numbered(self, number: str) -> Iterator[Number]:
        """The meanings of a number; of an SMTP status also by its class."""
        yield from self._numbers.get(number, ())
        if number.count(".") == 2:
            yield from self._numbers.get(f"{number.rpartition('.')[0]}.*", ())

    def beginning(self, word: str) -> tuple[Phrase, ...]:
        """The phrases that begin with a word, the first rule's first."""
        exact, is_open = self._exact.get(word, ()), self._open.get(word[:STEM], ())
        fits = [*exact, *(one for one in is_open if word.startswith(one.words[0][:-1]))]
        found = tuple(sorted(fits, key=lambda one: one.rank)) if fits else ()
        if len(word) <= MAX_WORD:
            if len(self.begins) >= MAX_CACHE:
                self.begins.clear()
            self.begins[word] = found
        return found

    def _take(self, vocabulary: Mapping[str, Any]) -> None:
        for kind, name in self._entries(vocabulary):
            if vocabulary["name"] == "http":
                self.http[name] = kind
            elif vocabulary["name"] == "sqlstate":
                self._sqlstates[name.rstrip("*")] = kind
            elif vocabulary["name"] == "late":
                self.late[name.lower()] = kind
            elif "marks" in vocabulary:
                number = Number(kind, vocabulary["about"], frozenset(vocabulary["marks"]))
                self._numbers.setdefault(name, []).append(number)
            elif name.startswith("*"):
                self.endings.append((name[1:].lower(), kind, vocabulary["about"]))
            elif name.endswith("*"):
                self.beginnings.append((name[:-1].lower(), kind, vocabulary["about"]))
            else:
                self.names.setdefault(name.lower(), (kind, vocabulary["about"]))

    @staticmethod
    def _entries(vocabulary: Mapping[str, Any]) -> Iterable[tuple[Category, str]]:
        return ((kind, name) for kind in CATEGORIES for name in vocabulary.get(kind, ()))


@cache
def rules() -> Rules:
    """The rules, read when they are first used: a command that needs none does not wait for them."""
    return Rules(tomllib.loads(files(__package__).joinpath("categories.toml").read_text("utf-8")))
