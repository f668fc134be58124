"""With hundreds of thousands of idle partitions, the control plane reads as many rows as it takes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial

import pytest

from company import acting
from extraction import LEASE, SINK
from plans import assert_reads_only, carried_out
from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.lifecycles.declaration import Authority
from recoup.partitions import backfilling, control_plane, gaps, listing, pages, requesting, running, select
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.identity import Partition
from recoup.partitions.selecting import EVERYTHING, Days, of
from recoup.settings import Settings

BIG = ("partition_state", "run", "schedule", "attempt", "partition_event")
TABLES = ("partition_state", "run", "schedule")
# 1 to 180,000 succeeded; 20,000 wait for hours; then 40 are due, 20 ended and 20 are lost (both open), 20 are too old.
IDLE = """
create temp table given as
select i, case when i <= 180000 then 'idle' when i <= 200000 then 'wait' when i <= 200040 then 'due'
               when i <= 200060 then 'ended' when i <= 200080 then 'gone' else 'old' end as kind,
       's' || i % 40 as source, gen_random_uuid() as run_id, t.now_
  from generate_series(1, 200100) i, (select recoup.now() as now_) t;
insert into partitions.partition_state (source, customer_id, query_name, logical_date, partition_id, status,
                                        current_run_id, attempt_count, error_message, created_at, updated_at)
select source, 'c' || i, 'q', '2026-01-01', i,
       case kind when 'idle' then 'success' when 'due' then 'pending' when 'gone' then 'pending' else 'failed' end,
       case kind when 'idle' then run_id end, case when kind in ('due', 'gone') then 0 else 1 end,
       case when kind in ('idle', 'due', 'gone') then null else 'm' end, now_, now_ from given;
insert into partitions.run (run_id, partition_id, number, turn, status, lane, pool, reprocesses, worker, token,
                            lease_until, started_with, sink_id, location, manifest_digest, format, rows, bytes, reason,
                            message, error_signature, category, ended_with, policy_version, opened_at, dispatched_at,
                            published_at, ended_at, updated_at)
select run_id, i, 1, i, case kind when 'idle' then 'accepted' when 'gone' then 'open' else 'rejected' end, 'fresh',
       'default', false, 'w', run_id, case kind when 'gone' then now_ - interval '1 minute' end, run_id,
       case when kind <> 'gone' then {sink}::uuid end, case when kind <> 'gone' then 'l' || i end,
       case when kind <> 'gone' then repeat('a', 64) end, case when kind <> 'gone' then 'jsonl' end,
       case when kind <> 'gone' then 1 end, case when kind <> 'gone' then 1 end,
       case when kind in ('wait', 'ended', 'old') then 'R' end, case when kind in ('wait', 'ended', 'old') then 'm' end,
       case when kind in ('wait', 'ended', 'old') then 's' end,
       case when kind in ('wait', 'ended', 'old') then 'TRANSIENT' end, case when kind <> 'gone' then run_id end, 1,
       now_, now_, case when kind <> 'gone' then now_ end, case when kind <> 'gone' then now_ end, now_
  from given where kind <> 'due';
insert into partitions.schedule (partition_id, source, query_name, status, lane, next_run_at, backoff_strategy, run_id,
                                 attempts_seen, first_enqueued_at, first_dispatched_at, aged_from, updated_at)
select i, source, 'q', case kind when 'idle' then 'idle' when 'ended' then 'open' when 'gone' then 'open' else 'waiting'
                       end, case when i % 4 = 0 then 'backfill' else 'fresh' end,
       case kind when 'wait' then now_ + interval '5 hours' when 'due' then now_
                 when 'old' then now_ + interval '1 hour' end,
       'steps', case when kind in ('idle', 'ended', 'gone') then run_id end,
       case when kind in ('idle', 'wait', 'old') then 1 else 0 end, now_, case when kind <> 'due' then now_ end,
       case kind when 'old' then now_ - interval '30 days' when 'due' then null else now_ end, now_ from given;
select setval('partitions.partition_seq', 300000);
"""


@pytest.fixture(scope="module")
def crowd(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    with contextlib.closing(connect(server.uri(new_database(), admin=True), settings)) as connection:
        connection.execute("set statement_timeout = 0")
        for table in TABLES:
            connection.execute(f"alter table partitions.{table} disable trigger all".encode())
        connection.execute(IDLE.replace("{sink}", f"'{SINK}'").encode())
        for table in TABLES:
            connection.execute(f"alter table partitions.{table} enable trigger all".encode())
            connection.execute(f"vacuum analyze partitions.{table}".encode())
        yield connection


CUSTOMERS, CHUNK = 20_000, 50
ONE_DAY = """
insert into partitions.partition_state (source, customer_id, query_name, logical_date, partition_id, status,
                                        attempt_count, error_message, created_at, updated_at)
select 's', 'c' || i, 'q', '2026-01-01', i, case when i % 2 = 0 then 'failed' else 'pending' end, 1 - i % 2,
       case when i % 2 = 0 then 'm' end, t.now_, t.now_
  from generate_series(1, {customers}) i, (select recoup.now() as now_) t;
insert into partitions.schedule (partition_id, source, query_name, lane, next_run_at, backoff_strategy, attempts_seen,
                                 first_enqueued_at, updated_at)
select p.partition_id, p.source, p.query_name, 'backfill', p.created_at, 'steps', p.attempt_count, p.created_at,
       p.created_at
  from partitions.partition_state p;
select setval('partitions.partition_seq', {customers});
"""


@pytest.fixture
def one_day(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """Very many customers of one day, which the server has no statistics of, as in the middle of a large backfill."""
    with contextlib.closing(connect(server.uri(new_database(), admin=True), settings)) as connection:
        for table in ("partition_state", "schedule"):
            connection.execute(
                f"alter table partitions.{table} set (autovacuum_enabled = off); "
                f"alter table partitions.{table} disable trigger all".encode()
            )
        connection.execute(ONE_DAY.replace("{customers}", str(CUSTOMERS)).encode())
        for table in ("partition_state", "schedule"):
            connection.execute(f"alter table partitions.{table} enable trigger all".encode())
        yield connection


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_enqueued_is_looked_up_by_its_key(one_day: Transaction, kept: bool) -> None:
    asked = [Partition("s", f"c{CUSTOMERS - CHUNK // 2 + n}", "q", date(2026, 1, 1)) for n in range(CHUNK)]
    with carried_out(one_day, kept=kept) as plans:
        with acting(one_day, Authority.CONTROL_PLANE):
            found = control_plane.enqueue(one_day, asked)
        assert sum(one.known for one in found) == CHUNK // 2 + 1
        assert_reads_only(plans.take(), 20 * CHUNK, big=BIG)


@pytest.mark.parametrize("kept", [False, True])
def test_a_chunk_of_a_backfill_is_looked_up_by_its_keys(one_day: Transaction, kept: bool) -> None:
    customers = tuple(f"c{CUSTOMERS - CHUNK // 2 + n}" for n in range(CHUNK))
    selection = backfilling.Selection(
        source="s", queries=("q",), customers=customers, first=date(2026, 1, 1), last=date(2026, 1, 1)
    )
    with carried_out(one_day, kept=kept) as plans:
        with acting(one_day, Authority.CONTROL_PLANE):
            backfill = backfilling.start(one_day, selection, reason="history")
            assert backfilling.preview(one_day, selection) != []
            assert not backfilling.plan(one_day, backfill)
            assert {found for found, _, _ in backfilling.left_out(one_day, backfill)} == set()
        assert_reads_only(plans.take(), 20 * CHUNK, big=BIG)


def dispatch(tx: Transaction, limit: int) -> list[Dispatched]:
    with acting(tx, Authority.CONTROL_PLANE):
        return control_plane.dispatch(tx, limit=limit, worker="w", lease=LEASE)


@pytest.mark.parametrize("kept", [False, True])
def test_a_dispatch_reads_what_it_takes(crowd: Transaction, kept: bool) -> None:
    """And a step for each lane and source in which something waits."""
    with carried_out(crowd, kept=kept) as plans:
        assert len(dispatch(crowd, 10)) == 10
        assert_reads_only(plans.take(), 400, big=BIG)


@pytest.mark.parametrize("kept", [False, True])
def test_what_ended_is_followed_without_looking_at_the_rest(crowd: Transaction, kept: bool) -> None:
    with carried_out(crowd, kept=kept) as plans:
        with acting(crowd, Authority.CONTROL_PLANE):
            assert control_plane.follow(crowd, limit=1000) == 20
        assert_reads_only(plans.take(), 150, big=BIG)


@pytest.mark.parametrize("kept", [False, True])
def test_expired_leases_are_found_by_their_time(crowd: Transaction, kept: bool) -> None:
    with carried_out(crowd, kept=kept) as plans:
        with acting(crowd, Authority.CONTROL_PLANE):
            assert len(running.expire(crowd, limit=100)) == 20
        assert_reads_only(plans.take(), 150, big=BIG)


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_too_old_is_found_by_its_age(crowd: Transaction, kept: bool) -> None:
    with carried_out(crowd, kept=kept) as plans:
        with acting(crowd, Authority.CONTROL_PLANE):
            assert crowd.execute("select partitions.give_up_aged(100)").fetchone() == (20,)
        assert_reads_only(plans.take(), 150, big=BIG)


@pytest.mark.parametrize("kept", [False, True])
def test_reports_and_requests_read_their_own_rows(crowd: Transaction, kept: bool) -> None:
    """Published, judged, extended, asked for: each by its key."""
    with carried_out(crowd, kept=kept) as plans:
        runs = dispatch(crowd, 10)
        plans.take()
        with acting(crowd, Authority.CONTROL_PLANE):
            assert len(running.extend(crowd, [(run.run_id, run.token) for run in runs], timedelta(minutes=9))) == 10
        with acting(crowd, Authority.EXTRACTOR):
            published = [
                running.PublishedRun(run.run_id, run.token, SINK, f"run_id={run.run_id}", "0" * 64, "jsonl", 1, 1)
                for run in runs
            ]
            assert len(running.publish(crowd, published)) == 10
        with acting(crowd, Authority.VALIDATOR):
            assert set(running.judge(crowd, [running.Judged(run.run_id, run.token, True) for run in runs])) == {
                "accepted"
            }
        with acting(crowd, Authority.CONTROL_PLANE):
            asked = crowd.execute(
                "select answers from partitions.ask('{180001,180002,180003}', 'retry', 1, null, null, null, null, null,"
                " false)"
            ).fetchone()
        assert asked == (["asked"] * 3,)
        assert_reads_only(plans.take(), 100, big=BIG)


ONE = Partition("s1", "c200001", "q", date(2026, 1, 1))
NEW_YEAR = (date(2025, 12, 15), date(2026, 1, 15))


def customers(tx: Transaction) -> object:
    return pages.customers(tx, "s1", "q", after="c19", limit=60, steps=100)


def cells(tx: Transaction) -> object:
    return pages.cells(tx, "s1", "q", [f"c{1 + 40 * n}" for n in range(60)], *NEW_YEAR)


def all_gaps(tx: Transaction) -> object:
    names = tuple(f"c{180_001 + 40 * n}" for n in range(60))
    return gaps.gaps(tx, select(source="s1", query_name="q", customer_id=names, logical_date=Days(*NEW_YEAR)))


def second_page(tx: Transaction) -> object:
    found = pages.scan(tx, EVERYTHING, limit=50)
    return pages.scan(tx, EVERYTHING, limit=50, after=found.next)


def one(tx: Transaction) -> object:
    partition_id = listing.inspect(tx, of(ONE))[0].partition_id
    assert pages.key(tx, partition_id) == ONE
    pages.overrides_of(tx, partition_id)
    return [requesting.look(tx, requesting.Request(ask=ask), of(ONE)) for ask in requesting.Ask]


# What pages read, and how many rows that may be. Selections are planned for their values.
SHOWN: dict[str, tuple[Callable[[Transaction], object], int]] = {
    "sources and queries": (pages.queries, 200),
    "customers of a query": (customers, 400),
    "the last days": (partial(pages.days, source="s1", query="q"), 10),
    "cells": (cells, 200),
    "gaps": (all_gaps, 60 * 40),
    "a list": (second_page, 200),
    "a list of what failed": (partial(pages.scan, selection=select(status="failed"), limit=50), 25_000),
    "a list of a customer": (partial(pages.scan, selection=select(customer_id="c77"), limit=50), 10),
    "a search in vain": (partial(pages.scan, selection=select(reason="NO_SUCH"), limit=50, window=1000), 1000),
    "a search of a source in vain": (
        partial(pages.scan, selection=select(source="s1", status="pending", reason="NO"), limit=50, window=1000), 1000
    ),
    "one": (one, 40),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_reads_what_it_shows(crowd: Transaction, name: str) -> None:
    what, most = SHOWN[name]
    with carried_out(crowd, kept=False) as plans:
        with acting(crowd, Authority.READER):
            assert what(crowd) not in (None, [])
        assert_reads_only(plans.take(), most, big=BIG)


def test_pages_of_terminal_partitions_read_what_they_show(crowd: Transaction) -> None:
    with carried_out(crowd, kept=False) as plans:
        with acting(crowd, Authority.CONTROL_PLANE):
            assert crowd.execute("select partitions.give_up_aged(100)").fetchone() == (20,)
            plans.take()
            first = listing.terminal(crowd, EVERYTHING, limit=15)
            rest = listing.terminal(crowd, EVERYTHING, limit=15, after=(first[-1].terminal_at, first[-1].partition_id))
        assert len({one.partition_id for one in (*first, *rest)}) == 20
        assert_reads_only(plans.take(), 100, big=BIG)


def test_a_page_of_a_large_backfill_reads_a_sample_of_it(one_day: Transaction) -> None:
    names = tuple(f"c{n + 1}" for n in range(5_000))
    selection = backfilling.Selection(
        source="s", queries=("q",), customers=names, first=date(2026, 1, 1), last=date(2026, 1, 1)
    )
    with carried_out(one_day, kept=False) as plans:
        with acting(one_day, Authority.CONTROL_PLANE):
            backfill = backfilling.start(one_day, selection, reason="history")
            backfilling.plan(one_day, backfill)
            plans.take()
            (shown,) = backfilling.progress(one_day, sample=100)
            assert (shown.planned, shown.waiting) == (5_000, 5_000)
            assert backfilling.members(one_day, backfill, status="left", window=200, after=1_000) == []
            assert len(backfilling.members(one_day, backfill, status="waiting", limit=50)) == 50
        assert_reads_only(plans.take(), 400, big=(*BIG, "backfill_item"))
