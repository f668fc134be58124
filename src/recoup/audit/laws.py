"""The laws that no single domain owns: guards, logs, keys, statuses, and a schema that is as it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier, Literal

from recoup import health
from recoup.audit.invariant import Check, InFile, Invariant, Offending
from recoup.database.connection import Transaction
from recoup.lifecycles.registry import LIFECYCLES

# The row of the clock is made by `recoup migrate`, so no birth lists its status.
BORN_OTHERWISE = {"recoup.clock": ("real",)}


def _as_found_by(doctor: Callable[[Transaction], Iterable[health.Finding]]) -> Check:
    """What the doctor calls broken, as offending rows."""

    def check(tx: Transaction) -> Iterator[Offending]:
        for finding in doctor(tx):
            if finding.verdict == "broken":
                yield {"found": finding.found, "next_step": finding.next_step}

    return check


def _statuses(tx: Transaction) -> Iterator[Offending]:
    """Rows in a status that their lifecycle does not name."""
    for life in LIFECYCLES:
        yield from _rows(
            tx,
            SQL(
                "select {table} as table_name, {status}::text as status, count(*) as rows from {relation}"
                " where {status} is null or {status} <> all({listed}) group by 2"
            ).format(
                table=Literal(life.table),
                status=Identifier(life.status_column),
                relation=Identifier(*life.table.split(".")),
                listed=Literal([*life.statuses, *BORN_OTHERWISE.get(life.table, ())]),
            ),
        )


def _keys(tx: Transaction) -> Iterator[Offending]:
    """Keys that more than one row has, or that lack a part. By counting rows, not by asking the index."""
    for life in LIFECYCLES:
        parts = SQL(", ").join(map(Identifier, life.key))
        yield from _rows(
            tx,
            SQL(
                "select {table} as table_name, concat_ws(', ', {parts}) as key, count(*) as rows from {relation}"
                " group by {parts} having count(*) > 1 or num_nulls({parts}) > 0"
            ).format(table=Literal(life.table), parts=parts, relation=Identifier(*life.table.split("."))),
        )


def _rows(tx: Transaction, query: object) -> Iterator[Offending]:
    with tx.cursor(row_factory=dict_row) as cursor:
        yield from cursor.execute(query, prepare=False)  # type: ignore[call-overload]


_of = InFile("recoup.audit", "laws.sql")

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        id="laws/L1/guards",
        says="Every guarded table, and every partition of one, has its four guards, always on.",
        check=_as_found_by(health._guards),
        # A recovery_id stands nowhere else, so nobody could see that it changed: the guard alone holds it.
        also=("laws/L4/guards", "gate_zero_recovery/7/recovery-id"),
    ),
    Invariant(
        id="laws/L1/lifecycles",
        says="The births, moves and exits that the guard reads are the declared ones.",
        check=_as_found_by(health._lifecycles),
    ),
    Invariant(id="laws/L1/statuses", says="Every row stands in a status that its lifecycle names.", check=_statuses),
    _of("laws/L2/recorders", "recorders", "Every log takes rows from its recorders alone, always."),
    _of("laws/L2/followers", "followers", "Every rule, recorder and consequence behind a guard is always on."),
    _of("laws/L3/append-only", "append_only", "Every log refuses UPDATE, DELETE and TRUNCATE, always.",
        "gate_zero_air/6/append-only", "gate_zero_air/9/update-an-air-record", "gate_zero_air/9/delete-an-air-record"),
    Invariant(id="laws/L4/keys", says="Every guarded row has its key, and no two rows share one.", check=_keys),
    Invariant(
        id="schema/objects",
        says="Tables, constraints, triggers, functions and grants are what this program made.",
        check=_as_found_by(health._objects),
    ),
    Invariant(
        id="schema/children",
        says="No table inherits from one of ours.",
        check=_as_found_by(health._children),
    ),
    Invariant(
        id="schema/roles",
        says="Owner and authorities log in nowhere and rule over nothing.",
        check=_as_found_by(health._roles),
    ),
)  # fmt: skip
