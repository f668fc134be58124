"""``db.errors``: record failures, retry them, ask whether they block, and do what people do with them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias, overload
from uuid import UUID

from recoup.client.calls import Tx, Verbs, Who
from recoup.database.connection import Transaction
from recoup.errors import (
    clearing,
    counting,
    grouping,
    listing,
    lookup,
    metrics,
    parking,
    processed,
    promotion,
    recording,
    report,
    retrying,
)
from recoup.errors.clearing import Cleared
from recoup.errors.counting import TableStats
from recoup.errors.grouping import Groups
from recoup.errors.inputs import entity
from recoup.errors.listing import Filter, Listed, Shown
from recoup.errors.lookup import ErrorKey
from recoup.errors.metrics import Metrics
from recoup.errors.parking import Answer
from recoup.errors.processed import NewProcessed, Processed
from recoup.errors.promotion import Blocking
from recoup.errors.recording import NewError, Recorded
from recoup.errors.report import Report
from recoup.errors.retrying import Claimed, Ended, Failed, Succeeded
from recoup.errors.subject import SUBJECT
from recoup.errors.verbs import Verb
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.operations import Act, Operation
from recoup.redaction import in_words
from recoup.refusals import InputRefused

HUB, OPERATOR, READER = Authority.HUB, Authority.OPERATOR, Authority.READER
# An error by its id (123, "123", "outreach.dol_errors/123"), or anything that has error_table and error_id.
One: TypeAlias = int | str | ErrorKey | Recorded | Claimed | Listed
Some: TypeAlias = One | Sequence[One]
Entity: TypeAlias = UUID | str
Answers: TypeAlias = list[Answer]
Rows: TypeAlias = list[Listed]


class Errors(Verbs):
    """Errors: recorded, retried, parked, resolved, and asked for before a promotion."""

    @overload
    def record(
        self, errors: Iterable[NewError], *, tx: Tx = None, actor: Who = None, reason: str | None = None
    ) -> list[Recorded]: ...
    @overload
    def record(
        self,
        *,
        table: str,
        message: str,
        outreach_id: Entity | None = None,
        work_key: str | None = None,
        code: str | None = None,
        severity: Severity | str | None = None,
        category: Category | str | None = None,
        payload: Mapping[str, Any] | None = None,
        want: Want | str | None = None,
        tx: Tx = None,
        actor: Who = None,
        reason: str | None = None,
    ) -> Recorded: ...
    def record(
        self,
        errors: Iterable[NewError] | None = None,
        *,
        tx: Tx = None,
        actor: Who = None,
        reason: str | None = None,
        **one: Any,
    ) -> list[Recorded] | Recorded:
        """Record one failure by keywords, or many as NewError: all or none. The policy decides what becomes of them.

        An open error of the same failure is superseded by the new one.

        table: the error table, such as outreach.dol_errors. message: the failure's text. outreach_id: the entity, as
        a UUID or its text; only global tables (schema public) do without. work_key: which piece of the entity's work
        failed. code, severity, category: worked out from the message where they are not given. payload: a JSON object
        with details; known secrets in it are redacted. want: what a person decided (RETRY, PARK, …).
        """
        if (errors is None) is (not one):
            raise InputRefused(
                "record_unclear",
                "Give either errors, or one error by its fields.",
                "For example: db.errors.record(table=…, outreach_id=…, message=…)",
            )
        given = [NewError(**one)] if errors is None else list(errors)
        done = self._call(HUB, lambda on: recording.record(on, given), tx=tx, actor=actor, reason=reason)
        return done[0] if errors is None else done

    def cleared(
        self,
        table: str,
        outreach_id: Entity | Sequence[Entity],
        *,
        code: str | None = None,
        work_key: str | None = None,
        ran_for: timedelta = timedelta(0),
        tx: Tx = None,
        actor: Who = None,
        reason: str | None = None,
    ) -> Cleared:
        """Report that the work succeeded: resolve what is open for this table and entity.

        Parked and escalated errors stay open: they need a person. So do errors that were recorded or changed since the
        successful run began: another run may have failed meanwhile. The result names both.

        code: only errors with this code; default: every code. work_key: the piece of the work that succeeded; default:
        errors without one. ran_for: how long the successful run took.
        """
        ids = _entities(outreach_id)

        def clear(on: Transaction) -> Cleared:
            return clearing.clear(on, table, ids, code=code, work_key=work_key, ran_for=ran_for)

        return self._call(HUB, clear, tx=tx, actor=actor, reason=reason)

    def claim(
        self,
        *,
        limit: int = 1,
        worker: str | None = None,
        tables: Sequence[str] | None = None,
        lease: timedelta | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> list[Claimed]:
        """Claim up to ``limit`` errors whose retry is due, longest due first. They are yours until the lease ends.

        worker: the name under which they are claimed; default: host and process. tables: only these. lease: default is
        the policy's. Claim no more than you start at once.
        """
        name = worker or f"{socket.gethostname()}-{os.getpid()}"

        def claim(on: Transaction) -> list[Claimed]:
            return retrying.claim(on, limit=limit, worker=name, tables=tables, lease=lease)

        return self._call(HUB, claim, tx=tx, actor=actor)

    def finish(
        self, outcomes: Succeeded | Failed | Sequence[Succeeded | Failed], *, tx: Tx = None, actor: Who = None
    ) -> list[Ended]:
        """Report what became of claimed retries, succeeded or failed. Reports after the lease are kept, not applied."""
        given = [outcomes] if isinstance(outcomes, Succeeded | Failed) else outcomes
        return self._call(HUB, lambda on: retrying.finish(on, given), tx=tx, actor=actor)

    def park(self, errors: Some, *, reason: str, tx: Tx = None, actor: Who = None) -> Answers:
        """Park errors until a person acts. A retry that is running is cut off, and counted."""
        return self._people(lambda on, keys: parking.park(on, keys, reason=reason), errors, tx, actor, reason)

    @overload
    def unpark(self, errors: Some, *, reason: str | None = None, tx: Tx = None, actor: Who = None) -> Answers: ...
    @overload
    def unpark(
        self,
        errors: Some,
        *,
        canary: int,
        rate: int | None = None,
        reason: str | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Operation: ...
    def unpark(
        self,
        errors: Some,
        *,
        canary: int | None = None,
        rate: int | None = None,
        reason: str | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Answers | Operation:
        """Retry errors now: with the retries they have left, or one more.

        canary: begins an operation, and returns it: a worker unparks this many first, then more in growing steps
        while their outcomes are good; rate: maximum per minute.
        """
        if canary is None:
            return self._people(parking.unpark, errors, tx, actor, reason)
        names = _names(errors)

        def units(on: Transaction) -> Sequence[str]:
            return [f"{key.error_table}/{key.error_id}" for key in lookup.keys(on, names)]

        act = Act(verb=Verb.UNPARK, given={} if reason is None else {"reason": in_words(reason)})
        who = self._actor(OPERATOR, actor)
        return self._begun(SUBJECT, act, units, canary=canary, rate=rate, tx=tx, actor=who)

    def resolve(self, errors: Some, *, reason: str | None = None, tx: Tx = None, actor: Who = None) -> Answers:
        """Resolve errors that a person fixed. They block no longer."""
        return self._people(parking.resolve, errors, tx, actor, reason)

    def escalate(
        self,
        errors: Some,
        *,
        reason: str,
        to: str | None = None,
        level: int | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Answers:
        """Escalate parked errors: to the next level, and to the table's owner unless ``to`` names somebody."""

        def escalate(on: Transaction, keys: Sequence[ErrorKey]) -> Answers:
            return parking.escalate(on, keys, reason=reason, to=to, level=level)

        return self._people(escalate, errors, tx, actor, reason)

    def assign(self, errors: Some, *, to: str, reason: str | None = None, tx: Tx = None, actor: Who = None) -> Answers:
        """Assign an owner to errors."""
        return self._people(lambda on, keys: parking.assign(on, keys, to=to), errors, tx, actor, reason)

    def review(self, errors: Some, *, reason: str | None = None, tx: Tx = None, actor: Who = None) -> Answers:
        """Mark errors as reviewed. They stay as they are."""
        return self._people(parking.review, errors, tx, actor, reason)

    def archive(self, errors: Some, *, reason: str | None = None, tx: Tx = None, actor: Who = None) -> Answers:
        """Archive errors without resolving them. They block no longer."""
        return self._people(parking.archive, errors, tx, actor, reason)

    def is_blocked(self, outreach_id: Entity, *, tx: Tx = None) -> bool:
        """Whether an open error blocks this entity. An error that is recorded a moment later is not seen."""
        (one,) = _entities(outreach_id)
        return self._call(READER, lambda on: promotion.is_blocked(on, one), tx=tx)

    def blocking(
        self, outreach_ids: Entity | Sequence[Entity], *, limit: int | None = None, tx: Tx = None
    ) -> list[Blocking]:
        """The errors that block these entities, by entity, oldest first: why, since when, and who owns them."""
        ids = _entities(outreach_ids)
        return self._call(READER, lambda on: promotion.blocking(on, ids, limit=limit), tx=tx)

    def blocked_locking(self, outreach_ids: Entity | Sequence[Entity], *, tx: Tx) -> set[UUID]:
        """Which of these entities are blocked, asked in the transaction that promotes them.

        Until ``tx`` commits or rolls back, no error of these entities can be recorded: those that are not in the result
        can be promoted safely. Ask once for all of them. A savepoint that is rolled back releases its locks.
        """
        if tx is None:
            raise InputRefused(
                "lock_outside_transaction",
                "Without a transaction of yours the lock would be released before anything is promoted.",
                "Pass the connection that promotes: db.errors.blocked_locking(ids, tx=connection)",
            )
        ids = _entities(outreach_ids)
        return self._call(READER, lambda on: promotion.blocked_locking(on, ids), tx=tx, locks=True)

    def groups(self, /, *, limit: int = 20, archived: bool = False, tx: Tx = None, **filter_: Any) -> Groups:
        """The largest groups of errors with the same cause. Takes the fields of Filter, as ``list`` does."""
        asked = _filter(filter_)
        return self._call(READER, lambda on: grouping.largest(on, asked, limit=limit, archived=archived), tx=tx)

    def stats(self, *, tx: Tx = None) -> list[TableStats]:
        """How many errors each table has, by status. Counts every row."""
        return self._call(READER, counting.stats, tx=tx)

    @overload
    def processed(self, reports: Iterable[NewProcessed], /, *, tx: Tx = None, actor: Who = None) -> list[Processed]: ...
    @overload
    def processed(
        self,
        table: str,
        count: int,
        /,
        *,
        period_from: datetime | None = None,
        period_to: datetime | None = None,
        key: str | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Processed: ...
    def processed(
        self,
        reports: Iterable[NewProcessed] | str,
        count: int | None = None,
        /,
        *,
        tx: Tx = None,
        actor: Who = None,
        **one: Any,
    ) -> list[Processed] | Processed:
        """Report how many units of work were processed, those that failed included: error rates are shares of them.

        One by its table and count, or many as NewProcessed: all or none. period_from, period_to: when they were
        processed; default: now. key: a report that is sent again with the same key counts once.
        """
        if isinstance(reports, str) is (count is None):
            raise InputRefused(
                "processed_unclear",
                "Give either a table and a count, or a list of reports.",
                "For example: db.errors.processed('outreach.dol_errors', 1200)",
            )
        given = list(reports) if not isinstance(reports, str) else []
        if isinstance(reports, str) and count is not None:
            given = [NewProcessed(table=reports, count=count, **one)]
        done = self._call(HUB, lambda on: processed.report(on, given), tx=tx, actor=actor)
        return done[0] if isinstance(reports, str) else done

    def metrics(self, tables: Sequence[str] | None = None, *, tx: Tx = None) -> Metrics:
        """The metrics of the last 24 hours, by table and overall; and what is parked or blocks now."""
        return self._call(READER, lambda on: metrics.metrics(on, tables=tables), tx=tx)

    def report(self, day: date | None = None, *, tx: Tx = None) -> Report:
        """The report of a day in UTC, by default of yesterday: what was recorded, parked, resolved and archived."""
        return self._call(READER, lambda on: report.report(on, day), tx=tx)

    def show(self, error: One, *, tx: Tx = None) -> Shown:
        """One error, open or archived: its row, why it is in this status, and its events."""
        (name,) = _names(error)
        return self._call(READER, lambda on: listing.show(on, name), tx=tx)

    def list(
        self, /, *, limit: int = 100, archived: bool = False, after: int | None = None, tx: Tx = None, **filter_: Any
    ) -> Rows:
        """Errors that match, newest first. ``after``, the id of the last one, gives the next page.

        Takes the fields of Filter: tables, statuses, codes, signatures, severities, categories, entities (one or
        several), older_than, newer_than, parked_longer_than. archived: also closed errors.
        """
        asked = _filter(filter_)

        def found(on: Transaction) -> Rows:
            return listing.list_errors(on, asked, limit=limit, archived=archived, after=after)

        return self._call(READER, found, tx=tx)

    def _people(self, verb: Any, errors: Some, tx: Tx, actor: Who, reason: str | None) -> Answers:
        names = _names(errors)

        def carried_out(on: Transaction) -> Answers:
            done: Answers = verb(on, lookup.keys(on, names))
            return done

        return self._call(OPERATOR, carried_out, tx=tx, actor=actor, reason=reason)


def _names(errors: Some) -> tuple[str, ...]:
    if isinstance(errors, int | str):
        return (str(errors),)
    if isinstance(errors, ErrorKey | Recorded | Claimed | Listed):
        return (f"{errors.error_table}/{errors.error_id}",)
    return tuple(name for one in errors for name in _names(one))


def _entities(given: Entity | Sequence[Entity]) -> tuple[UUID, ...]:
    if isinstance(given, UUID | str) or given is None:
        one = entity(given)
        if one is None:
            raise InputRefused("entity_missing", "No entity is given.", "Give its outreach_id.")
        return (one,)
    return tuple(one for each in given for one in _entities(each))


def _filter(given: Mapping[str, Any]) -> Filter:
    several: dict[str, Any] = {
        name: (value,) if isinstance(value, str | UUID) else tuple(value) if isinstance(value, list | set) else value
        for name, value in given.items()
    }
    if "entities" in several:
        several["entities"] = _entities(several["entities"])
    try:
        return Filter(**several)
    except TypeError as error:
        known = ", ".join(Filter.__dataclass_fields__)
        raise InputRefused("filter_unknown", f"There is no such filter: {error}.", f"Use one of: {known}.") from None
