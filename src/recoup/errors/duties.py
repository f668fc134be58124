"""What workers do for errors by themselves."""

from recoup import observe
from recoup.database.connection import Transaction
from recoup.errors import archive, handling, retrying
from recoup.errors.archive import Month
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.worker.duty import MAX_BATCH, Duty


def _archive(tx: Transaction, _: Policy) -> int:
    swept = archive.sweep(tx, limit=MAX_BATCH)
    if swept.was_blocking:
        # As the policy says, but not silently: entities that were held up may move on now, unrepaired.
        observe.EXPIRED_BLOCKING.inc(swept.was_blocking)
        observe.logger().warning(
            "blocking errors expired unrepaired; their entities are free to move on",
            errors=swept.was_blocking,
            then="recoup errors list --archived",
        )
    return swept.gone


def _drop_month(tx: Transaction, only: Month | None = None) -> int:
    dropped = archive.drop_month(tx, only=only)
    if dropped is None:
        return 0
    observe.logger().info(
        "month of an archive dropped", table=dropped.error_table, month=f"{dropped.month:%Y-%m}", errors=dropped.rows,
        digest=dropped.digest.hex(),
    )  # fmt: skip
    return 1


DUTIES: tuple[Duty, ...] = (
    Duty(
        name="error-retry",
        authority=Authority.ERROR_WORKER,
        cadence_s=1,
        description="retries every due error whose hub has a handler here",
        flow=handling.retry_due,
        lag=handling.lag,
    ),
    retrying.RETRIES.expiry(
        name="error-lapse",
        authority=Authority.ERROR_WORKER,
        description="counts as failed every retry of an error that outlived its lease",
    ),
    Duty(
        name="retry-window",
        authority=Authority.ERROR_WORKER,
        cadence_s=15,
        description="parks every error that nobody retried within its window",
        batch=lambda tx, _: retrying.close_windows(tx, limit=MAX_BATCH),
        lag=retrying.window_lag,
        units=lambda tx: retrying.closed_windows(tx, limit=MAX_BATCH),
        one=lambda tx, error: retrying.close_windows(tx, only=error),
    ),
    Duty(
        name="error-archive",
        authority=Authority.ARCHIVER,
        cadence_s=5,
        description="moves every error that is over, or whose time is, to its archive",
        batch=_archive,
        lag=archive.lag,
        units=lambda tx: archive.leaving(tx, limit=MAX_BATCH),
        one=lambda tx, error: archive.sweep(tx, only=error).gone,
    ),
    Duty(
        name="archive-retention",
        authority=Authority.ARCHIVER,
        cadence_s=600,
        description="drops every month of an archive whose retention is over",
        batch=lambda tx, _: _drop_month(tx),
        lag=archive.retention_lag,
        units=archive.months_over,
        one=_drop_month,
    ),
)
