"""Which words of a sentence are the program's own, and which are values put into it.

A word counts when programs use it in their own sentences (vocabulary.txt), unless its place says that it is a value: in
quotes or brackets, after `=`, after "user" or "table", in capitals. What has a digit, a slash or an at sign in it is a
value. Words that are in no vocabulary count only where too few others remain: a name of something in a sentence that
says enough without it, or the whole of a short message or of one in another language.
"""

import re

from recoup.signatures.v2.enclosed import VariableParts, longest_quotation, without_enclosed
from recoup.signatures.v2.tokens import (
    ANNOUNCES,
    AROUND,
    CALL,
    CALLED,
    CAPITALS,
    COLON,
    EQUALS,
    KNOWN,
    LISTED,
    LISTS,
    MARK,
    NAME,
    NUMBER,
    VOCABULARY,
    kept,
    token_of,
)  # fmt: skip

ENOUGH = 3  # words that are enough to tell what happened; others are left out then
SENTENCE_LEAST = 4  # known words that make a quotation a sentence
MAX_WORDS = 40

# What a token is, or the one before it, when its place may make a value of it.
_LOOKED_AT = CAPITALS | NAME | CALL | LISTED
_LOOKED_BEHIND = COLON | ANNOUNCES | EQUALS

# How sure it is that a word is the program's own.
_PERHAPS, _LIKELY, _SURE = 0, 1, 2
_DOUBTFUL = "doubtful"  # instead of a kind of value: it may be one

_TYPES, _UNITS, _FOUND = LISTS["types"], LISTS["units"], LISTS["found"]
_ACCOUNTS, _BEFORE_ACCOUNTS = LISTS["accounts"], LISTS["before_accounts"]
_NOT_NAMES, _BEFORE_STATES, _BEFORE_CODES = LISTS["not_names"], LISTS["before_states"], LISTS["before_codes"]
_THROWN = ("Exception", "Error")
_VERB = ("ed", "ing")
_DIGIT = re.compile(r"\d")


def counting(line: str, variable: VariableParts | None = None) -> tuple[str, ...]:
    """The words of a line that count, in their order; `*` for what was masked where they alone say too little."""
    text = without_enclosed(line, variable)
    words, certainty = _read(text, variable)
    sure = certainty.count(_SURE)
    if sure < ENOUGH and MARK in text:
        within = _quoted_sentence(line, least=SENTENCE_LEAST if sure > 1 else 2)
        if within:
            inner, inner_certainty = _read(without_enclosed(within, None), None)
            words, certainty = words + inner, certainty + inner_certainty
            if variable is not None:
                variable[:] = [one for one in variable if one[1][1:-1] != within]
    return _enough(words, certainty, variable)[:MAX_WORDS]


def _quoted_sentence(line: str, least: int) -> str:
    """The longest quotation, if it is a sentence: a message within a message."""
    found = longest_quotation(line)
    return found if sum(word in VOCABULARY for word in found.lower().split()) >= least else ""


def _read(text: str, variable: VariableParts | None) -> tuple[list[str], list[int]]:
    """The words that may count, and how sure it is of each that it is the program's own."""
    words: list[str] = []
    certainty: list[int] = []
    flags_before, word_before = 0, ""
    tokens = text.split()
    for place, token in enumerate(tokens):
        word, flags, kind = kept.get(token) or token_of(token)
        if word:
            if flags & _LOOKED_AT or flags_before & _LOOKED_BEHIND or word_before == "for":
                kind = _by_place(word, flags, flags_before, word_before, place, tokens)
                if kind and kind is not _DOUBTFUL:
                    word = ""
            else:
                kind = ""
        if word:
            words.append(word)
            certainty.append(_certainty(word, flags, place, is_doubtful=kind is _DOUBTFUL))
            if variable is not None and word[-1] == "=":
                variable.append(("value", token.partition("=")[2]))
        else:
            if kind == "number" and word_before.lower() in _BEFORE_CODES:
                words.append(token.strip(AROUND))  # error code 1205: it counts where there is nothing else
                certainty.append(_PERHAPS)
            elif not words or words[-1] != "*":
                words.append("*")
                certainty.append(_PERHAPS)
            if variable is not None and token != MARK:
                variable.append((kind or "sign", token.rstrip(CALLED)))
        flags_before, word_before = flags, word
    return words, certainty


def _by_place(word: str, flags: int, flags_before: int, before: str, place: int, tokens: list[str]) -> str:
    """What kind of value a word is in its place, if it is one; "doubtful" if it may be one."""
    low = word.lower()
    if flags_before & EQUALS:
        return "value"
    if low in _TYPES:
        return "type"
    if low in _UNITS and place and (flags_before & NUMBER or not before):
        return "unit"
    is_last = place == len(tokens) - 1
    if flags_before & ANNOUNCES and low not in _NOT_NAMES and not low.endswith(_VERB):
        return _DOUBTFUL if flags & KNOWN and is_last else "name"  # user root; but also: queue full
    if low in _ACCOUNTS and before in _BEFORE_ACCOUNTS:
        return "account"
    if flags & CAPITALS and (before in _BEFORE_STATES or (flags_before & COLON and place > 1)):
        return "state"
    if (place and _is_named(word, flags)) or (before == "for" and tokens[place + 1 : place + 2] == ["from"]):
        return "name"
    if flags_before & COLON and before.lower() in _FOUND:
        return "value"
    if flags_before & COLON and is_last and " " not in word:
        # no such column: price; but also: cannot connect: timeout
        return "value" if place > 1 and not flags & KNOWN else _DOUBTFUL
    return ""


def _is_named(word: str, flags: int) -> bool:
    """Whether a word amid a sentence is the name of something: called with arguments, or with dots and underscores."""
    return bool(flags & CALL) or (bool(flags & NAME) and not word.isalpha() and not word.endswith(_THROWN))


def _enough(words: list[str], certainty: list[int], variable: VariableParts | None) -> tuple[str, ...]:
    """Those that are surely the program's own, if they are enough; else those that are likely; else all."""
    for least, kind in ((_SURE, "name in capitals or unknown word"), (_LIKELY, "unknown word")):
        if len(certainty) - _below(certainty, least) >= ENOUGH:
            if variable is not None:
                variable += [
                    (kind, word)
                    for word, sure in zip(words, certainty, strict=True)
                    if sure < least and word != "*" and not _DIGIT.search(word)
                ]
            return tuple([word for word, sure in zip(words, certainty, strict=True) if sure >= least])
    if len(words) - words.count("*") >= 2:
        first = 1 if words[0] == "*" else 0
        last = len(words) - 1 if words[-1] == "*" else len(words)
        return tuple(words[first:last])
    return tuple(words)


def _below(certainty: list[int], least: int) -> int:
    return certainty.count(_PERHAPS) + (certainty.count(_LIKELY) if least == _SURE else 0)


def _certainty(word: str, flags: int, place: int, *, is_doubtful: bool) -> int:
    if flags & NAME:
        return _SURE if word.endswith(_THROWN) or (place == 0 and flags & (COLON | CALL)) else _PERHAPS
    if not flags & KNOWN:
        return _PERHAPS
    return _LIKELY if flags & CAPITALS or is_doubtful else _SURE
