"""Partitions, runs and schedules in every situation, brought there by the product's own verbs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from uuid import UUID

from company import acting, advance
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.partitions import control_plane, running
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.identity import Partition
from recoup.partitions.running import Judged, PublishedRun
from recoup.partitions.vocabulary import Lane

CONTROL_PLANE, EXTRACTOR, VALIDATOR = Authority.CONTROL_PLANE, Authority.EXTRACTOR, Authority.VALIDATOR
SINK = UUID("00000000-0000-7000-8000-0000000051c0")
LEASE = timedelta(minutes=5)
PASSING = "connection timed out"  # a message of a failure that may pass
STRUCTURAL = 'column "amount" does not exist'
DAY = date(2025, 12, 31)


@contextmanager
def by_person(tx: Transaction, reason: str = "asked for") -> Iterator[None]:
    """A person acts, with a reason, for the length of the block."""
    settings = {"recoup.actor_kind": "human", "recoup.actor_id": "ann", "recoup.reason": reason}
    before = {name: tx.execute("select current_setting(%s, true)", (name,)).fetchone() for name in settings}
    for name, value in settings.items():
        tx.execute("select set_config(%s, %s, true)", (name, value))
    yield
    for name, found in before.items():
        tx.execute("select set_config(%s, %s, true)", (name, (found or [None])[0] or ""))


def new_partition(tx: Transaction, *, source: str | None = None, lane: Lane = Lane.FRESH) -> int:
    """One of a query of its own, and unless another one is given of a source of its own: nobody else's turn matters."""
    name = uuid.uuid4().hex[:12]
    one = Partition(source or f"source-{name}", "acme", f"orders-{name}", DAY)
    with acting(tx, CONTROL_PLANE):
        (enqueued,) = control_plane.enqueue(tx, [one], lane=lane)
    return enqueued.partition_id


def source_of(tx: Transaction, partition: int) -> str:
    return partition_of(tx, partition).source


def partition_of(tx: Transaction, partition: int) -> Partition:
    row = tx.execute(
        "select source, customer_id, query_name, logical_date from partitions.partition_state where partition_id = %s",
        (partition,),
    ).fetchone()
    assert row is not None
    return Partition(*row)


def dispatched(tx: Transaction, partition: int, *, starts: bool = True) -> Dispatched:
    one = partition_of(tx, partition)
    with acting(tx, CONTROL_PLANE):
        (run,) = control_plane.dispatch(
            tx, limit=1, worker="test-worker", lease=LEASE, served={one.source: [one.query_name]}, starts=starts
        )
    return run


def published_run(run: Dispatched) -> PublishedRun:
    return PublishedRun(run.run_id, run.token, SINK, f"{run.partition}/run_id={run.run_id}", "ab" * 32, "jsonl", 3, 30)


def publish(tx: Transaction, run: Dispatched) -> Dispatched:
    with acting(tx, EXTRACTOR):
        assert running.publish(tx, [published_run(run)]) == {run.run_id}
    return run


def judge(tx: Transaction, run: Dispatched, message: str | None = None) -> str:
    """Accepted, or rejected with this message."""
    verdict = Judged(
        run.run_id, run.token, message is None, None if message is None else "CONTRACT_BROKEN", "not_null", message,
        "contract", "1", "cd" * 32,
    )  # fmt: skip
    with acting(tx, VALIDATOR):
        (became,) = running.judge(tx, [verdict])
    return became


def lose(tx: Transaction, run: Dispatched, reason: str = "EXTRACTOR_ERROR", message: str = "it raised") -> str:
    """lost, released, cap or late."""
    with acting(tx, CONTROL_PLANE):
        found = tx.execute(
            "select statuses from partitions.lose_runs(%s, %s, %s, %s)",
            ([run.run_id], [run.token], [reason], [message]),
        ).fetchone()
    assert found is not None
    return str(found[0][0])


def reject_lost(tx: Transaction, run: Dispatched) -> None:
    with acting(tx, VALIDATOR):
        tx.execute(
            "select partitions.reject_lost(%s, %s, %s, %s, %s)",
            ([run.run_id], [run.token], ["it raised"], ["s"], ["TRANSIENT"]),
        )


def follow(tx: Transaction, partition: int) -> None:
    with acting(tx, CONTROL_PLANE):
        assert control_plane.follow(tx, only=[partition]) == 1


def ask(tx: Transaction, partition: int, verb: str, *, attempts: int = 1, overrides: bool = True) -> str:
    """By a person. A moment passes: two requests are not made at one time."""
    advance(tx, timedelta(seconds=1))
    with by_person(tx), acting(tx, CONTROL_PLANE):
        found = tx.execute(
            "select answers from partitions.ask(%s, %s, %s, null, null, null, null, null, %s)",
            ([partition], verb, attempts, overrides),
        ).fetchone()
    assert found is not None
    return str(found[0][0])


def due(tx: Transaction, partition: int) -> None:
    """Its backoff has passed."""
    advance(tx, timedelta(hours=3))


def succeeded(tx: Transaction, *, follows: bool = True) -> int:
    partition = new_partition(tx)
    assert judge(tx, publish(tx, dispatched(tx, partition))) == "accepted"
    if follows:
        follow(tx, partition)
    return partition


def failed(
    tx: Transaction, message: str = PASSING, *, times: int = 1, follows: bool = True, source: str | None = None
) -> int:
    partition = new_partition(tx, source=source)
    for number in range(times):
        if number:
            due(tx, partition)
        assert judge(tx, publish(tx, dispatched(tx, partition)), message) == "rejected"
        if follows or number < times - 1:
            follow(tx, partition)
    return partition


def lost(tx: Transaction, *, times: int = 1, follows: bool = True, source: str | None = None) -> int:
    partition = new_partition(tx, source=source)
    for number in range(times):
        if number:
            due(tx, partition)
        assert lose(tx, dispatched(tx, partition)) == "lost"
        if follows or number < times - 1:
            follow(tx, partition)
    return partition


def released(tx: Transaction) -> int:
    """Published, its validator gone, and due to be validated again."""
    partition = new_partition(tx)
    assert lose(tx, publish(tx, dispatched(tx, partition)), "VALIDATOR_GONE") == "released"
    follow(tx, partition)
    due(tx, partition)
    return partition


def at_cap(tx: Transaction) -> Dispatched:
    """The last dispatch of a partition of which nothing came."""
    partition = lost(tx, times=4)
    due(tx, partition)
    return dispatched(tx, partition)


def held(tx: Transaction) -> int:
    return failed(tx, STRUCTURAL)


def terminal(tx: Transaction) -> int:
    partition = failed(tx)
    assert ask(tx, partition, "mark") == "asked"
    return partition


def reprocessing(tx: Transaction) -> int:
    """A success that waits to be reprocessed."""
    partition = succeeded(tx)
    assert ask(tx, partition, "reprocess") == "asked"
    return partition


def paused(tx: Transaction, partition: int) -> int:
    """Held as a paused backfill holds."""
    with acting(tx, CONTROL_PLANE):
        tx.execute(
            "update partitions.schedule set status = 'held', hold = 'PAUSED', held_at = t.now_, next_run_at = null,"
            " updated_at = t.now_ from (select recoup.now() as now_) t where partition_id = %s",
            (partition,),
        )
    return partition


def partition_in(tx: Transaction, status: str) -> int:
    makers: dict[str, Callable[[Transaction], int]] = {
        "pending": new_partition, "success": succeeded, "failed": failed,
    }  # fmt: skip
    return makers[status](tx)


def run_of(tx: Transaction, partition: int) -> UUID:
    """Its last run."""
    (run,) = tx.execute(
        "select run_id from partitions.run where partition_id = %s order by number desc limit 1", (partition,)
    ).fetchone() or (None,)
    return UUID(str(run))


def run_in(tx: Transaction, status: str) -> UUID:
    match status:
        case "open":
            return dispatched(tx, new_partition(tx)).run_id
        case "published":
            return publish(tx, dispatched(tx, new_partition(tx))).run_id
    makers: dict[str, Callable[[Transaction], int]] = {"accepted": succeeded, "rejected": failed, "lost": lost}
    return run_of(tx, makers[status](tx))


def schedule_in(tx: Transaction, status: str) -> int:
    if status == "open":
        return dispatched(tx, new_partition(tx)).partition_id
    makers: dict[str, Callable[[Transaction], int]] = {
        "waiting": new_partition, "held": held, "terminal": terminal, "idle": succeeded,
    }  # fmt: skip
    return makers[status](tx)
