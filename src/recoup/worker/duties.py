"""The duties: everything that workers do by themselves, as one list.

A duty does one bounded batch per call, in one transaction under its own authority, and says how many units it did; or,
where it waits for the world, it flows through many.
Duties are safe to run from any number of workers at once: each takes what nobody else holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from recoup import gate, mint, observe
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import archive, handling, retrying
from recoup.gate import verifying
from recoup.gate.verifying import Hands
from recoup.ledger import seals
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy

Q = load("recoup.worker")
BATCH_MOST = 1000
OVERDUE_MOST = 100  # batches that are warned of
SEAL_BLOCKS_MOST = 10  # of one batch: a backlog is sealed in short transactions


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """One thing that workers do by themselves."""

    name: str
    authority: Authority
    cadence_s: float  # looks at least so often; sooner when it is woken
    says: str
    lag: Callable[[Transaction], float | None]  # seconds for which the oldest unit has been waiting; None: none waits
    # One of the two; both return how many units they did. A batch is one transaction. A flow waits for the world
    # between its transactions, and goes on until nothing is left.
    batch: Callable[[Transaction, Policy], int] | None = None
    flow: Callable[[Hands], int] | None = None
    # For a batch that was refused as a whole: its units, and one of them alone, so that one bad row stops only itself.
    units: Callable[[Transaction], Sequence[Any]] | None = None
    one: Callable[[Transaction, Any], int] | None = None


def _freeze(tx: Transaction, policy: Policy) -> int:
    overdue = gate.overdue(tx, days=policy.gate.batch_open_alert_days, limit=OVERDUE_MOST)
    observe.OVERDUE_BATCHES.set(len(overdue))
    for batch, imported_at in overdue:
        _warn_once(batch, imported_at)
    frozen = gate.freeze(tx, limit=BATCH_MOST)
    return len(frozen.batches) + len(frozen.exhausted)


def _archive(tx: Transaction, _: Policy) -> int:
    swept = archive.sweep(tx, limit=BATCH_MOST)
    if swept.was_blocking:
        # As the policy says, but not silently: entities that were held up may move on now, unrepaired.
        observe.EXPIRED_BLOCKING.inc(swept.was_blocking)
        observe.logger().warning(
            "blocking errors expired unrepaired; their entities are free to move on",
            errors=swept.was_blocking,
            then="recoup errors list --archived",
        )
    return swept.gone


def _drop_month(tx: Transaction, _: Policy) -> int:
    dropped = archive.drop_month(tx)
    if dropped is None:
        return 0
    observe.logger().info(
        "month of an archive dropped", table=dropped.error_table, month=f"{dropped.month:%Y-%m}", errors=dropped.rows,
        digest=dropped.digest.hex(),
    )  # fmt: skip
    return 1


@lru_cache(maxsize=OVERDUE_MOST)
def _warn_once(batch: str, imported_at: datetime) -> None:
    """In a worker's life, not every few seconds."""
    observe.logger().warning(
        "batch is not complete; its recoveries are never frozen",
        batch=batch,
        imported_at=imported_at.isoformat(),
        then=f"recoup gate complete {batch}",
    )


def _lose_silent(tx: Transaction, policy: Policy) -> int:
    given = {"lost_after_s": policy.worker.lost_after_s, "limit": BATCH_MOST}
    return tx.execute(Q["lose_silent"], given).rowcount


def _lag_of_lost_workers(tx: Transaction) -> float | None:
    row = tx.execute(Q["lag_lost_workers"]).fetchone()
    return None if row is None or row[0] is None else float(row[0])


DUTIES: tuple[Duty, ...] = (
    Duty(
        name="attempt-sweep",
        authority=Authority.GATE,
        cadence_s=5,
        says="declares crashed every verification attempt that outlived its lease",
        batch=lambda tx, _: len(gate.sweep_crashed(tx, limit=BATCH_MOST)),
        lag=gate.sweep_lag,
        units=lambda tx: gate.lapsed(tx, limit=BATCH_MOST),
        one=lambda tx, intake: len(gate.sweep_crashed(tx, only=intake)),
    ),
    Duty(
        name="verify",
        authority=Authority.GATE,
        cadence_s=2,
        says="looks at every company that waits for its first attempt",
        flow=lambda hands: verifying.verify(hands, retries=False).done,
        lag=gate.verify_lag,
    ),
    Duty(
        name="gate-retry",
        authority=Authority.GATE,
        cadence_s=5,
        says="looks again at every failed company whose wait is over",
        flow=lambda hands: verifying.verify(hands, retries=True).done,
        lag=gate.retry_lag,
    ),
    Duty(
        name="mint",
        authority=Authority.MINT,
        cadence_s=2,
        says="mints an identity for every company that Gate Zero authorised",
        batch=lambda tx, _: mint.mint(tx, limit=BATCH_MOST).events,
        lag=mint.mint_lag,
    ),
    Duty(
        name="batch-freeze",
        authority=Authority.GATE,
        cadence_s=15,
        says="closes the recovery window of every batch whose time has come, and ends its recoveries",
        batch=_freeze,
        lag=gate.freeze_lag,
        units=lambda tx: gate.closing(tx, limit=BATCH_MOST),
        one=lambda tx, intake: len(gate.freeze(tx, only=intake).exhausted),
    ),
    Duty(
        name="error-retry",
        authority=Authority.ERROR_WORKER,
        cadence_s=1,
        says="retries every due error whose hub has a handler here",
        flow=lambda hands: handling.retry_due(hands),
        lag=handling.lag,
    ),
    Duty(
        name="error-lapse",
        authority=Authority.ERROR_WORKER,
        cadence_s=5,
        says="counts as failed every retry of an error that outlived its lease",
        batch=lambda tx, _: retrying.lapse(tx, limit=BATCH_MOST),
        lag=retrying.lapse_lag,
        units=lambda tx: retrying.lapsed(tx, limit=BATCH_MOST),
        one=lambda tx, error: retrying.lapse(tx, only=error),
    ),
    Duty(
        name="retry-window",
        authority=Authority.ERROR_WORKER,
        cadence_s=15,
        says="parks every error that nobody retried within its window",
        batch=lambda tx, _: retrying.close_windows(tx, limit=BATCH_MOST),
        lag=retrying.window_lag,
        units=lambda tx: retrying.closed_windows(tx, limit=BATCH_MOST),
        one=lambda tx, error: retrying.close_windows(tx, only=error),
    ),
    Duty(
        name="error-archive",
        authority=Authority.ARCHIVER,
        cadence_s=5,
        says="moves every error that is over, or whose time is, to its archive",
        batch=_archive,
        lag=archive.lag,
        units=lambda tx: archive.leaving(tx, limit=BATCH_MOST),
        one=lambda tx, error: archive.sweep(tx, only=error).gone,
    ),
    Duty(
        name="archive-retention",
        authority=Authority.ARCHIVER,
        cadence_s=600,
        says="drops every month of an archive whose retention is over",
        batch=_drop_month,
        lag=archive.retention_lag,
    ),
    Duty(
        name="lost-workers",
        authority=Authority.ORPHAN_RECOVERY,
        cadence_s=10,
        says="declares lost every worker that fell silent",
        batch=_lose_silent,
        lag=_lag_of_lost_workers,
    ),
    Duty(
        name="seal",
        authority=Authority.ARCHIVER,
        cadence_s=10,
        says="seals what has settled in the logs",
        batch=lambda tx, policy: sum(
            seal.rows for seal in seals.seal(tx, block_rows=policy.seals.block_rows, blocks_most=SEAL_BLOCKS_MOST)
        ),
        lag=seals.longest_lag,
    ),
)
