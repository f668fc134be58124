"""The guard against statements made to slip past it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from company import MIGRATING, acting, advance, attempt_in, batch_in, intake_in, new_intake, open_attempt, recovery_in
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.gate.lifecycle import ATTEMPT, BATCH, INTAKE, RECOVERY
from recoup.lifecycles.declaration import Authority, Lifecycle

EVERYONE: tuple[Authority | str | None, ...] = (Authority.GATE, OWNER, None)


def refusal(tx: Transaction, statement: str, parameters: Any = None) -> psycopg.Error:
    """The database's refusal of a statement. The transaction goes on as if it had not been tried."""
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        tx.execute(statement, parameters)
    return caught.value


# A listed move of each table in which its columns can be tampered with: who, what to set, and the row it starts from.
MOVES: dict[str, tuple[Lifecycle, Callable[[Transaction], Any], Authority, str]] = {
    "intake": (INTAKE, lambda tx: intake_in(tx, "PENDING"), Authority.GATE, "status = 'FAILED'"),
    "attempt": (
        ATTEMPT,
        lambda tx: attempt_in(tx, "open"),
        Authority.GATE,
        "status = 'failed', reason_code = 'TIMEOUT', finished_at = opened_at + interval '1 microsecond'",
    ),
    "recovery": (
        RECOVERY, lambda tx: recovery_in(tx, "ACTIVE"), Authority.GATE, "status = 'ACTIVE', attempt_count = 2",
    ),
    "batch": (
        BATCH,
        lambda tx: batch_in(tx, "COMPLETED"),
        Authority.OPERATOR,
        "paused_at = recoup.now(), paused_by = recoup.acting_id(), pause_reason = 'y'",
    ),
}  # fmt: skip

OTHER = {
    "uuid": "gen_random_uuid()",
    "text": "'changed'",
    "timestamp with time zone": "{0} + interval '1 second'",
    "integer": "{0} + 1",
}
LOWER = {"timestamp with time zone": "{0} - interval '1 second'", "integer": "{0} - 1"}


def column_type(tx: Transaction, table: str, column: str) -> str:
    (kind,) = tx.execute(
        "select format_type(atttypid, null) from pg_attribute where attrelid = %s::regclass and attname = %s",
        (table, column),
    ).fetchone() or ("",)
    return str(kind)


def guard_alone(tx: Transaction, table: str, authority: Authority) -> None:
    """Take away whatever else would refuse (grants, checks, foreign keys, rules), so that the guard answers."""
    tx.execute(f"grant update on {table} to {authority.role}")
    tx.execute(MIGRATING)
    tx.execute("update recoup.lifecycle_step set through = '{}' where subject = %s", (table,))
    tx.execute("call recoup.equip_all(%s)", (table,))
    for (rule,) in tx.execute(
        "select tgname from pg_trigger where tgrelid = %s::regclass and tgname like 'b\\_%%'", (table,)
    ).fetchall():
        tx.execute(f"alter table {table} disable trigger {rule}")
    for (constraint,) in tx.execute(
        "select conname from pg_constraint where conrelid = %s::regclass and contype in ('c', 'f')", (table,)
    ).fetchall():
        tx.execute(f"alter table {table} drop constraint {constraint}")


@pytest.mark.parametrize(
    ("name", "column"), [(n, c) for n, (life, *_) in MOVES.items() for c in life.frozen if c not in life.key]
)
def test_a_frozen_column_never_changes(scratch: Transaction, name: str, column: str) -> None:
    """Also inside a listed move, by the authority that owns the move."""
    life, make, authority, change = MOVES[name]
    key = make(scratch)
    guard_alone(scratch, life.table, authority)
    other = OTHER[column_type(scratch, life.table, column)].format(column)
    with acting(scratch, authority):
        error = refusal(
            scratch, f"update {life.table} set {change}, {column} = {other} where {life.key[0]} = %s", (key,)
        )
    assert error.sqlstate == "RC005"
    assert column in str(error.diag.message_primary)


@pytest.mark.parametrize("column", BATCH.once)
def test_a_set_once_column_changes_once(scratch: Transaction, column: str) -> None:
    """Completion, window, policy and freeze stay what they were first set to, and are not cleared."""
    batch = batch_in(scratch, "FROZEN")
    guard_alone(scratch, "cl.gate_zero_batch", Authority.OPERATOR)
    kind = column_type(scratch, "cl.gate_zero_batch", column)
    for value in (OTHER[kind].format(column), LOWER[kind].format(column)):
        with acting(scratch, Authority.OPERATOR):
            error = refusal(scratch, f"update cl.gate_zero_batch set {column} = {value} where batch_id = %s", (batch,))
        assert error.sqlstate == "RC006"
        assert column in str(error.diag.message_primary)


@pytest.mark.parametrize(
    ("name", "column"), [("intake", "updated_at"), *(("recovery", column) for column in RECOVERY.rising)]
)
def test_a_rising_column_never_falls(scratch: Transaction, name: str, column: str) -> None:
    """Counters and times go up, also inside a listed move."""
    life, make, authority, change = MOVES[name]
    key = make(scratch)
    guard_alone(scratch, life.table, authority)
    if name == "recovery":
        change = "status = 'SUCCEEDED'"  # a move that need not count
        with acting(scratch, authority):
            scratch.execute("update cl.gate_zero_recovery set attempt_count = 2 where recovery_id = %s", (key,))
    lower = LOWER[column_type(scratch, life.table, column)].format(column)
    with acting(scratch, authority):
        error = refusal(
            scratch, f"update {life.table} set {change}, {column} = {lower} where {life.key[0]} = %s", (key,)
        )
    assert error.sqlstate == "RC007"
    assert column in str(error.diag.message_primary)


def test_failing_again_counts_exactly_one(scratch: Transaction) -> None:
    """ACTIVE to ACTIVE is one more failure: the gate cannot use it to move next_eligible_at, nor to skip a number."""
    key = recovery_in(scratch, "ACTIVE")
    guard_alone(scratch, "cl.gate_zero_recovery", Authority.GATE)
    for change in ("next_eligible_at = next_eligible_at + interval '1 second'", "attempt_count = attempt_count"):
        with acting(scratch, Authority.GATE):
            error = refusal(scratch, f"update cl.gate_zero_recovery set {change} where recovery_id = %s", (key,))
        assert error.sqlstate == "RC007"
        assert "by exactly one" in str(error.diag.message_primary)


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("who", EVERYONE)
def test_a_key_never_changes_not_even_with_the_status(scratch: Transaction, name: str, who: Any) -> None:
    """The guard pairs old and new rows by key: a changed key leaves a row without its partner, and is refused."""
    life, make, authority, change = MOVES[name]
    key = make(scratch)
    column = life.key[0]
    actor = authority if isinstance(who, Authority) else who
    guard_alone(scratch, life.table, authority)
    other = OTHER[column_type(scratch, life.table, column)]
    with acting(scratch, actor):
        error = refusal(scratch, f"update {life.table} set {change}, {column} = {other} where {column} = %s", (key,))
    assert error.sqlstate in ("RC004", "23503")  # a key that others refer to is held by them first
    if name in ("recovery", "attempt"):
        assert error.sqlstate == "RC004"


def test_swapping_two_keys_is_refused(scratch: Transaction) -> None:
    """Two rows that trade keys in one statement have partners again, but with each other's frozen columns."""
    first, second = recovery_in(scratch, "ACTIVE"), recovery_in(scratch, "ACTIVE")
    guard_alone(scratch, "cl.gate_zero_recovery", Authority.GATE)
    scratch.execute("alter table cl.gate_zero_recovery drop constraint gate_zero_recovery_pkey")
    with acting(scratch, Authority.GATE):
        error = refusal(
            scratch,
            "update cl.gate_zero_recovery set attempt_count = 2,"
            " recovery_id = case recovery_id when %(a)s then %(b)s::uuid else %(a)s::uuid end"
            " where recovery_id in (%(a)s, %(b)s)",
            {"a": first, "b": second},
        )
    assert error.sqlstate == "RC005"


@pytest.mark.parametrize("who", EVERYONE)
def test_on_conflict_do_update_is_guarded(scratch: Transaction, who: Any) -> None:
    """An upsert fires both guards: the update half meets the moves, the insert half the births."""
    intake = intake_in(scratch, "AUTHORIZED")
    with acting(scratch, who):
        error = refusal(
            scratch,
            "insert into cl.gate_zero_intake (intake_id, company_name) values (%s, 'x')"
            " on conflict (intake_id) do update set status = 'PENDING'",
            (intake,),
        )
    assert error.sqlstate == "RC002"
    with acting(scratch, who):
        error = refusal(
            scratch,
            "insert into cl.gate_zero_intake (company_name, status) values ('x', 'EXHAUSTED')"
            " on conflict (intake_id) do update set status = 'PENDING'",
        )
    assert error.sqlstate == "RC001"


@pytest.mark.parametrize("who", EVERYONE)
def test_merge_is_guarded(scratch: Transaction, who: Any) -> None:
    """Each action of a MERGE meets its own guard."""
    intake = intake_in(scratch, "AUTHORIZED")
    if isinstance(who, Authority):
        scratch.execute(f"grant delete on cl.gate_zero_intake to {who.role}")
    for action, sqlstates in (
        ("when matched then update set status = 'FAILED'", ("RC002",)),
        ("when matched then delete", ("RC003", "23503")),
        ("when matched then do nothing when not matched then insert (company_name, status) values ('x', 'FAILED')",
         ("RC001",)),
    ):  # fmt: skip
        source = (
            "(values (%s::uuid), (gen_random_uuid())) as s (id)"
            if "not matched" in action
            else "(values (%s::uuid)) as s (id)"
        )
        with acting(scratch, who):
            error = refusal(
                scratch, f"merge into cl.gate_zero_intake i using {source} on i.intake_id = s.id {action}", (intake,)
            )
        assert error.sqlstate in sqlstates


@pytest.mark.parametrize("who", EVERYONE)
def test_copy_is_guarded(scratch: Transaction, who: Any) -> None:
    """COPY is an insert. Into a table with a policy the server does not let an authority copy at all."""
    with (
        acting(scratch, who),
        pytest.raises(psycopg.Error) as caught,
        scratch.transaction(),
        scratch.cursor() as cursor,
        cursor.copy("copy cl.gate_zero_intake (company_name, status) from stdin") as copy,
    ):
        copy.write_row(("x", "EXHAUSTED"))
    assert caught.value.sqlstate == ("0A000" if isinstance(who, Authority) else "RC001")


def test_one_bad_row_refuses_the_whole_statement(scratch: Transaction) -> None:
    """A thousand lawful moves and one unlawful: nothing moves."""
    intakes = [new_intake(scratch) for _ in range(20)]
    intakes.append(intake_in(scratch, "AUTHORIZED"))
    with acting(scratch, Authority.GATE):
        error = refusal(
            scratch, "update cl.gate_zero_intake set status = 'FAILED' where intake_id = any(%s)", (intakes,)
        )
    assert error.sqlstate == "RC002"
    moved = scratch.execute(
        "select count(*) from cl.gate_zero_intake where intake_id = any(%s) and status = 'FAILED'", (intakes,)
    ).fetchone()
    assert moved == (0,)


def test_session_replication_role_does_not_lower_the_guard(scratch: Transaction) -> None:
    """A superuser's replica mode skips ordinary triggers; ours are ALWAYS."""
    intake = new_intake(scratch)
    scratch.execute("set local session_replication_role = replica")
    exhaust = "update cl.gate_zero_intake set status = 'EXHAUSTED' where intake_id = %s"
    assert refusal(scratch, exhaust, (intake,)).sqlstate == "RC070"
    scratch.execute("drop function recoup.refuse_replicated cascade")  # it answers first
    assert refusal(scratch, exhaust, (intake,)).sqlstate == "RC002"
    assert refusal(scratch, "truncate cl.gate_zero_intake cascade").sqlstate == "RC008"


def test_a_refusal_says_what_happened_and_what_is_allowed(scratch: Transaction) -> None:
    """Our SQLSTATE, the move, the authority, and the ways from here, in words and as data."""
    intake = new_intake(scratch)
    with acting(scratch, Authority.GATE):
        error = refusal(scratch, "update cl.gate_zero_intake set status = 'EXHAUSTED' where intake_id = %s", (intake,))
    assert error.sqlstate == "RC002"
    assert error.diag.message_primary == (
        f"cl.gate_zero_intake ({intake}): gate may not move it from PENDING to EXHAUSTED."
    )
    assert error.diag.message_hint == "Allowed from here: AUTHORIZED (by gate), FAILED (by gate)."
    facts = json.loads(error.diag.message_detail or "")
    assert facts["key"] == {"intake_id": str(intake)}
    assert (facts["from"], facts["to"], facts["authority"]) == ("PENDING", "EXHAUSTED", "gate")
    assert {"to": "FAILED", "authority": "gate"} in facts["allowed"]


def test_a_role_that_only_sounds_like_an_authority_is_none(scratch: Transaction) -> None:
    """A role named "gate", or one that is a member of every authority, has none of their moves."""
    intake = new_intake(scratch)
    name = f"gate_{uuid.uuid4().hex[:8]}"
    scratch.execute(f"create role {name} superuser; grant recoup_gate to {name}")
    with acting(scratch, name):
        error = refusal(scratch, "update cl.gate_zero_intake set status = 'FAILED' where intake_id = %s", (intake,))
    assert error.sqlstate == "RC002"


PARTITIONED = f"""
{MIGRATING}
create table cl.part (region text not null, id integer not null, status text not null, primary key (region, id))
  partition by list (region);
create table cl.part_north partition of cl.part for values in ('north');
create table cl.part_south partition of cl.part for values in ('south');
insert into recoup.lifecycle values ('cl.part', '{{region,id}}', 'status', null, '{{}}', '{{}}', '{{}}', 'gate');
insert into recoup.lifecycle_step values
  ('cl.part', 'birth', null, 'new', 'gate', false, '{{}}', '{{}}', 'made', 'gate'),
  ('cl.part', 'move', 'new', 'done', 'gate', false, '{{}}', '{{}}', 'done', 'gate'),
  ('cl.part', 'exit', 'done', null, 'gate', false, '{{}}', '{{}}', 'gone', 'gate');
call recoup.equip('cl.part', 'cl.part');
call recoup.equip('cl.part_north', 'cl.part');
call recoup.equip('cl.part_south', 'cl.part');
grant all on cl.part, cl.part_north, cl.part_south to recoup_gate;
"""


@pytest.mark.parametrize("aimed_at", ["cl.part", "cl.part_north"])
def test_parent_and_partition_are_guarded_alike(scratch: Transaction, aimed_at: str) -> None:
    """A statement fires the triggers of the relation it names and no other's, so each has its own guard."""
    scratch.execute(PARTITIONED)
    with acting(scratch, Authority.GATE):
        scratch.execute(f"insert into {aimed_at} values ('north', 1, 'new'), ('north', 2, 'new')")
        assert refusal(scratch, f"insert into {aimed_at} values ('north', 3, 'done')").sqlstate == "RC001"
        scratch.execute(f"update {aimed_at} set status = 'done' where id = 1")
        assert refusal(scratch, f"update {aimed_at} set status = 'new' where id = 1").sqlstate == "RC002"
        assert refusal(scratch, f"update {aimed_at} set status = 'done', id = 9 where id = 2").sqlstate == "RC004"
        assert refusal(scratch, f"delete from {aimed_at} where id = 2").sqlstate == "RC003"
        scratch.execute(f"delete from {aimed_at} where id = 1")
        assert refusal(scratch, f"truncate {aimed_at}").sqlstate == "RC008"
    assert refusal(scratch, f"update {aimed_at} set status = 'done' where id = 2").sqlstate == "RC002"


def test_a_guard_follows_its_declaration(scratch: Transaction) -> None:
    """Until it is generated again it refuses what is newly listed; what is listed no more has no function any more."""
    scratch.execute(PARTITIONED)
    back = "('cl.part', 'move', 'done', 'new', 'gate', false, '{}', '{}', 'again', 'gate')"
    written = "select to_regproc('cl.guard_part_moves') is not null, to_regproc('cl.guard_part_exits') is not null"
    with acting(scratch, Authority.GATE):
        scratch.execute("insert into cl.part values ('north', 1, 'new')")
        scratch.execute("update cl.part set status = 'done'")
    scratch.execute(f"insert into recoup.lifecycle_step values {back}")
    with acting(scratch, Authority.GATE):
        assert refusal(scratch, "update cl.part set status = 'new'").sqlstate == "RC013"
    assert scratch.execute(written).fetchone() == (True, True)
    scratch.execute("delete from recoup.lifecycle_step where subject = 'cl.part' and kind = 'exit'")
    scratch.execute("call recoup.equip_declared()")
    assert scratch.execute(written).fetchone() == (True, False)
    with acting(scratch, Authority.GATE):
        scratch.execute("update cl.part set status = 'new'")
        scratch.execute("update cl.part_north set status = 'done'")
        assert refusal(scratch, "delete from cl.part").sqlstate == "RC003"


def test_guards_are_not_written_anew_for_nothing(scratch: Transaction) -> None:
    """Whatever the settings of the migrating session."""
    changed = "select proname from pg_proc where xmin = pg_current_xact_id()::xid"
    scratch.execute("set local quote_all_identifiers = on")
    scratch.execute("set local standard_conforming_strings = off")
    scratch.execute("call recoup.equip_declared()")
    assert scratch.execute(changed).fetchall() == []


def test_a_row_moved_to_another_partition_is_a_changed_key(scratch: Transaction) -> None:
    """Aimed at the parent, PostgreSQL moves the row and fires only the parent's update triggers; the guard sees it."""
    scratch.execute(PARTITIONED)
    with acting(scratch, Authority.GATE):
        scratch.execute("insert into cl.part values ('north', 1, 'new')")
        error = refusal(scratch, "update cl.part set region = 'south', status = 'done' where id = 1")
    assert error.sqlstate == "RC004"


def test_the_throttle_is_the_databases(scratch: Transaction) -> None:
    """Whoever inserts the attempt, by whatever statement: not before next_eligible_at, not out of order."""
    intake = intake_in(scratch, "FAILED")
    insert = (
        "insert into cl.gate_zero_attempt (intake_id, attempt_number, worker, opened_at, lease_until)"
        " values (%s, %s, 'w', recoup.now() + %s, recoup.now() + interval '2 days')"
    )
    with acting(scratch, Authority.GATE):
        assert refusal(scratch, insert, (intake, 2, timedelta(0))).sqlstate == "RC020"
        assert refusal(scratch, insert, (intake, 2, timedelta(hours=25))).sqlstate == "RC026"
        assert refusal(scratch, insert, (intake, 3, timedelta(0))).sqlstate == "RC027"
        assert refusal(scratch, insert, (intake, 4, timedelta(0))).sqlstate == "23514"
    advance(scratch, timedelta(hours=24))
    with acting(scratch, Authority.GATE):
        assert refusal(scratch, insert, (intake, 2, timedelta(hours=-30))).sqlstate == "RC026"
        scratch.execute(insert, (intake, 2, timedelta(0)))


def test_consequences_are_not_written_by_hand(scratch: Transaction) -> None:
    """An intake is decided by its attempts, a recovery made and moved by them: the gate itself is refused otherwise."""
    pending, failed = new_intake(scratch), intake_in(scratch, "FAILED")
    for statement, key in (
        ("update cl.gate_zero_intake set status = 'AUTHORIZED' where intake_id = %s", pending),
        ("update cl.gate_zero_intake set status = 'FAILED' where intake_id = %s", pending),
        ("update cl.gate_zero_intake set status = 'REENTER_SUCCEEDED' where intake_id = %s", failed),
        ("update cl.gate_zero_intake set status = 'EXHAUSTED' where intake_id = %s", failed),
        ("update cl.gate_zero_recovery set status = 'SUCCEEDED' where intake_id = %s", failed),
        ("update cl.gate_zero_recovery set attempt_count = 2 where intake_id = %s", failed),
        ("insert into cl.gate_zero_recovery (intake_id, failure_reason, next_eligible_at)"
         " values (%s, 'TIMEOUT', now())", pending),
        ("insert into cl.gate_zero_intake (company_name, status, reentered_from)"
         " values ('x', 'AUTHORIZED', %s)", failed),
    ):  # fmt: skip
        with acting(scratch, Authority.GATE):
            assert refusal(scratch, statement, (key,)).sqlstate == "RC012", statement
    # Nor from a trigger of one's own whose statement names the function that may.
    scratch.execute("create temporary table bait (x integer); grant insert on bait to recoup_gate")
    scratch.execute(
        "create function pg_temp.settle_attempts() returns trigger language plpgsql as $$ begin"
        " update cl.gate_zero_intake set status = 'AUTHORIZED' /* cl.settle_attempts() */"
        f" where intake_id = '{pending}';"
        " return null; end $$"
    )
    scratch.execute(
        "create trigger t after insert on bait for each statement execute function pg_temp.settle_attempts()"
    )
    with acting(scratch, Authority.GATE):
        assert refusal(scratch, "insert into bait values (1)").sqlstate == "RC012"


def test_the_declaration_is_changed_by_migrations_only(scratch: Transaction) -> None:
    """A superuser who wants another law has to say so: the guard's own tables refuse plain changes."""
    for statement in (
        "insert into recoup.lifecycle_step select * from recoup.lifecycle_step limit 1",
        "update recoup.lifecycle set rising = '{}'",
        "delete from recoup.lifecycle_step",
        "truncate recoup.lifecycle cascade",
    ):
        for who in (None, OWNER):
            with acting(scratch, who):
                assert refusal(scratch, statement).sqlstate == "RC013"


@pytest.mark.parametrize("setting", ["quote_all_identifiers = on", "standard_conforming_strings = off"])
def test_settings_of_a_session_do_not_matter(scratch: Transaction, setting: str) -> None:
    """The text of what is put together and carried out follows settings that anybody may change."""
    scratch.execute("discard plans")
    scratch.execute(f"set local {setting}")
    assert intake_in(scratch, "REENTER_SUCCEEDED")


def test_an_event_names_the_role_that_acted(scratch: Transaction) -> None:
    """Also when it acted through a SECURITY DEFINER function that somebody else called."""
    intake = new_intake(scratch)
    with acting(scratch, Authority.GATE):
        scratch.execute(
            "create function pg_temp.opens(uuid) returns void language sql security definer as $$"
            " insert into cl.gate_zero_attempt (intake_id, attempt_number, worker, opened_at, lease_until)"
            " values ($1, 1, 'w', recoup.now(), recoup.now() + interval '1 minute') $$"
        )
    with acting(scratch, Authority.READER):
        scratch.execute("select pg_temp.opens(%s)", (intake,))
    row = scratch.execute("select authority from cl.gate_zero_air where entity_id = %s", (intake,)).fetchone()
    assert row == ("recoup_gate",)


def test_exhausted_says_why_by_what_happened(scratch: Transaction) -> None:
    """One failure and a closed window are RECOVERY_WINDOW_CLOSED; a count that claims three is refused."""
    key = recovery_in(scratch, "ACTIVE")
    advance(scratch, timedelta(days=14))
    exhaust = (
        "update cl.gate_zero_recovery set status = 'EXHAUSTED', next_eligible_at = {}, updated_at = {},"
        " attempt_count = {} where recovery_id = %s"
    )
    with acting(scratch, Authority.GATE):
        for untrue in (
            ("next_eligible_at", "recoup.now()", "attempt_count"),
            ("recoup.never()", "updated_at", "attempt_count"),
            ("recoup.never()", "recoup.now()", "3"),
        ):
            assert refusal(scratch, exhaust.format(*untrue), (key,)).sqlstate == "RC026"
        scratch.execute(exhaust.format("recoup.never()", "recoup.now()", "attempt_count"), (key,))
    reasons = scratch.execute(
        "select a.reason_code from cl.gate_zero_air a join cl.gate_zero_recovery r on r.intake_id = a.entity_id"
        " where r.recovery_id = %s and a.event_type = 'EXHAUSTED'",
        (key,),
    ).fetchall()
    assert reasons == [("RECOVERY_WINDOW_CLOSED",)]


def test_gate_zero_is_written_at_read_committed_only(admin: Transaction) -> None:
    """Its rules look again after they have waited for a lock; an older snapshot would not see what they waited for."""
    admin.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with admin.transaction(force_rollback=True):
        intake = new_intake(admin)
        with pytest.raises(psycopg.Error) as caught:
            open_attempt(admin, intake)
    assert caught.value.sqlstate == "RC011"
