"""The database answers as the declaration does: every birth, move and exit, by every authority, owner and superuser."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from company import (
    ERRORS,
    UNPARKED_ERRORS,
    acting,
    advance,
    attempt_in,
    batch_in,
    claimed_error,
    error_in,
    intake_in,
    minted,
    new_archive_month,
    new_error,
    new_operation,
    new_operation_item,
    recovery_in,
    room_in_archive,
)
from product import LIFECYCLES
from recoup.clock import CLOCK
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.errors.lifecycle import ARCHIVE_MONTH, ERROR
from recoup.gate.lifecycle import ATTEMPT, BATCH, INTAKE, RECOVERY
from recoup.lifecycles.declaration import Authority, Lifecycle
from recoup.mint.lifecycle import IDENTITY
from recoup.operations.lifecycle import OPERATION, OPERATION_ITEM
from recoup.pauses.lifecycle import PAUSE as PAUSE_LIFE
from recoup.worker.lifecycle import WORKER

NO_RIGHT = "42501"
ACTORS: tuple[Authority | str | None, ...] = (*Authority, OWNER, None)  # None: the superuser itself


@dataclass(frozen=True)
class Subject:
    """How to bring a row of a lifecycle into a status, and what a statement has to say to satisfy its checks."""

    life: Lifecycle
    statuses: tuple[str, ...]
    row_in: Callable[[Transaction, str], Any]
    change: dict[str, str]  # target status -> SET list
    born: dict[str, str]  # status -> INSERT behind "insert into <table>"


def clock_in(tx: Transaction, status: str) -> bool:
    tx.execute("alter table recoup.clock disable trigger all")  # its only row is made by migrate, in one status
    tx.execute(
        "update recoup.clock set status = %s, at = %s, released_at = %s",
        (status, None if status == "real" else "2026-01-01", "2026-01-01" if status == "released" else None),
    )
    tx.execute("alter table recoup.clock enable trigger all")
    for (name,) in tx.execute(
        "select tgname from pg_trigger where tgrelid = 'recoup.clock'::regclass and not tgisinternal"
    ).fetchall():
        tx.execute(SQL("alter table recoup.clock enable always trigger {}").format(Identifier(name)))
    return True


def pause_in(tx: Transaction, status: str) -> str:
    scope_id = "mint"
    with acting(tx, Authority.OPERATOR):
        tx.execute(f"insert into recoup.pause {PAUSE_ROW}", {"scope_id": scope_id, "status": "PAUSED"})
        if status == "RUNNING":
            tx.execute("update recoup.pause set status = 'RUNNING' where scope_id = %s", (scope_id,))
    return scope_id


def worker_in(tx: Transaction, status: str) -> uuid.UUID:
    with acting(tx, Authority.RUNNER):
        (worker,) = tx.execute(f"insert into recoup.worker {WORKER_ROW} returning worker_id").fetchone() or (None,)
    if status == "lost":
        falls_silent(tx, worker)
    with acting(tx, Authority.ORPHAN_RECOVERY if status == "lost" else Authority.RUNNER):
        if status != "running":
            tx.execute(
                "update recoup.worker set status = %s, ended_at = recoup.now() where worker_id = %s", (status, worker)
            )
    assert isinstance(worker, uuid.UUID)
    return worker


PAUSE_ROW = (
    "(scope, scope_id, status, changed_at, changed_by, reason)"
    " values ('duty', %(scope_id)s, %(status)s, recoup.now(), recoup.acting_id(), 'y')"
)
WORKER_ROW = (
    "(name, host, pid, recoup_version, duties, started_at, heartbeat_at)"
    " values ('w', 'h', 1, '0', '{}', recoup.now(), recoup.now())"
)


def month_in(tx: Transaction, status: str) -> str:
    month = new_archive_month(tx)
    if status == "DROPPED":
        with acting(tx, Authority.ARCHIVER):
            tx.execute(f"update recoup.error_archive_month set {MONTH_DROPPED} where month = %s".encode(), (month,))
    return month


def operation_in(tx: Transaction, status: str) -> uuid.UUID:
    operation = new_operation(tx)
    if status == "DONE":
        with acting(tx, Authority.OPERATOR):
            tx.execute(
                "update recoup.operation set status = 'DONE', done_at = recoup.now() where operation_id = %s",
                (operation,),
            )
    return operation


def item_in(tx: Transaction, status: str) -> int:
    place = new_operation_item(tx)
    if status != "PENDING":
        with acting(tx, Authority.OPERATOR):
            tx.execute(f"update recoup.operation_item set {ITEM[status]} where place = %s".encode(), (place,))
    return place


MONTH_DROPPED = "status = 'DROPPED', dropped_at = recoup.now(), rows = 0, digest = sha256('')"
ITEM = {
    "PENDING": "status = 'PENDING', ended_at = null, refusal = null",
    "DONE": "status = 'DONE', ended_at = recoup.now(), refusal = null",
    "REFUSED": "status = 'REFUSED', ended_at = recoup.now(), refusal = 'gone'",
}
ERROR_ROW = (
    "(error_table, outreach_id, error_message, error_signature, category, disposition, status, ttl_tier, expires_at,"
    " max_retries, next_retry_at, parked_at, parked_by, park_reason, escalation_level, escalated_at, escalated_to,"
    " archived_at, archive_reason, decided_by, policy_version, created_at, updated_at)"
    " select 'outreach.dol_errors', gen_random_uuid(), 'm', 's', 'TRANSIENT', d.disposition, d.status, 'SHORT', now_,"
    " 5, case when d.status = 'RETRY_PENDING' then now_ end, now_, 'x', 'y', 1, now_, 'z',"
    " case when d.status = 'RESOLVED' then now_ end, case when d.status = 'RESOLVED' then 'RESOLVED' end,"
    " 'table', recoup.policy_version(), now_, now_"
    " from (select recoup.now() as now_) t, (values ('{disposition}', '{status}')) d (disposition, status)"
)
DISPOSITION = {"ACTIVE": "ARCHIVE", "RETRY_PENDING": "RETRY"}  # of the others: PARKED
END = "finished_at = greatest(recoup.now(), opened_at + interval '1 microsecond')"
SUBJECTS = {
    "intake": Subject(
        INTAKE,
        INTAKE.statuses,
        intake_in,
        {status: f"status = '{status}'" for status in INTAKE.statuses},
        {status: f"(company_name, status) values ('x', '{status}')" for status in INTAKE.statuses}
        | {
            "PENDING": "(company_name, retry_of) values ('x', %(intake)s)",
            "AUTHORIZED": "(company_name, status, reentered_from) values ('x', 'AUTHORIZED', %(intake)s)",
        },
    ),
    "identity": Subject(
        IDENTITY,
        IDENTITY.statuses,
        lambda tx, _status: minted(tx),
        {"MINTED": "company_name = company_name || ' Holding'"},
        {"MINTED": "(intake_id, company_name, minted_at) values (%(intake)s, 'Acme', recoup.now())"},
    ),
    "attempt": Subject(
        ATTEMPT,
        ATTEMPT.statuses,
        attempt_in,
        {
            "open": "status = 'open', finished_at = null, reason_code = null",
            "passed": f"status = 'passed', reason_code = null, {END}",
            "failed": f"status = 'failed', reason_code = 'TIMEOUT', {END}",
            "crashed": f"status = 'crashed', reason_code = 'TIMEOUT', {END}",
        },
        {
            status: "(intake_id, attempt_number, worker, opened_at, lease_until, status, finished_at, reason_code)"
            f" select %(intake)s, 1, 'w', now_, now_ + interval '1 min', '{status}',"
            f" case when '{status}' <> 'open' then now_ + interval '1 microsecond' end,"
            f" case when '{status}' in ('failed', 'crashed') then 'TIMEOUT' end"
            " from (select recoup.now() as now_) t"
            for status in ATTEMPT.statuses
        },
    ),
    "recovery": Subject(
        RECOVERY,
        RECOVERY.statuses,
        recovery_in,
        {
            "ACTIVE": "status = 'ACTIVE', attempt_count = least(2, attempt_count + 1)",
            "EXHAUSTED": "status = 'EXHAUSTED', next_eligible_at = recoup.never(),"
            " updated_at = greatest(recoup.now(), updated_at + interval '1 microsecond')",
            "SUCCEEDED": "status = 'SUCCEEDED'",
        },
        {
            status: "(intake_id, failure_reason, attempt_count, next_eligible_at, status)"
            f" values (%(intake)s, 'TIMEOUT', 1, recoup.now(), '{status}')"
            for status in RECOVERY.statuses
        },
    ),
    "batch": Subject(
        BATCH,
        BATCH.statuses,
        batch_in,
        {},
        {"OPEN": "(batch_id, imported_at) values (gen_random_uuid()::text, recoup.now())"},
    ),
    "error": Subject(
        ERROR,
        ERROR.statuses,
        error_in,
        {},
        {
            status: ERROR_ROW.format(status=status, disposition=DISPOSITION.get(status, "PARKED"))
            for status in ERROR.statuses
        },
    ),
    "month": Subject(
        ARCHIVE_MONTH,
        ARCHIVE_MONTH.statuses,
        month_in,
        {"KEPT": "status = 'KEPT', dropped_at = null, rows = null, digest = null", "DROPPED": MONTH_DROPPED},
        {
            "KEPT": "(error_table, month, made_at) values ('outreach.dol_errors', '1990-01-01', recoup.now())",
            "DROPPED": "(error_table, month, made_at, status, dropped_at, rows, digest)"
            " values ('outreach.dol_errors', '1990-01-01', recoup.now(), 'DROPPED', recoup.now(), 0, '')",
        },
    ),
    "operation": Subject(
        OPERATION,
        OPERATION.statuses,
        operation_in,
        {"OPEN": "status = 'OPEN', done_at = null", "DONE": "status = 'DONE', done_at = recoup.now()"},
        {
            status: "(subject, verb, arguments, filter, items, digest, requested_at, requested_by" + columns + ")"
            f" values ('recoup.error', 'park', '{{}}', '{{}}', 1, sha256(''), recoup.now(), 'x'{values})"
            for status, columns, values in (("OPEN", "", ""), ("DONE", ", status, done_at", ", 'DONE', recoup.now()"))
        },
    ),
    "item": Subject(
        OPERATION_ITEM,
        OPERATION_ITEM.statuses,
        item_in,
        ITEM,
        {
            "PENDING": "(operation_id, place, unit) values (%(operation)s, 1, 'x.y/1')",
            "DONE": "(operation_id, place, unit, status, ended_at)"
            " values (%(operation)s, 1, 'x.y/1', 'DONE', recoup.now())",
        },
    ),
    "pause": Subject(
        PAUSE_LIFE,
        PAUSE_LIFE.statuses,
        pause_in,
        {status: f"status = '{status}', changed_at = recoup.now()" for status in PAUSE_LIFE.statuses},
        {
            status: PAUSE_ROW.replace("%(scope_id)s", "'mint'").replace("%(status)s", f"'{status}'")
            for status in PAUSE_LIFE.statuses
        },
    ),
    "worker": Subject(
        WORKER,
        WORKER.statuses,
        worker_in,
        {
            status: f"status = '{status}', ended_at = {'null' if status == 'running' else 'recoup.now()'}"
            for status in WORKER.statuses
        },
        {"running": WORKER_ROW},
    ),
    "clock": Subject(
        CLOCK,
        ("real", "simulated", "released"),
        clock_in,
        {
            "real": "status = 'real', at = null, released_at = null",
            "simulated": "status = 'simulated', at = '2026-02-01', released_at = null",
            "released": "status = 'released', at = coalesce(at, '2026-01-01'),"
            " released_at = coalesce(released_at, now())",
        },
        {"real": "(status) values ('real')", "simulated": "(status, at) values ('simulated', now())"},
    ),
}
PAUSE = "paused_at = recoup.now(), paused_by = recoup.acting_id(), pause_reason = 'y'"
COMPLETE = (
    "completed_at = t.now_, batch_freeze_at = t.now_ + cl.gate_zero_recovery_window(),"
    " policy_version = recoup.policy_version()"
)
UNDO = "completed_at = null, batch_freeze_at = null, policy_version = null"
# A batch's status follows from its columns, so each pair says which columns it would take.
BATCH_CHANGE = {
    ("OPEN", "OPEN"): PAUSE,
    ("OPEN", "COMPLETED"): COMPLETE,
    ("OPEN", "FROZEN"): COMPLETE + ", frozen_at = t.now_ + cl.gate_zero_recovery_window()",
    ("COMPLETED", "OPEN"): UNDO,
    ("COMPLETED", "COMPLETED"): PAUSE,
    ("COMPLETED", "FROZEN"): "frozen_at = t.now_",
    ("FROZEN", "OPEN"): "frozen_at = null, " + UNDO,
    ("FROZEN", "COMPLETED"): "frozen_at = null",
    ("FROZEN", "FROZEN"): PAUSE,
}

OVER = "archived_at = t.now_, archive_reason = "
PARK = "disposition = 'PARKED', parked_at = t.now_, next_retry_at = null"
NOT_OVER = "archived_at = null, archive_reason = null"
ENDED = "retry_count = retry_count + (token is not null)::integer, token = null, leased_by = null, lease_until = null"
# What the hub and the worker write; the hub supersedes what it does not retry.
BY_RETRY = {
    "RETRY_PENDING": "token = gen_random_uuid(), leased_by = 'w', lease_until = t.now_ + interval '1 minute',"
    " last_retry_at = t.now_",
    "PARKED": f"status = 'PARKED', {PARK}, parked_by = 'system', park_reason = 'MAX_RETRIES_EXCEEDED'",
    "ACTIVE": "status = 'ACTIVE', disposition = 'ARCHIVE', next_retry_at = null, park_reason = 'MAX_RETRIES_EXCEEDED'",
    "RESOLVED": f"status = 'RESOLVED', last_outcome = 'SUCCEEDED', next_retry_at = null, {ENDED}, {OVER} 'RESOLVED'",
}
SUPERSEDED = f"superseded_by = error_id + 1000000, {OVER} 'SUPERSEDED'"
# What an operator writes, and whoever else tries it.
BY_PERSON = {
    "ACTIVE": "status = 'ACTIVE', disposition = 'ARCHIVE', next_retry_at = null",
    "RETRY_PENDING": "status = 'RETRY_PENDING', disposition = 'RETRY', next_retry_at = t.now_, retry_until = null,"
    " max_retries = greatest(max_retries, retry_count + 1)",
    "PARKED": f"status = 'PARKED', {PARK}, parked_by = 'ann', park_reason = 'look'",
    "ESCALATED": f"status = 'ESCALATED', {PARK}, parked_by = 'ann', park_reason = 'look', escalation_level = 1,"
    " escalated_at = t.now_, escalated_to = 'lead'",
    "RESOLVED": f"status = 'RESOLVED', next_retry_at = null, {ENDED}, {OVER} 'RESOLVED'",
}


def error_change(actor: Authority | str | None, source: str, target: str) -> str:
    """A move of an error means something else by each authority."""
    if actor in (Authority.HUB, Authority.ERROR_WORKER):
        if source == "RETRY_PENDING" and target in BY_RETRY:
            return BY_RETRY[target]
        if source == target:
            return SUPERSEDED if source != "RESOLVED" else "updated_at = t.now_"
    if source == target:
        return "last_reviewed_at = t.now_"
    return BY_PERSON[target] + (f", {NOT_OVER}" if source == "RESOLVED" else "")


def falls_silent(tx: Transaction, _key: Any) -> None:
    advance(tx, timedelta(minutes=5))


def lease_lapses(tx: Transaction, _key: Any) -> None:
    advance(tx, timedelta(hours=1))


def window_closes(tx: Transaction, _key: Any) -> None:
    advance(tx, timedelta(days=14))


def retry_is_due(tx: Transaction, _key: Any) -> None:
    advance(tx, timedelta(seconds=2))


def retry_window_closes(tx: Transaction, _key: Any) -> None:
    advance(tx, timedelta(days=1))


# What must be true before a listed move may claim it.
PREPARE: dict[tuple[str, str, str], Callable[[Transaction, Any], None]] = {
    ("attempt", "open", "crashed"): lease_lapses,
    ("recovery", "ACTIVE", "EXHAUSTED"): window_closes,
    ("batch", "COMPLETED", "FROZEN"): window_closes,
    ("worker", "running", "lost"): falls_silent,
    ("error", "RETRY_PENDING", "RETRY_PENDING"): retry_is_due,
    ("error", "RETRY_PENDING", "PARKED"): retry_window_closes,
    ("error", "RETRY_PENDING", "ACTIVE"): retry_window_closes,
}
# The row itself, where not any of its status will do.
ROW: dict[tuple[str, str, str], Callable[[Transaction], Any]] = {
    ("error", "RETRY_PENDING", "ACTIVE"): lambda tx: new_error(tx, table=UNPARKED_ERRORS),  # elsewhere it is parked
    ("error", "RETRY_PENDING", "RESOLVED"): claimed_error,
}


def test_every_lifecycle_is_tried() -> None:
    """A lifecycle that is declared and not tried here would be a promise nobody checks."""
    assert {subject.life.table for subject in SUBJECTS.values()} == {life.table for life in LIFECYCLES}


def answer(tx: Transaction, statement: str, parameters: dict[str, Any] | None = None) -> str:
    """What the database says: 'done', or the SQLSTATE of its refusal. The row is as before when refused."""
    try:
        with tx.transaction(force_rollback=True):
            tx.execute(statement, parameters)
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return "done"


def every_move() -> Iterator[tuple[str, str, str]]:
    for name, subject in SUBJECTS.items():
        for source, target in product(subject.statuses, repeat=2):
            yield name, source, target


def partition_of(tx: Transaction, error: int) -> str:
    (table,) = tx.execute("select error_table from recoup.error where error_id = %s", (error,)).fetchone() or ("",)
    return str(table)


@pytest.mark.parametrize(("name", "source", "target"), list(every_move()))
def test_moves_answer_as_declared(scratch: Transaction, name: str, source: str, target: str) -> None:
    """Listed moves pass; any other is refused with our SQLSTATE, or for lack of any right to the table."""
    subject = SUBJECTS[name]
    life = subject.life
    key = ROW[name, source, target](scratch) if (name, source, target) in ROW else subject.row_in(scratch, source)
    if prepare := PREPARE.get((name, source, target)):
        prepare(scratch, key)
    listed = {move.by: move for move in life.moves if (move.source, move.target) == (source, target)}
    for actor in ACTORS:
        if name == "error":
            change = error_change(actor, source, target)
        else:
            change = BATCH_CHANGE[source, target] if name == "batch" else subject.change[target]
        statement = f"update {{}} set {change} from (select recoup.now() as now_) t where {life.key[-1]} = %(key)s"
        with acting(scratch, actor):
            said = answer(scratch, statement.format(life.table), {"key": key})
            if name == "error":
                # A statement that names a partition fires its triggers alone; and no authority may name one.
                part = answer(scratch, statement.format(partition_of(scratch, key)), {"key": key})
                assert part == (NO_RIGHT if isinstance(actor, Authority) else "RC002"), f"{actor}: {source} -> {target}"
        if isinstance(actor, Authority) and actor in listed:
            # What is only ever a consequence is refused by hand; the rows above were brought there by their cause.
            assert said == ("RC012" if listed[actor].through else "done"), f"{actor}: {source} -> {target}"
        elif isinstance(actor, Authority):
            assert said in ("RC002", NO_RIGHT), f"{actor}: {source} -> {target}"
        else:
            assert said == "RC002", f"{actor}: {source} -> {target}"


@pytest.mark.parametrize("name", SUBJECTS)
def test_births_answer_as_declared(scratch: Transaction, name: str) -> None:
    """A row is born in a listed status, by the authority that owns the birth, and not otherwise."""
    subject = SUBJECTS[name]
    life = subject.life
    # An intake may be born of an exhausted one, an identity is of an authorised one.
    intake = intake_in(scratch, {"intake": "EXHAUSTED", "identity": "AUTHORIZED"}.get(name, "PENDING"))
    given = {"intake": intake, "operation": new_operation(scratch)}
    if name == "clock":
        scratch.execute("alter table recoup.clock disable trigger all; delete from recoup.clock;")
        scratch.execute("alter table recoup.clock enable always trigger a_guard_births")
    for status, born in subject.born.items():
        listed = {birth.by: birth for birth in life.births if birth.status == status}
        for actor in ACTORS:
            insert = born
            if (name, status) == ("intake", "PENDING") and actor in (Authority.HUB, Authority.GATE):
                insert = "(company_name) values ('x')"  # a fresh start is the operator's: see the next test
            with acting(scratch, actor):
                said = answer(scratch, f"insert into {life.table} {insert}", given)
                if name == "error":
                    part = answer(scratch, f"insert into {ERRORS} {insert}", given)
                    assert part == (NO_RIGHT if isinstance(actor, Authority) else "RC001"), f"{actor}: born {status}"
            if isinstance(actor, Authority) and actor in listed:
                assert said == ("RC012" if listed[actor].through else "done"), f"{actor}: born {status}"
            elif isinstance(actor, Authority):
                assert said in ("RC001", NO_RIGHT), f"{actor}: born {status}"
            else:
                assert said == "RC001", f"{actor}: born {status}"


def test_a_candidate_comes_from_hub_or_gate_and_from_an_operator_only_as_a_fresh_start(scratch: Transaction) -> None:
    """Without retry_of the operator is refused, with it the others; and the operator does not say in which status."""
    candidate = "insert into cl.gate_zero_intake (company_name) values ('x')"
    standing = "insert into cl.gate_zero_intake (company_name, retry_of, status) values ('x', %(intake)s, 'PENDING')"
    intake = {"intake": intake_in(scratch, "EXHAUSTED")}
    said = {}
    for actor in (Authority.HUB, Authority.GATE, Authority.OPERATOR):
        with acting(scratch, actor):
            said[actor] = answer(scratch, candidate), answer(scratch, standing, intake)
    assert said == {
        Authority.HUB: ("done", "RC042"),
        Authority.GATE: ("done", "RC042"),
        Authority.OPERATOR: ("RC001", NO_RIGHT),
    }


def test_an_intake_is_born_authorized_only_with_its_origin(scratch: Transaction) -> None:
    """AUTHORIZED at birth is re-entry: without reentered_from the gate itself is refused."""
    scratch.execute("set local recoup.migrating = on")
    scratch.execute("update recoup.lifecycle_step set through = '{}' where subject = 'cl.gate_zero_intake'")
    with acting(scratch, Authority.GATE):
        said = answer(scratch, "insert into cl.gate_zero_intake (company_name, status) values ('x', 'AUTHORIZED')")
    assert said == "RC001"


@pytest.mark.parametrize(("name", "status"), [(n, s) for n, subject in SUBJECTS.items() for s in subject.statuses])
def test_exits_answer_as_declared(scratch: Transaction, name: str, status: str) -> None:
    """Errors leave by the archiver, when their time is over; nobody deletes anything else, and nobody truncates."""
    subject = SUBJECTS[name]
    listed = {leaving.by for leaving in subject.life.exits if leaving.status == status}
    assert listed == ({Authority.ARCHIVER} if name == "error" else set())
    key = subject.row_in(scratch, status)
    tables = [subject.life.table]
    if name == "error":
        advance(scratch, timedelta(days=100))
        room_in_archive(scratch, key)
        tables.append(ERRORS)
    for actor, table in product(ACTORS, tables):
        statement = f"delete from {table} where {subject.life.key[-1]} = %(key)s"
        with acting(scratch, actor):
            deleted = answer(scratch, statement, {"key": key})
            truncated = answer(scratch, f"truncate {table} cascade")
        privileged = not isinstance(actor, Authority)
        if actor in listed and table == subject.life.table:
            assert deleted == "done", actor
        else:
            # A row that others refer to is held by its foreign key, which is asked before the guard.
            assert deleted in (("RC003", "23503") if privileged else (NO_RIGHT,)), actor
        assert truncated == ("RC008" if privileged else NO_RIGHT), actor


# SELECT … FOR UPDATE needs the right to update some column.
LOCKS = {("recoup.error", "UPDATE"): {Authority.ARCHIVER}}


def test_a_right_to_lock_is_no_right_to_change(scratch: Transaction) -> None:
    """The archiver locks what it moves. It changes nothing, whatever the status."""
    for status in ERROR.statuses:
        error = error_in(scratch, status)
        with acting(scratch, Authority.ARCHIVER):
            assert answer(scratch, "select from recoup.error where error_id = %(key)s for update", {"key": error})
            change = "update recoup.error set updated_at = updated_at where error_id = %(key)s"
            assert answer(scratch, change, {"key": error}) == "RC002"


def test_grants_are_no_wider_than_the_declaration(admin: Transaction) -> None:
    """Who may make, change or delete no row of a table holds no right to; nobody holds TRUNCATE or TRIGGER."""
    for life in LIFECYCLES:
        may = {
            "INSERT": {birth.by for birth in life.births},
            "UPDATE": {move.by for move in life.moves},
            "DELETE": {leaving.by for leaving in life.exits},
            "TRUNCATE": set(),
            "TRIGGER": set(),
        }
        for right, declared in may.items():
            authorities = declared | LOCKS.get((life.table, right), set())
            test = "has_any_column_privilege" if right in ("INSERT", "UPDATE") else "has_table_privilege"
            for authority in Authority:
                row = admin.execute(f"select {test}(%s, %s, %s)", (authority.role, life.table, right)).fetchone()
                assert row == (authority in authorities,), f"{authority} {right} {life.table}"
