"""Settings that change what a statement means. A role, a database or a server may have given them to any session."""

from recoup.database.connection import Transaction

# With SET, which looks nothing up: a function set_config of somebody else's may come first on a path.
_PINNED = "; ".join(
    f"set local {name} = {value}"
    for name, value in {
        "search_path": "pg_catalog, pg_temp",
        "datestyle": "ISO",
        "intervalstyle": "postgres",
        "timezone": "'UTC'",
        "quote_all_identifiers": "off",
        "standard_conforming_strings": "on",
        "transform_null_equals": "off",
        "array_nulls": "on",
    }.items()
)


def pin(tx: Transaction) -> None:
    """Until the end of the caller's transaction, statements mean what they say, whatever was set before."""
    tx.execute(_PINNED.encode(), prepare=False)
