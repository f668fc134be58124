"""Error tables: made from the policy, as partitions of ``recoup.error``, each with its archive."""

from __future__ import annotations

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.database.roles import lend_schemas
from recoup.policy.errors import Errors, ErrorTable

Q = load("recoup.errors", "tables_queries.sql")
GLOBAL_SCHEMA = "public"  # its tables are everybody's: an error there may be about no entity


def is_global(name: str) -> bool:
    return name.startswith(f"{GLOBAL_SCHEMA}.")


def insert_only(table: ErrorTable) -> bool:
    """A table that keeps its errors for ever is a log: nothing in it is ever changed."""
    return table.ttl == "INFINITE"


def missing(tx: Transaction, policy: Errors) -> list[str]:
    """Tables that the policy lists and that a migration has still to make."""
    there = made(tx)
    return [name for name in policy.tables if name not in there]


def made(tx: Transaction) -> dict[str, bool]:
    """The error tables that there are, and whether each was made insert-only."""
    return {str(name): bool(is_log) for name, is_log in tx.execute(Q["made"])}


def make(tx: Transaction, policy: Errors) -> tuple[str, ...]:
    """For migrations: make the tables that are missing. Refuses a name that somebody else has taken."""
    return tuple(_made(tx, policy))


def _made(tx: Transaction, policy: Errors) -> Iterator[str]:
    wanted = missing(tx, policy)
    lend_schemas(tx, {name.split(".")[0] for name in wanted})
    for name in wanted:
        needs_entity = not is_global(name)
        tx.execute(Q["make"], {"name": name, "insert_only": insert_only(policy.tables[name]), "entity": needs_entity})
        yield name
