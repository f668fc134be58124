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
