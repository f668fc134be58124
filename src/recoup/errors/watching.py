"""Failures of your own code, recorded as they happen: as a ``with`` block, or as a decorator.

    with failures(database, "outreach.dol_errors", outreach_id=company):
        match_ein(company)

    @failures(database, "people.people_errors", outreach_id=lambda person: person.outreach_id)
    def find_address(person): ...

What was raised is recorded in a transaction of its own, and raised again. If it cannot be recorded, that is logged and
added to it as a note: what the caller sees is always the failure itself. If its entity cannot be worked out, it is
recorded among the orphans.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import traceback
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar, cast
from uuid import UUID

import psycopg

from recoup import observe
from recoup.database.connection import Database
from recoup.errors.recording import NewError, Recorded, record
from recoup.errors.vocabulary import Category, Severity
from recoup.lifecycles.declaration import Authority
from recoup.refusals import Refusal

ORPHANS = "public.shq_orphan_errors"
FRAMES_MOST = 20  # of a traceback, the innermost
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class failures:  # noqa: N801 - read as a word: with failures(...), @failures(...)
    """Records whatever is raised inside, then lets it pass. ``recorded`` names the error afterwards."""

    def __init__(
        self,
        database: Database,
        table: str,
        *,
        outreach_id: UUID | Callable[..., UUID | None] | None = None,  # a function of the decorated one's arguments
        code: str | None = None,  # the exception's name when it is not given
        severity: Severity | None = None,
        category: Category | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        self.recorded: Recorded | None = None
        self._database = database
        self._table = table
        self._outreach_id = outreach_id
        self._code = code
        self._severity = severity
        self._category = category
        self._payload = payload

    def __enter__(self) -> failures:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        # Not what merely ends a program: Ctrl-C, an exit, a cancelled task.
        if isinstance(error, Exception):
            self._record(error, None if callable(self._outreach_id) else self._outreach_id)

    def __call__(self, function: Decorated) -> Decorated:
        """A function whose failures are recorded; a coroutine's as well, without holding up its loop."""
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
        if not callable(self._outreach_id):
            self._record(error, self._outreach_id)
            return
        try:
            entity = self._outreach_id(*args, **kwargs)
        except Exception as other:  # noqa: BLE001 - must not take the place of what really failed
            why = f"{type(other).__name__}: {other}"
            self._record(error, None, table=ORPHANS, meant_for=self._table, no_outreach_id=why)
        else:
            self._record(error, entity)

    def _record(self, error: Exception, outreach_id: UUID | None, *, table: str | None = None, **more: str) -> None:
        frames = traceback.format_exception(type(error), error, error.__traceback__, limit=-FRAMES_MOST)
        new = NewError(
            table=table or self._table,
            message=str(error) or repr(error),
            outreach_id=outreach_id,
            code=self._code or type(error).__name__[:200],
            severity=self._severity,
            category=self._category,
            payload={**(self._payload or {}), **more, "traceback": "".join(frames)[-20_000:]},
        )
        try:
            with self._database.transaction(Authority.HUB) as tx:
                (self.recorded,) = record(tx, [new])
        except Refusal as refusal:
            self._unrecorded(error, f"{refusal.happened} {refusal.next_step}")
        except psycopg.Error as other:
            self._unrecorded(error, str(other))

    def _unrecorded(self, error: Exception, why: str) -> None:
        error.add_note(f"This failure was not recorded in {self._table}: {why}")
        observe.logger().error("failure was not recorded", table=self._table, failure=str(error), why=why)
