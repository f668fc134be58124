"""The servers of a watched world: they know every trick, and count what comes in."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from recoup_demo.world.directory import PATH, Directory, as_json
from recoup_demo.world.dns_server import Name, Names
from recoup_demo.world.http_server import Answer, Connection, Request
from recoup_demo.world.kinds import AnyKind
from recoup_demo.world.present import Present
from recoup_demo.world.sites import Sites
from world import tricks

SEEN = "/world/seen"


@dataclass(slots=True)
class Gauge:
    """How many there are at once, and were at most."""

    now: int = 0
    most: int = 0

    @contextmanager
    def one_more(self) -> Iterator[None]:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            yield
        finally:
            self.now -= 1


@dataclass(slots=True)
class Seen:
    """What came in, counted from the start."""

    counts: Counter[str] = field(default_factory=Counter)
    site_connections: Gauge = field(default_factory=Gauge)
    directory_connections: Gauge = field(default_factory=Gauge)
    site_requests: Gauge = field(default_factory=Gauge)
    directory_requests: Gauge = field(default_factory=Gauge)
    site_requests_by_host: defaultdict[str, Gauge] = field(default_factory=lambda: defaultdict(Gauge))
    user_agents: Counter[str] = field(default_factory=Counter)
    hosts: Counter[str] = field(default_factory=Counter)  # Host headers as the sites got them
    asked: Counter[str] = field(default_factory=Counter)  # directory requests by the company's domain

    def as_json(self) -> dict[str, Any]:
        return {
            **dict.fromkeys(
                ("dns_queries", "dns_queries_over_tcp", "site_requests", "directory_requests", "canary_connections"), 0
            ),
            "cookies": 0,  # requests that carried one
            "bytes_sent": 0,  # by sites and directory
            **self.counts,
            "site_connections_most": self.site_connections.most,
            "directory_connections_most": self.directory_connections.most,
            "site_requests_most": self.site_requests.most,
            "directory_requests_most": self.directory_requests.most,
            "site_requests_most_by_host": {host: gauge.most for host, gauge in self.site_requests_by_host.items()},
            "user_agents": self.user_agents,
            "hosts": self.hosts,
            "asked": self.asked,
        }


class WatchedNames(Names):
    def __init__(self, present: Present, kinds: Mapping[AnyKind, Name], counted: Counter[str], *where: str) -> None:
        super().__init__(present, kinds)
        self._counted, self._where = counted, where

    def reply_to(self, wire: bytes) -> bytes | None:
        self._counted.update(self._where)
        return super().reply_to(wire)


class WatchedConnection(Connection):
    def __init__(self, connection: Connection, counted: Counter[str]) -> None:
        super().__init__(connection.reader, connection.writer)
        self._counted = counted

    def write(self, data: bytes) -> None:
        self._counted["bytes_sent"] += len(data)
        super().write(data)


class WatchedSites(Sites):
    def __init__(self, present: Present, seen: Seen) -> None:
        super().__init__(present, tricks.SITES)
        self._seen = seen

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with self._seen.site_connections.one_more():
            await super().converse(reader, writer)

    async def respond(self, request: Request, connection: Connection) -> None:
        seen = self._seen
        seen.counts["site_requests"] += 1
        seen.counts["cookies"] += "cookie" in request.headers
        seen.user_agents[request.headers.get("user-agent", "")] += 1
        seen.hosts[request.headers.get("host", "")] += 1
        with seen.site_requests.one_more(), seen.site_requests_by_host[request.host].one_more():
            await super().respond(request, WatchedConnection(connection, seen.counts))


class WatchedDirectory(Directory):
    def __init__(self, present: Present, seen: Seen, key: str | None) -> None:
        super().__init__(present, tricks.ENTRIES, tricks.SAYINGS)
        self._seen, self._key = seen, key

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with self._seen.directory_connections.one_more():
            await super().converse(reader, writer)

    async def respond(self, request: Request, connection: Connection) -> None:
        if request.path != PATH:
            await super().respond(request, connection)
            return
        self._seen.counts["directory_requests"] += 1
        self._seen.user_agents[request.headers.get("user-agent", "")] += 1
        with self._seen.directory_requests.one_more():
            await super().respond(request, WatchedConnection(connection, self._seen.counts))

    def answer(self, request: Request) -> Answer:
        if request.path == SEEN:
            return as_json(200, self._seen.as_json())
        if request.path == PATH:
            if self._key is not None and request.headers.get("authorization") != f"Bearer {self._key}":
                return as_json(401, {"error": "key"})
            company = self.asked_for(request.query)
            self._seen.asked.update([company.domain] if company else ())
        return super().answer(request)


class Canary(asyncio.Protocol):
    """Counts who comes, and closes."""

    def __init__(self, counted: Counter[str]) -> None:
        self._counted = counted

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._counted["canary_connections"] += 1
        transport.close()
