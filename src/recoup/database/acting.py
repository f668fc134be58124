"""Several authorities in one transaction, for a login that has them all."""

import contextlib
from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority


@contextlib.contextmanager
def acting_as(tx: Transaction, authority: Authority) -> Iterator[None]:
    """Act as another authority within a transaction, and as the one before afterwards."""
    (before,) = tx.execute("select pg_catalog.current_setting('role')").fetchone() or ("none",)
    tx.execute("select pg_catalog.set_config('role', %s, true)", (authority.role,))
    yield
    # Not after an exception: the transaction is over then, and so is the setting.
    tx.execute("select pg_catalog.set_config('role', %s, true)", (before,))
