"""What every adapter does with a failure: record it, from the process in which it happened, and raise nothing.

An adapter runs inside somebody else's program. What goes wrong here is logged (logger ``recoup``), and that program's
own failure stays what it was.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from queue import SimpleQueue
from typing import Any
from uuid import NAMESPACE_DNS, UUID, uuid5

from recoup import observe
from recoup.client import open_client
from recoup.database.connection import Database
from recoup.errors.clearing import clear
from recoup.errors.handling import raised
from recoup.errors.inputs import entity as entity_from
from recoup.errors.recording import NewError, Recorded
from recoup.errors.resilient import record_resilient, retried, with_more
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words
from recoup.refusals import Refusal

NAMESPACE = uuid5(NAMESPACE_DNS, "adapters.recoup")  # never changes: it is in the ids of entities
MAX_KEY = 200  # characters of a work key
CAPACITY = 1_000  # failures that wait for the background thread
FLUSH_S = 10.0
DROPS_EVERY_S = 60.0  # log lines about dropped failures, while more are dropped

_own = threading.local()


def entity_of(system: str, name: str) -> UUID:
    """The entity of something that has a name and no UUID: ``entity_of("dbt", "model.shop.orders")``."""
    return uuid5(NAMESPACE, f"{system}:{name}")


def key_of(*parts: object) -> str:
    """A work key of several parts. One that is too long ends with a digest of the whole."""
    whole = "/".join(str(part) for part in parts)
    text = "".join(sign if sign.isprintable() else "�" for sign in whole)
    if text == whole and len(text) <= MAX_KEY:
        return text
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:32]
    return f"{text[: MAX_KEY - 33]}#{digest}"


def captured(table: str, error: BaseException, *, payload: Mapping[str, Any], **more: Any) -> NewError:
    """An exception as it is recorded: its class is the code, its traceback is in the payload."""
    what = with_more(payload, {"traceback": raised(error).traceback})
    return NewError(
        table=table,
        message=in_words(error) or type(error).__name__,
        code=type(error).__name__,
        payload=what,
        **more,
    )


def report(database: Opened, new: NewError) -> Recorded | None:
    """Record a failure; among the orphans if its table does not take it. None: it could not be, and that is logged."""
    try:
        return record_resilient(database(), new, fallback="orphan_table")
    except Exception as other:  # noqa: BLE001 - must not take the place of what really failed
        why = f"{other.happened} {other.next_step}" if isinstance(other, Refusal) else in_words(other)
        observe.logger().error("failure was not recorded", table=new.table, failure=in_words(new.message), why=why)
        return None


def cleared(database: Opened, table: str, work: Mapping[str, Any], ran_for: timedelta) -> None:
    """Report a success: resolve what is open of this work. What goes wrong is logged."""

    def act() -> None:
        with database().transaction(Authority.HUB) as tx:
            whose = entity_from(work["outreach_id"])
            if whose is not None:
                clear(tx, table, [whose], work_key=work["work_key"], ran_for=max(ran_for, timedelta(0)))

    try:
        retried(act)
    except Exception as error:  # noqa: BLE001 - a success stays one
        observe.logger().error("success was not reported", table=table, why=in_words(error))


def asked_of(entity: Callable[..., Any] | None, work_key: Callable[..., Any] | None, *given: Any) -> dict[str, Any]:
    """Entity and work key, by functions of the user's. Why one failed is logged; no entity leads to the orphans."""
    found: dict[str, Any] = {}
    for name, of in (("outreach_id", entity), ("work_key", work_key)):
        try:
            found[name] = None if of is None else of(*given)
        except Exception as error:  # noqa: BLE001 - must not take the place of what really failed
            found[name] = None
            observe.logger().error(f"{name} could not be worked out", why=f"{type(error).__name__}: {in_words(error)}")
    return found


def is_own_thread() -> bool:
    """Whether this thread records for an adapter: what it logs must not be recorded again."""
    return getattr(_own, "is_recording", False)


class Opened:
    """A database as this process uses it: a forked child must not use the connections of its parent."""

    def __init__(self, database: Database | None) -> None:
        self._given = database
        self._database, self._pid = database, os.getpid()

    def __call__(self) -> Database:
        if self._database is None:
            self._given = self._database = open_client()
        if self._pid != os.getpid():
            assert self._given is not None, "it was opened before the fork"
            self._database, self._pid = Database(self._given.conninfo, self._given.settings), os.getpid()
        return self._database


class Background:
    """One thread that records what is put here, in order. To put never blocks: what does not fit is dropped, counted.

    Each process has a thread of its own, which begins with the first failure. Drops are logged, too.
    """

    def __init__(self, name: str, *, capacity: int = CAPACITY) -> None:
        self._name, self._capacity = name, capacity
        self._is_closed = False
        self._begin()
        atexit.register(self.close)

    def _begin(self) -> None:
        # No queue with a lock: an object that logs while it is collected may interrupt a put in this very thread.
        self._queue: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self.dropped = 0

    def put(self, act: Callable[[], object]) -> None:
        """Have it called in the background. Several threads at once may exceed the capacity by one each."""
        if self._pid != os.getpid():  # forked: the queue and its failures are the parent's
            self._begin()
        if self._is_closed or self._queue.qsize() >= self._capacity or not self._is_started():
            with self._lock:
                self.dropped += 1
        else:
            self._queue.put(act)

    def flush(self, timeout_s: float = FLUSH_S) -> bool:
        """Wait until everything that was put before is recorded. False: not all of it was, within this time."""
        if self._thread is None or self._pid != os.getpid() or is_own_thread():
            return True
        done = threading.Event()
        self._queue.put(done.set)
        return done.wait(timeout_s)

    def close(self, timeout_s: float = FLUSH_S) -> None:
        """Record what waits, within this time, and end the thread. What comes later is dropped."""
        self._is_closed = True
        atexit.unregister(self.close)
        if self._thread is not None and self._pid == os.getpid():
            self._queue.put(None)
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                observe.logger().error(
                    "failures were not recorded in time", adapter=self._name, left=self._queue.qsize()
                )
        elif self.dropped:
            self._log_drops()

    def _is_started(self) -> bool:
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._run, args=(self._queue,), name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the interpreter is ending
                    return False
                self._thread = thread
        return True

    def _run(self, queue: SimpleQueue[Callable[[], object] | None]) -> None:
        _own.is_recording = True
        logged, next_line = 0, 0.0
        while (act := queue.get()) is not None:
            try:
                act()
            except Exception as error:  # noqa: BLE001 - the next one is recorded all the same
                observe.logger().error("failure was not recorded", adapter=self._name, why=in_words(error))
            if self.dropped != logged and (queue.empty() or time.monotonic() >= next_line):
                logged, next_line = self.dropped, time.monotonic() + DROPS_EVERY_S
                self._log_drops()
        if self.dropped != logged:
            self._log_drops()

    def _log_drops(self) -> None:
        observe.logger().warning(
            "failures were dropped: more came than could be recorded",
            adapter=self._name, dropped=self.dropped, capacity=self._capacity,
        )  # fmt: skip
