"""Leases of runs that are worked on: extended by the process that submitted them, up to the hours of the policy."""

import threading
from datetime import timedelta
from types import TracebackType
from typing import TypeAlias
from uuid import UUID

import psycopg

from recoup import observe
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.running import extend
from recoup.refusals import Refusal
from recoup.worker.duty import Context

Key: TypeAlias = tuple[UUID, UUID]  # run and token
TIMES = 3  # a lease is extended this often before it would expire


class Leases:
    """Keeps the leases of runs while a flow works on them. A thread, for as long as the block."""

    def __init__(self, context: Context, lease: timedelta) -> None:
        self.context, self.lease = context, lease
        self._held: dict[Key, bool] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="recoup-leases", daemon=True)

    def __enter__(self) -> "Leases":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def add(self, run: Dispatched) -> None:
        with self._lock:
            if self._thread.ident is None:
                self._thread.start()
            self._held[run.run_id, run.token] = True

    def remove(self, run: Dispatched) -> None:
        with self._lock:
            self._held.pop((run.run_id, run.token), None)

    def is_held(self, run: Dispatched) -> bool:
        """Whether a run is still ours, as far as is known."""
        with self._lock:
            return self._held.get((run.run_id, run.token), True)

    def extend(self) -> None:
        """Extend all of them, in one statement. One that the database does not extend any more is not ours."""
        with self._lock:
            ours = [key for key, held in self._held.items() if held]
        if not ours:
            return
        with self.context.transaction() as tx:
            held = extend(tx, ours, self.lease)
        with self._lock:
            self._held |= {key: False for key in ours if key in self._held and key[0] not in held}

    def _keep(self) -> None:
        while not self._ended.wait(self.lease.total_seconds() / TIMES):
            try:
                self.extend()
            except (psycopg.Error, Refusal) as error:
                observe.logger(worker=self.context.name).warning("leases were not extended", failure=str(error))
