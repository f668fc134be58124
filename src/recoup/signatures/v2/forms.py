"""Which part of a text is used: the sentence that tells what happened, and the place in the program's own code.

A line is used as it is. Of a stack trace the thrown error and the innermost frame that is the program's own count,
of a JSON body its codes and messages, of other texts of several lines the first that says something. What databases add
below a message (the statement, a detail, a hint) does not count.
"""

import re
from typing import NamedTuple

from recoup.signatures.v2.bodies import body, body_within
from recoup.signatures.v2.plain import LETTERS, plain
from recoup.signatures.v2.traces import trace

MAX_HEAD = 6_000  # characters of a text that are used, from its beginning …
MAX_TAIL = 2_000  # … and from its end, where Python's traces say what was thrown
MAX_SENTENCES = 8


class Form(NamedTuple):
    """The sentences and codes that count, the function in which a trace says that it happened, and what is left out."""

    sentences: tuple[str, ...]
    function: str = ""
    codes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


def form(text: str) -> Form:
    """What of a text counts."""
    if text[:1] in ("{", "[") or text[:1].isspace():
        within = body(text.strip())
        if within is not None:
            return Form(within.sentences, codes=within.codes, left_out=(("other keys", "of the body"),))
    left_out: tuple[tuple[str, str], ...] = ()
    if len(text) > MAX_HEAD + MAX_TAIL:
        left_out = (("too long", f"{len(text) - MAX_HEAD - MAX_TAIL:,} characters in the middle"),)
        text = f"{text[:MAX_HEAD]}\n{_root(text)}\n{text[-MAX_TAIL:]}"
    text = plain(text)
    if text[:1] == "<":
        return Form((_TAG.sub(" ", text),), left_out=left_out)
    if "\n" not in text:
        within = body_within(text) if text[-1:] == "}" else None
        return Form((_unwrapped(text),) if within is None else within.sentences, left_out=left_out)
    lines = text.splitlines()
    traced = trace(lines)
    sentences = _main_lines(lines) if traced is None else traced.sentences
    if len(lines) > len(sentences):
        left_out = (*left_out, ("other lines", f"{len(lines) - len(sentences):,}"))
    return Form(tuple(map(_unwrapped, sentences)), "" if traced is None else traced.function, left_out=left_out)


def _root(text: str) -> str:
    """The last cause that a long trace names in its middle."""
    found = text.rfind("\nCaused by: ", MAX_HEAD, -MAX_TAIL)
    return text[found + 1 : found + 401].partition("\n")[0] if found >= 0 else ""


_TAG = re.compile(r"<[^<>]{0,400}>|\n")  # of XML and HTML bodies

_ADDED = re.compile(
    r"\s*(?:LINE \d|(?:DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION):|\^|Candidate |Did you mean|\[SQL: |"
    r"\(Background on|stack backtrace|Stack trace:)"
)
_CAUSED = re.compile(r"\s*caused by:?\s*$", re.IGNORECASE)


def _main_lines(lines: list[str]) -> tuple[str, ...]:
    """The first line that says something; with the next, when it only introduces it; and the cause at the root."""
    found: list[str] = []
    is_complete = False
    for line in lines:
        if found and _ADDED.match(line):
            break
        if _CAUSED.match(line):
            is_complete = False
            del found[1:]
        elif not is_complete and LETTERS.search(line):
            found.append(f"{line}'" if line.count("'") % 2 else line)  # a quotation may continue in the next line
            is_complete = not line.rstrip().endswith(":") and (len(found) > 1 or len(LETTERS.findall(line)) > 2)
            if len(found) == MAX_SENTENCES:
                break
    return tuple(found)


# What clients put in front of a message: ERROR 1332 (42000):
_SEVERITY = re.compile(
    r"^\W{0,2}(?:ERROR|FATAL|PANIC|WARNING|WARN|NOTICE|INFO|DEBUG|TRACE|CRITICAL|SEVERE)(?!\w)"
    r"(?: \d{1,6})?(?: \([0-9A-Z]{5}\))?\W{1,4}"
)

# What languages put around one: OperationalError(1045, 'Access denied …'), (1045, "Access denied …").
_WRAPPED = re.compile(r"""([^"'(]{0,200})\((?:-?\d{1,9}, )?(["'])""")
_CAUSE_WITHIN = re.compile(r"\(Caused by (\w{1,100})")


def _unwrapped(line: str) -> str:
    line = _SEVERITY.sub("", line, count=1)
    if "(Caused by " in line and (cause := _CAUSE_WITHIN.search(line)):
        return f"{line} {cause[1]}"
    found = _WRAPPED.match(line) if line[-1:] == ")" else None
    if found is None:
        return line
    ended = line.rstrip("),")
    within = ended[found.end() : -1]
    return f"{found[1]}: {within}" if ended[-1] == found[2] and within.count(" ") > 1 else line
