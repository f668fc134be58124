"""ASGI middleware that records exceptions which a request did not handle, and raises them again.

    app = RecordFailures(app, "public.shq_error_log")

Stored are method, route and traceback: no headers, no query, no body. A thread of its own records, so the event loop
never waits for the database. Works with every ASGI framework, and needs none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from recoup.adapters.reporting import CAPACITY, Background, Opened, asked_of, captured, key_of, report
from recoup.database.connection import Database

Scope: TypeAlias = MutableMapping[str, Any]
App: TypeAlias = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


class RecordFailures:
    """Records what an application raises.

    app: the application. table: the error table; one of schema public if requests have no entity. database: from
    ``recoup.connect()``; default: the one that the settings mean. entity: a function of the scope that returns the
    entity; it is called on the event loop. work_key: likewise; default: method and route, where the framework says
    which. capacity: how many failures may wait to be recorded; more are dropped, and counted in ``dropped``.
    """

    def __init__(
        self,
        app: App,
        table: str,
        database: Database | None = None,
        *,
        entity: Callable[[Scope], Any] | None = None,
        work_key: Callable[[Scope], str | None] | None = None,
        capacity: int = CAPACITY,
    ) -> None:
        self.app = app
        self._table, self._entity, self._work_key = table, entity, work_key or _work_key
        self._database = Opened(database)
        self._background = Background("recoup-asgi", capacity=capacity)

    @property
    def dropped(self) -> int:
        """How many failures were dropped in this process."""
        return self._background.dropped

    async def __call__(self, scope: Scope, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        """Serve a request, a websocket or the application's lifespan."""
        try:
            await self.app(scope, receive, send)
        except Exception as error:
            if scope["type"] in ("http", "websocket"):
                self._record(scope, error)
            raise
        finally:
            if scope["type"] == "lifespan":  # the server stops
                await asyncio.to_thread(self._background.flush)

    def _record(self, scope: Scope, error: Exception) -> None:
        work = asked_of(self._entity, self._work_key, scope)
        route = _route(scope)
        payload = {
            "method": scope.get("method", scope["type"].upper()),
            # A path may hold what only one person should know: it is stored where no route is known.
            **({"route": route} if route is not None else {"path": scope.get("path")}),
        }
        self._background.put(lambda: report(self._database, captured(self._table, error, payload=payload, **work)))


def _route(scope: Scope) -> str | None:
    """The route with its placeholders, as Starlette and FastAPI leave it in the scope."""
    found = getattr(scope.get("route"), "path", None)
    return f"{scope.get('root_path', '')}{found}" if isinstance(found, str) else None


def _work_key(scope: Scope) -> str | None:
    route = _route(scope)
    return None if route is None else key_of(f"{scope.get('method', scope['type'].upper())} {route}")
