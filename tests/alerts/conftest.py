"""A database of alerts of each test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from alerts.desk import Desk
from deliveries.post import home_of
from recoup.database.connection import Database
from recoup.settings import Settings


@pytest.fixture
def desk(fresh: Callable[..., Database], settings: Settings, tmp_path: Path) -> Desk:
    return Desk(fresh(), home_of(tmp_path, settings))
