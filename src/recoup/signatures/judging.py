"""The category of a failure, from its code and its words: does it pass by itself, is something in its way, is it wrong?

The rules are data (categories.toml), tried from the certain to the likely: the policy's own, known names of errors,
SQLSTATEs and numbers, the advice to retry, words that indicate a category, phrases, HTTP statuses. The first that
decides is reported. If none does, the category is OPERATIONAL, the middle.
"""

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from recoup.categories import Category
from recoup.signatures.rules import CATEGORIES, MAX_CACHE, Judgement, Phrase, Weight, rules

MAX_LENGTH = 4_000  # what distinguishes categories is at the beginning
MAX_WORDS = 300
MAX_TOKEN = 80  # a longer one is not cached: it is not repeated
ID_LEAST = 12
MAX_CODES = 4_096
MAX_CODE = 200  # characters that count
MAX_GAP = 4  # words that the … in a phrase matches
SURE = 0.7  # the share from which on the words decide, and phrases are not tried


class OwnRule(NamedTuple):
    """A rule of the policy: a code, which may end in `*`, or a phrase, or both, and its category."""

    category: Category
    code: str | None = None
    phrase: tuple[str, ...] = ()


# Of a token: its words; the names in it, with the sign before each; whether it has a digit; the category of a name that
# is used for failures of several kinds. A plain tuple: thousands are cached, and made while a message is read.
_Token = tuple[tuple[str, ...], tuple[tuple[str, str, Judgement], ...], bool, Judgement | None]
_NO_NAMES: tuple[tuple[str, str, Judgement], ...] = ()

# Words within words too: ThrottlingException, rate_limit_exceeded.
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?(?:[^\W\d_A-Z]|')+|[A-Z]+|\d+")
_NAME = re.compile(r"[A-Za-z_][\w.$-]*[\w$]")
# Not the program's own words: ids, addresses and paths are never used, quotations only where nothing else decides.
_IDS = re.compile(
    r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{9,31}|\b(?=[a-f]*\d)[0-9a-f]{12,}\b|\b[a-z][a-z0-9+.-]{1,15}://\S*"
    r"|(?<![\w/])/[\w.@%+=~-]+/[\w./@%+=~-]*"
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|`[^`'\n]*[`']|‘[^‘’\n]*’|“[^“”\n]*”")
_HTTP_CODE = re.compile(r"(?:http)?[ _-]?(?:status)?[ _-]?([1-5]\d\d)", re.IGNORECASE)
_HTTP = re.compile(
    r"\b(?i:http(?:/\d(?:\.\d)?)?|status(?: ?code)?|response(?: code)?|error|code|returned)\W{0,4}([1-5]\d\d)\b"
    r"|(?:^|: )([45]\d\d) (?=[A-Z][a-z])"
)
_STATE = re.compile(r"[0-9A-Z]{5}")
_STATE_NAMED = re.compile(r"\bSQLSTATE\W{0,4}([0-9A-Z]{5})\b", re.IGNORECASE)
_STATE_SHOWN = re.compile(r"[\[(]([0-9]{2}[0-9A-Z]{3}|[A-Z]{2}[0-9]{3})[\])]|(?:^|: )([0-9]{2}[0-9A-Z]{3}): ")
_THREE = re.compile(r"\b[1-5]\d\d\b")
_AROUND = "()[]{}<>,;.:'\""
_QUOTE = re.compile(r"[\"'`‘“]")
_DIGIT = re.compile(r"\d")
# A number is that of an error where it is called so, or comes first or in brackets: error 1205, (1205, 4.7.1.
_NUMBERS = re.compile(
    r"(?:\b(?i:error|code|errno|number|msg)\W{0,3}|[(\[]|^)(\d{1,6})(?![\w.-])|(?<![\w.])(\d\.\d\.\d{1,3})(?![\w.])"
)
# An error of POSIX, or a word in capitals in the place of a status: code = UNAVAILABLE, [UNAVAILABLE].
_AFTER_SIGN = frozenset("=:.([{\"'")
# Endings of words after which the patterns above look for a number.
NUMBERED = ("error", "code", "errno", "number", "msg", "http", "status", "response", "returned", "sqlstate")


def category(message: str, code: str | None = None, own_rules: Sequence[OwnRule] = ()) -> Category:
    """The category of a failure. Your own rules come first."""
    return judge(message, code, own_rules).category


def judge(message: str, code: str | None = None, own_rules: Sequence[OwnRule] = ()) -> Judgement:
    """The category of a failure, and the rule that decided."""
    found = own(message, code, own_rules) if own_rules else None
    message, code = _counting(message, code)
    if found is None and code:
        found = _named(code)
    if found is not None:
        return found
    said = _QUOTED.sub(" ", message) if _QUOTE.search(message) else message
    return (
        _by_text(said, code)
        or (_by_text(message, code) if said != message else None)
        or _at_last(code, message)
        or Judgement(Category.OPERATIONAL, "nothing known decides: the middle")
    )


def own(message: str, code: str | None, own_rules: Sequence[OwnRule]) -> Judgement | None:
    """The category by the policy's own rules, if one of them matches."""
    message, code = _counting(message, code)
    words = [word for token in message.split() for word in (_tokens.get(token) or _see(token))[0]]
    heard = frozenset(words)
    for rule in own_rules:
        if rule.phrase and rule.phrase[0][-1] != "*" and rule.phrase[0] not in heard:
            continue
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


def _counting(message: str, code: str | None) -> tuple[str, str]:
    """The part of a message and of its code that is used. Some callers have numbers for codes."""
    return message[:MAX_LENGTH], f"{code}".strip()[:MAX_CODE] if code else ""


def own_rule(category: Category, code: str | None, phrase: str | None) -> OwnRule:
    """A rule of the policy, as it is written there: words of any case, names as they are."""
    words: list[str] = []
    for part in (phrase or "").split():
        if part == "…":
            words.append(part)
        else:
            found = words_of(part)
            if found and part.endswith("*"):
                found[-1] += "*"
            words += found
    return OwnRule(category, code, tuple(words))


def words_of(text: str) -> list[str]:
    """The words of a text, and those within its names, in lower case."""
    return [word for found in _WORDS.findall(text) if (word := found.lower().strip("'"))]


@lru_cache(maxsize=MAX_CODES)
def _words_of_code(code: str) -> tuple[str, ...]:
    return tuple(words_of(code))


def _by_text(message: str, code: str) -> Judgement | None:
    """By the text of a message."""
    words: list[str] = []
    has_digit, before = code[:1].isdigit(), ""
    for token in message.split():
        said, names, digit, _ = _tokens.get(token) or _see(token)
        for sign, text, judgement in names:
            if _is_name(text, sign or before):
                return judgement
        words += said
        has_digit = has_digit or digit
        before = token[-1]
    del words[MAX_WORDS:]
    all_words = [*_words_of_code(code), "", *words] if code else words
    found = _numbered(code, message, all_words) if has_digit else None
    return (
        found
        or _explicit(words)
        # A code that no vocabulary knows must not outweigh the sentence next to it.
        or (_certain(words) if code else None)
        or _worded(all_words)
        or (_by_status(code, message) if has_digit else None)
    )


# The parts of a token depend on the token only, and most tokens are repeated.
_tokens: dict[str, _Token] = {}


def _see(token: str) -> _Token:
    if token.isalpha() and token.islower() and token.isascii():  # as most are
        return _keep(token, ((token,), _NO_NAMES, False, None))
    has_digit = _DIGIT.search(token) is not None
    if has_digit:
        bare = token.strip(_AROUND)
        if bare.isdigit():
            return (bare,), _NO_NAMES, True, None
    text = _IDS.sub(" ", token) if (has_digit and len(token) >= ID_LEAST) or "/" in token else token
    names, late = _NO_NAMES, None
    if not text.islower() or "_" in text:
        names = tuple(_names(text))
        late = next((found for name in _NAME.findall(text) if (found := _late(name)) is not None), None)
    seen = (tuple(words_of(text)), names, has_digit, late)
    return seen if has_digit else _keep(token, seen)  # a token with a digit is mostly a value, and not repeated


def _keep(token: str, seen: _Token) -> _Token:
    if len(token) <= MAX_TOKEN:
        if len(_tokens) >= MAX_CACHE:
            _tokens.clear()
        _tokens[token] = seen
    return seen


def _names(text: str) -> Iterator[tuple[str, str, Judgement]]:
    """The names in a token. A plain word is none: a name has capitals or underscores within."""
    for found in _NAME.finditer(text):
        if not found[0].islower() or "_" in found[0]:
            judgement = _name(found[0])
            if judgement is not None:
                yield text[: found.start()][-1:], found[0], judgement


@lru_cache(maxsize=MAX_CODES)  # there are few, and they are repeated
def _named(code: str) -> Judgement | None:
    """By a code that is a name, or an SQLSTATE."""
    found = _name(code) or _family(code)
    if found is None and _STATE.fullmatch(code) and not code.isalpha():
        # Five digits may be anybody's number: they are an SQLSTATE only if they are listed.
        found = rules().sqlstate(code, is_whole=code.isdigit())
    return found


def _is_name(text: str, before: str) -> bool:
    if text.isupper() and text.isalpha():
        return text[0] == "E" or not before or before in _AFTER_SIGN
    return not text.istitle() or before == "="


def _name(text: str) -> Judgement | None:
    names = rules().names
    low = text.lower()
    found = names.get(low)
    if found is None and ("." in low or "$" in low):
        found = names.get(low.replace("$", ".").rpartition(".")[2])
    return None if found is None else Judgement(found[0], f"a name of {found[1]}", text)


def _family(code: str) -> Judgement | None:
    """By how a code begins or ends."""
    low = code.lower()
    for beginning, kind, vocabulary in rules().beginnings:
        if low.startswith(beginning):
            return Judgement(kind, f"a beginning of {vocabulary}", f"{beginning}…")
    for ending, kind, vocabulary in rules().endings:
        if low.endswith(ending):
            return Judgement(kind, f"an ending of {vocabulary}", f"…{ending}")
    return None


def _late(name: str) -> Judgement | None:
    kind = rules().late.get(name.lower().rpartition(".")[2])
    return None if kind is None else Judgement(kind, "a name that says little, where nothing says more", name)


def _at_last(code: str, message: str) -> Judgement | None:
    found = _late(code)
    for token in message.split():
        found = found or (_tokens.get(token) or _see(token))[3]
    return found


def _numbered(code: str, message: str, words: list[str]) -> Judgement | None:
    """By an SQLSTATE in the message, or by a number where the words tell whose number it is."""
    if "sqlstate" in words and (said := _STATE_NAMED.search(message)):
        return rules().sqlstate(said[1])
    if shown := _STATE_SHOWN.search(message):
        found = rules().sqlstate(shown[1] or shown[2], is_whole=True)
        if found is not None:
            return found
    marks = rules().marks.intersection(words)
    if not marks:
        return None
    for number in (code, *(plain or dotted for plain, dotted in _NUMBERS.findall(message))):
        for meant in rules().numbered(number):
            if not marks.isdisjoint(meant.marks):
                return Judgement(meant.category, f"a number of {meant.vocabulary}", number)
    return None


def _explicit(words: list[str]) -> Judgement | None:
    """By the advice to send the same request again, or by a phrase that comes before the words."""
    known = rules()
    if not known.advice.first.isdisjoint(words) and (verb := known.advice.given(words)) is not None:
        return Judgement(Category.TRANSIENT, "asks for the same request again", verb)
    if not known.first_words.isdisjoint(words):
        for phrase in known.first:
            if any(w == phrase.words[0] and _follows(words, place, phrase.words) for place, w in enumerate(words)):
                return Judgement(phrase.category, phrase.rule, " ".join(phrase.words))
    return None


def _certain(words: list[str]) -> Judgement | None:
    """By words that indicate a category, if together they are certain enough."""
    kind, share, because = _spoken(words)
    return Judgement(kind, "its words", because) if share >= SURE else None


def _worded(words: list[str]) -> Judgement | None:
    """By words that indicate a category, if together they are certain enough; else by the first phrase."""
    if (certain := _certain(words)) is not None:
        return certain
    best: Phrase | None = None
    begins = rules().begins
    for place, word in enumerate(words):
        phrases = begins.get(word)
        for phrase in rules().beginning(word) if phrases is None else phrases:
            if best is not None and phrase.rank >= best.rank:
                break
            if _follows(words, place, phrase.words):
                best = phrase
                break
    if best is not None:
        return Judgement(best.category, best.rule, " ".join(best.words))
    return None


def _spoken(words: list[str]) -> tuple[Category, float, str]:
    """The category that the words of a message indicate, its share, and the words with the greatest weight."""
    transient, operational, structural = rules().at_first
    heard: list[tuple[str, Weight]] = []
    weights = rules().weights
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
        within = _HTTP.search(message) if _THREE.search(message) else None
        status = (within[1] or within[2]) if within else None
    kind = rules().http.get(status) if status else None
    return None if kind is None else Judgement(kind, "an HTTP status", status or "")


def _begins(word: str, wanted: str) -> bool:
    return word.startswith(wanted[:-1]) if wanted[-1] == "*" else word == wanted


def _follows(words: list[str], place: int, phrase: tuple[str, ...]) -> bool:
    """Whether the rest of a phrase follows its first word."""
    if len(phrase) == 1:
        return True
    place += 1
    if place < len(words) and phrase[1] != "…" and phrase[1][-1] != "*" and words[place] != phrase[1]:
        return False  # as with most
    reach = 1
    for wanted in phrase[1:]:
        if wanted == "…":
            reach = MAX_GAP + 1
            continue
        for at in range(place, min(len(words), place + reach)):
            if _begins(words[at], wanted):
                place = at + 1
                break
        else:
            return False
        reach = 1
    return True
