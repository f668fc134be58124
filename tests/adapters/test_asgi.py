"""The middleware for ASGI, called as a server calls it."""

from __future__ import annotations

import asyncio
import threading
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from hub import DOL, LOG, Hub
from recoup.adapters.asgi import RecordFailures
from recoup.client import Client


async def failing(scope: Any, receive: Any, send: Any) -> None:
    scope["route"] = SimpleNamespace(path="/companies/{company}")  # as Starlette leaves it
    raise TimeoutError("the registry does not answer")


async def fine(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "done"})


def request(path: str, **more: Any) -> dict[str, Any]:
    headers = [(b"authorization", b"Bearer abcdefghijklmnop")]
    return {"type": "http", "method": "GET", "path": path, "query_string": b"key=123", "headers": headers, **more}


def call(app: Any, *scopes: dict[str, Any]) -> None:
    async def send(_: Any) -> None: ...

    async def serve() -> None:
        for scope in scopes:
            await app(scope, None, send)

    asyncio.run(serve())


def test_an_exception_is_recorded_and_raised_again(hub: Hub, client: Client) -> None:
    entity = uuid.uuid4()
    app = RecordFailures(failing, DOL, client, entity=lambda scope: scope["path"].split("/")[2])
    with pytest.raises(TimeoutError, match="does not answer"):
        call(app, request(f"/companies/{entity}"))
    app._background.flush()
    row = hub.row_of(entity)
    assert (row["error_code"], row["work_key"]) == ("TimeoutError", "GET /companies/{company}")
    payload = row["payload"]
    assert (payload.keys(), payload["method"]) == ({"method", "route", "traceback"}, "GET")
    assert "Bearer" not in str(row)
    assert "key=123" not in str(row)


def test_the_end_of_the_lifespan_waits_for_what_is_not_recorded_yet(hub: Hub, client: Client) -> None:
    async def app_(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            raise KeyError("ein")

    app = RecordFailures(app_, LOG, client)
    path = f"/{uuid.uuid4()}"
    with pytest.raises(KeyError):
        call(app, request(path))
    call(app, {"type": "lifespan"})
    (row,) = hub.rows("select payload->>'path' from recoup.error where payload->>'path' = %s", path)
    assert row == (path,)


def test_the_event_loop_does_not_wait_for_the_database(client: Client) -> None:
    """The exception is raised again while the thread that records is busy."""
    resume = threading.Event()
    app = RecordFailures(failing, LOG, client)
    app._background.put(lambda: resume.wait(60))
    with pytest.raises(TimeoutError):
        call(app, request("/"))
    assert not resume.is_set()
    assert not app._background.flush(0.01), "it is not recorded yet"
    resume.set()
    assert app._background.flush()


def test_a_request_that_succeeds_or_whose_entity_is_unknown(hub: Hub, client: Client) -> None:
    call(RecordFailures(fine, DOL, client), request("/"))
    app = RecordFailures(failing, DOL, client, entity=lambda scope: scope["no such key"])
    (before,) = hub.rows("select count(*) from public.shq_orphan_errors")
    with pytest.raises(TimeoutError):
        call(app, request("/"))
    app._background.flush()
    (after,) = hub.rows("select count(*) from public.shq_orphan_errors")
    assert after[0] == before[0] + 1
