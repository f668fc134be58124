"""One loop for all work that waits for other systems: claim, work, write the outcomes and claim again.

A unit is claimed in a transaction that commits before its work begins. Its outcome is written in a later one, together
with the next claim: one transaction for a whole set, and no more is claimed than starts at once. A process that dies
in between leaves claims behind, whose leases expire. A slow unit delays only itself: one that overruns its lease is
abandoned, keeps its slot among those that run at once, and its outcome is written when it comes.
"""

import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

import psycopg
from psycopg import errors

from recoup import observe
from recoup.database.connection import Transaction
from recoup.refusals import Refusal
from recoup.worker.duty import Context

Unit = TypeVar("Unit")
Outcome = TypeVar("Outcome")

LINGER_S = 0.1  # an outcome waits this long for others before it is written
ENOUGH = 3  # written sooner, and more is claimed, when a third of those that may run at once have ended
UNREACHABLE_PAUSE_S = 1.0
UNREACHABLE = (errors.OperationalError, errors.InterfaceError)  # the server is the problem, not a unit: tried again
# Of the class of the former, and yet about rows that somebody holds, or one statement: a unit may be the problem.
OF_A_UNIT = (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected)


class Turn(NamedTuple):
    """One transaction that has committed."""

    ended: Sequence[tuple[Any, Any]]  # units and their outcomes
    became: Sequence[str]  # status of each, as the database has it
    claimed: int
    seconds: float


class Overrun(Generic[Unit, Outcome]):
    """Units that overran their lease and still run, and the outcomes of those that have ended since."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._lock = threading.Lock()
        self._ended: queue.SimpleQueue[tuple[Unit, Future[Outcome]]] = queue.SimpleQueue()
        self.is_logged = False  # that nothing more is started

    def add(self, unit: Unit, name: str, future: "Future[Outcome]") -> None:
        with self._lock:
            self._names[id(future)] = name
        future.add_done_callback(lambda future: self._end(unit, future))

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: str) -> bool:
        with self._lock:
            return name in self._names.values()

    def taken(self) -> "list[tuple[Unit, Future[Outcome]]]":
        """Those that have ended since."""
        return [self._ended.get_nowait() for _ in range(self._ended.qsize())]

    def _end(self, unit: Unit, future: "Future[Outcome]") -> None:
        self._ended.put((unit, future))
        with self._lock:
            del self._names[id(future)]


@dataclass(frozen=True, kw_only=True)
class Work(Generic[Unit, Outcome]):
    """What a domain provides: how its units are started, ended and claimed."""

    # Writes a set of outcomes, and claims up to a number of units: returns the status of each, and what is claimed.
    turn: Callable[[Transaction, Sequence[tuple[Unit, Outcome]], int], tuple[Sequence[str], Sequence[Unit]]]
    start: Callable[[Unit], "Future[Outcome]"]  # begins its work, on any executor; what it raises is an outcome
    raised: Callable[[Unit, BaseException], Outcome]
    name: Callable[[Unit], str]  # for log lines
    at_once: int
    lease_s: float  # outcomes are kept this long while the server is unreachable
    grace_s: float  # after its lease, before a unit is abandoned
    runs_s: float | None = None  # how long a unit may run whose lease is extended meanwhile; None: as long as its lease
    is_held: Callable[[Unit], bool] = lambda _: True  # False: its lease is lost, whatever time is left; with poll_s
    abandoned: Callable[[Unit, "Future[Outcome]"], None] = lambda *_: None
    poll_s: float = math.inf  # while units run, more is claimed at least this often: what is due does not wait for them
    overrun: "Overrun[Unit, Outcome]" = field(default_factory=lambda: Overrun())
    goes_on: Callable[[], bool] = lambda: True  # False: nothing more is claimed, and the flow ends when its units have
    written: Callable[[Turn], None] = lambda _: None


class Flow(Generic[Unit, Outcome]):
    """One flow, from its first claim to its last outcome."""

    def __init__(self, by: Context, work: Work[Unit, Outcome]) -> None:
        self.by, self.work = by, work
        self.done = 0
        self.refused = 0  # outcomes that the database refused: their leases expire
        self._running: dict[int, tuple[Unit, Future[Outcome], float]] = {}  # -> when it is abandoned
        self._ended: queue.SimpleQueue[tuple[int, Future[Outcome]]] = queue.SimpleQueue()
        self._numbers = count()
        self._log = observe.logger(worker=by.name)

    def run(self) -> int:
        """Run until nothing is left to do. Returns how many units are done."""
        ended: list[tuple[Unit, Outcome]] = []
        while True:
            ended += [(unit, self._outcome(unit, future)) for unit, future in self.work.overrun.taken()]
            for unit in self._turn(ended, self._room()):
                self._start(unit)
            if not self._running:
                return self.done
            ended = self._gathered()

    def _start(self, unit: Unit) -> None:
        if self.work.name(unit) in self.work.overrun:
            self._log.error(
                "not started: an earlier call for it overran its lease and still runs", unit=self.work.name(unit)
            )
            return
        number = next(self._numbers)
        future = self.work.start(unit)
        runs_s = self.work.lease_s if self.work.runs_s is None else self.work.runs_s
        self._running[number] = (unit, future, time.monotonic() + runs_s + self.work.grace_s)
        future.add_done_callback(lambda future: self._ended.put((number, future)))

    def _room(self) -> int:
        """How many more to claim: a good part of those that may run at once, or none."""
        room = self.work.at_once - len(self._running) - len(self.work.overrun)
        self._log_standstill(room <= 0 and not self._running)
        ready = not self._running or room * ENOUGH >= self.work.at_once
        return max(room, 0) if ready and self.work.goes_on() else 0

    def _log_standstill(self, is_stuck: bool) -> None:
        if is_stuck and not self.work.overrun.is_logged:
            units = len(self.work.overrun)
            self._log.error(
                "nothing more is claimed: units that overran their lease take every slot",
                units=units,
            )
        self.work.overrun.is_logged = is_stuck

    def _gathered(self) -> list[tuple[Unit, Outcome]]:
        """Units that ended, collected for a moment. Those that overran their lease are abandoned."""
        ended: list[tuple[Unit, Outcome]] = []
        until = min(patience for _, _, patience in self._running.values())
        until = min(until, time.monotonic() + self.work.poll_s)
        while self._running and len(ended) * ENOUGH < self.work.at_once:
            try:
                number, future = self._ended.get(timeout=max(until - time.monotonic(), 0.0))
            except queue.Empty:
                break
            # An abandoned one may end while its unit is worked on again: its number is not known any more.
            if number in self._running:
                unit, _, _ = self._running.pop(number)
                ended.append((unit, self._outcome(unit, future)))
            until = min(until, time.monotonic() + LINGER_S) if len(ended) == 1 else until
        self._abandon()
        return ended

    def _outcome(self, unit: Unit, future: "Future[Outcome]") -> Outcome:
        error = future.exception()
        return self.work.raised(unit, error) if error is not None else future.result()

    def _abandon(self) -> None:
        now = time.monotonic()
        over = [n for n, (unit, _, patience) in self._running.items() if now > patience or not self.work.is_held(unit)]
        for number in over:
            unit, future, _ = self._running.pop(number)
            self.work.overrun.add(unit, self.work.name(unit), future)
            self.work.abandoned(unit, future)
            self._log.error("no outcome within its lease; abandoned", unit=self.work.name(unit))

    # The database's side ---------------------------------------------------------------------------------------------

    def _turn(self, ended: Sequence[tuple[Unit, Outcome]], room: int) -> Sequence[Unit]:
        """Write what ended and claim what starts now, in one transaction. Both wait for an unreachable server."""
        patience = time.monotonic() + self.work.lease_s
        while True:
            try:
                return self._written(ended, room)
            except UNREACHABLE as error:
                if not ended or time.monotonic() > patience:
                    raise
                self._log.warning("cannot write outcomes; trying again", outcomes=len(ended), failure=str(error))
                time.sleep(UNREACHABLE_PAUSE_S)

    def _written(self, ended: Sequence[tuple[Unit, Outcome]], room: int) -> Sequence[Unit]:
        try:
            return self._transacted(ended, room)
        except UNREACHABLE:
            raise
        except (psycopg.Error, Refusal):
            if not ended:
                raise
        # One bad row, or a refused claim, must not prevent the others.
        for one in ended:
            try:
                self._transacted([one], 0)
            except UNREACHABLE:
                raise
            except (psycopg.Error, Refusal) as error:
                self.refused += 1
                self._log.error(
                    "outcome refused; its lease will expire", unit=self.work.name(one[0]), failure=str(error)
                )
        return []

    def _transacted(self, ended: Sequence[tuple[Unit, Outcome]], room: int) -> Sequence[Unit]:
        begun = time.monotonic()
        with self.by.transaction() as tx:
            if room and not self.by.may_claim(tx):
                room = 0
            became, claimed = self.work.turn(tx, ended, room)
            if ended:
                self.by.tally(tx, len(became))
        self.done += len(became)
        self.work.written(Turn(ended, became, len(claimed), time.monotonic() - begun))
        return claimed


class ThreadEach(Executor):
    """A thread for each call, which nobody has to wait for: a call that hangs must not hang the worker."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        threading.Thread(target=_run, args=(future, fn, args, kwargs), name="recoup-work", daemon=True).start()
        return future


def _run(future: "Future[Any]", fn: Callable[..., Any], args: Any, kwargs: Any) -> None:
    try:
        future.set_result(fn(*args, **kwargs))
    except BaseException as error:  # noqa: BLE001 - what it raises is its outcome
        future.set_exception(error)
