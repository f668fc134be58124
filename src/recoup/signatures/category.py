"""The category of a failure, from its code and its words. A first version: a list of words, the first that matches."""

from __future__ import annotations

import re

from recoup.errors.vocabulary import Category

LENGTH_MOST = 4_000

# In this order; unknown is OPERATIONAL, the middle.
RULES: tuple[tuple[Category, re.Pattern[str]], ...] = tuple(
    (category, re.compile(rf"\b(?:{words})\b"))
    for category, words in (
        (
            Category.TRANSIENT,
            r"timed? ?out|timeout|rate limit(?:ed)?|too many requests|429|502|503|504|temporarily|try again|"
            r"unavailable|connection (?:refused|reset|closed|aborted)|deadlock|throttl(?:ed|ing)|econnreset|etimedout|"
            r"overloaded",
        ),
        (
            Category.STRUCTURAL,
            r"syntax error|does not exist|undefined (?:column|table|function)|schema|malformed|"
            r"invalid (?:json|syntax|format)|type ?error|key ?error|attribute ?error|"
            r"unexpected (?:token|column|field)|no such (?:column|table)",
        ),
    )
)


def category(message: str, code: str | None = None) -> Category:
    """What kind of failure this is."""
    text = f"{code or ''} {message[:LENGTH_MOST]}".replace("_", " ").lower()
    return next((kind for kind, words in RULES if words.search(text)), Category.OPERATIONAL)
