"""A database for each module, or for each test: subscriptions, confidence and the clock are of a whole database."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from recoup.database import embedded
from recoup.database.connection import Database
from recoup.settings import Settings
from recovery.stage import NewStage, Stage


@pytest.fixture(scope="module")
def stage(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Stage]:
    """The stage of a module. When its tests are done, nothing on it may be broken."""
    with Database(server.uri(new_database()), settings) as database:
        shared = Stage(database)
        yield shared
        shared.whole()


@pytest.fixture
def new_stage(fresh: Callable[..., Database]) -> NewStage:
    """Makes a stage with a database of the test's own."""
    return lambda: Stage(fresh())
