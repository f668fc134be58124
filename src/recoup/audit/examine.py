"""Running invariants: all in one snapshot; one that fails stops no other."""

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import psycopg
from psycopg import IsolationLevel
from psycopg.rows import dict_row
from psycopg.sql import SQL, Composed, Identifier

from recoup.audit.invariant import Built, Invariant, NotChecked, Offending, Query
from recoup.database.connection import Transaction, begin_incarnation
from recoup.database.pinned import pin
from recoup.lifecycles.declaration import Authority
from recoup.refusals import Refusal
from recoup.settings import Settings

MAX_ROWS = 100  # rows shown per invariant; all are counted
WORK_MEMORY = "64MB"  # for sorts and hashes: the default would spill a log of a million events to disk, twice
# Queries read the tables: an index could lack rows. Without statistics the planner would choose nested loops, which
# take hours; JIT compilation of these long conditions takes longer than their evaluation. The settings for texts make
# digests the same in every session.
AS_TABLES = SQL(
    "select set_config(name, 'off', true) from unnest(array['enable_indexscan', 'enable_indexonlyscan',"
    " 'enable_bitmapscan', 'enable_nestloop', 'jit']) name union all"
    " select set_config(name, value, true) from (values ('timezone', 'UTC'), ('datestyle', 'ISO, YMD'),"
    " ('bytea_output', 'hex')) pinned (name, value)"
)

Say = Callable[[int, Invariant], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvariantResult:
    """The result of one invariant."""

    id: str
    description: str
    holds: bool
    found: int  # rows that break it
    rows: tuple[Offending, ...]  # at most MAX_ROWS of these
    seconds: float
    note: str | None = None  # what could not be checked from here, and why


def audit(
    connection: Transaction,
    invariants: Sequence[Invariant],
    *,
    settings: Settings | None = None,
    whole: Sequence[str] = (),
    say: Say = lambda place, invariant: None,
) -> list[InvariantResult]:
    """Check all invariants in one snapshot: concurrent work is not seen and not delayed.

    Takes a connection in autocommit. ``settings`` say where things outside of the database are. ``whole`` are tables
    whose partitions must not be dropped meanwhile. ``say`` is called before each invariant.
    """
    begin_incarnation(connection)
    before = connection.isolation_level
    connection.isolation_level, connection.read_only = IsolationLevel.REPEATABLE_READ, True
    try:
        with connection.transaction():
            _hold(connection, whole)
            pin(connection)
            connection.execute(
                "select set_config('role', %s, true), set_config('statement_timeout', '0', true),"
                " set_config('idle_in_transaction_session_timeout', '0', true), set_config('work_mem', %s, true)",
                (Authority.READER.role, WORK_MEMORY),
            )
            return examine(connection, invariants, settings=settings, say=say)
    finally:
        connection.isolation_level, connection.read_only = before, None


def _hold(connection: Transaction, tables: Sequence[str]) -> None:
    """Before the snapshot is taken: a partition dropped later would be gone, although the snapshot refers to it."""
    for table in tables:
        with contextlib.suppress(psycopg.errors.UndefinedTable), connection.transaction():
            connection.execute(SQL("set local role {}").format(Identifier(Authority.READER.role)))
            connection.execute(SQL("lock table {} in access share mode").format(Identifier(*table.split("."))))


def examine(
    tx: Transaction,
    invariants: Sequence[Invariant],
    *,
    settings: Settings | None = None,
    say: Say = lambda place, invariant: None,
) -> list[InvariantResult]:
    """Check each invariant in the caller's transaction. One whose query fails counts as broken, and stops no other."""
    answered: dict[Query | Built, _Answer] = {}
    results = []
    for place, invariant in enumerate(invariants):
        say(place, invariant)
        begun = time.perf_counter()
        if invariant.query is None:
            answer = _answered(tx, partial(_checked, tx, invariant, settings))
        elif invariant.query in answered:  # its rows were found with those of another one
            answer = answered[invariant.query]
        else:
            answer = answered[invariant.query] = _answered(tx, partial(_queried, tx, invariant.query))
        rows: Sequence[Offending] = answer.rows.get(invariant.id, ())
        if answer.error is not None:
            rows = ({"error": answer.error},)
        results.append(
            InvariantResult(
                id=invariant.id,
                description=invariant.description,
                holds=not rows,
                found=1 if answer.error is not None else answer.found.get(invariant.id, 0),
                rows=tuple(rows),
                seconds=round(time.perf_counter() - begun, 3),
                note=answer.note,
            )
        )
    return results


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """Offending rows by invariant id, and their number; or why there is no answer."""

    rows: dict[str, list[Offending]]
    found: dict[str, int]
    error: str | None = None
    note: str | None = None


def _answered(tx: Transaction, ask: Callable[[], _Answer]) -> _Answer:
    try:
        with tx.transaction(force_rollback=True):  # also resets the settings of the query
            pin(tx)
            return ask()
    except (psycopg.Error, Refusal, ImportError, OSError) as error:
        if tx.broken or tx.closed:  # the connection is gone: that is no result of this invariant
            raise
        message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        return _Answer(rows={}, found={}, error=f"{type(error).__name__}: {message or ' '.join(str(error).split())}")


def _queried(tx: Transaction, query: Query | Built) -> _Answer:
    rows: dict[str, list[Offending]] = {}
    found: dict[str, int] = {}
    tx.execute(AS_TABLES)
    with tx.cursor(row_factory=dict_row) as cursor:
        for row in cursor.execute(_counted(query.sql), prepare=False):
            breaks, count = str(row.pop("breaks")), int(row.pop("found_"))
            del row["place_"]
            rows.setdefault(breaks, []).append(row)
            found[breaks] = count
    return _Answer(rows=rows, found=found)


def _counted(query: SQL) -> Composed:
    # Materialized: planned for all its rows. With a LIMIT around it the planner would expect the first few rows
    # soon and, as there are none, read whole tables row by row.
    return SQL(
        "with offending_ as materialized (\n{query}\n), counted_ as (select o.*, count(*) over of_one as found_,"
        " row_number() over of_one as place_ from offending_ o window of_one as (partition by o.breaks))"
        " select * from counted_ where place_ <= {most} order by breaks, place_"
    ).format(query=query, most=MAX_ROWS)


def _checked(tx: Transaction, invariant: Invariant, settings: Settings | None) -> _Answer:
    rows: list[Offending] = []
    found, note = 0, None
    try:
        for row in _offending(tx, invariant, settings):
            found += 1
            if found <= MAX_ROWS:
                rows.append(row)
    except NotChecked as unseen:
        note = str(unseen)
    return _Answer(rows={invariant.id: rows}, found={invariant.id: found}, note=note)


def _offending(tx: Transaction, invariant: Invariant, settings: Settings | None) -> Iterable[Offending]:
    if invariant.check is not None:
        return invariant.check(tx)
    assert invariant.outside is not None, f"{invariant.id} has no query and no check"
    if settings is None:
        raise NotChecked("No settings were given that say where it is.")
    return invariant.outside(tx, settings)
