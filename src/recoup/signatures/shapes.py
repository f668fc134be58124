"""Signature and category of a message together, cached by the shape of the message.

Programs print the same sentences again and again, with other values in them. The shape of a message is itself a message
with the same signature and category: digits that no rule knows are replaced, and every id by one id. The results of a
shape hold for all messages of that shape.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from recoup.categories import Category
from recoup.signatures.judging import NUMBERED, OwnRule, category, own
from recoup.signatures.keys import signature
from recoup.signatures.rules import rules
from recoup.signatures.v2.tokens import LISTS

MAX_CACHE = 10_000
MAX_LENGTH = 500  # of a message that has a shape; sentences are shorter
MAX_CODE = 200

_RUN = re.compile(r"([0-9]+)")
_LETTER = re.compile(r"[a-z]")
# It has a digit, and nothing next to it that could make it a part of a name or of an address.
_ID = re.compile(r"(?<![\w-])(?=[a-f-]*[0-9])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-]|:/)")
_ID_LENGTH = 36
# Words after which a number counts itself. Not so the name of a protocol where an address begins.
_CODED = re.compile(f"(?:{'|'.join(sorted(LISTS['before_codes']))})(?!s?://)")


class Reading(NamedTuple):
    """Which failure a message is about, and its category."""

    key: str
    category: Category


_kept: dict[tuple[str, str | None], Reading] = {}


def read(message: str, code: str | None = None, own_rules: Sequence[OwnRule] = ()) -> Reading:
    """The key of a message's signature, and its category: as `signature` and `category` say, and sooner."""
    # A code of another type may equal a plain one, and be written otherwise.
    is_plain = code is None or (type(code) is str and len(code) <= MAX_CODE)
    shape = shape_of(message) if is_plain else None
    reading = _kept.get((shape, code)) if shape is not None else None
    if reading is None:
        reading = Reading(signature(message, code).key, category(message, code))
        if shape is not None:
            if len(_kept) >= MAX_CACHE:
                _kept.clear()
            _kept[shape, code] = reading
    found = own(message, code, own_rules) if own_rules else None
    return reading if found is None else reading._replace(category=found.category)


def shape_of(message: str) -> str | None:
    """The message with other values in it, which is read as this one; None where there is no short one.

    A digit is replaced by a digit, so that rules on the length or the kind of a value give the same result.
    """
    if len(message) > MAX_LENGTH or not message.isascii() or not message.isprintable() or message[-1:] in "}] ":
        return None  # a text of several lines, or perhaps a body, in which fields are compared with each other
    low = message.lower()
    if "(caused by" in low or " time zone" in low:
        return None  # words are moved about
    tokens = message.split(" ")
    counting = _near_codes(low.split(" ")) if _CODED.search(low) else ()
    before = ""
    for place, token in enumerate(tokens):
        if not token.isalpha() and place not in counting:
            tokens[place] = _shape(token, before)
        before = token
    return " ".join(tokens)


def _near_codes(tokens: list[str]) -> set[int]:
    """The places of numbers that may count: at a word that makes them count, and behind it up to the next letters."""
    places = set()
    is_near = False
    for place, token in enumerate(tokens):
        is_coded = _CODED.search(token) is not None
        if is_coded or is_near:
            places.add(place)
        is_near = is_coded or (is_near and _LETTER.search(token) is None)
    return places


def _shape(token: str, before: str) -> str:
    known, said = _digits()
    if token.isdigit() and before[-1:].isalpha() and not before.lower().endswith(NUMBERED):
        # Its number is not asked for after a word that announces none: only whether a phrase has it.
        return token if token in said else "0" * len(token)
    if len(token) >= _ID_LENGTH and (found := _ID.search(token)):
        return f"{token[: found.start()]}{_any_id(found[0])}{token[found.end() :]}"
    parts = _RUN.split(token)
    if len(parts) == 1:
        return token
    parts[1::2] = [run if run in known else _unknown(run[0], len(run)) or run for run in parts[1::2]]
    return "".join(parts)


def _any_id(found: str) -> str:
    """One id for all of them; some patterns ask whether they begin and end with a letter."""
    first, last = "a" if found[0].isalpha() else "0", "a" if found[-1].isalpha() else "0"
    return f"{first}0000000-0000-0000-0000-00000000000{last}"


@cache
def _unknown(first: str, length: int) -> str | None:
    """Digits that no rule knows, for others that none knows: as many, and with the same at the front."""
    runs = (first + str(last) * (length - 1) for last in range(10))
    return next((run for run in runs if run not in _digits()[0]), None)


@cache
def _digits() -> tuple[frozenset[str], frozenset[str]]:
    """The digits of all that the rules know, and those of the words and phrases among it."""
    said = frozenset(_RUN.findall(" ".join(rules().words)))
    return said | frozenset(_RUN.findall(" ".join(rules().terms))), said
