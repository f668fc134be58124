"""A worker: does the duties until it is stopped.

What an operator can rely on:

- Each duty has a thread of its own: one that raises, or is slow, does not hold up the others. What it raised is logged
  and counted, and it is tried again, later and later.
- A batch and its tally are one transaction. Killed in the middle, nothing of it has happened; another worker does it.
- A duty wakes by notification, and looks by itself at least every cadence; the longer nothing is to do, the less often.
- Told to stop, it finishes the batches in hand, says goodbye and ends.
- It works with its own release of the schema and with later ones of the same epoch; with another epoch it stops.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from uuid import UUID

import psycopg

from recoup import observe, pauses, policy
from recoup.database.connection import Actor, Database, Transaction, connect
from recoup.database.releases import Release, check_schema
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.refusals import MigrationRefused, Refusal
from recoup.settings import Settings
from recoup.worker import register
from recoup.worker.duty import Context, Duty
from recoup.worker.policy import WorkerPolicy

CHANNEL = "recoup_wake"
IDLE_LEAST_S = 0.2  # the first pause after a batch that found nothing; doubled up to the cadence
FAILED_MOST_S = 300.0  # the longest pause after a batch that raised
WAKE_LEAST_S = 0.05  # what is notified within so long wakes a duty once
FLOOD = 2000  # so many notifications within that time are nobody's work
FLOOD_PAUSE_S = 5.0
LISTEN_SLICE_S = 0.5  # how soon the listener notices that it is to stop


class WorkerLoop:
    """One life of a worker. ``run`` returns when ``stop`` was called and the batches in hand are done."""

    def __init__(
        self, database: Database, duties: Sequence[Duty], *, name: str, releases: Sequence[Release] = ()
    ) -> None:
        self.database = database
        self.duties = duties
        self.releases = releases  # of the schema that it works with
        self.name = name
        self.refusal: Refusal | None = None  # why it stopped by itself
        self.failed: list[str] = []  # duties that raised, when done once
        self.started = threading.Event()  # registered
        self._stopping = threading.Event()
        self._wakes = {duty.name: threading.Event() for duty in duties}
        self._actor = Actor("system", name)
        self._log = observe.logger(worker=name)
        self._id: UUID | None = None
        self._policy: Policy | None = None

    def stop(self) -> None:
        """Finish the batches in hand, and end."""
        self._stopping.set()
        self.wake("")

    def wake(self, duty: str) -> None:
        """Look at once: one duty, or all of them."""
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
        """Do every duty until it finds nothing more, and end. Returns how many units of each were done."""
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
        """Its incarnation: another one after it was declared lost."""
        assert self._id is not None
        return self._id

    # One duty ------------------------------------------------------------------------------------------------------

    def _do(self, duty: Duty) -> None:
        """Run a duty until stopped."""
        idle_s, failed_s, told_at = IDLE_LEAST_S, duty.cadence_s / 2, float("-inf")
        wake = self._wakes[duty.name]
        while not self._stopping.is_set():
            wake.clear()  # before looking: what arrives from here on is looked for again
            tell = time.monotonic() - told_at >= self._heartbeat_s
            try:
                done = self._batch(duty, tell=tell)
            except Exception as error:  # noqa: BLE001 - whatever it is, it stays this duty's own
                self._failed(duty, error)
                # Where the good units could be done one by one, nothing waits but the bad ones.
                failed_s = duty.cadence_s if self._one_by_one(duty) else min(failed_s * 2, FAILED_MOST_S)
                wake.wait(failed_s)
                continue
            failed_s = duty.cadence_s / 2
            if tell or done:
                told_at = time.monotonic()
            if done or wake.wait(min(idle_s, duty.cadence_s)):
                idle_s = IDLE_LEAST_S
            else:
                idle_s *= 2

    def _batch(self, duty: Duty, *, tell: bool = True) -> int:
        """One batch and its tally, in one transaction. An idle run is told once a heartbeat, and not each time."""
        begun = time.monotonic()
        if duty.flow is not None:
            return self._flow(duty, duty.flow, tell=tell)
        assert duty.batch is not None
        with observe.RUNNING.track_inprogress(), self._acting(duty.authority) as tx:
            if held := pauses.paused(tx, f"duty:{duty.name}"):
                observe.BATCHES.labels(duty.name, "paused").inc()
                self._log.debug("duty is paused", duty=duty.name, paused_by=held.paused_by, reason=held.reason)
                return 0
            done = duty.batch(tx, self._figures(tx))
            if done or tell:
                register.tally(tx, self.worker_id, duty.name, done=done)
        seconds = time.monotonic() - begun
        observe.BATCHES.labels(duty.name, "done" if done else "idle").inc()
        if done:
            observe.UNITS.labels(duty.name).inc(done)
            observe.SECONDS.labels(duty.name).observe(seconds)
            self._log.info(
                "batch done", duty=duty.name, authority=duty.authority.value, done=done, seconds=_round(seconds)
            )
        return done

    def _flow(self, duty: Duty, flow: Callable[[Context], int], *, tell: bool) -> int:
        """Until nothing is left that waits. Its transactions are tallied one by one."""
        begun = time.monotonic()
        hands = _WorkerContext(self, duty)
        with observe.RUNNING.track_inprogress():
            done = flow(hands)
        if hands.paused and not done:  # not idle: it did not look
            return 0
        observe.BATCHES.labels(duty.name, "done" if done else "idle").inc()
        if done:
            seconds = time.monotonic() - begun
            observe.SECONDS.labels(duty.name).observe(seconds)
            self._log.info(
                "flow done", duty=duty.name, authority=duty.authority.value, done=done, seconds=_round(seconds)
            )
        elif tell:
            with self.database.one_statement(duty.authority, actor=self._actor) as tx:
                register.tally(tx, self.worker_id, duty.name, done=0)
        return done

    def _failed(self, duty: Duty, error: Exception) -> None:
        observe.BATCHES.labels(duty.name, "failed").inc()
        said = error.happened if isinstance(error, Refusal) else f"{type(error).__name__}: {error}"
        known = isinstance(error, Refusal | psycopg.Error)
        self._log.error(
            "batch failed",
            duty=duty.name,
            authority=duty.authority.value,
            failure=said,
            exc_info=None if known else error,
        )
        with contextlib.suppress(psycopg.Error, Refusal), self._acting(duty.authority) as tx:
            register.tally_failure(tx, self.worker_id, duty.name, said)

    def _one_by_one(self, duty: Duty) -> bool:
        """After a batch that failed as a whole: each of its units alone, so that a bad one stops only itself.

        True: all of them were tried.
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
        return False  # the server is away

    # Its life ------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        with self._acting(Authority.RUNNER) as tx:
            registered = register.register(tx, name=self.name, duties=[duty.name for duty in self.duties])
            self._policy = policy.in_force(tx).policy
        self._id = registered  # committed: the tallies of every duty refer to it
        self.started.set()
        self._log.info("worker started", worker_id=str(self._id), duties=[duty.name for duty in self.duties])

    def _beat(self) -> None:
        """Say now and then that we are alive, and look whether the schema is still ours and the policy the same."""
        while not self._stopping.wait(self._heartbeat_s):
            try:
                with contextlib.closing(connect(self.database.conninfo, self.database.settings)) as connection:
                    check_schema(connection, self.releases)  # before anything is written into it
                with self._acting(Authority.RUNNER) as tx:
                    alive = register.beat(tx, self.worker_id)
                    self._policy = policy.in_force(tx).policy
                observe.HEARTBEATS.labels("heard" if alive else "lost").inc()
                if not alive:
                    self._log.warning("worker was declared lost; it goes on under a new incarnation")
                    self._begin()
            except MigrationRefused as refusal:
                self.refusal = refusal
                self._log.error("schema is not ours any more", failure=refusal.happened)
                self.stop()
            except Exception as error:  # noqa: BLE001 - a heart that stops once would stop for good
                observe.HEARTBEATS.labels("failed").inc()
                self._log.error("heartbeat failed", failure=str(error))

    def _listen(self) -> None:
        """Pass notifications on to the duties. Without a connection they look by themselves, and it is tried again."""
        pause_s = IDLE_LEAST_S
        while not self._stopping.is_set():
            try:
                with contextlib.closing(connect(self.database.conninfo, self.database.settings)) as connection:
                    if not connection.direct:
                        self._log.warning("a pooler stands before the server: duties look at their cadence only")
                        return
                    connection.execute(f"listen {CHANNEL}")
                    pause_s = IDLE_LEAST_S
                    self.wake("")  # what was notified while nobody listened
                    while not self._stopping.is_set():
                        self._heed(connection)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again
                self._log.warning("cannot listen", failure=str(error))
                self._stopping.wait(pause_s)
                pause_s = min(pause_s * 2, FAILED_MOST_S)

    def _heed(self, connection: Transaction) -> None:
        """Wake whom a notification names, then whom those of the next moment name, each once.

        Any login can notify, as often as it likes: a flood is not listened to.
        """
        named = _notified(connection, LISTEN_SLICE_S)
        self._wake_each(named)
        until, more = time.monotonic() + WAKE_LEAST_S, list[str]()
        while named and len(more) < FLOOD and (left := until - time.monotonic()) > 0 and not self._stopping.is_set():
            more += _notified(connection, left)
        self._wake_each(more)
        if len(more) >= FLOOD:
            self._log.warning("too many notifications; not listening for a while", pause_s=FLOOD_PAUSE_S)
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

    def _figures(self, tx: psycopg.Connection[tuple[object, ...]]) -> Policy:
        """The policy's figures for the duties; at most a heartbeat old. What the database decides, it decides anew."""
        if self._policy is None:
            self._policy = policy.in_force(tx).policy
        return self._policy

    @property
    def _heartbeat_s(self) -> float:
        return float(self._policy[WorkerPolicy].heartbeat_s) if self._policy is not None else 10.0


class _WorkerContext:
    """A worker at one of its duties, for a flow that takes its transactions as it needs them."""

    def __init__(self, worker: WorkerLoop, duty: Duty) -> None:
        self.name = worker.name
        self.paused = False  # when it last asked
        self._worker = worker
        self._duty = duty

    @property
    def settings(self) -> Settings:
        return self._worker.database.settings

    @property
    def policy(self) -> Policy:
        figures = self._worker._policy
        assert figures is not None  # read when the worker began
        return figures

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
    """What is notified next: the payloads of all that came with it."""
    return [one.payload for one in connection.notifies(timeout=within_s, stop_after=1)]


def _round(seconds: float) -> float:
    return round(seconds, 4)
