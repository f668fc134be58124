"""Connections of the API: none is held by a client that sends no request, or does not read its answer.

A process has a limited number of connections. Without these limits a stranger could open all of them, send nothing,
and nobody else would be answered. They hold before a key is asked for.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_WITHIN_S = 10.0  # for the headers of the first request of a connection
KEEP_ALIVE_S = 30  # between two requests
READ_WITHIN_S = 60.0  # for what waits to be read; a client that reads has room again before

# One line for each malformed request would let strangers fill the log; bugs are still logged.
LOGGER = logging.getLogger("recoup.api.connections")
LOGGER.setLevel(logging.ERROR)


class Connection(H11Protocol):
    """One connection, closed when its client takes too long."""

    _unasked: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.logger = LOGGER
        self._await_request(HEAD_WITHIN_S)

    def data_received(self, data: bytes) -> None:
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
