"""A database of errors for each test: a background task goes on with every operation that it finds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hub import Hub
from recoup.database.connection import Database


@pytest.fixture
def hub(fresh: Callable[..., Database]) -> Hub:
    return Hub(fresh())
