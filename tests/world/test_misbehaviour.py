"""What the hostile do, seen on a bare socket: each really does it."""

from __future__ import annotations

import contextlib
import re
import socket
import zlib

import pytest

from recoup_demo.world import Kind
from recoup_demo.world.kinds import AnyKind
from world.asking import SHORT_S, Asking, received
from world.odd import Odd
from world.watched import WatchedWorld

MEGABYTE, GIGABYTE = 1 << 20, 1 << 30


def test_endless_drips_on_and_on(asking: Asking) -> None:
    """Byte by byte: no single wait is long."""
    with asking.bare(asking.some(Odd.ENDLESS).domain) as connection:
        head = received(connection, 1)
        assert b"200" in head
        assert b"Content-Length" not in head
        assert [len(connection.recv(100)) > 0 for _ in range(5)] == [True] * 5


def test_a_flood_announces_a_gigabyte_and_sends_it(asking: Asking) -> None:
    company = asking.some(Odd.FLOOD)
    with asking.bare(company.domain) as connection:
        got = received(connection, 20 * MEGABYTE)
    length = re.search(rb"Content-Length: (\d+)", got)
    assert length
    assert int(length[1]) > GIGABYTE
    assert company.domain.encode() in got[:500]  # within the least that is read of a page
    assert len(got) >= 20 * MEGABYTE


def test_an_unsized_flood_does_not_announce_itself(asking: Asking) -> None:
    with asking.bare(asking.some(Odd.FLOOD_UNSIZED).domain) as connection:
        got = received(connection, 20 * MEGABYTE)
    assert b"Content-Length" not in got[:1000]
    assert len(got) >= 20 * MEGABYTE


def test_a_bomb_expands_to_a_gigabyte(asking: Asking) -> None:
    """From less than a hundredth of that. Nobody asked for gzip."""
    with asking.bare(asking.some(Odd.GZIP_BOMB).domain) as connection:
        head, _, body = received(connection, GIGABYTE).partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head
    assert len(body) < GIGABYTE // 100
    expanding, length = zlib.decompressobj(16 + zlib.MAX_WBITS), 0
    while body:
        length += len(expanding.decompress(body, MEGABYTE))
        body = expanding.unconsumed_tail
    assert length >= GIGABYTE


def test_headers_never_end(asking: Asking) -> None:
    with asking.bare(asking.some(Odd.HEADER_FLOOD).domain) as connection:
        got = received(connection, 5 * MEGABYTE)
    assert got.startswith(b"HTTP/1.1 200")
    assert len(got) >= 5 * MEGABYTE
    assert b"\r\n\r\n" not in got


@pytest.mark.parametrize(("kind", "least"), [(Odd.NO_ANSWER, 0), (Kind.SLOW_SITE, 300)])
def test_the_slow_stop_and_hold_on(asking: Asking, kind: AnyKind, least: int) -> None:
    """One says nothing; the other stops in the middle of its page."""
    with asking.bare(asking.some(kind).domain) as connection:
        got = received(connection, least) if least else b""
        connection.settimeout(SHORT_S)
        with pytest.raises(TimeoutError):
            while connection.recv(1 << 16):
                pass
    assert len(got) >= least


def test_hanging_up_says_nothing(asking: Asking) -> None:
    with asking.bare(asking.some(Odd.HANG_UP).domain) as connection:
        assert received(connection, 1) == b""


def test_nonsense_is_not_http(asking: Asking) -> None:
    with asking.bare(asking.some(Odd.NOT_HTTP).domain) as connection:
        got = received(connection, 1000)
    assert got
    assert not got.startswith(b"HTTP/")


def test_nobody_listens_where_a_site_refuses(asking: Asking, world: WatchedWorld) -> None:
    (address,) = asking.addresses(asking.some(Kind.REFUSES).domain)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, world.ports.sites), timeout=5)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1"])
def test_the_canary_counts_whoever_comes(world: WatchedWorld, address: str) -> None:
    """All of the ways to this machine lead to it, on the port of the sites."""
    before = world.seen()["canary_connections"]
    with socket.create_connection((address, world.ports.sites), timeout=5) as astray:
        assert astray.recv(1) == b""
    assert world.seen()["canary_connections"] == before + 1


def test_many_hostile_ones_at_once_leave_the_world_answering(asking: Asking) -> None:
    """Who floods one visitor does not starve another."""
    kinds = (Odd.FLOOD, Odd.HEADER_FLOOD, Odd.ENDLESS, Odd.NO_ANSWER, Odd.GZIP_BOMB)
    with contextlib.ExitStack() as stack:
        for kind in kinds * 10:
            stack.enter_context(asking.bare(asking.some(kind).domain))
        assert asking.site(asking.some(Kind.GOOD).domain).status_code == 200
        assert asking.addresses(asking.some(Kind.GOOD).domain)


def test_the_confused_visitor_is_shown_out(world: WatchedWorld) -> None:
    """A request without end, and one that makes no sense: the connection closes."""
    for said in (b"GET /" + b"x" * 100_000, b"what?\r\n\r\n"):
        with socket.create_connection(("127.77.1.1", world.ports.sites), timeout=5) as visitor:
            visitor.sendall(said)
            with contextlib.suppress(ConnectionResetError):
                assert visitor.recv(1) == b""


def test_requests_in_a_row_are_answered_in_a_row(asking: Asking, world: WatchedWorld) -> None:
    """Without waiting for the answers in between."""
    domains = [company.domain for company in asking.all(Kind.ERROR_PAGE)]
    with socket.create_connection(("127.77.1.1", world.ports.sites), timeout=5) as visitor:
        for domain in domains[:-1]:
            visitor.sendall(f"GET / HTTP/1.1\r\nHost: {domain}\r\n\r\n".encode())
        visitor.sendall(f"GET / HTTP/1.1\r\nHost: {domains[-1]}\r\nConnection: close\r\n\r\n".encode())
        got = received(visitor, MEGABYTE).decode()
    assert re.findall(r"went wrong at (\S+)\.</p>", got) == domains
