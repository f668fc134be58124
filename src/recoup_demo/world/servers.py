"""All servers of the world in one event loop: DNS, sites and directory."""

import asyncio
import json
import os
import signal
import socket
import threading
from typing import Any, NamedTuple

from recoup.refusals import InputRefused
from recoup_demo.world.directory import PATH
from recoup_demo.world.dns_server import Names
from recoup_demo.world.http_server import MAX_HEAD_BYTES, Service
from recoup_demo.world.present import DIRECTORY_ADDRESS, DNS_ADDRESS, NETWORK, SITES_ADDRESS

BACKLOG = 1024
QUERY_BYTES_WAITING = 4 << 20


class Ports(NamedTuple):
    """Of DNS, sites and directory. Where 0 is asked for, any free one is taken."""

    dns: int
    sites: int
    directory: int

    @property
    def policy(self) -> dict[str, Any]:
        """What the policy's section [gate.verification] says to verify against this world."""
        return {
            "nameservers": [f"{DNS_ADDRESS}:{self.dns}"],
            "site_urls": [f"http://{{domain}}:{self.sites}/"],
            "directory": f"http://{DIRECTORY_ADDRESS}:{self.directory}{PATH}?domain={{domain}}&name={{name}}",
            "allowed_networks": [NETWORK],
        }


async def serve(names: Names, sites: Service, directory: Service, ports: Ports) -> None:
    """Serve until standard input ends, or SIGTERM or SIGINT comes. Prints one line of JSON when it is ready."""
    loop = asyncio.get_running_loop()
    udp = bound(DNS_ADDRESS, ports.dns, socket.SOCK_DGRAM)
    # A query that finds no room is lost, and its company would be taken for one whose resolver is silent.
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, QUERY_BYTES_WAITING)
    tcp = {sites: bound(SITES_ADDRESS, ports.sites), directory: bound(DIRECTORY_ADDRESS, ports.directory)}
    chosen = Ports(*(taken.getsockname()[1] for taken in (udp, *tcp.values())))
    sites.present.site_port = chosen.sites
    await loop.create_datagram_endpoint(lambda: names, sock=udp)
    for service, taken in tcp.items():
        await asyncio.start_server(service.converse, sock=taken, backlog=BACKLOG, limit=MAX_HEAD_BYTES)

    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    threading.Thread(target=_watch_input, args=(loop, stop), daemon=True).start()
    print(json.dumps({"ports": list(chosen), "policy": chosen.policy}), flush=True)
    await stop.wait()


def _watch_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Stop when the process that started the world closes its end. By descriptor: it may be a file or a terminal."""
    while os.read(0, 4096):
        pass
    loop.call_soon_threadsafe(stop.set)


def bound(address: str, port: int, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
    found = socket.socket(socket.AF_INET, kind)
    if kind is socket.SOCK_STREAM:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address, port))
    except OSError as error:
        found.close()
        raise InputRefused(
            "world_port_taken",
            f"Port {port} of {address} cannot be had: {error.strerror}.",
            "Choose other ports, or use the world that runs there already.",
            address=address,
            port=port,
        ) from error
    found.setblocking(False)
    return found
