"""Work grows with what is asked and not with what lies idle, in any order of calls.

A plan made for one row and kept is ruinous for a hundred thousand, and the other way round. A session here lives
through both. The guard against work that grows with the square is the statement timeout: a statement over a hundred
thousand rows takes a few seconds when its work is linear, and does not end when it is not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from company import acting
from plans import assert_reads_only as reads_only
from plans import carried_out, handled, nodes
from recoup import gate, ledger, mint
from recoup.database import embedded, pool
from recoup.database.connection import Database, Transaction, connect
from recoup.ledger.subscriptions import SHORT_WINDOW_ROWS, Log
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
from desk import Desk, outcome
from documents import QUERIES, runnable

TABLES = ("batch", "intake", "attempt", "recovery", "air")
DAY = timedelta(days=1)
HUGE = 100_000
TIMEOUT_MS = 60_000
WORN = 12  # the driver prepares a statement at its sixth use, the server may keep its plan from the eleventh on


# One session, few rows and many -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Session:
    """A desk whose every transaction runs in the same session, as in a worker that runs for weeks."""

    desk: Desk
    admin: Transaction

    def analyze(self) -> None:
        """What autovacuum does at times of its own, here at a time that is the same in every run."""
        self.admin.execute("analyze")

    def bound(self, timeout: str) -> None:
        """Bound every statement of the session from here on: by a cursor of which the connection does not know."""
        with self.desk.db.transaction(Authority.READER) as tx:
            psycopg.Cursor(tx).execute("select set_config('statement_timeout', %s, false)", (timeout,))
        assert self.desk.rows("show statement_timeout") == [(timeout,)]


@pytest.fixture
def session(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    name = new_database()
    monkeypatch.setattr(pool, "UNUSED_S", float("inf"))  # all authorities share the one connection
    settings = dataclasses.replace(settings, pool_max=1, statement_timeout_ms=TIMEOUT_MS)
    with (
        contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin,
        Database(server.uri(name), settings) as database,
    ):
        for table in TABLES:
            admin.execute(f"alter table cl.gate_zero_{table} set (autovacuum_enabled = off)")
        desk = Desk(database)
        before = desk.rows("select pg_backend_pid()")
        yield Session(desk, admin)
        assert desk.rows("select pg_backend_pid()") == before


def open_raw(desk: Desk, intakes: list[UUID]) -> None:
    with desk.db.transaction(Authority.GATE) as tx:
        tx.execute(
            "insert into cl.gate_zero_attempt (intake_id, batch_id, attempt_number, worker, opened_at, lease_until)"
            " select intake_id, batch_id, 1, 'raw', recoup.now(), recoup.now() + interval '5 minutes'"
            " from cl.gate_zero_intake where intake_id = any(%s)",
            (intakes,),
            prepare=False,  # what is tried is what hangs on the tables, not the plan of this statement
        )


def fail_raw(desk: Desk, intakes: list[UUID]) -> None:
    with desk.db.transaction(Authority.GATE) as tx:
        tx.execute(
            "update cl.gate_zero_attempt set status = 'failed', reason_code = 'TIMEOUT', ended_with = token,"
            " finished_at = opened_at + interval '1 microsecond' where intake_id = any(%s) and status = 'open'",
            (intakes,),
            prepare=False,
        )


def live(desk: Desk, size: int) -> None:
    """Everything that can happen to a set of intakes, each step in one statement over all of them.

    Opened and failed by plain SQL; half of them saved by a retry, half failed again; of those, half spend their third
    attempt on a worker that dies, and the window closes over the rest.
    """
    batch = desk.batch()
    intakes = desk.intakes(size, batch_id=batch)
    open_raw(desk, intakes)
    fail_raw(desk, intakes)

    desk.advance(DAY)
    attempts = desk.open_all(intakes)
    saved, failed = attempts[1::2], attempts[::2]
    desk.report(
        *(outcome(attempt, None) for attempt in saved), *(outcome(attempt, ReasonCode.TIMEOUT) for attempt in failed)
    )
    crashing = [attempt.intake_id for attempt in failed[1::2]]
    closing = [attempt.intake_id for attempt in failed[::2]]

    desk.advance(3 * DAY)
    desk.open_all(crashing)
    desk.complete(batch)
    desk.advance(timedelta(hours=1))
    assert len(desk.sweep(limit=HUGE)) == len(crashing)
    desk.advance(14 * DAY)
    assert len(desk.freeze(limit=HUGE).exhausted) == len(closing)
    told = desk.rows(
        "select status, count(*) from cl.gate_zero_intake where batch_id = %s and reentered_from is null group by 1",
        batch,
    )
    assert dict(told) == {
        status: len(those)
        for status, those in (("REENTER_SUCCEEDED", saved), ("EXHAUSTED", crashing + closing))
        if those
    }


def rows_read(tx: Transaction) -> dict[str, int]:
    """Rows that this session has read, along indexes as well; only differences within a transaction mean anything."""
    return dict(
        tx.execute(
            "select relid::regclass::text, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)"
            " from pg_stat_xact_user_tables where schemaname = 'cl'"
        ).fetchall()
    )


def test_a_session_that_served_single_rows_serves_a_hundred_thousand(session: Session) -> None:
    """One, a thousand, a hundred thousand, and one again, by the library's verbs and by plain SQL.

    As on the first day of a new database: the hundred thousand come before autovacuum has looked at any table.
    """
    for _ in range(WORN):
        for size in (1, 2, 4):
            live(session.desk, size)
    live(session.desk, 1_000)
    live(session.desk, HUGE)
    session.analyze()
    assert_single_rows_read_little(session.desk)


def test_statistics_of_quiet_days_mislead_nobody(session: Session) -> None:
    """Analysed when nothing was open or active, the tables seem to have no such rows; then thousands come at once.

    Afterwards the same session serves single rows: a plan made for many would scan whole tables for one ever after.
    """
    session.bound("20s")
    live(session.desk, 1_000)
    session.analyze()
    live(session.desk, 20_000)
    session.analyze()
    assert_single_rows_read_little(session.desk)


def test_what_ends_together_is_not_compared_with_each_other(session: Session) -> None:
    """Leases that lapse, and windows that close, over thousands at once: work grows with them, and not with its square.

    The tables were never analysed, so that nothing tells the planner how many of them end.
    """
    size = 2_000
    desk, batch = session.desk, session.desk.batch()
    intakes = desk.intakes(size, batch_id=batch)
    for wait in (DAY, 3 * DAY):
        desk.report(*(outcome(attempt, ReasonCode.TIMEOUT) for attempt in desk.open_all(intakes)))
        desk.advance(wait)
    desk.open_all(intakes[: size // 2])
    desk.complete(batch)
    for wait, end in ((DAY, gate.sweep_crashed), (14 * DAY, gate.freeze)):
        desk.advance(wait)
        with carried_out(session.admin, kept=False) as plans, acting(session.admin, Authority.GATE):
            end(session.admin, limit=size)
            assert max(handled(node) for plan in plans.take() for node in nodes(plan["Plan"])) <= 10 * size
        with desk.db.transaction(Authority.GATE) as tx:
            end(tx, limit=size)


def assert_single_rows_read_little(desk: Desk) -> None:
    """Single attempts, opened and ended many times over, to the last: no table is read as a whole for any of them."""
    ((size,),) = desk.rows("select count(*) from cl.gate_zero_intake")
    assert size > 10_000
    batch = desk.batch()
    for number in range(WORN):
        intake = desk.intake(batch_id=batch)
        for wait in (DAY, 3 * DAY, None)[: 2 if number % 2 else 3]:
            with desk.db.transaction(Authority.GATE) as tx:
                before = rows_read(tx)
                (attempt,) = gate.open_attempts(tx, [intake], worker="one")
                reason = None if attempt.attempt_number == 2 and number % 2 else ReasonCode.TIMEOUT
                gate.finish_attempts(tx, [outcome(attempt, reason)])
                after = rows_read(tx)
            read = {table: after[table] - before.get(table, 0) for table in after}
            # The batches are few; a scan of them is cheaper than their index.
            assert {t: n for t, n in read.items() if n > 100 and t != "cl.gate_zero_batch"} == {}
            if wait is not None:
                desk.advance(wait)


# Plans over idle rows -----------------------------------------------------------------------------------------------

IDLE = 1_000_000
BATCHES = 3_000
IN_FLIGHT = 2_000
LAPSED = CLOSING = WAITING = 40
PAGE = 100
LOGGED = IDLE // 8 * 3 + 2 * IN_FLIGHT  # the last intakes, whose events make as many rows as there are intakes
BEGUN = IDLE - LOGGED
PER_TRANSACTION = 100  # intakes whose events one transaction wrote

BIG = (
    "cl.sovereign_mint_air", "cl.company_identity", "cl.gate_zero_air", "cl.gate_zero_recovery",
    "cl.gate_zero_attempt", "cl.gate_zero_intake", "cl.gate_zero_batch", "cl.gate_zero_evidence",
)  # fmt: skip

# Six kinds of intakes, by number: authorised; waiting; exhausted long ago; saved; being verified (the last few; before
# them authorised); authorised. All of it happened in the past year, in the order of its numbers. Ids are numbers too:
# drawing millions of random ones would take longer than all the rest. Each intake has a recovery, also those that never
# failed, so that this table is as large as the others.
FILL = f"""
create temporary table n as
select g as n, lpad(to_hex(g), 32, '0')::uuid as id,
       case when g % 6 = 4 and g <= {IDLE - 6 * IN_FLIGHT} then 0 else g % 6 end as kind,
       'batch-' || lpad((g::bigint * {BATCHES} / {IDLE + 1})::text, 4, '0') as batch_id,
       now() - interval '8640 hours' + g * (interval '8638 hours' / {IDLE}) as at
  from generate_series(1, {IDLE}) g;

insert into cl.gate_zero_batch (batch_id, imported_at, completed_at, batch_freeze_at, frozen_at,
                                policy_version)
select 'batch-' || lpad(b::text, 4, '0'), now() - interval '400 days', now() - interval '390 days',
       now() - interval '376 days', now() - interval '376 days', 1
  from generate_series(0, {BATCHES} - 1) b;
insert into cl.gate_zero_batch (batch_id, imported_at) values ('open', now() - interval '20 days');
insert into cl.gate_zero_batch (batch_id, imported_at, completed_at, batch_freeze_at,
                                policy_version)
values ('2025_annual_outreach', now() - interval '20 days', now() - interval '15 days', now() - interval '1 day', 1);

insert into cl.gate_zero_intake (intake_id, batch_id, company_name, status, created_at, updated_at)
select id, case kind when 1 then 'open' else batch_id end, 'Idle ' || n,
       (array['AUTHORIZED', 'FAILED', 'EXHAUSTED', 'REENTER_SUCCEEDED', 'PENDING', 'AUTHORIZED'])[kind + 1], at, at
  from n;

insert into cl.gate_zero_attempt (attempt_id, intake_id, batch_id, attempt_number, status, reason_code, worker, token,
                                  opened_at, lease_until, finished_at, policy_version)
select id, id, batch_id, 1, (array['passed', 'failed', 'failed', 'failed', 'open', 'passed'])[kind + 1],
       case when kind in (1, 2, 3) then 'TIMEOUT' end, 'w', id, case kind when 4 then now() else at end,
       case kind when 4 then now() + interval '1 hour' else at + interval '1 minute' end,
       case when kind <> 4 then at + interval '1 second' end, 1
  from n;

insert into cl.gate_zero_evidence (attempt_id, check_number, check_name, finding, message, duration_ms, recorded_at)
select id, 1, 'dns', 'passed', 'm', 1, at from n where n % 5 = 0;

insert into cl.gate_zero_recovery (recovery_id, intake_id, batch_id, failure_reason, attempt_count, next_eligible_at,
                                   status, created_at, updated_at)
select id, id, case kind when 1 then 'open' else batch_id end, 'TIMEOUT', 1,
       case kind when 1 then now() + interval '1 hour' + n * interval '1 second' else recoup.never() end,
       (array['SUCCEEDED', 'ACTIVE', 'EXHAUSTED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'])[kind + 1], at, at
  from n;

-- The transactions before this one have written the log.
insert into cl.gate_zero_air (air_event_id, entity_id, event_type, reason_code, event_timestamp, seq, xid, incarnation,
                              attempt_id, actor_id, authority)
select lpad(to_hex(3 * n + step), 32, '0')::uuid, id, event_type, reason_code, at + step * interval '1 microsecond',
       3 * n + step, (own - 1 - ({IDLE} - n) / {PER_TRANSACTION})::text::xid8, 1, id, 'w', 'recoup_gate'
  from n
  join (values (0, 0, 'ATTEMPT', 'START'), (0, 1, 'PASS', 'CHECKS_PASSED'), (0, 2, 'AUTH', 'EXISTENCE_CONFIRMED'),
               (5, 0, 'ATTEMPT', 'START'), (5, 1, 'PASS', 'CHECKS_PASSED'), (5, 2, 'AUTH', 'EXISTENCE_CONFIRMED'),
               (1, 0, 'ATTEMPT', 'START'), (1, 1, 'FAIL', 'TIMEOUT'),
               (2, 0, 'ATTEMPT', 'START'), (2, 1, 'FAIL', 'TIMEOUT'), (2, 2, 'EXHAUSTED', 'RECOVERY_WINDOW_CLOSED'),
               (3, 0, 'ATTEMPT', 'START'), (3, 1, 'FAIL', 'TIMEOUT'), (4, 0, 'ATTEMPT', 'START')
       ) as e (kind, step, event_type, reason_code) using (kind),
       (select pg_current_xact_id()::text::bigint as own) t
 where n.n > {BEGUN};

-- What the log tells of was minted, but for the beginning: there is something left to be minted.
insert into cl.company_identity (sovereign_company_id, intake_id, company_name, minted_at)
select id, id, 'Idle ' || n, at from n where kind in (0, 5) and n > {BEGUN + 1000};
insert into cl.sovereign_mint_air (air_event_id, entity_id, payload_ref, actor, event_timestamp, seq, xid, incarnation,
                                   sovereign_company_id, actor_id, authority)
select intake_id, intake_id, 'company:' || intake_id, 'system', minted_at, -row_number() over (), '1000', 1,
       sovereign_company_id, 'w', 'recoup_mint'
  from cl.company_identity;
select setval('recoup.event_seq', {3 * IDLE + 3});

-- What is not idle: recoveries that are due, recoveries of a closed window, attempts whose lease lapsed, and intakes
-- that wait behind all that are being verified.
create temporary table few as
select g as n, recoup.new_id() as id, (array['due', 'closing', 'lapsed', 'exhausted', 'waiting'])[1 + g % 5] as kind,
       now() - case g % 5 when 4 then interval '1 hour' else interval '2 days' end + g * interval '1 second' as at
  from generate_series(1, 5 * {CLOSING}) g;
insert into cl.gate_zero_intake (intake_id, batch_id, company_name, status, created_at, updated_at)
select id, case kind when 'closing' then '2025_annual_outreach' when 'exhausted' then '2025_annual_outreach' end,
       'Busy ' || n, case when kind in ('lapsed', 'waiting') then 'PENDING' when kind = 'exhausted' then 'EXHAUSTED'
                          else 'FAILED' end, at, at
  from few;
insert into cl.gate_zero_attempt (intake_id, attempt_number, worker, opened_at, lease_until)
select id, 1, 'w', at, at + interval '1 minute' from few where kind = 'lapsed';
insert into cl.gate_zero_attempt (intake_id, batch_id, attempt_number, status, reason_code, worker, opened_at,
                                  lease_until, finished_at)
select id, case when kind <> 'due' then '2025_annual_outreach' end, 1, 'failed', 'TIMEOUT', 'w', at,
       at + interval '1 minute', at + interval '1 second'
  from few where kind in ('due', 'closing', 'exhausted');
insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason, attempt_count, next_eligible_at, status,
                                   created_at, updated_at)
select id, case when kind <> 'due' then '2025_annual_outreach' end, 'TIMEOUT', 1,
       case kind when 'due' then at + interval '1 day' else now() + interval '1 hour' end,
       case kind when 'exhausted' then 'EXHAUSTED' else 'ACTIVE' end, at, at
  from few where kind in ('due', 'closing', 'exhausted');
drop table n, few;
"""


def fill(admin: Transaction) -> None:
    """Fill the tables, fast: no triggers, no WAL, and every index is built once at the end."""
    indexes = (
        "select count(*), bool_and(indisvalid and indisready)"
        " from pg_index join pg_class c on c.oid = indrelid where c.relnamespace = 'cl'::regnamespace"
    )
    for setting in ("synchronous_commit = off", "maintenance_work_mem = '1GB'", "jit = off"):
        admin.execute(f"set {setting}")
    before = admin.execute(indexes).fetchone()
    transactions = LOGGED // PER_TRANSACTION + 100
    admin.execute(
        f"do $$ begin for i in 1 .. {transactions} loop perform pg_current_xact_id(); commit; end loop; end $$"
    )
    with admin.transaction():
        admin.execute("set local session_replication_role = replica")  # foreign keys: what is filled in is right
        for table in BIG:
            admin.execute(f"alter table {table} set unlogged, disable trigger user")
            admin.execute("update pg_index set indisready = false where indrelid = %s::regclass", (table,))
        admin.execute(FILL)
        for table in BIG:
            admin.execute(f"reindex table {table}")
            for (name,) in admin.execute(
                "select tgname from pg_trigger where tgrelid = %s::regclass and not tgisinternal", (table,)
            ).fetchall():
                fires = "replica" if name == "a_refuse_replicated" else "always"
                admin.execute(f"alter table {table} enable {fires} trigger {name}")
    assert admin.execute(indexes).fetchone() == before
    admin.execute(f"vacuum (analyze) {', '.join(BIG)}")
    for setting in ("synchronous_commit", "maintenance_work_mem", "jit"):
        admin.execute(f"reset {setting}")


@pytest.fixture(scope="module")
def crowded(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """A superuser's connection to a database in real time that holds a year's rows, nearly all of them idle."""
    settings = dataclasses.replace(settings, statement_timeout_ms=0)
    with contextlib.closing(connect(server.uri(new_database(simulated_from=None), admin=True), settings)) as admin:
        fill(admin)
        yield admin


def assert_reads_only(found: list[dict[str, Any]], most: int) -> None:
    """None of Gate Zero's large tables is scanned as a whole; nothing larger than asked is sorted or handled."""
    reads_only(found, most, big=[table.removeprefix("cl.") for table in BIG])


def test_the_rows_are_there(crowded: Transaction) -> None:
    """The tests below mean nothing over small tables, nor without what hangs on them."""
    believed: dict[str, int] = dict(
        crowded.execute("select oid::regclass::text, reltuples::int from pg_class where relkind = 'r'").fetchall()
    )
    for table in BIG[2:-2]:
        assert believed[table] == pytest.approx(IDLE, rel=0.01), table
    for table in (*BIG[:2], BIG[-1]):
        assert believed[table] > 0.15 * IDLE, table
    assert believed["cl.gate_zero_batch"] > BATCHES
    off = crowded.execute(
        "select tgname from pg_trigger where tgrelid = any(%s::regclass[]) and not tgisinternal"
        " and tgenabled not in ('A', 'R')",
        (list(BIG),),
    ).fetchall()
    assert off == []


KEPT = pytest.mark.parametrize("kept", [False, True], ids=["made for it", "kept"])


@KEPT
@pytest.mark.parametrize("name", QUERIES)
def test_printed_queries_read_what_they_return(crowded: Transaction, name: str, kept: bool) -> None:
    """Without a sequential scan, and without a sort of more than the answer."""
    (intake,) = crowded.execute(
        "select entity_id from cl.gate_zero_air where event_type = 'EXHAUSTED' limit 1"
    ).fetchone() or (None,)
    (last,) = crowded.execute(
        "select event_timestamp from cl.gate_zero_air where event_type = 'AUTH' order by event_timestamp desc"
        " offset 50 limit 1"
    ).fetchone() or (None,)
    with carried_out(crowded, kept=kept) as plans, acting(crowded, Authority.READER):
        plans.take()
        given = {"intake_id": intake, "last_processed_timestamp": last}
        answer = len(crowded.execute(runnable(QUERIES[name]), given).fetchall())
        (found,) = plans.take()
    assert answer > 0
    assert (answer < IDLE / 100) == (name != "authorization subscription")
    if name == "authorization subscription":  # asks for all of them: the index has them in order
        assert [node["Node Type"] for node in nodes(found["Plan"])] in (["Index Scan"], ["Index Only Scan"])
    assert_reads_only([found], answer)


class Asked(NamedTuple):
    """What the library is asked for, by whom, and how many rows may be looked at for it in one place."""

    authority: Authority
    what: Callable[[Transaction], object]
    most: int


def verified(tx: Transaction, *, limit: int) -> list[gate.Finished]:
    """First attempts, claimed and ended with evidence."""
    found = [gate.Evidence("dns", "passed", "m"), gate.Evidence("state", "state-none", "m")]
    claimed = gate.claim_attempts(tx, limit=limit, worker="w", retries=False)
    return gate.finish_attempts(tx, [outcome(attempt, evidence=found) for attempt in claimed])


def histories(tx: Transaction, *, limit: int) -> list[gate.CheckResult]:
    """What happened to some intakes, and what their checks found."""
    asked = [
        row[0]
        for row in tx.execute("select attempt_id from cl.gate_zero_evidence order by attempt_id limit %s", (limit,))
    ]
    gate.history(tx, asked)
    return gate.evidence(tx, asked)


def companies(tx: Transaction, **asked: Any) -> gate.Scanned:
    """A page, and the one after it."""
    found = gate.scan_intakes(tx, **asked)
    assert found.next is not None
    return gate.scan_intakes(tx, after=found.next, **asked)


def company(tx: Transaction) -> list[gate.AttemptMade]:
    """What a page shows of a company."""
    found = gate.exhausted(tx, limit=1)[0].intake_id
    gate.followers(tx, found)
    mint.identities_of(tx, [found])
    return gate.attempts_on(tx, [found])


BUSY = IN_FLIGHT + LAPSED + WAITING  # intakes that are PENDING; a claim passes over those that are being verified
EVENTS = 5  # that an intake may have, or that an attempt may come to
ASKED = {
    "what is due": Asked(Authority.GATE, partial(gate.eligible, limit=PAGE), CLOSING),
    "what is due, a few": Asked(Authority.GATE, partial(gate.eligible, limit=10), CLOSING),
    "claim retries": Asked(Authority.GATE, partial(gate.claim_attempts, limit=1000, worker="w", retries=True), CLOSING),
    "claim first attempts": Asked(
        Authority.GATE, partial(gate.claim_attempts, limit=1000, worker="w", retries=False), BUSY
    ),
    "claim, and report with evidence": Asked(Authority.GATE, partial(verified, limit=WAITING), BUSY),
    "histories with evidence": Asked(Authority.READER, partial(histories, limit=PAGE), EVENTS * PAGE),
    "what lapsed": Asked(Authority.GATE, partial(gate.lapsed, limit=1000), LAPSED),
    "what lapsed, a few": Asked(Authority.GATE, partial(gate.lapsed, limit=10), LAPSED),
    "sweep": Asked(Authority.GATE, gate.sweep_crashed, EVENTS * LAPSED),
    "what closes": Asked(Authority.GATE, partial(gate.closing, limit=1000), CLOSING),
    "what closes, a few": Asked(Authority.GATE, partial(gate.closing, limit=10), CLOSING),
    "freeze": Asked(Authority.GATE, gate.freeze, EVENTS * CLOSING),
    "lag of verification": Asked(Authority.READER, gate.verify_lag, BUSY),
    "lag of retries": Asked(Authority.READER, gate.retry_lag, 1),
    "lag of the sweep": Asked(Authority.READER, gate.sweep_lag, 1),
    "lag of the freeze": Asked(Authority.READER, gate.freeze_lag, 1),
    "lag of the mint": Asked(Authority.READER, mint.mint_lag, 1),
    "mint": Asked(Authority.MINT, partial(mint.mint, limit=PAGE), EVENTS * PAGE),
    "identities": Asked(Authority.READER, partial(mint.identities, limit=PAGE), PAGE),
    "exhausted": Asked(Authority.READER, partial(gate.exhausted, limit=PAGE), PAGE),
    "exhausted of a batch": Asked(Authority.READER, partial(gate.exhausted, batch_id="batch-0100", limit=PAGE), PAGE),
    "exhausted, the next page": Asked(
        Authority.READER, partial(gate.exhausted, limit=PAGE, after=("batch-0100", UUID(int=0))), 2 * PAGE
    ),
    "companies": Asked(Authority.READER, partial(companies, limit=PAGE), PAGE),
    "companies of a batch": Asked(Authority.READER, partial(companies, batch_id="batch-0100", limit=PAGE), PAGE),
    "companies in a status": Asked(
        Authority.READER, partial(companies, statuses=["REENTER_SUCCEEDED"], limit=10, window=1000), 1000
    ),
    "companies that do not exist": Asked(
        Authority.READER, partial(companies, name="no such company", limit=PAGE, window=1000), 1000
    ),
    "companies of a batch that do not exist": Asked(
        Authority.READER, partial(companies, batch_id="batch-0100", name="none", limit=PAGE, window=20), 20
    ),
    "funnel of a page": Asked(
        Authority.READER, partial(gate.funnel_among, batch_id="batch-0100", most=PAGE), EVENTS * PAGE
    ),
    "a company": Asked(Authority.READER, company, EVENTS),
    "intakes of a batch": Asked(
        Authority.READER, partial(gate.intakes_of_batch, batch_id="batch-0100"), IDLE // BATCHES + 1
    ),
    "batches": Asked(Authority.READER, partial(gate.list_batches, limit=PAGE), PAGE),
    "overdue batches": Asked(Authority.READER, partial(gate.overdue, days=7), 1),
}


@KEPT
@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_often_reads_little(crowded: Transaction, name: str, kept: bool) -> None:
    """Whatever a worker or a person asks for again and again is found by itself, however much there is beside it."""
    by, what, most = ASKED[name]
    with carried_out(crowded, kept=kept) as plans, acting(crowded, by):
        plans.take()
        answer = what(crowded)
        found = plans.take()
    assert answer not in (None, [])
    assert_reads_only(found, most)


def test_the_mint_has_something_to_mint(crowded: Transaction) -> None:
    """A page of authorisations, each of which becomes an identity."""
    with crowded.transaction(force_rollback=True), acting(crowded, Authority.MINT):
        minted = mint.mint(crowded, limit=PAGE)
    assert (minted.events, len(minted.identities)) == (PAGE, PAGE)


@pytest.mark.parametrize(("retries", "claimed"), [(True, CLOSING), (False, WAITING)])
def test_a_claim_takes_all_that_waits(crowded: Transaction, retries: bool, claimed: int) -> None:
    """Also what stands behind thousands that are being verified."""
    with crowded.transaction(force_rollback=True), acting(crowded, Authority.GATE):
        assert len(gate.claim_attempts(crowded, limit=1000, worker="w", retries=retries)) == claimed


# Transactions that a subscriber has not seen. Some hundred events each: workers write in batches.
BEHIND = {"caught up": 0, "a little behind": 3, "far behind": 600, "at the beginning": None}


@KEPT
@pytest.mark.parametrize("stands", BEHIND)
@pytest.mark.parametrize("log", [gate.AIR, mint.AUTHORIZATIONS], ids=["AIR", "AUTH"])
def test_a_subscriber_reads_its_page(crowded: Transaction, log: Log, stands: str, kept: bool) -> None:
    """It pays for what it gets: nothing new is nothing read, and a page is a page wherever it is.

    What it has missed is looked over once, when it comes back; never what it has seen.
    """
    (last,) = crowded.execute("select max(xid::text::bigint) from cl.gate_zero_air").fetchone() or (0,)
    behind = BEHIND[stands]
    since = last + 1 - behind if behind is not None else 1
    (missed,) = crowded.execute(
        SQL("select count(*) from {} where xid >= %s::text::xid8").format(Identifier(*log.table.split("."))), (since,)
    ).fetchone() or (0,)
    assert (missed >= SHORT_WINDOW_ROWS) == (stands in ("far behind", "at the beginning"))
    short = missed < SHORT_WINDOW_ROWS
    with carried_out(crowded, kept=kept) as plans, acting(crowded, Authority.CONSUMER):
        ledger.subscribe(crowded, log, "late")
        crowded.execute(
            "update recoup.subscription set since = %s::pg_snapshot where name = 'late'", (f"{since}:{since}:",)
        )
        for number in range(1 if short else 2):
            plans.take()
            page = ledger.read(crowded, log, "late", limit=PAGE)
            *looking, reading = plans.take()
            ledger.acknowledge(crowded, page)
            assert len(page.events) == min(PAGE, missed)
            assert_reads_only([reading], max(1, missed if short else PAGE))
            assert_reads_only(looking, max(1, missed if number == 0 and behind is not None else 1))


@pytest.mark.parametrize("log", [gate.AIR, mint.AUTHORIZATIONS], ids=["AIR", "AUTH"])
def test_a_subscriber_that_polls_for_weeks_reads_nothing_when_there_is_nothing(
    crowded: Transaction, log: Log, server: embedded.Server, settings: Settings
) -> None:
    """Also in a session whose statements were prepared long ago, first for pages and then for polls."""
    (name,) = crowded.execute("select current_database()").fetchone() or ("",)
    with Database(server.uri(name), dataclasses.replace(settings, pool_max=1)) as database:
        with database.transaction(Authority.CONSUMER) as tx:
            ledger.subscribe(tx, log, "poller")
        for _ in range(WORN):
            with database.transaction(Authority.CONSUMER) as tx:
                before = fetched(tx)
                page = ledger.read(tx, log, "poller", limit=PAGE)
                ledger.acknowledge(tx, page)
                assert len(page.events) == PAGE
                assert fetched(tx) - before <= 2 * PAGE
        with database.transaction(Authority.CONSUMER) as tx:
            tx.execute(
                "update recoup.subscription set since = pg_current_snapshot(), until = null, after_seq = 0"
                " where name = 'poller'"
            )
        for _ in range(WORN):
            with database.transaction(Authority.CONSUMER) as tx:
                before = fetched(tx)
                page = ledger.read(tx, log, "poller", limit=PAGE)
                ledger.acknowledge(tx, page)
                assert page.events == ()
                assert fetched(tx) - before <= PAGE


def fetched(tx: Transaction) -> int:
    """Rows of the log that this session has looked at, by scan or by index."""
    (count,) = tx.execute(
        "select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables"
        " where relid = 'cl.gate_zero_air'::regclass"
    ).fetchone() or (0,)
    return int(count)
