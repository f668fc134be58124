"""Handlers: a hub's own retry of an error, called by the worker when it is due.

A hub registers a function under the name of its table, as an entry point of the group ``recoup.error_handlers``. It
takes the claimed error; when it returns nothing, or ``Succeeded``, the error is resolved, and when it raises, or
returns ``Failed``, the retry failed with those words. Whatever else it returns is no outcome: that retry failed, too.
A coroutine function is awaited. One that overruns its lease is not called again for that error while it still runs
here, and its result is stored as late. It may be called twice for one retry only if the worker died in between, and is
then fenced: make it safe to repeat, or use ``error.key`` with whatever it calls.
"""

import asyncio
import inspect
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from datetime import timedelta
from functools import cache
from importlib.metadata import entry_points

from recoup import observe
from recoup.database.connection import Transaction
from recoup.errors.policy import ErrorPolicy
from recoup.errors.retrying import Claimed, Failed, Succeeded, due_lag, finish, turn
from recoup.redaction import in_words
from recoup.work.flow import Flow, Overrun, ThreadEach, Work
from recoup.worker.duty import Context

GROUP = "recoup.error_handlers"
Handler = Callable[[Claimed], object]
MAX_RETURNED = 200  # characters of what a handler returned and should not have
GRACE_S = 5.0  # after its lease a handler is given up, and its thread left to itself
# By worker, over all its flows: whoever claims an error anew must not call its handler beside the one that still runs.
_OVERRUN: defaultdict[str, Overrun[Claimed, str | None]] = defaultdict(Overrun)


@cache
def handlers() -> Mapping[str, Handler]:
    """The handlers that are installed, by their table. One that cannot be loaded is told of, and left out."""
    found: dict[str, Handler] = {}
    for point in entry_points(group=GROUP):
        try:
            found[point.name] = _callable(point.load())
        except Exception as error:  # noqa: BLE001 - whatever its import raises, others work
            observe.logger().error(
                "handler cannot be loaded", table=point.name, handler=point.value, failure=str(error)
            )
    return found


def _callable(loaded: object) -> Handler:
    if not callable(loaded):
        raise TypeError(f"a handler is a function of the claimed error, and this is of type {type(loaded).__name__}")
    return loaded


def lag(tx: Transaction) -> float | None:
    """For how many seconds the longest due retry has been waiting that a handler is here for."""
    return due_lag(tx, list(handlers())) if handlers() else None


def retry_due(hands: Context, found: Mapping[str, Handler] | None = None, *, executor: Executor | None = None) -> int:
    """Retry everything that is due and that a handler is here for. Returns, when nothing is left, how many ended.

    Handlers are called on the executor, by default in a thread each.
    """
    found = handlers() if found is None else found
    return Flow(hands, _work(hands, found, executor or ThreadEach())).run() if found else 0


def _work(hands: Context, found: Mapping[str, Handler], executor: Executor) -> Work[Claimed, str | None]:
    """Retries as work. An outcome is what was said of the failure; None: it succeeded."""
    rules: ErrorPolicy = hands.policy[ErrorPolicy]
    tables = [table for table in found if table in rules.tables]
    lease = timedelta(seconds=rules.retry_lease_s)

    def turned(
        tx: Transaction, ended: Sequence[tuple[Claimed, str | None]], room: int
    ) -> tuple[list[str], list[Claimed]]:
        outcomes = [_reported(*one) for one in ended]
        if not room:
            return [one.status for one in finish(tx, outcomes)], []
        became, claimed = turn(tx, outcomes, limit=room, worker=hands.name, tables=tables, lease=lease)
        return [one.status for one in became], claimed

    return Work(
        turn=turned,
        start=lambda error: executor.submit(_called, found[error.error_table], error),
        raised=lambda _, error: f"{type(error).__name__}: {in_words(error)}",
        name=lambda error: f"{error.error_table}/{error.error_id}",
        at_once=rules.retries_at_once,
        lease_s=rules.retry_lease_s,
        grace_s=GRACE_S,
        overrun=_OVERRUN[hands.name],
    )


def _called(handler: Handler, claimed: Claimed) -> str | None:
    """Call a handler, to its end. One that has only begun when it returns must not pass for a success."""
    returned = handler(claimed)
    if inspect.isawaitable(returned):
        returned = asyncio.run(_awaited(returned))
    match returned:
        case None:
            return None
        case Succeeded() if returned.token == claimed.token and returned.error_id == claimed.error_id:
            return None
        case Failed():
            return returned.failure
    raise TypeError(
        f"a handler returns nothing, Succeeded or Failed of its error when it is done; this one returned"
        f" {type(returned).__name__}: {in_words(repr(returned))[:MAX_RETURNED]}"
    )


async def _awaited(returned: Awaitable[object]) -> object:
    return await returned


def _reported(error: Claimed, failure: str | None) -> Succeeded | Failed:
    if failure is None:
        return Succeeded(error_table=error.error_table, error_id=error.error_id, token=error.token)
    return Failed(error_table=error.error_table, error_id=error.error_id, token=error.token, failure=failure)
