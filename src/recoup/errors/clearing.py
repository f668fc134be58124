"""Clearing: a later success of the same work resolves what is open of it. Parked errors stay: they need a person."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from recoup.database.arrays import Routine
from recoup.database.connection import Transaction
from recoup.errors import active_policy
from recoup.errors.recording import usable_code, usable_work_key
from recoup.refusals import InputRefused

CLEAR = Routine(
    name="recoup.clear_errors",
    sets=({"entities": "uuid"},),
    plain={"error_table_": "text", "code": "text", "work_key_": "text", "ran_for": "interval"},
    results={"resolved": "resolved", "parked": "parked", "changed": "changed"},
)


class Cleared(NamedTuple):
    """What a later success resolved, and what stays open."""

    resolved: tuple[int, ...] = ()
    parked: tuple[int, ...] = ()  # or escalated: they need a person
    changed: tuple[int, ...] = ()  # recorded or changed after the successful run began


def clear(
    tx: Transaction,
    table: str,
    entities: Sequence[UUID],
    *,
    code: str | None = None,
    work_key: str | None = None,
    ran_for: timedelta = timedelta(0),
) -> Cleared:
    """Resolve what is open of this table and these entities, because the work has succeeded. A hub's verb.

    ``code``: None means every code. ``work_key``: None means errors without one. Left open: what is parked or
    escalated, and what was recorded or changed within ``ran_for``, while the successful run was under way. A retry that
    is running is cut off, and counted.
    """
    active_policy.check_tables(tx, [table])
    if active_policy.cached(tx).errors.tables[table].insert_only:
        raise InputRefused(
            "table_insert_only",
            f"{table} keeps its errors forever, as they were recorded.",
            "Report the success for another table; nothing in this one is ever resolved.",
            table=table,
        )
    found = CLEAR.call(
        tx,
        entities=list(entities),
        error_table_=table,
        code=usable_code(code),
        work_key_=usable_work_key(work_key),
        ran_for=ran_for,
    )
    return Cleared(*(tuple(found[name] or ()) for name in Cleared._fields))
