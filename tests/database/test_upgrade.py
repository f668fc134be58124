"""A database of an older program is brought up to date with what it holds."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

from company import acting
from product import DUTIES, LOGS, chosen
from recoup.audit import audit
from recoup.database import embedded, migrate
from recoup.database.connection import Database, connect
from recoup.database.roles import as_owner, ensure_roles
from recoup.ledger import seals
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings
from recoup.worker.loop import Worker

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
            migrate._ensure_books(connection)
            for file in migrate.MIGRATIONS[:2]:
                migrate._apply(connection, file, "recoup.migration")
            connection.execute(ROWS)
        done = migrate.migrate(connection, login=server.app)
        assert done.applied == tuple(file.name for file in migrate.MIGRATIONS[2:])
        stamps = connection.execute("select batch_id, policy_version from cl.gate_zero_batch order by 1").fetchall()
        assert stamps == [("complete", 1), ("open", None)]
        off = connection.execute(
            "select tgrelid::regclass::text, tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid"
            " join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname in ('cl', 'recoup') and not tgisinternal and tgenabled <> 'A'"
        ).fetchall()
        assert off == []
    with Database(server.uri(name), settings) as database:
        done_by = Worker(database, DUTIES, name="after the upgrade").run_once()
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
# Written before errors had tables. A reader of today's routines would miss the type of a log that is not there yet.
OF_ERRORS = re.compile(r"create or replace function recoup.canon_error_event_1.*?version 1.';", re.DOTALL)


def test_what_was_sealed_of_an_older_schema_stays_sealed(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> None:
    """A late result named its unit by uuid, and now by text: the same letters, so the same digest."""
    name = new_database(migrated=False)
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
        ensure_roles(connection, login=server.app)
        with connection.transaction(), as_owner(connection):
            migrate._ensure_books(connection)
            for file in migrate.MIGRATIONS[:BEFORE_ERRORS]:
                migrate._apply(connection, file, "recoup.migration")
            connection.execute(LATE)
            connection.execute("set local check_function_bodies = off")
            for file in migrate.known_routines():
                if not file.name.startswith("errors/"):
                    connection.execute(OF_ERRORS.sub("", file.text))
        with connection.transaction(), acting(connection, Authority.ARCHIVER):
            connection.execute("select from recoup.seal_next('recoup.late_result', 1, 100, '1 hour')")
        before = connection.execute("select log, rows, rows_digest, digest from recoup.seal").fetchall()
        assert [(log, rows) for log, rows, _, _ in before] == [("recoup.late_result", 1)]
        unit = "select unit_id::text, pg_typeof(unit_id)::text from recoup.late_result"
        ((named, kind),) = connection.execute(unit).fetchall()
        assert kind == "uuid"
        done = migrate.migrate(connection, login=server.app)
        assert done.applied == tuple(file.name for file in migrate.MIGRATIONS[BEFORE_ERRORS:])
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
