"""What workers do for runs in the background."""

from recoup.lifecycles.declaration import Authority
from recoup.runs import orphans
from recoup.worker.duty import MAX_BATCH, Duty

DUTIES: tuple[Duty, ...] = (
    Duty(
        name="orphaned-runs",
        authority=Authority.ORPHAN_RECOVERY,
        cadence_s=15,
        description="marks as crashed every run that is silent, whose worker is gone, or that nobody claims",
        batch=lambda tx, policy: len(orphans.sweep(tx, policy, limit=MAX_BATCH)),
        lag=orphans.lag,
        note=orphans.note,
    ),
)
