"""Keys of the API as rows: how they come into a status, and what moves them."""

from __future__ import annotations

from uuid import UUID

from company import acting
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority

# A prefix and a hash of its own for each.
KEY_COLUMNS = "name, role, prefix, secret_hash, created_by"
KEY_VALUES = (
    "'key ' || g.id, 'viewer', translate(left(replace(g.id::text, '-', ''), 8), '0189', 'abcd'),"
    " sha256(convert_to(g.id::text, 'UTF8')), recoup.acting_id()"
)
_FROM = "from (select gen_random_uuid() as id offset 0) g"
KEY_ROW = f"({KEY_COLUMNS}) select {KEY_VALUES} {_FROM}"
REVOKED_ROW = f"({KEY_COLUMNS}, status, ended_at) select {KEY_VALUES}, 'revoked', recoup.now() {_FROM}"
KEY_MOVES = {
    "active": "status = 'active', ended_at = null, replaced_at = t.now_, expires_at = t.now_ + interval '1 hour'",
    "revoked": "status = 'revoked', ended_at = t.now_",
}


def key_in(tx: Transaction, status: str = "active") -> UUID:
    with acting(tx, Authority.KEY_MANAGER):
        (made,) = tx.execute(f"insert into recoup.api_key {KEY_ROW} returning key_id".encode()).fetchone() or ()
        if status != "active":
            move = f"update recoup.api_key set {KEY_MOVES[status]} from (select recoup.now() as now_) t"
            tx.execute(f"{move} where key_id = %s".encode(), (made,))
    assert isinstance(made, UUID)
    return made
