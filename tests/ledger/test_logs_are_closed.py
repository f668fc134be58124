"""Nobody writes, changes or removes an event by hand: not the owner, not a superuser who leaves the triggers on."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from company import acting, intake_in, minted, new_batch, new_error
from recoup import gate
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority

NO_RIGHT = "42501"
AIR_ROW = (
    "(entity_id, event_type, reason_code, actor, event_timestamp, incarnation, actor_id, authority)"
    " values (gen_random_uuid(), 'AUTH', 'EXISTENCE_CONFIRMED', 'human', now(), 1, 'mallory', 'recoup_gate')"
)
MINT_ROW = (
    "(entity_id, actor, event_timestamp, incarnation, sovereign_company_id, actor_id, authority)"
    " values (gen_random_uuid(), 'human', now(), 1, gen_random_uuid(), 'mallory', 'recoup_mint')"
)
PAUSE_ROW = (
    "(incarnation, logged_at, event_type, scope, scope_id, reason, actor, actor_id, authority)"
    " values (1, now(), 'PAUSE', 'batch', 'b', 'r', 'human', 'mallory', 'recoup_operator')"
)
CONTROL_ROW = (
    "(incarnation, logged_at, subject, key, event_type, to_status, facts, reason, actor, actor_id, authority)"
    " values (1, now(), 'recoup.worker', 'w', 'BIRTH', 'running', '{}', 'r', 'human', 'mallory', 'recoup_runner')"
)
ERROR_ROW = (
    "(incarnation, logged_at, error_table, error_id, event_type, disposition, retry_count, actor, actor_id, authority)"
    " values (1, now(), 'outreach.dol_errors', 1, 'RESOLVED', 'PARKED', 0, 'human', 'mallory', 'recoup_operator')"
)
LOGS = {
    "cl.gate_zero_air": AIR_ROW,
    "cl.sovereign_mint_air": MINT_ROW,
    "recoup.pause_log": PAUSE_ROW,
    "recoup.control_log": CONTROL_ROW,
    "recoup.error_event": ERROR_ROW,
}
ACTORS: tuple[Authority | str | None, ...] = (*Authority, OWNER, None)


def sqlstate(tx: Transaction, statement: str, parameters: Any = None) -> str | None:
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        tx.execute(statement, parameters)
    return caught.value.sqlstate


@pytest.fixture
def written(scratch: Transaction) -> Transaction:
    """Every log holds a row."""
    minted(scratch)
    batch = new_batch(scratch)
    with acting(scratch, Authority.OPERATOR):
        gate.pause_batch(scratch, batch, reason="look")
    new_error(scratch)
    return scratch


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("actor", ACTORS)
def test_nobody_writes_an_event_by_hand(written: Transaction, log: str, actor: Any) -> None:
    """Plain, in a DO block, in a function, by COPY: without the move there is no event."""
    refused = NO_RIGHT if isinstance(actor, Authority) else "RC010"
    with acting(written, actor):
        assert sqlstate(written, f"insert into {log} {LOGS[log]}") == refused
        assert sqlstate(written, f"do $$ begin insert into {log} {LOGS[log]}; end $$") == refused
        assert sqlstate(written, f"copy {log} (seq) from program 'true'") in (refused, NO_RIGHT)


@pytest.mark.parametrize("actor", [OWNER, None])
def test_a_trigger_of_ones_own_is_no_recorder(written: Transaction, actor: Any) -> None:
    """Inside some other trigger, or inside a function that borrows a recorder's name, the log stays closed."""
    written.execute(f"""
        create schema cl_; grant all on schema cl_ to {OWNER};
        create table cl_.bait (x integer); grant all on cl_.bait to {OWNER};
        create function cl_.record_attempt_births() returns trigger language plpgsql as $$
        begin insert into cl.gate_zero_air {AIR_ROW}; return null; end $$;
        create trigger t after insert on cl_.bait for each statement execute function cl_.record_attempt_births();
    """)
    with acting(written, actor):
        assert sqlstate(written, "insert into cl_.bait values (1)") == "RC010"


# A recorder, put on a table that only looks like its own.
BAITS = {
    "cl.gate_zero_air": """
        create temporary table bait (like cl.gate_zero_attempt);
        create trigger t after insert on bait referencing new table as new_rows
          for each statement execute function cl.record_attempt_births();
        insert into bait (attempt_id, intake_id, attempt_number, status, worker, token, opened_at, lease_until,
                          policy_version)
        values (gen_random_uuid(), gen_random_uuid(), 1, 'open', 'mallory', gen_random_uuid(), now(), now(), 1);
    """,
    "cl.sovereign_mint_air": """
        create temporary table bait (like cl.company_identity);
        create trigger t after insert on bait referencing new table as new_rows
          for each statement execute function cl.record_identity_births();
        insert into bait (sovereign_company_id, intake_id, company_name, minted_at, status)
        select gen_random_uuid(), intake_id, company_name, now(), 'MINTED' from cl.gate_zero_intake limit 1;
    """,
    "recoup.error_event": """
        create temporary table bait (like recoup.error);
        create trigger t after insert on bait referencing new table as new_rows
          for each statement execute function recoup.record_error_births();
        insert into bait select (e).* from (
          select jsonb_populate_record(e, jsonb_build_object('error_id', 1)) as e from recoup.error e limit 1) forged;
    """,
}


@pytest.mark.parametrize("log", BAITS)
@pytest.mark.parametrize("actor", ACTORS)
def test_a_recorder_on_a_table_of_ones_own_records_nothing(written: Transaction, actor: Any, log: str) -> None:
    """Its rows would be forged moves: an authority may not make the trigger, and the recorder knows its table."""
    before = written.execute(f"select count(*) from {log}").fetchone()
    with acting(written, actor):
        assert sqlstate(written, BAITS[log]) == (NO_RIGHT if isinstance(actor, Authority) else "RC010")
    assert written.execute(f"select count(*) from {log}").fetchone() == before


def test_a_recorder_cannot_be_called(written: Transaction) -> None:
    """A trigger function outside a trigger is refused by PostgreSQL itself."""
    for recorder in ("cl.record_attempt_births", "cl.record_identity_births", "recoup.archive_errors_gone"):
        assert sqlstate(written, f"select {recorder}()") == "0A000"


@pytest.mark.parametrize("log", [*LOGS, "recoup.late_result", "recoup.incarnation"])
@pytest.mark.parametrize("actor", ACTORS)
def test_what_is_written_stays(written: Transaction, log: str, actor: Any) -> None:
    """UPDATE, DELETE, MERGE, ON CONFLICT DO UPDATE and TRUNCATE are refused."""
    if log == "recoup.late_result":
        written.execute(
            "insert into recoup.late_result (subject, unit_id, token, result, received_at, actor_id)"
            " values ('x', 'outreach.dol_errors/7', gen_random_uuid(), '{}', now(), 'x')"
        )
    (column,) = written.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum = 2", (log,)
    ).fetchone() or ("",)
    refused = NO_RIGHT if isinstance(actor, Authority) else "RC009"
    with acting(written, actor):
        assert sqlstate(written, f"update {log} set {column} = {column}") == refused
        assert sqlstate(written, f"delete from {log}") == refused
        assert sqlstate(written, f"truncate {log}") == refused
        assert sqlstate(written, f"merge into {log} l using (values (1)) s on true when matched then delete") == refused


@pytest.mark.parametrize("log", LOGS)
def test_replica_mode_does_not_open_a_log(written: Transaction, log: str) -> None:
    """The triggers of a log are ALWAYS."""
    written.execute("set local session_replication_role = replica")
    assert sqlstate(written, f"insert into {log} {LOGS[log]}") == "RC010"
    assert sqlstate(written, f"delete from {log}") == "RC009"
    assert sqlstate(written, f"truncate {log}") == "RC009"


def test_an_event_names_who_acted(scratch: Transaction) -> None:
    """Actor and authority come from the transaction and its role, not from what the writer claims in a row."""
    scratch.execute("select set_config('recoup.actor_kind', 'human', true), set_config('recoup.actor_id', 'ada', true)")
    intake = intake_in(scratch, "AUTHORIZED")
    minted(scratch, of=intake)
    for log, authority in (("cl.gate_zero_air", "recoup_gate"), ("cl.sovereign_mint_air", "recoup_mint")):
        rows = scratch.execute(
            f"select distinct actor, actor_id, authority from {log} where entity_id = %s", (intake,)
        ).fetchall()
        assert rows == [("human", "ada", authority)]


def test_nobody_may_run_what_runs_as_the_owner(admin: Transaction) -> None:
    """A SECURITY DEFINER function that everybody may execute, or put on a table, is a door to the logs."""
    rows = admin.execute(
        "select p.oid::regprocedure::text from pg_proc p join pg_namespace s on s.oid = p.pronamespace"
        " where p.prosecdef and s.nspowner = 'recoup_owner'::regrole"
        " and (p.proacl is null or exists (select from aclexplode(p.proacl) a where a.grantee = 0))"
    ).fetchall()
    assert rows == []
