"""A database and a raw sink for each test of the work on partitions: a dispatch takes whatever is due."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from partitions.plant import Plant, planted
from recoup.database import embedded
from recoup.partitions import working
from recoup.settings import Settings


@pytest.fixture
def plant(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, tmp_path: Path
) -> Iterator[Plant]:
    one = planted(server.uri(new_database()), settings, tmp_path / "sink")
    with one.db:
        yield one
    working.release(one.name)
