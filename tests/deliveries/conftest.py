"""A database of deliveries of each test's own: claims take whatever is due."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deliveries.post import Office, Receiver, home_of, receiving, webhook
from recoup.database.connection import Database
from recoup.settings import Settings


@pytest.fixture
def office(fresh: Callable[..., Database], settings: Settings, tmp_path: Path) -> Office:
    return Office(fresh(), home_of(tmp_path, settings))


@pytest.fixture
def receiver(office: Office, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """The receiver of the route ops, which the policy has."""
    with receiving() as there:
        monkeypatch.setenv("TEST_OPS_URL", there.url)
        office.routes(webhook())
        yield there
