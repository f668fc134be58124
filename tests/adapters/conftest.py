"""A database of errors for each module, as a client of the library and as its hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hub import Hub
from recoup.client import Client
from recoup.database import embedded
from recoup.settings import Settings


@pytest.fixture(scope="module")
def client(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Client]:
    with Client(server.uri(new_database()), settings) as client:
        yield client


@pytest.fixture(scope="module")
def hub(client: Client) -> Hub:
    return Hub(client)
