"""The background tasks of Gate Zero."""

from datetime import datetime
from functools import lru_cache

from recoup import observe
from recoup.database.connection import Transaction
from recoup.gate import attempts, batches, intake, verifying
from recoup.gate.policy import GatePolicy
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.worker.duty import MAX_BATCH, Duty

MAX_OVERDUE = 100  # batches that the log warns about


def _freeze(tx: Transaction, policy: Policy) -> int:
    overdue = batches.overdue(tx, days=policy[GatePolicy].batch_open_alert_days, limit=MAX_OVERDUE)
    observe.OVERDUE_BATCHES.set(len(overdue))
    for batch, imported_at in overdue:
        _warn_once(batch, imported_at)
    frozen = batches.freeze(tx, limit=MAX_BATCH)
    return len(frozen.batches) + len(frozen.exhausted)


@lru_cache(maxsize=MAX_OVERDUE)
def _warn_once(batch: str, imported_at: datetime) -> None:
    """Once in a worker's lifetime, not every few seconds."""
    observe.logger().warning(
        "batch is not complete; its recoveries are never frozen",
        batch=batch,
        imported_at=imported_at.isoformat(),
        then=f"recoup gate complete {batch}",
    )


DUTIES: tuple[Duty, ...] = (
    Duty(
        name="attempt-sweep",
        authority=Authority.GATE,
        cadence_s=5,
        description="marks verification attempts whose lease expired as crashed",
        batch=lambda tx, _: len(attempts.sweep_crashed(tx, limit=MAX_BATCH)),
        lag=attempts.sweep_lag,
        units=lambda tx: attempts.lapsed(tx, limit=MAX_BATCH),
        one=lambda tx, one: len(attempts.sweep_crashed(tx, only=one)),
    ),
    Duty(
        name="verify",
        authority=Authority.GATE,
        cadence_s=2,
        description="verifies companies that wait for their first attempt",
        flow=lambda hands: verifying.verify(hands, retries=False).done,
        lag=intake.verify_lag,
    ),
    Duty(
        name="gate-retry",
        authority=Authority.GATE,
        cadence_s=5,
        description="verifies failed companies again when their wait has ended",
        flow=lambda hands: verifying.verify(hands, retries=True).done,
        lag=intake.retry_lag,
    ),
    Duty(
        name="batch-freeze",
        authority=Authority.GATE,
        cadence_s=15,
        description="freezes batches at the end of their recovery window, and closes their recoveries",
        batch=_freeze,
        lag=batches.freeze_lag,
        units=lambda tx: batches.closing(tx, limit=MAX_BATCH),
        one=lambda tx, one: len(batches.freeze(tx, only=one).exhausted),
    ),
)
