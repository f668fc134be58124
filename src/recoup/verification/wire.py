"""Connections: to a checked address for sites, with bounded reading, and gone when they are closed.

HTTP itself is httpcore's. It is given a stream that is connected already, so that it never looks up a name and never
chooses an address. Timeouts are the caller's: one clock runs over all that is done for a check.
"""

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Sequence
from typing import Any

import httpcore2

from recoup.verification.addresses import Address
from recoup.verification.findings import Finding, NotPassed

MAX_ADDRESSES_TRIED = 3
# What this machine ran out of, which no site is to blame for.
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
# In a row. httpcore's parser takes quadratic time over blanks in a head, in a trailer, or behind the size of a chunk.
MAX_BLANKS = 4_096
_BLANKS_TOO_MANY = b" " * (MAX_BLANKS + 1)
_TABS_AS_SPACES = bytes.maketrans(b"\t", b" ")


class Stream(httpcore2.AsyncNetworkStream):
    """Bytes to and from a server; reads at most a given number."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, bytes_most: int = 0) -> None:
        self._reader = reader
        self._writer = writer
        self.bytes_left = bytes_most
        self.heard = False  # whether the server sent anything at all
        self._blanks = 0  # at the end of what was read
        self._overlong = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self.bytes_left <= 0:
            raise httpcore2.ReadError("enough was read")
        try:
            data = b"" if self._overlong else await self._reader.read(max_bytes)
        except OSError as error:  # of which TLS's are
            raise httpcore2.ReadError(str(error)) from error
        self.bytes_left -= len(data)
        self.heard = self.heard or bool(data)
        return self._before_blanks(data)

    def _before_blanks(self, data: bytes) -> bytes:
        """The bytes before a run of blanks that is too long. Nothing after it is read: the page ends there."""
        seen = b" " * self._blanks + data.translate(_TABS_AS_SPACES)
        at = seen.find(_BLANKS_TOO_MANY)
        self._overlong = self._overlong or at >= 0
        before = data if at < 0 else data[: max(at - self._blanks, 0)]
        if self._overlong and not before:
            raise httpcore2.RemoteProtocolError(f"more than {MAX_BLANKS:,} blanks in a row")
        self._blanks = len(seen) - len(seen.rstrip(b" "))
        return before

    async def is_quiet(self) -> bool:
        """Whether nothing lies there to be read, not even the end. If something does, the stream is of no more use."""
        try:
            async with asyncio.timeout(0):
                await self._reader.read(1)
        except TimeoutError:
            return True
        except OSError:
            return False
        return False

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            self._writer.write(buffer)
            await self._writer.drain()
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    async def aclose(self) -> None:
        # Without a farewell: a site that does not say goodbye in TLS would hold the connection for half a minute.
        self._writer.transport.abort()

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # asked of a connection that was kept: has the server closed it?
            return self._reader.at_eof() or self._writer.is_closing()
        return self._writer.get_extra_info(info)


async def connect(
    addresses: Sequence[Address], port: int, *, tls: ssl.SSLContext | None, host: str, within_s: float, bytes_most: int
) -> Stream:
    """A stream to the first of these addresses that takes the connection. They are connected to as given."""
    tried = addresses[:MAX_ADDRESSES_TRIED]
    fell: NotPassed | None = None
    for address in tried:
        at = f"{host} at {address} port {port}"
        try:
            async with asyncio.timeout(within_s / len(tried)):
                connected = await _connected(address, port)
                return await _talking(connected, at, tls=tls, host=host, bytes_most=bytes_most)
        except TimeoutError:
            fell = NotPassed(Finding.SITE_SLOW, f"{at} did not take the connection in time")
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else type(error).__name__
            fell = NotPassed(Finding.CHECK_BROKE if error.errno in _OURS else Finding.SITE_UNREACHABLE, f"{at}: {why}")
    assert fell is not None
    raise fell


async def _connected(address: Address, port: int) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    connecting = socket.socket(family, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connecting, (str(address), port))
    except BaseException:
        connecting.close()
        raise
    return connecting


async def _talking(
    connected: socket.socket, at: str, *, tls: ssl.SSLContext | None, host: str, bytes_most: int
) -> Stream:
    try:
        reader, writer = await asyncio.open_connection(sock=connected, ssl=tls, server_hostname=host if tls else None)
    except TimeoutError:
        raise
    except OSError as error:
        reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else type(error).__name__
        raise NotPassed(Finding.SITE_TLS_BROKEN, f"{at}: no TLS ({reason})") from error
    return Stream(reader, writer, bytes_most=bytes_most)
