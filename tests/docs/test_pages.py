"""The pages made from the program say what the program does; the others exist and link to what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ROADMAP.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_pages_made_from_the_program_are_up_to_date() -> None:
    """Lifecycles, settings, refusals and commands. `make docs` writes them."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "docs.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """A relative link names a file or folder that exists."""
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_refusal_code_means_one_thing() -> None:
    """A code is raised with one kind of refusal only, and each is in the reference."""
    sys.path.insert(0, str(ROOT / "tools"))
    import docs

    kinds: dict[str, set[str]] = {}
    for code, kind, _ in docs.raised():
        kinds.setdefault(code, set()).add(kind)
    reference = (ROOT / "docs/reference/refusals.md").read_text(encoding="utf-8")
    for code in kinds:
        assert f"`{code}`" in reference
    assert len(kinds) > 20


def test_every_sqlstate_raised_in_sql_is_known() -> None:
    """Our SQLSTATEs map to codes in one table, and nothing in it is dead."""
    from recoup.refusals import LAWS

    used = {
        state
        for file in (ROOT / "src").rglob("*.sql")
        if file.name != "schema.sql"
        for state in re.findall(r"'(RC\d{3})'", file.read_text(encoding="utf-8"))
    }
    assert used == set(LAWS)
