"""Version 2: the program's own words, in their order, and the innermost frame that is its own.

Frozen once it has been released: the same text has the same key for ever. Other rules are another version.
"""

import re

from recoup.signatures.v2.enclosed import VariableParts, without_quoted
from recoup.signatures.v2.forms import form
from recoup.signatures.v2.plain import plain
from recoup.signatures.v2.words import counting

_MAX_SHAPE = 200
_TOKEN = re.compile(r"[^\s()\[\]{}<>,;=\"']+")
_LIST = re.compile(r"\*(?:[\s,]*\*)+")


def remaining(message: str, variable: VariableParts | None = None) -> str:
    """What counts of a message, as text. What does not is added to `variable`, if a list is given."""
    found = form(message)
    parts = [" ".join(words) for sentence in found.sentences if (words := counting(sentence, variable)) != ("*",)]
    parts += found.codes
    if found.function:
        parts.append(f"in {found.function}")
    if variable is not None:
        variable += found.left_out
    return " | ".join(filter(None, parts)) or _shape(plain(message[:_MAX_SHAPE]))


def _shape(text: str) -> str:
    """For a text without words of its own: where its values are."""
    marked = _TOKEN.sub(lambda token: "w" if token[0].isalpha() else "*", without_quoted(text))
    return " ".join(_LIST.sub("*", marked).split())[:60]
