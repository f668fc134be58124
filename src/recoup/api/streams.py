"""Server-sent events: the events of a log as they settle, from a position that the caller keeps.

One task of the process polls for all streams, and none of them holds a connection. Streams at one position are read for
once. A stream whose reader is slow is not read for until it has taken what it has; nothing is dropped.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio.to_thread
import psycopg
from fastapi.responses import StreamingResponse
from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from recoup import observe
from recoup.api import following
from recoup.api.callers import Callers
from recoup.ledger import subscriptions
from recoup.ledger.subscriptions import Cursor, Log
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from recoup.service import Principal

POLL_S = 1.0
COMMENT_S = 15.0
CHECK_S = 5.0  # whether keys are still valid
PAGE = 200
MAX_STREAMS = 200  # of one process
MAX_PER_CALLER = 10
READS_AT_ONCE = 50  # positions that one turn reads for
HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True)
class Position:
    """Where a stream is, and which events it takes."""

    log: Log
    event_types: tuple[str, ...] | None
    at: Cursor


@dataclass(eq=False, slots=True)
class Stream:
    """One stream: whose it is, where it is, and what waits to be sent."""

    caller: Principal
    secret: str | None = field(repr=False)
    position: Position
    waiting: asyncio.Queue[bytes | None] = field(default_factory=lambda: asyncio.Queue(1))
    last_turn: float = 0.0

    @property
    def place(self) -> tuple[Any, ...]:
        """Streams with an equal one get the same events."""
        at = self.position
        return (self.caller.role, self.caller.hub, at.log.table, at.event_types, at.at)


class Streams:
    """All streams of a process."""

    def __init__(self, callers: Callers, stopping: threading.Event) -> None:
        self._callers, self._stopping = callers, stopping
        self._streams: set[Stream] = set()
        self._checked = time.monotonic()

    def opened(self, stream: Stream) -> StreamingResponse:
        """The answer of a new stream, which holds a place until it ends. Refused when there are too many."""
        mine = Counter(one.caller.id for one in self._streams)[stream.caller.id]
        if mine >= MAX_PER_CALLER or len(self._streams) >= MAX_STREAMS:
            raise LawRefused(
                "streams_used_up",
                f"{'This caller' if mine >= MAX_PER_CALLER else 'This process'} has as many streams as it may have.",
                "Close one, or read pages instead: GET /v1/logs/{log}/events",
                retry_after_s=5,
            )
        self._streams.add(stream)
        return _Answer(_sent(stream), lambda: self._streams.discard(stream))

    async def run(self) -> None:
        """Poll for all streams, until cancelled."""
        while True:
            await asyncio.sleep(POLL_S)
            try:
                await self._turn()
            except Exception:  # noqa: BLE001 - the server may be away; streams wait, and continue where they were
                observe.logger().exception("streams were not read")

    async def _turn(self) -> None:
        if self._stopping.is_set() or not self._callers.is_usable:
            self._end(list(self._streams))
            return
        ready = sorted((one for one in self._streams if one.waiting.empty()), key=lambda one: one.last_turn)
        places: defaultdict[tuple[Any, ...], list[Stream]] = defaultdict(list)
        for stream in ready:
            places[stream.place].append(stream)
        if time.monotonic() - self._checked > CHECK_S:
            self._checked = time.monotonic()
            self._end(await anyio.to_thread.run_sync(self._invalid, list(self._streams)))
        chosen = list(places.values())[:READS_AT_ONCE]
        if not chosen:
            return
        found = await anyio.to_thread.run_sync(self._read, [group[0] for group in chosen])
        for group, read in zip(chosen, found, strict=True):
            if read is None:
                self._end(group)
                continue
            at, part = read
            for stream in group:
                stream.position, stream.last_turn = replace(stream.position, at=at), time.monotonic()
                if part and stream in self._streams:
                    stream.waiting.put_nowait(part)

    def _read(self, streams: Sequence[Stream]) -> list[tuple[Cursor, bytes] | None]:
        """For each, its position afterwards and its events; None: it has a position that cannot be."""
        done: dict[int, tuple[Cursor, bytes] | None] = {}
        scopes: defaultdict[tuple[Any, ...], list[Stream]] = defaultdict(list)
        for stream in streams:
            scopes[stream.caller.role, stream.caller.hub].append(stream)
        for group in scopes.values():
            try:
                done |= self._read_together(group)
            except psycopg.DataError:  # of one of them: the others continue
                done |= {id(one): self._read_one(one) for one in group}
        return [done[id(stream)] for stream in streams]

    def _read_one(self, stream: Stream) -> tuple[Cursor, bytes] | None:
        try:
            return self._read_together([stream])[id(stream)]
        except psycopg.DataError:
            return None

    def _read_together(self, group: Sequence[Stream]) -> dict[int, tuple[Cursor, bytes]]:
        """In one transaction, for streams of one role and hub."""
        done: dict[int, tuple[Cursor, bytes]] = {}
        if group:
            with self._callers.acting(group[0].caller, Authority.CONSUMER) as tx:
                # One snapshot for all: those that are at the end of their logs are at one position from then on.
                present, snapshot = subscriptions.present_incarnation(tx), subscriptions.present_snapshot(tx)
                for stream in group:
                    one = stream.position
                    up_to = following.snapshot_for(tx, one.at, present, snapshot)
                    found = subscriptions.follow(tx, one.log, one.at, up_to, limit=PAGE, event_types=one.event_types)
                    done[id(stream)] = found.then, _parts(following.placed(one.log, one.at, found), one.log)
        return done

    def _invalid(self, streams: Sequence[Stream]) -> list[Stream]:
        """Streams whose key has ended."""
        return [one for one in streams if not self._callers.is_valid(one.secret)]

    def _end(self, streams: Sequence[Stream]) -> None:
        for stream in streams:
            self._streams.discard(stream)
            if stream.waiting.full():  # what waits was read, and is read again from its position
                stream.waiting.get_nowait()
            stream.waiting.put_nowait(None)


class _Answer(StreamingResponse):
    """What a stream sends. Its place is free when it ends, also where its caller left before it began."""

    def __init__(self, sent: AsyncIterator[bytes], end: Callable[[], None]) -> None:
        super().__init__(sent, media_type="text/event-stream", headers=HEADERS)
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:  # not in what is sent: of that nothing runs when nobody is there at its beginning
            self._end()


async def _sent(stream: Stream) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    while True:
        try:
            part = await asyncio.wait_for(stream.waiting.get(), COMMENT_S)
        except TimeoutError:
            part = b": still here\n\n"
        if part is None:
            return
        yield part


def _parts(found: following.Read, log: Log) -> bytes:
    return b"".join(
        b"id: %s\nevent: %s\ndata: %s\n\n"
        % (at.encode(), str(event[log.event]).encode(), to_json(event, inf_nan_mode="null", fallback=str))
        for at, event in found.events
    )
