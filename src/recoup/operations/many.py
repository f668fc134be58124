"""One decision over many rows: preview, fixed set, batches, and a result for each row.

The filter is evaluated once, when the operation begins; later rows are not in it, and its digest identifies those that
are. A batch changes its rows and writes their results in one transaction: after a kill at any point, the operation can
be resumed, and nothing is done twice. Several processes may work on one operation at the same time.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from psycopg import errors
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from recoup.database.acting import acting_as
from recoup.database.connection import Actor, Database, Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.operations.verbs import Act, Answer, Group, Subject
from recoup.refusals import InputRefused

Q = load("recoup.operations", "operations.sql")
BATCH = 500  # rows of one transaction
MAX_ITEMS = 500_000  # of one operation; they are selected in one statement
MAX_DEADLOCKS = 5  # of one batch, before it fails


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


def begin(tx: Transaction, subject: Subject, act: Act, filter_: Filter) -> UUID:
    """Fix the set of rows that match now. Nothing is changed yet: after the commit, call ``carry_on``."""
    if filter_.is_empty:
        raise InputRefused(
            "filter_empty", f"No {subject.noun}s are selected.", "Give a filter; for all rows of a table, its name."
        )
    filter_ = subject.narrowed(act, filter_)
    chosen, parameters = subject.chosen(tx, filter_)
    given = {
        **parameters, "subject": subject.table, "verb": act.verb, "arguments": Jsonb(act.given),
        "filter": Jsonb(filter_.conditions), "most": MAX_ITEMS,
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
    assert isinstance(operation_id, UUID)
    return operation_id


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
    ended = operation.done + operation.refused
    while batch := _batch(database, subject, operation, actor):
        ended += batch
        if progress is not None:
            progress(ended, operation.items)
    with database.transaction(Authority.OPERATOR, actor=actor, reason=operation.act.reason) as tx:
        tx.execute(Q["close"], {"operation": operation_id})
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


def operations(tx: Transaction, *, subject: str | None = None, limit: int = 20) -> list[Operation]:
    """Operations, newest first: of one subject, or of all."""
    return _operations(tx, "list", {"subject": subject, "limit": limit})


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
        rows = tx.execute(Q["take"], {"operation": operation.operation_id, "limit": BATCH}).fetchall()
        if not rows:
            return 0
        with _deciding(tx, subject):
            answers = subject.carry_out(tx, act, [unit for _, unit in rows])
        results = {
            "operation": operation.operation_id,
            "places": [place for place, _ in rows],
            "refusals": [_refusal(answer) for answer in answers],
        }
        tx.execute(Q["write_results"], results)
    return len(rows)


def _deciding(tx: Transaction, subject: Subject) -> contextlib.AbstractContextManager[None]:
    """The authority that may change the rows; an operation and its items are the operator's."""
    own = subject.authority is Authority.OPERATOR
    return contextlib.nullcontext() if own else acting_as(tx, subject.authority)


def _refusal(answer: Answer) -> str | None:
    return None if answer.done else f"{answer.refused}: {answer.happened}"
