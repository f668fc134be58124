"""What is checked of a request before its route runs: where it comes from, and its body."""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any

from fastapi import Request
from pydantic_core import from_json

from recoup.refusals import InputRefused, LawRefused

MAX_BODY = 8_000_000  # bytes
BODY_WITHIN_S = 30
FORWARDED = ("forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
             "x-forwarded-port", "x-forwarded-prefix", "x-forwarded-server", "x-original-host", "x-client-ip",
             "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "fly-client-ip")  # fmt: skip


class Read(Request):
    """A request whose body was read and parsed."""

    given: Any

    async def body(self) -> bytes:
        return b"{}" if self.given is not None else b""

    async def json(self) -> Any:
        return self.given


def check_origin(request: Request) -> None:
    """Without keys: only programs of this machine, which name it, and no proxy in front of it.

    A page that a browser loaded from elsewhere can send requests to this machine, under a name that it resolves to it.
    """
    host = request.headers.getlist("host")
    name = _name(host[0]) if len(host) == 1 else None
    if name is None or not _is_loopback(name):
        raise LawRefused(
            "host_refused",
            f"Without keys this service answers only as localhost, not as {(host or [''])[0][:100]!r}.",
            "Call http://127.0.0.1 or http://localhost; for other names, add keys: recoup keys add",
        )
    for header in FORWARDED:
        if header in request.headers:
            raise LawRefused(
                "forwarded_refused",
                f"Without keys no proxy may be in front of this service; the request has the header {header}.",
                "Call it directly, or add keys: recoup keys add",
            )
    for origin in (*request.headers.getlist("origin"), *_sites(request)):
        if origin != f"http://{host[0]}":
            raise LawRefused(
                "origin_refused",
                f"Without keys pages of another origin may not call this service: {origin[:100]!r}.",
                "Call it from a program, or add keys: recoup keys add",
            )


def _sites(request: Request) -> list[str]:
    """Where a browser says that a request comes from, if it is from elsewhere."""
    site = request.headers.get("sec-fetch-site", "none")
    return [] if site in ("none", "same-origin") else [site]


def _name(host: str) -> str | None:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        return name if bracket and (not port or (port[0] == ":" and port[1:].isdigit())) else None
    name, colon, port = host.partition(":")
    return name if not colon or port.isdigit() else None


def _is_loopback(name: str) -> bool:
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


async def read(request: Request) -> bytes:
    """The body, if it is not too large and arrives in time."""
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared[:12]) > MAX_BODY:
        raise _too_large()
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            async for part in request.stream():
                size += len(part)
                if size > MAX_BODY:
                    raise _too_large()
                parts.append(part)
    except TimeoutError:
        raise InputRefused(
            "body_too_slow", f"The body did not arrive within {BODY_WITHIN_S} s.", "Send it again, in smaller parts."
        ) from None
    return b"".join(parts)


def parsed(request: Request, body: bytes) -> Any:
    """The value of a JSON body; None: it is empty."""
    if not body:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise InputRefused(
            "content_type",
            f"The body is {kind[:100] or 'of no declared type'}, not JSON.",
            "Send JSON with the header Content-Type: application/json",
        )
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InputRefused("body_not_json", f"The body is no JSON: {str(error)[:200]}.", "Correct it.") from None


def _too_large() -> InputRefused:
    return InputRefused(
        "body_too_large", f"The body has more than {MAX_BODY:,} bytes.", "Send less in one call.", most=MAX_BODY
    )
