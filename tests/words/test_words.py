"""Nothing that a person reads has a word from the list of words not to use. words.toml says what to use instead."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from words.texts import Text, texts

ROOT = Path(__file__).parents[2]
LIST = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
READ = ("src/**/*.py", "src/**/*.sql", "src/**/*.toml", "bench/**/*.py", "bench/**/*.sql", "tools/*.py", "docs/**/*.md")
PAGES = ("README.md", "CHANGELOG.md", "ROADMAP.md", "Makefile")
NOT_READ = (
    "src/*/migrations/*",  # frozen by their checksum; their comments, as they are now, are in schema.sql
    "docs/reference/signature-report.md",  # quotes messages of other programs
)


def _files() -> list[Path]:
    found = [*(ROOT / page for page in PAGES), *(file for pattern in READ for file in ROOT.glob(pattern))]
    return sorted(file for file in found if not any(fnmatch(_name(file), skipped) for skipped in NOT_READ))


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@cache
def _patterns(kind: str) -> list[tuple[re.Pattern[str], str]]:
    """What to search for, and what to use instead. A phrase in which a word is right is matched first."""
    allowed = [re.escape(entry["text"]) for entry in LIST["allowed"] if "where" not in entry]

    def pattern(word: dict[str, Any]) -> re.Pattern[str]:
        right = _any([*word.get("except", []), *allowed])
        return re.compile(rf"(?P<right>{right})|\b(?P<word>{word['pattern']})\b", re.IGNORECASE)

    return [(pattern(word), word["instead"]) for word in LIST[kind]]


def _any(patterns: list[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)"


@cache
def _any_word(kind: str) -> re.Pattern[str]:
    """Most texts have none of the words: one search is enough for them."""
    return re.compile(rf"\b(?:{_any([word['pattern'] for word in LIST[kind]])})\b", re.IGNORECASE)


@cache
def _texts(file: Path) -> tuple[Text, ...]:
    return tuple(texts(file))


def found(file: str, text: Text) -> Iterator[str]:
    """The words of a text that are on the list, with where they are and what to write instead."""
    kind = "name" if text.is_name else "word"
    if not _any_word(kind).search(text.text):
        return
    local = [entry["text"] for entry in LIST["allowed"] if fnmatch(file, entry.get("where", ""))]
    read = text.text
    for phrase in local:
        read = read.replace(phrase, "…")
    for pattern, instead in _patterns(kind):
        for match in pattern.finditer(read):
            word = match["word"]
            if word and not word.isupper():
                around = read[max(0, match.start() - 30) : match.end() + 30]
                yield f"{file}:{text.line}: “{word}” in “{around}”: {instead}"


@pytest.mark.parametrize("file", _files(), ids=_name)
def test_plain_words(file: Path) -> None:
    """In comments, docstrings, messages, SQL comments, help and pages, and in names of modules and functions."""
    listed = [line for text in _texts(file) for line in found(_name(file), text)]
    assert not listed, "\n".join(listed)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", '"""Whoever calls it waits."""'),
        ("a.py", "# It is heard\n# of no more.\n"),
        ("a.py", "def so_it_stands() -> None: ..."),
        ("a.py", "MOST = 3\nROWS_MOST = 3\n"),
        ("a.py", 'print(f"{1} of {2} look at it")'),
        ("a.py", 'tx.execute("select 1 -- whoever asks")'),
        ("told.py", ""),
        ("a.sql", "select 1;  -- so\n-- many rows"),
        ("a.sql", "raise exception using message = 'It is ''told'' so.', hint = 'Ask.';"),
        ("a.toml", "# Mend it.\nkey = 1"),
        ("a.toml", 'help = "Mend it."'),
        ("a.md", "It went\non, and `told` it."),
        ("a.md", "| a | told |"),
        ("Makefile", "run: ## Start anew"),
    ],
)
def test_a_listed_word_is_found(tmp_path: Path, name: str, source: str) -> None:
    (tmp_path / name).write_text(source, encoding="utf-8")
    assert [line for text in texts(tmp_path / name) for line in found(name, text)]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", 'row["said"] = "LAPSED or not"\n# ``said`` stands for itself.'),
        ("a.sql", "insert into t (said) values ('told');"),
        ("a.md", "See [why](decisions/0010-what-is-told.md) and `recoup.told`."),
        ("a.py", '"""The duty error-lapse."""'),
    ],
)
def test_names_and_stored_words_are_not(tmp_path: Path, name: str, source: str) -> None:
    (tmp_path / name).write_text(source, encoding="utf-8")
    assert [line for text in texts(tmp_path / name) for line in found(name, text)] == []


def test_nothing_is_allowed_in_vain() -> None:
    """Each exception of the list has a reason, and is needed."""
    everything = " ".join(text.text for file in _files() for text in _texts(file))
    for entry in LIST["allowed"]:
        assert entry["reason"]
        assert entry["text"] in everything, entry["text"]
