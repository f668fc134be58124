"""The pages made from the program say what the program does; the others exist and link to what is there."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import docs  # noqa: E402 - the module is in tools

REFUSALS = ROOT / "docs/reference/refusals.md"
CLOSES = {")": "(", "]": "[", "}": "{", ">": "<"}
PAGES = [ROOT / "README.md", ROOT / "ROADMAP.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_pages_made_from_the_program_are_up_to_date() -> None:
    """Lifecycles, settings, refusals, commands, duties. `make docs` writes them."""
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
    """A code is raised by the program with one kind of refusal only, and each is in the reference."""
    kinds: dict[str, set[str]] = {}
    for code, kind, _ in docs.raised():
        kinds.setdefault(code, set()).add(kind)
    reference = REFUSALS.read_text(encoding="utf-8")
    for code in kinds:
        assert f"`{code}`" in reference
    assert {code: found for code, found in kinds.items() if len(found) > 1} == {}
    assert len(kinds) > 20


def unfinished(line: str) -> str:
    """What a line opens and does not close, or closes and did not open; or the whole line, if it only trails off."""
    if line.strip("| ").endswith("| …"):
        return line
    left: list[str] = []
    for sign in re.sub(r"(?<=\w)'(?=\w)", "", line):  # an apostrophe opens nothing
        if sign in CLOSES.values() or (sign in "\"'`" and sign not in left):
            left.append(sign)
        elif (sign in CLOSES or sign in "\"'`") and (not left or left.pop() != CLOSES.get(sign, sign)):
            return line
    return "".join(left)


def test_every_refusal_is_complete() -> None:
    """No next step is a fragment of source, or nothing."""
    lines = REFUSALS.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if unfinished(line)] == []
    for fragment in ("| `a` | Refused | Checks are <join(known>. |", "| `a` | Refused | … |", "| `a` | Refused | 'b |"):
        assert unfinished(fragment)


@pytest.mark.parametrize(
    ("source", "sentences"),
    [
        ("f'{error.table}/{rows[0]!r}: {facts[\"why\"]}, {most:,}'", ["\\<table>/\\<rows>: \\<why>, \\<most>"]),
        ("f'One of {\", \".join(sorted(known))}, {text.strip()[:50]}'", ["One of \\<known>, \\<text>"]),
        ("'; '.join(f'{one.key}: {one.allowed}' for one in wrong) + '.'", ["\\<key>: \\<allowed>."]),
        ("f'Did you mean {near[0]}?' if near else 'a | b'", ["Did you mean \\<near>?", "a \\| b"]),
        ("('a' if one else 'b') + (', c.' if two else '.')", ["a, c.", "a.", "b, c.", "b."]),
        ("f'First {here}. ' * bool(here) + f'Then {there}.'", ["First \\<here>. Then \\<there>.", "Then \\<there>."]),
        ("said", ["\\<said>"]),
    ],
)
def test_a_next_step_is_read_from_its_source(source: str, sentences: list[str]) -> None:
    """Every sentence that it can come to; with a short name for what is filled in."""
    assert docs.in_words(ast.parse(source, mode="eval").body) == sentences


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
