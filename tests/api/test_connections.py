"""Connections that ask nothing, or read nothing: each ends by itself, so that strangers cannot hold all there are."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import httpx2
import pytest

from recoup.api.connections import counted_as
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


def from_address(at: tuple[str, int], address: str) -> socket.socket:
    """A connection from one of the addresses of this machine: all of 127.0.0.0/8 are."""
    return socket.create_connection(at, source_address=(address, 0), timeout=10)


def answered(held: socket.socket) -> bytes:
    """What comes back to one request; empty: nothing."""
    with contextlib.suppress(OSError):
        held.sendall(GET + b"\r\n")
    with contextlib.suppress(OSError):
        return held.recv(100_000)
    return b""


def test_one_address_does_not_take_all_connections(db: Database) -> None:
    with served(db, per_address=3) as address, contextlib.ExitStack() as held:
        url = httpx2.URL(address)
        at = (url.host, url.port or 0)
        mine = [held.enter_context(from_address(at, "127.0.0.2")) for _ in range(3)]
        assert answered(mine[0]).startswith(b"HTTP/1.1 200")
        for _ in range(5):  # closed at once: nothing has to be sent, and nothing is held
            with from_address(at, "127.0.0.2") as more:
                refused = more.recv(100_000)
                assert refused.startswith(b"HTTP/1.1 503")
                assert b'"code":"connections_of_address"' in refused
                assert more.recv(100_000) == b""
        with from_address(at, "127.0.0.3") as other:
            assert answered(other).startswith(b"HTTP/1.1 200")
        assert answered(mine[1]).startswith(b"HTTP/1.1 200"), "those that are there stay"
        mine[2].close()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:  # its place is free as soon as its end is seen
            with from_address(at, "127.0.0.2") as again:
                if answered(again).startswith(b"HTTP/1.1 200"):
                    break
        else:
            pytest.fail("a place was lost")


def test_places_come_back_however_a_connection_ends(db: Database) -> None:
    """Many that are refused, reset, left in the middle or time out: afterwards there is as much room as before."""
    with served(db, per_address=5) as address:
        url = httpx2.URL(address)
        at = (url.host, url.port or 0)
        for number in range(60):
            with contextlib.suppress(OSError), from_address(at, "127.0.0.2") as one:
                one.sendall((b"", GET, GET + b"\r\n", b"\0\r\n\r\n")[number % 4])
                if number % 3 == 0:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
        time.sleep(0.5)
        with contextlib.ExitStack() as held:
            five = [held.enter_context(from_address(at, "127.0.0.2")) for _ in range(5)]
            assert [answered(one)[:12] for one in five] == [b"HTTP/1.1 200"] * 5


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff:0:0:1", True),  # one machine has a network of 64 bits to itself
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("fe80::1%eth0", "fe80::2", True),
        ("::1", "127.0.0.1", False),
    ],
)
def test_what_counts_as_one_address(one: str, other: str, together: bool) -> None:
    assert (counted_as(one) == counted_as(other)) is together
