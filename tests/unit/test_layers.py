"""Core, domains, commands: each layer imports what is below it, and nothing imports in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import recoup

ROOT = Path(recoup.__file__).parent
DOMAINS = {"gate", "mint", "errors", "runs", "deliveries", "recovery", "alerts", "service"}
LIBRARIES = {
    "redaction",
    "signatures",
    "verification",
    "categories",
    "reasons",
    "expressions",
}  # know no database, and serve domains
TOP = {"domains", "adapters", "api", "cli", "client", "console", "in_process", "new_project"}
# Imported where it is used because its packages are an extra, not because of a circle.
EXTRAS = {("gate", "verification")}


class Import(NamedTuple):
    file: str
    unit: str
    of: str
    late: bool


def unit(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports() -> Iterator[Import]:
    for path in ROOT.rglob("*.py"):
        if path == ROOT / "__init__.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "recoup":
                whole = node.module == "recoup"
                names = [f"recoup.{alias.name}" for alias in node.names] if whole else [node.module or ""]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name.startswith("recoup.")]
            for name in names:
                of = name.split(".")[1]
                if of != unit(path) and of != "__version__":
                    yield Import(str(path.relative_to(ROOT)), unit(path), of, node not in tree.body)


FOUND = tuple(imports())


def test_the_core_imports_no_domain_and_nothing_imports_the_commands() -> None:
    wrong = [
        one
        for one in FOUND
        if (one.of in DOMAINS | TOP and one.unit not in DOMAINS | TOP)
        or (one.of in TOP and one.unit not in TOP)
        or (one.unit in LIBRARIES and one.of in DOMAINS)
    ]
    assert wrong == []


def test_nothing_imports_in_a_circle() -> None:
    """Between packages, imports inside functions included."""
    edges: dict[str, set[str]] = {}
    for one in FOUND:
        edges.setdefault(one.unit, set()).add(one.of)

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            new = edges.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return seen

    assert [package for package in edges if package in reached(package)] == []


def test_no_import_hides_in_a_function() -> None:
    """Outside the commands, but for what is an extra."""
    hidden = [one for one in FOUND if one.late and one.unit != "cli" and (one.unit, one.of) not in EXTRAS]
    assert hidden == []


def test_the_product_imports_neither_its_demo_nor_its_bench() -> None:
    for path in ROOT.rglob("*.py"):
        if path.name != "bench.py":
            assert "import recoup_" not in path.read_text(encoding="utf-8"), path
            assert "from recoup_" not in path.read_text(encoding="utf-8"), path
