"""How many errors were recorded, parked and resolved, step by step until now. Changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.listing import known_tables

Q = load("recoup.errors", "metrics.sql")
KINDS = ("recorded", "parked", "resolved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Counts of a table, oldest first; the last step ends now."""

    error_table: str
    recorded: Sequence[int]
    parked: Sequence[int]
    resolved: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trends:
    """Trends of tables, and of these together."""

    step: timedelta
    until: datetime
    overall: Trend
    tables: Sequence[Trend]


def trends(
    tx: Transaction, *, step: timedelta = timedelta(hours=1), steps: int = 24, tables: Sequence[str] = ()
) -> Trends:
    """Trends of every table, or of some."""
    names = known_tables(tx, tables)
    (until, _) = tx.execute(Q["now"]).fetchone() or (None, None)
    given: dict[str, Any] = {"until": until, "since": until - step * steps, "step_s": step.total_seconds()}
    found = {name: {kind: [0] * steps for kind in KINDS} for name in names}
    with tx.cursor(row_factory=dict_row) as cursor:
        for row in cursor.execute(Q["trend"], {**given, "tables": names}, prepare=False):
            for kind in KINDS:
                found[row["error_table"]][kind][steps - 1 - row["place"]] = row[kind]
    total = {kind: [sum(column) for column in zip(*(one[kind] for one in found.values()), strict=True)]
             or [0] * steps for kind in KINDS}  # fmt: skip
    return Trends(
        step=step,
        until=until,
        overall=Trend(error_table="overall", **total),
        tables=[Trend(error_table=name, **one) for name, one in found.items()],
    )


COUNTED = ("recorded", "parked", "exhausted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a background task counted of a table, by step of time, oldest first."""

    error_table: str
    recorded: Sequence[int]
    parked: Sequence[int]
    exhausted: Sequence[int]  # their retries ended because none was left


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Counts of tables, and of these together. What happened since ``counted_at`` is not in them yet."""

    step: timedelta
    until: datetime
    counted_at: datetime | None  # None: no worker counted anything yet
    overall: Counts
    tables: Sequence[Counts]


def counted(
    tx: Transaction, *, step: timedelta = timedelta(hours=1), steps: int = 24, tables: Sequence[str] = ()
) -> Counted:
    """As trends, from the counts of the task ``error-tally``: its cost does not grow with the events. A day at most."""
    names = known_tables(tx, tables)
    (until, _) = tx.execute(Q["now"]).fetchone() or (None, None)
    given: dict[str, Any] = {"until": until, "since": until - step * steps, "step_s": step.total_seconds()}
    found = {name: {kind: [0] * steps for kind in COUNTED} for name in names}
    for name, place, *values in tx.execute(Q["counted"], {**given, "tables": names}):
        for kind, value in zip(COUNTED, values, strict=True):
            found[name][kind][max(0, steps - 1 - place)] += value
    (counted_at,) = tx.execute(Q["counted_at"]).fetchone() or (None,)
    total = {kind: [sum(column) for column in zip(*(one[kind] for one in found.values()), strict=True)]
             or [0] * steps for kind in COUNTED}  # fmt: skip
    return Counted(
        step=step, until=until, counted_at=counted_at, overall=Counts(error_table="overall", **total),
        tables=[Counts(error_table=name, **one) for name, one in found.items()],
    )  # fmt: skip
