"""A hostile world that the tests of a module share, and a client that keeps to itself."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from world.asking import Asking
from world.watched import WatchedWorld


@pytest.fixture(scope="module")
def world() -> Iterator[WatchedWorld]:
    with WatchedWorld(400, hostile=True) as world:
        yield world


@pytest.fixture(scope="session")
def any_client() -> Iterator[httpx2.Client]:
    with httpx2.Client(trust_env=False, timeout=10) as client:
        yield client


@pytest.fixture
def client(any_client: httpx2.Client) -> httpx2.Client:
    """A client that remembers no other test's cookies."""
    any_client.cookies.clear()
    return any_client


@pytest.fixture
def asking(world: WatchedWorld, client: httpx2.Client) -> Asking:
    return Asking(world, client)
