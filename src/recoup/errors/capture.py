"""Failures of your own code, recorded as they happen: as a ``with`` block, or as a decorator.

    with failures(database, "outreach.dol_errors", outreach_id=company):
        match_ein(company)

    @failures(database, "people.people_errors", outreach_id=lambda person: person.outreach_id, work_key=lambda p: p.id)
    def find_address(person): ...

What was raised is recorded in a transaction of its own, and raised again. If it cannot be recorded, that is logged and
added to it as a note: what the caller sees is always the failure itself. If its entity cannot be worked out, it is
recorded among the orphans. Inside a transaction of this thread that promotes the entity (``blocked_locking``) it is
recorded when that transaction has ended, whichever way.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar, cast
from uuid import UUID

from recoup import observe
from recoup.database.connection import Database
from recoup.errors.active_policy import named_table
from recoup.errors.recording import MAX_CODE, NewError, Recorded
from recoup.errors.resilient import record_resilient, transaction_in_the_way, usable, with_more
from recoup.errors.tables import is_global
from recoup.errors.vocabulary import Category, Severity
from recoup.redaction import in_words
from recoup.refusals import Refusal

MAX_FRAMES = 20  # of a traceback, the innermost
MAX_TRACEBACK = 20_000  # characters
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class failures:  # noqa: N801 - read as a word: with failures(...), @failures(...)
    """Records whatever is raised inside, then lets it pass. ``recorded`` names the error once it is recorded."""

    def __init__(
        self,
        database: Database,
        table: str,
        *,
        outreach_id: UUID
        | str
        | Callable[..., UUID | str | None]
        | None = None,  # a function of the decorated one's arguments
        work_key: str | Callable[..., str | None] | None = None,  # which piece of the entity's work; likewise
        code: str | None = None,  # the exception's name when it is not given
        severity: Severity | None = None,
        category: Category | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        self.recorded: Recorded | None = None
        self._database = database
        self._table = table
        self._outreach_id = outreach_id
        self._work_key = work_key
        self._code = code
        self._severity = severity
        self._category = category
        self._payload = payload

    def __enter__(self) -> failures:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        # Not what merely ends a program: Ctrl-C, an exit, a cancelled task.
        if isinstance(error, Exception):
            self._record(error, None if callable(self._outreach_id) else self._outreach_id, piece=self._piece((), {}))

    async def __aenter__(self) -> failures:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: Any) -> None:
        """As at the end of a plain block, on a thread: the event loop goes on."""
        await asyncio.to_thread(self.__exit__, kind, error, at)

    def __call__(self, function: Decorated) -> Decorated:
        """A function whose failures are recorded; a coroutine's as well, without holding up its loop."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("A generator fails while it is used, not when it is called: write the block inside it.")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def later(*args: Any, **kwargs: Any) -> Any:
                try:
                    return await function(*args, **kwargs)
                except Exception as error:
                    await asyncio.to_thread(self._record_of, error, args, kwargs)
                    raise

            return cast("Decorated", later)

        @functools.wraps(function)
        def now(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                self._record_of(error, args, kwargs)
                raise

        return cast("Decorated", now)

    def _record_of(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Record it, of the entity that a call was about."""
        entity, why = self._outreach_id, "the function gave none"
        if callable(entity):
            try:
                entity = entity(*args, **kwargs)
            except Exception as other:  # noqa: BLE001 - must not take the place of what really failed
                entity, why = None, f"{type(other).__name__}: {in_words(other)}"
        self._record(error, entity, why, self._piece(args, kwargs))

    def _piece(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[object, dict[str, str]]:
        """Which piece of the entity's work a call was about; or why nobody knows: it is recorded all the same."""
        try:
            return (self._work_key(*args, **kwargs) if callable(self._work_key) else self._work_key), {}
        except Exception as other:  # noqa: BLE001 - must not take the place of what really failed
            return None, {"no_work_key": f"{type(other).__name__}: {in_words(other)}"}

    def _record(
        self,
        error: Exception,
        entity: object,
        why: str = "none was given",
        piece: tuple[object, dict[str, str]] = (None, {}),
    ) -> None:
        try:
            new = self._new(error, entity, why, piece)
            holder = transaction_in_the_way(self._database, new.outreach_id)
        except Exception as other:  # noqa: BLE001 - must not take the place of what really failed
            self._unrecorded(error, _why(other))
            return
        if holder is None:
            self._keep(error, new)
        else:
            holder.afterwards.append(lambda: self._keep(error, new))

    def _keep(self, error: Exception, new: NewError) -> None:
        try:
            self.recorded = record_resilient(self._database, new, fallback="orphan_table")
        except Exception as other:  # noqa: BLE001 - must not take the place of what really failed
            self._unrecorded(error, _why(other))

    def _new(self, error: Exception, entity: object, why: str, piece: tuple[object, dict[str, str]]) -> NewError:
        work_key, no_key = piece
        new = usable(
            NewError(
                table=self._table,
                message=in_words(error) or type(error).__name__,
                outreach_id=cast("UUID | None", entity),
                work_key=cast("str | None", work_key),
                code=self._code or type(error).__name__.encode()[:MAX_CODE].decode("utf-8", "ignore"),
                severity=self._severity,
                category=self._category,
                payload=with_more(self._payload, {**no_key, "traceback": _frames(error)}),
            )
        )
        if new.outreach_id is not None or (entity is None and is_global(self._table)):
            return new
        unread = why if entity is None else "what was given is no UUID"
        more = {"meant_for": self._table, "no_outreach_id": unread}
        return replace(new, table=named_table(self._database, "orphan_table"), payload=with_more(new.payload, more))

    def _unrecorded(self, error: Exception, why: str) -> None:
        error.add_note(f"This failure was not recorded in {self._table}: {why}")
        observe.logger().error("failure was not recorded", table=self._table, failure=in_words(error), why=why)


def _why(error: Exception) -> str:
    return f"{error.happened} {error.next_step}" if isinstance(error, Refusal) else in_words(error)


def _frames(error: Exception) -> str:
    try:
        told = traceback.format_exception(type(error), error, error.__traceback__, limit=-MAX_FRAMES)
    except Exception:  # noqa: BLE001 - an exception may be made so that it cannot be told
        return "[a traceback that cannot be printed]"
    return in_words("".join(told))[-MAX_TRACEBACK:]  # in this order: what is cut is not known for a secret
