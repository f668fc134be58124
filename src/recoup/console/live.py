"""Live pages: a stream that says which parts of the product changed; pages then read themselves again.

It tells no content, so it is the same for everybody who is signed in. One task of the process follows the logs while
somebody listens, from a cursor that misses nothing; none holds a connection of the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace

import anyio.to_thread
import psycopg

from recoup import observe
from recoup.api import following
from recoup.database.connection import Database, Transaction
from recoup.ledger import subscriptions
from recoup.ledger.subscriptions import Cursor
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from recoup.service import Principal
from recoup.service.principal import OWN

POLL_S = 0.5
COMMENT_S = 15.0
CHECK_S = 5.0  # after which a session is asked for again
MAX_LISTENERS = 200
MAX_PER_CALLER = 20
_SNAPSHOT = re.compile(r"[0-9]{1,20}:[0-9]{1,20}:[0-9,]{0,3000}")


@dataclass(eq=False, slots=True)
class Listener:
    """One open page."""

    caller: Principal
    is_valid: Callable[[], bool]
    since: str | None  # the snapshot that its page was read in, until changes after it were sent
    changed: set[str] = field(default_factory=set)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False


class Live:
    """Every open page of a process."""

    def __init__(self, database: Database, stopping: threading.Event) -> None:
        self._database, self._stopping = database, stopping
        self._listeners: set[Listener] = set()
        self._at: Cursor | None = None
        self._checked = time.monotonic()

    def opened(self, caller: Principal, is_valid: Callable[[], bool], since: str | None) -> AsyncIterator[bytes]:
        """The bytes of a new stream, of changes after a snapshot. Refused when there are too many."""
        if since is None or not _SNAPSHOT.fullmatch(since):
            since = subscriptions.BEGINNING
        mine = Counter(one.caller.id for one in self._listeners)[caller.id]
        if mine >= MAX_PER_CALLER or len(self._listeners) >= MAX_LISTENERS:
            raise LawRefused("streams_used_up", "Too many pages are open.", "Close one; this page can be reloaded.")
        return self._sent(Listener(caller, is_valid, since))

    async def _sent(self, listener: Listener) -> AsyncIterator[bytes]:
        # Registered by the first read: a caller who left before it takes no place.
        self._listeners.add(listener)
        try:
            yield b"retry: 2000\n\nevent: hello\ndata: {}\n\n"
            while not listener.over:
                try:
                    await asyncio.wait_for(listener.waiting.wait(), COMMENT_S)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                listener.waiting.clear()
                parts, listener.changed = sorted(listener.changed), set()
                if parts:
                    yield b"event: changed\ndata: " + json.dumps(parts).encode() + b"\n\n"
        finally:
            self._listeners.discard(listener)

    async def run(self) -> None:
        """Follow the logs while somebody listens, until cancelled."""
        while True:
            await asyncio.sleep(POLL_S)
            if self._stopping.is_set():
                self._end(set(self._listeners))
                return
            if not self._listeners:
                self._at = None
                continue
            try:
                await self._turn()
            except Exception:  # noqa: BLE001 - the server may be away; pages wait, and are notified later
                observe.logger().exception("changes were not read")

    async def _turn(self) -> None:
        if time.monotonic() - self._checked > CHECK_S:
            self._checked = time.monotonic()
            now = list(self._listeners)
            valid = await anyio.to_thread.run_sync(lambda: [one.is_valid() for one in now])
            self._end({one for one, is_valid in zip(now, valid, strict=True) if not is_valid})
        listeners = list(self._listeners)
        new = {one.since for one in listeners if one.since is not None}
        changed, since = await anyio.to_thread.run_sync(self._read, new)
        for listener in listeners:
            listener.changed |= changed if listener.since is None else since[listener.since]
            listener.since = None
            if listener.changed:
                listener.waiting.set()

    def _read(self, new: set[str]) -> tuple[set[str], dict[str, set[str]]]:
        """The parts whose logs have events since the last turn, and since each of these snapshots."""
        with self._database.transaction(Authority.READER, actor=OWN) as tx:
            present, snapshot = subscriptions.present_incarnation(tx), subscriptions.present_snapshot(tx)
            # What is read here is settled in this snapshot; what comes later is the next turn's.
            end = Cursor(incarnation=present, since=snapshot, until=None, after_seq=0)
            since = {text: self._changed(tx, replace(end, since=text), end) for text in new}
            changed = set() if self._at is None else self._changed(tx, self._at, end)
            self._at = end
        return changed, since

    def _changed(self, tx: Transaction, at: Cursor, end: Cursor) -> set[str]:
        try:
            with tx.transaction():
                up_to = following.snapshot_for(tx, at, end.incarnation, end.since)
                return {
                    part_of(log.table)
                    for log in following.LOGS.values()
                    if subscriptions.follow(tx, log, at, up_to, limit=1).events
                }
        except psycopg.DataError:  # a snapshot of another server, or of nobody: everything may have changed
            return {part_of(log.table) for log in following.LOGS.values()}

    def _end(self, listeners: set[Listener]) -> None:
        for listener in listeners:
            listener.over = True
            listener.waiting.set()


# Parts of pages that are read again, by the table of the log; others by its schema.
PARTS: Mapping[str, str] = {"recoup.error_event": "errors", "recoup.alert_event": "alerts",
                            "recoup.delivery_event": "alerts", "recovery.run_trace": "runs"}  # fmt: skip


def part_of(table: str) -> str:
    schema = table.partition(".")[0]
    return PARTS.get(table, {"cl": "gate", "recovery": "recovery", "partitions": "partitions"}.get(schema, "control"))


@contextlib.asynccontextmanager
async def running(live: Live) -> AsyncIterator[None]:
    """Follow while the block runs."""
    task = asyncio.create_task(live.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
