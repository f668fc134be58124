"""A database of runs for each module: claims and sweeps take whatever there is, so modules must not share one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from recoup.client import Client
from recoup.database import embedded
from recoup.settings import Settings


@pytest.fixture(scope="module")
def client(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Client]:
    with Client(server.uri(new_database()), settings) as one:
        yield one
