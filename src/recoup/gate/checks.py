"""Health checks of Gate Zero."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.health import CheckResult, judged, read


def batches(connection: Transaction) -> Iterator[CheckResult]:
    """A batch that is not completed is never frozen."""
    found = read(
        connection,
        "select batch_id, imported_at from cl.gate_zero_batch where completed_at is null and imported_at <= ("
        " select recoup.now() - make_interval(hours => 24 * (figures -> 'gate' ->> 'batch_open_alert_days')::integer)"
        "   from recoup.policy order by version desc limit 1) order by imported_at limit 1",
    )
    wrong = next_step = None
    for batch, imported_at in found:
        wrong = f"batch {batch}, imported {imported_at:%Y-%m-%d}, is not complete, so it is never frozen"
        next_step = f"When all its rows are imported: recoup gate complete {batch}"
    yield judged("batches", "no batch has been open for long", wrong, next_step or "", verdict="warning")
