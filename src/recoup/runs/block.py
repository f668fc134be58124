"""A run around a block of your own code: started, kept alive, ended.

    with recoup.run(db, "nightly-import", input={"day": "2026-01-01"}) as run:
        run.note("read 1,204 rows")
        run.result = {"rows": 1204}

The run succeeds when the block ends, and fails when it raises. A thread sends heartbeats meanwhile. If the process
dies, the run is marked crashed. If it was marked crashed during the block, its result is stored and does not count, and
the end of the block raises the refusal. In asyncio: ``async with recoup.run(…)``.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any
from uuid import UUID

from recoup import observe, policy
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words
from recoup.refusals import LawRefused, Refusal
from recoup.runs import running
from recoup.runs.policy import RunPolicy
from recoup.runs.running import Failed, NewRun, Started, Succeeded

OVER = "run_over"


class run:  # noqa: N801 - read as a word: with run(...)
    """Start a run, keep it alive during the block, and end it.

    database: from ``recoup.connect()``. kind: what kind of work it is. input: a JSON object, which a retry gets too;
    known secrets in it are redacted. source: what its failures are counted under; default: kind. owner: who runs it;
    default: host and process.

    In the block ``run_id`` names it; ``result`` may be set to a value that becomes JSON; ``note`` writes to its trace;
    ``check`` raises as soon as it is known that the run was marked crashed.
    """

    def __init__(
        self,
        database: Database,
        kind: str,
        *,
        input: Mapping[str, Any] | None = None,
        source: str | None = None,
        owner: str | None = None,
    ) -> None:
        self.result: Any = None
        self._new = NewRun(kind=kind, input=input, source=source)
        self._owner = owner or f"{socket.gethostname()}-{os.getpid()}"
        self._database = database
        self._actor = Actor("system", database.settings.actor)
        self._started: Started | None = None
        self._lost: LawRefused | None = None
        self._stopping = threading.Event()
        self._beating: threading.Thread | None = None

    @property
    def run_id(self) -> UUID:
        """Its id."""
        return self._of.run_id

    def note(self, text: str) -> int:
        """Write a note to the trace, which keeps the run alive, too. Returns the number of the note."""
        with self._database.transaction(Authority.RUNNER, actor=self._actor) as tx:
            return running.note(tx, self._of.run_id, self._of.token, text)

    def check(self) -> None:
        """Raise the refusal if a heartbeat found that the run was marked crashed."""
        if self._lost is not None:
            raise self._lost

    def heartbeat(self) -> None:
        """Send a heartbeat now. Raises the refusal if the run was marked crashed."""
        with self._database.transaction(Authority.RUNNER, actor=self._actor) as tx:
            running.heartbeat(tx, self._of.run_id, self._of.token)

    def __enter__(self) -> run:
        with self._database.transaction(Authority.RUNNER, actor=self._actor) as tx:
            interval_s = policy.in_force(tx).policy[RunPolicy].heartbeat_s
            (self._started,) = running.start(tx, [self._new], owner=self._owner)
        # A daemon: it must not keep a process alive whose own work has ended.
        self._beating = threading.Thread(target=self._beat, args=(interval_s,), name="recoup-heartbeat", daemon=True)
        self._beating.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._stopping.set()
        if self._beating is not None:
            self._beating.join()
        if error is None:
            self._end(Succeeded(run_id=self._of.run_id, token=self._of.token, result=self.result))
            return
        words = in_words(error)
        message = f"{type(error).__name__}: {words}" if words else type(error).__name__
        try:
            self._end(Failed(run_id=self._of.run_id, token=self._of.token, message=message, result=self.result))
        except Exception as other:  # noqa: BLE001 - must not take the place of what really failed
            why = other.happened if isinstance(other, Refusal) else in_words(other)
            error.add_note(f"The end of run {self._of.run_id} was not recorded: {why}")
            observe.logger().error("end of a run was not recorded", run=str(self._of.run_id), why=why)

    async def __aenter__(self) -> run:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: Any) -> None:
        # Shielded: a cancelled task ends its run, too.
        await asyncio.shield(asyncio.to_thread(self.__exit__, kind, error, at))

    @property
    def _of(self) -> Started:
        assert self._started is not None, "the block has begun"
        return self._started

    def _end(self, outcome: Succeeded | Failed) -> None:
        with self._database.transaction(Authority.RUNNER, actor=self._actor) as tx:
            (ended,) = running.finish(tx, [outcome])
        if ended.status == "late":
            self.check()
            raise LawRefused(
                OVER,
                f"Run {ended.run_id} was marked crashed while it ran: its result is stored, and does not count.",
                f"See why: recoup runs show {ended.run_id}",
                run_id=str(ended.run_id),
            )

    def _beat(self, interval_s: float) -> None:
        while not self._stopping.wait(interval_s):
            try:
                self.heartbeat()
            except LawRefused as refusal:
                if refusal.code == OVER:
                    self._lost = refusal
                    observe.logger().warning("run was marked crashed", run=str(self._of.run_id), why=refusal.happened)
                    return
                observe.logger().error("heartbeat of a run failed", run=str(self._of.run_id), failure=str(refusal))
            except Exception as error:  # noqa: BLE001 - without heartbeats the run would be marked crashed
                observe.logger().error("heartbeat of a run failed", run=str(self._of.run_id), failure=str(error))
