"""The how-tos that test_howtos.py leaves out, run as printed in a home of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from following import FIRST, HOW_TOS, a_home, follow

PAGES = tuple([page for page in HOW_TOS if page not in FIRST][1::2])


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A home with the server and the schema, as all pages assume."""
    with a_home(tmp_path_factory.mktemp("home")) as found:
        subprocess.run(["recoup", "migrate"], env=found, check=True, stdout=subprocess.DEVNULL)
        yield found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page: str, environment: dict[str, str], tmp_path: Path) -> None:
    follow(page, environment, tmp_path)
