"""Partitions of every kind in one database, by the product's own verbs, and a raw sink that has what was accepted."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from lively_recovery import Board

import extraction
from company import acting, advance
from incidents import make_effect, start
from product import PARTS
from recoup import policy
from recoup.database.connection import Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.partitions import backfilling, control_plane, running, sinks
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.identity import Partition
from recoup.partitions.running import PublishedRun
from recoup.partitions.sink import Sink, SinkRefused
from recoup.partitions.vocabulary import Lane
from recoup.recovery.vocabulary import SubjectKind

# Sources whose policy is shorter, so that nobody has to wait for a week.
POLICY = """
[partitions.sources.few]
max_attempts = 2
dispatch_cap = 2
[partitions.sources.young]
max_age_hours = 2
backoff_s = [300]
"""


@dataclass(frozen=True)
class PartitionCast:
    """Which became what."""

    partition_new: int
    partition_success: int  # at the second attempt
    partition_reprocessed: int  # and accepted again
    partition_unreprocessed: int  # and rejected
    partition_failed: int  # waits
    partition_held: int
    partition_spent: int  # as many attempts as the policy allows
    partition_aged: int
    partition_marked: int
    partition_lifted: int  # and it waits again
    partition_lost: int
    partition_released: int  # its validator is gone
    partition_capped: int  # rejected for want of data
    partition_open: int
    partition_published: int
    partition_unfollowed: int
    partition_member: int  # of a backfill, and accepted
    backfill: UUID
    backfill_cancelled: UUID
    run_current: UUID
    run_lost: UUID
    run_published: UUID
    sink: UUID


def play_partitions(database: Database) -> PartitionCast:
    """Accepted, rejected, lost, late; retried, reprocessed, held, given up and asked for again; a sink that was out."""
    sink = _sink(database)
    with database.transaction(Authority.OPERATOR) as tx:
        sinks.register(tx, sink, "default")
        policy.apply(tx, POLICY, PARTS, reason="shorter waits")
    with database.transaction(Authority.CONTROL_PLANE) as tx:
        tx.execute("select partitions.report_sink(%s, 'here', 'full', 'no space')", (sink.sink_id,))
        tx.execute("select partitions.restore_sink(%s, 'here')", (sink.sink_id,))
    _requeued(database, sink)  # before time passes: what recovery has open is evaluated with it
    with _work(database) as tx:
        success = _rejected(tx, sink)
        extraction.due(tx, success)
        _accept(tx, sink, success)
    with _work(database) as tx:
        reprocessed, unreprocessed = _new(tx, sink), _new(tx, sink)
    for partition in (reprocessed, unreprocessed):
        with _work(database) as tx:
            assert extraction.ask(tx, partition, "reprocess") == "asked"
    with _work(database) as tx:
        _accept(tx, sink, reprocessed)
        run = _publish(tx, sink, extraction.dispatched(tx, unreprocessed))
        assert extraction.judge(tx, run, extraction.PASSING) == "rejected"
        extraction.follow(tx, unreprocessed)
    with _work(database) as tx:
        lost, held = extraction.lost(tx, times=2), _rejected(tx, sink, extraction.STRUCTURAL)
        spent = _rejected(tx, sink, source="few", times=2)
        aged = _rejected(tx, sink, source="young")
        advance(tx, timedelta(hours=3))
        assert tx.execute("select partitions.give_up_aged(100)").fetchone() == (1,)
    with _work(database) as tx:
        marked = _rejected(tx, sink)
        assert extraction.ask(tx, marked, "mark") == "asked"
        lifted = _rejected(tx, sink, source="few", times=2)
    with _work(database) as tx:
        assert extraction.ask(tx, lifted, "retry", attempts=2) == "asked"
    with _work(database) as tx:
        capped = extraction.lost(tx, source="few")
        extraction.due(tx, capped)
        last = extraction.dispatched(tx, capped)
        assert extraction.lose(tx, last) == "cap"
        extraction.reject_lost(tx, last)
        extraction.follow(tx, capped)
    with _work(database) as tx:
        released = _released(tx, sink)
        late = _publish(tx, sink, extraction.dispatched(tx, extraction.new_partition(tx)))
        advance(tx, 2 * extraction.LEASE)
        assert extraction.judge(tx, late) == "late"
        assert extraction.lose(tx, late, "SINK_UNAVAILABLE", "no space") == "released"
        extraction.follow(tx, late.partition_id)
    member, backfill, cancelled = _backfills(database, sink)
    with _work(database) as tx:
        unfollowed = extraction.new_partition(tx)
        assert extraction.judge(tx, _publish(tx, sink, extraction.dispatched(tx, unfollowed)), "no") == "rejected"
        published = _publish(tx, sink, extraction.dispatched(tx, extraction.new_partition(tx)))
        open_ = extraction.dispatched(tx, extraction.new_partition(tx), starts=False)
        with acting(tx, Authority.EXTRACTOR):
            assert tx.execute("select partitions.start_run(%s, %s)", (open_.run_id, open_.token)).fetchone() == (
                "started",
            )
        failed = _rejected(tx, sink)
        return PartitionCast(
            partition_new=extraction.new_partition(tx, lane=Lane.BACKFILL), partition_success=success,
            partition_reprocessed=reprocessed, partition_unreprocessed=unreprocessed, partition_failed=failed,
            partition_held=held, partition_spent=spent, partition_aged=aged, partition_marked=marked,
            partition_lifted=lifted, partition_lost=lost, partition_released=released, partition_capped=capped,
            partition_open=open_.partition_id, partition_published=published.partition_id,
            partition_unfollowed=unfollowed, partition_member=member, backfill=backfill,
            backfill_cancelled=cancelled, run_current=extraction.run_of(tx, success),
            run_lost=extraction.run_of(tx, lost), run_published=published.run_id, sink=sink.sink_id,
        )  # fmt: skip


def _requeued(database: Database, sink: Sink) -> None:
    """A terminal partition that recovery asks for again, approved by a person."""
    board = Board(database)
    with _work(database) as tx:
        partition = _rejected(tx, sink, source="few", times=2)
    match = board.failed("given-up", "few", kind=SubjectKind.PARTITION, ref=str(partition))
    board.settle()
    board.scope(match)
    candidate = board.approve(board.candidate(match))
    with _work(database) as tx:  # this one alone
        assert make_effect(tx, start(tx, candidate)) == "made"
    board.settle()
    assert board.one("select verb from partitions.requeue_request where partition_id = %s", partition) == "retry"


def _backfills(database: Database, sink: Sink) -> tuple[int, UUID, UUID]:
    """One whose members succeed, fail, are given up, wait and are left; one that is cancelled."""
    with _work(database) as tx:
        before = [
            control_plane.enqueue(tx, [Partition("history", "acme", query, extraction.DAY)])[0].partition_id
            for query in ("found", "again")
        ]
        for partition in before:
            _accept(tx, sink, partition)
    with _work(database) as tx:
        first = _backfill(tx, "again", reprocess=True)
        _rejects(tx, sink, before[1])
    with _work(database) as tx:
        second = _backfill(tx, "found", "fine", "marked", "waiting")
        members: dict[str, int] = dict(
            tx.execute(
                "select query_name, partition_id from partitions.partition_state where source = 'history'"
            ).fetchall()
        )
        _accept(tx, sink, members["fine"])
        _rejects(tx, sink, members["marked"])
        assert extraction.ask(tx, members["marked"], "mark") == "asked"
    with _work(database) as tx:
        third = _backfill(tx, "unwanted")
        backfilling.cancel(tx, third)
        assert backfilling.settle(tx, third) == 1
        assert backfilling.continue_all(tx, limit=10) > 0  # the first is done
    assert first != second
    return members["fine"], second, third


def _backfill(tx: Transaction, *queries: str, reprocess: bool = False) -> UUID:
    chosen = backfilling.Selection(
        source="history", queries=queries, customers=("acme",), first=extraction.DAY, last=extraction.DAY
    )
    backfill = backfilling.start(tx, chosen, reason="history", reprocess=reprocess)
    assert not backfilling.plan(tx, backfill)
    return backfill


def _rejects(tx: Transaction, sink: Sink, partition: int) -> None:
    run = _publish(tx, sink, extraction.dispatched(tx, partition))
    assert extraction.judge(tx, run, extraction.PASSING) == "rejected"
    extraction.follow(tx, partition)


def _work(database: Database) -> contextlib.AbstractContextManager[Transaction]:
    return database.transaction(Authority.CONTROL_PLANE)


def _sink(database: Database) -> Sink:
    """One for all databases of a server; another process may have made it."""
    root = sinks.folder(database.settings)
    with contextlib.suppress(SinkRefused):
        return Sink.create(root)
    return Sink.open(root)


def _publish(tx: Transaction, sink: Sink, run: Dispatched) -> Dispatched:
    with sink.writing(run.partition, run.run_id) as writer:
        writer.rows([{"order": 1, "amount": 12.5}, {"order": 2, "amount": 1.5}])
    made = sink.publish(writer)
    told = PublishedRun(
        run.run_id, run.token, sink.sink_id, made.location, made.digest, made.manifest.format, made.manifest.rows,
        made.manifest.bytes,
    )  # fmt: skip
    with acting(tx, Authority.EXTRACTOR):
        assert running.publish(tx, [told]) == {run.run_id}
    return run


def _accept(tx: Transaction, sink: Sink, partition: int) -> None:
    assert extraction.judge(tx, _publish(tx, sink, extraction.dispatched(tx, partition))) == "accepted"
    extraction.follow(tx, partition)


def _new(tx: Transaction, sink: Sink) -> int:
    partition = extraction.new_partition(tx)
    _accept(tx, sink, partition)
    return partition


def _rejected(
    tx: Transaction, sink: Sink, message: str = extraction.PASSING, *, source: str | None = None, times: int = 1
) -> int:
    partition = extraction.new_partition(tx, source=source)
    for number in range(times):
        if number:
            extraction.due(tx, partition)
        run = _publish(tx, sink, extraction.dispatched(tx, partition))
        assert extraction.judge(tx, run, message) == "rejected"
        extraction.follow(tx, partition)
    return partition


def _released(tx: Transaction, sink: Sink) -> int:
    partition = extraction.new_partition(tx)
    run = _publish(tx, sink, extraction.dispatched(tx, partition))
    assert extraction.lose(tx, run, "VALIDATOR_GONE", "it hangs") == "released"
    extraction.follow(tx, partition)
    return partition
