"""Error tables: made from the policy, as partitions of ``recoup.error``, each with its archive."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.database.roles import lend_schemas
from recoup.domain import SchemaObject
from recoup.errors.policy import ErrorPolicy, made
from recoup.policy import in_force

Q = load("recoup.errors", "tables.sql")
LATER = load("recoup.errors", "made_later.sql")["made_later"]
GLOBAL_SCHEMA = "public"  # its tables are everybody's: an error there may be about no entity


def is_global(name: str) -> bool:
    return name.startswith(f"{GLOBAL_SCHEMA}.")


def missing(tx: Transaction, policy: ErrorPolicy) -> list[str]:
    """Tables that the policy lists and that a migration has still to make."""
    there = made(tx)
    return [name for name in policy.tables if name not in there]


def ensure(tx: Transaction) -> Iterator[str]:
    """For migrations: make the tables that the policy lists and that are missing. Refuses a name that is taken."""
    policy = in_force(tx).policy[ErrorPolicy]
    wanted = missing(tx, policy)
    lend_schemas(tx, {name.split(".")[0] for name in wanted})
    for name in wanted:
        needs_entity = not is_global(name)
        tx.execute(Q["make"], {"name": name, "insert_only": policy.tables[name].insert_only, "entity": needs_entity})
        yield name


def made_later(tx: Transaction) -> list[SchemaObject]:
    """Tables of somebody's own policy, and the months of all archives: what no schema file has."""
    return tx.execute(LATER, {"shipped": list(ErrorPolicy.shipped().tables)}).fetchall()
