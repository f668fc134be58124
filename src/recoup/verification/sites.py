"""A company's site: asked politely, at addresses that may be asked, and read no further than a bound.

Every request, also one after a redirect, goes to an address that was checked just before. Nothing of one company's
visit is kept for the next: no cookies, no connection, no credentials. Proxies of the environment are not used.
"""

import asyncio
import re
import zlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit

import httpcore2

from recoup import __version__
from recoup.refusals import InputRefused
from recoup.verification import wire
from recoup.verification.addresses import Address, Reach, literal
from recoup.verification.domains import host_name
from recoup.verification.findings import Finding, NotPassed
from recoup.verification.rules import Verification
from recoup.verification.slots import Slots

MAX_HEAD_BYTES = 128 * 1024  # httpcore itself stops at 100 kB
MAX_PIECES = 4_096  # of one page: one sent in single bytes costs time for each of them
MAX_URL = 2_000
PORTS = {"http": 80, "https": 443}
REDIRECTS = frozenset({301, 302, 303, 307, 308})
PACKED = frozenset({"gzip", "x-gzip", "deflate"})

_CREDENTIALS = re.compile(r"//[^/]*@")
_KEPT_IN_PATHS = "/%:@!$&'()*+,;=~"

Resolve = Callable[[str], Awaitable[tuple[Address, ...]]]

# What DNS says of the target of a redirect tells about the site, not about the company's domain.
_AFTER_REDIRECT = {
    Finding.DOMAIN_UNKNOWN: Finding.SITE_UNREACHABLE,
    Finding.DOMAIN_WITHOUT_ADDRESS: Finding.SITE_UNREACHABLE,
    Finding.ADDRESS_FORBIDDEN: Finding.REDIRECT_FORBIDDEN,
}


class Url(NamedTuple):
    """A place to ask: no credentials, no fragment."""

    scheme: str
    host: str  # a name, or an address without brackets
    port: int
    target: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


class WebPage(NamedTuple):
    """What a site answered: as much of it as was read."""

    url: str
    status: int
    content_type: str
    body: bytes


@dataclass(slots=True, kw_only=True)
class _Visit:
    """One company's site, and how much time is left for it."""

    resolve: Resolve
    left_s: float


class _Answer(NamedTuple):
    page: WebPage
    location: str | None


class Sites:
    """Fetches pages, of many sites at a time."""

    def __init__(self, rules: Verification) -> None:
        self._templates = rules.site_urls
        self._timeout_s = rules.site_timeout_ms / 1000
        self._redirects_most = rules.redirects_most
        self._page_bytes_most = rules.page_bytes_most
        self._reach = Reach(rules.allowed_networks)
        self._ports = frozenset({*PORTS.values(), *(_port_of(template) for template in rules.site_urls)})
        self._slots = Slots(rules.per_host)
        self._tls = httpcore2.default_ssl_context()
        self._tls.set_alpn_protocols(["http/1.1"])
        self._headers = [
            (b"User-Agent", user_agent(rules).encode("ascii")),
            (b"Accept", b"text/html, application/xhtml+xml, text/plain;q=0.8, */*;q=0.1"),
            (b"Accept-Encoding", b"identity"),
            (b"Connection", b"close"),
        ]

    async def page(self, domain: str, resolve: Resolve) -> WebPage:
        """The first page that one of the site's URLs gives; or what was found instead, raised."""
        visit = _Visit(resolve=resolve, left_s=self._timeout_s)
        fell: list[NotPassed] = []
        for template in self._templates:
            try:
                return await self._followed(self._url(template.replace("{domain}", domain)), visit)
            except NotPassed as found:
                fell.append(found)
            if visit.left_s <= 0:
                break
        # What was too slow may be a page after all: that is the thing to try again.
        raise next((found for found in fell if found.finding is Finding.SITE_SLOW), fell[0])

    async def _followed(self, url: Url, visit: _Visit) -> WebPage:
        """The page at a URL, or where it redirects to."""
        seen: set[Url] = set()
        while True:
            seen.add(url)
            try:
                answer = await self._timed(url, visit)
            except NotPassed as found:
                finding = _AFTER_REDIRECT.get(found.finding, found.finding) if len(seen) > 1 else found.finding
                raise NotPassed(finding, found.message) from found
            if answer.location is None:
                return _unless_error(answer.page)
            target = self._url(answer.location, base=url)
            if target in seen or len(seen) > self._redirects_most:
                raise NotPassed(
                    Finding.SITE_REDIRECTS, f"{answer.page.status} {url} redirects to {target}, once too often"
                )
            url = target

    async def _timed(self, url: Url, visit: _Visit) -> _Answer:
        """One request, once it is our turn at the host. Waiting for that is not the site's slowness."""
        loop = asyncio.get_running_loop()
        async with self._slots.one(url.host):
            began = loop.time()
            try:
                async with asyncio.timeout(visit.left_s):
                    return await self._asked(url, visit.resolve)
            except TimeoutError:
                raise NotPassed(Finding.SITE_SLOW, f"{url} took more than {self._timeout_s:g} s") from None
            finally:
                visit.left_s -= loop.time() - began

    async def _asked(self, url: Url, resolve: Resolve) -> _Answer:
        stream = await wire.connect(
            await self._addresses(url.host, resolve),
            url.port,
            tls=self._tls if url.scheme == "https" else None,
            host=url.host,
            # A firewall that swallows what comes to one port must not use up the time of the next URL.
            within_s=self._timeout_s / len(self._templates),
            bytes_most=MAX_HEAD_BYTES + 2 * self._page_bytes_most,
        )
        place = httpcore2.URL(
            scheme=url.scheme.encode(), host=url.host.encode(), port=url.port, target=url.target.encode("ascii")
        )
        headers = [(b"Host", url.authority.encode("ascii")), *self._headers]
        connection = httpcore2.AsyncHTTP11Connection(place.origin, stream)
        try:
            response = await connection.handle_async_request(httpcore2.Request(b"GET", place, headers=headers))
            return await self._read(url, response)
        except httpcore2.ProtocolError as error:
            if not stream.heard:
                raise NotPassed(Finding.SITE_HUNG_UP, f"{url} closed the connection without an answer") from error
            raise NotPassed(Finding.SITE_NOT_HTTP, f"{url} does not answer in HTTP ({error})") from error
        except httpcore2.NetworkError as error:
            raise NotPassed(Finding.SITE_HUNG_UP, f"{url} broke the connection off ({error})") from error
        finally:
            await connection.aclose()

    async def _addresses(self, host: str, resolve: Resolve) -> tuple[Address, ...]:
        """Where a host may be asked."""
        written = literal(host)
        found = (written,) if written is not None else await resolve(host)
        allowed = self._reach.allowed(found)
        if not allowed:
            at = "" if written is not None else f" at {found[0]}"
            raise NotPassed(Finding.ADDRESS_FORBIDDEN, f"{host} is{at} where no public site can be")
        return allowed

    async def _read(self, url: Url, response: httpcore2.Response) -> _Answer:
        headers = {name.lower(): value for name, value in response.headers}
        if response.status < 200:
            raise NotPassed(Finding.SITE_NOT_HTTP, f"{url} answers {response.status} to a plain request")
        location = headers.get(b"location") if response.status in REDIRECTS else None
        wanted = location is None and response.status < 400
        page = WebPage(
            url=str(url),
            status=response.status,
            content_type=headers.get(b"content-type", b"").decode("latin-1"),
            body=await self._body(url, response, headers.get(b"content-encoding", b"")) if wanted else b"",
        )
        return _Answer(page, None if location is None else location.decode("utf-8", "replace"))

    async def _body(self, url: Url, response: httpcore2.Response, encoding: bytes) -> bytes:
        """The beginning of a body, unpacked as far as it is wanted and no further."""
        packing = encoding.decode("latin-1").strip().lower()
        if packing not in PACKED and packing not in ("", "identity"):
            raise NotPassed(Finding.PAGE_NOT_TEXT, f"{url} is packed as {packing[:40]!r}, which nobody asked for")
        unpacked = _Unpacked(self._page_bytes_most, packed=packing in PACKED)
        try:
            async with aclosing(response.aiter_stream()) as pieces:
                left = MAX_PIECES
                async for piece in pieces:
                    left -= 1
                    if not unpacked.add(piece) or not left:
                        break
        except (httpcore2.ProtocolError, httpcore2.NetworkError, zlib.error) as error:
            # Broken off in the middle. What is there is judged; browsers would show it too.
            if not unpacked.data:
                raise NotPassed(Finding.SITE_HUNG_UP, f"{url} broke its page off before it began ({error})") from error
        return bytes(unpacked.data)

    def _url(self, written: str, *, base: Url | None = None) -> Url:
        """A URL that may be asked, or the finding that it may not."""

        def forbidden(why: str) -> NotPassed:
            shown = _CREDENTIALS.sub("//", written)[:100]
            return NotPassed(Finding.REDIRECT_FORBIDDEN, f"{base or 'the policy'} leads to {shown!r}: {why}")

        try:
            # Browsers take a backslash for a slash, so sites do too.
            parts = urlsplit(urljoin(str(base), written.strip().replace("\\", "/")) if base else written)
            port = parts.port
        except ValueError as error:
            raise forbidden("not a URL") from error
        if parts.scheme not in PORTS:
            raise forbidden("neither http nor https")
        host = parts.hostname or ""
        address = literal(host)
        name = str(address) if address is not None else host_name(host)
        if name is None:
            raise forbidden("not the name of a public host")
        port = PORTS[parts.scheme] if port is None else port
        if port not in self._ports:
            raise forbidden(f"port {port}")
        target = quote("/" + parts.path.removeprefix("/"), safe=_KEPT_IN_PATHS)
        if parts.query:
            target += "?" + quote(parts.query, safe=_KEPT_IN_PATHS + "?")
        if len(target) > MAX_URL:
            raise forbidden("too long")
        return Url(parts.scheme, name, port, target)


class _Unpacked:
    """Bytes as they come, unpacked if need be, up to a bound."""

    def __init__(self, most: int, *, packed: bool) -> None:
        self.data = bytearray()
        self._most = most
        self._unpacker = zlib.decompressobj(wbits=47) if packed else None  # 47: gzip or zlib, by its first bytes

    def add(self, piece: bytes) -> bool:
        """Take a piece in. False: that is enough."""
        room = self._most - len(self.data)
        self.data += piece[:room] if self._unpacker is None else self._unpacker.decompress(piece, room)
        return len(self.data) < self._most


def user_agent(rules: Verification) -> str:
    """Who we are, and the address to write to."""
    contact = f"; {rules.contact}" if rules.contact else ""
    return f"Recoup/{__version__} (company verification{contact})"


def _port_of(template: str) -> int:
    try:
        parts = urlsplit(template.replace("{domain}", "domain.example"))
        return parts.port or PORTS[parts.scheme]
    except ValueError as error:
        raise InputRefused(
            "site_url",
            f"{template!r} cannot be asked: {error}.",
            "Write it like https://{domain}/: policy gate.verification.site_urls",
            url=template,
        ) from error


def _unless_error(page: WebPage) -> WebPage:
    if page.status >= 400:
        raise NotPassed(Finding.SITE_ERROR, f"{page.status} {page.url}")
    return page
