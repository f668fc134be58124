"""A database of errors for each module: claims and sweeps take whatever is due, so modules must not share one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hub import Hub, NewHub
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.settings import Settings


@pytest.fixture(scope="module")
def hub(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Hub]:
    with Database(server.uri(new_database()), settings) as database:
        yield Hub(database)


@pytest.fixture
def new_hub(fresh: Callable[..., Database]) -> NewHub:
    """Makes a hub with a database of the test's own."""
    return lambda: Hub(fresh())
