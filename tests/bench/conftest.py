"""The bench has a server to itself: it counts what is written to the WAL, and which databases there are."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from recoup.database import embedded
from recoup.settings import Settings
from recoup_bench.ground import migrated
from servers import removed, started


@pytest.fixture(scope="session")
def settings(settings: Settings) -> Iterator[Settings]:
    home = tempfile.mkdtemp(prefix="recoup-bench-")
    own = replace(settings, home=Path(home))
    yield own
    removed(own)


@pytest.fixture(scope="session", autouse=True)
def server(settings: Settings) -> embedded.Server:
    return started(settings)


@pytest.fixture(scope="session")
def template(settings: Settings, server: embedded.Server) -> Iterator[str]:
    """A migrated database to copy."""
    with migrated(settings) as name:
        yield name
