"""Finding runs by id. Changes nothing."""

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.find import Finder, Found, Wanted

Q = load("recoup.runs", "runs.sql")


def _look_up(tx: Transaction, wanted: Wanted) -> list[Found]:
    if wanted.ids is None:
        return []
    low, high = wanted.ids
    found = tx.execute(Q["find"], {"low": low, "high": high, "limit": wanted.limit})
    return [
        Found(
            kind="run",
            id=str(run_id),
            title=kind,
            status=status if message is None else f"{status}: {message}",
            next_step=f"recoup runs show {run_id}",
        )
        for run_id, kind, status, message in found
    ]


FINDER = Finder(look_up=_look_up)
