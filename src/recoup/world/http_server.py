"""A small HTTP/1.1 server that can misbehave: most answers are bytes made beforehand, some are coroutines on the raw
connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

HEAD_BYTES_MOST = 65_536
REASONS = {
    200: "OK", 301: "Moved Permanently", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 410: "Gone", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip


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


class Connection(asyncio.Protocol):
    """One client. Answers one request after the other, and closes when it cannot make sense of one."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._received = b""
        self._answering: Request | None = None
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._service.opened()

    def connection_lost(self, exc: Exception | None) -> None:
        self._service.closed()
        self._ended()
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > HEAD_BYTES_MOST:
            self._transport.close()
        else:
            self._next()

    async def send(self, data: bytes) -> None:
        """Send, and wait while the client is slow to read. Others get their turn."""
        self._write(data)
        await asyncio.sleep(0)
        await self._writable.wait()

    def _next(self) -> None:
        """Answer the next request, if there is a whole one and nothing is being answered."""
        head, complete, rest = self._received.partition(b"\r\n\r\n")
        if not complete or self._answering is not None:
            return
        self._received = rest
        request = _read_head(head)
        if request is None:
            self._transport.close()
            return
        self._answering = request
        answer = self._service.answer(request)
        delay_s = self._service.answer_s
        if not isinstance(answer, bytes):
            self._task = asyncio.get_running_loop().create_task(self._misbehave(answer, delay_s))
        elif delay_s:
            asyncio.get_running_loop().call_later(delay_s, self._finish, answer)
        else:
            self._finish(answer)

    def _finish(self, answer: bytes) -> None:
        if self._transport.is_closing():
            return
        request = self._answering
        assert request is not None
        self._ended()
        self._write(answer)
        if request.headers.get("connection", "").lower() == "close":
            self._transport.close()
        elif self._received:
            asyncio.get_running_loop().call_soon(self._next)

    async def _misbehave(self, how: Misbehaviour, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        await how(self)
        self._transport.close()

    def _write(self, data: bytes) -> None:
        self._service.sent(len(data))
        self._transport.write(data)

    def _ended(self) -> None:
        if self._answering is not None:
            self._service.ended(self._answering)
            self._answering = None


Misbehaviour = Callable[[Connection], Coroutine[Any, Any, None]]
Answer = bytes | Misbehaviour


class Service(Protocol):
    """What a connection serves, and tells of itself."""

    answer_s: float  # every answer waits so long

    def answer(self, request: Request) -> Answer:
        """The answer to a request; from here on it is being answered."""

    def ended(self, request: Request) -> None:
        """The request is no longer being answered."""

    def opened(self) -> None: ...

    def closed(self) -> None: ...

    def sent(self, number: int) -> None: ...


def response(
    status: int,
    body: bytes | str = b"",
    *,
    content_type: str = "text/html; charset=utf-8",
    headers: Iterable[tuple[str, str]] = (),
) -> bytes:
    """A whole answer."""
    content = body.encode() if isinstance(body, str) else body
    return head(status, content_type=content_type, headers=(*headers, ("Content-Length", str(len(content))))) + content


def head(
    status: int, *, content_type: str = "text/html; charset=utf-8", headers: Iterable[tuple[str, str]] = ()
) -> bytes:
    """The head of an answer. Without a Content-Length its body ends with the connection."""
    lines = [f"HTTP/1.1 {status} {REASONS[status]}", "Server: world", *(f"{name}: {value}" for name, value in headers)]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _read_head(head: bytes) -> Request | None:
    first, *lines = head.decode("latin-1").split("\r\n")
    try:
        method, target, _ = first.split(" ")
    except ValueError:
        return None
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Request(method, target, headers)
