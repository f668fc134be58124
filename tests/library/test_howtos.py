"""The Python blocks of the how-tos, run as they are printed, page by page; and what they print."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import recoup
from recoup.database import embedded
from recoup.settings import Settings

HOWTOS = Path(__file__).parents[2] / "docs/howto"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
PREPARED = re.compile(r'^\$ psql "\$\(recoup db uri --admin\)" -qc "(.*)"$', re.MULTILINE)
MAX_LINES = 45  # of the first program, with its empty lines; 40 with code


@pytest.mark.parametrize("name", ["record-and-retry-failures", "ask-before-you-promote", "your-first-pipeline"])
def test_python_blocks_do_what_the_page_says(
    name: str,
    new_database: Callable[..., str],
    server: embedded.Server,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = (HOWTOS / f"{name}.md").read_text(encoding="utf-8")
    if "recoup.Worker(db, handlers={TABLE" in page and not hasattr(recoup, "Worker"):
        pytest.skip("recoup.Worker is not there yet")
    database = new_database(simulated_from=None)
    monkeypatch.setenv("RECOUP_DSN", server.uri(database))
    monkeypatch.setenv("RECOUP_HOME", str(settings.home))
    with psycopg.connect(server.uri(database, admin=True), autocommit=True) as admin:
        for statements in PREPARED.findall(page):
            admin.execute(statements)
    names: dict[str, object] = {"__name__": "page"}
    try:
        for code, expected in BLOCK.findall(page):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, f"{name}.md", "exec"), names)
            assert not expected or printed.getvalue() == expected
    finally:
        db = names.get("db")
        if isinstance(db, recoup.Client):
            db.close()


def test_a_first_program_is_short() -> None:
    ((code, _),) = BLOCK.findall((HOWTOS / "your-first-pipeline.md").read_text(encoding="utf-8"))
    assert len([line for line in code.splitlines() if line.strip()]) <= 40
    assert len(code.splitlines()) <= MAX_LINES
