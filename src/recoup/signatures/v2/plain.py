"""Text without what only colours or places it, and where its letters are."""

import re
from unicodedata import normalize

LETTERS = re.compile(r"[^\W\d_]{2,}")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060\ufeff]")
_APOSTROPHE = re.compile(r"(?<=\w)\u2019(?=\w)")


def plain(text: str) -> str:
    """The text without what only colours or places it, and with typesetters' signs as those of a typewriter."""
    if not text.isprintable():
        text = _ESCAPES.sub(" ", text)
    if text.isascii():
        return text
    return normalize("NFC", _APOSTROPHE.sub("'", text).replace("\u2026", "...").replace("\u00a0", " "))
