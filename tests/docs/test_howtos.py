"""Quickstart, the first pipeline and every other how-to, run as printed.

One fresh home for all of them, in the order in which a new user reads them: a page meets what the ones before it left
in the database. Each page has a folder of its own. The how-tos in between: test_howtos_too.py, on another worker.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from following import FIRST, HOW_TOS, a_home, follow

PAGES = (*FIRST, *[page for page in HOW_TOS if page not in FIRST][::2])


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with a_home(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page: str, environment: dict[str, str], tmp_path: Path) -> None:
    follow(page, environment, tmp_path)
