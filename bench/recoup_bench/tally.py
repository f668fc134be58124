"""Rows by table and status: what two sides must agree on before their speeds are compared."""

from __future__ import annotations

from collections.abc import Mapping

from psycopg.sql import Identifier

from recoup.database.connection import Transaction
from recoup.database.queries import load

Q = load("recoup_bench", "tally.sql")


def tally(connection: Transaction, schema: str) -> Mapping[str, int]:
    """Gate Zero's rows in one schema."""
    tables = ("gate_zero_intake", "gate_zero_attempt", "gate_zero_recovery", "gate_zero_air")
    rows = connection.execute(Q["gate_zero"].format(**{table: Identifier(schema, table) for table in tables}))
    return dict(rows.fetchall())
