"""SQL keeps to the width of Python, and none of it is dead: queries are sent by somebody, routines are installed."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from recoup.audit.invariant import Query
from recoup.domains import DOMAINS
from recoup.schema.laws import invariants

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "src", ROOT / "bench")
WIDTH = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["line-length"]
# Written by `make schema`; databases keep their checksums.
EXEMPT = re.compile(r"src/recoup/(schema/schema\.sql|.*migrations/000[1-5]_.*)")


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@cache
def _files(pattern: str) -> tuple[Path, ...]:
    return tuple(
        sorted(file for source in SOURCES for file in source.rglob(pattern) if not EXEMPT.fullmatch(_name(file)))
    )


@pytest.mark.parametrize("file", _files("*.sql"), ids=_name)
def test_sql_keeps_to_the_width(file: Path) -> None:
    """And has no tab and no trailing white space."""
    lines = enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
    assert [(n, line) for n, line in lines if len(line) > WIDTH or "\t" in line or line != line.rstrip()] == []


@pytest.mark.parametrize("file", _files("queries/*.sql"), ids=_name)
def test_every_named_query_is_used(file: Path) -> None:
    """By an invariant, or by a module that loads its file."""
    names = re.findall(r"^-- name: (\w+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert names
    assert [name for name in names if name not in _asked(file) | _sent(file, names)] == []


def test_every_routine_is_installed() -> None:
    """Each file in a ``routines`` folder is in the manifest of a domain."""
    listed = {f"src/{file.package.replace('.', '/')}/{file.path}" for domain in DOMAINS for file in domain.routines}
    assert {_name(file) for file in _files("routines/*.sql")} == listed


def _asked(file: Path) -> set[str]:
    """The queries of a file that invariants name."""
    asked = (invariant.query for invariant in invariants(DOMAINS))
    return {query.name for query in asked if isinstance(query, Query) and _key(query.package, query.file) == _of(file)}


def _sent(file: Path, names: list[str]) -> set[str]:
    """Words in the modules that load a file, or in what those import from their package; all, if one takes them all."""
    loading = [module for module in _files("*.py") if _of(file) in _loads(module)]
    if any("Q.values()" in _text(module) for module in loading):
        return set(names)
    return {word for module in loading for near in (module, *_beside(module)) for word in _words(near)}


def _key(package: str, file: str) -> tuple[str, str]:
    return package.rpartition(".")[2], file


def _of(file: Path) -> tuple[str, str]:
    return file.parent.parent.name, file.name


@cache
def _loads(module: Path) -> set[tuple[str, str]]:
    return {_key(*found) for found in re.findall(r'\bload\("([\w.]+)", "(\w+\.sql)"\)', _text(module))}


def _beside(module: Path) -> list[Path]:
    """The modules of its own package that a module imports from."""
    named = re.findall(rf"^from [\w.]*\b{module.parent.name}\.(\w+) import", _text(module), re.MULTILINE)
    return [path for name in named if (path := module.with_name(f"{name}.py")).exists()]


@cache
def _words(module: Path) -> set[str]:
    return set(re.findall(r'"(\w+)"', _text(module)))


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
