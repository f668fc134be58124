"""The category of a failure, from its code and its words: does it pass by itself, is something in its way, is it wrong?

The rules are data (categories.toml), tried from the sure to the likely: the policy's own, names that the field has
given to its errors, SQLSTATEs and numbers, words that speak for a category, phrases, HTTP statuses. The first that
decides is told. What none decides is OPERATIONAL, the middle.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from recoup.errors.vocabulary import Category

LENGTH_MOST = 4_000  # what tells categories apart stands at the beginning
GAP_MOST = 4  # words that the … in a phrase stands for
SURE = 0.7  # so likely a category is by its words that no phrase is asked
CACHE_MOST = 50_000


class Judgement(NamedTuple):
    """A category, which rule decided, and what in the text it was about."""

    category: Category
    rule: str
    because: str = ""

    def explain(self) -> str:
        """In words."""
        return f"{self.category}: {self.rule}" + (f" ({self.because})" if self.because else "")


class OwnRule(NamedTuple):
    """A rule of the policy's: a code, which may end in `*`, or a phrase, or both, and the category it stands for."""

    category: Category
    code: str | None = None
    phrase: tuple[str, ...] = ()


class _Phrase(NamedTuple):
    rank: int
    words: tuple[str, ...]
    category: Category
    rule: str


class _Number(NamedTuple):
    category: Category
    vocabulary: str
    marks: frozenset[str]  # one of these has to be among the words: numbers mean different things to different programs


# Words within words too: ThrottlingException, rate_limit_exceeded.
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z']+|[A-Z]+|\d+|[^\W\d_]+")
_NAME = re.compile(r"[A-Za-z_][\w.$-]*[\w$]")
_HTTP_CODE = re.compile(r"(?:http)?[ _-]?(?:status)?[ _-]?([1-5]\d\d)", re.IGNORECASE)
_HTTP = re.compile(
    r"\b(?:http(?:/\d(?:\.\d)?)?|status(?: ?code)?|response(?: code)?|error|code|returned)\W{0,4}([1-5]\d\d)\b"
    r"|\b([45]\d\d) (?=[A-Z][a-z])",
    re.IGNORECASE,
)
_SQLSTATE_CODE = re.compile(r"[0-9A-Z]{5}")
_SQLSTATE = re.compile(
    r"\bSQLSTATE\W{0,4}([0-9A-Z]{5})\b|[\[(]([0-9A-Z]{2}[0-9]{3}|[0-9]{2}[0-9A-Z]{3})[\])]"
    r"|(?:^|: )([0-9]{2}[0-9A-Z]{3}): "
)
_NUMBERS = re.compile(r"\d+(?:\.\d+){0,3}")


def category(message: str, code: str | None = None, rules: Sequence[OwnRule] = ()) -> Category:
    """What kind of failure this is. Rules of one's own go in front."""
    return judge(message, code, rules).category


def judge(message: str, code: str | None = None, rules: Sequence[OwnRule] = ()) -> Judgement:
    """What kind of failure this is, and which rule says so."""
    message = message[:LENGTH_MOST]
    code = f"{code}".strip()[:LENGTH_MOST] if code else ""  # some callers have numbers
    words = words_of(message)
    of_code = words_of(code) if code else []
    return (
        (_own(rules, code, words) if rules else None)
        or (_named(code) if code else None)
        or _named_within(message)
        or _numbered(code, message, words, of_code)
        or _worded([*of_code, "", *words] if of_code else words)
        or _by_status(code, message)
        or Judgement(Category.OPERATIONAL, "nothing known decides: the middle")
    )


def own_rule(category: Category, code: str | None, phrase: str | None) -> OwnRule:
    """A rule of the policy's, as it is written there."""
    return OwnRule(category, code, tuple(phrase.lower().split()) if phrase else ())


def words_of(text: str) -> list[str]:
    """The words of a text, and those within its names, in lower case."""
    return [word.lower().strip("'") for word in _WORDS.findall(text)]


def _own(rules: Sequence[OwnRule], code: str, words: list[str]) -> Judgement | None:
    for rule in rules:
        if rule.code is not None:
            is_met = code.startswith(rule.code[:-1]) if rule.code.endswith("*") else code == rule.code
            if not is_met:
                continue
        if rule.phrase and not any(
            _begins(word, rule.phrase[0]) and _follows(words, place, rule.phrase) for place, word in enumerate(words)
        ):
            continue
        because = " ".join(filter(None, (rule.code, " ".join(rule.phrase))))
        return Judgement(rule.category, "a rule of the policy", because)
    return None


def _named(code: str) -> Judgement | None:
    """By a code that is a name, or an SQLSTATE."""
    found = _name(code) or _family(code)
    if found is None and _SQLSTATE_CODE.fullmatch(code) and not code.isalpha():
        found = _RULES.sqlstate(code)
    return found


def _named_within(message: str) -> Judgement | None:
    """By the first name in the message. A plain word is none: it has capitals or underscores in it, or a digit."""
    for text in _NAME.findall(message):
        if not text.islower() or "_" in text:
            found = _name(text) if not text.istitle() else None
            if found is not None:
                return found
    return None


def _name(text: str) -> Judgement | None:
    names = _RULES.names
    low = text.lower()
    found = names.get(low)
    if found is None and ("." in low or "$" in low):
        found = names.get(low.replace("$", ".").rpartition(".")[2])
    return None if found is None else Judgement(found[0], f"a name of {found[1]}", text)


def _family(code: str) -> Judgement | None:
    """By how a code begins or ends."""
    low = code.lower()
    for beginning, kind, vocabulary in _RULES.beginnings:
        if low.startswith(beginning):
            return Judgement(kind, f"a beginning of {vocabulary}", f"{beginning}…")
    for ending, kind, vocabulary in _RULES.endings:
        if low.endswith(ending):
            return Judgement(kind, f"an ending of {vocabulary}", f"…{ending}")
    return None


def _numbered(code: str, message: str, words: list[str], of_code: list[str]) -> Judgement | None:
    """By an SQLSTATE in the message, or by a number where the words say whose number it is."""
    digits = _NUMBERS.findall(message)
    if not digits and not code[:1].isdigit():
        return None
    state = _SQLSTATE.search(message)
    if state is not None:
        found = _RULES.sqlstate(state[1] or state[2] or state[3])
        if found is not None:
            return found
    marks = _RULES.marks.intersection([*words, *of_code])
    if not marks:
        return None
    for number in (code, *digits):
        for meant in _RULES.numbered(number):
            if not marks.isdisjoint(meant.marks):
                return Judgement(meant.category, f"a number of {meant.vocabulary}", number)
    return None


def _worded(words: list[str]) -> Judgement | None:
    """By words that speak for a category, if together they are sure; else by the first phrase; else by the words."""
    kind, share, because = _spoken(words)
    if share >= SURE:
        return Judgement(kind, "its words", because)
    best: _Phrase | None = None
    for place, word in enumerate(words):
        for phrase in _RULES.beginning(word):
            if (best is None or phrase.rank < best.rank) and _follows(words, place, phrase.words):
                best = phrase
    if best is not None:
        return Judgement(best.category, best.rule, " ".join(best.words))
    return None


def _spoken(words: list[str]) -> tuple[Category, float, str]:
    """The category that a message's words speak for, how sure they are, and which say most."""
    transient, operational, structural = _RULES.at_first
    heard: list[tuple[str, tuple[float, float, float]]] = []
    weights = _RULES.weights
    for word in dict.fromkeys(words):
        weight = weights.get(word)
        if weight is not None:
            heard.append((word, weight))
            transient += weight[0]
            operational += weight[1]
            structural += weight[2]
    most = max(transient, operational, structural)
    kind = CATEGORIES[(transient, operational, structural).index(most)]
    share = 1 / (math.exp(transient - most) + math.exp(operational - most) + math.exp(structural - most))
    if share < SURE:
        return kind, share, ""
    at = CATEGORIES.index(kind)
    heard.sort(key=lambda one: -one[1][at])
    return kind, share, ", ".join(word for word, weight in heard[:4] if weight[at] > 0)


def _by_status(code: str, message: str) -> Judgement | None:
    found = _HTTP_CODE.fullmatch(code) if code else None
    status = found[1] if found else None
    if status is None:
        within = _HTTP.search(message)
        status = (within[1] or within[2]) if within else None
    kind = _RULES.http.get(status) if status else None
    return None if kind is None else Judgement(kind, "an HTTP status", status or "")


def _begins(word: str, wanted: str) -> bool:
    return word.startswith(wanted[:-1]) if wanted[-1] == "*" else word == wanted


def _follows(words: list[str], place: int, phrase: tuple[str, ...]) -> bool:
    """Whether the rest of a phrase stands after its first word."""
    place += 1
    reach = 1
    for wanted in phrase[1:]:
        if wanted == "…":
            reach = GAP_MOST + 1
            continue
        for at in range(place, min(len(words), place + reach)):
            if _begins(words[at], wanted):
                place = at + 1
                break
        else:
            return False
        reach = 1
    return True


CATEGORIES = (Category.TRANSIENT, Category.OPERATIONAL, Category.STRUCTURAL)


class Rules:
    """The rules of categories.toml, indexed by what they begin with."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.version = int(document["version"])
        self.names: dict[str, tuple[Category, str]] = {}
        self.beginnings: list[tuple[str, Category, str]] = []
        self.endings: list[tuple[str, Category, str]] = []
        self.http: dict[str, Category] = {}
        self._sqlstates: dict[str, Category] = {}
        self._numbers: dict[str, list[_Number]] = {}
        for vocabulary in document["vocabulary"]:
            self._take(vocabulary)
        self.marks = frozenset(mark for found in self._numbers.values() for one in found for mark in one.marks)
        self._phrases = [
            _Phrase(rank, tuple(phrase.split()), Category(wording["category"]), wording["rule"])
            for rank, wording in enumerate(document["wording"])
            for phrase in wording["phrases"]
        ]
        self._beginning: dict[str, tuple[_Phrase, ...]] = {}
        self._exact: dict[str, list[_Phrase]] = {}
        for phrase in self._phrases:
            self._exact.setdefault(phrase.words[0], []).append(phrase)
        self._open = [phrase for phrase in self._phrases if phrase.words[0].endswith("*")]
        self.at_first: tuple[float, float, float] = tuple(document["words"]["at_first"])
        self.weights = {word: tuple(weight) for word, weight in document["words"]["weights"].items()}

    def sqlstate(self, state: str) -> Judgement | None:
        """By an SQLSTATE, or its class."""
        for key in (state, state[:2]):
            if key in self._sqlstates:
                return Judgement(self._sqlstates[key], "SQLSTATE" if key == state else "an SQLSTATE's class", key)
        return None

    def numbered(self, number: str) -> Iterator[_Number]:
        """What a number may mean; an SMTP status by its class too."""
        yield from self._numbers.get(number, ())
        if number.count(".") == 2:
            yield from self._numbers.get(f"{number.rpartition('.')[0]}.*", ())

    def beginning(self, word: str) -> tuple[_Phrase, ...]:
        """The phrases that begin with a word."""
        found = self._beginning.get(word)
        if found is None:
            found = (*self._exact.get(word, ()), *(p for p in self._open if word.startswith(p.words[0][:-1])))
            if len(self._beginning) >= CACHE_MOST:
                self._beginning.clear()
            self._beginning[word] = found
        return found

    def _take(self, vocabulary: Mapping[str, Any]) -> None:
        for kind, name in self._entries(vocabulary):
            if vocabulary["name"] == "http":
                self.http[name] = kind
            elif vocabulary["name"] == "sqlstate":
                self._sqlstates[name.rstrip("*")] = kind
            elif "marks" in vocabulary:
                number = _Number(kind, vocabulary["about"], frozenset(vocabulary["marks"]))
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


_RULES = Rules(tomllib.loads(files(__package__).joinpath("categories.toml").read_text("utf-8")))
RULES_VERSION = _RULES.version
