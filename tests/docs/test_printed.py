"""Every command, file and Python block of README, quickstart and the how-tos, run as printed.

One fresh home for all pages, in the order in which a new user reads them: a page meets what the ones before it left in
the database. Each page has a folder of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from printed import Command, File, matches, steps
from reader import Reader

ROOT = Path(__file__).parents[2]
FIRST = ("README.md", "docs/quickstart.md", "docs/howto/your-first-pipeline.md")
REST = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs/howto").glob("*.md"))
PAGES = (*FIRST, *(page for page in REST if page not in FIRST))
# What calls these tests; and what takes a quarter of an hour: tests/bench run it, with what it needs.
ELSEWHERE = ("make test", "make bench", "recoup bench", "pip install")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What a new user has: recoup on the path, and a home in which nothing is yet."""
    home = tmp_path_factory.mktemp("home")
    kept = {name: os.environ[name] for name in ("LANG", "RECOUP_SERVER_BIN") if name in os.environ}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found = {**kept, "PATH": path, "HOME": str(home), "RECOUP_HOME": str(home / "recoup"), "COLUMNS": "100"}
    yield found
    subprocess.run(["recoup", "db", "stop"], env=found, check=True)
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page: str, environment: dict[str, str], tmp_path: Path) -> None:
    with Reader(tmp_path, environment) as reader:
        for step in steps(ROOT / page):
            at = f"{page}:{step.line}"
            if isinstance(step, File):
                reader.write(step.name, step.text)
            elif isinstance(step, Command):
                if not step.text.startswith(ELSEWHERE):
                    in_checkout = step.text.startswith("make ")
                    check(step, *reader.run(f"(cd {ROOT}\n{step.text}\n)" if in_checkout else step.text), at)
            else:
                status, printed = reader.execute(step.text)
                assert status == 0, f"{at}\n{printed}"
                assert step.output is None or matches(step.output, printed), f"{at}\n{printed}"


def check(step: Command, status: int, printed: str, at: str) -> None:
    told = f"{at}: {step.text}\nexit status {status}\n{printed}"
    assert re.search(r"^Traceback \(most recent", printed, re.MULTILINE) is None, told
    assert (status != 0) is step.fails, told
    assert step.status in (None, status), told
    if step.output is not None:
        assert matches(step.output, printed), f"{told}\nthe page shows:\n{step.output}"


def test_a_first_program_is_short() -> None:
    (program,) = (
        s for s in steps(ROOT / "docs/howto/your-first-pipeline.md") if isinstance(s, File) and s.name[-3:] == ".py"
    )
    assert len([line for line in program.text.splitlines() if line.strip()]) <= 40


def test_what_a_page_shows_is_compared() -> None:
    """The comparison can fail."""
    assert matches("a  b\n…\n3 errors … done", "a b\nx\ny\n3 errors of 7 done\n")
    assert not matches("a\n3 errors", "a\n4 errors\n")
    assert not matches("a", "a\nb\n")
