"""`make test-adapters`: the adapters against the real packages, each in an environment of its own.

Without the package, as in `make test`, a module is not collected.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hub import Hub
from recoup.client import Client
from recoup.database import embedded
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
from printed import File, steps  # with the tests of the pages

PACKAGES = {"test_airflow.py": "airflow", "test_dagster.py": "dagster", "test_dbt.py": "dbt"}
collect_ignore = [file for file, package in PACKAGES.items() if importlib.util.find_spec(package) is None]
PAGE = Path(__file__).parents[2] / "docs/howto/airflow-and-dagster.md"


@pytest.fixture
def client(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Client]:
    """A database of the test's own, on real time; the settings of this process and its children mean it."""
    with Client(server.uri(new_database(simulated_from=None)), settings) as client:
        monkeypatch.setenv("RECOUP_DSN", client.conninfo)
        yield client


@pytest.fixture
def hub(client: Client) -> Hub:
    return Hub(client)


@pytest.fixture
def printed(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a file as the page prints it, but that it fails only while a file `broken` is there."""

    def write(name: str) -> Path:
        (page,) = (step for step in steps(PAGE) if isinstance(step, File) and step.name == name)
        fails = 'raise ConnectionError("the registry does not answer")'
        assert fails in page.text
        guarded = f"if __import__('os').path.exists({str(tmp_path / 'broken')!r}): {fails}"
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(page.text.replace(fails, guarded), encoding="utf-8")
        (tmp_path / "broken").touch()
        return tmp_path

    return write
