"""What is asked again and again reads what it touches, however many errors lie idle, and whatever the planner believes.

The same is asked of tables that were never analysed, as on the first day of a new database, and of analysed ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

import pytest

from company import acting
from plans import assert_reads_only, carried_out, handled, nodes
from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.errors import (
    active_policy,
    archive,
    clearing,
    escalation,
    finding,
    foreground,
    grouping,
    handlers,
    metrics,
    parking,
    promotion,
    retrying,
)
from recoup.errors.escalation_signals import ESCALATION
from recoup.errors.listing import Filter, list_errors, park_queue
from recoup.errors.lookup import ErrorKey
from recoup.errors.policy import ErrorPolicy
from recoup.errors.recording import NewError, record
from recoup.errors.retrying import Claimed, Failed, Succeeded
from recoup.errors.vocabulary import Want
from recoup.find import Wanted
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.settings import Settings
from recoup.signals import Reading
from recoup.signatures import signature

IDLE = 200_000
SET = 100  # rows of one call
EACH = 20  # rows of each busy kind in each of the tables that are retried
TABLES = tuple(ErrorPolicy.shipped().tables)
BLOCKING = TABLES[:3]
RETRIED = TABLES[:4]
BUSY = EACH * len(RETRIED)
MESSAGE = "No filing found for company 7"
SIGNATURE = signature(MESSAGE).key
BIG = frozenset({*(table.split(".")[1] for table in TABLES), "error_event", "error_queue"})

# Entities are numbers. Of every four errors of a table that is retried two wait for a retry that is far off, one is
# parked, one is kept until its time is over; one of a hundred is being retried. Other tables keep theirs, or have them
# parked. Nothing here is due, over or expired.
FILL = f"""
insert into recoup.error (error_table, outreach_id, error_message, error_signature, category, disposition, status,
  ttl_tier, expires_at, max_retries, next_retry_at, retry_until, parked_at, parked_by, park_reason,
  parked_since, escalation_level, escalated_at, escalated_to, sla_due_at, decided_by, policy_version, created_at,
  updated_at)
select k.error_table, lpad(to_hex(g), 32, '0')::uuid, 'idle', %(signature)s, 'OPERATIONAL',
       case when k.is_retry then 'RETRY' when k.is_parked then 'PARKED'
            when k.error_table like 'public.%%' then 'IGNORE' else 'ARCHIVE' end,
       case when k.is_retry then 'RETRY_PENDING' when k.is_parked then 'PARKED' else 'ACTIVE' end,
       case when k.is_endless then 'INFINITE' else 'MEDIUM' end,
       case when not k.is_endless then now() + interval '30 days' + g * interval '1 second' end, 3,
       case when k.is_retry then now() + interval '1 hour' + g * interval '1 second' end,
       case when k.is_retry then now() + interval '6 days' + g * interval '1 second' end,
       case when k.is_parked then now() end, case when k.is_parked then 'system' end,
       case when k.is_parked then 'DATA_QUALITY' end,
       case when k.is_parked then now() end, k.is_parked::integer, case when k.is_parked then now() end,
       case when k.is_parked then 'team' end, case when k.is_parked then now() + interval '1 day' end,
       'table', 1, now() - interval '1 day', now() - interval '1 day'
  from generate_series(1, {IDLE}) g
 cross join lateral (select (%(tables)s::text[])[1 + g %% {len(TABLES)}] as error_table, g / {len(TABLES)} as n) t
 cross join lateral (
   select t.error_table, t.error_table = 'public.shq_master_error_log' as is_endless,
          t.error_table = any(%(retried)s::text[]) and t.n %% 4 < 2 as is_retry,
          t.error_table = any(%(blocking)s::text[]) and t.n %% 4 = 2
            or t.error_table = 'public.shq_orphan_errors' as is_parked) k;

insert into recoup.error_queue (unit, part, wake_at, until, token, worker, claimed_at, category, max_retries)
select e.error_id, e.error_table, case when l.is_leased then now() + interval '1 hour' else e.next_retry_at end,
       e.retry_until, case when l.is_leased then gen_random_uuid() end, case when l.is_leased then 'w' end,
       case when l.is_leased then now() end, e.category, e.max_retries
  from recoup.error e cross join lateral (select e.error_id %% 50 = 0 as is_leased) l
 where e.status = 'RETRY_PENDING';
"""

# What is not idle, in every table that is retried: due; claimed, and the lease has lapsed; not retried within its
# window; over; expired.
FEW = f"""
insert into recoup.error (error_table, outreach_id, error_message, error_signature, category, disposition, status,
  ttl_tier, expires_at, max_retries, next_retry_at, retry_until, decided_by,
  policy_version, created_at, updated_at, archived_at, archive_reason)
select t, gen_random_uuid(), k, 'busy', 'OPERATIONAL', case k when 'expired' then 'ARCHIVE' else 'RETRY' end,
       case k when 'over' then 'RESOLVED' when 'expired' then 'ACTIVE' else 'RETRY_PENDING' end, 'MEDIUM',
       case k when 'expired' then s.past else s.future end, 3,
       case when k in ('due', 'lapsed', 'closed') then s.past end, case k when 'closed' then s.past else s.future end,
       'table', 1, now() - interval '1 day', now() - interval '1 day',
       case k when 'over' then s.past end, case k when 'over' then 'RESOLVED' end
  from unnest(%(retried)s::text[]) t, unnest(array['due', 'lapsed', 'closed', 'over', 'expired']) k,
       generate_series(1, {EACH}) g,
       lateral (select now() - interval '1 hour' + g * interval '1 second' as past,
                       now() + interval '5 days' + g * interval '1 second' as future) s;

insert into recoup.error_queue (unit, part, wake_at, until, token, worker, claimed_at, category, max_retries)
select e.error_id, e.error_table, e.next_retry_at, e.retry_until, case when l.is_leased then gen_random_uuid() end,
       case when l.is_leased then 'w' end, case when l.is_leased then now() end, e.category, e.max_retries
  from recoup.error e cross join lateral (select e.error_message = 'lapsed' as is_leased) l
 where e.status = 'RETRY_PENDING' and e.error_signature = 'busy';
"""
# Parked for three days in the first tier: not reviewed in time, whether that is marked or not.
PARKED = f"""
insert into recoup.error (error_table, outreach_id, error_message, error_signature, category, disposition, status,
  ttl_tier, expires_at, max_retries, parked_at, parked_by, park_reason, parked_since, escalation_level, escalated_at,
  escalated_to, sla_due_at, sla_breached_at, decided_by, policy_version, created_at, updated_at)
select t, gen_random_uuid(), 'parked', 'parked', 'OPERATIONAL', 'PARKED', 'PARKED', 'MEDIUM', now() + interval '9 days',
       3, s.since, 'system', 'DATA_QUALITY', s.since, 1, s.since, 'team', s.since + interval '1 day',
       case when k.marked then now() end, 'table', 1, s.since, s.since
  from unnest(%(retried)s::text[]) t, unnest(array[true, false]) k (marked), generate_series(1, {EACH}) g,
       lateral (select now() - interval '3 days' + g * interval '1 second' as since) s;
"""
BORN = """
insert into recoup.error_event (incarnation, logged_at, error_table, error_id, event_type, to_status, disposition,
  retry_count, actor, actor_id, authority)
select 1, e.created_at, e.error_table, e.error_id, 'RECORDED', e.status, e.disposition, 0, 'system', 'w', 'recoup_hub'
  from recoup.error e;
"""


def entity(number: int) -> UUID:
    """The entity of this number, as the fill makes it."""
    return UUID(int=number)


def fill(admin: Transaction) -> None:
    """Fill the tables through the parent, with its triggers off. Statistics stay as they are: there are none."""
    given = {"tables": list(TABLES), "retried": list(RETRIED), "blocking": list(BLOCKING), "signature": SIGNATURE}
    for table in (*TABLES, "recoup.error_event", "recoup.error_queue"):
        admin.execute(f"alter table {table} set (autovacuum_enabled = off)")
    with admin.transaction():
        before = admin.execute(GUARDS).fetchall()
        admin.execute("set local synchronous_commit = off")
        for table in ("recoup.error", "recoup.error_event", "recoup.error_queue"):
            admin.execute(f"alter table {table} disable trigger user")
        for statement in (*FILL.split(";\n\n"), *FEW.split(";\n\n"), PARKED, BORN):
            admin.execute(statement, given, prepare=False)
        for table, trigger, fires in before:
            admin.execute(f"alter table {table} enable {fires} trigger {trigger}")
    assert admin.execute(GUARDS).fetchall() == before


GUARDS = (
    "select tgrelid::regclass::text, tgname, case tgenabled when 'R' then 'replica' else 'always' end"
    " from pg_trigger where tgenabled in ('A', 'R') and not tgisinternal"
    " and tgrelid = any('{recoup.error,recoup.error_event,recoup.error_queue}'::regclass[]) order by 1, 2"
)


@pytest.fixture(scope="module")
def filled(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """A superuser's connection to a database in real time, with idle errors; never analysed."""
    settings = dataclasses.replace(settings, statement_timeout_ms=0)
    with contextlib.closing(connect(server.uri(new_database(simulated_from=None), admin=True), settings)) as admin:
        fill(admin)
        yield admin


@pytest.fixture(scope="module", params=["never analysed", "analysed"])
def crowded(filled: Transaction, request: pytest.FixtureRequest) -> Transaction:
    """The same before the first ANALYZE, and after it."""
    believed = "select count(*) from pg_class where relname = any(%s) and relkind = 'r' and reltuples >= 0"
    if request.param == "analysed":
        filled.execute("vacuum (analyze) recoup.error, recoup.error_event, recoup.error_queue")
    assert filled.execute(believed, (list(BIG),)).fetchone() == (0 if request.param == "never analysed" else len(BIG),)
    return filled


KEPT = pytest.mark.parametrize("kept", [False, True], ids=["made for it", "kept"])


class Asked(NamedTuple):
    """What the library is asked for, by whom, what comes of it, and how many rows may be looked at in one place."""

    authority: Authority
    what: Callable[[Transaction], object]
    answer: object
    most: int


LOOKED_AT = 8  # times that a row may be brought up in one place: once for each table, and once more
FRESH = [entity(n) for n in range(IDLE + 10, IDLE + 10 + SET)]  # without an error
# With an idle error that blocks, and the table it is in.
KNOWN = {
    entity(n): TABLES[n % len(TABLES)]
    for n in range(1000, 3000)
    if n % len(TABLES) < len(BLOCKING) and n // len(TABLES) % 4 < 3
}
SOME = dict(list(KNOWN.items())[:SET])


def measured(tx: Transaction) -> list[Reading]:
    return list(ESCALATION.measure(tx, versions.active(tx).policy))


def as_true(lag: float | None) -> bool:
    return lag is not None and lag > 0


def looked_up(tx: Transaction, text: str) -> list[str]:
    """What is found, by its kinds."""
    return [one.kind for one in finding.FINDER.look_up(tx, Wanted(text=text, limit=5))]


ASKED = {
    "claim": Asked(
        Authority.ERROR_WORKER, lambda tx: len(retrying.claim(tx, limit=1000, worker="w")), BUSY, LOOKED_AT * BUSY
    ),
    "claim a few": Asked(
        Authority.ERROR_WORKER, lambda tx: len(retrying.claim(tx, limit=5, worker="w")), 5, LOOKED_AT * EACH
    ),
    "lapse": Asked(Authority.ERROR_WORKER, retrying.lapse, BUSY, LOOKED_AT * BUSY),
    "close windows": Asked(Authority.ERROR_WORKER, retrying.close_windows, BUSY, LOOKED_AT * BUSY),
    "raise tiers": Asked(Authority.ERROR_WORKER, escalation.raise_tiers, (BUSY, 2 * BUSY), 2 * LOOKED_AT * BUSY),
    "raise a few": Asked(
        Authority.ERROR_WORKER, lambda tx: escalation.raise_tiers(tx, limit=5), (5, 5), LOOKED_AT * EACH
    ),
    "tiers that are due": Asked(
        Authority.READER, lambda tx: len(set(escalation.due(tx))), 2 * BUSY, 2 * LOOKED_AT * BUSY
    ),
    "lag of tiers": Asked(Authority.READER, lambda tx: as_true(escalation.lag(tx)), True, 2 * len(TABLES)),
    "the park queue": Asked(
        Authority.READER, lambda tx: len(park_queue(tx, Filter(), limit=SET)), SET, LOOKED_AT * 2 * BUSY
    ),
    "signals of tiers": Asked(
        Authority.READER, lambda tx: sum(one.value or 0 for one in measured(tx)), 2 * BUSY + BUSY, LOOKED_AT * 2 * BUSY
    ),
    "sweep": Asked(Authority.ARCHIVER, lambda tx: archive.sweep(tx).gone, 2 * BUSY, LOOKED_AT * BUSY),
    "sweep a few": Asked(
        Authority.ARCHIVER, lambda tx: archive.sweep(tx, limit=EACH + 5).gone, EACH + 5, LOOKED_AT * EACH
    ),
    "what leaves": Asked(Authority.READER, lambda tx: len(archive.leaving(tx)), 2 * BUSY, 2 * LOOKED_AT * BUSY),
    "what lapsed": Asked(Authority.READER, lambda tx: len(retrying.lapsed(tx)), BUSY, LOOKED_AT * BUSY),
    "what closed": Asked(Authority.READER, lambda tx: len(retrying.closed_windows(tx)), BUSY, LOOKED_AT * BUSY),
    "due tables": Asked(
        Authority.READER, lambda tx: sum(one.due for one in handlers.due(tx)), BUSY, LOOKED_AT * BUSY
    ),
    "lag of retries": Asked(Authority.READER, lambda tx: as_true(retrying.due_lag(tx, RETRIED)), True, 2 * len(TABLES)),
    "lag of lapsing": Asked(Authority.READER, lambda tx: as_true(retrying.lapse_lag(tx)), True, 2 * len(TABLES)),
    "lag of windows": Asked(Authority.READER, lambda tx: as_true(retrying.window_lag(tx)), True, 2 * len(TABLES)),
    "lag of the sweep": Asked(Authority.READER, lambda tx: as_true(archive.lag(tx)), True, 2 * len(TABLES)),
    "gate, free": Asked(Authority.READER, lambda tx: promotion.is_blocked(tx, FRESH[0]), False, 2 * len(TABLES)),
    "gate, blocked": Asked(
        Authority.READER, lambda tx: promotion.is_blocked(tx, next(iter(SOME))), True, 2 * len(TABLES)
    ),
    "what blocks": Asked(Authority.READER, lambda tx: len(promotion.blocking(tx, list(SOME))), SET, LOOKED_AT * SET),
    "a page of a list": Asked(
        Authority.READER, lambda tx: len(list_errors(tx, Filter(), limit=SET, after=IDLE // 2)), SET, LOOKED_AT * SET
    ),
    "a page of what is over": Asked(
        Authority.READER, lambda tx: len(list_errors(tx, Filter(), limit=SET, archived=True)), SET, LOOKED_AT * SET
    ),
    "clear": Asked(
        Authority.HUB,
        lambda tx: sum(map(len, clearing.clear(tx, BLOCKING[0], list(SOME)))),
        list(SOME.values()).count(BLOCKING[0]),
        LOOKED_AT * SET,
    ),
    "an entity": Asked(Authority.READER, lambda tx: looked_up(tx, str(next(iter(SOME)))), ["entity"], 2 * len(TABLES)),
    "an error": Asked(Authority.READER, lambda tx: looked_up(tx, "1000"), ["error"], LOOKED_AT * finding.COUNTED),
    "a signature": Asked(
        Authority.READER, lambda tx: looked_up(tx, SIGNATURE[:9]), ["signature"], LOOKED_AT * finding.COUNTED
    ),
    "a work key": Asked(Authority.READER, lambda tx: looked_up(tx, "person 7"), [], 2 * len(TABLES)),
    "gate, locking": Asked(
        Authority.HUB, lambda tx: promotion.blocked_locking(tx, [*SOME, *FRESH]), set(SOME), LOOKED_AT * SET
    ),
}  # fmt: skip


@KEPT
@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_often_reads_little(crowded: Transaction, name: str, kept: bool) -> None:
    """Whatever a hub, a worker or the archiver asks for is found by itself, however much there is beside it."""
    by, what, answer, most = ASKED[name]
    with carried_out(crowded, kept=kept) as plans, acting(crowded, by):
        active_policy.reloaded(crowded)
        plans.take()
        assert what(crowded) == answer
        found = plans.take()
    assert_reads_only(found, most, big=BIG)


@KEPT
@pytest.mark.parametrize("table", BLOCKING)
def test_the_printed_promotion_query_reads_the_errors_of_its_entity(
    crowded: Transaction, table: str, kept: bool
) -> None:
    """As the requirement prints it, on each table that blocks."""
    known = next(one for one, its_table in KNOWN.items() if its_table == table)
    with carried_out(crowded, kept=kept) as plans, acting(crowded, Authority.READER):
        for asked, blocked in ((known, True), (FRESH[0], False)):
            plans.take()
            assert crowded.execute(PRINTED.format(error_table=table), (asked,)).fetchone() == (blocked,)
            assert_reads_only(plans.take(), 1, big=BIG)


PRINTED = """
-- Check if entity has blocking errors
SELECT COUNT(*) > 0 AS is_blocked
FROM {error_table}
WHERE outreach_id = %s
  AND disposition IN ('RETRY', 'PARKED')
  AND archived_at IS NULL;
"""


@KEPT
@pytest.mark.parametrize("again", [False, True], ids=["new", "superseding"])
def test_recording_reads_what_it_supersedes(crowded: Transaction, again: bool, kept: bool) -> None:
    """Of entities without an error nothing is found, of others the one that is superseded; by looking at no others."""
    failures = SOME if again else dict.fromkeys(FRESH, BLOCKING[0])
    errors = [NewError(table=table, message=MESSAGE, outreach_id=one) for one, table in failures.items()]
    superseded = "select count(*) from recoup.error_event where event_type = 'SUPERSEDED'"
    with carried_out(crowded, kept=kept) as plans, acting(crowded, Authority.HUB):
        active_policy.reloaded(crowded)
        plans.take()
        assert len(record(crowded, errors)) == SET
        found = plans.take()
        assert crowded.execute(superseded).fetchone() == (SET if again else 0,)
    assert_reads_only(found, LOOKED_AT * SET, big=BIG)


@KEPT
@pytest.mark.parametrize("late", [False, True], ids=["in time", "late"])
def test_ending_retries_reads_what_was_claimed(crowded: Transaction, late: bool, kept: bool) -> None:
    """Half succeeded and half failed; or all of them come from a worker whose token is good for nothing any more."""
    with carried_out(crowded, kept=kept) as plans, acting(crowded, Authority.ERROR_WORKER):
        claimed = retrying.claim(crowded, limit=1000, worker="w")
        outcomes = [outcome(one, failed=n % 2 == 0, late=late) for n, one in enumerate(claimed)]
        plans.take()
        ended = retrying.finish(crowded, outcomes)
        found = plans.take()
    expected = {"late": BUSY} if late else {"RESOLVED": BUSY // 2, "RETRY_PENDING": BUSY // 2}
    assert Counter(one.status for one in ended) == expected
    assert_reads_only(found, LOOKED_AT * BUSY, big=BIG)


@KEPT
def test_a_retry_in_the_foreground_reads_its_own_error(crowded: Transaction, kept: bool) -> None:
    query = "select error_table, error_id from recoup.error where error_message = 'due' limit 1"
    table, error_id = crowded.execute(query).fetchone() or ("", 0)
    given = {"error_table": table, "error_id": error_id, "worker": "w", "lease": None}
    with carried_out(crowded, kept=kept) as plans, acting(crowded, Authority.ERROR_WORKER):
        plans.take()
        assert crowded.execute(foreground.Q["claim_one"], given).rowcount == 1
        assert_reads_only(plans.take(), LOOKED_AT, big=BIG)


def outcome(one: Claimed, *, failed: bool, late: bool) -> Succeeded | Failed:
    token = uuid.uuid4() if late else one.token
    if failed:
        return Failed(error_table=one.error_table, error_id=one.error_id, token=token, failure="not yet", traceback="T")
    return Succeeded(error_table=one.error_table, error_id=one.error_id, token=token)


@KEPT
@pytest.mark.parametrize("verb", [parking.unpark, parking.resolve, parking.review, parking.archive])
def test_what_people_do_reads_the_errors_that_they_name(
    crowded: Transaction, verb: Callable[[Transaction, list[ErrorKey]], list[parking.Answer]], kept: bool
) -> None:
    """A hundred parked errors, of three tables, by their ids."""
    with carried_out(crowded, kept=kept) as plans, acting(crowded, Authority.OPERATOR):
        named = parked(crowded)
        plans.take()
        assert [answer.done for answer in verb(crowded, named)] == [True] * SET
        found = plans.take()
    assert_reads_only(found, LOOKED_AT * SET, big=BIG)


@pytest.fixture(scope="module")
def emptied(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """A superuser's connection to a database whose first table was vacuumed when all but one of its errors had gone."""
    table = BLOCKING[0]
    with contextlib.closing(connect(server.uri(new_database(simulated_from=None), admin=True), settings)) as admin:
        with admin.transaction(), acting(admin, Authority.HUB):
            record(admin, [NewError(table=table, message=MESSAGE, outreach_id=entity(n)) for n in range(3000)])
        guards = admin.execute("select tgname from pg_trigger where tgrelid = %s::regclass", (table,)).fetchall()
        with admin.transaction():
            admin.execute(f"alter table {table} disable trigger user")
            admin.execute(f"delete from {table} where error_id < (select max(error_id) from {table})")
            for (guard,) in guards:
                fires = "replica" if guard == "a_refuse_replicated" else "always"
                admin.execute(f"alter table {table} enable {fires} trigger {guard}")
        admin.execute(f"alter table {table} set (autovacuum_enabled = off)")
        admin.execute(f"vacuum {table}")
        admin.execute(NONE_LEFT, {"table": table})
        yield admin


NONE_LEFT = """
update pg_class set reltuples = 0
 where oid = %(table)s::regclass or oid in (select indexrelid from pg_index where indrelid = %(table)s::regclass)
"""


def test_a_table_that_was_empty_is_read_no_more_than_another(emptied: Transaction) -> None:
    """Recorded, superseded, claimed and ended, a hundred at a time, while the planner believes that there are none."""
    # Due at once: a person has it retried, and by itself it would not be.
    due = [NewError(table=BLOCKING[0], message="no such column", want=Want.RETRY, outreach_id=one) for one in FRESH]
    with carried_out(emptied, kept=True) as plans:
        with acting(emptied, Authority.HUB):
            for _ in range(3):
                assert len(record(emptied, due)) == SET
        with acting(emptied, Authority.ERROR_WORKER):
            claimed = retrying.claim(emptied, limit=SET, worker="w")
            ended = retrying.finish(emptied, [outcome(one, failed=False, late=False) for one in claimed])
        found = plans.take()
    assert [one.status for one in ended] == ["RESOLVED"] * SET
    assert_reads_only(found, LOOKED_AT * SET, big=BIG)


def test_groups_read_each_error_once(crowded: Transaction) -> None:
    """However many groups are shown: examples are found by their ids, and entities counted from what was read."""
    with carried_out(crowded, kept=False) as plans, acting(crowded, Authority.READER):
        found = grouping.largest(crowded, Filter(), limit=1000)
        carried = plans.take()
    groups = [(one.error_signature, one.errors) for one in found.groups]
    assert groups == [(SIGNATURE, IDLE), ("busy", 4 * BUSY), ("parked", 2 * BUSY)]
    read = sum(handled(node) for plan in carried for node in nodes(plan["Plan"]) if node.get("Relation Name") in BIG)
    assert found.all_errors <= read <= found.all_errors + LOOKED_AT * BUSY


def test_the_newest_are_grouped_without_reading_the_others(crowded: Transaction) -> None:
    """What the inbox of the console reads does not grow with the table, and neither do its counts by hour."""
    newest = 20_000
    with carried_out(crowded, kept=False) as plans, acting(crowded, Authority.READER):
        found = grouping.largest(crowded, Filter(), limit=50, newest=newest)
        keys = [one.error_signature for one in found.groups]
        hours = grouping.recent(crowded, Filter(), keys, newest=newest, step=timedelta(hours=1), steps=24)
        carried = plans.take()
    assert 0 < found.all_errors <= newest
    assert hours.keys() == set(keys)
    assert_reads_only(carried, 4 * newest + LOOKED_AT * BUSY, big=BIG)


def parked(tx: Transaction) -> list[ErrorKey]:
    rows = tx.execute(
        "select error_table, error_id from recoup.error"
        " where error_table = any(%s) and status = 'PARKED' order by error_id limit %s",
        (list(BLOCKING), SET),
    )
    return [ErrorKey(*row) for row in rows]


def test_the_rows_are_there(crowded: Transaction) -> None:
    """The tests above mean nothing over small tables, nor without what hangs on them."""
    sizes = crowded.execute("select count(*) from recoup.error group by error_table").fetchall()
    assert len(sizes) == len(TABLES)
    assert min(size for (size,) in sizes) > IDLE / len(TABLES) - 1
    off = (
        "select count(*) from pg_trigger where tgrelid = any(%s::regclass[]) and not tgisinternal"
        " and tgenabled not in ('A', 'R')"
    )
    assert crowded.execute(off, (["recoup.error", "recoup.error_event", *TABLES],)).fetchone() == (0,)


def test_metrics_read_the_window_of_the_log_and_indexes_of_the_tables(crowded: Transaction) -> None:
    """No error table is read, and of the log what is in the window, once its pages are summed up by a VACUUM."""
    (summed_up,) = crowded.execute("select reltuples >= 0 from pg_class where relname = 'error_event'").fetchone() or (
        0,
    )
    recent = [NewError(table=BLOCKING[0], message=MESSAGE, outreach_id=one) for one in FRESH]
    with carried_out(crowded, kept=False) as plans:
        with acting(crowded, Authority.HUB):
            record(crowded, recent)
        plans.take()
        with acting(crowded, Authority.READER):
            found = metrics.metrics(crowded)
        taken = plans.take()
    assert found.overall.recorded == SET
    # Two of four wait for a retry and one is parked in tables that block, one table has parked ones only.
    assert found.overall.blocking_errors > IDLE // len(TABLES) * 2
    if summed_up:
        for plan in taken:
            for node in nodes(plan["Plan"]):
                told = (node["Node Type"], node.get("Relation Name"), node.get("Index Name"), plan["Query Text"][:200])
                relation = node.get("Relation Name")
                assert node["Node Type"] != "Seq Scan" or relation not in BIG - {"error_queue"}, told
                assert relation != "error_event" or handled(node) < IDLE // 10, told
