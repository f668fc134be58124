"""The funnel: how many companies were imported, passed, recovered, are exhausted or wait; and why attempts failed."""

from collections.abc import Sequence
from dataclasses import dataclass

from recoup.database.connection import Transaction
from recoup.database.queries import load

Q = load("recoup.gate", "reports.sql")
MAX_AMONG = 10_000  # companies of a batch that a page counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """Counts, of one batch or of all. Each company is in exactly one of the five counts after ``came_in``."""

    came_in: int
    passed_at_first: int
    recovered: int  # a retry passed
    waiting_first: int  # PENDING
    waiting_retry: int  # failed, and has attempts left
    exhausted: int
    minted: int
    in_flight: int  # of those that wait: being verified now
    failures: dict[str, int]  # failed attempts by reason, most frequent first


def funnel(tx: Transaction, *, batch_id: str | None = None) -> Funnel:
    """Count everything, or one batch. Reads every row: a report, not a metric."""
    given = {"batch_id": batch_id}
    row = tx.execute(Q["funnel"], given, prepare=False).fetchone()
    assert row is not None
    return _counted(row, tx.execute(Q["failures_by_reason"], given, prepare=False).fetchall())


def funnel_among(tx: Transaction, batch_id: str, *, most: int = MAX_AMONG) -> tuple[Funnel, bool]:
    """Count the first companies of a batch, and whether these are all: what a page reads. The rest is a report."""
    given = {"batch_id": batch_id, "most": most}
    row = tx.execute(Q["funnel_among"], given, prepare=False).fetchone()
    assert row is not None
    *counts, read = row
    found = _counted(counts, tx.execute(Q["failures_among"], given, prepare=False).fetchall())
    return found, read < most


def _counted(row: Sequence[int], failures: Sequence[tuple[str, int]]) -> Funnel:
    came_in, passed, recovered, pending, failed, exhausted, minted, in_flight = row
    return Funnel(
        came_in=came_in,
        passed_at_first=passed,
        recovered=recovered,
        waiting_first=pending,
        waiting_retry=failed,
        exhausted=exhausted,
        minted=minted,
        in_flight=in_flight,
        failures=dict(failures),
    )
