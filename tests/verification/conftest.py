"""Two worlds: an everyday one, and one in which every trick is tried."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recoup.world import World


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(200) as world:
        yield world


@pytest.fixture(scope="module")
def hostile_world() -> Iterator[World]:
    with World(200, hostile=True) as world:
        yield world
