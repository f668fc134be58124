"""Finding matches, candidates, incidents, scopes and tasks by id. Changes nothing."""

from typing import Any

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.find import Finder, Found, Wanted

Q = load("recoup.recovery", "finding.sql")


def _look_up(tx: Transaction, wanted: Wanted) -> list[Found]:
    found = [_match(row) for row in _rows(tx, "by_key", {"text": wanted.text, "limit": wanted.limit})]
    if wanted.ids is None:
        return found
    low, high = wanted.ids
    given = {"low": low, "high": high, "limit": wanted.limit}
    found += [_match(row) for row in _rows(tx, "matches", given)]
    found += [
        Found(kind="candidate", id=str(id_), title=action, status=status, next_step=f"recoup recovery show {id_}")
        for id_, action, status in _rows(tx, "candidates", given)
    ]
    found += [
        Found(
            kind="incident", id=str(id_), title=f"{source}: {signature}", status=status,
            next_step=f"recoup recovery matches --incident {id_}",
        )
        for id_, source, status, signature in _rows(tx, "incidents", given)
    ]  # fmt: skip
    found += [
        Found(
            kind="scope", id=str(id_), title=actions, status=status,
            next_step=f"recoup recovery scopes --incident {incident}",
        )
        for id_, actions, status, incident in _rows(tx, "scopes", given)
    ]  # fmt: skip
    return found + [
        Found(
            kind="task", id=str(id_), title=subject, status=f"{status}, of {owner}",
            next_step=f"recoup recovery tasks done {id_}" if status == "open" else "recoup recovery tasks --all",
        )
        for id_, subject, status, owner in _rows(tx, "tasks", given)
    ]  # fmt: skip


def _match(row: Any) -> Found:
    id_, message, status, source = row
    return Found(
        kind="match", id=str(id_), title=f"{source}: {message}", status=status, next_step=f"recoup recovery show {id_}"
    )


def _rows(tx: Transaction, query: str, given: dict[str, Any]) -> list[Any]:
    return tx.execute(Q[query], given, prepare=False).fetchall()  # planned for these values


FINDER = Finder(look_up=_look_up)
