"""All servers of the world in one event loop: DNS, sites, directory, and the canary that nobody should touch."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from recoup.refusals import InputRefused
from recoup.world import dns_server
from recoup.world.directory import PATH, Directory
from recoup.world.http_server import Connection
from recoup.world.present import CANARY_ADDRESS, DIRECTORY_ADDRESS, DNS_ADDRESS, NETWORK, SITES_ADDRESS, Present
from recoup.world.sites import Sites

TRIES_MOST = 50
BACKLOG = 1024
QUERY_BYTES_WAITING = 4 << 20


class Ports(NamedTuple):
    dns: int
    sites: int
    directory: int

    @property
    def policy(self) -> dict[str, Any]:
        """What the policy's section [gate.verification] says to look at this world."""
        return {
            "nameservers": [f"{DNS_ADDRESS}:{self.dns}"],
            "site_urls": [f"http://{{domain}}:{self.sites}/"],
            "directory": f"http://{DIRECTORY_ADDRESS}:{self.directory}{PATH}?domain={{domain}}&name={{name}}",
            "allowed_networks": [NETWORK],
        }


class Canary(asyncio.Protocol):
    """Counts who comes, and closes."""

    def __init__(self, present: Present) -> None:
        self._present = present

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._present.seen.canary_connections += 1
        transport.close()


async def serve(present: Present, ports: Ports | None, *, ready: Callable[[Ports], None]) -> None:
    """Serve until standard input ends, or SIGTERM or SIGINT comes."""
    loop = asyncio.get_running_loop()
    # The canary has the port of the sites, so that a wrong address is the only thing wrong with it.
    dns_tcp, dns_udp = _pair(ports and ports.dns, (DNS_ADDRESS, socket.SOCK_STREAM), (DNS_ADDRESS, socket.SOCK_DGRAM))
    canary, site = _pair(
        ports and ports.sites, (CANARY_ADDRESS, socket.SOCK_STREAM), (SITES_ADDRESS, socket.SOCK_STREAM)
    )
    directory = _bound(DIRECTORY_ADDRESS, ports.directory if ports else 0, socket.SOCK_STREAM)
    chosen = Ports(dns=_port(dns_udp), sites=_port(site), directory=_port(directory))
    present.site_port = chosen.sites

    sites, entries = Sites(present), Directory(present)
    await loop.create_datagram_endpoint(lambda: dns_server.OverUdp(present), sock=dns_udp)
    await asyncio.start_server(lambda r, w: dns_server.over_tcp(present, r, w), sock=dns_tcp, backlog=BACKLOG)
    await loop.create_server(lambda: Connection(sites), sock=site, backlog=BACKLOG)
    await loop.create_server(lambda: Connection(entries), sock=directory, backlog=BACKLOG)
    await loop.create_server(lambda: Canary(present), sock=canary, backlog=BACKLOG)

    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    threading.Thread(target=_watch_input, args=(loop, stop), daemon=True).start()
    ready(chosen)
    await stop.wait()


def _watch_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Whoever started the world holds the other end. Read from the descriptor: it may be a file or a terminal too."""
    while os.read(0, 4096):
        pass
    loop.call_soon_threadsafe(stop.set)


def _pair(
    port: int | None, first: tuple[str, socket.SocketKind], second: tuple[str, socket.SocketKind]
) -> tuple[socket.socket, socket.socket]:
    """Two sockets with one port number: the given one, or any that is free for both."""
    for _ in range(1 if port else TRIES_MOST):
        one = _bound(first[0], port or 0, first[1])
        try:
            return one, _bound(second[0], _port(one), second[1])
        except InputRefused:
            one.close()
            if port:
                raise
    raise InputRefused("world_port_taken", f"No port is free for both of {first[0]} and {second[0]}.", "Try again.")


def _bound(address: str, port: int, kind: socket.SocketKind) -> socket.socket:
    bound = socket.socket(socket.AF_INET, kind)
    if kind is socket.SOCK_STREAM:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    else:
        # A query that finds no room is lost, and its company would be taken for one whose resolver is silent.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, QUERY_BYTES_WAITING)
    try:
        bound.bind((address, port))
    except OSError as error:
        bound.close()
        raise InputRefused(
            "world_port_taken",
            f"Port {port} of {address} cannot be had: {error.strerror}.",
            "Choose other ports, or use the world that runs there already.",
            address=address,
            port=port,
        ) from error
    bound.setblocking(False)
    return bound


def _port(bound: socket.socket) -> int:
    return int(bound.getsockname()[1])
