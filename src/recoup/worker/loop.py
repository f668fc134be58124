"""A worker: runs duties until it is stopped.

What an operator can rely on:

- Each duty has a thread of its own: one that raises, or is slow, does not delay the others. What it raised is logged
  and counted, and it is tried again after growing pauses.
- A batch and its tally are one transaction. Killed in the middle, it is rolled back; another worker does it.
- A duty is woken by notifications, and polls at least every cadence; less often the longer there is nothing to do.
- A duty that cannot continue in this process stops the worker, which then exits with a status that is not 0.
- When stopped, it finishes the batches in progress and unregisters.
- It works with its own release of the schema and with later ones of the same epoch; with another epoch it stops.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from uuid import UUID

import psycopg

from recoup import observe, pauses, policy, tracing
from recoup.database.connection import Actor, Database, Transaction, connect
from recoup.database.releases import Release, check_schema
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.refusals import MigrationRefused, Refusal
from recoup.settings import Settings
from recoup.worker import register
from recoup.worker.duty import Context, Duty
from recoup.worker.policy import WorkerPolicy
from recoup.worker.stopping import WorkerStopped

CHANNEL = "recoup_wake"
MIN_IDLE_S = 0.2  # the first pause after a batch that found nothing to do; doubled up to the cadence
MAX_FAILED_S = 300.0  # the longest pause after a batch that raised
MIN_WAKE_S = 0.05  # notifications within this time wake a duty once
FLOOD = 2000  # more notifications within that time are not caused by work
FLOOD_PAUSE_S = 5.0
LISTEN_SLICE_S = 0.5  # how soon the listener notices that it has to stop


class WorkerLoop:
    """One life of a worker. ``run`` returns when ``stop`` was called and the batches in progress are done."""

    def __init__(
        self, database: Database, duties: Sequence[Duty], *, name: str, releases: Sequence[Release] = ()
    ) -> None:
        self.database = database
        self.duties = duties
        self.releases = releases  # of the schema that it needs
        self.name = name
        self.refusal: Refusal | None = None  # why it stopped without being asked
        self.failed: list[str] = []  # duties that raised in run_once
        self.started = threading.Event()  # registered
        self._stopping = threading.Event()
        self._wakes = {duty.name: threading.Event() for duty in duties}
        self._actor = Actor("system", name)
        self._log = observe.logger(worker=name)
        self._id: UUID | None = None
        self._policy: Policy | None = None

    def stop(self) -> None:
        """Finish the batches in progress, and return from ``run``."""
        self._stopping.set()
        self.wake("")

    def wake(self, duty: str) -> None:
        """Make one duty, or all of them, run at once."""
        for name, event in self._wakes.items():
            if duty in ("", name):
                event.set()

    def run(self) -> None:
        """Work until stopped."""
        self._begin()
        threads = [threading.Thread(target=self._do, args=(duty,), name=duty.name) for duty in self.duties]
        threads += [threading.Thread(target=work, name=work.__name__) for work in (self._listen, self._beat)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with contextlib.suppress(psycopg.Error, Refusal), self._acting(Authority.RUNNER) as tx:
            register.stop(tx, self.worker_id)
        self._log.info("worker stopped")

    def run_once(self) -> dict[str, int]:
        """Run every duty until it finds nothing more to do. Returns how many units each did."""
        self._begin()
        done: dict[str, int] = {}
        try:
            for duty in self.duties:
                done[duty.name] = 0
                try:
                    while not self._stopping.is_set() and (units := self._batch(duty)):
                        done[duty.name] += units
                except (psycopg.Error, Refusal) as error:
                    self._failed(duty, error)
                    self._one_by_one(duty)
                    self.failed.append(duty.name)
        finally:
            with self._acting(Authority.RUNNER) as tx:
                register.stop(tx, self.worker_id)
        return done

    @property
    def worker_id(self) -> UUID:
        """Its id: another one after it was declared lost."""
        assert self._id is not None
        return self._id

    # One duty ------------------------------------------------------------------------------------------------------

    def _do(self, duty: Duty) -> None:
        """Run a duty until stopped."""
        idle_s, failed_s, reported_at = MIN_IDLE_S, duty.cadence_s / 2, float("-inf")
        wake = self._wakes[duty.name]
        while not self._stopping.is_set():
            wake.clear()  # before the batch: what arrives from here on causes another one
            report = time.monotonic() - reported_at >= self._heartbeat_s
            try:
                done = self._batch(duty, report=report)
            except WorkerStopped as refusal:
                self._failed(duty, refusal)
                self.refusal = refusal
                self.stop()
                return
            except Exception as error:  # noqa: BLE001 - it must not end the other duties
                self._failed(duty, error)
                # When the good units could be done one by one, only the bad ones are left.
                failed_s = duty.cadence_s if self._one_by_one(duty) else min(failed_s * 2, MAX_FAILED_S)
                wake.wait(failed_s)
                continue
            failed_s = duty.cadence_s / 2
            if report or done:
                reported_at = time.monotonic()
            if done or wake.wait(min(idle_s, duty.cadence_s)):
                idle_s = MIN_IDLE_S
            else:
                idle_s *= 2

    def _batch(self, duty: Duty, *, report: bool = True) -> int:
        """One batch and its tally, in one transaction. Idle runs are recorded once per heartbeat."""
        begun = time.monotonic()
        if duty.flow is not None:
            return self._flow(duty, duty.flow, report=report)
        assert duty.batch is not None
        with observe.RUNNING.track_inprogress(), self._acting(duty.authority) as tx:
            if held := pauses.paused(tx, f"duty:{duty.name}"):
                observe.BATCHES.labels(duty.name, "paused").inc()
                self._log.debug("duty is paused", duty=duty.name, paused_by=held.paused_by, reason=held.reason)
                return 0
            done = duty.batch(tx, self._values(tx))
            if done or report:
                register.tally(tx, self.worker_id, duty.name, done=done)
        seconds = time.monotonic() - begun
        observe.BATCHES.labels(duty.name, "done" if done else "idle").inc()
        if done:
            observe.UNITS.labels(duty.name).inc(done)
            observe.SECONDS.labels(duty.name).observe(seconds)
            tracing.batch(duty.name, duty.authority.value, seconds, done=done)
            self._log.info(
                "batch done", duty=duty.name, authority=duty.authority.value, done=done, seconds=_round(seconds)
            )
        return done

    def _flow(self, duty: Duty, flow: Callable[[Context], int], *, report: bool) -> int:
        """Run until nothing is left to do. Its transactions are tallied one by one."""
        begun = time.monotonic()
        context = _WorkerContext(self, duty)
        with observe.RUNNING.track_inprogress():
            done = flow(context)
        if context.paused and not done:  # not idle: it claimed nothing
            return 0
        observe.BATCHES.labels(duty.name, "done" if done else "idle").inc()
        if done:
            seconds = time.monotonic() - begun
            observe.SECONDS.labels(duty.name).observe(seconds)
            tracing.batch(duty.name, duty.authority.value, seconds, done=done)
            self._log.info(
                "flow done", duty=duty.name, authority=duty.authority.value, done=done, seconds=_round(seconds)
            )
        elif report:
            with self.database.one_statement(duty.authority, actor=self._actor) as tx:
                register.tally(tx, self.worker_id, duty.name, done=0)
        return done

    def _failed(self, duty: Duty, error: Exception) -> None:
        observe.BATCHES.labels(duty.name, "failed").inc()
        tracing.batch(duty.name, duty.authority.value, 0, failure=error)
        failure = error.happened if isinstance(error, Refusal) else f"{type(error).__name__}: {error}"
        known = isinstance(error, Refusal | psycopg.Error)
        self._log.error(
            "batch failed",
            duty=duty.name,
            authority=duty.authority.value,
            failure=failure,
            exc_info=None if known else error,
        )
        with contextlib.suppress(psycopg.Error, Refusal), self._acting(duty.authority) as tx:
            register.tally_failure(tx, self.worker_id, duty.name, failure)

    def _one_by_one(self, duty: Duty) -> bool:
        """After a batch that failed as a whole: each unit alone, so that a bad one stops only itself.

        Returns whether all of them were tried.
        """
        if duty.units is None or duty.one is None:
            return False
        with contextlib.suppress(psycopg.Error, Refusal):
            with self._acting(duty.authority) as tx:
                if pauses.paused(tx, f"duty:{duty.name}"):
                    return True
                units = list(duty.units(tx))
            for unit in units:
                if self._stopping.is_set():
                    return True
                try:
                    with self._acting(duty.authority) as tx:
                        done = duty.one(tx, unit)
                        register.tally(tx, self.worker_id, duty.name, done=done, runs=0)
                except (psycopg.errors.OperationalError, psycopg.errors.InterfaceError):
                    raise  # the server, not the unit
                except (psycopg.Error, Refusal) as error:
                    observe.REFUSED_UNITS.labels(duty.name).inc()
                    self._log.error(
                        "unit refused",
                        duty=duty.name,
                        authority=duty.authority.value,
                        unit=str(unit),
                        failure=str(error),
                    )
                else:
                    observe.UNITS.labels(duty.name).inc(done)
            return True
        return False  # the server is unreachable

    # Its life ------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        with self._acting(Authority.RUNNER) as tx:
            registered = register.register(tx, name=self.name, duties=[duty.name for duty in self.duties])
            self._policy = policy.in_force(tx).policy
        self._id = registered  # committed: tallies refer to it
        self.started.set()
        self._log.info("worker started", worker_id=str(self._id), duties=[duty.name for duty in self.duties])

    def _beat(self) -> None:
        """Send heartbeats, and check that schema and policy are the same."""
        while not self._stopping.wait(self._heartbeat_s):
            try:
                with contextlib.closing(connect(self.database.conninfo, self.database.settings)) as connection:
                    check_schema(connection, self.releases)  # before anything is written into it
                with self._acting(Authority.RUNNER) as tx:
                    alive = register.beat(tx, self.worker_id)
                    self._policy = policy.in_force(tx).policy
                observe.HEARTBEATS.labels("heard" if alive else "lost").inc()
                if not alive:
                    self._log.warning("worker was declared lost; it continues under a new id")
                    self._begin()
            except MigrationRefused as refusal:
                self.refusal = refusal
                self._log.error("the schema was migrated to another epoch", failure=refusal.happened)
                self.stop()
            except Exception as error:  # noqa: BLE001 - without heartbeats the worker would be declared lost
                observe.HEARTBEATS.labels("failed").inc()
                self._log.error("heartbeat failed", failure=str(error))

    def _listen(self) -> None:
        """Wake duties by notification. Without a connection they poll, and connecting is tried again."""
        pause_s = MIN_IDLE_S
        while not self._stopping.is_set():
            try:
                with contextlib.closing(connect(self.database.conninfo, self.database.settings)) as connection:
                    if not connection.direct:
                        self._log.warning("no notifications behind a connection pooler: duties poll")
                        return
                    connection.execute(f"listen {CHANNEL}")
                    pause_s = MIN_IDLE_S
                    self.wake("")  # for notifications that were sent before
                    while not self._stopping.is_set():
                        self._handle_notifications(connection)
            except Exception as error:  # noqa: BLE001 - it is tried again
                self._log.warning("cannot listen", failure=str(error))
                self._stopping.wait(pause_s)
                pause_s = min(pause_s * 2, MAX_FAILED_S)

    def _handle_notifications(self, connection: Transaction) -> None:
        """Wake the duties that a notification names, then those of the next moment, each once.

        Any login can notify, as often as it likes: a flood is ignored.
        """
        named = _notified(connection, LISTEN_SLICE_S)
        self._wake_each(named)
        until, more = time.monotonic() + MIN_WAKE_S, list[str]()
        while named and len(more) < FLOOD and (left := until - time.monotonic()) > 0 and not self._stopping.is_set():
            more += _notified(connection, left)
        self._wake_each(more)
        if len(more) >= FLOOD:
            self._log.warning("too many notifications; ignoring them for a while", pause_s=FLOOD_PAUSE_S)
            connection.execute(f"unlisten {CHANNEL}")
            self._stopping.wait(FLOOD_PAUSE_S)
            connection.execute(f"listen {CHANNEL}")
            self.wake("")

    def _wake_each(self, named: Sequence[str]) -> None:
        observe.WAKES.inc(len(named))
        for duty in set(named):
            self.wake(duty)

    @contextlib.contextmanager
    def _acting(self, authority: Authority) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        with self.database.transaction(authority, actor=self._actor) as tx:
            yield tx

    def _values(self, tx: psycopg.Connection[tuple[object, ...]]) -> Policy:
        """The policy for the duties; at most a heartbeat old. The database always decides by the current one."""
        if self._policy is None:
            self._policy = policy.in_force(tx).policy
        return self._policy

    @property
    def _heartbeat_s(self) -> float:
        return float(self._policy[WorkerPolicy].heartbeat_s) if self._policy is not None else 10.0


class _WorkerContext:
    """A worker that runs one duty, for a flow that opens transactions as it needs them."""

    def __init__(self, worker: WorkerLoop, duty: Duty) -> None:
        self.name = worker.name
        self.paused = False  # at its last check
        self._worker = worker
        self._duty = duty

    @property
    def settings(self) -> Settings:
        return self._worker.database.settings

    @property
    def conninfo(self) -> str:
        return self._worker.database.conninfo

    @property
    def policy(self) -> Policy:
        values = self._worker._policy
        assert values is not None  # read when the worker began
        return values

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self._worker._acting(self._duty.authority)

    def may_claim(self, tx: Transaction) -> bool:
        if self._worker._stopping.is_set():
            return False
        self.paused = pauses.paused(tx, f"duty:{self._duty.name}") is not None
        if self.paused:
            observe.BATCHES.labels(self._duty.name, "paused").inc()
        return not self.paused

    def tally(self, tx: Transaction, done: int) -> None:
        register.tally(tx, self._worker.worker_id, self._duty.name, done=done)
        observe.UNITS.labels(self._duty.name).inc(done)


def _notified(connection: Transaction, within_s: float) -> list[str]:
    """The payloads of the next notifications."""
    return [one.payload for one in connection.notifies(timeout=within_s, stop_after=1)]


def _round(seconds: float) -> float:
    return round(seconds, 4)
