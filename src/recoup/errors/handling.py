"""Calling handlers: a hub's own retry of an error, called by the worker when it is due.

A handler takes the claimed error. When it returns nothing, or ``Succeeded``, the error is resolved. When it raises, or
returns ``Failed``, the retry failed with that message. ``Reported`` says that the program which did the work has
reported the outcome with the error's token: nothing is written. Anything else that it returns is no outcome: that retry
failed, too. A coroutine function is awaited, on an event loop of its own.

Handlers are called on threads, up to ``errors.retries_at_once`` (20) at the same time: what they share must be safe to
use from several threads. One that overruns its lease is not called again for that error while it still runs here, and
its result is stored as late. It is called twice for one retry only if the worker died in between, and the first result
is then not applied: make it safe to repeat, or pass ``error.key`` to the services that it calls.
"""

import asyncio
import inspect
import traceback
from collections import defaultdict
from collections.abc import Awaitable, Mapping, Sequence
from concurrent.futures import Executor
from datetime import timedelta
from typing import NamedTuple

from recoup import observe
from recoup.database.connection import Transaction
from recoup.errors import handlers
from recoup.errors.capture import MAX_FRAMES, MAX_TRACEBACK
from recoup.errors.handlers import Function
from recoup.errors.policy import ErrorPolicy
from recoup.errors.retrying import Claimed, Failed, Reported, Succeeded, finish, turn
from recoup.redaction import in_words
from recoup.work.flow import Flow, Overrun, ThreadEach, Turn, Work
from recoup.worker.duty import Context

MAX_RETURNED = 200  # characters of what a handler returned and should not have
MAX_LOGGED = 500  # characters of a failure's message in a log line
GRACE_S = 5.0  # after its lease a handler is given up, and its thread left to itself


class Failure(NamedTuple):
    """Why a retry failed."""

    message: str
    traceback: str | None = None


Outcome = Failure | Reported | None  # None: it succeeded
# By worker, over all its flows: no second call for an error runs while the one that overran its lease still runs.
_OVERRUN: defaultdict[str, Overrun[Claimed, Outcome]] = defaultdict(Overrun)


def retry_due(
    context: Context, functions: Mapping[str, Function] | None = None, *, executor: Executor | None = None
) -> int:
    """Retry everything that is due and has a handler. Returns, when nothing is left, how many retries ended.

    Without ``functions``, by table, the installed handlers are called; on the executor, by default in a thread each.
    """
    chosen = handlers.functions(handlers.find(context.settings)) if functions is None else functions
    return Flow(context, _work(context, chosen, executor or ThreadEach())).run() if chosen else 0


def call(function: Function, claimed: Claimed) -> Outcome:
    """Call a handler and wait for its result. What it raises is a failure with its traceback."""
    try:
        return _called(function, claimed)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises is its outcome
        return raised(error)


def raised(error: BaseException) -> Failure:
    """What an exception says of a retry. The traceback begins in the handler: our own frames lead nobody anywhere."""
    inner = error.__traceback__
    while inner is not None and inner.tb_frame.f_code.co_filename in _OWN_FILES:
        inner = inner.tb_next
    try:
        lines = traceback.format_exception(type(error), error, inner, limit=-MAX_FRAMES)
    except Exception:  # noqa: BLE001 - an exception may be made so that it cannot be printed
        lines = ["[a traceback that cannot be printed]"]
    return Failure(f"{type(error).__name__}: {in_words(error)}", in_words("".join(lines))[-MAX_TRACEBACK:])


def report(error: Claimed, outcome: Failure | None) -> Succeeded | Failed:
    """An outcome as it is written."""
    if outcome is None:
        return Succeeded(error_table=error.error_table, error_id=error.error_id, token=error.token)
    return Failed(
        error_table=error.error_table, error_id=error.error_id, token=error.token,
        failure=outcome.message, traceback=outcome.traceback,
    )  # fmt: skip


def _work(context: Context, functions: Mapping[str, Function], executor: Executor) -> Work[Claimed, Outcome]:
    """Retries as work."""
    rules: ErrorPolicy = context.policy[ErrorPolicy]
    tables = [table for table in functions if table in rules.tables]
    lease = timedelta(seconds=rules.retry_lease_s)

    def turned(tx: Transaction, ended: Sequence[tuple[Claimed, Outcome]], room: int) -> tuple[list[str], list[Claimed]]:
        outcomes = [report(error, outcome) for error, outcome in ended if not isinstance(outcome, Reported)]
        if room:
            became, claimed = turn(tx, outcomes, limit=room, worker=context.name, tables=tables, lease=lease)
        else:
            became, claimed = finish(tx, outcomes), []
        # They come in the database's order; what others reported has its status already.
        statuses = {error.error_id: outcome.status for error, outcome in ended if isinstance(outcome, Reported)}
        statuses |= dict(became)
        return [statuses[error.error_id] for error, _ in ended], claimed

    return Work(
        turn=turned,
        start=lambda error: executor.submit(_called, functions[error.error_table], error),
        raised=lambda _, error: raised(error),
        name=lambda error: f"{error.error_table}/{error.error_id}",
        at_once=rules.retries_at_once,
        lease_s=rules.retry_lease_s,
        grace_s=GRACE_S,
        overrun=_OVERRUN[context.name],
        written=lambda done: _log(context.name, done),
    )


def _log(worker: str, done: Turn) -> None:
    """A line for each retry that failed, with its status now."""
    log = observe.logger(worker=worker)
    for (error, outcome), status in zip(done.ended, done.became, strict=True):
        failure = outcome.failure if isinstance(outcome, Reported) else outcome and outcome.message
        if failure is not None:
            words = "retry failed" if status == "RETRY_PENDING" else f"last retry failed: the error is {status} now"
            log.warning(
                "retry failed, its result came late" if status == "late" else words,
                table=error.error_table, error_id=error.error_id,
                attempt=f"{error.retry_count + 1} of {error.max_retries}", failure=failure[:MAX_LOGGED],
                then=f"recoup errors show {error.error_id}",
            )  # fmt: skip


def _called(handler: Function, claimed: Claimed) -> Outcome:
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
            return Failure(returned.failure, returned.traceback)
        case Reported():
            return returned
    raise TypeError(
        f"a handler returns nothing, Succeeded or Failed of its error when it is done; this one returned"
        f" {type(returned).__name__}: {in_words(repr(returned))[:MAX_RETURNED]}"
    )


async def _awaited(returned: Awaitable[object]) -> object:
    return await returned


_OWN_FILES = {code.co_filename for code in (_called.__code__, ThreadEach.submit.__code__, asyncio.run.__code__)}
