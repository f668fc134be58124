"""The rows of the product's own lifecycles: how each comes into a status, and what a statement says to move it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta

from psycopg.sql import SQL, Identifier

from alarms import ALERT_ROW, COLUMNS, MOVES, SILENCE_MOVES, SILENCE_ROW, VALUES, alert_in, due_alert, silence_in
from company import (
    CANARY,
    ERRORS,
    UNPARKED_ERRORS,
    acting,
    advance,
    attempt_in,
    batch_in,
    claimed_delivery,
    claimed_error,
    delivery_in,
    error_in,
    failed_retry,
    intake_in,
    minted,
    new_archive_month,
    new_canary,
    new_error,
    new_intake,
    new_operation,
    new_operation_item,
    open_attempt,
    recovery_in,
    room_in_archive,
    run_in,
    tried_delivery,
    without_window,
)
from conformance.backfill_cast import BACKFILL_ROLES
from conformance.cast import Role
from conformance.partition_cast import PARTITION_ROLES
from conformance.recovery_cast import RECOVERY_ROLES
from conformance.requeue_cast import REQUEST_ROLES
from conformance.service_cast import SERVICE_ROLES
from recoup import gate
from recoup.alerts.lifecycle import ALERT, SILENCE
from recoup.clock import CLOCK
from recoup.database.connection import Transaction
from recoup.deliveries.lifecycle import DELIVERY
from recoup.errors import escalation
from recoup.errors.lifecycle import ARCHIVE_MONTH, ERROR, REDACTION, TRACEBACK
from recoup.gate.lifecycle import ATTEMPT, BATCH, EVIDENCE, INTAKE, RECOVERY
from recoup.lifecycles.declaration import Authority
from recoup.mint.lifecycle import IDENTITY
from recoup.operations.lifecycle import OPERATION, OPERATION_ITEM
from recoup.pauses.lifecycle import PAUSE as PAUSE_LIFE
from recoup.runs.lifecycle import RUN
from recoup.worker.lifecycle import WORKER
from tiers import REVIEWED, WHEN_PARKED, escalated


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
        advance(tx, timedelta(minutes=5))
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


OPERATION_COLUMNS = "subject, verb, arguments, filter, items, digest, requested_at, requested_by"
OPERATION_VALUES = "'recoup.error', 'park', '{}', '{}', 1, sha256(''), recoup.now(), recoup.acting_id()"
OPERATION_MOVES = {
    status: f"status = '{status}', done_at = {'recoup.now()' if status in ('DONE', 'CANCELLED') else 'null'}"
    for status in OPERATION.statuses
}


def operation_in(tx: Transaction, status: str) -> uuid.UUID:
    operation = new_canary(tx)
    if status != "OPEN":
        with acting(tx, Authority.OPERATOR):
            tx.execute(
                f"update recoup.operation set {OPERATION_MOVES[status]} where operation_id = %s".encode(), (operation,)
            )
    return operation


def evidence_in(tx: Transaction, status: str) -> int:
    found = [gate.Evidence("dns", "passed" if status == "PASSED" else "no-domain", "m")]
    attempt = open_attempt(tx, new_intake(tx))
    with acting(tx, Authority.GATE):
        gate.finish_attempts(tx, [gate.Passed(attempt_id=attempt.attempt_id, token=attempt.token, evidence=found)])
    return 1


def item_in(tx: Transaction, status: str) -> int:
    place = new_operation_item(tx)
    if status != "PENDING":
        with acting(tx, Authority.OPERATOR):
            tx.execute(f"update recoup.operation_item set {ITEM[status]} where place = %s".encode(), (place,))
    return place


REDACTION_ROW = (
    "(error_table, error_id, error_message, digest, redacted_at)"
    " values ('outreach.dol_errors', %(error)s, '[redacted]', recoup.redaction_digest('[redacted]', null, null),"
    " recoup.now())"
)


def redaction_in(tx: Transaction, _: str) -> int:
    error = new_error(tx)
    with acting(tx, Authority.OPERATOR):
        made = tx.execute(
            f"insert into recoup.error_redaction {REDACTION_ROW} returning redaction_id".encode(), {"error": error}
        )
        (redaction,) = made.fetchone() or (0,)
    return int(redaction)


TRACEBACK_ROW = (
    "(error_table, error_id, retry, token, traceback, recorded_at)"
    " values ('outreach.dol_errors', %(error)s, 1, %(token)s, 'Traceback', recoup.now())"
)


def traceback_in(tx: Transaction, _: str) -> int:
    with acting(tx, Authority.HUB):
        statement = f"insert into recoup.retry_traceback {TRACEBACK_ROW} returning traceback_id"
        (made,) = tx.execute(statement.encode(), failed_retry(tx)).fetchone() or (0,)
    return int(made)


def without_its_error(tx: Transaction, traceback: int) -> None:
    """Its error is in no table any more, as when a month of its archive was dropped."""
    tx.execute("alter table recoup.error disable trigger all")
    tx.execute(
        "delete from recoup.error where error_id = (select error_id from recoup.retry_traceback"
        " where traceback_id = %s)",
        (traceback,),
    )


MONTH_DROPPED = "status = 'DROPPED', dropped_at = recoup.now(), rows = 0, digest = sha256('')"
ITEM = {
    "PENDING": "status = 'PENDING', ended_at = null, refusal = null",
    "DONE": "status = 'DONE', ended_at = recoup.now(), refusal = null",
    "REFUSED": "status = 'REFUSED', ended_at = recoup.now(), refusal = 'gone'",
}
ERROR_ROW = (
    "(error_table, outreach_id, error_message, error_signature, category, disposition, status, ttl_tier, expires_at,"
    " max_retries, next_retry_at, parked_at, parked_by, park_reason, escalation_level, escalated_at, escalated_to,"
    " parked_since, sla_due_at, archived_at, archive_reason, decided_by, policy_version, created_at, updated_at)"
    " select 'outreach.dol_errors', gen_random_uuid(), 'm', 's2-' || repeat('0', 24), 'TRANSIENT', d.disposition,"
    " d.status, 'SHORT', now_, 5, case when d.status = 'RETRY_PENDING' then now_ end,"
    " case when p.is_parked then now_ end, case when p.is_parked then 'x' end, case when p.is_parked then 'y' end,"
    " 1, now_, 'z', now_, now_ + interval '1 day',"
    " case when d.status = 'RESOLVED' then now_ end, case when d.status = 'RESOLVED' then 'RESOLVED' end,"
    " 'table', recoup.policy_version(), now_, now_"
    " from (select recoup.now() as now_) t, (values ('{disposition}', '{status}')) d (disposition, status),"
    " lateral (select d.status not in ('ACTIVE', 'RETRY_PENDING') as is_parked) p"
)
DISPOSITION = {"ACTIVE": "ARCHIVE", "RETRY_PENDING": "RETRY"}  # of the others: PARKED
END = "finished_at = greatest(recoup.now(), opened_at + interval '1 microsecond')"
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
PARK = f"disposition = 'PARKED', parked_at = t.now_, next_retry_at = null, {WHEN_PARKED}"
UNPARK = "parked_at = null, parked_by = null, park_reason = null"
BY_ME = "parked_by = recoup.acting_id(), park_reason = 'look'"
NOT_OVER = "archived_at = null, archive_reason = null"
ENDED = "retry_count = retry_count + 1, token = (select q.token from recoup.error_queue q where q.unit = error_id)"
# What the hub and the worker write; the hub supersedes what it does not retry.
BY_RETRY = {
    "RETRY_PENDING": f"next_retry_at = t.now_ + interval '1 hour', last_outcome = 'FAILED', {ENDED}",
    "PARKED": f"status = 'PARKED', {PARK}, parked_by = 'system', park_reason = 'MAX_RETRIES_EXCEEDED'",
    "ACTIVE": "status = 'ACTIVE', disposition = 'ARCHIVE', next_retry_at = null, park_reason = 'MAX_RETRIES_EXCEEDED'",
    "RESOLVED": f"status = 'RESOLVED', last_outcome = 'SUCCEEDED', next_retry_at = null, {ENDED}, {OVER} 'RESOLVED'",
}
SUPERSEDED = f"superseded_by = error_id + 1000000, {OVER} 'SUPERSEDED'"
# What an operator writes, and whoever else tries it.
BY_PERSON = {
    "ACTIVE": f"status = 'ACTIVE', disposition = 'ARCHIVE', next_retry_at = null, {UNPARK}",
    "RETRY_PENDING": "status = 'RETRY_PENDING', disposition = 'RETRY', next_retry_at = t.now_, retry_until = null,"
    f" max_retries = greatest(max_retries, retry_count + 1), {UNPARK}",
    "PARKED": f"status = 'PARKED', {PARK}, {BY_ME}",
    "ESCALATED": "status = 'ESCALATED', disposition = 'PARKED', next_retry_at = null,"
    " parked_at = coalesce(parked_at, t.now_), parked_by = coalesce(parked_by, 'x'),"
    " park_reason = coalesce(park_reason, 'y'), "
    + escalated(2, "lead").replace("parked_since, parked_at", "parked_since, parked_at, t.now_"),
    "RESOLVED": f"status = 'RESOLVED', next_retry_at = null, {OVER} 'RESOLVED'",
}


def error_change(actor: Authority | str | None, source: str, target: str) -> str:
    """A move of an error means something else by each authority."""
    if actor in (Authority.HUB, Authority.ERROR_WORKER):
        if source == "RETRY_PENDING" and target in BY_RETRY:
            return BY_RETRY[target]
        if source == target:
            if actor is Authority.ERROR_WORKER and source in ("PARKED", "ESCALATED"):
                return "sla_breached_at = t.now_"
            return SUPERSEDED if source != "RESOLVED" else "updated_at = t.now_"
    if source == target:
        archives = actor is Authority.EXECUTOR and source != "RESOLVED"
        return f"{OVER} 'MANUAL'" if archives else REVIEWED
    if (source, target) == ("RETRY_PENDING", "RESOLVED"):
        return f"{BY_PERSON[target]}, {ENDED}"
    if actor is not Authority.EXECUTOR and source in ("PARKED", "ESCALATED"):
        reviewed = "last_reviewed_at = t.now_" if target in ("PARKED", "ESCALATED") else REVIEWED
        return f"{BY_PERSON[target]}, {reviewed}"
    return BY_PERSON[target] + (f", {NOT_OVER}" if source == "RESOLVED" else "")


DELIVERY_ROW = (
    "(route, subject, body, dedup_key, origin, next_try_at, created_at, updated_at)"
    " select 'log', 's', '{}', 'a key', 'operator', now_, now_, now_ from (select recoup.now() as now_) t"
)


def delivery_change(actor: Authority | str | None, source: str, target: str) -> str:
    """A try ends; an operator cancels."""
    tried = (
        "attempts = attempts + 1, updated_at = t.now_, token = coalesce("
        "(select q.token from recoup.delivery_queue q where q.unit = delivery_id), gen_random_uuid())"
    )
    ended = {
        "queued": "ended_at = null, outcome = 'FAILED', last_failure = 'no',"
        " next_try_at = t.now_ + interval '1 minute'",
        "delivered": "ended_at = t.now_, outcome = 'SUCCEEDED'",
        "dead": "ended_at = t.now_, outcome = 'FAILED', last_failure = 'no'",
    }[target]
    if target == "dead" and actor is Authority.OPERATOR:
        ended = "ended_at = t.now_, outcome = 'CANCELLED'"
    return f"status = '{target}', {tried}, {ended}"


def last_try(tx: Transaction) -> uuid.UUID:
    """A delivery whose last try is under way."""
    return claimed_delivery(tx, tried_delivery(tx, times=11)).delivery_id


def passing(**time: int) -> Callable[[Transaction], None]:
    """What must be true before a listed move may claim it: so much time has passed."""
    return lambda tx: advance(tx, timedelta(**time))


def partition_of(tx: Transaction, error: int) -> str:
    (table,) = tx.execute("select error_table from recoup.error where error_id = %s", (error,)).fetchone() or ("",)
    return str(table)


def leaves(tx: Transaction, error: int) -> None:
    """Its time is over, no window is to be closed before, and there is room in the archive."""
    if tx.execute("select 1 from recoup.error where error_id = %s and status = 'RETRY_PENDING'", (error,)).fetchone():
        without_window(tx, error)
    advance(tx, timedelta(days=100))
    with acting(tx, Authority.ERROR_WORKER):
        escalation.raise_tiers(tx)
    advance(tx, timedelta(hours=5))
    with acting(tx, Authority.ERROR_WORKER):  # the clock of the last tier has ended too, and is marked
        escalation.raise_tiers(tx)
    room_in_archive(tx, error)


def without_clock(tx: Transaction) -> None:
    tx.execute("alter table recoup.clock disable trigger all; delete from recoup.clock;")
    tx.execute("alter table recoup.clock enable always trigger a_guard_births")


RUN_ROW = (
    "(kind, source, status, owner, token, created_at, queued_at, started_at, heartbeat_at, finished_at, ended_with,"
    " crash_reason) select 'k', 'k', s.status, 'x', case when s.begun then s.token end, s.now_,"
    " case when s.status = 'queued' then s.now_ end, case when s.begun then s.now_ end,"
    " case when s.begun then s.now_ end, case when s.ended then s.now_ end,"
    " case when s.status in ('succeeded', 'failed') then s.token end, case when s.status = 'crashed' then 'x' end"
    " from (select recoup.now() as now_, gen_random_uuid() as token, v.status, v.status <> 'queued' as begun,"
    " v.status not in ('queued', 'running') as ended from (values ('{status}')) v (status)) s"
)
BEGUN = "token = coalesce(token, gen_random_uuid()), started_at = coalesce(started_at, t.now_), heartbeat_at = t.now_"
NOT_ENDED = "finished_at = null, ended_with = null, crash_reason = null, message = null, result = null"
RUN_CHANGE = {
    "queued": f"status = 'queued', token = null, started_at = null, heartbeat_at = null, {NOT_ENDED},"
    " queued_at = coalesce(queued_at, t.now_)",
    "running": f"status = 'running', {BEGUN}, {NOT_ENDED}",
    **{
        status: f"status = '{status}', {BEGUN}, finished_at = t.now_, crash_reason = null,"
        " ended_with = coalesce(token, gen_random_uuid())"
        for status in ("succeeded", "failed")
    },
    "crashed": "status = 'crashed', finished_at = t.now_, crash_reason = 'x', ended_with = null, message = null,"
    " result = null",
}


RUN_LISTED = {
    ("queued", "running"): f"status = 'running', {BEGUN}",
    ("running", "running"): "heartbeat_at = t.now_",
    ("running", "succeeded"): "status = 'succeeded', finished_at = t.now_, ended_with = token",
    ("running", "failed"): "status = 'failed', finished_at = t.now_, ended_with = token",
    ("queued", "crashed"): "status = 'crashed', finished_at = t.now_, crash_reason = 'x'",
    ("running", "crashed"): "status = 'crashed', finished_at = t.now_, crash_reason = 'x'",
}


ROLES: tuple[Role, ...] = (
    Role(
        INTAKE,
        {status: f"(company_name, status) values ('x', '{status}')" for status in INTAKE.statuses}
        | {
            "PENDING": "(company_name, retry_of) values ('x', %(intake)s)",
            "AUTHORIZED": "(company_name, status, reentered_from) values ('x', 'AUTHORIZED', %(intake)s)",
        },
        {status: f"status = '{status}'" for status in INTAKE.statuses},
        row_in=intake_in,
        given=lambda tx: {"intake": intake_in(tx, "EXHAUSTED")},
        born_by={("PENDING", who): "(company_name) values ('x')" for who in (Authority.HUB, Authority.GATE)},
    ),
    Role(
        IDENTITY,
        {"MINTED": "(intake_id, company_name, minted_at) values (%(intake)s, 'Acme', recoup.now())"},
        {"MINTED": "company_name = company_name || ' Holding'"},
        row_in=lambda tx, _status: minted(tx),
        given=lambda tx: {"intake": intake_in(tx, "AUTHORIZED")},
    ),
    Role(
        ATTEMPT,
        {
            status: "(intake_id, attempt_number, worker, opened_at, lease_until, status, finished_at, reason_code)"
            f" select %(intake)s, 1, 'w', now_, now_ + interval '1 min', '{status}',"
            f" case when '{status}' <> 'open' then now_ + interval '1 microsecond' end,"
            f" case when '{status}' in ('failed', 'crashed') then 'TIMEOUT' end"
            " from (select recoup.now() as now_) t"
            for status in ATTEMPT.statuses
        },
        {
            "open": "status = 'open', finished_at = null, reason_code = null",
            "passed": f"status = 'passed', reason_code = null, ended_with = token, {END}",
            "failed": f"status = 'failed', reason_code = 'TIMEOUT', ended_with = token, {END}",
            "crashed": f"status = 'crashed', reason_code = 'TIMEOUT', {END}",
        },
        row_in=attempt_in,
        given=lambda tx: {"intake": intake_in(tx, "PENDING")},
        prepare={("open", "crashed"): passing(hours=1)},
    ),
    Role(
        EVIDENCE,
        {
            status: "(attempt_id, check_number, check_name, finding, message, duration_ms, recorded_at)"
            f" values (%(attempt)s, 1, 'dns', '{finding}', 'm', 1, recoup.now())"
            for status, finding in (("PASSED", "passed"), ("FAILED", "no-domain"))
        },
        {"PASSED": "finding = 'passed'", "FAILED": "finding = 'no-domain'"},
        row_in=evidence_in,
        given=lambda tx: {"attempt": attempt_in(tx, "open")},
    ),
    Role(
        RECOVERY,
        {
            status: "(intake_id, failure_reason, attempt_count, next_eligible_at, status)"
            f" values (%(intake)s, 'TIMEOUT', 1, recoup.now(), '{status}')"
            for status in RECOVERY.statuses
        },
        {
            "ACTIVE": "status = 'ACTIVE', attempt_count = least(2, attempt_count + 1)",
            "EXHAUSTED": "status = 'EXHAUSTED', next_eligible_at = recoup.never(),"
            " updated_at = greatest(recoup.now(), updated_at + interval '1 microsecond')",
            "SUCCEEDED": "status = 'SUCCEEDED'",
        },
        row_in=recovery_in,
        given=lambda tx: {"intake": intake_in(tx, "PENDING")},
        prepare={("ACTIVE", "EXHAUSTED"): passing(days=14)},
    ),
    Role(
        BATCH,
        {"OPEN": "(batch_id, imported_at) values (gen_random_uuid()::text, recoup.now())"},
        lambda _actor, source, target: BATCH_CHANGE[source, target],
        row_in=batch_in,
        prepare={("COMPLETED", "FROZEN"): passing(days=14)},
    ),
    Role(
        ERROR,
        {
            status: ERROR_ROW.format(status=status, disposition=DISPOSITION.get(status, "PARKED"))
            for status in ERROR.statuses
        },
        error_change,
        row_in=error_in,
        prepare={
            ("RETRY_PENDING", "PARKED"): passing(days=1),
            ("RETRY_PENDING", "ACTIVE"): passing(days=1),
            ("PARKED", "PARKED"): passing(hours=25),
            ("ESCALATED", "ESCALATED"): passing(hours=25),
        },
        row_for={
            ("RETRY_PENDING", "ACTIVE"): lambda tx: new_error(tx, table=UNPARKED_ERRORS),
            ("RETRY_PENDING", "RETRY_PENDING"): claimed_error,
            ("RETRY_PENDING", "RESOLVED"): claimed_error,
        },
        partition_of=partition_of,
        born_into=ERRORS,
        before_exit=leaves,
    ),
    Role(
        ARCHIVE_MONTH,
        {
            "KEPT": "(error_table, month, made_at) values ('outreach.dol_errors', '1990-01-01', recoup.now())",
            "DROPPED": "(error_table, month, made_at, status, dropped_at, rows, digest)"
            " values ('outreach.dol_errors', '1990-01-01', recoup.now(), 'DROPPED', recoup.now(), 0, '')",
        },
        {"KEPT": "status = 'KEPT', dropped_at = null, rows = null, digest = null", "DROPPED": MONTH_DROPPED},
        row_in=month_in,
    ),
    Role(
        REDACTION,
        {"DONE": REDACTION_ROW},
        {"DONE": "last_failure = 'forged'"},
        row_in=redaction_in,
        given=lambda tx: {"error": new_error(tx)},
    ),
    Role(
        TRACEBACK,
        {"KEPT": TRACEBACK_ROW},
        {"KEPT": "traceback = 'forged'"},
        row_in=traceback_in,
        given=failed_retry,
        before_exit=without_its_error,
    ),
    Role(
        DELIVERY,
        {"queued": DELIVERY_ROW}
        | {
            status: "(route, subject, body, dedup_key, origin, status, attempts, token, outcome, ended_at)"
            f" values ('log', 's', '{{}}', 'a key', 'operator', '{status}', 1, gen_random_uuid(), '{outcome}',"
            " recoup.now())"
            for status, outcome in (("delivered", "SUCCEEDED"), ("dead", "FAILED"))
        },
        delivery_change,
        row_in=delivery_in,
        row_for={
            ("queued", "queued"): lambda tx: claimed_delivery(tx).delivery_id,
            ("queued", "delivered"): lambda tx: claimed_delivery(tx).delivery_id,
            ("queued", "dead"): last_try,
        },
        born_by={
            ("queued", Authority.ERROR_WORKER): "(route, subject, body, dedup_key, origin, alert_id)"
            " values ('log', 's', '{}', 'a key', 'alert', gen_random_uuid())",
            ("queued", Authority.EXECUTOR): "(route, subject, body, dedup_key, origin, candidate_id)"
            " values ('log', 's', '{}', 'a key', 'candidate', gen_random_uuid())",
        },
    ),
    Role(
        ALERT,
        {"firing": ALERT_ROW}
        | {
            status: f"({COLUMNS}, status, ended_at) select {VALUES}, '{status}', t.now_"
            " from (select recoup.now() as now_) t"
            for status in ("recovered", "no_data")
        },
        MOVES,
        row_in=alert_in,
        given=due_alert,
    ),
    Role(
        SILENCE,
        {"active": SILENCE_ROW}
        | {
            status: SILENCE_ROW.replace("created_by)", "created_by, status, ended_at)").replace(
                "acting_id())", f"acting_id(), '{status}', recoup.now())"
            )
            for status in ("expired", "ended")
        },
        SILENCE_MOVES,
        row_in=silence_in,
        prepare={("active", "expired"): passing(hours=2)},
    ),
    Role(
        OPERATION,
        {
            "OPEN": f"({OPERATION_COLUMNS}) values ({OPERATION_VALUES})",
            "DONE": f"({OPERATION_COLUMNS}, status, done_at) values ({OPERATION_VALUES}, 'DONE', recoup.now())",
            "CANCELLED": f"({OPERATION_COLUMNS}, status, done_at)"
            f" values ({OPERATION_VALUES}, 'CANCELLED', recoup.now())",
        }
        | {
            status: f"({OPERATION_COLUMNS}, status, canary, step, step_start, step_end, next_at)"
            f" values ({OPERATION_VALUES}, '{status}', {CANARY}, 1, 0, 1, recoup.now())"
            for status in ("PAUSED", "STOPPED")
        },
        OPERATION_MOVES,
        row_in=operation_in,
    ),
    Role(
        OPERATION_ITEM,
        {
            "PENDING": "(operation_id, place, unit) values (%(operation)s, 1, 'x.y/1')",
            "DONE": "(operation_id, place, unit, status, ended_at)"
            " values (%(operation)s, 1, 'x.y/1', 'DONE', recoup.now())",
        },
        ITEM,
        row_in=item_in,
        given=lambda tx: {"operation": new_operation(tx)},
    ),
    Role(
        PAUSE_LIFE,
        {
            status: PAUSE_ROW.replace("%(scope_id)s", "'mint'").replace("%(status)s", f"'{status}'")
            for status in PAUSE_LIFE.statuses
        },
        {status: f"status = '{status}', changed_at = recoup.now()" for status in PAUSE_LIFE.statuses},
        row_in=pause_in,
    ),
    Role(
        WORKER,
        {"running": WORKER_ROW},
        {
            status: f"status = '{status}', ended_at = {'null' if status == 'running' else 'recoup.now()'}"
            for status in WORKER.statuses
        },
        row_in=worker_in,
        prepare={("running", "lost"): passing(minutes=5)},
    ),
    Role(
        RUN,
        {status: RUN_ROW.format(status=status) for status in RUN.statuses},
        lambda _actor, source, target: RUN_LISTED.get((source, target), RUN_CHANGE[target]),
        row_in=run_in,
        prepare={("queued", "crashed"): passing(days=2), ("running", "crashed"): passing(hours=1)},
        born_by={
            ("queued", Authority.RUNNER): "(kind, source, status, owner, created_at, queued_at)"
            " select 'k', 'k', 'queued', 'x', now_, now_ from (select recoup.now() as now_) t",
            ("queued", Authority.EXECUTOR): "(kind, source, status, owner, created_at, queued_at)"
            " select 'k', 'k', 'queued', 'x', now_, now_ from (select recoup.now() as now_) t",
            ("running", Authority.RUNNER): "(kind, source, status, owner, token, created_at, started_at, heartbeat_at)"
            " select 'k', 'k', 'running', 'x', gen_random_uuid(), now_, now_, now_ from"
            " (select recoup.now() as now_) t",
        },
    ),
    Role(
        CLOCK,
        {"real": "(status) values ('real')", "simulated": "(status, at) values ('simulated', now())"},
        {
            "real": "status = 'real', at = null, released_at = null",
            "simulated": "status = 'simulated', at = '2026-02-01', released_at = null",
            "released": "status = 'released', at = coalesce(at, '2026-01-01'),"
            " released_at = coalesce(released_at, now())",
        },
        row_in=clock_in,
        statuses=("real", "simulated", "released"),
        before_births=without_clock,
    ),
    *RECOVERY_ROLES,
    *PARTITION_ROLES,
    *BACKFILL_ROLES,
    *REQUEST_ROLES,
    *SERVICE_ROLES,
)
