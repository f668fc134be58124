"""A database of its own for each history: time moves in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from recoup.client import Client
from recoup.database import embedded
from recoup.settings import Settings
from why.playing import Recorder


@pytest.fixture
def recorder(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Recorder]:
    with Client(server.uri(new_database()), settings) as client:
        yield Recorder(client)
