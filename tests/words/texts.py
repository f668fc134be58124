"""What a person reads in the product: sentences and names of its sources, with where they are."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

SQL = re.compile(r"\s*(select|insert|update|delete|with|create|alter|drop|grant|revoke|comment|set|do|lock)\b")
QUOTED_NAME = re.compile(r"`{1,2}[\w./$:<>%*()-]+`{1,2}")
ITEM = re.compile(r"\s*(\||- |\d+\. |#)")
LINK = re.compile(r"\]\([^)\s]+\)")
SQL_TEXT = re.compile(r"--(?P<comment>[^\n]*)|'(?P<literal>(?:[^']|'')*)'")


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence or a name, and the line on which it begins."""

    line: int
    text: str
    is_name: bool = False


def texts(path: Path) -> Iterator[Text]:
    """What a file has to read. Names in backquotes and targets of links are left out."""
    read = {".py": _python, ".sql": _sql, ".toml": _toml}.get(path.suffix, _page)
    for found in read(path.read_text(encoding="utf-8")):
        plain = found.text if found.is_name else QUOTED_NAME.sub("`…`", " ".join(found.text.split()))
        yield Text(found.line, plain, found.is_name)
    if path.suffix == ".py":
        yield Text(1, in_words(path.stem), is_name=True)


def in_words(name: str) -> str:
    """`ReadingTold` and `reading_told` are "reading told"."""
    return re.sub(r"_+|(?<=[a-z0-9])(?=[A-Z])", " ", name).strip().lower()


def _python(source: str) -> Iterator[Text]:
    tree = ast.parse(source)
    within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield Text(node.lineno, in_words(node.name), is_name=True)
        elif isinstance(node, ast.JoinedStr):
            yield from _sentence(node.lineno, "".join(_part(part) for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:
            yield from _sentence(node.lineno, node.value)
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else ()
        yield from (Text(t.lineno, in_words(t.id), is_name=True) for t in targets if isinstance(t, ast.Name))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [(t.start[0], t.string.lstrip("# ")) for t in tokens if t.type == tokenize.COMMENT]
    yield from _joined(comments)


def _part(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "…"


def _sentence(line: int, text: str) -> Iterator[Text]:
    """A string, unless it is one word, which is a name, or SQL, of which comments and literals are read."""
    if SQL.match(text):
        yield from (Text(line + found.line - 1, found.text) for found in _sql(text))
    elif " " in text.strip():
        yield Text(line, text)


def _sql(source: str) -> Iterator[Text]:
    comments = []
    for found in SQL_TEXT.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        if found["comment"] is not None:
            comments.append((line, found["comment"].strip("- ")))
        elif " " in found["literal"]:
            yield Text(line, found["literal"].replace("''", "'"))
    yield from _joined(comments)


def _toml(source: str) -> Iterator[Text]:
    yield from _joined([(n, line.lstrip("# ")) for n, line in _lines(source) if line.startswith("#")])
    yield from (Text(n, line) for n, line in _lines(source) if line.startswith(("help =", "description =")))


def _page(source: str) -> Iterator[Text]:
    """Paragraph by paragraph, a row of a table by itself."""
    yield from _joined([(n, LINK.sub("]", line)) for n, line in _lines(source) if line.strip()])


def _lines(source: str) -> Iterator[tuple[int, str]]:
    return enumerate(source.splitlines(), 1)


def _joined(lines: list[tuple[int, str]]) -> Iterator[Text]:
    """Lines that follow each other are one text, so that a phrase is found across them. A list has one per item."""
    for _, block in groupby(_numbered(lines), key=itemgetter(0)):
        first, *rest = (line for _, line in block)
        yield Text(first[0], " ".join([first[1], *(text for _, text in rest)]))


def _numbered(lines: list[tuple[int, str]]) -> Iterator[tuple[int, tuple[int, str]]]:
    block = before = 0
    for line in lines:
        block += line[0] != before + 1 or ITEM.match(line[1]) is not None
        before = line[0]
        yield block, line
