"""Health checks of partitions."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.formatting import duration, plural
from recoup.health import CheckResult, judged, read

OVERDUE = """
select count(*), extract(epoch from recoup.now() - min(s.next_run_at))::float8
  from partitions.schedule s where s.status = 'waiting' and s.next_run_at < recoup.now() - interval '1 hour'
"""
TERMINAL = "select count(*) from partitions.schedule s where s.status = 'terminal'"


def partitions(connection: Transaction) -> Iterator[CheckResult]:
    """Whether due partitions are being dispatched, and how many are given up."""
    wrong = None
    for count, waited in read(connection, OVERDUE):
        if count:
            wrong = f"{plural(count, 'partition')} due for up to {duration(waited)}: no worker extracts them"
    ((terminal,),) = read(connection, TERMINAL)
    found = f"none is overdue; {terminal:,} terminal" if terminal else "none is overdue"
    yield judged("partitions", found, wrong, "Start a worker: recoup worker", verdict="warning")
