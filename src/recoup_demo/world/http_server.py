"""A small HTTP/1.1 server: most answers are bytes, some are coroutines that do with the connection what they like."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from recoup_demo.world.present import Present

MAX_HEAD_BYTES = 65_536
HTML = "text/html; charset=utf-8"
Headers = Iterable[tuple[str, str]]


class Request(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]

    @property
    def host(self) -> str:
        """The host that was asked for, without port."""
        return self.headers.get("host", "").rsplit(":", 1)[0].lower()

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query))


class Connection:
    """The connection to one client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def send(self, data: bytes) -> None:
        """Write, and wait while the client is slow to read. Others get their turn."""
        self.write(data)
        await self.writer.drain()
        await asyncio.sleep(0)

    async def hold(self) -> None:
        """Say nothing more, for as long as the client has patience."""
        await self.reader.read()


Answer = bytes | Callable[[Connection], Coroutine[Any, Any, None]]  # the connection ends with the coroutine


class Service(ABC):
    """What answers the requests to one port."""

    def __init__(self, present: Present) -> None:
        self.present = present

    @abstractmethod
    def answer(self, request: Request) -> Answer: ...

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, request by request, until it leaves or makes no sense."""
        connection = Connection(reader, writer)
        # Cancelled only when the world ends, of which asyncio need not complain client by client.
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, asyncio.CancelledError):
            while not writer.is_closing():
                request = _read_head(await reader.readuntil(b"\r\n\r\n"))
                if request is None:
                    break
                await self.respond(request, connection)
                await writer.drain()
        writer.close()

    async def respond(self, request: Request, connection: Connection) -> None:
        answer = self.answer(request)
        if self.present.answer_s:
            await asyncio.sleep(self.present.answer_s)
        if isinstance(answer, bytes):
            connection.write(answer)
        else:
            await answer(connection)
        if callable(answer) or request.headers.get("connection", "").lower() == "close":
            connection.writer.close()


def response(status: int, body: bytes | str = b"", *, content_type: str = HTML, headers: Headers = ()) -> bytes:
    """A whole answer."""
    content = body.encode() if isinstance(body, str) else body
    return head(status, content_type=content_type, headers=[*headers, ("Content-Length", str(len(content)))]) + content


def head(status: int, *, content_type: str = HTML, headers: Headers = ()) -> bytes:
    """The head of an answer. Without a Content-Length its body ends with the connection."""
    named = [("Server", "world"), *headers, ("Content-Type", content_type)]
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in named)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _read_head(head: bytes) -> Request | None:
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    try:
        method, target, _ = first.split(" ")
    except ValueError:
        return None
    named = (line.partition(":") for line in lines)
    return Request(method, target, {name.lower(): value.strip() for name, _, value in named})
