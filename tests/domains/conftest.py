"""A database of the product with one domain more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from domains.parcels.manifest import PARCELS
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.domains import DOMAINS
from recoup.settings import Settings

EXTENDED = (*DOMAINS, PARCELS)


@pytest.fixture(scope="session")
def database_name(new_database: Callable[..., str]) -> str:
    return new_database(domains=EXTENDED, keep=True)


@pytest.fixture(scope="session")
def db(server: embedded.Server, settings: Settings, database_name: str) -> Iterator[Database]:
    """The everyday login. Without one of its own, whoever asks first would choose the database of all tests."""
    with Database(server.uri(database_name), settings) as database:
        yield database


@pytest.fixture(scope="session")
def ground(server: embedded.Server, settings: Settings, database_name: str) -> Iterator[Transaction]:
    """A superuser's connection in autocommit, one for all."""
    with contextlib.closing(connect(server.uri(database_name, admin=True), settings)) as connection:
        yield connection


@pytest.fixture
def own(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Database]:
    """A database of the test's own."""
    with Database(server.uri(new_database(domains=EXTENDED)), settings) as database:
        yield database
