"""Handlers: a hub's own retry of an error, called by the worker when it is due.

A hub registers a function under the name of its table, as an entry point of the group ``recoup.error_handlers``. It
takes the claimed error; when it returns, the error is resolved, and when it raises, the retry failed with those words.
A coroutine function is awaited. It may be called twice for one retry only if the worker died in between, and is then
fenced: make it safe to repeat, or use ``error.key`` with whatever it calls.
"""

import asyncio
import inspect
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from importlib.metadata import entry_points
from typing import NamedTuple
from uuid import UUID

import psycopg
from psycopg import errors

from recoup import observe
from recoup.database.connection import Transaction
from recoup.errors.policy import ErrorPolicy
from recoup.errors.redaction import in_words
from recoup.errors.retrying import Claimed, Failed, Succeeded, claim, due_lag, finish
from recoup.refusals import Refusal
from recoup.worker.duty import Hands

GROUP = "recoup.error_handlers"
Handler = Callable[[Claimed], object]
LINGER_S = 0.05  # outcomes wait so long for company before they are written
GRACE_S = 5.0  # after its lease a handler is given up, and its thread left to itself
AWAY_PAUSE_S = 1.0
_AWAY = (errors.OperationalError, errors.InterfaceError)  # the server, not a row: tried again


@cache
def handlers() -> Mapping[str, Handler]:
    """The handlers that are installed, by their table. One that cannot be loaded is told of, and left out."""
    found: dict[str, Handler] = {}
    for point in entry_points(group=GROUP):
        try:
            found[point.name] = point.load()
        except Exception as error:  # noqa: BLE001 - whatever its import raises, others work
            observe.logger().error(
                "handler cannot be loaded", table=point.name, handler=point.value, failure=str(error)
            )
    return found


def lag(tx: Transaction) -> float | None:
    """For how many seconds the longest due retry has been waiting that a handler is here for."""
    return due_lag(tx, list(handlers())) if handlers() else None


def retry_due(hands: Hands, found: Mapping[str, Handler] | None = None) -> int:
    """Retry everything that is due and that a handler is here for. Returns, when nothing is left, how many ended."""
    found = handlers() if found is None else found
    return _Retries(hands, found).run() if found else 0


class _Outcome(NamedTuple):
    claimed: Claimed
    failure: str | None  # None: it succeeded


class _Retries:
    """One flow: claim what starts now, call its handlers at the same time, write outcomes and claim again."""

    def __init__(self, hands: Hands, found: Mapping[str, Handler]) -> None:
        self.hands = hands
        self.rules: ErrorPolicy = hands.policy[ErrorPolicy]
        self.found = {table: handler for table, handler in found.items() if table in self.rules.tables}
        # By error and claim: what was given up may come back while its error is being retried anew.
        self.running: dict[tuple[int, UUID], float] = {}  # -> when it is given up
        self.outcomes: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()
        self.done = 0
        self._log = observe.logger(worker=hands.name)

    def run(self) -> int:
        ended: list[_Outcome] = []
        while True:
            for claimed in self._turn(ended, self.rules.retries_at_once - len(self.running)):
                patience = time.monotonic() + self.rules.retry_lease_s + GRACE_S
                self.running[claimed.error_id, claimed.token] = patience
                # A thread each, and none that anybody has to wait for: a handler that hangs must not hang the worker.
                threading.Thread(
                    target=self._call, args=(claimed,), name=f"retry-{claimed.error_id}", daemon=True
                ).start()
            if not self.running:
                return self.done
            ended = self._ended()

    def _call(self, claimed: Claimed) -> None:
        failure = None
        try:
            _called(self.found[claimed.error_table], claimed)
        except BaseException as error:  # noqa: BLE001 - whatever it raises, its retry failed
            failure = f"{type(error).__name__}: {in_words(error)}"
        self.outcomes.put(_Outcome(claimed, failure))

    def _ended(self) -> list[_Outcome]:
        """What ended next, gathered for a moment. Given up: what has outlived its lease."""
        ended: list[_Outcome] = []
        until = min(self.running.values())
        while True:
            try:
                outcome = self.outcomes.get(timeout=max(until - time.monotonic(), 0.0))
            except queue.Empty:
                break
            if self.running.pop((outcome.claimed.error_id, outcome.claimed.token), None) is not None:
                ended.append(outcome)
            if not self.running:
                break
            until = min(until, time.monotonic() + LINGER_S)
        for claim_, patience in list(self.running.items()):
            if time.monotonic() > patience:
                del self.running[claim_]
                self._log.error("handler did not come back within its lease; it is left to itself", error=claim_[0])
        return ended

    def _turn(self, ended: Sequence[_Outcome], room: int) -> list[Claimed]:
        """Write what ended, and claim what starts now, in one transaction. While the server is away, both wait."""
        patience = time.monotonic() + self.rules.retry_lease_s
        while True:
            try:
                return self._transact(ended, room)
            except _AWAY as error:
                if not ended or time.monotonic() > patience:
                    raise
                self._log.warning("cannot write what ended; trying again", ended=len(ended), failure=str(error))
                time.sleep(AWAY_PAUSE_S)

    def _transact(self, ended: Sequence[_Outcome], room: int) -> list[Claimed]:
        try:
            return self._write_and_claim(ended, room)
        except _AWAY:
            raise
        except (psycopg.Error, Refusal):
            if not ended:
                raise
        # One bad row takes neither the others with it, nor does a claim that is refused.
        for one in ended:
            try:
                self._write_and_claim([one], 0)
            except _AWAY:
                raise
            except (psycopg.Error, Refusal) as error:
                self._log.error("outcome refused; its lease will lapse", error=one.claimed.error_id, failure=str(error))
        return []

    def _write_and_claim(self, ended: Sequence[_Outcome], room: int) -> list[Claimed]:
        with self.hands.transaction() as tx:
            if ended:
                finish(tx, [_reported(outcome) for outcome in ended])
                self.hands.tally(tx, len(ended))
            claimed = self._claim(tx, room)
        self.done += len(ended)
        return claimed

    def _claim(self, tx: Transaction, room: int) -> list[Claimed]:
        if room <= 0 or not self.hands.may_claim(tx):
            return []
        lease = timedelta(seconds=self.rules.retry_lease_s)
        return claim(tx, limit=room, worker=self.hands.name, tables=list(self.found), lease=lease)


def _called(handler: Handler, claimed: Claimed) -> None:
    """Call a handler, to its end. One that has only begun when it returns must not pass for a success."""
    returned = handler(claimed)
    if inspect.isawaitable(returned):
        asyncio.run(_awaited(returned))
    elif inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        raise TypeError("a handler returns when it is done; this one is a generator, and did nothing")


async def _awaited(returned: Awaitable[object]) -> None:
    await returned


def _reported(outcome: _Outcome) -> Succeeded | Failed:
    error = outcome.claimed
    if outcome.failure is None:
        return Succeeded(error_table=error.error_table, error_id=error.error_id, token=error.token)
    return Failed(error_table=error.error_table, error_id=error.error_id, token=error.token, failure=outcome.failure)
