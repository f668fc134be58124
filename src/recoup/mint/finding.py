"""Finding minted identities by id. Changes nothing."""

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.find import Finder, Found, Wanted
from recoup.formatting import timestamp
from recoup.mint.identities import Identity

Q = load("recoup.mint", "mint.sql")


def _look_up(tx: Transaction, wanted: Wanted) -> list[Found]:
    if wanted.ids is None:
        return []
    low, high = wanted.ids
    with tx.cursor(row_factory=class_row(Identity)) as cursor:
        found = cursor.execute(Q["find"], {"low": low, "high": high, "limit": wanted.limit}).fetchall()
    return list(map(_identity, found))


def _identity(one: Identity) -> Found:
    return Found(
        kind="identity",
        id=str(one.sovereign_company_id),
        title=", ".join(part for part in (one.company_name, one.company_domain) if part),
        status=f"MINTED at {timestamp(one.minted_at)} for intake {one.intake_id}",
        next_step=f"recoup gate history {one.intake_id}",
    )


FINDER = Finder(look_up=_look_up)
