"""Version 1, which was in use until version 2 came: its keys are stored, and it stays as it is.

Ids, numbers, times, addresses, paths and quoted values are masked by one pass of patterns; every other word counts.
"""

import re
from collections.abc import Callable, Iterator

MAX_LENGTH = 4_000  # characters that count; what distinguishes failures is at the beginning

_QUOTED = re.compile(r"(?P<quoted>'[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|`[^`\n]{1,200}`)")
# One alternation, so that every character is read once. In this order: what contains others comes first.
_MASKS: tuple[tuple[str, str], ...] = (
    ("url", r"\b[a-z][a-z0-9+.-]{1,15}://[^\s\"'<>]+"),
    ("uuid", r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    (
        "time",
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b"
        r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b",
    ),
    ("email", r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+\b"),
    ("address", r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"),
    ("path", r"(?<![\w/])/(?:[\w.@%+=-]+/)*[\w.@%+=-]+"),
    ("host", r"\b(?:[a-z0-9-]{1,63}\.){2,6}[a-z]{2,24}(?::\d+)?\b"),
    ("hex", r"\b0x[0-9a-fA-F]+\b|\b(?=[a-f]*\d)[0-9a-f]{12,64}\b"),
    ("number", r"(?<![A-Za-z_])[+-]?\d+(?:[.,]\d+)*(?![A-Za-z_])|(?<=[A-Za-z_-])\d{3,}\b"),
)
_MASK = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _MASKS))


def remaining(message: str, variable: list[tuple[str, str]] | None = None) -> str:
    """What counts of a message. What does not is added to `variable`, if a list is given."""

    def mask(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        if variable is not None:
            variable.append((kind, match[0][:100]))
        return f"<{kind}>"

    return " ".join(_parts(message[:MAX_LENGTH], mask))


def _parts(text: str, mask: Callable[[re.Match[str]], str]) -> Iterator[str]:
    """The words of a message, masked. Most are letters alone, and have nothing to mask: they are passed over."""
    values: list[str] = []
    for word in _QUOTED.sub(mask, text).split():
        if not word.isalpha():
            values.append(word)
            continue
        if values:
            yield _MASK.sub(mask, " ".join(values))
            values.clear()
        yield word
    if values:
        yield _MASK.sub(mask, " ".join(values))
