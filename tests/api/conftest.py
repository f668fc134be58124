"""One API without keys over a database of these tests, for those that need no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest

from recoup.database import embedded
from recoup.database.connection import Database
from recoup.settings import Settings
from serving import calling


@pytest.fixture(scope="session")
def database_name(new_database: Callable[..., str]) -> str:
    """One of their own: they make operations and pauses, of which other tests have none."""
    return new_database(keep=True)


@pytest.fixture(scope="session")
def db(server: embedded.Server, settings: Settings, database_name: str) -> Iterator[Database]:
    with Database(server.uri(database_name), settings) as database:
        yield database


@pytest.fixture(scope="module")
def api(db: Database) -> Iterator[httpx2.Client]:
    with calling(db) as client:
        yield client
