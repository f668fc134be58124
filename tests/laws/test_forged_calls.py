"""Nobody imitates a recorder or a consequence, but whoever could switch the triggers off as well.

A login that may take every authority, with a schema of its own, tables, triggers and functions named like ours, writes
lies into every setting. What the owner or a superuser forges is found by the audit.
"""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import product

import psycopg
import pytest

import extraction
from company import acting, advance, failed_intake, new_intake, open_attempt, recovery_in
from laws.rows import insertion
from product import LIFECYCLES, LOGS, chosen
from recoup.audit.examine import examine
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority

CLOSED = [log.table for log in LOGS if log.recorders or log.door == "recoup.only_sealers"]
LIES = (
    "perform set_config('recoup.acting_role', 'recoup_operator', false), set_config('recoup.migrating', 'on', false);"
    " perform set_config('recoup.acting_role', 'recoup_operator', true)"
)
FRAME = '/*"\nPL/pgSQL function {0}() line 1 at SQL statement\nSQL statement "*/'
DENIED = ("permission denied for table", "permission denied for sequence", "permission denied for schema")
NOT_OWNED = ("must be owner of", "permission denied to set role", "permission denied for function")
# How a statement is sent: plainly, or out of a trigger of one's own whose function is named like ours.
WAYS = ("plain", "security invoker", "security definer")


@pytest.fixture
def hostile(scratch: Transaction) -> Transaction:
    """The login itself: it is no superuser, whatever it does."""
    scratch.execute("create role hostile login noinherit; create schema hostile authorization hostile")
    for authority in Authority:
        scratch.execute(f"grant {authority.role} to hostile")
        scratch.execute(f"grant all on schema hostile to {authority.role}")
    return scratch


def sent(tx: Transaction, way: str, statement: str) -> None:
    """Send it as whoever acts, after all settings are lies."""
    tx.execute(f"do $$ begin {LIES}; end $$")
    if way == "plain":
        tx.execute(statement.encode())
        return
    tx.execute("create table hostile.bait (x integer)")
    tx.execute(
        f"create function hostile.settle_attempts() returns trigger language plpgsql {way} as $$ begin"
        f" {LIES}; {statement}; {LIES}; return null; end $$"
    )
    tx.execute("create trigger d_settle after insert on hostile.bait for each row"
               " execute function hostile.settle_attempts()")  # fmt: skip
    tx.execute("insert into hostile.bait values (1)")


def answer(tx: Transaction, way: str, statement: str, who: Authority | str | None) -> str:
    """What the database says to the hostile login acting as somebody; nothing of it stays.

    Of a right that is missing it says to which table: to those of the login's own none may be.
    """
    try:
        with tx.transaction(force_rollback=True):
            tx.execute("set local session authorization hostile")
            with acting(tx, who):
                sent(tx, way, statement)
    except psycopg.errors.InsufficientPrivilege as error:
        said = str(error.diag.message_primary)
        assert not said.endswith(("bait", "hostile")), error
        return said
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return "done"


@pytest.mark.parametrize("log", CLOSED)
def test_no_row_gets_into_a_log(hostile: Transaction, log: str) -> None:
    """Neither the login nor any authority holds the right to write one; and if one did, the log would refuse it."""
    row = f"{insertion(hostile, log, {}).as_string(hostile)} {FRAME.format('recoup.record_control')}"
    for who, way in product((None, *Authority), WAYS):
        assert answer(hostile, way, row, who).startswith(DENIED), (who, way)
    hostile.execute(f"grant all on {log} to recoup_gate; grant usage on all sequences in schema recoup to recoup_gate")
    for way in WAYS:
        assert answer(hostile, way, row, Authority.GATE) == "RC010", way


def test_no_step_that_is_a_consequence_is_made(hostile: Transaction) -> None:
    """The gate itself authorises no intake without an attempt, and makes and moves no recovery."""
    pending, failed = new_intake(hostile), failed_intake(hostile)
    through = {(life.table, move.target) for life in LIFECYCLES for move in life.moves if move.via}
    assert through == {
        ("cl.gate_zero_intake", "AUTHORIZED"), ("cl.gate_zero_intake", "FAILED"),
        ("cl.gate_zero_intake", "REENTER_SUCCEEDED"), ("cl.gate_zero_intake", "EXHAUSTED"),
        ("cl.gate_zero_recovery", "ACTIVE"), ("cl.gate_zero_recovery", "SUCCEEDED"),
        ("recoup.error", "RESOLVED"), ("recoup.error_redaction", "DONE"),  # tests/errors/test_erasing.py
        ("recovery.scope", "active"), ("recovery.scope", "exhausted"),  # tests/recovery/test_scopes.py
        ("recoup.error", "RETRY_PENDING"), ("recoup.error", "PARKED"), ("recoup.error", "ESCALATED"),
        ("recovery.breaker", "open"), ("recovery.breaker", "closed"),  # tests/recovery/test_breakers.py
        ("partitions.partition_state", "success"), ("partitions.partition_state", "failed"),  # the next test
        ("partitions.partition_state", "pending"), ("partitions.schedule", "open"),
        ("partitions.schedule", "waiting"), ("partitions.schedule", "terminal"),  # of requests of candidates
        ("partitions.backfill_item", "succeeded"), ("partitions.backfill_item", "failed"),
        ("partitions.backfill_item", "terminal"), ("partitions.backfill_item", "cancelled"),
    }  # fmt: skip
    frame = FRAME.format("cl.settle_attempts")
    statements = [
        f"update {table} set status = '{target}'{', attempt_count = 2' if target == 'ACTIVE' else ''} {frame} where"
        f" intake_id = '{pending if target in ('AUTHORIZED', 'FAILED') else failed}'"
        for table, target in sorted(through)
        if table.startswith("cl.")
    ]
    statements.append(
        "insert into cl.gate_zero_recovery (intake_id, failure_reason, next_eligible_at)"
        f" values ('{pending}', 'TIMEOUT', recoup.now()) {frame}"
    )
    for statement, way in product(statements, WAYS):
        assert answer(hostile, way, statement, Authority.GATE) == "RC012", (statement, way)
        assert answer(hostile, way, statement, Authority.HUB).startswith(("RC002", *DENIED)), (statement, way)
        assert answer(hostile, way, statement, None).startswith(DENIED), (statement, way)


@pytest.mark.parametrize("way", WAYS)
def test_no_partition_is_judged_or_requeued_without_a_run(hostile: Transaction, way: str) -> None:
    """Not by the validator, not by the control plane, and opened by neither."""
    new, failed = extraction.new_partition(hostile), extraction.failed(hostile)
    state, run = "update partitions.partition_state set", FRAME.format("partitions.settle_run_moves")
    for who, statement in (
        (Authority.VALIDATOR, f"{state} status = 'failed', attempt_count = 1, error_message = 'm' {run}"
         f" where partition_id = {new}"),
        (Authority.CONTROL_PLANE, f"{state} status = 'pending' {FRAME.format('partitions.settle_schedules')}"
         f" where partition_id = {failed}"),
        (Authority.CONTROL_PLANE, "update partitions.schedule set status = 'open', next_run_at = null,"
         f" run_id = gen_random_uuid() {FRAME.format('partitions.settle_run_births')} where partition_id = {new}"),
    ):  # fmt: skip
        assert answer(hostile, way, statement, who) == "RC012", (statement, way)
        assert answer(hostile, way, statement, Authority.EXTRACTOR).startswith(DENIED), (statement, way)


@pytest.mark.parametrize("way", WAYS)
def test_an_event_names_who_acted_whatever_a_session_says(hostile: Transaction, way: str) -> None:
    """In the log of the move itself, and in that of what follows from it."""
    attempt = open_attempt(hostile, new_intake(hostile))
    recovery = recovery_in(hostile, "ACTIVE")
    (intake,) = hostile.execute(
        "select intake_id from cl.gate_zero_recovery where recovery_id = %s", (recovery,)
    ).fetchone() or (None,)
    (last,) = hostile.execute("select coalesce(max(seq), 0) from cl.gate_zero_air").fetchone() or (0,)
    hostile.execute("set local session authorization hostile")
    with acting(hostile, Authority.GATE):
        sent(hostile, way, "update cl.gate_zero_attempt set status = 'failed', reason_code = 'TIMEOUT',"
             " ended_with = token, finished_at ="
             f" opened_at + interval '1 microsecond' where attempt_id = '{attempt.attempt_id}'")  # fmt: skip
    hostile.execute("reset session authorization")
    hostile.execute("drop table if exists hostile.bait; drop function if exists hostile.settle_attempts()")
    advance(hostile, timedelta(days=14))
    hostile.execute("set local session authorization hostile")
    with acting(hostile, Authority.GATE):
        sent(hostile, way, "update cl.gate_zero_recovery set status = 'EXHAUSTED', next_eligible_at = recoup.never(),"
             f" updated_at = recoup.now() where recovery_id = '{recovery}'")  # fmt: skip
    hostile.execute("reset session authorization")
    told = hostile.execute(
        "select event_type, authority from cl.gate_zero_air where seq > %s and entity_id in (%s, %s) order by seq",
        (last, attempt.intake_id, intake),
    ).fetchall()
    assert told == [("FAIL", "recoup_gate"), ("EXHAUSTED", "recoup_gate")]


def test_nobody_gets_hold_of_what_the_owner_has(hostile: Transaction) -> None:
    """Neither the owner itself, nor its trigger functions on a table of one's own, nor a cascade into its tables."""
    hostile.execute("create table hostile.own (like cl.gate_zero_attempt); alter table hostile.own owner to hostile")
    for statement, who in product(
        (
            f"set role {OWNER}",
            "alter table cl.gate_zero_intake disable trigger a_guard_moves",
            "create trigger z after insert on cl.gate_zero_intake execute function hostile.settle_attempts()",
            "create table hostile.child (i uuid references cl.gate_zero_intake on delete cascade)",
            "alter table cl.gate_zero_recovery add foreign key (intake_id) references hostile.own on delete cascade",
            "alter function cl.settle_attempts() owner to hostile",
            "insert into recoup.lifecycle_step select * from recoup.lifecycle_step",
            *(
                f"create trigger z after insert on hostile.own referencing new table as new_rows for each statement"
                f" execute function {function}()"
                for function in ("cl.record_attempt_births", "cl.settle_attempts", "recoup.record_control")
            ),
        ),
        (None, Authority.GATE),
    ):
        assert answer(hostile, "plain", statement, who).startswith((*DENIED, *NOT_OWNED)), (statement, who)


def test_functions_of_the_owner_are_few_and_each_does_its_own(admin: Transaction) -> None:
    """They find nothing by a caller's search path; others call nine of them; recorders alone write logs."""
    definers = admin.execute(
        "select p.oid::regproc::text, p.proconfig, p.prosrc, exists (select from aclexplode(coalesce(p.proacl,"
        " acldefault('f', p.proowner))) a where a.grantee <> p.proowner) from pg_proc p"
        " where p.proowner = to_regrole(%s) and p.prosecdef",
        (OWNER,),
    ).fetchall()
    assert {name for name, settings, _, _ in definers if "search_path=pg_catalog, pg_temp" not in settings} == set()
    assert {name for name, _, _, called in definers if called} == {
        "recoup.present_incarnation", "recoup.seal_next",
        "recovery.hold_errors", "recovery.kept_errors",  # one locks rows, the other reads them
        "recovery.hold_scopes", "recovery.hold_matches",  # lock rows
        "recoup.begin_request", "recoup.end_request",  # what one caller sent, and what it was answered
        "recoup.drop_old_requests",  # empties what is older than a day
    }  # fmt: skip
    for log in LOGS:
        writes = re.compile(rf"insert into {re.escape(log.table)}\s")
        if log.recorders:
            assert {name for name, _, text, _ in definers if writes.search(text)} == set(log.recorders)


def test_no_foreign_key_changes_our_rows(admin: Transaction) -> None:
    """A cascade runs as the owner of the table, behind a trigger: it would pass for a consequence."""
    acting_keys = admin.execute(
        "select k.conname from pg_constraint k join pg_class c on c.oid = k.conrelid"
        " where c.relowner = to_regrole(%s) and k.contype = 'f'"
        " and (k.confdeltype not in ('a', 'r') or k.confupdtype not in ('a', 'r'))",
        (OWNER,),
    ).fetchall()
    assert acting_keys == []


# The owner and superusers --------------------------------------------------------------------------------------------

privileged = pytest.mark.parametrize("who", [OWNER, None], ids=["owner", "superuser"])


def from_a_trigger(tx: Transaction, statement: str, *, definer: bool) -> None:
    tx.execute("create table cl.bait (x integer); grant insert on cl.bait to recoup_reader")
    tx.execute(
        f"create function cl.own() returns trigger language plpgsql security {'definer' if definer else 'invoker'}"
        f" as $$ begin {statement}; return null; end $$"
    )
    tx.execute("create trigger t after insert on cl.bait for each statement execute function cl.own()")
    if definer:
        tx.execute(f"alter function cl.own() owner to {OWNER}; set local role recoup_reader")
    tx.execute("insert into cl.bait values (1)")


@privileged
def test_their_own_hands_are_refused_behind_a_trigger_too(scratch: Transaction, who: str | None) -> None:
    event = insertion(scratch, "cl.gate_zero_air", {}).as_string(scratch)
    with pytest.raises(psycopg.Error) as caught, acting(scratch, who):
        from_a_trigger(scratch, f"{event} {FRAME.format('cl.record_attempt_births')}", definer=False)
    assert caught.value.sqlstate == "RC010"


@privileged
def test_an_event_that_they_forge_is_found(scratch: Transaction, who: str | None) -> None:
    """Who can switch the triggers off can also deceive them. The audit asks for what is behind each event."""
    event = insertion(scratch, "cl.gate_zero_air", {}).as_string(scratch)
    assert broken(scratch, "gate_zero_air") == 0
    with acting(scratch, who):
        from_a_trigger(scratch, event, definer=True)
    assert broken(scratch, "gate_zero_air") > 0


def test_a_seal_that_they_forge_is_found(scratch: Transaction) -> None:
    """It seals nothing, and does not fit the chain."""
    seal = insertion(scratch, "recoup.seal", {}).as_string(scratch)
    assert broken(scratch, "laws/L10/seals") == 0
    scratch.execute(
        f"create function cl.own() returns void language plpgsql security definer as $$ begin {seal}; end $$"
    )
    scratch.execute(f"alter function cl.own() owner to {OWNER}")
    scratch.execute("select cl.own()")
    assert broken(scratch, "laws/L10/seals") > 0


def broken(tx: Transaction, asked: str) -> int:
    """How many rows break an invariant of these."""
    with acting(tx, Authority.READER):
        return sum(verdict.found for verdict in examine(tx, chosen([asked])))
