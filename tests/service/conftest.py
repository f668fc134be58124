"""One database of the service for each module, with a simulated clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from recoup.database import embedded
from recoup.database.connection import Database
from recoup.settings import Settings
from service.desk import Desk


@pytest.fixture(scope="module")
def desk(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Desk]:
    with Database(server.uri(new_database()), settings) as database:
        yield Desk(database)
