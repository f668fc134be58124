"""Error tables: created from the policy, as partitions of ``recoup.error``, each with its archive."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.database.roles import grant_on_schemas
from recoup.domain import SchemaObject
from recoup.errors.policy import ErrorPolicy, is_global, missing
from recoup.health import read
from recoup.policy import active

__all__ = ["ensure", "is_global", "left_out", "made_later", "missing"]
Q = load("recoup.errors", "tables.sql")
LATER = load("recoup.errors", "made_later.sql")["made_later"]


def ensure(tx: Transaction) -> Iterator[str]:
    """For migrations: create the tables that the policy lists and that are missing. Refuses a name that is taken."""
    policy = active(tx).policy[ErrorPolicy]
    wanted = missing(tx, policy)
    grant_on_schemas(tx, {name.split(".")[0] for name in wanted})
    for name in wanted:
        needs_entity = not is_global(name)
        tx.execute(Q["make"], {"name": name, "insert_only": policy.tables[name].insert_only, "entity": needs_entity})
        yield name


def made_later(tx: Transaction) -> list[SchemaObject]:
    """Tables of one's own policy, and the months of all archives: the schema file has none of them."""
    return tx.execute(LATER, {"shipped": list(ErrorPolicy.shipped().tables)}).fetchall()


def left_out(tx: Transaction) -> Iterator[SchemaObject]:
    """Tables of the documents that this database does not have, because its policy has another profile."""
    listed = {str(name) for (name,) in read(tx, "select jsonb_object_keys(recoup.error_policy() -> 'tables')")}
    absent = [tuple(name.split(".")) for name in ErrorPolicy.shipped().tables if name not in listed]
    for schema, table in absent:
        yield from ((schema, 2, table), (schema, 2, f"{table}_archive"))
    yield from (
        (schema, 0, "") for schema in {schema for schema, _ in absent} - {name.split(".")[0] for name in listed}
    )
