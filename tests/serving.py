"""API and console as tests call them: served on loopback, over a real database."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2

from recoup.api.app import build
from recoup.api.connections import PER_ADDRESS
from recoup.api.monitoring import monitored
from recoup.api.serving import address, bound, serve
from recoup.console.site import console
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.database.failures import options_of
from recoup.domains import DOMAINS
from recoup.service import logins
from recoup.service.logins import Logins

_MADE: set[int] = set()  # by the process of their server


def through(database: Database) -> Logins:
    """A database of the tests' server through the logins of the API, as `recoup api` makes them there."""
    server = embedded.status(database.settings)
    assert server is not None
    if server.pid not in _MADE:
        with contextlib.closing(connect(server.uri(str(name_of(database)), admin=True), database.settings)) as admin:
            logins.make(admin, database.conninfo)
        _MADE.add(server.pid)
    return Logins(database, logins.of_embedded(database.conninfo))


def name_of(database: Database) -> object:
    return options_of(database.conninfo)["dbname"]


@contextlib.contextmanager
def served(
    database: Database,
    *,
    keyed: bool = False,
    connections: int = 8,
    per_address: int = PER_ADDRESS,
    host: str = "127.0.0.1",
    with_metrics: bool = False,
) -> Iterator[str]:
    """The address of the API over a database, while the block runs."""
    own = Database(database.conninfo, replace(database.settings, pool_max=connections, statement_timeout_ms=10_000))
    stop, ready = threading.Event(), threading.Event()
    with own, bound(host, 0) as listening:
        also = (console(), *([monitored(own, DOMAINS)] if with_metrics else ()))
        app = build(own, keyed=keyed, logins=through(own), also=also)
        more = {"stop": stop, "ready": ready.set, "per_address": per_address}
        thread = threading.Thread(target=serve, args=(app, listening), kwargs=more)
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
