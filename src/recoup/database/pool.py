"""Connections kept between transactions, each by its authority; bounded over all of them.

A caller gets, in this order: an idle connection of the authority; a new one, while there may be more; an idle one
of another authority, which then takes the wanted one for each transaction; or, first come first served, the next that
is given back. A connection that its own authority has not used for a while makes room for one of the authority that
asks: connections follow the work, and authorities that take turns over too few of them do not log in each time.

Several logins may share one pool. A connection is never used for another login: it is closed to make room for one.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
OVERTAKEN_S = 0.25  # those who wait for another login's connection are overtaken by those of its own for this long

Login = Callable[[Authority], TrackedConnection]


@dataclass(eq=False, slots=True)
class _Waiting:
    """One who waits for a connection."""

    login: str
    since: float
    handed: SimpleQueue[TrackedConnection | None] = field(default_factory=SimpleQueue)


class Pool:
    """A bounded number of connections. Safe to share between threads."""

    def __init__(self, *, most: int, patience_s: float) -> None:
        self._most = most
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._idle: list[TrackedConnection] = []  # the last used last
        self._waiting: deque[_Waiting] = deque()
        self._count = 0
        self._closed = False
        self._broke = 0.0  # when one was last found broken: the server may have ended them all

    @contextlib.contextmanager
    def borrowed(self, authority: Authority, login: str, log_in: Login) -> Iterator[TrackedConnection]:
        """A working connection, until the end of the block; the authority's own if ``held.authority`` is the same.

        ``login``: whose connections may be used; ``log_in`` makes one.
        """
        deadline = time.monotonic() + self._patience_s
        held = self._next(authority, login, deadline)
        if held is None or not _answers(held, self._broke):
            held = self._logged_in(authority, login, log_in, deadline)
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

    def _next(self, authority: Authority, login: str, deadline: float) -> TrackedConnection | None:
        """A connection; or None, and the right to open one."""
        with self._lock:
            ours = [held for held in self._idle if held.login == login]
            own = next((held for held in reversed(ours) if held.authority in (authority, None)), None)
            if own is not None:
                self._idle.remove(own)
                return own
            if self._count < self._most:
                self._count += 1
                return None
            if self._idle:
                # The one that was not used for longest; before another login's is closed, one that can be used.
                least = self._idle[0]
                taken = ours[0] if ours and time.monotonic() - least.own_used <= UNUSED_S else least
                self._idle.remove(taken)
                return _kept(taken, login)
            mine = _Waiting(login, time.monotonic())
            self._waiting.append(mine)
        try:
            return _of(mine.handed.get(timeout=max(0.0, deadline - time.monotonic())), login)
        except Empty:
            with self._lock:
                if mine not in self._waiting:  # handed over just now
                    return _of(mine.handed.get_nowait(), login)
                self._waiting.remove(mine)
            raise ConnectionRefused(
                "pool_exhausted",
                f"All {self._most} connections of this process were in use for {self._patience_s:g} s.",
                "Keep transactions short, or raise RECOUP_POOL_MAX to the number of threads that use the database.",
                most=self._most,
            ) from None

    def _logged_in(self, authority: Authority, login: str, log_in: Login, deadline: float) -> TrackedConnection:
        """A new connection. Waits for a server that does not answer, as it may be restarting."""
        while True:
            try:
                held = log_in(authority)
            except BaseException as error:
                if not isinstance(error, ConnectionRefused) or time.monotonic() + AGAIN_S > deadline:
                    self._make_room()
                    raise
            else:
                held.login = login
                return held
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
                self._first_for(held.login, now).handed.put(held)
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
                self._waiting.popleft().handed.put(None)
            else:
                self._count -= 1

    def _first_for(self, login: str, now: float) -> _Waiting:
        """Who gets a connection of this login: the first in line, or the first who can use it without a new login."""
        first = self._waiting[0]
        if now - first.since < OVERTAKEN_S:
            first = next((one for one in self._waiting if one.login == login), first)
        self._waiting.remove(first)
        return first


def _kept(held: TrackedConnection, login: str) -> TrackedConnection | None:
    """An idle connection of another authority, to use meanwhile; or None."""
    if time.monotonic() - held.own_used <= UNUSED_S:
        return _of(held, login)
    held.close()
    return None


def _of(held: TrackedConnection | None, login: str) -> TrackedConnection | None:
    """A connection if it is this login's; another one is closed to make room for it."""
    if held is None or held.login == login:
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
