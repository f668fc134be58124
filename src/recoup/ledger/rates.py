"""How many events a log got in each step of time, found by position: the cost does not grow with the log."""

from datetime import datetime, timedelta
from itertools import pairwise

from psycopg.sql import Identifier

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.logs import Log

Q = load("recoup.ledger", "rates.sql")
MAX_COUNT = 5000  # of one step


def events_by_step(
    tx: Transaction, log: Log, *, until: datetime, step: timedelta, steps: int, most: int = MAX_COUNT
) -> list[int]:
    """How many events there were in each of these steps, oldest first; more than ``most`` are not counted.

    The log needs a column ``seq``.
    """
    times = [until - step * place for place in range(steps, -1, -1)]
    named = {"log": Identifier(*log.table.split(".")), "time": Identifier(log.at)}
    found: dict[datetime, int] = dict(tx.execute(Q["positions"].format(**named), {"times": times}).fetchall())
    if not found:
        return [0] * steps
    ends = list(pairwise(found[at] for at in times))
    given = {"lows": [low for low, _ in ends], "highs": [high for _, high in ends], "most": most}
    return [count for (count,) in tx.execute(Q["counted"].format(log=named["log"]), given)]
