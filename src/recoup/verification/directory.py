"""The company directory: an HTTP service, or a file. Both give the same entries.

The operator configures the directory, so its address is not restricted. Redirects are not followed: the key is sent to
the directory only.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlsplit

import httpcore2

from recoup.refusals import InputRefused
from recoup.verification.findings import Finding, NotPassed
from recoup.verification.rules import PLACE, Verification, unusable
from recoup.verification.sites import MAX_HEAD_BYTES, user_agent
from recoup.verification.states import normal_state
from recoup.verification.wire import Stream

MAX_ANSWER_BYTES = 1_000_000
GLOBAL = frozenset({"global", "international", "worldwide"})
MAX_STATES = 100  # of one company; more would add nothing
IDLE_S = 30.0  # how long a connection is kept for the next request


class Entry(NamedTuple):
    """The entry of a company in the directory."""

    states: tuple[str, ...] = ()  # as written there
    scope: str = ""
    linkedin_url: str = ""  # the page that the directory lists, if it lists one

    @property
    def is_global(self) -> bool:
        return self.scope.strip().lower() in GLOBAL


class Directory(Protocol):
    """Where companies are looked up."""

    async def entry(self, domain: str, name: str, linkedin_url: str = "") -> Entry:
        """The entry of a company; raises the finding if there is none."""

    async def close(self) -> None:
        """Close its connections."""


class _Connection(httpcore2.AsyncHTTP11Connection):
    def has_more(self) -> bool:
        """Whether the directory sent more than it was asked for."""
        return bool(self._h11_state.trailing_data[0])


class _Line(NamedTuple):
    """A connection to the directory."""

    connection: _Connection
    stream: Stream


class HttpDirectory:
    """A directory over HTTP. Connections are kept for the next request."""

    def __init__(self, rules: Verification, *, key: str | None) -> None:
        self._template = _template(rules.directory)
        self._timeout_s = rules.directory_timeout_ms / 1000
        self._turn = asyncio.Semaphore(rules.directory_at_once)
        self._idle: list[_Line] = []  # no more than there are turns
        self._tls = httpcore2.default_ssl_context() if self._template.lower().startswith("https:") else None
        self._headers = [
            ("Host", urlsplit(self._template).netloc.rpartition("@")[2]),
            ("User-Agent", user_agent(rules)),
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
            *([] if key is None else [("Authorization", f"Bearer {_usable(key)}")]),
        ]

    async def entry(self, domain: str, name: str, linkedin_url: str = "") -> Entry:
        given = {"{domain}": domain, "{name}": name, "{linkedin_url}": linkedin_url}
        url = PLACE.sub(lambda place: quote(given[place[0]], safe=""), self._template)
        request = httpcore2.Request("GET", url, headers=self._headers)
        async with self._turn:
            try:
                async with asyncio.timeout(self._timeout_s):
                    status, body = await self._asked(request)
            except TimeoutError:
                raise NotPassed(
                    Finding.DIRECTORY_SLOW, f"the directory did not answer for {domain} in {self._timeout_s:g} s"
                ) from None
            except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
                raise NotPassed(
                    Finding.DIRECTORY_OUT, f"the directory cannot be asked ({type(error).__name__})"
                ) from error
        return _entry_in(status, body, domain)

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().connection.aclose()

    async def _asked(self, request: httpcore2.Request) -> tuple[int, bytes]:
        kept = await self._kept()
        if kept is not None:
            try:
                return await self._answer(kept, request)
            except (httpcore2.NetworkError, httpcore2.ProtocolError):
                pass  # most likely just closed by the directory: try a new one
        return await self._answer(await self._new(request.url), request)

    async def _kept(self) -> _Line | None:
        while self._idle:
            line = self._idle.pop()
            # Data that nobody asked for, such as a farewell, must not be taken for the answer to the next request.
            if not line.connection.has_expired() and await line.stream.is_quiet():
                return line
            await line.connection.aclose()
        return None

    async def _new(self, url: httpcore2.URL) -> _Line:
        # By the system's resolver: the operator may use a name that only this machine knows.
        host, port = url.host.decode("ascii"), url.origin.port
        reader, writer = await asyncio.open_connection(host, port, ssl=self._tls)
        stream = Stream(reader, writer)
        return _Line(_Connection(url.origin, stream, keepalive_expiry=IDLE_S), stream)

    async def _answer(self, line: _Line, request: httpcore2.Request) -> tuple[int, bytes]:
        line.stream.bytes_left = MAX_HEAD_BYTES + 2 * MAX_ANSWER_BYTES
        body = bytearray()
        try:
            response = await line.connection.handle_async_request(request)
            async with aclosing(response.aiter_stream()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > MAX_ANSWER_BYTES:
                        break
            await response.aclose()
        finally:
            if line.connection.is_idle() and not line.connection.has_more():
                self._idle.append(line)
            else:
                await line.connection.aclose()
        return response.status, bytes(body)


def _entry_in(status: int, body: bytes, domain: str) -> Entry:
    """The entry in an answer of the directory."""
    message = f"the directory answers {status} for {domain}"
    if status in (404, 410):
        raise NotPassed(Finding.NO_ENTRY, message)
    if status >= 500:
        raise NotPassed(Finding.DIRECTORY_OUT, message)
    if status >= 400:
        raise NotPassed(Finding.DIRECTORY_REFUSES, message)
    if status != 200:
        raise NotPassed(Finding.DIRECTORY_NONSENSE, message)
    if len(body) > MAX_ANSWER_BYTES:
        raise NotPassed(Finding.DIRECTORY_NONSENSE, f"{message}, with more than {MAX_ANSWER_BYTES:,} bytes")
    try:
        return entry_of(json.loads(body), domain)
    except (ValueError, RecursionError) as error:
        raise NotPassed(Finding.DIRECTORY_NONSENSE, f"{message}, with something that is not JSON") from error


def entry_of(given: Any, domain: str) -> Entry:
    """An entry from the fields of an answer; raises the finding if it is none."""
    if not isinstance(given, Mapping) or not isinstance(given.get("found"), bool):
        raise NotPassed(Finding.DIRECTORY_NONSENSE, f"the directory does not say whether it found {domain}")
    if not given["found"]:
        raise NotPassed(Finding.NO_ENTRY, f"the directory has no entry for {domain}")
    states, scope, page = given.get("states"), given.get("scope"), given.get("linkedin_url")
    if not (
        states is None
        or isinstance(states, str)
        or (isinstance(states, list) and all(isinstance(s, str) for s in states))
    ):
        raise NotPassed(Finding.DIRECTORY_NONSENSE, f"the directory's states for {domain} are not texts")
    if not (scope is None or isinstance(scope, str)):
        raise NotPassed(Finding.DIRECTORY_NONSENSE, f"the directory's scope for {domain} is not a text")
    if not (page is None or isinstance(page, str)):
        raise NotPassed(Finding.DIRECTORY_NONSENSE, f"the directory's linkedin_url for {domain} is not a text")
    return Entry(states=states_in(states or ""), scope=scope or "", linkedin_url=page or "")


def states_in(given: str | list[str]) -> tuple[str, ...]:
    """States from a list, or from one text. "Texas, USA" is one state, "Texas, Ohio" are two."""
    if isinstance(given, str):
        given = [given] if normal_state(given) else given.replace(";", ",").split(",")
    return tuple(dict.fromkeys(state.strip() for state in given if state.strip()))[:MAX_STATES]


def _template(written: str) -> str:
    if unusable(written) is not None:
        raise InputRefused(
            "directory_url",
            f"{written!r} is no URL that companies can be looked up with.",
            "Give a URL with {domain}, {name} or {linkedin_url} in it: policy gate.verification.directory",
        )
    return written


def _usable(key: str) -> str:
    if not key.isascii() or not key.isprintable() or not key.strip():
        raise InputRefused(
            "directory_key",
            "The directory's key is empty, or has characters that no key has.",
            "Check RECOUP_DIRECTORY_KEY.",
        )
    return key.strip()
