"""A database of an older program is brought up to date with what it holds."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg

from company import acting
from product import DUTIES, INVARIANTS, LOGS, MIGRATIONS, RELEASES, WHOLE, chosen
from recoup.audit import audit
from recoup.database import backup, embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.database.roles import as_owner, ensure_roles
from recoup.domains import DOMAINS
from recoup.errors.retrying import Failed, Succeeded, finish
from recoup.ledger import seals
from recoup.ledger.logs import LATE_RESULT
from recoup.lifecycles.declaration import Authority
from recoup.platform import PLATFORM
from recoup.schema import migrate
from recoup.settings import Settings
from recoup.worker.loop import WorkerLoop

# What stood there before policies had versions: a completed batch, one that is still open, an attempt.
ROWS = """
insert into recoup.clock (status) values ('real');
insert into recoup.incarnation select 1, system_identifier, now() - interval '3 days' from pg_control_system();
insert into cl.gate_zero_batch (batch_id, imported_at, completed_at, batch_freeze_at)
values ('complete', now() - interval '3 days', now() - interval '2 days',
        now() - interval '2 days' + interval '336 hours');
insert into cl.gate_zero_batch (batch_id, imported_at) values ('open', now() - interval '3 days');
insert into cl.gate_zero_intake (intake_id, batch_id, company_name, status, created_at, updated_at)
values ('00000000-0000-7000-8000-000000000001', 'complete', 'Acme', 'PENDING', now() - interval '3 days',
        now() - interval '3 days');
insert into cl.gate_zero_attempt (attempt_id, intake_id, batch_id, attempt_number, worker, opened_at, lease_until)
values ('00000000-0000-7000-8000-000000000002', '00000000-0000-7000-8000-000000000001', 'complete', 1, 'w',
        now() - interval '1 hour', now() - interval '30 minutes');
insert into cl.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation,
                              attempt_id, actor_id, authority)
select intake_id, 'ATTEMPT', 'START', batch_id, 'system', opened_at, 1, attempt_id, 'w', 'recoup_gate'
  from cl.gate_zero_attempt;
insert into recoup.late_result (subject, unit_id, token, result, received_at, actor_id)
values ('cl.gate_zero_attempt', '00000000-0000-7000-8000-000000000002', gen_random_uuid(), '{}', now(), 'w');
"""


def test_rows_of_an_older_schema_are_stamped_and_go_on(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> None:
    """Version 1 of the policy holds the figures they were decided by; guards are on; the audit finds nothing."""
    name = new_database(migrated=False)
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
        ensure_roles(connection, login=server.app)
        with connection.transaction(), as_owner(connection):
            migrate.ensure_history(connection)
            for file in MIGRATIONS[:2]:
                migrate.apply(connection, file)
            connection.execute(ROWS)
        done = migrate.migrate(connection, DOMAINS, login=server.app)
        assert done.applied == tuple(file.path.rpartition("/")[2] for file in MIGRATIONS[2:])
        stamps = connection.execute("select batch_id, policy_version from cl.gate_zero_batch order by 1").fetchall()
        assert stamps == [("complete", 1), ("open", None)]
        off = connection.execute(
            "select tgrelid::regclass::text, tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid"
            " join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname in ('cl', 'recoup') and not tgisinternal and tgenabled not in ('A', 'R')"
        ).fetchall()
        assert off == []
    with Database(server.uri(name), settings) as database:
        done_by = WorkerLoop(database, DUTIES, name="after the upgrade").run_once()
        assert done_by["attempt-sweep"] == 1
        with database.transaction(Authority.READER) as tx:
            row = tx.execute("select policy_version, status from cl.gate_zero_attempt").fetchone()
        assert row == (1, "crashed")
        with contextlib.closing(connect(server.uri(name), settings)) as connection:
            broken = [verdict for verdict in audit(connection, chosen(())) if not verdict.holds]
        assert broken == []


BEFORE_ERRORS = 4  # migrations
LATE = """
insert into recoup.clock (status) values ('real');
insert into recoup.incarnation select 1, system_identifier, now() - interval '3 days' from pg_control_system();
insert into recoup.late_result (subject, unit_id, token, result, received_at, actor_id)
values ('cl.gate_zero_attempt', '00000000-0000-7000-8000-000000000002', gen_random_uuid(), '{}', now(), 'w');
"""
# The functions that a sealer of that time needed, out of today's files: those that know of no table that came later.
FUNCTION = re.compile(r"^create or replace function recoup\.\w+\(.*?^(?:end )?\$\$;", re.DOTALL | re.MULTILINE)
LATER = re.compile(r"recoup\.(follower|log|domain|pausable|policy_bound|error|operation)\b")


def sealers() -> Iterator[str]:
    for file in PLATFORM.routines:
        for found in FUNCTION.findall(file.text):
            if not LATER.search(found):  # logins were not kept then
                yield found.replace("block.login := session_user;", "").replace(
                    "seal_text(block)", "seal_text_1(block)"
                )
    (body,) = (LATE_RESULT.canon_body(version) for version in (1,))
    yield f"create function recoup.canon_late_result_1(l recoup.late_result) returns text language sql as $${body}$$"


def test_what_was_sealed_of_an_older_schema_stays_sealed(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> None:
    """A late result named its unit by uuid, and now by text: the same letters, so the same digest."""
    name = new_database(migrated=False)
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
        ensure_roles(connection, login=server.app)
        with connection.transaction(), as_owner(connection):
            migrate.ensure_history(connection)
            for file in MIGRATIONS[:BEFORE_ERRORS]:
                migrate.apply(connection, file)
            connection.execute(LATE)
            connection.execute("set local check_function_bodies = off")
            for function in sealers():
                connection.execute(function.encode())
            connection.execute("grant execute on function recoup.seal_next to recoup_archiver")
        with connection.transaction(), acting(connection, Authority.ARCHIVER):
            connection.execute("select from recoup.seal_next('recoup.late_result', 1, 100, '1 hour')")
        before = connection.execute("select log, rows, rows_digest, digest from recoup.seal").fetchall()
        assert [(log, rows) for log, rows, _, _ in before] == [("recoup.late_result", 1)]
        unit = "select unit_id::text, pg_typeof(unit_id)::text from recoup.late_result"
        ((named, kind),) = connection.execute(unit).fetchall()
        assert kind == "uuid"
        done = migrate.migrate(connection, DOMAINS, login=server.app)
        assert done.applied == tuple(file.path.rpartition("/")[2] for file in MIGRATIONS[BEFORE_ERRORS:])
        assert connection.execute(unit).fetchall() == [(named, "text")]
        assert connection.execute("select log, rows, rows_digest, digest from recoup.seal").fetchall() == before
        with connection.transaction(), acting(connection, Authority.READER):
            assert seals.verify(connection, LOGS) == []
        # It is found out that way: were the letters others, the seal would not fit.
        with connection.transaction(force_rollback=True):
            connection.execute("alter table recoup.late_result disable trigger all")
            connection.execute("update recoup.late_result set unit_id = upper(unit_id) || 'A'")
            with acting(connection, Authority.READER):
                assert seals.verify(connection, LOGS) != []


# Every error that waits for its retry, before there was a queue and since: due when, how many retries, held by whom.
WAITING = """
select error_id, error_table, retry_count, max_retries, retry_until, coalesce(lease_until, next_retry_at), token,
       leased_by
  from recoup.error where status = 'RETRY_PENDING' and archived_at is null order by 1
"""
QUEUED = """
select q.unit, q.part, q.round, q.max_retries, q.until, q.wake_at, q.token, q.worker
  from recoup.error_queue q order by 1
"""


def _in_flight(connection: Transaction) -> list[tuple[str, int, UUID]]:
    """Retries that a worker of the program before has claimed, and not ended."""
    with connection.transaction(), acting(connection, Authority.ERROR_WORKER):
        connection.execute("select set_config('recoup.actor_id', 'old', true)")
        found = connection.execute("select tables, ids, token_ from recoup.claim_errors(null, 3, 'old', '1 hour')")
        tables, ids, token = found.fetchone() or ((), (), None)
    assert len(ids) == 3
    assert token is not None
    return [(table, error, token) for table, error in zip(tables, ids, strict=True)]


def _ended(connection: Transaction, held: list[tuple[str, int, UUID]]) -> None:
    """By a worker of this program, with the tokens of before: each way that a retry can end."""
    (first, second, third) = held
    with connection.transaction(), acting(connection, Authority.ERROR_WORKER):
        outcomes: list[Succeeded | Failed] = [
            Succeeded(error_table=first[0], error_id=first[1], token=first[2]),
            Failed(error_table=second[0], error_id=second[1], token=second[2], failure="still down"),
            Succeeded(error_table=third[0], error_id=third[1], token=uuid4()),
        ]
        became = dict(finish(connection, outcomes))
    assert became[first[1]] == "RESOLVED"
    assert became[second[1]] in ("RETRY_PENDING", "PARKED", "ACTIVE")
    assert became[third[1]] == "late"
    broken = [verdict for verdict in audit(connection, INVARIANTS, whole=WHOLE) if not verdict.holds]
    assert broken == []


# Written by PostgreSQL 15, so that 15 and what is newer read it.
BEFORE_DOMAINS = Path(__file__).with_name("data") / "demo-before-domains.dump"


def test_a_database_from_before_domains_is_brought_up_to_date_with_the_demo_in_it(
    server: embedded.Server, settings: Settings
) -> None:
    """Ninety days of errors, twenty of Gate Zero, sealed by the program before: nothing of it is lost or doubted."""
    uri = server.uri("test_before_domains", admin=True)
    lacks = backup.restore(settings, uri, BEFORE_DOMAINS, RELEASES, replace=False, login=server.app).lacks
    assert lacks == tuple(release.domain for release in RELEASES)
    with contextlib.closing(connect(uri, settings)) as connection:
        before = connection.execute("select number, digest from recoup.seal order by 1").fetchall()
        items = connection.execute("select count(*) from recoup.error_operation_item").fetchone()
        held = _in_flight(connection)
        waiting = connection.execute(WAITING).fetchall()
        done = migrate.migrate(connection, DOMAINS, login=server.app)
        applied = [file.path.rpartition("/")[2] for file in MIGRATIONS if file.path.rpartition("/")[2] >= "0006"]
        assert (list(done.applied), done.kept, done.made) == (applied, (), ())
        assert connection.execute("select number, digest from recoup.seal order by 1").fetchall() == before
        assert connection.execute("select count(*) from recoup.operation_item").fetchone() == items
        broken = [verdict for verdict in audit(connection, INVARIANTS, whole=WHOLE) if not verdict.holds]
        assert broken == []
        assert connection.execute(QUEUED).fetchall() == waiting
        _ended(connection, held)
        with connection.transaction(), acting(connection, Authority.READER):
            checked = seals.examine(connection, LOGS)
        assert (checked.seals, checked.problems) == (len(before), ())
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        admin.execute("drop database test_before_domains with (force)")
