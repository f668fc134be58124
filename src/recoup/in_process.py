"""A worker inside a program of yours: ``recoup.Worker(db, handlers={…}).run()``. ``recoup worker`` is this class."""

from __future__ import annotations

import dataclasses
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence

from recoup import observe
from recoup.database.connection import Database
from recoup.domain import duties as every
from recoup.domain import releases
from recoup.domains import DOMAINS
from recoup.errors import handlers as error_handlers
from recoup.errors.duties import RETRY, with_handlers
from recoup.errors.handlers import Function, Handler
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from recoup.worker.duty import Duty
from recoup.worker.loop import WorkerLoop

UNTIL_EVERY_S = 0.1


class Worker:
    """Runs Recoup's background tasks (duties) in this process, on threads of their own.

    ``handlers`` maps error tables to functions of the claimed error, and only these are called. Without it the worker
    uses the handlers of the project file and of installed packages. ``duties`` names the background tasks to run, by
    default all; ``name`` is the worker's name in logs and claims. Any number of workers can run side by side.
    """

    def __init__(
        self,
        database: Database,
        *,
        handlers: Mapping[str, Function] | None = None,
        duties: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        settings = database.settings
        self.name = name or settings.worker_name or f"{socket.gethostname()}-{os.getpid()}"
        self.handlers: tuple[Handler, ...] = (
            error_handlers.find(settings) if handlers is None else error_handlers.given(handlers)
        )
        self.duties = with_handlers(chosen(duties), error_handlers.functions(self.handlers))
        # A connection for each duty, one for the heartbeat, one to spare; with the worker's name from their login on.
        pool_max = max(settings.pool_max, len(self.duties) + 2)
        own = dataclasses.replace(settings, pool_max=pool_max, actor=self.name)
        self._database = Database(database.conninfo, own)
        self._loop = WorkerLoop(self._database, self.duties, name=self.name, releases=releases(DOMAINS))

    def run(self, until: threading.Event | Callable[[], bool] | None = None) -> None:
        """Work until :meth:`stop` is called, or the event is set, or the function returns True; then finish and return.

        Raises the refusal if it has to stop by itself, because the schema was migrated to another epoch.
        """
        self.log_handlers()
        if until is not None:
            ask = until.is_set if isinstance(until, threading.Event) else until
            threading.Thread(target=self._watch, args=(ask,), name="until", daemon=True).start()
        with self._database:
            self._loop.run()
        if self._loop.refusal is not None:
            raise self._loop.refusal

    def run_once(self) -> dict[str, int]:
        """Run every duty until it finds nothing more to do. Returns how many units each did."""
        self.log_handlers()
        with self._database:
            return self._loop.run_once()

    def stop(self) -> None:
        """Finish the batches in progress, and return from :meth:`run`. Callable from any thread."""
        self._loop.stop()

    @property
    def failed(self) -> Sequence[str]:
        """Duties that raised in :meth:`run_once`."""
        return self._loop.failed

    def log_handlers(self) -> None:
        """Log which handler serves which table, and which tables have due retries and no handler."""
        if not any(duty.name == RETRY for duty in self.duties):
            return
        log = observe.logger(worker=self.name)
        for one in self.handlers:
            if one.problem is None:  # the others were logged when they could not be loaded
                log.info("handler", table=one.table, handler=one.name, source=one.source)
        with self._database.transaction(Authority.READER) as tx:
            missing = error_handlers.unserved(tx, self.handlers)
        for table in missing:
            log.warning(
                "no handler here for due retries", table=table.table, due=table.due,
                then="add one to recoup.toml under [handlers]; or retry them elsewhere: recoup errors claim",
            )  # fmt: skip

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
