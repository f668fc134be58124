"""What servers do to visitors who trust them: on the raw connection, without end, or not at all."""

from __future__ import annotations

import asyncio
import zlib
from functools import cache

from recoup_demo.world.http_server import Answer, Connection, head

GIGABYTE = 1 << 30
DRIP_S = 0.05
PARAGRAPH = b"<p>And so it goes on, line after line, and nothing is said in any of them.</p>\n"
NOISE = PARAGRAPH * (65_536 // len(PARAGRAPH) + 1)


async def hang_up(connection: Connection) -> None:
    """Close without a word."""


async def speak_nonsense(connection: Connection) -> None:
    await connection.send(b"220 mail ready, who is there?\r\n250 pleased to meet you\r\n\r\n")


async def flood_headers(connection: Connection) -> None:
    await connection.send(b"HTTP/1.1 200 OK\r\n")
    number = 0
    while True:
        await connection.send(b"".join(b"X-Noise-%d: %s\r\n" % (n, b"x" * 100) for n in range(number, number + 100)))
        number += 100


def drip(beginning: bytes, *, content_type: str) -> Answer:
    """Some bytes, and then one at a time for ever."""

    async def answer(connection: Connection) -> None:
        await connection.send(head(200, content_type=content_type) + beginning)
        while True:
            await asyncio.sleep(DRIP_S)
            await connection.send(b" ")

    return answer


def flood(page: bytes, *, sized: bool) -> Answer:
    """The page, and 1 GB behind it."""

    async def answer(connection: Connection) -> None:
        pieces = GIGABYTE // len(NOISE) + 1
        length = [("Content-Length", str(len(page) + pieces * len(NOISE)))] if sized else []
        await connection.send(head(200, headers=length) + page)
        for _ in range(pieces):
            await connection.send(NOISE)

    return answer


async def gzip_bomb(connection: Connection) -> None:
    """1 GB in about 5 MB. Its end is missing; nobody should ever come so far."""
    await connection.send(head(200, headers=[("Content-Encoding", "gzip")]))
    opening, megabyte = _bomb()
    await connection.send(opening)
    for _ in range(GIGABYTE // (1 << 20)):
        await connection.send(megabyte)


@cache
def _bomb() -> tuple[bytes, bytes]:
    """The beginning of a gzip stream, and a piece that expands to 1 MB and can follow any number of times."""
    press = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    opening = press.compress(b"<!doctype html><html><body>") + press.flush(zlib.Z_FULL_FLUSH)
    # After a full flush nothing refers to what came before.
    megabyte = press.compress((NOISE * 17)[: 1 << 20]) + press.flush(zlib.Z_FULL_FLUSH)
    return opening, megabyte


def in_chunks(page: bytes, *, size: int = 7) -> Answer:
    """A whole page, in many small chunks. No misbehaviour, only unusual."""

    async def answer(connection: Connection) -> None:
        await connection.send(head(200, headers=[("Transfer-Encoding", "chunked")]))
        for start in range(0, len(page), size):
            piece = page[start : start + size]
            await connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        await connection.send(b"0\r\n\r\n")

    return answer
