"""One decision over many errors: previewed, frozen, carried out in batches, with a result for each.

What a filter means is decided once, when the operation is asked for; errors that come later are not in it. A batch
moves its errors and writes down what became of them in one transaction: killed at any point, the operation is carried
on with, and nothing is done twice. Several may carry on with one operation at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import errors
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from recoup.database.connection import Actor, Database, Transaction
from recoup.database.queries import load
from recoup.errors.acts import Act, Verb
from recoup.errors.looking import Filter, Listed, given, list_errors, matching
from recoup.errors.naming import ErrorKey
from recoup.errors.parking import Answer, carry_out
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

Q = load("recoup.errors", "bulk_queries.sql")
BATCH = 500  # errors of one transaction
ITEMS_MOST = 500_000  # of one operation; they are frozen in one statement
FIRST = 5  # errors that a preview shows
_DEADLOCKS_MOST = 5  # of one batch, before it is given up


class Count(NamedTuple):
    """How many errors of a table stand so."""

    error_table: str
    status: str
    errors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What an operation would be about."""

    errors: int
    counts: Sequence[Count]
    first: Sequence[Listed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A decision over many errors, and how far it is."""

    operation_id: UUID
    verb: Verb
    arguments: Mapping[str, Any]
    filter: Mapping[str, Any]
    items: int
    status: str
    requested_at: datetime
    requested_by: str
    done_at: datetime | None
    pending: int
    done: int
    refused: int
    refusals: Mapping[str, int]  # why, and how many

    @property
    def act(self) -> Act:
        return Act(**{**self.arguments, "verb": Verb(self.verb)})


Tell = Callable[[int, int], None]  # how many have a result, of how many


def preview(tx: Transaction, asked: Filter) -> Preview:
    """What fits now. Changes nothing."""
    parameters = given(tx, asked)
    counts = [Count._make(row) for row in tx.execute(matching("preview", Q), parameters, prepare=False)]
    first = list_errors(tx, asked, limit=FIRST)
    return Preview(errors=sum(count.errors for count in counts), counts=counts, first=first)


def begin(tx: Transaction, act: Act, asked: Filter) -> UUID:
    """Freeze what fits now. Nothing is done with it yet: when this has committed, carry on."""
    if asked.is_empty:
        raise InputRefused(
            "filter_empty", "Nothing says which errors are meant.", "Give a filter; all of a table: its name."
        )
    parameters = {
        **given(tx, asked),
        "verb": act.verb,
        "arguments": Jsonb(act.arguments),
        "filter": Jsonb(asked.told),
        "most": ITEMS_MOST,
    }
    operation_id, items = tx.execute(matching("begin", Q), parameters, prepare=False).fetchone() or (None, 0)
    if items > ITEMS_MOST:
        raise InputRefused(
            "operation_too_large",
            f"More than {ITEMS_MOST:,} errors fit.",
            "Narrow the filter: one table, one code, or --older-than; then the next.",
        )
    assert isinstance(operation_id, UUID)
    return operation_id


def carry_on(
    database: Database, operation_id: UUID, *, actor: Actor | None = None, tell: Tell | None = None
) -> Operation:
    """Do what is left of an operation. What somebody else is at in this moment is left to them."""
    with database.transaction(Authority.READER, actor=actor) as tx:
        operation = find(tx, operation_id)
    ended = operation.done + operation.refused
    while batch := _batch(database, operation, actor):
        ended += batch
        if tell is not None:
            tell(ended, operation.items)
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
            "recoup errors operations lists them.",
            operation_id=str(operation_id),
        )
    return found[0]


def operations(tx: Transaction, *, limit: int = 20) -> list[Operation]:
    """Operations, newest first."""
    return _operations(tx, "operations", {"limit": limit})


def _operations(tx: Transaction, query: str, parameters: Mapping[str, Any]) -> list[Operation]:
    with tx.cursor(row_factory=class_row(Operation)) as cursor:
        return cursor.execute(Q[query].format(columns=Q["columns"]), parameters).fetchall()


def _batch(database: Database, operation: Operation, actor: Actor | None) -> int:
    """One batch in one transaction. Whoever records the same failures may lock them in another order: then again."""
    for _ in range(_DEADLOCKS_MOST - 1):
        try:
            return _carried_out(database, operation, actor)
        except errors.DeadlockDetected:
            continue
    return _carried_out(database, operation, actor)


def _carried_out(database: Database, operation: Operation, actor: Actor | None) -> int:
    act = operation.act
    with database.transaction(Authority.OPERATOR, actor=actor, reason=act.reason) as tx:
        rows = tx.execute(Q["take"], {"operation": operation.operation_id, "limit": BATCH}).fetchall()
        if not rows:
            return 0
        answers = carry_out(tx, act, [ErrorKey(table, error_id) for _, table, error_id in rows])
        results = {
            "operation": operation.operation_id,
            "places": [place for place, _, _ in rows],
            "refusals": [_refusal(answer) for answer in answers],
        }
        tx.execute(Q["write_results"], results)
    return len(rows)


def _refusal(answer: Answer) -> str | None:
    return None if answer.done else f"{answer.refused}: {answer.happened}"
