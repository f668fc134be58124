"""Duties of the platform itself: detect lost workers, seal logs."""

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.ledger import seals
from recoup.ledger.policy import SealPolicy
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.worker.duty import MAX_BATCH, Duty, seconds
from recoup.worker.policy import WorkerPolicy

Q = load("recoup.worker", "worker.sql")
MAX_SEAL_BLOCKS = 10  # per batch: a backlog is sealed in short transactions


def _lose_silent(tx: Transaction, policy: Policy) -> int:
    given = {"lost_after_s": policy[WorkerPolicy].lost_after_s, "limit": MAX_BATCH}
    return tx.execute(Q["lose_silent"], given).rowcount


def _lag_of_lost_workers(tx: Transaction) -> float | None:
    return seconds(tx, Q["lag_lost_workers"])


DUTIES: tuple[Duty, ...] = (
    Duty(
        name="lost-workers",
        authority=Authority.ORPHAN_RECOVERY,
        cadence_s=10,
        description="declares lost every worker without a heartbeat",
        batch=_lose_silent,
        lag=_lag_of_lost_workers,
    ),
    Duty(
        name="seal",
        authority=Authority.ARCHIVER,
        cadence_s=10,
        description="seals new rows of the logs",
        batch=lambda tx, policy: sum(
            seal.rows for seal in seals.seal(tx, block_rows=policy[SealPolicy].block_rows, max_blocks=MAX_SEAL_BLOCKS)
        ),
        lag=seals.longest_lag,
    ),
)
