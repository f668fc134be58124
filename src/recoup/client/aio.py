"""``db.aio``: the same verbs for asyncio. Each runs on a thread, so that the event loop is not blocked.

With ``tx=`` an AsyncConnection, the statements run on that connection, on its event loop; the thread only works out
what to send. So the call is a part of the caller's transaction, as with a plain connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.adapt import AdaptersMap
from psycopg.rows import tuple_row

from recoup.client.alerts import Alerts
from recoup.client.calls import Verbs
from recoup.client.deliveries import Deliveries
from recoup.client.errors import Errors
from recoup.client.gate import Gate
from recoup.client.recovery import Recovery
from recoup.client.why import Explanations
from recoup.database.callers import ADAPTERS
from recoup.database.connection import Database
from recoup.errors.promotion import PROMOTING

P = ParamSpec("P")
Result = TypeVar("Result")


class _OwnCursor(AsyncCursor[Any]):
    @property
    def adapters(self) -> AdaptersMap:
        return ADAPTERS


class Bridge:
    """An AsyncConnection, as functions that know plain connections use one from a thread."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self.async_connection = connection
        self.pgconn, self.info = connection.pgconn, connection.info
        self.row_factory: Any = tuple_row
        self.cursor_factory: Any = _OwnCursor
        self._loop = asyncio.get_running_loop()

    @property
    def autocommit(self) -> bool:
        return self.async_connection.autocommit

    @property
    def closed(self) -> bool:
        return self.async_connection.closed

    def cursor(self, *, row_factory: Any = None) -> _Results:
        return _Results(self, row_factory or self.row_factory)

    def execute(self, query: Any, params: Any = None, **given: Any) -> _Results:
        return self.cursor().execute(query, params, **given)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        block = self.async_connection.transaction()
        self.on_loop(block.__aenter__())
        try:
            yield
        except BaseException as error:
            if not self.on_loop(block.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self.on_loop(block.__aexit__(None, None, None))

    def on_loop(self, work: Awaitable[Result]) -> Result:
        async def awaited() -> Result:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()


class _Results:
    """What a statement returned, all of it."""

    def __init__(self, bridge: Bridge, row_factory: Any) -> None:
        self._bridge, self._row_factory = bridge, row_factory
        self._sets: list[Iterator[Any]] = []
        self.rowcount = -1

    def execute(self, query: Any, params: Any = None, **given: Any) -> _Results:
        self._bridge.on_loop(self._execute(query, params, given))
        return self

    async def _execute(self, query: Any, params: Any, given: dict[str, Any]) -> None:
        cursor = _OwnCursor(self._bridge.async_connection, row_factory=self._row_factory)
        await cursor.execute(query, params, **given)
        self.rowcount, self._sets = cursor.rowcount, []
        more: bool | None = True
        while more:
            self._sets.append(iter(await cursor.fetchall() if cursor.description is not None else ()))
            more = cursor.nextset()

    def nextset(self) -> bool | None:
        self._sets.pop(0)
        return bool(self._sets) or None

    def fetchone(self) -> Any:
        return next(self._sets[0], None)

    def fetchall(self) -> list[Any]:
        return list(self._sets[0])

    def __iter__(self) -> Iterator[Any]:
        return self._sets[0]

    def __enter__(self) -> _Results:
        return self

    def __exit__(self, *_: object) -> None: ...


def _twin(
    method: Callable[Concatenate[Any, P], Result],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, Result]]:
    """The same method, to be awaited."""

    @functools.wraps(method)
    async def twin(self: Any, *args: P.args, **kwargs: P.kwargs) -> Result:
        tx = kwargs.get("tx")
        if not isinstance(tx, AsyncConnection):
            return await asyncio.to_thread(method, self._verbs, *args, **kwargs)
        given = cast("Any", {**kwargs, "tx": Bridge(tx)})
        context = contextvars.copy_context()
        work = asyncio.to_thread(context.run, functools.partial(method, self._verbs, *args, **given))
        async with _finished(tx) as until:
            result: Result = await until(work)
        PROMOTING.set(context.get(PROMOTING, ()))  # what the call noted, for the rest of this task
        return result

    return cast("Callable[Concatenate[Any, P], Coroutine[Any, Any, Result]]", twin)


@contextlib.asynccontextmanager
async def _finished(connection: AsyncConnection[Any]) -> AsyncIterator[Callable[[Awaitable[Any]], Awaitable[Any]]]:
    """Wait for the thread even if the task is cancelled: until it ends, it uses the caller's connection."""
    running: list[asyncio.Future[Any]] = []

    def until(work: Awaitable[Any]) -> Awaitable[Any]:
        running.append(asyncio.ensure_future(work))
        return asyncio.shield(running[0])

    try:
        yield until
    except asyncio.CancelledError:
        while running and not running[0].done():
            with contextlib.suppress(psycopg.Error, asyncio.CancelledError):
                await connection.cancel_safe()  # its statement, not its session
            with contextlib.suppress(BaseException):
                await asyncio.wait(running, timeout=1)
        raise


class _Twins:
    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs


class AsyncErrors(_Twins):
    """``await db.aio.errors.record(…)``: the verbs of ``db.errors``."""

    record = _twin(Errors.record)
    cleared = _twin(Errors.cleared)
    claim = _twin(Errors.claim)
    finish = _twin(Errors.finish)
    park = _twin(Errors.park)
    unpark = _twin(Errors.unpark)
    resolve = _twin(Errors.resolve)
    is_blocked = _twin(Errors.is_blocked)
    blocking = _twin(Errors.blocking)
    blocked_locking = _twin(Errors.blocked_locking)
    processed = _twin(Errors.processed)
    metrics = _twin(Errors.metrics)
    report = _twin(Errors.report)
    show = _twin(Errors.show)
    list = _twin(Errors.list)


class AsyncGate(_Twins):
    """``await db.aio.gate.add_intakes(…)``: the verbs of ``db.gate`` that services use."""

    add_intakes = _twin(Gate.add_intakes)
    find_intakes = _twin(Gate.find_intakes)
    history = _twin(Gate.history)
    claim_attempts = _twin(Gate.claim_attempts)
    open_attempts = _twin(Gate.open_attempts)
    finish_attempts = _twin(Gate.finish_attempts)


class AsyncDeliveries(_Twins):
    """``await db.aio.deliveries.send(…)``: the verbs of ``db.deliveries``."""

    send = _twin(Deliveries.send)
    retry = _twin(Deliveries.retry)
    cancel = _twin(Deliveries.cancel)
    show = _twin(Deliveries.show)
    list = _twin(Deliveries.list)


class AsyncAlerts(_Twins):
    """``await db.aio.alerts.list(…)``: the verbs of ``db.alerts``."""

    list = _twin(Alerts.list)
    show = _twin(Alerts.show)
    rules = _twin(Alerts.rules)
    silence = _twin(Alerts.silence)
    silences = _twin(Alerts.silences)
    unsilence = _twin(Alerts.unsilence)
    send_test = _twin(Alerts.send_test)


class AsyncRecovery(_Twins):
    """``await db.aio.recovery.ingest(…)``: the verbs of ``db.recovery`` that services use."""

    ingest = _twin(Recovery.ingest)
    matches = _twin(Recovery.matches)
    list = _twin(Recovery.list)
    show = _twin(Recovery.show)
    propose = _twin(Recovery.propose)
    approve = _twin(Recovery.approve)
    reject = _twin(Recovery.reject)
    evaluate = _twin(Recovery.evaluate)
    recovered = _twin(Recovery.recovered)
    claim = _twin(Recovery.claim)
    finish = _twin(Recovery.finish)


class AsyncExplanations(_Twins):
    """``await db.aio.why(…)``."""

    why = _twin(Explanations.why)


class Aio:
    """The async twins of a client's verbs."""

    def __init__(self, database: Database) -> None:
        self.errors = AsyncErrors(Errors(database))
        self.gate = AsyncGate(Gate(database))
        self.deliveries = AsyncDeliveries(Deliveries(database))
        self.alerts = AsyncAlerts(Alerts(database))
        self.recovery = AsyncRecovery(Recovery(database))
        self.why = AsyncExplanations(Explanations(database)).why
