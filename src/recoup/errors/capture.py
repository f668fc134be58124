"""Record failures of your own code as they happen: as a ``with`` block, or as a decorator.

    with failures(db, "outreach.dol_errors", outreach_id=company):
        match_ein(company)

    @failures(db, "people.people_errors", outreach_id=lambda person: person.outreach_id, work_key=lambda p: p.id)
    def find_address(person): ...

Both work in asyncio, too: ``async with failures(…)``, and on coroutine functions.

An exception is recorded in a transaction of its own, and raised again. If it cannot be recorded, that is logged and
added to the exception as a note: the caller always sees the failure itself. If its entity cannot be worked out, it is
recorded among the orphans, with a note and a log line. Inside a ``db.transaction`` that promotes the entity
(``blocked_locking``) it is recorded when that transaction has ended, committed or rolled back.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast
from uuid import UUID

from recoup import observe
from recoup.database.connection import Database
from recoup.errors.active_policy import named_table
from recoup.errors.clearing import Cleared, clear
from recoup.errors.inputs import entity
from recoup.errors.recording import MAX_CODE, NewError, Recorded
from recoup.errors.resilient import record_resilient, retried, transaction_in_the_way, usable, with_more
from recoup.errors.tables import is_global
from recoup.errors.vocabulary import Category, Severity
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words
from recoup.refusals import InputRefused, Refusal

NO_ENTITY = "Give outreach_id, and work_key if you use it, as values or as functions that return them."
MAX_FRAMES = 20  # of a traceback, the innermost
MAX_TRACEBACK = 20_000  # characters
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Entity: TypeAlias = UUID | str | None


class _Work(NamedTuple):
    """What a block or a call was about. ``problems``: why a part of it could not be worked out."""

    entity: object
    work_key: object
    problems: dict[str, str]


class failures:  # noqa: N801 - read as a word: with failures(...), @failures(...)
    """Record every exception raised inside, and raise it again.

    database: from ``recoup.connect()``.
    table: the error table, such as outreach.dol_errors.
    outreach_id: the entity, as a UUID or its text; on a decorator also a function of the decorated one's arguments.
    work_key: which piece of the entity's work failed, such as a person's id; likewise. Each piece fails by itself.
    code: the error code. Default: the name of the exception's class.
    severity, category: worked out by the policy where they are not given.
    payload: a JSON object with details; the traceback is added.
    clears: when the block succeeds, resolve what is open for this table, entity and work key, and this code if one is
    given. Parked errors stay open, and so does what was recorded while the block ran.

    After the block ``recorded`` names the recorded error, ``cleared`` what was resolved. On a decorator they belong to
    the last call.
    """

    def __init__(
        self,
        database: Database,
        table: str,
        *,
        outreach_id: Entity | Callable[..., Entity] = None,
        work_key: str | Callable[..., str | None] | None = None,
        code: str | None = None,
        severity: Severity | None = None,
        category: Category | None = None,
        payload: Mapping[str, Any] | None = None,
        clears: bool = False,
    ) -> None:
        if clears and outreach_id is None:
            raise InputRefused("entity_missing", "clears=True needs an entity.", "Give its outreach_id.")
        self.recorded: Recorded | None = None
        self.cleared: Cleared | None = None
        self._database = database
        self._table = table
        self._outreach_id = outreach_id
        self._work_key = work_key
        self._code = code
        self._severity = severity
        self._category = category
        self._payload = payload
        self._clears = clears
        self._began = 0.0

    def __enter__(self) -> failures:
        self._began = time.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ended(error, self._began)

    async def __aenter__(self) -> failures:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        await self._ended_later(error, self._began)

    def __call__(self, function: Decorated) -> Decorated:
        """Decorate a function or a coroutine function."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("A generator fails while it is used, not when it is called: write the block inside it.")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def later(*args: Any, **kwargs: Any) -> Any:
                began = time.monotonic()
                try:
                    result = await function(*args, **kwargs)
                except Exception as error:
                    await self._ended_later(error, began, args, kwargs)
                    raise
                await self._ended_later(None, began, args, kwargs)
                return result

            return cast("Decorated", later)

        @functools.wraps(function)
        def now(*args: Any, **kwargs: Any) -> Any:
            began = time.monotonic()
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                self._ended(error, began, args, kwargs)
                raise
            self._ended(None, began, args, kwargs)
            return result

        return cast("Decorated", now)

    async def _ended_later(self, error: BaseException | None, *more: Any) -> None:
        """On a thread, so that the event loop is not blocked."""
        if error is not None or self._clears:
            await asyncio.to_thread(self._ended, error, *more)

    def _ended(self, error: BaseException | None, began: float, args: Any = (), kwargs: Any = None) -> None:
        # Not what merely ends a program: Ctrl-C, an exit, a cancelled task.
        if isinstance(error, Exception):
            self._record(error, self._work(args, kwargs or {}))
        elif error is None and self._clears:
            self._clear(self._work(args, kwargs or {}), began)

    def _work(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Work:
        problems: dict[str, str] = {}

        def worked_out(name: str, given: Any) -> Any:
            try:
                return given(*args, **kwargs) if callable(given) else given
            except Exception as other:  # noqa: BLE001 - must not take the place of what really failed
                problems[name] = f"{type(other).__name__}: {in_words(other)}"
                return None

        return _Work(
            worked_out("no_outreach_id", self._outreach_id), worked_out("no_work_key", self._work_key), problems
        )

    def _record(self, error: Exception, work: _Work) -> None:
        try:
            new = self._new(error, work)
            holder = transaction_in_the_way(self._database, new.outreach_id)
        except Exception as other:  # noqa: BLE001 - must not take the place of what really failed
            self._unrecorded(error, other)
            return
        if holder is None:
            self._keep(error, new)
        else:
            holder.afterwards.append(lambda: self._keep(error, new))

    def _keep(self, error: Exception, new: NewError) -> None:
        try:
            self.recorded = record_resilient(self._database, new, fallback="orphan_table")
        except Exception as other:  # noqa: BLE001 - must not take the place of what really failed
            self._unrecorded(error, other)
        else:
            if self.recorded.error_table != self._table:
                self._orphaned(error, self.recorded)

    def _new(self, error: Exception, work: _Work) -> NewError:
        no_entity = work.problems.pop("no_outreach_id", "none was given")
        new = usable(
            NewError(
                table=self._table,
                message=in_words(error) or type(error).__name__,
                outreach_id=cast("UUID | None", work.entity),
                work_key=cast("str | None", work.work_key),
                code=self._code or type(error).__name__.encode()[:MAX_CODE].decode("utf-8", "ignore"),
                severity=self._severity,
                category=self._category,
                payload=with_more(self._payload, {**work.problems, "traceback": _frames(error)}),
            )
        )
        if new.outreach_id is not None or (work.entity is None and is_global(self._table)):
            return new
        problem = no_entity if work.entity is None else "what was given is no UUID"
        more = {"meant_for": self._table, "no_outreach_id": problem}
        return replace(new, table=named_table(self._database, "orphan_table"), payload=with_more(new.payload, more))

    def _orphaned(self, error: Exception, recorded: Recorded) -> None:
        where = f"{recorded.error_table}/{recorded.error_id}"
        error.add_note(f"This failure was recorded as {where}, not in {self._table}.")
        observe.logger().warning("failure was recorded among the orphans", table=self._table, recorded=where)

    def _unrecorded(self, error: Exception, other: Exception) -> None:
        why = _why(other)
        error.add_note(f"This failure was not recorded in {self._table}: {why}")
        observe.logger().error("failure was not recorded", table=self._table, failure=in_words(error), why=why)

    def _clear(self, work: _Work, began: float) -> None:
        try:
            one = entity(work.entity)
            if one is None or work.problems:
                problem = "; ".join(work.problems.values()) or "no entity was given"
                raise InputRefused("success_unknown", f"It is not known whose success it was: {problem}.", NO_ENTITY)
            self.cleared = retried(lambda: self._cleared(one, work.work_key, began))
        except Exception as other:  # noqa: BLE001 - a success stays one
            observe.logger().error("success was not reported", table=self._table, why=_why(other))

    def _cleared(self, one: UUID, work_key: object, began: float) -> Cleared:
        key = None if work_key is None else str(work_key)
        with self._database.transaction(Authority.HUB) as tx:
            ran_for = timedelta(seconds=time.monotonic() - began)
            return clear(tx, self._table, [one], code=self._code, work_key=key, ran_for=ran_for)


def _why(error: Exception) -> str:
    return f"{error.happened} {error.next_step}" if isinstance(error, Refusal) else in_words(error)


def _frames(error: Exception) -> str:
    at = error.__traceback__
    while at is not None and at.tb_next is not None and at.tb_frame.f_code.co_filename == __file__:
        at = at.tb_next  # the decorator's own
    try:
        lines = traceback.format_exception(type(error), error, at, limit=-MAX_FRAMES)
    except Exception:  # noqa: BLE001 - the exception's own class may fail here
        return "[a traceback that cannot be printed]"
    return in_words("".join(lines))[-MAX_TRACEBACK:]  # redacted before it is cut: half a secret is not recognized
