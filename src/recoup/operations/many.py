"""One decision over many rows: preview, fixed set, batches, and a result for each row.

The filter is evaluated once, when the operation begins; later rows are not in it, and its digest identifies those that
are. A batch changes its rows and writes their results in one transaction: after a kill at any point, the operation can
be resumed, and nothing is done twice. Several processes may work on one operation at the same time.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from psycopg import errors
from psycopg.rows import class_row
from psycopg.sql import SQL, Composable
from psycopg.types.json import Jsonb

from recoup.database.connection import Actor, Database, Transaction
from recoup.database.queries import load
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.operations import steps
from recoup.operations.batches import BATCH, MAX_DEADLOCKS, close, let_go
from recoup.operations.verbs import Act, Group, Subject
from recoup.refusals import InputRefused

Q = load("recoup.operations", "operations.sql")
MAX_ITEMS = 500_000  # of one operation; they are selected in one statement


class Filter(Protocol):
    """Which rows to act on."""

    @property
    def is_empty(self) -> bool: ...

    @property
    def conditions(self) -> Mapping[str, Any]:
        """The filter, as an operation stores it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What an operation would do: how many rows of which kinds, and why not the others."""

    rows: int  # that the verb can change
    groups: Sequence[Group]
    refused: Mapping[str, int]  # why, and how many


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A decision over many rows, and its progress."""

    operation_id: UUID
    subject: str
    verb: str
    arguments: Mapping[str, Any]
    filter: Mapping[str, Any]
    items: int
    digest: bytes
    status: str
    requested_at: datetime
    requested_by: str
    done_at: datetime | None
    canary: Mapping[str, Any] | None  # how it goes in steps; None: all at once
    step: int | None
    step_start: int | None  # the step is the items behind this place …
    step_end: int | None  # … up to this one
    watch_until: datetime | None  # how long outcomes of the step are waited for, once all of it has gone
    why: str | None  # it is in this status or step
    taken_up_at: datetime | None  # when a worker took it up, because nobody worked on it any more
    paused: str | None  # who paused it, and why
    pending: int
    done: int
    refused: int
    refusals: Mapping[str, int]  # why, and how many

    @property
    def act(self) -> Act:
        return Act(verb=self.verb, given=self.arguments)


Progress = Callable[[int, int], None]  # how many have a result, of how many


def preview(tx: Transaction, subject: Subject, act: Act, filter_: Filter) -> Preview:
    """What the verb would do now. Changes nothing; counts only rows that it can change."""
    groups = subject.groups(tx, act, subject.narrowed(act, filter_))
    refused: Counter[str] = Counter()
    for group in groups:
        if group.refusal is not None:
            refused[f"{group.refusal.code}: {group.refusal.happened}"] += group.rows
    can = [group for group in groups if group.refusal is None]
    return Preview(rows=sum(group.rows for group in can), groups=can, refused=dict(refused.most_common()))


def begin(
    tx: Transaction,
    subject: Subject,
    act: Act,
    filter_: Filter | Sequence[str],
    *,
    canary: int | None = None,
    rate: int | None = None,
    unattended: bool = False,
) -> UUID:
    """Fix the set of rows that match now, or of the named units. Nothing is changed yet.

    After the commit, call ``carry_on``. ``canary``: only this many go first; a background task continues
    while their outcomes are good, at most ``rate`` per minute. ``unattended``: nobody waits for this process, so a
    worker continues if it dies, under the name of who begins it and the subject's authority, which they must have.
    """
    plan = None if canary is None else steps.planned(tx, subject, act, canary, rate)
    chosen, parameters, conditions = _chosen(tx, subject, act, filter_)
    given = {
        **parameters, "subject": subject.table, "verb": act.verb, "arguments": Jsonb(act.given),
        "filter": Jsonb(conditions), "most": MAX_ITEMS, "first": canary,
        "canary": None if plan is None else plan.stored,
        "why": None if plan is None else f"The first {plan.first:,} go.",
        "authority": subject.authority.role if unattended and plan is None else None,
    }  # fmt: skip
    # Not prepared: planned for this filter, not for every possible one.
    row = tx.execute(Q["begin"].format(chosen=chosen), given, prepare=False).fetchone()
    operation_id, items = row or (None, 0)
    if items > MAX_ITEMS:
        raise InputRefused(
            "operation_too_large",
            f"More than {MAX_ITEMS:,} {subject.noun}s match.",
            "Narrow the filter: one table, one code, or --older-than; then run it again for the rest.",
        )
    if operation_id is None:
        raise InputRefused(
            "canary_too_large",
            f"A canary of {canary:,} holds nothing back of {plural(items, subject.noun)}.",
            f"Give 1 to {items - 1:,}, or leave it out."
            if items > 1
            else f"Leave it out: --canary is for many {subject.noun}s.",
            canary=canary,
            items=items,
        )
    assert isinstance(operation_id, UUID)
    return operation_id


def _chosen(
    tx: Transaction, subject: Subject, act: Act, asked: Filter | Sequence[str]
) -> tuple[Composable, Mapping[str, Any], Mapping[str, Any]]:
    """A query for the units, its parameters, and what was asked for, as the operation stores it."""
    if isinstance(asked, Sequence):
        units = list(dict.fromkeys(subject.kept(tx, act, asked)))
        return SQL("select unit from unnest(%(units)s::text[]) unit"), {"units": units}, {"named": len(units)}
    if asked.is_empty:
        raise InputRefused(
            "filter_empty", f"No {subject.noun}s are selected.", "Give a filter; for all rows of a table, its name."
        )
    narrowed = subject.narrowed(act, asked)
    return *subject.chosen(tx, narrowed), narrowed.conditions


def carry_on(
    database: Database,
    subject: Subject,
    operation_id: UUID,
    *,
    actor: Actor | None = None,
    progress: Progress | None = None,
) -> Operation:
    """Process the rest of an operation, until it is paused. Rows that another process works on are left to it."""
    with database.transaction(Authority.READER, actor=actor) as tx:
        operation = find(tx, operation_id)
    if operation.subject != subject.table:
        raise InputRefused(
            "operation_subject", f"Operation {operation_id} is about {operation.subject}.", "Resume it there."
        )
    if operation.canary is not None:
        steps.continue_one(database, subject, operation_id, actor=actor)
        with database.transaction(Authority.READER, actor=actor) as tx:
            return find(tx, operation_id)
    ended = operation.done + operation.refused
    while batch := _batch(database, subject, operation, actor):
        ended += batch
        if progress is not None:
            progress(ended, operation.items)
    with database.transaction(Authority.OPERATOR, actor=actor, reason=operation.act.reason) as tx:
        close(tx, operation_id)
        return find(tx, operation_id)


def find(tx: Transaction, operation_id: UUID) -> Operation:
    """An operation by its id. Refused when there is none."""
    found = _operations(tx, "find", {"operation": operation_id})
    if not found:
        raise InputRefused(
            "operation_unknown",
            f"There is no operation {operation_id}.",
            "recoup operations lists them.",
            operation_id=str(operation_id),
        )
    return found[0]


def operations(
    tx: Transaction,
    *,
    subject: str | None = None,
    limit: int = 20,
    after: tuple[datetime, UUID] | None = None,
) -> list[Operation]:
    """Operations, newest first: of one subject, or of all. ``after``, requested_at and id, gives the next page."""
    at, last = after or (None, None)
    return _operations(tx, "list", {"subject": subject, "limit": limit, "at": at, "after": last})


def operations_between(tx: Transaction, first: UUID, last: UUID, *, limit: int = 20) -> list[Operation]:
    """Operations whose ids are in this range."""
    return _operations(tx, "between", {"first": first, "last": last, "limit": limit})


def _operations(tx: Transaction, query: str, parameters: Mapping[str, Any]) -> list[Operation]:
    with tx.cursor(row_factory=class_row(Operation)) as cursor:
        return cursor.execute(Q[query].format(columns=Q["columns"]), parameters).fetchall()


def _batch(database: Database, subject: Subject, operation: Operation, actor: Actor | None) -> int:
    """One batch in one transaction. Another writer may lock the same rows in another order: then it is repeated."""
    for _ in range(MAX_DEADLOCKS - 1):
        try:
            return _carried_out(database, subject, operation, actor)
        except errors.DeadlockDetected:
            continue
    return _carried_out(database, subject, operation, actor)


def _carried_out(database: Database, subject: Subject, operation: Operation, actor: Actor | None) -> int:
    act = operation.act
    with database.transaction(Authority.OPERATOR, actor=actor, reason=act.reason) as tx:
        return let_go(tx, subject, operation.operation_id, act, BATCH)
