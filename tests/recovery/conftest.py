"""A database for each test of recovery: subscriptions, confidence and the clock are of the whole database."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recoup.database.connection import Database
from recovery.stage import Stage


@pytest.fixture
def stage(fresh: Callable[..., Database]) -> Stage:
    return Stage(fresh())
