"""With a million idle runs, a claim and a sweep read as many rows as they take."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from company import acting, advance
from plans import assert_reads_only, carried_out
from recoup import policy
from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.lifecycles.declaration import Authority
from recoup.runs import orphans, running
from recoup.settings import Settings
from runs.track import HOUR

BIG = ("run", "run_trace")
IDLE = """
alter table recovery.run disable trigger all;
insert into recovery.run (kind, source, status, owner, token, created_at, queued_at, started_at, heartbeat_at,
                          finished_at, ended_with)
select 'k' || i % 5, 's', case i % 10 when 0 then 'queued' else 'succeeded' end, 'x',
       case when i % 10 > 0 then '00000000-0000-0000-0000-000000000001'::uuid end, t.now_, t.now_,
       case when i % 10 > 0 then t.now_ end, case when i % 10 > 0 then t.now_ end, case when i % 10 > 0 then t.now_ end,
       case when i % 10 > 0 then '00000000-0000-0000-0000-000000000001'::uuid end
  from generate_series(1, 1000000) i, (select recoup.now() as now_) t;
insert into recovery.run (kind, source, status, owner, token, created_at, started_at, heartbeat_at)
select 'live', 's', 'running', 'x', gen_random_uuid(), t.now_, t.now_, t.now_ + interval '100 minutes'
  from generate_series(1, 20000) i, (select recoup.now() as now_) t;
insert into recovery.run (kind, source, status, owner, token, created_at, started_at, heartbeat_at)
select 'dead', 's', 'running', 'x', gen_random_uuid(), t.now_, t.now_, t.now_
  from generate_series(1, 20) i, (select recoup.now() as now_) t;
alter table recovery.run enable trigger all;
"""


@pytest.fixture(scope="module")
def crowd(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    with contextlib.closing(connect(server.uri(new_database(), admin=True), settings)) as connection:
        connection.execute("set statement_timeout = 0")
        connection.execute(IDLE)
        connection.execute("vacuum analyze recovery.run")
        advance_by_hours(connection)
        yield connection


def advance_by_hours(tx: Transaction) -> None:
    with tx.transaction():
        advance(tx, 2 * HOUR)


@pytest.mark.parametrize("kept", [False, True])
def test_a_claim_reads_what_it_takes(crowd: Transaction, kept: bool) -> None:
    with carried_out(crowd, kept=kept) as plans:
        with acting(crowd, Authority.RUNNER):
            assert len(running.claim(crowd, kind="k0", limit=10)) == 10
        assert_reads_only(plans.take(), 50, big=BIG)


@pytest.mark.parametrize("kept", [False, True])
def test_a_claim_of_a_kind_without_runs_reads_nothing(crowd: Transaction, kept: bool) -> None:
    with carried_out(crowd, kept=kept) as plans:
        with acting(crowd, Authority.RUNNER):
            assert running.claim(crowd, kind="none", limit=10) == []
        assert_reads_only(plans.take(), 50, big=BIG)


@pytest.mark.parametrize("kept", [False, True])
def test_a_sweep_reads_what_it_marks(crowd: Transaction, kept: bool) -> None:
    with carried_out(crowd, kept=kept) as plans:
        with acting(crowd, Authority.ORPHAN_RECOVERY):
            found = orphans.sweep(crowd, policy.in_force(crowd).policy)
        assert [one.kind for one in found] == ["dead"] * 20
        assert_reads_only(plans.take(), 100, big=BIG)
