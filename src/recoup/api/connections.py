"""Connections of the API: none is held by a client that sends no request, or does not read its answer.

A process has a limited number of connections, and of them each address has a limited number. Without these limits a
stranger could open all of them, send nothing, and nobody else would be answered. They hold before a key is asked for.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections import Counter
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from recoup.api import problems
from recoup.refusals import ServerRefused

HEAD_WITHIN_S = 10.0  # for the headers of the first request of a connection
KEEP_ALIVE_S = 30  # between two requests
READ_WITHIN_S = 60.0  # for what waits to be read; a client that reads has room again before

# One line for each malformed request would let strangers fill the log; bugs are still logged.
LOGGER = logging.getLogger("recoup.api.connections")
LOGGER.setLevel(logging.ERROR)


PER_ADDRESS = 200
_BODY = problems.document(
    ServerRefused(
        "connections_of_address",
        "This address has as many open connections as it may have.",
        "Close some, or send more requests through each. Behind a proxy raise RECOUP_API_CONNECTIONS_PER_ADDRESS.",
    ),
    503,
)
REFUSED = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n"
    b"retry-after: 5\r\nconnection: close\r\n\r\n%s" % (len(_BODY), _BODY)
)


class Places:
    """How many connections each address has."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    def take(self, address: str) -> bool:
        """Take a place, if there is one left for this address."""
        if self._taken[address] >= self._most:
            return False
        self._taken[address] += 1
        return True

    def give_back(self, address: str) -> None:
        self._taken[address] -= 1
        if self._taken[address] <= 0:
            del self._taken[address]  # strangers do not fill it


def counted_as(host: str) -> str:
    """An address; of IPv6 its network of 64 bits, which one machine has to itself."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:  # no address: a socket of this machine
        return host
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


class Connection(H11Protocol):
    """One connection, closed when its client takes too long; refused when its address has too many."""

    places: Places  # of the process; see within()
    _place: str | None = None
    _unasked: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = counted_as(self.client[0] if self.client else "")
        if not self.places.take(address):
            transport.write(REFUSED)
            transport.close()
            return
        self._place = address
        self.logger = LOGGER
        self._await_request(HEAD_WITHIN_S)

    def data_received(self, data: bytes) -> None:
        if self._place is None:  # refused
            return
        super().data_received(data)
        if self._is_asked and self._unasked is not None:
            self._unasked.cancel()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # Single bytes of the next request, or of a body that was refused, give no further time.
        if not self._is_asked:
            self._await_request(KEEP_ALIVE_S + HEAD_WITHIN_S)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(READ_WITHIN_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._place is not None:
            self.places.give_back(self._place)
            self._place = None
        for timer in (self._unasked, self._unread):
            if timer is not None:
                timer.cancel()

    @property
    def _is_asked(self) -> bool:
        """Whether a request is in progress."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _await_request(self, within_s: float) -> None:
        if self._unasked is not None:
            self._unasked.cancel()
        self._unasked = self.loop.call_later(within_s, self.transport.abort)


def within(most: int) -> type[Connection]:
    """Connections of one process, of which each address has a limited number."""
    return type("Connection", (Connection,), {"places": Places(most)})
