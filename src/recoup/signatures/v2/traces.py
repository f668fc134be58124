"""Stack traces of several languages: what was thrown, and the innermost function that is the program's own."""

import re
from typing import NamedTuple


class Trace(NamedTuple):
    """What was thrown, with the cause at its root, and in which function of the program's own."""

    sentences: tuple[str, ...]
    function: str


class _Frame(NamedTuple):
    function: str
    is_own: bool
    called_at: str = ""  # path and line, in languages that print a built-in function with the place that called it


# The frame on a line of a trace. Each reads a line once, from its beginning.
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
_ONLY_A_PLACE = re.compile(r"\S{1,400}:\d+$|\s*\^|Node\.js v")


def trace(lines: list[str]) -> Trace | None:
    """A stack trace: what was thrown, and where in the program's own code. None if it is none."""
    thrown: list[str] = []
    frames: list[_Frame] = []
    blocks: list[tuple[int, int]] = []  # where each thrown error and its frames begin
    innermost_is_last = False
    in_frames = False
    function = ""  # of Go, whose frames have two lines
    for line in _set_out(lines):
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
    if line[0] in " \t" or _MORE.match(line) or _ONLY_A_PLACE.match(line):
        return False
    if line.startswith(("Traceback (most", "goroutine ", "exit status", "note: run with", "Stack trace:")):
        return False
    return after_frames or not is_python


def _of_python(thrown: list[str], frames: list[_Frame], blocks: list[tuple[int, int]]) -> Trace:
    """The last error that follows frames is the one that came out; its innermost frame is the last before it."""
    for sentence, end in reversed(blocks):
        if end:
            begin = max((at for _, at in blocks if at < end), default=0)
            if thrown[sentence].endswith(":") and "exception" in thrown[sentence]:
                continue  # During handling of the above exception …
            return Trace((thrown[sentence],), _innermost(frames[begin:end][::-1]))
    return Trace(tuple(thrown[-1:]), _innermost(frames[::-1]))


def _of_others(thrown: list[str], frames: list[_Frame], blocks: list[tuple[int, int]]) -> Trace:
    """The first error and the cause at its root; the innermost frame is the first below the root, or below another."""
    if not thrown:
        return Trace((), _innermost(frames))
    causes = [at for at, (sentence, _) in enumerate(blocks) if thrown[sentence].startswith("Caused by:")]
    root = causes[-1] if causes else 0
    begin = blocks[root][1]
    if php := _PHP_THROWN.search(thrown[0]):
        frames = [frame for frame in frames if frame.called_at != php[1]]  # a built-in function, called where it threw
    function = _innermost(frames[begin:]) if any(frame.is_own for frame in frames[begin:]) else _innermost(frames)
    first = max((sentence for sentence, at in blocks if at == 0), default=0)  # a line of the log may come before it
    sentences = (thrown[0], thrown[first], *([thrown[blocks[root][0]]] if causes else ()))
    return Trace(tuple(dict.fromkeys(_INTRODUCED.sub("", sentence, count=1) for sentence in sentences)), function)


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


def _set_out(lines: list[str]) -> list[str]:
    """The lines of a trace that was indented as a whole, set out to the margin again."""
    first = next((line for line in lines if line.lstrip().startswith("Traceback (most")), "")
    margin = first[: len(first) - len(first.lstrip())]
    return [line.removeprefix(margin) for line in lines] if margin else lines
