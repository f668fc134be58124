"""The active policy, cached for each connection: reading it costs a round trip, and parsing it a millisecond."""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from recoup.database.connection import Database, Transaction
from recoup.database.queries import load
from recoup.errors.policy import CategoryRule, ErrorPolicy
from recoup.errors.vocabulary import Category
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.signatures import OwnRule, own_rule

Q = load("recoup.errors", "recording.sql")


class ActivePolicy(NamedTuple):
    """The section on errors of a version of the policy."""

    version: int
    errors: ErrorPolicy
    rules: tuple[OwnRule, ...]  # its category rules, compiled


# A connection stays with one database, so what was read through it stays true of that version.
_kept: WeakKeyDictionary[Any, ActivePolicy] = WeakKeyDictionary()


def cached(tx: Transaction) -> ActivePolicy:
    """The policy last read through this connection. The database checks its version when something is decided by it."""
    found = _kept.get(_connection(tx))
    return found if found is not None else reloaded(tx)


def reloaded(tx: Transaction) -> ActivePolicy:
    """The active policy, read again."""
    row = tx.execute(Q["figures_in_force"]).fetchone()
    assert row is not None, "a migrated database has a policy"
    version, text, is_our_own = row
    found = ActivePolicy(version, *_read(text))
    if is_our_own:
        _kept.pop(_connection(tx), None)
    else:
        _kept[_connection(tx)] = found
    return found


def named_table(database: Database, key: Literal["orphan_table", "fallback_table"]) -> str:
    """The table that the policy names for failures without an entity, or without a table that takes them."""
    with database.transaction(Authority.HUB) as tx:
        errors = cached(tx).errors
    return errors.orphan_table if key == "orphan_table" else errors.fallback_table


def _connection(tx: Transaction) -> Any:
    """What lives as long as the session: of a call by asyncio, the connection behind it."""
    return getattr(tx, "async_connection", tx)


def check_tables(tx: Transaction, names: Iterable[str]) -> None:
    """Refuse a name that is not an error table. The policy is read again first: the table may be new."""
    if not cached(tx).errors.tables.keys() >= set(names):
        policy = reloaded(tx).errors
        for name in names:
            policy.table(name)


@lru_cache(maxsize=20)
def _read(text: str) -> tuple[ErrorPolicy, tuple[OwnRule, ...]]:
    errors = Policy({"errors": json.loads(text)})[ErrorPolicy]
    return errors, _own_rules(errors.category_rules)


def _own_rules(rules: Sequence[CategoryRule]) -> tuple[OwnRule, ...]:
    return tuple(own_rule(Category(rule.category), rule.code, rule.words) for rule in rules)
