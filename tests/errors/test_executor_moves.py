"""For a recovery candidate an error is unparked, escalated or archived, or reviewed with the approval."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

import candidates
from company import acting, decide_error, error_in, new_error
from hub import ORPHANS
from product import chosen
from recoup.audit.examine import examine
from recoup.database.connection import Transaction
from recoup.errors import Want
from recoup.lifecycles.declaration import Authority
from tiers import REVIEWED, escalated

EXECUTOR, REVIEWER, OPERATOR = Authority.EXECUTOR, Authority.REVIEWER, Authority.OPERATOR
AUDITED = ("errors/", "rebuild/recoup.error", "laws/L1/error-authority", "laws/L1/steps/recoup.error", "laws/L5")

UNPARK = (
    "status = 'RETRY_PENDING', disposition = 'RETRY', max_retries = greatest(max_retries, retry_count + 1),"
    " next_retry_at = recoup.now(), retry_until = null,"
    " expires_at = greatest(expires_at, recoup.kept_until(ttl_tier, recoup.now(), recoup.error_policy())),"
    " parked_at = null, parked_by = null, park_reason = null"
)
ESCALATE = f"status = 'ESCALATED', {escalated(2, 'lead')}, escalation_reason = 'no answer'"
RAISE = ESCALATE.replace("status = 'ESCALATED', ", "")
ARCHIVE = "archived_at = recoup.now(), archive_reason = 'MANUAL'"
REVIEW = REVIEWED
# Who, from which status, what, and what is told of it.
STEPS = [
    (EXECUTOR, "PARKED", UNPARK, "UNPARKED", "RETRY_PENDING"),
    (EXECUTOR, "ESCALATED", UNPARK, "UNPARKED", "RETRY_PENDING"),
    (EXECUTOR, "PARKED", ESCALATE, "ESCALATED", "ESCALATED"),
    (EXECUTOR, "PARKED", ARCHIVE, "RETIRED", "PARKED"),
    (EXECUTOR, "ESCALATED", ARCHIVE, "RETIRED", "ESCALATED"),
    (REVIEWER, "PARKED", REVIEW, "REVIEWED", "PARKED"),
    (REVIEWER, "ESCALATED", REVIEW, "REVIEWED", "ESCALATED"),
]


@pytest.fixture
def tx(scratch: Transaction) -> Transaction:
    candidates.install(scratch)
    return scratch


def change(error: int, changes: str) -> str:
    return (
        f"update recoup.error set {changes}, updated_at = greatest(updated_at, recoup.now()) where error_id = {error}"
    )


def row(tx: Transaction, error: int) -> dict[str, Any]:
    with tx.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute("select * from recoup.error where error_id = %s", (error,)).fetchone()
    assert found is not None
    return found


def told(tx: Transaction, error: int) -> tuple[Any, ...]:
    """The last event of an error."""
    found = tx.execute(
        "select event_type, to_status, reason, authority from recoup.error_event where error_id = %s"
        " order by seq desc limit 1",
        (error,),
    ).fetchone()
    assert found is not None
    return found


def broken(tx: Transaction) -> list[str]:
    return [one.id for one in examine(tx, [i for i in chosen(()) if i.id.startswith(AUDITED)]) if not one.holds]


def refused(tx: Transaction, who: Authority, statement: str, *, by_hand: bool = False) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        if by_hand:
            with acting(tx, who):
                tx.execute(statement.encode())
        else:
            candidates.make(tx, who, statement)
    return caught.value


@pytest.mark.parametrize(("who", "status", "changes", "event", "then"), STEPS)
def test_a_candidate_moves_an_error_and_the_log_says_for_whom(
    tx: Transaction, who: Authority, status: str, changes: str, event: str, then: str
) -> None:
    error = error_in(tx, status)
    tx.execute("select set_config('recoup.reason', 'candidate 7', true)")
    candidates.make(tx, who, change(error, changes))
    reason = "no answer" if event == "ESCALATED" else "candidate 7"
    assert told(tx, error) == (event, then, reason, who.role)
    assert row(tx, error)["status"] == then
    assert broken(tx) == []


def test_an_unparked_error_is_retried_at_once_and_its_budget_is_one_more(tx: Transaction) -> None:
    """As if a person had unparked it: same columns, and it waits in the queue."""
    by_candidate, by_person = error_in(tx, "ESCALATED"), error_in(tx, "ESCALATED")
    candidates.make(tx, EXECUTOR, change(by_candidate, UNPARK))
    decide_error(tx, by_person, f"{UNPARK}, {REVIEWED}")
    own = ("error_id", "outreach_id", "lineage_id", "last_reviewed_at", "sla_met_at")
    one, other = ({k: v for k, v in row(tx, e).items() if k not in own} for e in (by_candidate, by_person))
    assert one == other
    queued = "select count(*) from recoup.error_queue where unit = any(%s)"
    assert tx.execute(queued, ([by_candidate, by_person],)).fetchone() == (2,)


@pytest.mark.parametrize(("who", "status", "changes", "event", "then"), STEPS)
def test_by_hand_it_is_refused(
    tx: Transaction, who: Authority, status: str, changes: str, event: str, then: str
) -> None:
    error = error_in(tx, status)
    before, last = row(tx, error), told(tx, error)
    assert refused(tx, who, change(error, changes), by_hand=True).sqlstate == "RC012", (event, then)
    assert (row(tx, error), told(tx, error)) == (before, last)


BEYOND = [
    (EXECUTOR, "PARKED", "assigned_to = 'eve'", "RC049"),
    (EXECUTOR, "PARKED", "sla_met_at = recoup.now()", "RC049"),
    (EXECUTOR, "PARKED", f"{UNPARK}, sla_met_at = recoup.now()", "RC049"),
    (EXECUTOR, "PARKED", f"{ARCHIVE}, sla_breached_at = recoup.now()", "23514"),
    (EXECUTOR, "PARKED", "error_message = 'other'", "RC049"),  # erasing texts is another consequence
    (EXECUTOR, "PARKED", "updated_at = recoup.now()", "RC049"),
    (EXECUTOR, "PARKED", f"{ARCHIVE}, assigned_to = 'eve'", "RC049"),
    (EXECUTOR, "PARKED", f"{UNPARK}, {ARCHIVE}", "RC049"),
    (EXECUTOR, "PARKED", UNPARK.replace("retry_count + 1", "retry_count + 99"), "RC049"),
    (EXECUTOR, "PARKED", UNPARK.replace("retry_until = null", "retry_until = recoup.now()"), "RC049"),
    (EXECUTOR, "PARKED", "archived_at = recoup.now(), archive_reason = 'TTL_EXPIRED'", "RC049"),
    (EXECUTOR, "PARKED", "parked_by = 'eve'", "RC049"),
    (EXECUTOR, "ESCALATED", "escalated_to = 'eve'", "RC049"),
    (EXECUTOR, "PARKED", RAISE.replace("recoup.sla_of(2", "recoup.sla_of(1"), "RC049"),
    (EXECUTOR, "PARKED", RAISE.replace("recoup.now()", "recoup.now() - interval '1 day'"), "RC049"),
    (EXECUTOR, "PARKED", f"{RAISE}, assigned_to = 'eve'", "RC049"),
    (EXECUTOR, "PARKED", """retry_with = '"x"'""", "RC049"),
    (EXECUTOR, "PARKED", f"""{ARCHIVE}, retry_with = '"x"'""", "RC049"),
    (EXECUTOR, "PARKED", "status = 'RESOLVED', archived_at = recoup.now(), archive_reason = 'RESOLVED'", "RC002"),
    (EXECUTOR, "RETRY_PENDING", f"{ARCHIVE}, next_retry_at = null", "RC002"),
    (EXECUTOR, "ACTIVE", ARCHIVE, "RC002"),
    (REVIEWER, "PARKED", ARCHIVE, "RC049"),
    (REVIEWER, "PARKED", "assigned_to = 'eve'", "RC049"),
    (REVIEWER, "PARKED", f"{REVIEW}, max_retries = max_retries + 1", "RC049"),
    (REVIEWER, "PARKED", "last_reviewed_at = recoup.now()", "RC049"),
    (REVIEWER, "PARKED", f"{REVIEW}, sla_due_at = sla_due_at + interval '1 hour'", "RC049"),
    (REVIEWER, "PARKED", "last_reviewed_at = recoup.now() + interval '1 day'", "RC049"),
    (REVIEWER, "PARKED", UNPARK, "RC002"),
    (REVIEWER, "RETRY_PENDING", REVIEW, "RC002"),
]


@pytest.mark.parametrize(("who", "status", "changes", "code"), BEYOND)
def test_nothing_else_is_done_for_a_candidate(
    tx: Transaction, who: Authority, status: str, changes: str, code: str
) -> None:
    error = error_in(tx, status)
    before, last = row(tx, error), told(tx, error)
    assert refused(tx, who, f"update recoup.error set {changes} where error_id = {error}").sqlstate == code
    assert (row(tx, error), told(tx, error)) == (before, last)


@pytest.mark.parametrize(("who", "changes"), [(EXECUTOR, ARCHIVE), (EXECUTOR, UNPARK), (REVIEWER, REVIEW)])
def test_what_is_closed_stays_closed(tx: Transaction, who: Authority, changes: str) -> None:
    """Archived once, told once: not even the same again."""
    error = error_in(tx, "PARKED")
    candidates.make(tx, EXECUTOR, change(error, ARCHIVE))
    for again in (changes, f"archived_at = archived_at, status = '{row(tx, error)['status']}'"):
        assert refused(tx, who, change(error, again)).sqlstate in ("RC046", "RC006", "23514")
    assert told(tx, error)[0] == "RETIRED"


def test_a_table_that_does_not_allow_retries_is_not_retried(tx: Transaction) -> None:
    parked = new_error(tx, table=ORPHANS, want=Want.PARK)
    assert refused(tx, EXECUTOR, change(parked, UNPARK)).sqlstate == "RC044"
    candidates.make(tx, EXECUTOR, change(parked, ARCHIVE))


def test_an_archived_error_stops_blocking_in_the_same_statement(tx: Transaction) -> None:
    error = error_in(tx, "PARKED")
    entity = row(tx, error)["outreach_id"]
    blocked = "select recoup.is_blocked(%s)"
    assert tx.execute(blocked, (entity,)).fetchone() == (True,)
    candidates.make(tx, EXECUTOR, change(error, ARCHIVE))
    assert tx.execute(blocked, (entity,)).fetchone() == (False,)


@pytest.mark.parametrize(
    ("event", "authority"),
    [("PARKED", EXECUTOR), ("RESOLVED", EXECUTOR), ("REVIEWED", EXECUTOR), ("UNPARKED", REVIEWER)],
)
def test_the_audit_finds_a_decision_that_was_not_theirs(tx: Transaction, event: str, authority: Authority) -> None:
    error = error_in(tx, "PARKED")
    candidates.make(tx, REVIEWER, change(error, REVIEW))
    tx.execute("alter table recoup.error_event disable trigger all")
    tx.execute(
        "update recoup.error_event set event_type = %s, authority = %s where error_id = %s and event_type = 'REVIEWED'",
        (event, authority.role, error),
    )
    assert "laws/L1/error-authority" in broken(tx)
