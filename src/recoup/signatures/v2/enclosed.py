"""What is enclosed in a line: addresses, quotations, brackets. Marks stand for what is a value.

Every pattern takes time linear in the length of its text: no part of one can match what the next one does.
"""

import re

from recoup.signatures.v2.tokens import CALLED, LISTS, MARK

VariableParts = list[tuple[str, str]]  # what was masked: kind and text

_QUOTED = re.compile(
    r'"[^"\n]{0,4000}"'
    r"|(?<!\w)'[^'\n]{0,4000}'(?!\w)"
    r"|`[^`'\n]{0,4000}[`']"
    r"|‘[^‘’\n]{0,4000}’|“[^“”\n]{0,4000}”|«[^«»\n]{0,4000}»|»[^«»\n]{0,4000}«|„[^„“”\n]{0,4000}[“”]|‹[^‹›\n]{0,4000}›"
    r"|「[^「」\n]{0,4000}」|『[^『』\n]{0,4000}』"
)
_QUOTE = re.compile(r"[\"'`‘“«»„‹「『]")
_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s\"'<>]*")
_BRACKETS = re.compile(r"<[^<>\n]{0,4000}>|\{[^{}\n]{0,4000}\}|\[[^\[\]\n]{0,4000}\]|\([^()\n]{0,4000}\)")
_MAX_NESTED = 4
_SWITCHES = LISTS["switches"]
_SOURCE_LINE = re.compile(r"\w\.\w{1,10}:\d")  # collect at Orders.scala:12


def longest_quotation(line: str) -> str:
    """Without its quotes."""
    return max((quoted[0][1:-1] for quoted in _QUOTED.finditer(line)), key=len, default="")


def without_quoted(text: str) -> str:
    """The text with a mark for each quotation."""
    return _QUOTED.sub(f" {MARK} ", text) if _QUOTE.search(text) else text


def without_enclosed(text: str, variable: VariableParts | None) -> str:
    """The text with marks for addresses of the web, for what is quoted, and for text in brackets."""
    if "://" in text:
        if variable is not None:
            variable += [("address", found[0]) for found in _URL.finditer(text)]
        text = _URL.sub(f" {MARK} ", text)
    if " time zone" in text:
        text = text.replace(" with time zone", "").replace(" without time zone", "")  # parts of a type's name
    if variable is not None:
        variable += [("quoted", found[0]) for found in _QUOTED.finditer(text)]
    text = without_quoted(text)
    for _ in range(_MAX_NESTED):
        outside = _BRACKETS.sub(_bracketed, text)
        if outside == text:
            break
        if variable is not None:
            variable += [("bracketed", found[0]) for found in _BRACKETS.finditer(text) if _is_masked(found)]
        text = outside
    return text


def _bracketed(found: re.Match[str]) -> str:
    if not _is_masked(found):
        return f" {found[0][1:-1]} "
    return f"{CALLED} {MARK} " if found[0][0] == "(" and _is_attached(found) else f" {MARK} "


def _is_attached(found: re.Match[str]) -> bool:
    before = found.string[found.start() - 1] if found.start() else " "
    return before.isalnum() or before == "_"


def _is_masked(found: re.Match[str]) -> bool:
    """Objects, records, lists, indexes and arguments are values; a remark in brackets is not."""
    text = found[0]
    if text[0] in "<{" or "," in text or "/" in text or MARK in text or text.count("=") > 1:
        return True
    if (text[0] == "[" and " " not in text) or _is_attached(found):
        return True
    return _SWITCHES.issuperset(text[1:-1].split()) or _SOURCE_LINE.search(text) is not None
