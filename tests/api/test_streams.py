"""The events of a log over HTTP: pages and streams miss nothing, repeat nothing, and go on where a caller was."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import pytest
from fastapi import FastAPI

from recoup.api.app import build
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.service import keys
from recoup.service.roles import Role
from serving import calling

STREAM, EVENTS = "/v1/logs/recoup.error_event/stream", "/v1/logs/recoup.error_event/events"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recoup.api.streams.POLL_S", 0.02)
    monkeypatch.setattr("recoup.api.streams.CHECK_S", 0.05)


def recorded(api: httpx2.Client, many: int = 1) -> list[int]:
    errors = [{"table": "outreach.dol_errors", "message": "x", "outreach_id": str(uuid4())} for _ in range(many)]
    answer = api.post("/v1/errors/bulk", json={"errors": errors})
    return [one["error_id"] for one in answer.json()["items"]]


@contextmanager
def streamed(api: httpx2.Client, **asked: Any) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
    """Events of a stream: their ids, and what they are."""
    headers = asked.pop("headers", {})
    with api.stream("GET", STREAM, params=asked, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert "no-transform" in answer.headers["cache-control"]
        yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif not line:
            if "data" in fields:
                yield fields["id"], json.loads(fields["data"])
            fields = {}


def test_pages_of_a_log_follow_each_other_and_begin_where_they_ended(api: httpx2.Client) -> None:
    now = api.get(EVENTS, params={"start": "now"}).json()
    assert (now["items"], now["caught_up"]) == ([], True)
    ids, seen, after = recorded(api, 5), [], now["next"]
    for _ in range(4):
        page = api.get(EVENTS, params={"after": after, "limit": 2}).json()
        seen += [event["error_id"] for event in page["items"]]
        after = page["next"]
    assert sorted(seen) == ids
    assert page["caught_up"]
    assert [event["error_id"] for event in api.get(EVENTS, params={"after": now["next"]}).json()["items"]] == seen


def test_a_stream_goes_on_behind_the_event_that_its_caller_saw_last(api: httpx2.Client) -> None:
    with streamed(api, start="now") as events:
        ids = recorded(api, 4)
        first = [next(events) for _ in range(2)]
    ids += recorded(api)
    with streamed(api, headers={"Last-Event-ID": first[-1][0]}) as events:
        rest = [next(events) for _ in range(3)]
    assert sorted(event["error_id"] for _, event in first + rest) == ids


def test_a_slow_reader_gets_everything(api: httpx2.Client) -> None:
    with streamed(api, start="now") as events:
        ids = [one for _ in range(5) for one in recorded(api, 150)]
        assert sorted(next(events)[1]["error_id"] for _ in range(len(ids))) == ids


def test_streams_are_bounded_and_hold_no_connection(db: Database) -> None:
    with calling(db, connections=2) as api:
        opened = [api.stream("GET", STREAM, params={"start": "now"}) for _ in range(10)]
        try:
            assert [one.__enter__().status_code for one in opened] == [200] * 10
            assert api.get("/v1/pauses").status_code == 200
            answer = api.get(STREAM)
            assert (answer.status_code, answer.json()["code"]) == (429, "streams_used_up")
        finally:
            for one in opened:
                one.__exit__(None, None, None)


def test_places_of_callers_who_left_at_the_beginning_are_free_again(db: Database) -> None:
    """A thousand that are reset as soon as they have asked, and others that leave while they read."""
    asked = f"GET {STREAM}?start=now HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with calling(db) as api:
        at = (api.base_url.host, api.base_url.port or 0)
        for number in range(1000):
            with socket.create_connection(at) as left:
                left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
                left.sendall(asked)
                if number % 50 == 0:
                    left.recv(1000)
            if number % 50 == 0:
                assert api.get("/v1/pauses").status_code == 200
        deadline = time.monotonic() + 30
        with contextlib.ExitStack() as opened:
            for _ in range(10):  # as many as a caller may have
                while (answer := opened.enter_context(api.stream("GET", STREAM))).status_code != 200:
                    assert time.monotonic() < deadline, answer.read()
                    time.sleep(0.05)


def test_a_stream_that_nobody_began_to_read_has_no_place(db: Database) -> None:
    """Under a server whose socket is full: the caller has left before the first byte could be sent."""
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": STREAM, "raw_path": STREAM.encode(), "query_string": b"", "root_path": "",
        "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 1),
    }  # fmt: skip
    statuses = []

    async def ask(app: FastAPI) -> None:
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            message = {"type": "http.disconnect"} if asked else {"type": "http.request", "body": b""}
            asked = True
            return message

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                await anyio.sleep(10)

        await app({**scope, "state": {}}, receive, send)

    async def many() -> None:
        app = build(db, keyed=False)
        for _ in range(12):
            with anyio.move_on_after(10):
                await ask(app)

    anyio.run(many)
    assert statuses == [200] * 12


def test_a_stream_ends_with_its_key_and_with_the_service(fresh: Callable[..., Database]) -> None:
    database = fresh()
    with database.transaction(Authority.KEY_MANAGER, actor=Actor("human", "ada")) as tx:
        key = keys.add(tx, "viewer", Role.VIEWER)
    with calling(database, keyed=True, key=key.secret) as api:
        with streamed(api) as events:
            with database.transaction(Authority.KEY_MANAGER, actor=Actor("human", "ada")) as tx:
                keys.revoke(tx, key.key_id)
            assert list(events) == []
        assert api.get(EVENTS).status_code == 401


def test_a_service_that_stops_ends_its_streams(db: Database) -> None:
    ended = threading.Event()

    def read(at: str) -> None:
        with httpx2.stream("GET", f"{at}{STREAM}", params={"start": "now"}, timeout=30) as answer:
            begun.set()
            for _ in answer.iter_lines():
                pass
            ended.set()

    with calling(db) as api:
        begun = threading.Event()
        threading.Thread(target=read, args=(str(api.base_url).rstrip("/"),)).start()
        assert begun.wait(10)
    assert ended.wait(5)


@pytest.mark.parametrize("at", ["x", "WyJyZWNvdXAuZXJyb3JfZXZlbnQiLFsxLCJ4IixudWxsLDBdXQ"])
def test_a_position_of_nobody_is_refused(api: httpx2.Client, at: str) -> None:
    for path in (STREAM, EVENTS):
        answer = api.get(path, params={"after": at})
        assert answer.status_code == 422, answer.text
    assert api.get("/v1/logs/pg_authid/events").status_code == 404
