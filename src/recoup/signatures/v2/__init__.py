"""Version 2: the program's own words, in their order, and the innermost frame that is its own.

Frozen once it has been released: the same text has the same key for ever. Other rules are another version.
"""

from __future__ import annotations

import re

from recoup.signatures.v2.forms import form
from recoup.signatures.v2.words import Told, counting, without_quoted

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SHAPE_MOST = 200
_TOKEN = re.compile(r"[^\s()\[\]{}<>,;=\"']+")
_LIST = re.compile(r"\*(?:[\s,]*\*)+")


def remaining(message: str, told: Told | None = None) -> str:
    """What counts of a message, as text. What does not is told, if a list is given for it."""
    text = _ESCAPES.sub(" ", message) if not message.isprintable() else message
    found = form(text)
    parts = [" ".join(words) for sentence in found.sentences if (words := counting(sentence, told)) and words != ("*",)]
    if found.function:
        parts.append(f"in {found.function}")
    return " | ".join(parts) or _shape(text)


def _shape(text: str) -> str:
    """For a text without words of its own: where its values stand."""
    marked = _TOKEN.sub(lambda token: "w" if token[0].isalpha() else "*", without_quoted(text[:_SHAPE_MOST]))
    return " ".join(_LIST.sub("*", marked).split())[:60]
