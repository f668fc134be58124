"""Connections kept between transactions, each by its authority; bounded over all of them.

A caller gets, in this order: an idle connection of the authority; a new one, while there may be more; an idle one
of another authority, which then takes the wanted one for each transaction; or, first come first served, the next that
is given back. A connection that its own authority has not used for a while makes room for one of the authority that
asks: connections follow the work, and authorities that take turns over too few of them do not log in each time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

import psycopg
from psycopg import Cursor

from recoup.database.failures import ConnectionRefused
from recoup.database.tracked import TrackedConnection
from recoup.lifecycles.declaration import Authority

TRUSTED_S = 1.0  # a connection used within this time is not tested; if it broke meanwhile, one transaction fails
UNUSED_S = 10.0  # a connection unused by its authority for this long is closed for another authority's
MAX_IDLE_S = 600.0
MAX_AGE_S = 3600.0  # a server process grows with what it has seen
AGAIN_S = 0.25  # between two tries to log in, while the server is away


class Pool:
    """A bounded number of connections. Safe to share between threads."""

    def __init__(self, login: Callable[[Authority], TrackedConnection], *, most: int, patience_s: float) -> None:
        self._login = login
        self._most = most
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._idle: list[TrackedConnection] = []  # the last used last
        self._waiting: deque[SimpleQueue[TrackedConnection | None]] = deque()
        self._count = 0
        self._closed = False
        self._broke = 0.0  # when one was last found broken: the server may have ended them all

    @contextlib.contextmanager
    def borrowed(self, authority: Authority) -> Iterator[TrackedConnection]:
        """A working connection, until the end of the block; the authority's own if ``held.authority`` is the same."""
        deadline = time.monotonic() + self._patience_s
        held = self._next(authority, deadline)
        if held is None or not _answers(held, self._broke):
            held = self._logged_in(authority, deadline)
        try:
            yield held
        finally:
            self._give(held, authority)

    def close(self) -> None:
        """Close idle connections now, and the others when they are returned."""
        with self._lock:
            self._closed, idle, self._idle = True, self._idle, []
            self._count -= len(idle)
        for held in idle:
            held.close()

    def _next(self, authority: Authority, deadline: float) -> TrackedConnection | None:
        """A connection; or None, and the right to open one."""
        with self._lock:
            own = next((held for held in reversed(self._idle) if held.authority in (authority, None)), None)
            if own is not None:
                self._idle.remove(own)
                return own
            if self._count < self._most:
                self._count += 1
                return None
            if self._idle:
                return _kept(self._idle.pop(0))
            mine = SimpleQueue[TrackedConnection | None]()
            self._waiting.append(mine)
        try:
            return mine.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            with self._lock:
                if mine not in self._waiting:  # handed over just now
                    return mine.get_nowait()
                self._waiting.remove(mine)
            raise ConnectionRefused(
                "pool_exhausted",
                f"All {self._most} connections of this process were in use for {self._patience_s:g} s.",
                "Keep transactions short, or raise RECOUP_POOL_MAX to the number of threads that use the database.",
                most=self._most,
            ) from None

    def _logged_in(self, authority: Authority, deadline: float) -> TrackedConnection:
        """A new connection. Waits for a server that does not answer, as it may be restarting."""
        while True:
            try:
                return self._login(authority)
            except BaseException as error:
                if not isinstance(error, ConnectionRefused) or time.monotonic() + AGAIN_S > deadline:
                    self._make_room()
                    raise
            time.sleep(AGAIN_S)

    def _give(self, held: TrackedConnection, authority: Authority) -> None:
        now = time.monotonic()
        if not held.cleaned() or now - held.since > MAX_AGE_S:
            self._broke = now if held.closed else self._broke
            held.close()
            self._make_room()
            return
        held.used, held.own_used = now, now if held.authority is authority else held.own_used
        with self._lock:
            if self._waiting:
                self._waiting.popleft().put(held)
                return
            self._idle.append(held)
            stale = [one for one in self._idle if self._closed or now - one.used > MAX_IDLE_S]
            self._idle = [one for one in self._idle if one not in stale]
            self._count -= len(stale)
        for one in stale:
            one.close()

    def _make_room(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().put(None)
            else:
                self._count -= 1


def _kept(held: TrackedConnection) -> TrackedConnection | None:
    """An idle connection of another authority, to use meanwhile; or None."""
    if time.monotonic() - held.own_used <= UNUSED_S:
        return held
    held.close()
    return None


def _answers(held: TrackedConnection, broke: float) -> bool:
    """Whether it still works. Not tested if it was used a moment ago, and since another one broke."""
    if time.monotonic() - held.used > TRUSTED_S or held.used <= broke:
        try:
            Cursor(held).execute("", prepare=False)
        except psycopg.Error:
            held.close()
            return False
    return not held.closed
