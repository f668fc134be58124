"""One batch of an operation: its rows are changed and their results written in one transaction."""

import contextlib
from uuid import UUID

from recoup.database.acting import acting_as
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.operations.verbs import Act, Answer, Subject

Q = load("recoup.operations", "operations.sql")
BATCH = 500  # rows of one transaction
MAX_DEADLOCKS = 5  # of one batch, before it fails


def let_go(tx: Transaction, subject: Subject, operation_id: UUID, act: Act, limit: int) -> int:
    """Apply the act to the next items of an operation, with their results. Returns how many these were."""
    rows = tx.execute(Q["take"], {"operation": operation_id, "limit": min(limit, BATCH)}).fetchall()
    if not rows:
        return 0
    with _deciding(tx, subject):
        answers = subject.carry_out(tx, act, [unit for _, unit in rows])
    results = {
        "operation": operation_id,
        "places": [place for place, _ in rows],
        "refusals": [_refusal(answer) for answer in answers],
    }
    tx.execute(Q["write_results"], results)
    return len(rows)


def close(tx: Transaction, operation_id: UUID) -> bool:
    """An operation is done when each of its items has its result. False: some have none, or it has ended already."""
    return tx.execute(Q["close"], {"operation": operation_id}).rowcount > 0


def _deciding(tx: Transaction, subject: Subject) -> contextlib.AbstractContextManager[None]:
    """The authority that may change the rows; an operation and its items are the operator's."""
    own = subject.authority is Authority.OPERATOR
    return contextlib.nullcontext() if own else acting_as(tx, subject.authority)


def _refusal(answer: Answer) -> str | None:
    return None if answer.done else f"{answer.refused}: {answer.happened}"
