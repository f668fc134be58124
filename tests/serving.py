"""The API as tests call it: served on loopback, over a real database."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2

from recoup.api.app import build
from recoup.api.monitoring import monitored
from recoup.api.serving import address, bound, serve
from recoup.database.connection import Database
from recoup.domains import DOMAINS


@contextlib.contextmanager
def served(
    database: Database,
    *,
    keyed: bool = False,
    connections: int = 8,
    host: str = "127.0.0.1",
    with_metrics: bool = False,
) -> Iterator[str]:
    """The address of the API over a database, while the block runs."""
    own = Database(database.conninfo, replace(database.settings, pool_max=connections, statement_timeout_ms=10_000))
    stop, ready = threading.Event(), threading.Event()
    with own, bound(host, 0) as listening:
        app = build(own, keyed=keyed, also=[monitored(own, DOMAINS)] if with_metrics else ())
        thread = threading.Thread(target=serve, args=(app, listening), kwargs={"stop": stop, "ready": ready.set})
        thread.start()
        try:
            assert ready.wait(10)
            yield address(listening)
        finally:
            stop.set()
            thread.join()


@contextlib.contextmanager
def calling(database: Database, *, key: str | None = None, **more: Any) -> Iterator[httpx2.Client]:
    """A client of such an API."""
    with served(database, **more) as at:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with httpx2.Client(base_url=at, headers=headers, timeout=30) as client:
            yield client
