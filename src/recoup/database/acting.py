"""Several authorities in one transaction, for a login that has them all."""

import contextlib
from collections.abc import Iterator

from recoup.database.connection import Actor, Transaction
from recoup.lifecycles.declaration import Authority


@contextlib.contextmanager
def acting_as(tx: Transaction, authority: Authority) -> Iterator[None]:
    """Act as another authority within a transaction, and as the one before afterwards."""
    (before,) = tx.execute("select pg_catalog.current_setting('role')").fetchone() or ("none",)
    tx.execute("select pg_catalog.set_config('role', %s, true)", (authority.role,))
    yield
    # Not after an exception: the transaction is over then, and so is the setting.
    tx.execute("select pg_catalog.set_config('role', %s, true)", (before,))


@contextlib.contextmanager
def acting_for(tx: Transaction, actor: Actor, reason: str | None) -> Iterator[None]:
    """Act under somebody else's name within a transaction, for what they decided, and as before afterwards."""
    names = ["recoup.actor_kind", "recoup.actor_id", "recoup.reason"]
    before = tx.execute(_SETTINGS, {"names": names}).fetchall()
    tx.execute(_SET, {"names": names, "values": [actor.kind, actor.id, reason or ""]})
    yield
    tx.execute(_SET, {"names": names, "values": [value for (value,) in before]})


_SETTINGS = (
    "select coalesce(pg_catalog.current_setting(n.name, true), '')"
    " from unnest(%(names)s::text[]) with ordinality n (name, place) order by n.place"
)
_SET = (
    "select pg_catalog.set_config(n.name, n.value, true)"
    " from unnest(%(names)s::text[], %(values)s::text[]) n (name, value)"
)
