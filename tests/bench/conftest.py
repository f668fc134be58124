"""The bench has a server to itself: it counts what is written to the WAL, and which databases there are."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from recoup.database import embedded
from recoup.settings import Settings
from servers import started


@pytest.fixture(scope="session")
def settings(settings: Settings) -> Iterator[Settings]:
    home = tempfile.mkdtemp(prefix="recoup-bench-")
    own = replace(settings, home=Path(home))
    yield own
    embedded.stop(own)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def server(settings: Settings) -> embedded.Server:
    return started(settings)
