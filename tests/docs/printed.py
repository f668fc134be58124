"""Pages as their reader follows them: commands, files and programs in the order in which they are printed.

In a `console` block a line that begins with `$ ` is a command (`> ` continues it); what follows is its output. `…`
in the output stands for anything: within a line for a part of it, on a line of its own for any number of lines. A
command succeeds, unless its output shows a refusal or a comment behind it says which exit status it has. A block whose
first line is a comment with a file name is that file. A `sh` block is a script, which succeeds.
"""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w./-]+\.(?:py|toml|csv|sql|txt))\n")
HERE_DOCUMENT = re.compile(r"<<'?(\w+)'?")
EXIT_STATUS = re.compile(r"#.*exits with status (\d+)")
REFUSAL = re.compile(r"^(?:refused: |ERROR: )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command, the output that the page shows for it, if it shows any, and its exit status."""

    line: int
    text: str
    output: str | None

    @property
    def fails(self) -> bool:
        return self.status not in (0, None) or (self.output is not None and REFUSAL.search(self.output) is not None)

    @property
    def status(self) -> int | None:
        found = EXIT_STATUS.search(self.text)
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class File:
    line: int
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Program:
    """A block of Python, and what it prints, if a `text` block follows. The blocks of a page share their names."""

    line: int
    text: str
    output: str | None = None


Step = Command | File | Program


def steps(page: Path) -> list[Step]:
    """All that a reader of the page does, in order."""
    text = page.read_text(encoding="utf-8")
    found: list[Step] = []
    end = 0
    for fence in FENCE.finditer(text):
        follows, end = not text[end : fence.start()].strip(), fence.end()
        line = text.count("\n", 0, fence.start()) + 2
        body = textwrap.dedent(fence["body"])
        named = FILE_NAME.match(body)
        if fence["language"] == "console":
            found += _commands(body, line)
        elif fence["language"] == "sh":
            found.append(Command(line, f"(set -e\n{body})", None))
        elif named:
            found.append(File(line, named[1], body))
        elif fence["language"] == "python":
            ast.parse(body)
            found.append(Program(line, body))
        elif fence["language"] == "text" and isinstance(last := found[-1] if found else None, Program) and follows:
            found[-1] = replace(last, output=body.strip("\n"))
        elif fence["language"] == "toml":
            tomllib.loads(body)
        else:
            assert fence["language"] in ("sql", "json", "text", "ini"), f"{page.name}:{line}: {fence['language']}"
    return found


def _commands(body: str, line: int) -> list[Step]:
    found: list[Step] = []
    command: list[str] = []
    output: list[str] = []
    begun = line

    def end() -> None:
        if command:
            shown = "\n".join(output).strip("\n")
            found.append(Command(begun, "\n".join(command), shown or None))

    until: str | None = None  # the end of a here-document
    for number, text in enumerate(body.splitlines(), line):
        if until is not None:
            command.append(text)
            until = None if text == until else until
        elif text.startswith("$ "):
            end()
            command, output, begun = [text[2:]], [], number
            here = HERE_DOCUMENT.search(text)
            until = here[1] if here else None
        elif command and not output and (command[-1].endswith("\\") or text.startswith("> ")):
            command.append(text.removeprefix("> "))
        else:
            assert command, f"line {number}: output without a command: {text}"
            output.append(text)
    end()
    return found


def as_pattern(shown: str) -> re.Pattern[str]:
    """What a page shows, as a pattern for what is printed."""
    parts = []
    for line in shown.splitlines():
        if line.strip() == "…":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            words = (re.escape(word) for word in re.split(r"\s*…\s*", line.rstrip()))
            spaced = r"[^\n]*?".join(words)
            parts.append(re.sub(r"(?:\\ )+", r" +", spaced) + r"[ ]*\n")
    return re.compile("".join(parts))


def matches(shown: str, printed: str) -> bool:
    return as_pattern(shown).fullmatch(printed.strip("\n") + "\n") is not None
