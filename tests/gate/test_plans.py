"""Work grows with what is asked and not with what lies idle, in any order of calls.

A plan made for one row and kept is ruinous for a hundred thousand, and the other way round. A session here lives
through both. The guard against work that grows with the square is the statement timeout: a statement over a hundred
thousand rows takes a few seconds when its work is linear, and does not end when it is not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg.sql import Composable

from company import acting
from recoup import gate, ledger
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.database.queries import load
from recoup.gate.lifecycle import ReasonCode
from recoup.lifecycles.declaration import Authority
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
        """Bound every statement of the session from here on."""
        self.desk.rows("select set_config('statement_timeout', %s, false)", timeout)


@pytest.fixture
def session(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Session]:
    name = new_database()
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
            "update cl.gate_zero_attempt set status = 'failed', reason_code = 'TIMEOUT',"
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
    """Rows that this session has read by scanning whole tables; only differences within a transaction mean anything."""
    return dict(
        tx.execute(
            "select relid::regclass::text, seq_tup_read from pg_stat_xact_user_tables where schemaname = 'cl'"
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


def assert_single_rows_read_little(desk: Desk) -> None:
    """Single attempts, opened and ended many times over: no table is read as a whole for any of them."""
    ((size,),) = desk.rows("select count(*) from cl.gate_zero_intake")
    assert size > 10_000
    batch = desk.batch()
    for number in range(WORN):
        intake = desk.intake(batch_id=batch)
        for retry in (False, True):
            with desk.db.transaction(Authority.GATE) as tx:
                before = rows_read(tx)
                (attempt,) = gate.open_attempts(tx, [intake], worker="one")
                reason = None if retry and number % 2 else ReasonCode.TIMEOUT
                gate.finish_attempts(tx, [outcome(attempt, reason)])
                after = rows_read(tx)
            read = {table: after[table] - before.get(table, 0) for table in after}
            # The batches are few; a scan of them is cheaper than their index.
            assert {t: n for t, n in read.items() if n > 100 and t != "cl.gate_zero_batch"} == {}
            desk.advance(DAY)


# Plans over idle rows -----------------------------------------------------------------------------------------------

IDLE = 2_000_000
BATCHES = 3_000
IN_FLIGHT = 2_000
LAPSED = CLOSING = WAITING = 40
PAGE = 100
LOGGED = IDLE // 8 * 3 + 2 * IN_FLIGHT  # the last intakes, whose events make as many rows as there are intakes
PER_TRANSACTION = 100  # intakes whose events one transaction wrote

BIG = (
    "cl.sovereign_mint_air", "cl.company_identity", "cl.gate_zero_air", "cl.gate_zero_recovery",
    "cl.gate_zero_attempt", "cl.gate_zero_intake", "cl.gate_zero_batch",
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
       now() - interval '360 days' + g * (interval '359 days' / {IDLE}) as at
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

insert into cl.gate_zero_recovery (recovery_id, intake_id, batch_id, failure_reason, attempt_count, next_eligible_at,
                                   status, created_at, updated_at)
select id, id, case kind when 1 then 'open' else batch_id end, 'TIMEOUT', 1,
       case kind when 1 then now() + interval '1 hour' + n * interval '1 second' else cl.never() end,
       (array['SUCCEEDED', 'ACTIVE', 'EXHAUSTED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'])[kind + 1], at, at
  from n;

-- The transactions before this one have written the log.
insert into cl.gate_zero_air (air_event_id, entity_id, event_type, reason_code, event_timestamp, seq, xid, incarnation,
                              attempt_id, actor_id, authority)
select lpad(to_hex(3 * n + step), 32, '0')::uuid, id, event_type, reason_code, at + step * interval '1 microsecond',
       3 * n + step, (own - 1 - ({IDLE} - n) / {PER_TRANSACTION})::text::xid8, 1, id, 'w', 'recoup_gate'
  from (select pg_current_xact_id()::text::bigint as own) t, n cross join lateral (values
         (0, 'ATTEMPT', 'START', true),
         (1, 'PASS', 'CHECKS_PASSED', kind in (0, 5)), (2, 'AUTH', 'EXISTENCE_CONFIRMED', kind in (0, 5)),
         (1, 'FAIL', 'TIMEOUT', kind in (1, 2, 3)), (2, 'EXHAUSTED', 'RECOVERY_WINDOW_CLOSED', kind = 2)
       ) as e (step, event_type, reason_code, happened)
 where happened and n.n > {IDLE - LOGGED};

insert into cl.company_identity (sovereign_company_id, intake_id, company_name, minted_at)
select id, id, 'Idle ' || n, at from n where kind in (0, 5);
insert into cl.sovereign_mint_air (air_event_id, entity_id, payload_ref, actor, event_timestamp, seq, xid, incarnation,
                                   sovereign_company_id, actor_id, authority)
select id, id, 'company:' || id, 'system', at, -n, '1000', 1, id, 'w', 'recoup_mint' from n where kind in (0, 5);
select setval('recoup.event_seq', {3 * IDLE + 3});

-- What is not idle: recoveries that are due, recoveries of a closed window, attempts whose lease lapsed, and intakes that
-- wait behind all that are being verified.
create temporary table few as
select g as n, recoup.new_id() as id, (array['due', 'closing', 'lapsed', 'exhausted', 'waiting'])[1 + g % 5] as kind,
       case g % 5 when 4 then now() - interval '1 hour' else now() - interval '2 days' end + g * interval '1 second' as at
  from generate_series(1, 5 * {CLOSING}) g;
insert into cl.gate_zero_intake (intake_id, batch_id, company_name, status, created_at, updated_at)
select id, case kind when 'closing' then '2025_annual_outreach' when 'exhausted' then '2025_annual_outreach' end,
       'Busy ' || n, case when kind in ('lapsed', 'waiting') then 'PENDING' when kind = 'exhausted' then 'EXHAUSTED'
                          else 'FAILED' end, at, at
  from few;
insert into cl.gate_zero_attempt (intake_id, attempt_number, worker, opened_at, lease_until)
select id, 1, 'w', at, at + interval '1 minute' from few where kind = 'lapsed';
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
                admin.execute(f"alter table {table} enable always trigger {name}")
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


def plan(tx: Transaction, query: Composable | str, parameters: dict[str, Any], *, kept: bool) -> dict[str, Any]:
    """The plan as it was carried out: made for these parameters, or the kept one that is made for none."""
    text = query if isinstance(query, str) else query.as_string(tx)
    explain = "explain (analyze, timing off, format json) "
    with tx.transaction(force_rollback=True), acting(tx, Authority.GATE):
        tx.execute("set local statement_timeout = '60s'")
        if not kept:
            row = tx.execute(explain + text, parameters).fetchone()
        else:
            names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
            numbered = re.sub(r"%\((\w+)\)s", lambda m: f"${names.index(m[1]) + 1}", text)
            tx.execute("set local plan_cache_mode = force_generic_plan")
            tx.execute("prepare tried as " + numbered.replace("%%", "%"))
            literals = ", ".join(["null" if parameters[n] is None else f"'{parameters[n]}'" for n in names])
            row = tx.execute(explain + "execute tried" + (f"({literals})" if names else "")).fetchone()
            tx.execute("deallocate tried")
    assert row is not None
    found: dict[str, Any] = row[0][0]["Plan"]
    return found


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from nodes(child)


def handled(node: dict[str, Any]) -> int:
    """Rows that a node brought up, those it threw away again included."""
    thrown = sum(node.get(key, 0) for key in ("Rows Removed by Filter", "Rows Removed by Index Recheck"))
    return int((node["Actual Rows"] + thrown) * node["Actual Loops"])


def assert_reads_only(found: dict[str, Any], most: int) -> None:
    """No table of the gate is scanned as a whole, nothing larger than asked is sorted, no node handles more."""
    for node in nodes(found):
        told = {key: node.get(key) for key in ("Node Type", "Relation Name", "Index Name", "Filter", "Actual Rows")}
        assert not (node["Node Type"].endswith("Seq Scan") and node["Relation Name"].startswith("gate_zero_")), told
        if "Sort" in node["Node Type"]:
            assert sum(handled(child) for child in node["Plans"]) <= most, told
        assert handled(node) <= most, told


def test_the_rows_are_there(crowded: Transaction) -> None:
    """The tests below mean nothing over small tables."""
    for table, least in (
        ("batch", BATCHES),
        ("intake", IDLE),
        ("attempt", IDLE),
        ("recovery", 60_000),
        ("air", 250_000),
    ):
        (count,) = crowded.execute(f"select count(*) from cl.gate_zero_{table}").fetchone() or (0,)
        assert count > least, table
    off = crowded.execute(
        "select tgname from pg_trigger"
        " where tgrelid::regclass::text like 'cl.gate\\_zero%' and not tgisinternal and tgenabled <> 'A'"
    ).fetchall()
    assert off == []


@pytest.mark.parametrize("kept", [False, True], ids=["made for it", "kept"])
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
    found = plan(crowded, runnable(QUERIES[name]), {"intake_id": intake, "last_processed_timestamp": last}, kept=kept)
    answer = found["Actual Rows"]
    assert answer > 0
    assert (answer <= 300) == (name != "authorization subscription")
    if name == "authorization subscription":  # asks for all of them: the index has them in order
        assert [node["Node Type"] for node in nodes(found)] in (["Index Scan"], ["Index Only Scan"])
    assert_reads_only(found, int(answer))


@pytest.mark.parametrize("kept", [False, True], ids=["made for it", "kept"])
@pytest.mark.parametrize(
    ("name", "answer"), [("eligible", CLOSING), ("lock_lapsed", LAPSED), ("lock_frozen_recoveries", CLOSING)]
)
@pytest.mark.parametrize("limit", [10, 1000])
def test_the_workers_queries_read_their_page(
    crowded: Transaction, name: str, answer: int, limit: int, kept: bool
) -> None:
    """What is due, lapsed or to be frozen is found by itself, however much there is that is not."""
    found = plan(crowded, load("recoup.gate")[name], {"limit": limit}, kept=kept)
    assert found["Actual Rows"] == min(answer, limit)
    assert_reads_only(found, 4 * answer)


PENDING = IDLE // 6  # every sixth idle intake is PENDING, because it is being verified


@pytest.mark.parametrize("retries", [True, False])
def test_a_claim_reads_what_it_takes(crowded: Transaction, retries: bool) -> None:
    """What is not due, and what has ended, is not read; and nothing by scanning a table."""
    crowded.execute("vacuum cl.gate_zero_attempt, cl.gate_zero_recovery")  # of what tests before this one rolled back
    read = (
        "select sum(seq_tup_read)::int, sum(idx_tup_fetch)::int from pg_stat_xact_user_tables"
        " where schemaname = 'cl' and relname in ('gate_zero_intake', 'gate_zero_recovery', 'gate_zero_attempt')"
    )
    with crowded.transaction(force_rollback=True), acting(crowded, Authority.GATE):
        before = crowded.execute(read).fetchone() or (0, 0)
        claimed = gate.claim_attempts(crowded, limit=1000, worker="w", retries=retries)
        after = crowded.execute(read).fetchone() or (0, 0)
    scanned, fetched = after[0] - before[0], after[1] - before[1]
    assert len(claimed) == (CLOSING if retries else 0)
    assert scanned == 0
    # A retry is looked at when it is picked and when the rule asks. Each pending one is being verified already: it
    # is looked at, and so is its attempt.
    assert 0 < fetched <= (8 * CLOSING if retries else 2 * (PENDING + LAPSED) + CLOSING)


@pytest.mark.parametrize("stands", ["caught up", "a little behind", "at the beginning", "in the middle"])
def test_the_settled_read_reads_its_page(crowded: Transaction, stands: str) -> None:
    """A subscriber pays for what it gets: nothing new is nothing read, and a page is a page wherever it is.

    Workers write in batches, so a transaction has some hundred events.
    """
    (until, top) = crowded.execute("select pg_current_snapshot()::text, max(seq) from cl.gate_zero_air").fetchone() or (
        "",
        0,
    )
    (low,) = crowded.execute(
        "select min(xid::text::bigint) from (select xid from cl.gate_zero_air order by seq desc limit 80) t"
    ).fetchone() or (0,)
    since, after = {
        "caught up": (until, 0),
        "a little behind": (f"{low}:{low}:", 0),
        "at the beginning": ("1:1:", 0),
        "in the middle": ("1:1:", top // 2),
    }[stands]
    parameters = {
        "since": since, "until": until, "incarnation": 1, "after_seq": after, "event_types": None, "limit": PAGE,
    }  # fmt: skip
    way = "read_long_window" if since == "1:1:" else "read_short_window"
    found = plan(crowded, gate.AIR.query(way), parameters, kept=False)
    expected = {"caught up": (0, 0), "a little behind": (80, PAGE)}.get(stands, (PAGE, PAGE))
    assert expected[0] <= found["Actual Rows"] <= expected[1]
    (behind,) = crowded.execute(
        "select count(*) from cl.gate_zero_air where xid >= %s::text::xid8", (low,)
    ).fetchone() or (0,)
    assert_reads_only(found, max(PAGE, behind if stands == "a little behind" else 0))


def test_a_subscriber_that_polls_for_weeks_reads_nothing_when_there_is_nothing(
    crowded: Transaction, server: embedded.Server, settings: Settings
) -> None:
    """Also in a session whose statements were prepared long ago, first for pages and then for polls."""
    (name,) = crowded.execute("select current_database()").fetchone() or ("",)
    with Database(server.uri(name), dataclasses.replace(settings, pool_max=1)) as database:
        with database.transaction(Authority.CONSUMER) as tx:
            ledger.subscribe(tx, gate.AIR, "poller")
        for _ in range(WORN):
            with database.transaction(Authority.CONSUMER) as tx:
                before = fetched(tx)
                page = ledger.read(tx, gate.AIR, "poller", limit=PAGE)
                ledger.acknowledge(tx, page)
                assert len(page.events) == PAGE
                assert fetched(tx) - before <= 2 * PAGE
        crowded.execute(
            "update recoup.subscription set since = pg_current_snapshot(), until = null, after_seq = 0"
            " where name = 'poller'"
        )
        for _ in range(WORN):
            with database.transaction(Authority.CONSUMER) as tx:
                before = fetched(tx)
                page = ledger.read(tx, gate.AIR, "poller", limit=PAGE)
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
