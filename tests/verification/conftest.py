"""Two worlds: an everyday one, and one in which every trick is tried."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from world.watched import WatchedWorld


@pytest.fixture(scope="module")
def world() -> Iterator[WatchedWorld]:
    with WatchedWorld(200) as world:
        yield world


@pytest.fixture(scope="module")
def hostile_world() -> Iterator[WatchedWorld]:
    with WatchedWorld(200, hostile=True) as world:
        yield world
