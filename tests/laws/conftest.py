"""The laws have a database of their own: some probes commit, and a run may be asked to go without one guard."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

import pytest

from laws.catalogue import named, take_away
from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.settings import Settings

# A guard, as in "trigger cl.gate_zero_attempt a_guard_moves": it is taken away, and some probe has to notice.
WITHOUT_VARIABLE = "TEST_RECOUP_WITHOUT"


@pytest.fixture(scope="session")
def database_name(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> str:
    name = new_database(keep=True)
    without = os.environ.get(WITHOUT_VARIABLE)
    if without:
        with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
            take_away(connection, [named(connection, without)])
    return name


@pytest.fixture(scope="session")
def ground(server: embedded.Server, settings: Settings, database_name: str) -> Iterator[Transaction]:
    """A superuser's connection in autocommit, one for all: to log in takes longer than most probes."""
    with contextlib.closing(connect(server.uri(database_name, admin=True), settings)) as connection:
        yield connection
