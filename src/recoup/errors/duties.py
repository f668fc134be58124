"""What workers do for errors in the background."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from recoup import observe
from recoup.database.connection import Transaction
from recoup.errors import archive, escalation, handlers, handling, metrics, retrying
from recoup.errors.archive import Month
from recoup.errors.handlers import Function
from recoup.errors.subject import SUBJECT
from recoup.lifecycles.declaration import Authority
from recoup.operations import steps, taking_up
from recoup.policy import Policy
from recoup.settings import load
from recoup.worker.duty import MAX_BATCH, Duty

RETRY = "error-retry"


def _archive(tx: Transaction, _: Policy) -> int:
    swept = archive.sweep(tx, limit=MAX_BATCH)
    if swept.was_blocking:
        # As the policy says, but not silently: their entities are no longer blocked, and nothing was fixed.
        observe.EXPIRED_BLOCKING.inc(swept.was_blocking)
        observe.logger().warning(
            "blocking errors expired without being resolved; their entities are no longer blocked",
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


def _unserved(tx: Transaction) -> str | None:
    """Which due tables no handler serves, as far as the settings of this process say."""
    missing = handlers.unserved(tx, handlers.find(load()))
    return f"no handler for {handlers.counted(missing)}" if missing else None


def with_handlers(duties: Sequence[Duty], functions: Mapping[str, Function]) -> tuple[Duty, ...]:
    """The duties, with retries that call these handlers and no others."""
    flow = partial(handling.retry_due, functions=functions)
    return tuple(replace(duty, flow=flow, note=None) if duty.name == RETRY else duty for duty in duties)


DUTIES: tuple[Duty, ...] = (
    Duty(
        name=RETRY,
        authority=Authority.ERROR_WORKER,
        cadence_s=1,
        description="retries every due error of a table that has a handler",
        flow=handling.retry_due,
        lag=retrying.RETRIES.due_lag,
        note=_unserved,
    ),
    retrying.RETRIES.expiry(
        name="error-lapse",
        authority=Authority.ERROR_WORKER,
        description="counts as failed every retry whose lease expired without a result",
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
        name="error-escalation",
        authority=Authority.ERROR_WORKER,
        cadence_s=15,
        description="raises every parked error to the tier that is due, and marks every review that is overdue",
        batch=lambda tx, _: sum(escalation.raise_tiers(tx, limit=MAX_BATCH)),
        lag=escalation.lag,
        units=lambda tx: escalation.due(tx, limit=MAX_BATCH),
        one=lambda tx, error: sum(escalation.raise_tiers(tx, only=error)),
    ),
    Duty(
        name="error-archive",
        authority=Authority.ARCHIVER,
        cadence_s=5,
        description="moves every closed or expired error to its archive",
        batch=_archive,
        lag=archive.lag,
        units=lambda tx: archive.leaving(tx, limit=MAX_BATCH),
        one=lambda tx, error: archive.sweep(tx, only=error).gone,
    ),
    Duty(
        name="archive-retention",
        authority=Authority.ARCHIVER,
        cadence_s=600,
        description="drops every month of an archive whose retention has ended",
        batch=lambda tx, _: _drop_month(tx),
        lag=archive.retention_lag,
        units=archive.months_over,
        one=_drop_month,
    ),
    Duty(
        name="error-tally",
        authority=Authority.ERROR_WORKER,
        cadence_s=15,
        description="counts what happened to errors, by five minutes, for their metrics",
        batch=lambda tx, _: metrics.tally(tx),
        lag=metrics.tally_lag,
    ),
    steps.duty(
        SUBJECT,
        name="error-canary",
        description="continues every operation over errors that has a canary, while its outcomes are good",
    ),
    taking_up.duty(SUBJECT, name="error-operations"),
)
