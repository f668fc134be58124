"""Finding operations by id. Changes nothing."""

from recoup.database.connection import Transaction
from recoup.find import Finder, Found, Wanted
from recoup.operations.many import Operation, operations_between


def _look_up(tx: Transaction, wanted: Wanted) -> list[Found]:
    if wanted.ids is None:
        return []
    return list(map(_operation, operations_between(tx, *wanted.ids, limit=wanted.limit)))


def _operation(one: Operation) -> Found:
    paused = "" if one.paused is None else f"; paused by {one.paused}"
    waits = one.paused is not None or one.status in ("PAUSED", "STOPPED")
    verb = f'resume operation {one.operation_id} --reason "…"' if waits else f"operations show {one.operation_id}"
    return Found(
        kind="operation",
        id=str(one.operation_id),
        title=f"{one.verb} {one.subject}",
        status=f"{one.status}: {one.done:,} done, {one.refused:,} refused, {one.pending:,} pending{paused}",
        next_step=f"recoup {verb}",
    )


FINDER = Finder(look_up=_look_up)
