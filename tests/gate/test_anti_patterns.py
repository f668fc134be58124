"""What the documents forbid, tried by the gate itself, by the owner of the tables and by a superuser: all refused.

The gate has the rights its moves need, so it is refused by rules; the other two have every right and no authority.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from company import (
    acting,
    advance,
    attempt_and,
    attempt_in,
    failed_intake,
    intake_in,
    new_batch,
    new_intake,
    open_attempt,
    recovery_in,
)
from recoup import gate
from recoup.database import embedded
from recoup.database.connection import Database, Transaction
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.refusals import LawRefused
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
from desk import Desk
from documents import AIR, QUERIES, RECOVERY, columns, comments, runnable
from histories import lawful

GATE = Authority.GATE
SUPERUSER = None
ACTORS: tuple[Authority | str | None, ...] = (GATE, OWNER, SUPERUSER)
everyone = pytest.mark.parametrize("who", ACTORS, ids=["gate", "owner", "superuser"])
NO_RIGHT, CHECK, NOT_NULL, UNIQUE = "42501", "23514", "23502", "23505"
DAY = timedelta(days=1)

EVENT = (
    "insert into cl.gate_zero_air (entity_id, event_type, reason_code, actor, event_timestamp, incarnation, actor_id,"
    " authority) values (%s, %s, %s, 'system', recoup.now() + interval '1 second', 1, 'x', 'recoup_gate')"
)
ATTEMPT = (
    "insert into cl.gate_zero_attempt (intake_id, attempt_number, batch_id, worker, opened_at, lease_until)"
    " select v.id, v.number, i.batch_id, 'w', recoup.now(), recoup.now() + interval '1 minute'"
    " from (values (%s::uuid, %s::integer)) v (id, number) left join cl.gate_zero_intake i on i.intake_id = v.id"
)


def said(tx: Transaction, who: Authority | str | None, statement: str, *parameters: Any) -> str:
    """What the database answers: an SQLSTATE, or 'done'. Either way nothing of it remains."""
    return said_of_all(tx, who, (statement, *parameters))


def said_of_all(tx: Transaction, who: Authority | str | None, *statements: tuple[Any, ...]) -> str:
    """What the database answers to several statements in a row: the first refusal, or 'done'."""
    try:
        with tx.transaction(force_rollback=True), acting(tx, who):
            for statement, *parameters in statements:
                tx.execute(statement, parameters)
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return "done"


def by(who: Authority | str | None, *, gate: str, others: str) -> str:
    """The expected answer: to the gate, or to those without authority."""
    return gate if who is GATE else others


def recovery_of(tx: Transaction, intake: UUID) -> UUID:
    row = tx.execute("select recovery_id from cl.gate_zero_recovery where intake_id = %s", (intake,)).fetchone()
    assert row is not None
    found: UUID = row[0]
    return found


def closed_early(tx: Transaction) -> UUID:
    """An intake exhausted by its batch's freeze, with attempts to spare."""
    batch = new_batch(tx)
    intake = failed_intake(tx, batch_id=batch)
    with acting(tx, GATE):
        gate.complete_batch(tx, batch)
    advance(tx, timedelta(days=14))
    with acting(tx, GATE):
        assert intake in gate.freeze(tx, limit=100_000).exhausted
    return intake


# Anti-patterns of the recovery table --------------------------------------------------------------------------------


@everyone
@pytest.mark.parametrize("failures", [1, 2])
def test_no_retry_before_next_eligible_at(scratch: Transaction, who: Any, failures: int) -> None:
    """A microsecond early is early; owner and superuser may not open an attempt at any time."""
    intake = failed_intake(scratch, times=failures)
    advance(scratch, timedelta(hours=24 if failures == 1 else 72) - timedelta(microseconds=1))
    assert said(scratch, who, ATTEMPT, intake, failures + 1) == by(who, gate="RC020", others="RC001")
    advance(scratch, timedelta(microseconds=1))
    assert said(scratch, who, ATTEMPT, intake, failures + 1) == by(who, gate="done", others="RC001")


@everyone
def test_no_increment_beyond_three(scratch: Transaction, who: Any) -> None:
    """Not in the count and not as a fourth attempt, whatever the status of the record."""
    intake = intake_in(scratch, "EXHAUSTED")
    set_four = "update cl.gate_zero_recovery set attempt_count = 4 where intake_id = %s"
    assert said(scratch, who, set_four, intake) == CHECK
    assert said(scratch, who, set_four, intake_in(scratch, "FAILED")) == CHECK
    advance(scratch, timedelta(days=365))
    assert said(scratch, who, ATTEMPT, intake, 4) == CHECK
    for number in (1, 2, 3):
        assert said(scratch, who, ATTEMPT, intake, number) == UNIQUE
    assert said(scratch, who, ATTEMPT, closed_early(scratch), 2) == by(who, gate="RC021", others="RC001")


@everyone
@pytest.mark.parametrize("status", ["ACTIVE", "EXHAUSTED", "SUCCEEDED"])
def test_no_recovery_record_is_deleted(scratch: Transaction, who: Any, status: str) -> None:
    """By DELETE, MERGE or TRUNCATE, in no status."""
    recovery = recovery_in(scratch, status)
    for statement in (
        "delete from cl.gate_zero_recovery where recovery_id = %s",
        "merge into cl.gate_zero_recovery r using (values (%s::uuid)) s (id) on r.recovery_id = s.id"
        " when matched then delete",
    ):
        assert said(scratch, who, statement, recovery) == by(who, gate=NO_RIGHT, others="RC003")
    assert said(scratch, who, "truncate cl.gate_zero_recovery") == by(who, gate=NO_RIGHT, others="RC008")


@everyone
@pytest.mark.parametrize("target", ["ACTIVE", "SUCCEEDED", "EXHAUSTED"])
def test_exhausted_is_final(scratch: Transaction, who: Any, target: str) -> None:
    """EXHAUSTED is not flipped to anything, nor changed while it stays; the intake neither."""
    spent, closed = intake_in(scratch, "EXHAUSTED"), closed_early(scratch)
    flip = "update cl.gate_zero_recovery set status = %s where intake_id = %s"
    assert said(scratch, who, flip, target, closed) == "RC002"
    # Active after three attempts is no possible row at all, and is refused as such before anybody is asked.
    assert said(scratch, who, flip, target, spent) == (CHECK if target == "ACTIVE" else "RC002")
    for status in ("PENDING", "AUTHORIZED", "FAILED", "REENTER_SUCCEEDED", "EXHAUSTED"):
        for intake in (spent, closed):
            change = "update cl.gate_zero_intake set status = %s where intake_id = %s"
            assert said(scratch, who, change, status, intake) == "RC002"


@everyone
@pytest.mark.parametrize("status", ["FAILED", "REENTER_SUCCEEDED", "EXHAUSTED"])
def test_what_failed_is_never_set_to_authorized(scratch: Transaction, who: Any, status: str) -> None:
    """Success makes a new intake. Not with its retry just passed, nor before, nor after."""
    intake = intake_in(scratch, status)
    authorize = "update cl.gate_zero_intake set status = 'AUTHORIZED' where intake_id = %s"
    assert said(scratch, who, authorize, intake) == "RC002"
    # Nor by posing as its own re-entry.
    pose = "update cl.gate_zero_intake set status = 'AUTHORIZED', reentered_from = %s where intake_id = %s"
    assert said(scratch, who, pose, new_intake(scratch), intake) in ("RC002", "RC005")


# Anti-patterns of the log -------------------------------------------------------------------------------------------


@everyone
@pytest.mark.parametrize("column", [name for name, *_ in columns(AIR)])
def test_no_column_of_an_event_is_updated(scratch: Transaction, who: Any, column: str) -> None:
    """All eleven are immutable, also against an update that changes nothing."""
    intake = intake_in(scratch, "AUTHORIZED")
    update = f"update cl.gate_zero_air set {column} = {column} where entity_id = %s"
    assert said(scratch, who, update, intake) == by(who, gate=NO_RIGHT, others="RC009")


@everyone
def test_no_event_is_deleted(scratch: Transaction, who: Any) -> None:
    """By DELETE, MERGE or TRUNCATE."""
    intake = intake_in(scratch, "AUTHORIZED")
    refused = by(who, gate=NO_RIGHT, others="RC009")
    assert said(scratch, who, "delete from cl.gate_zero_air where entity_id = %s", intake) == refused
    merge = (
        "merge into cl.gate_zero_air a using (values (%s::uuid)) s (id) on a.entity_id = s.id when matched then delete"
    )
    assert said(scratch, who, merge, intake) == refused
    assert said(scratch, who, "truncate cl.gate_zero_air") == refused


@everyone
@pytest.mark.parametrize("outcome", ["passed", "failed", "crashed"])
def test_no_attempt_is_born_with_its_outcome(scratch: Transaction, who: Any, outcome: str) -> None:
    """Every processing starts with ATTEMPT: an attempt is made open, and ends by a move."""
    born = (
        "insert into cl.gate_zero_attempt (intake_id, attempt_number, worker, opened_at, lease_until, status,"
        " finished_at, reason_code) values (%s, 1, 'w', recoup.now(), recoup.now() + interval '1 minute', %s,"
        " recoup.now() + interval '1 microsecond', %s)"
    )
    reason = None if outcome == "passed" else "TIMEOUT"
    assert said(scratch, who, born, new_intake(scratch), outcome, reason) == "RC001"


@everyone
@pytest.mark.parametrize("status", ["AUTHORIZED", "FAILED"])
def test_no_intake_is_decided_without_an_attempt(scratch: Transaction, who: Any, status: str) -> None:
    """The outcome of Gate Zero without ATTEMPT, PASS, AUTH or FAIL in the log: also the gate is refused.

    Every outcome emits its events (invariant Complete), and the mint goes by what the intake says.
    """
    decide = "update cl.gate_zero_intake set status = %s where intake_id = %s"
    answer = said(scratch, who, decide, status, new_intake(scratch))
    assert answer.startswith("RC"), answer
    in_flight = new_intake(scratch)
    open_attempt(scratch, in_flight)
    answer = said(scratch, who, decide, status, in_flight)
    assert answer.startswith("RC"), answer


@everyone
def test_no_authorized_intake_is_made_by_hand(scratch: Transaction, who: Any) -> None:
    """AUTHORIZED at birth is re-entry: it has an origin whose retry passed, with PASS, AUTH and REENTER in the log."""
    make = "insert into cl.gate_zero_intake (company_name, status, reentered_from) values ('x', 'AUTHORIZED', %s)"
    for status in ("PENDING", "FAILED", "AUTHORIZED", "EXHAUSTED"):
        answer = said(scratch, who, make, intake_in(scratch, status))
        assert answer.startswith("RC"), f"{status}: {answer}"
    # A re-entered one has its intake already.
    assert said(scratch, who, make, intake_in(scratch, "REENTER_SUCCEEDED")) in ("RC001", UNIQUE)


@everyone
@pytest.mark.parametrize("what", ["recovery", "intake"])
def test_no_recovery_succeeds_without_a_passed_retry(scratch: Transaction, who: Any, what: str) -> None:
    """SUCCEEDED and REENTER_SUCCEEDED without AUTH and REENTER in the log: also the gate is refused."""
    intake = failed_intake(scratch)
    advance(scratch, DAY)
    change = {
        "recovery": "update cl.gate_zero_recovery set status = 'SUCCEEDED' where intake_id = %s",
        "intake": "update cl.gate_zero_intake set status = 'REENTER_SUCCEEDED' where intake_id = %s",
    }[what]
    answer = said(scratch, who, change, intake)
    assert answer.startswith("RC"), answer


@everyone
@pytest.mark.parametrize("count", [1, 2])
def test_no_retry_opens_without_the_failures_before_it(scratch: Transaction, who: Any, count: int) -> None:
    """A recovery record made by hand opens no RETRY on an intake that was never tried, nor exhausts it."""
    intake = new_intake(scratch)
    make = (
        "insert into cl.gate_zero_recovery (intake_id, failure_reason, attempt_count, next_eligible_at)"
        " values (%s, 'TIMEOUT', %s, recoup.now())"
    )
    exhaust = "update cl.gate_zero_recovery set status = 'EXHAUSTED', attempt_count = 3 where intake_id = %s"
    expected = by(who, gate="RC012", others="RC001")
    assert said_of_all(scratch, who, (make, intake, count), (ATTEMPT, intake, count + 1)) == expected
    expected = by(who, gate="RC012", others="RC001")
    assert said_of_all(scratch, who, (make, intake, count), (exhaust, intake)) == expected


@everyone
@pytest.mark.parametrize(
    ("event_type", "reason"),
    [("AUTH", "EXISTENCE_CONFIRMED"), ("PASS", "CHECKS_PASSED"), ("ATTEMPT", "START"), ("MINT", "IDENTITY_MINTED")],
)
@pytest.mark.parametrize("status", ["PENDING", "FAILED", "AUTHORIZED"])
def test_no_event_is_written_by_hand(scratch: Transaction, who: Any, event_type: str, reason: str, status: str) -> None:
    """Neither AUTH without PASS nor MINT, nor a lawful-looking one: events come from moves."""
    intake = intake_in(scratch, status)
    assert said(scratch, who, EVENT, intake, event_type, reason) == by(who, gate=NO_RIGHT, others="RC010")
    copied = (
        "insert into cl.gate_zero_air (entity_id, event_type, reason_code, event_timestamp, incarnation, actor_id,"
        " authority) select entity_id, event_type, reason_code, event_timestamp + interval '1 hour', incarnation,"
        " actor_id, authority from cl.gate_zero_air where entity_id = %s"
    )
    assert said(scratch, who, copied, intake) == by(who, gate=NO_RIGHT, others="RC010")


def test_the_log_has_no_room_for_mint_or_a_wrong_reason(scratch: Transaction) -> None:
    """Were a recorder ever wrong, the table's own checks stand behind it."""
    scratch.execute("alter table cl.gate_zero_air disable trigger a_only_recorders")
    intake = new_intake(scratch)
    for event_type, reason in (
        ("MINT", "IDENTITY_MINTED"),
        ("MINT", "EXISTENCE_CONFIRMED"),
        ("AUTH", "CHECKS_PASSED"),
        ("PASS", "EXISTENCE_CONFIRMED"),
        ("FAIL", "BAD_WEATHER"),
        ("FAIL", "START"),
        ("EXHAUSTED", "TIMEOUT"),
        ("DEFERRED", "START"),
    ):
        assert said(scratch, SUPERUSER, EVENT, intake, event_type, reason) == CHECK, (event_type, reason)
    assert said(scratch, SUPERUSER, EVENT, intake, "AUTH", "EXISTENCE_CONFIRMED") == "done"
    for column, value in (
        ("entity_type", "company"),
        ("stage_id", "SOVEREIGN_MINT"),
        ("process_id", "MINT"),
        ("actor", "robot"),
    ):
        odd = EVENT.replace("(entity_id", f"({column}, entity_id").replace("values (", f"values ('{value}', ")
        odd = odd.replace(" actor, ", " ").replace(" 'system',", "") if column == "actor" else odd
        assert said(scratch, SUPERUSER, odd, intake, "ATTEMPT", "START") == CHECK, column


# Invariants of the recovery table -----------------------------------------------------------------------------------


@everyone
@pytest.mark.parametrize("column", ["recovery_id", "intake_id", "batch_id", "created_at"])
def test_immutable_columns_of_a_recovery(scratch: Transaction, who: Any, column: str) -> None:
    """Not alone and not inside a listed move."""
    intake = failed_intake(scratch)
    value = {
        "recovery_id": "gen_random_uuid()",
        "intake_id": f"'{new_intake(scratch)}'",
        "batch_id": "'other'",
        "created_at": "created_at - interval '1 second'",
    }[column]
    changed_key = column == "recovery_id"
    for other in ("", ", attempt_count = 2"):
        change = f"update cl.gate_zero_recovery set {column} = {value}{other} where intake_id = %s"
        expected = "RC004" if changed_key else by(who, gate="RC012", others="RC002")
        assert said(scratch, who, change, intake) == expected


@everyone
def test_recovery_and_intake_are_one_to_one(scratch: Transaction, who: Any) -> None:
    """No second record for an intake, no second use of an id."""
    intake = failed_intake(scratch)
    recovery = recovery_of(scratch, intake)
    make = (
        "insert into cl.gate_zero_recovery (recovery_id, intake_id, failure_reason, next_eligible_at)"
        " values (%s, %s, 'TIMEOUT', recoup.now())"
    )
    assert said(scratch, who, make, recovery, new_intake(scratch)) == UNIQUE
    assert (
        said(scratch, who, make.replace("values (%s,", "values (coalesce(%s, gen_random_uuid()),"), None, intake)
        == UNIQUE
    )


@everyone
def test_the_wait_cannot_be_shortened(scratch: Transaction, who: Any) -> None:
    """next_eligible_at does not fall, and does not rise without a failure."""
    intake = failed_intake(scratch)
    for change in ("- interval '1 microsecond'", "- interval '1 day'", "+ interval '1 day'"):
        update = f"update cl.gate_zero_recovery set next_eligible_at = next_eligible_at {change} where intake_id = %s"
        assert said(scratch, who, update, intake) == by(who, gate="RC012", others="RC002")


@everyone
def test_a_wait_is_not_skipped_by_a_failure_that_never_was(scratch: Transaction, who: Any) -> None:
    """The second failure claimed by hand would make the third attempt due after 24 h; the third, exhaust it early."""
    claim = "update cl.gate_zero_recovery set attempt_count = attempt_count + 1 where intake_id = %s"
    intake = failed_intake(scratch)
    advance(scratch, DAY)
    answer = said_of_all(scratch, who, (claim, intake), (ATTEMPT, intake, 3))
    assert answer == by(who, gate="RC012", others="RC002")
    exhaust = "update cl.gate_zero_recovery set attempt_count = 3, status = 'EXHAUSTED' where intake_id = %s"
    twice = failed_intake(scratch, times=2)
    assert said(scratch, who, exhaust, twice) == by(who, gate="RC028", others="RC002")


@everyone
def test_an_attempt_cannot_be_dated_back(scratch: Transaction, who: Any) -> None:
    """A failure said to be of two days ago would have its wait behind it, and be retried at once."""
    fail = (
        "update cl.gate_zero_attempt set status = 'failed', reason_code = 'TIMEOUT', ended_with = token,"
        " finished_at = opened_at + {}"
        " where intake_id = %s and status = 'open'"
    )
    # Opened and failed two days ago, as its writer says today.
    intake = new_intake(scratch)
    advance(scratch, timedelta(days=3))
    back = ATTEMPT.replace("recoup.now(),", "recoup.now() - interval '2 days',")
    at_once = fail.format("interval '1 second'")
    answer = said_of_all(scratch, who, (back, intake, 1), (at_once, intake), (ATTEMPT, intake, 2))
    assert answer.startswith("RC"), answer
    # Open for two days, and then said to have failed at its beginning.
    intake = new_intake(scratch)
    open_attempt(scratch, intake)
    advance(scratch, timedelta(days=2))
    answer = said_of_all(scratch, who, (fail.format("interval '1 microsecond'"), intake), (ATTEMPT, intake, 2))
    assert answer.startswith("RC"), answer


@everyone
def test_an_attempt_does_not_crash_within_its_lease(scratch: Transaction, who: Any) -> None:
    """crashed means that the lease lapsed; a living worker's attempt is not taken from it."""
    attempt = attempt_in(scratch, "open")
    crash = (
        "update cl.gate_zero_attempt set status = 'crashed', reason_code = 'TIMEOUT',"
        " finished_at = opened_at + interval '1 microsecond' where attempt_id = %s"
    )
    answer = said(scratch, who, crash, attempt)
    assert answer.startswith("RC"), answer


@everyone
def test_a_window_is_fourteen_days_from_now(scratch: Transaction, who: Any) -> None:
    """A batch declared complete three weeks ago would take every second chance away at once."""
    complete = "update cl.gate_zero_batch set completed_at = recoup.now() {}, batch_freeze_at = recoup.now() {}"
    for completed, freeze_at in (
        ("- interval '20 days'", "- interval '6 days'"),
        ("", "+ interval '1 second'"),
        ("", "+ interval '10 years'"),
        ("+ interval '1 day'", "+ interval '15 days'"),
    ):
        statement = complete.format(completed, freeze_at) + " where batch_id = %s"
        answer = said(scratch, who, statement, new_batch(scratch))
        assert answer.startswith("RC") or answer == CHECK, f"{completed} {freeze_at}: {answer}"


@everyone
def test_exhausted_is_not_claimed_early(scratch: Transaction, who: Any) -> None:
    """Neither with attempts left and the window open, nor under a running attempt."""
    exhaust = "update cl.gate_zero_recovery set status = 'EXHAUSTED' where intake_id = %s"
    waiting, in_flight = failed_intake(scratch), failed_intake(scratch)
    advance(scratch, DAY)
    open_attempt(scratch, in_flight)
    assert said(scratch, who, exhaust, waiting) == by(who, gate="RC028", others="RC002")
    assert said(scratch, who, exhaust, in_flight) == by(who, gate="RC022", others="RC002")


# Invariants of the log ----------------------------------------------------------------------------------------------


@everyone
def test_no_two_events_share_an_id_or_a_moment(scratch: Transaction, who: Any) -> None:
    """Behind the closed log stand its keys: the event id, and one event per intake and microsecond."""
    intake = intake_in(scratch, "AUTHORIZED")
    copy = (
        "insert into cl.gate_zero_air (air_event_id, entity_id, event_type, reason_code, event_timestamp, incarnation,"
        " actor_id, authority) select {}, entity_id, event_type, reason_code, {}, incarnation, actor_id, authority"
        " from cl.gate_zero_air where entity_id = %s limit 1"
    )
    same_id = copy.format("air_event_id", "event_timestamp + interval '1 hour'")
    same_moment = copy.format("gen_random_uuid()", "event_timestamp")
    for statement in (same_id, same_moment):
        assert said(scratch, who, statement, intake) == by(who, gate=NO_RIGHT, others="RC010")
    scratch.execute("alter table cl.gate_zero_air disable trigger a_only_recorders")
    for statement in (same_id, same_moment):
        assert said(scratch, who, statement, intake) == by(who, gate=NO_RIGHT, others=UNIQUE)


@pytest.mark.parametrize(
    "column", ["stage_id", "process_id", "reason_code", "event_type", "entity_id", "entity_type", "event_timestamp"]
)
def test_every_event_is_traceable(scratch: Transaction, column: str) -> None:
    """Where, what and why are never null, even with the log forced open."""
    scratch.execute("alter table cl.gate_zero_air disable trigger a_only_recorders")
    scratch.execute("alter table cl.gate_zero_air disable trigger a_append_only")
    intake = intake_in(scratch, "AUTHORIZED")
    assert said(scratch, SUPERUSER, f"update cl.gate_zero_air set {column} = null where entity_id = %s", intake) == (
        NOT_NULL
    )


def test_every_outcome_emits_its_events(scratch: Transaction) -> None:
    """Whoever ends an attempt, by whatever statement: the events and the rows follow, or the attempt does not end."""
    end = (
        "update cl.gate_zero_attempt set status = %s, reason_code = %s, reentered_as = %s, ended_with = token,"
        " finished_at = greatest(recoup.now(), opened_at + interval '1 microsecond')"
        " where intake_id = %s and status = 'open'"
    )
    words = []
    for outcome, reason in (("passed", None), ("failed", "STATE_MISSING")):
        intake = new_intake(scratch)
        with acting(scratch, GATE):
            scratch.execute(ATTEMPT, (intake, 1))
            scratch.execute(end, (outcome, reason, None, intake))
        words += lawful(scratch, intake)
    intake = failed_intake(scratch)
    advance(scratch, DAY)
    with acting(scratch, GATE):
        scratch.execute(ATTEMPT, (intake, 2))
        (new,) = scratch.execute("select recoup.new_id()").fetchone() or (None,)
        scratch.execute(end, ("passed", None, new, intake))
    words += lawful(scratch, intake, new)
    assert words == ["SPA", "SF", "SFRPAN", ""]


def test_events_of_an_intake_are_ordered_by_their_time(scratch: Transaction) -> None:
    """Strictly: the printed ORDER BY has no ties, also where everything happens at one instant."""
    intake = intake_in(scratch, "EXHAUSTED")
    attempt_and(scratch, other := new_intake(scratch), ReasonCode.TIMEOUT)
    assert lawful(scratch, intake, other) == ["SFRFRFM", "SF"]


# What is printed ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [RECOVERY, AIR])
def test_columns_are_as_printed(admin: Transaction, table: str) -> None:
    """The documents' columns come first, in their order, of their type and nullability."""
    rows = admin.execute(
        "select attname, format_type(atttypid, atttypmod), not attnotnull from pg_attribute"
        " where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum",
        (table,),
    ).fetchall()
    printed = columns(table)
    assert len(printed) == (9 if table == RECOVERY else 11)
    assert rows[: len(printed)] == printed
    if table == RECOVERY:
        assert len(rows) == len(printed)


def test_generated_columns_come_by_themselves(scratch: Transaction) -> None:
    """Ids and times that the documents call auto-generated or auto-set are not asked of anybody."""
    intake = intake_in(scratch, "FAILED")
    rows = scratch.execute(
        "select a.air_event_id, a.event_timestamp, r.recovery_id, r.created_at from cl.gate_zero_air a"
        " join cl.gate_zero_recovery r on r.intake_id = a.entity_id where a.entity_id = %s",
        (intake,),
    ).fetchall()
    assert len(rows) == 2
    assert all(value is not None for row in rows for value in row)


@pytest.mark.parametrize(("kind", "name", "text"), comments())
def test_comments_are_applied_as_printed(admin: Transaction, kind: str, name: str, text: str) -> None:
    """Word for word, but for one slip: the table's comment must not call ACTIVE terminal."""
    if kind == "TABLE":
        (found,) = admin.execute("select obj_description(%s::regclass, 'pg_class')", (name,)).fetchone() or ("",)
    else:
        table, _, column = name.rpartition(".")
        (found,) = admin.execute(
            "select col_description(attrelid, attnum) from pg_attribute where attrelid = %s::regclass and attname = %s",
            (table, column),
        ).fetchone() or ("",)
    if name != RECOVERY:
        assert found == text
        return
    before, printed_slip, _ = text.partition("Terminal states: ")
    assert printed_slip
    assert found.startswith(before)
    terminal = found[len(before) :].partition(";")[0]
    assert "EXHAUSTED" in terminal
    assert "ACTIVE" not in terminal


def test_every_table_and_column_has_a_comment(admin: Transaction) -> None:
    """Those that the documents do not print too."""
    assert len(comments()) == 10 + 12
    bare = admin.execute(
        "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid"
        " where c.relnamespace = 'cl'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped"
        "   and (col_description(c.oid, a.attnum) is null or obj_description(c.oid, 'pg_class') is null)"
    ).fetchall()
    assert bare == []


@dataclass(frozen=True)
class Company:
    """Intakes of a database whose time is the server's, less an hour: the printed now() means what it says."""

    desk: Desk
    authorized_long_ago: UUID
    exhausted: UUID
    due: UUID  # failed two days ago
    authorized: UUID
    failed: UUID  # an hour ago
    between: datetime


@pytest.fixture(scope="module")
def company(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Company]:
    begin = datetime.now(UTC) - timedelta(days=6, hours=1)
    with Database(server.uri(new_database(simulated_from=begin)), settings) as database:
        desk = Desk(database)
        authorized_long_ago = desk.intake()
        desk.finish(desk.open(authorized_long_ago), None)
        with database.transaction(Authority.HUB) as tx:
            gate.create_batch(tx, "2025_annual_outreach")
        exhausted = desk.failed(times=3, batch_id="2025_annual_outreach")
        due = desk.failed()
        between = desk.now()
        desk.advance(2 * DAY)
        authorized, failed = desk.intake(), desk.failed()
        desk.finish(desk.open(authorized), None)
        yield Company(desk, authorized_long_ago, exhausted, due, authorized, failed, between)


@pytest.mark.parametrize("name", QUERIES)
def test_queries_run_as_printed(company: Company, name: str) -> None:
    """By anyone who may read, with the answer the documents say they give."""
    parameters = {"intake_id": company.exhausted, "last_processed_timestamp": company.between}
    with company.desk.db.transaction(Authority.READER) as tx:
        rows = tx.execute(runnable(QUERIES[name]), parameters).fetchall()
    first = [row[0] for row in rows]
    match name:
        case "eligible retries":
            assert [row[1:] for row in rows] == [(company.due, 1, "Acme")]
        case "exhausted records":
            assert rows == [(company.exhausted, "NO_LINKEDIN_COMPANY", 3)]
        case "subscription":
            assert first == [company.authorized]
        case "authorization subscription":
            assert first == [company.authorized_long_ago, company.authorized]
        case "intake history":
            assert first == ["ATTEMPT", "FAIL"] * 3 + ["EXHAUSTED"]
        case "recent failures":
            assert first == [company.failed]
        case _:
            raise AssertionError(name)


def test_a_clock_ahead_of_the_world_is_no_licence_to_date_back(fresh: Callable[..., Database]) -> None:
    """In simulated time "now" is the simulated time, and not everything between it and the server's."""
    db = fresh(simulated_from=datetime.now(UTC) + timedelta(days=200))
    with db.transaction(Authority.HUB) as tx:
        (intake,) = gate.add_intakes(tx, [gate.NewIntake(company_name="x")])
    with pytest.raises(LawRefused) as caught, db.transaction(Authority.GATE) as tx:
        tx.execute(
            "insert into cl.gate_zero_attempt (intake_id, attempt_number, worker, opened_at, lease_until)"
            " select %s, 1, 'w', recoup.now() - interval '100 days', recoup.now() - interval '99 days'",
            (intake,),
        )
    assert caught.value.code == "attempt_time"


@pytest.mark.parametrize(
    ("tokens", "reasons"),
    [
        ("array[{0}, {0}]::uuid[]", "array['TIMEOUT', 'TIMEOUT']"),
        ("array[{0}]::uuid[]", "null"),
        ("array[{0}]::uuid[]", "array[]::text[]"),
        ("array[null]::uuid[]", "array['TIMEOUT']"),
        ("null", "array['TIMEOUT']"),
    ],
)
def test_a_missing_reason_does_not_pass_anybody(scratch: Transaction, tokens: str, reasons: str) -> None:
    """Reports whose arrays do not fit together are refused: a reason that is not there would mean passed."""
    attempt = open_attempt(scratch, new_intake(scratch))
    call = f"select cl.finish_attempts(array['{attempt.attempt_id}']::uuid[], {tokens}, {reasons}, null)"
    with acting(scratch, Authority.GATE), pytest.raises(psycopg.Error) as caught, scratch.transaction():
        scratch.execute(call.format(f"'{attempt.token}'"))
    assert caught.value.sqlstate == "RC039"


def test_an_attempt_is_reported_once_in_a_call(scratch: Transaction) -> None:
    """Both as failed and as passed, one of the two would vanish."""
    attempt = open_attempt(scratch, new_intake(scratch))
    twice = [attempt.attempt_id] * 2, [attempt.token] * 2
    with acting(scratch, Authority.GATE), pytest.raises(psycopg.Error) as caught, scratch.transaction():
        scratch.execute("select cl.finish_attempts(%s, %s, array['TIMEOUT', null], null)", twice)
    assert caught.value.sqlstate == "RC039"


def test_a_claim_of_no_number_takes_nothing(scratch: Transaction) -> None:
    """Not everything there is."""
    new_intake(scratch)
    for most in (None, 0, -1):
        with acting(scratch, Authority.GATE):
            assert scratch.execute("select attempts from cl.claim_pending(%s, 'w', null)", (most,)).fetchone() == (
                None,
            )
