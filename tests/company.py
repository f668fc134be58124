"""Companies and errors in every situation, brought there by the product's own verbs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from recoup import clock, deliveries, gate
from recoup.database.connection import Transaction
from recoup.deliveries import delivering
from recoup.errors import Category, Want, recording, retrying
from recoup.gate import Attempt, Failed, NewIntake, Passed
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.runs import NewRun, Started, running
from tiers import REVIEWED, WHEN_PARKED, escalated

WORKER = "test-worker"
# What a migration does before it changes a declaration, for whoever tampers with one.
MIGRATING = (
    "select pg_advisory_xact_lock(7265666);"
    " update recoup.domain set digest = gen_random_uuid()::text where name = 'platform';"
)
MINT = (
    "insert into cl.company_identity (intake_id, company_name, company_domain, minted_at)"
    " select intake_id, company_name, company_domain, recoup.now() from cl.gate_zero_intake where intake_id = %s"
    " returning sovereign_company_id"
)


@contextmanager
def acting(tx: Transaction, who: Authority | str | None) -> Iterator[None]:
    """Act as an authority, or as any role by name, for the length of the block; None is the login itself."""
    role = who.role if isinstance(who, Authority) else (who or "none")
    (before,) = tx.execute("select current_setting('role')").fetchone() or ("none",)
    tx.execute("select set_config('role', %s, true)", (role,))
    yield
    tx.execute("select set_config('role', %s, true)", (before,))


def advance(tx: Transaction, by: timedelta) -> None:
    with acting(tx, Authority.OPERATOR):
        clock.advance(tx, by)


def new_intake(tx: Transaction, *, batch_id: str | None = None) -> UUID:
    with acting(tx, Authority.HUB):
        (intake,) = gate.add_intakes(tx, [NewIntake(company_name="Acme", state="TX")], batch_id=batch_id)
    return intake


def open_attempt(tx: Transaction, intake: UUID) -> Attempt:
    with acting(tx, Authority.GATE):
        (attempt,) = gate.open_attempts(tx, [intake], worker=WORKER)
    return attempt


def finish(tx: Transaction, attempt: Attempt, reason: ReasonCode | None) -> gate.Finished:
    outcome: Passed | Failed = (
        Passed(attempt_id=attempt.attempt_id, token=attempt.token)
        if reason is None
        else Failed(attempt_id=attempt.attempt_id, token=attempt.token, reason_code=reason)
    )
    with acting(tx, Authority.GATE):
        (finished,) = gate.finish_attempts(tx, [outcome])
    return finished


def attempt_and(tx: Transaction, intake: UUID, reason: ReasonCode | None) -> gate.Finished:
    return finish(tx, open_attempt(tx, intake), reason)


def failed_intake(tx: Transaction, *, times: int = 1, batch_id: str | None = None) -> UUID:
    """An intake that failed so many times, each after its wait."""
    intake = new_intake(tx, batch_id=batch_id)
    for number in range(1, times + 1):
        attempt_and(tx, intake, ReasonCode.NO_LINKEDIN_COMPANY)
        if number < times:
            advance(tx, timedelta(hours=24 if number == 1 else 72))
    return intake


def new_batch(tx: Transaction) -> str:
    name = f"batch-{uuid.uuid4().hex[:12]}"
    with acting(tx, Authority.HUB):
        gate.create_batch(tx, name)
    return name


def intake_in(tx: Transaction, status: str) -> UUID:
    match status:
        case "PENDING":
            return new_intake(tx)
        case "FAILED":
            return failed_intake(tx)
        case "EXHAUSTED":
            return failed_intake(tx, times=3)
    intake = new_intake(tx) if status == "AUTHORIZED" else failed_intake(tx)
    if status == "REENTER_SUCCEEDED":
        advance(tx, timedelta(hours=24))
    attempt_and(tx, intake, None)
    return intake


def minted(tx: Transaction, *, of: UUID | None = None) -> UUID:
    """An identity, minted by hand: of this intake, or of one that was authorised for it."""
    intake = of or intake_in(tx, "AUTHORIZED")
    with acting(tx, Authority.MINT):
        row = tx.execute(MINT, (intake,)).fetchone()
    assert row is not None
    made: UUID = row[0]
    return made


def attempt_in(tx: Transaction, status: str) -> UUID:
    attempt = open_attempt(tx, new_intake(tx))
    if status == "crashed":
        advance(tx, timedelta(hours=1))
        with acting(tx, Authority.GATE):
            assert attempt.attempt_id in gate.sweep_crashed(tx, limit=100_000)
    elif status != "open":
        finish(tx, attempt, None if status == "passed" else ReasonCode.TIMEOUT)
    return attempt.attempt_id


def recovery_in(tx: Transaction, status: str) -> UUID:
    if status == "ACTIVE":
        intake = failed_intake(tx, batch_id=batch_in(tx, "COMPLETED"))
    else:
        intake = intake_in(tx, {"EXHAUSTED": "EXHAUSTED", "SUCCEEDED": "REENTER_SUCCEEDED"}[status])
    row = tx.execute("select recovery_id from cl.gate_zero_recovery where intake_id = %s", (intake,)).fetchone()
    assert row is not None
    found: UUID = row[0]
    return found


def batch_in(tx: Transaction, status: str) -> str:
    batch = new_batch(tx)
    if status != "OPEN":
        with acting(tx, Authority.HUB):
            gate.complete_batch(tx, batch)
    if status == "FROZEN":
        advance(tx, timedelta(days=14))
        with acting(tx, Authority.GATE):
            gate.freeze(tx)
    return batch


# Errors ---------------------------------------------------------------------------------------------------------------

ERRORS = "outreach.dol_errors"  # allows RETRY, PARK and ARCHIVE, and blocks
UNPARKED_ERRORS = "company.url_discovery_failures"  # allows no PARK
MASTER_LOG = "public.shq_master_error_log"  # kept for ever, and insert-only


def new_error(tx: Transaction, *, table: str = ERRORS, want: Want | None = Want.RETRY, of: UUID | None = None) -> int:
    """An error that passes by itself, recorded by its hub: of this entity, or of one that has no other."""
    failure = recording.NewError(
        table=table, message="timed out", outreach_id=of or uuid.uuid4(), category=Category.TRANSIENT, want=want
    )
    with acting(tx, Authority.HUB):
        (recorded,) = recording.record(tx, [failure])
    return recorded.error_id


def claimed_error(tx: Transaction, *, table: str = ERRORS) -> int:
    """An error whose retry is under way. Time moves on until it is due, and others that were due are claimed too."""
    error = new_error(tx, table=table)
    advance(tx, timedelta(seconds=2))
    with acting(tx, Authority.ERROR_WORKER):
        assert error in {one.error_id for one in retrying.claim(tx, limit=100_000, worker=WORKER, tables=[table])}
    return error


def failed_retry(tx: Transaction) -> dict[str, Any]:
    """An error whose first retry failed, and the token of that retry."""
    error = claimed_error(tx)
    with acting(tx, Authority.ERROR_WORKER):
        (token,) = tx.execute("select token from recoup.error_queue where unit = %s", (error,)).fetchone() or (None,)
        assert isinstance(token, UUID)
        retrying.finish(tx, [retrying.Failed(error_table=ERRORS, error_id=error, token=token, failure="again")])
    return {"error": error, "token": token}


def error_in(tx: Transaction, status: str) -> int:
    match status:
        case "ACTIVE":
            return new_error(tx, want=Want.ARCHIVE)
        case "RETRY_PENDING":
            return new_error(tx)
    error = new_error(tx, want=Want.PARK)
    if status == "ESCALATED":
        decide_error(tx, error, f"status = 'ESCALATED', {escalated(1, 'lead')}, last_reviewed_at = now_")
    elif status == "RESOLVED":
        decide_error(tx, error, f"status = 'RESOLVED', archived_at = now_, archive_reason = 'RESOLVED', {REVIEWED}")
    return error


def decide_error(tx: Transaction, error: int, change: str) -> None:
    """What an operator writes."""
    with acting(tx, Authority.OPERATOR):
        statement = f"update recoup.error set {change} from (select recoup.now() as now_) t where error_id = %s"
        assert tx.execute(statement.encode(), (error,)).rowcount == 1


def without_window(tx: Transaction, error: int) -> None:
    """To be retried as one that a person started: when its time is over it leaves, and no window is closed before."""
    parked = "status = 'PARKED', disposition = 'PARKED', parked_at = now_, parked_by = recoup.acting_id()"
    decide_error(tx, error, f"{parked}, park_reason = 'look', next_retry_at = null, {WHEN_PARKED}")
    unparked = "status = 'RETRY_PENDING', disposition = 'RETRY', parked_at = null, parked_by = null, park_reason = null"
    decide_error(tx, error, f"{unparked}, retry_until = null, next_retry_at = now_, {REVIEWED}")


def room_in_archive(tx: Transaction, error: int) -> None:
    """The months in which the error may be archived, and today's."""
    with acting(tx, Authority.ARCHIVER):
        tx.execute(
            "insert into recoup.error_archive_month (error_table, month, made_at)"
            " select distinct e.error_table, date_trunc('month', m at time zone 'UTC')::date, recoup.now()"
            " from recoup.error e, unnest(array[e.archived_at, recoup.now()]) m where e.error_id = %s and m is not null"
            " on conflict do nothing",
            (error,),
        )


def new_delivery(tx: Transaction, *, dedup_key: str | None = None) -> UUID:
    with acting(tx, Authority.OPERATOR):
        return deliveries.send(tx, "log", "s", dedup_key=dedup_key)


def claimed_delivery(tx: Transaction, of: UUID | None = None) -> delivering.Claimed:
    """A delivery whose try is under way; so are those of others that were due."""
    wanted = new_delivery(tx) if of is None else of
    with acting(tx, Authority.EXECUTOR):
        found = delivering.claim(tx, limit=1000, worker="w", routes=["log"])
    return next(one for one in found if one.delivery_id == wanted)


def tried_delivery(tx: Transaction, *, times: int = 1) -> UUID:
    """A delivery that failed so often, and is due again."""
    made = new_delivery(tx)
    for _ in range(times):
        claimed = claimed_delivery(tx, made)
        with acting(tx, Authority.EXECUTOR):
            delivering.finish(tx, [(claimed, "no")])
        advance(tx, timedelta(hours=1))
    return made


def delivery_in(tx: Transaction, status: str) -> UUID:
    if status == "queued":
        return new_delivery(tx)
    claimed = claimed_delivery(tx)
    if status == "delivered":
        with acting(tx, Authority.EXECUTOR):
            delivering.finish(tx, [(claimed, None)])
    else:
        with acting(tx, Authority.OPERATOR):
            deliveries.cancel(tx, claimed.delivery_id)
    return claimed.delivery_id


def new_operation(tx: Transaction, *, items: int = 2**31 - 1) -> UUID:
    """A bulk operation whose items are yet to be written."""
    with acting(tx, Authority.OPERATOR):
        row = tx.execute(
            "insert into recoup.operation (subject, verb, arguments, filter, items, digest, requested_at, requested_by)"
            " values ('recoup.error', 'review', '{}', '{}', %s, sha256(''), recoup.now(), recoup.acting_id())"
            " returning operation_id",
            (items,),
        ).fetchone()
    assert row is not None
    made: UUID = row[0]
    return made


CANARY = (
    "jsonb_build_object('first', 1, 'growth', 2, 'failed_share', 0.2, 'wait_s', 60, 'rate_per_minute', 0,"
    " 'policy_version', 1, 'actor', recoup.acting_kind(), 'authority', 'recoup_operator')"
)


def new_canary(tx: Transaction) -> UUID:
    """A bulk operation in its first step, with one item in it and one beyond."""
    with acting(tx, Authority.OPERATOR):
        row = tx.execute(
            "with o as (insert into recoup.operation (subject, verb, arguments, filter, items, digest, requested_at,"
            " requested_by, canary, step, step_start, step_end, next_at) select 'recoup.error', 'unpark', '{}', '{}',"
            f" 2, sha256(''), recoup.now(), recoup.acting_id(), {CANARY}, 1, 0, 1, recoup.now()"
            " returning operation_id),"
            " i as (insert into recoup.operation_item (operation_id, place, unit)"
            " select o.operation_id, n, 'x.y/' || n from o, generate_series(1, 2) n)"
            " select operation_id from o"
        ).fetchone()
    assert row is not None
    made: UUID = row[0]
    return made


def new_operation_item(tx: Transaction) -> int:
    """An item of an operation, by its place, which no other item has."""
    place = uuid.uuid4().int % 2**31
    with acting(tx, Authority.OPERATOR):
        tx.execute(
            "insert into recoup.operation_item (operation_id, place, unit) values (%s, %s, 'outreach.dol_errors/1')",
            (new_operation(tx), place),
        )
    return place


def new_archive_month(tx: Transaction, *, month: str = "1990-01-01", table: str = ERRORS) -> str:
    """A month of an archive; by default one so long ago that its retention is over, and nobody else has it."""
    with acting(tx, Authority.ARCHIVER):
        tx.execute(
            "insert into recoup.error_archive_month (error_table, month, made_at) values (%s, %s, recoup.now())",
            (table, month),
        )
    return month


def new_run(tx: Transaction) -> Started:
    with acting(tx, Authority.RUNNER):
        (run,) = running.start(tx, [NewRun(kind="import", input={"day": 1})])
    return run


def run_in(tx: Transaction, status: str) -> UUID:
    if status == "queued":
        with acting(tx, Authority.RUNNER):
            (queued,) = running.queue(tx, [NewRun(kind="import", input={"day": 1})])
        return queued
    run = new_run(tx)
    if status == "crashed":
        advance(tx, timedelta(hours=1))
        with acting(tx, Authority.ORPHAN_RECOVERY):
            tx.execute(
                "update recovery.run set status = 'crashed', crash_reason = 'silent', finished_at = recoup.now()"
                " where run_id = %s",
                (run.run_id,),
            )
    elif status in ("succeeded", "failed"):
        outcome = running.Succeeded if status == "succeeded" else running.Failed
        with acting(tx, Authority.RUNNER):
            running.finish(tx, [outcome(run_id=run.run_id, token=run.token)])
    return run.run_id
