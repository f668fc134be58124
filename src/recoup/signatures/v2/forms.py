"""What of a text is looked at: the sentence in which the program says what happened, and the place in its own code.

A line is looked at as it is. Of a stack trace the thrown error and the innermost frame that is the program's own count,
of a JSON body its codes and messages, of other texts of several lines the first that says something. What databases add
below a message (the statement, a detail, a hint) does not count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple
from unicodedata import normalize

HEAD_MOST = 6_000  # characters of a text that are looked at, from its beginning …
TAIL_MOST = 2_000  # … and from its end, where Python's traces say what was thrown
BODY_MOST = 100_000  # a JSON body is read whole, up to so many
BEFORE_BODY_MOST = 200
SENTENCES_MOST = 8
DEPTH_MOST = 40  # of brackets within brackets: how deep Python itself can read depends on who asks


class Form(NamedTuple):
    """The sentences and codes that count, the function in which a trace says that it happened, and what is left out."""

    sentences: tuple[str, ...]
    function: str = ""
    codes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


class _Frame(NamedTuple):
    function: str
    is_own: bool
    called_at: str = ""  # path and line, in languages that print a built-in function with the place that called it


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060\ufeff]")
_APOSTROPHE = re.compile(r"(?<=\w)\u2019(?=\w)")


def plain(text: str) -> str:
    """The text without what only colours or places it, and with typesetters' signs as those of a typewriter."""
    if not text.isprintable():
        text = _ESCAPES.sub(" ", text)
    if text.isascii():
        return text
    return normalize("NFC", _APOSTROPHE.sub("'", text).replace("\u2026", "...").replace("\u00a0", " "))


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


def form(text: str) -> Form:
    """What of a text counts."""
    if text[:1] in ("{", "[") or text[:1].isspace():
        body = _body(text.strip()) if len(text) <= BODY_MOST else None
        if body is not None:
            return body
    left_out: tuple[tuple[str, str], ...] = ()
    if len(text) > HEAD_MOST + TAIL_MOST:
        left_out = (("too long", f"{len(text) - HEAD_MOST - TAIL_MOST:,} characters in the middle"),)
        text = f"{text[:HEAD_MOST]}\n{_root(text)}\n{text[-TAIL_MOST:]}"
    text = plain(text)
    if text[:1] == "<":
        return Form((_TAG.sub(" ", text),), left_out=left_out)
    if "\n" not in text:
        body = _body_within(text) if text[-1:] == "}" else None
        return body or Form((_unwrapped(text),), left_out=left_out)
    lines = text.splitlines()
    found = _trace(_set_out(lines)) or Form(_said(lines))
    if len(lines) > len(found.sentences):
        left_out = (*left_out, ("other lines", f"{len(lines) - len(found.sentences):,}"))
    return Form(tuple(map(_unwrapped, found.sentences)), found.function, left_out=left_out)


def _root(text: str) -> str:
    """The last cause that a long trace names in its middle."""
    found = text.rfind("\nCaused by: ", HEAD_MOST, -TAIL_MOST)
    return text[found + 1 : found + 401].partition("\n")[0] if found >= 0 else ""


def _set_out(lines: list[str]) -> list[str]:
    """The lines of a trace that was indented as a whole, set out to the margin again."""
    first = next((line for line in lines if line.lstrip().startswith("Traceback (most")), "")
    margin = first[: len(first) - len(first.lstrip())]
    return [line.removeprefix(margin) for line in lines] if margin else lines


_TAG = re.compile(r"<[^<>]{0,400}>|\n")  # of XML and HTML bodies

_ADDED = re.compile(
    r"\s*(?:LINE \d|(?:DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION):|\^|Candidate |Did you mean|\[SQL: |"
    r"\(Background on|stack backtrace|Stack trace:)"
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_CAUSED = re.compile(r"\s*caused by:?\s*$", re.IGNORECASE)


def _said(lines: list[str]) -> tuple[str, ...]:
    """The first line that says something; with the next, when it only introduces it; and the cause at the root."""
    said: list[str] = []
    is_said = False
    for line in lines:
        if said and _ADDED.match(line):
            break
        if _CAUSED.match(line):
            is_said = False
            del said[1:]
        elif not is_said and _LETTERS.search(line):
            said.append(f"{line}'" if line.count("'") % 2 else line)  # a quotation may go on in the next line
            is_said = not line.rstrip().endswith(":") and (len(said) > 1 or len(_LETTERS.findall(line)) > 2)
            if len(said) == SENTENCES_MOST:
                break
    return tuple(said)


# Where a frame stands on a line of a trace. Each takes a line once, from its beginning.
_PYTHON = re.compile(r'\s*File "([^"]{1,400})", line \d+(?:, in (.{1,200}))?')
_AT = re.compile(r"\s+at (?:async |new )?(.{1,600})")
_GO_FUNCTION = re.compile(r"([\w./*()\[\]·-]{1,300})\([^()]{0,400}\)$|created by ([\w./*()-]{1,300})")
_GO_FILE = re.compile(r"\t(.{1,400}\.go):\d+")
_RUBY = re.compile(r"\s*(?:from |\d+: from )?(([^\s:]{1,400}):\d+):in [`']([^`']{1,200})'(?:: (.{1,4000}))?")
_PHP = re.compile(r"#\d+ (?:([^()]{1,400})\((\d+)\): |\[internal function\]: )?([\w\\{}:>-]{1,200})")
_PHP_THROWN = re.compile(r" in (\S{1,400}:\d+)$")
_RUST = re.compile(r"\s+\d+: +(?:0x[0-9a-f]+ - )?([\w<{][\w:<>{} ]{0,300})$")
_MORE = re.compile(r"\s*\.\.\. \d+ (?:more|common frames)|\s*\[Previous line repeated|\s*--- End of|\s+Suppressed:")

_LIBRARY_PATHS = (
    "<anonymous>", "site-packages", "dist-packages", "/lib/python", "<frozen", "<string>", "node_modules", "node:",
    "internal/", "/usr/lib/go", "/usr/local/go", "/go/pkg/mod/", "/gems/", "/lib/ruby", "<internal:", "/vendor/",
    "/rustc/", ".cargo",
)  # fmt: skip
_LIBRARY_NAMES = (
    "java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "scala.", "groovy.", "org.springframework.",
    "org.apache.", "org.hibernate.", "org.eclipse.", "org.postgresql.", "com.mysql.", "com.zaxxer.",
    "com.fasterxml.", "com.google.",
    "io.netty.", "io.grpc.", "reactor.", "rx.", "akka.", "ch.qos.", "org.slf4j.", "org.junit.", "System.", "Microsoft.",
    "runtime.", "net/", "net.", "os.", "io.", "sync.", "reflect.", "encoding/", "database/", "testing.", "syscall.",
    "panic", "std::", "core::", "alloc::", "rust_", "__rust", "strconv.", "fmt.", "internal/",
)  # fmt: skip
_GENERATED = re.compile(
    r"\$?\d+|\$\$?Lambda.{0,80}|\$\$\w{0,80}CGLIB\$\$\w{0,80}|\$Proxy|GeneratedMethodAccessor"
    r"|\.func|lambda\$|\$$|^block in "
)
_INTRODUCED = re.compile(r'(?:Exception in thread "[^"]{0,200}" |Caused by: |Unhandled exception\. |Uncaught )')
_PLACE_ALONE = re.compile(r"\S{1,400}:\d+$|\s*\^|Node\.js v")


def _trace(lines: list[str]) -> Form | None:
    """A stack trace: what was thrown, and where in the program's own code. None if it is none."""
    thrown: list[str] = []
    frames: list[_Frame] = []
    blocks: list[tuple[int, int]] = []  # where each thrown error and its frames begin
    innermost_is_last = False
    in_frames = False
    function = ""  # of Go, whose frames have two lines
    for line in lines:
        if not line.strip():
            continue
        if not frames and (ruby := _RUBY.match(line)) and ruby[4]:
            thrown.append(ruby[4])
            blocks.append((0, 0))
        frame = _frame(line, function)
        go = _GO_FUNCTION.match(line)
        function = (go[1] or go[2] or "") if go else ""
        if frame is not None:
            innermost_is_last = innermost_is_last or _PYTHON.match(line) is not None
            frames.append(frame)
            in_frames = True
        elif _is_thrown(line, in_frames, is_python=innermost_is_last):
            thrown.append(line)
            blocks.append((len(thrown) - 1, len(frames)))
            in_frames = False
    if not frames:
        return None
    if innermost_is_last:
        return _of_python(thrown, frames, blocks)
    return _of_others(thrown, frames, blocks)


def _is_thrown(line: str, after_frames: bool, *, is_python: bool) -> bool:
    """Whether a line that is no frame says what was thrown: it is not source text, and not what joins two traces."""
    if line[0] in " \t" or _MORE.match(line) or _PLACE_ALONE.match(line):
        return False
    if line.startswith(("Traceback (most", "goroutine ", "exit status", "note: run with", "Stack trace:")):
        return False
    return after_frames or not is_python


def _of_python(thrown: list[str], frames: list[_Frame], blocks: list[tuple[int, int]]) -> Form:
    """The last error that follows frames is the one that came out; its innermost frame is the last before it."""
    for sentence, end in reversed(blocks):
        if end:
            begin = max((at for _, at in blocks if at < end), default=0)
            if thrown[sentence].endswith(":") and "exception" in thrown[sentence]:
                continue  # During handling of the above exception …
            return Form((thrown[sentence],), _innermost(frames[begin:end][::-1]))
    return Form(tuple(thrown[-1:]), _innermost(frames[::-1]))


def _of_others(thrown: list[str], frames: list[_Frame], blocks: list[tuple[int, int]]) -> Form:
    """The first error and the cause at its root; the innermost frame is the first below the root, or below another."""
    if not thrown:
        return Form((), _innermost(frames))
    causes = [at for at, (sentence, _) in enumerate(blocks) if thrown[sentence].startswith("Caused by:")]
    root = causes[-1] if causes else 0
    begin = blocks[root][1]
    if php := _PHP_THROWN.search(thrown[0]):
        frames = [frame for frame in frames if frame.called_at != php[1]]  # a built-in function, called where it threw
    function = _innermost(frames[begin:]) if any(frame.is_own for frame in frames[begin:]) else _innermost(frames)
    first = max((sentence for sentence, at in blocks if at == 0), default=0)  # a line of the log may stand before it
    sentences = (thrown[0], thrown[first], *([thrown[blocks[root][0]]] if causes else ()))
    return Form(tuple(dict.fromkeys(_INTRODUCED.sub("", sentence, count=1) for sentence in sentences)), function)


def _innermost(frames: list[_Frame]) -> str:
    """The first of the program's own; if it has none, the first. Of those called at one place, it is the last."""
    while len(frames) > 1 and frames[0].called_at and frames[0].called_at == frames[1].called_at:
        frames = frames[1:]
    return next((frame.function for frame in frames if frame.is_own), frames[0].function if frames else "")


def _frame(line: str, function: str) -> _Frame | None:
    if found := _PYTHON.match(line):
        return _placed(found[2] or "", found[1])
    if found := _AT.match(line):
        return _at(found[1])
    if function and (found := _GO_FILE.match(line)):
        return _placed(function, found[1])
    if found := _RUBY.match(line):
        return _placed(found[3], found[2], found[1])
    if line[0] == "#" and (found := _PHP.match(line)):
        return _placed(found[3], found[1] or "<internal:", f"{found[1]}:{found[2]}")
    if found := _RUST.match(line):
        return _placed(found[1], "")
    return None


def _at(text: str) -> _Frame:
    """`at package.Class.method(File.java:12)`, `at method (file.js:3:4)`, `at file.js:3:4`."""
    name, bracket, place = text.partition("(")
    if not bracket:
        name, place = "", text
    name = name.strip()
    if "/" in name and "." in name.rpartition("/")[2]:
        name = name.rpartition("/")[2]  # the module that a class of Java is in
    is_java = ".java" in place or "Native Method" in place or "Unknown Source" in place
    return _placed(name, "" if is_java else place)


def _placed(function: str, path: str, called_at: str = "") -> _Frame:
    is_library = any(part in path for part in _LIBRARY_PATHS) or function.startswith(_LIBRARY_NAMES)
    return _Frame(_GENERATED.sub("", function), not is_library, called_at)


_TELLING_KEYS = frozenset(
    {
        "code", "type", "reason", "status", "error", "error_code", "errorcode", "error_type", "errortype", "title",
        "__type", "errorname", "domain", "message", "msg", "detail", "details", "description", "error_description",
        "errormessage", "error_message", "errmsg", "errors", "fault", "cause", "statuscode", "status_code",
    }
)  # fmt: skip
_BRACKET = re.compile(r"[\[{]|[\]}]")


def _body(text: str) -> Form | None:
    """A JSON body: the codes and messages in it. None if it is none, or says nothing."""
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "[{" else -1
        if depth > DEPTH_MOST:
            return None
    try:  # numbers stay text: how long a number Python reads is a setting
        body = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    found = tuple(dict.fromkeys(islice(_in_body(body, is_told=False), SENTENCES_MOST)))
    if not found and isinstance(body, dict):
        found = tuple(islice((name for name in sorted(body)), SENTENCES_MOST))
    if not found:
        return None
    sentences = tuple(plain(one) for one in found if _LETTERS.search(one))
    # Where a body says nothing else, its numbers are all that there is.
    return Form(sentences, codes=() if sentences else found, left_out=(("other keys", "of the body"),))


def _body_within(text: str) -> Form | None:
    """A body after what says too little: HTTP 500: {"message": …}. After a sentence its fields are values."""
    begin = text.find('{"', 0, BEFORE_BODY_MOST)
    body = _body(text[begin:]) if begin > 0 and len(_LETTERS.findall(text[:begin])) < 3 else None
    return body and body._replace(sentences=(text[:begin], *body.sentences))


def _in_body(body: Any, *, is_told: bool) -> Iterator[str]:
    """What a body tells under the keys that errors are told under. A list tells by its first."""
    if isinstance(body, str):
        if is_told:
            yield body
    elif isinstance(body, list):
        for one in body[:1]:
            yield from _in_body(one, is_told=is_told)
    elif isinstance(body, dict):
        for key, value in sorted(body.items()):
            name = key.lower()
            if name == "__type" and isinstance(value, str):
                yield value.rpartition("#")[2]
            else:
                yield from _in_body(value, is_told=name in _TELLING_KEYS)
