"""A worker inside a program of yours: ``recoup.Worker(db, handlers={…}).run()``. ``recoup worker`` is this class."""

from __future__ import annotations

import dataclasses
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence

from recoup import observe, policy
from recoup.database.connection import Database
from recoup.domain import duties as every
from recoup.domain import releases
from recoup.domains import DOMAINS
from recoup.errors import handlers as error_handlers
from recoup.errors.duties import RETRY, with_handlers
from recoup.errors.handlers import Function
from recoup.lifecycles.declaration import Authority
from recoup.own_functions import OwnFunction
from recoup.partitions import functions, tasks, working
from recoup.partitions.duties import WORK
from recoup.partitions.policy import PartitionPolicy
from recoup.recovery import executing, executors
from recoup.recovery.duties import EXECUTE, with_executors
from recoup.recovery.executing import Executor
from recoup.refusals import InputRefused
from recoup.worker.duty import Duty
from recoup.worker.loop import WorkerLoop

UNTIL_EVERY_S = 0.1


class Worker:
    """Runs Recoup's background tasks (duties) in this process, on threads of their own.

    ``handlers`` maps error tables to functions of the claimed error, and only these are called. Without it the worker
    uses the handlers of the project file and of installed packages. ``actions`` maps actions of recovery to functions
    of the started candidate and its subject in the same way. ``duties`` names the background tasks to run, by default
    all; ``name`` is the worker's name in logs and claims. Any number of workers can run side by side.
    """

    def __init__(
        self,
        database: Database,
        *,
        handlers: Mapping[str, Function] | None = None,
        actions: Mapping[str, Executor | executing.Function] | None = None,
        duties: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        settings = database.settings
        self.name = name or settings.worker_name or f"{socket.gethostname()}-{os.getpid()}"
        self.handlers = error_handlers.find(settings) if handlers is None else error_handlers.given(handlers)
        self.actions = executors.find(settings) if actions is None else executors.given(actions)
        self.duties = with_executors(
            with_handlers(chosen(duties), error_handlers.functions(self.handlers)), executors.executors(self.actions)
        )
        # A connection for each duty, one for the heartbeat, one to spare; with the worker's name from their login on.
        pool_max = max(settings.pool_max, len(self.duties) + 2)
        own = dataclasses.replace(settings, pool_max=pool_max, actor=self.name)
        self._database = Database(database.conninfo, own)
        self._loop = WorkerLoop(self._database, self.duties, name=self.name, releases=releases(DOMAINS))

    def run(self, until: threading.Event | Callable[[], bool] | None = None) -> None:
        """Work until :meth:`stop` is called, or the event is set, or the function returns True; then finish and return.

        Raises the refusal if it has to stop by itself, because the schema was migrated to another epoch.
        """
        self.log_functions()
        if until is not None:
            ask = until.is_set if isinstance(until, threading.Event) else until
            threading.Thread(target=self._watch, args=(ask,), name="until", daemon=True).start()
        with self._database:
            try:
                self._loop.run()
            finally:
                working.release(self.name)
        if self._loop.refusal is not None:
            raise self._loop.refusal

    def run_once(self) -> dict[str, int]:
        """Run every duty until it finds nothing more to do. Returns how many units each did."""
        self.log_functions()
        with self._database:
            try:
                return self._loop.run_once()
            finally:
                working.release(self.name)

    def stop(self) -> None:
        """Finish the batches in progress, and return from :meth:`run`. Callable from any thread."""
        self._loop.stop()

    @property
    def failed(self) -> Sequence[str]:
        """Duties that raised in :meth:`run_once`."""
        return self._loop.failed

    def log_functions(self) -> None:
        """Log which functions of yours serve what, and what waits for one that is not here."""
        running = {duty.name for duty in self.duties}
        log = observe.logger(worker=self.name)
        if RETRY in running:
            self._log_found("handler", "table", self.handlers)
            with self._database.transaction(Authority.READER) as tx:
                unserved = error_handlers.unserved(tx, self.handlers)
            for table in unserved:
                log.warning(
                    "no handler here for due retries", table=table.table, due=table.due,
                    then="add one to recoup.toml under [handlers]; or retry them elsewhere: recoup errors claim",
                )  # fmt: skip
        if EXECUTE in running:
            self._log_found("executor", "action", self.actions)
            with self._database.transaction(Authority.READER) as tx:
                waiting = executing.waiting_for_executors(tx, executors.executors(self.actions))
            for action, count in waiting.items():
                log.warning(
                    "no executor here for candidates that may start", action=action, candidates=count,
                    then="add one to recoup.toml under [actions]; or execute them elsewhere: db.recovery.claim",
                )  # fmt: skip

        if WORK in running:
            served = functions.served(self._policy_of_partitions(), tasks.project_of(self._database.settings))
            for (source, query), problem in served.problems.items():
                log.warning(
                    "partitions of this query are not worked on here", query=f"{source}/{query}", failure=problem
                )

    def _policy_of_partitions(self) -> PartitionPolicy:
        with self._database.transaction(Authority.READER) as tx:
            return policy.in_force(tx).policy[PartitionPolicy]

    def _log_found(self, word: str, serves: str, found: Sequence[OwnFunction]) -> None:
        for one in found:
            if one.problem is None:  # the others were logged when they could not be loaded
                observe.logger(worker=self.name).info(word, source=one.source, **{serves: one.serves, word: one.name})

    def _watch(self, ask: Callable[[], bool]) -> None:
        done = threading.Event()
        while not ask():
            done.wait(UNTIL_EVERY_S)
        self.stop()


def chosen(names: Sequence[str]) -> tuple[Duty, ...]:
    """The duties of these names; of none, all."""
    known = [duty.name for duty in every(DOMAINS)]
    for name in names:
        if name not in known:
            raise InputRefused("duty_unknown", f"There is no duty {name!r}.", f"Duties: {', '.join(known)}.", duty=name)
    return tuple(duty for duty in every(DOMAINS) if not names or duty.name in names)
