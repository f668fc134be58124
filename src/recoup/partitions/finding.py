"""Finding partitions by their key, a part of it, or the id of a run. Changes nothing."""

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.find import Finder, Found, Wanted
from recoup.partitions.identity import Partition
from recoup.partitions.listing import status_text
from recoup.partitions.selecting import of

Q = load("recoup.partitions", "finding.sql")


def _look_up(tx: Transaction, wanted: Wanted) -> list[Found]:
    low, high = wanted.ids or (None, None)
    given = {"low": low, "high": high, "text": wanted.text, "limit": wanted.limit}
    return [_found(*row) for row in tx.execute(Q["find"], given)]


def _found(
    source: str, customer: str, query: str, day: object, status: str, schedule: str, hold: str | None,
    causes: list[str] | None, message: str | None,
) -> Found:  # fmt: skip
    partition = Partition(source, customer, query, day)  # type: ignore[arg-type]
    text = status_text(status, schedule, hold=hold, causes=causes or ())
    return Found(
        kind="partition",
        id=str(partition),
        title=message,
        status=text,
        next_step=f"recoup state inspect {of(partition)}",
    )


FINDER = Finder(look_up=_look_up)
