"""Connections that ask nothing, or read nothing: each ends by itself, so that strangers cannot hold all there are."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import httpx2
import pytest

from recoup.database.connection import Database
from serving import served

GET = b"GET /v1/logs HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def at(db: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A service that answers two connections at once, and waits for none for long."""
    monkeypatch.setattr("recoup.api.serving.MAX_CONNECTIONS", 3)
    for name in ("HEAD_WITHIN_S", "KEEP_ALIVE_S", "READ_WITHIN_S"):
        monkeypatch.setattr(f"recoup.api.connections.{name}", 0.4)
    with served(db) as address:
        url = httpx2.URL(address)
        yield url.host, url.port or 0


@contextlib.contextmanager
def dripping(at: tuple[str, int], begun: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(at) as held:
        held.sendall(begun)
        yield held


def closed_after(held: socket.socket, *, drip: bytes) -> float:
    """Until when a connection is held by a client that sends a few bytes now and then."""
    begun = time.monotonic()
    held.settimeout(0.1)
    while time.monotonic() - begun < 5:
        try:
            held.sendall(drip)
            if held.recv(100_000) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begun


def status(at: tuple[str, int]) -> int:
    return httpx2.get(f"http://{at[0]}:{at[1]}/v1/logs").status_code


def test_connections_that_send_nothing_make_room_for_others(at: tuple[str, int]) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(3):
            held.enter_context(socket.create_connection(at))
        assert status(at) == 503
        time.sleep(0.8)
        assert status(at) == 200


@pytest.mark.parametrize(
    ("begun", "drip"),
    [
        (GET, b"x-a: b\r\n"),  # headers that never end
        (GET + b"\r\n", b"\r\n"),  # a second request that does not come
        (b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n", b"x"),  # a refused body
    ],
)
def test_single_bytes_do_not_hold_a_connection(at: tuple[str, int], begun: bytes, drip: bytes) -> None:
    with dripping(at, begun) as held:
        assert closed_after(held, drip=drip) < 3


def test_an_answer_that_nobody_reads_is_not_kept(at: tuple[str, int]) -> None:
    with socket.socket() as unread:
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        unread.connect(at)
        asked = b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        unread.sendall(asked * 100)
        time.sleep(1)
        with pytest.raises(OSError):  # noqa: PT011 - reset or broken, as the kernel sees it
            for _ in range(1000):
                unread.sendall(asked)
                time.sleep(0.01)


def test_a_client_that_leaves_in_the_middle_of_its_body_is_not_a_bug_in_the_log(
    at: tuple[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    head = (
        b"POST /v1/errors HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\nContent-Type: application/json\r\n\r\n"
    )
    with socket.create_connection(at) as left:
        left.sendall(head + b"{")
        time.sleep(0.3)
        left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
    time.sleep(0.3)
    assert status(at) == 200
    assert "request failed" not in caplog.text
