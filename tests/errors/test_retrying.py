"""Retries: the schedule, leases, mixed outcomes, and what comes after the last one."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from datetime import timedelta
from typing import Any

import pytest

from hub import (
    DAY,
    DOL,
    HOUR,
    LOG,
    MINUTE,
    OPERATIONAL,
    SECOND,
    STRUCTURAL,
    TARGET,
    TRANSIENT,
    URLS,
    Hub,
    NewHub,
    failed,
    succeeded,
)
from product import pause, resume
from recoup.errors import delay, retrying
from recoup.errors.policy import ErrorPolicy
from recoup.errors.recording import NewError
from recoup.errors.retrying import Claimed, Ended, Failed, Succeeded
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused
from tiers import REVIEWED


@pytest.mark.parametrize(
    ("message", "table", "waits"),
    [
        (TRANSIENT, DOL, [2 * SECOND, 4 * SECOND, 8 * SECOND, 16 * SECOND, 32 * SECOND]),
        (OPERATIONAL, TARGET, [5 * MINUTE, 10 * MINUTE, 15 * MINUTE]),
        (OPERATIONAL, DOL, [5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 20 * MINUTE, 25 * MINUTE]),
    ],
    ids=["transient", "operational", "operational of DOL"],
)
def test_retries_come_on_schedule_and_after_the_last_one_it_is_parked(
    hub: Hub, message: str, table: str, waits: list[timedelta]
) -> None:
    """2, 4, 8, 16, 32 seconds; 5, 10, 15 minutes; DOL has five of the latter. Then PARKED, by the system."""
    error = hub.record(message, table=table)
    for count, wait in enumerate(waits):
        row = hub.row(error)
        assert (row["status"], row["retry_count"]) == ("RETRY_PENDING", count)
        assert row["next_retry_at"] - hub.now() == wait
        row = hub.fail_when_due(error)
    assert (row["status"], row["disposition"], row["retry_count"]) == ("PARKED", "PARKED", len(waits))
    assert (row["park_reason"], row["parked_by"], row["parked_at"]) == ("MAX_RETRIES_EXCEEDED", "system", hub.now())
    assert row["retry_exhausted"]
    assert row["next_retry_at"] is None


def test_the_database_waits_as_the_pure_function_says(hub: Hub) -> None:
    """delay() prints the schedule; recoup.retry_wait keeps it. Every category, far beyond its budget."""
    policy = ErrorPolicy.shipped()
    for category, number in itertools.product(Category, range(1, 101)):
        rule = policy.retry[category]
        given = (rule.backoff, rule.base_s, rule.cap_s, rule.jitter_percent, number)
        ((waits,),) = hub.rows("select recoup.retry_wait(%s, %s, %s, %s, %s)", *given)
        assert waits == delay(policy, category, number), (category, number)


def test_jitter_only_lengthens_a_wait_and_within_its_bound(hub: Hub) -> None:
    found = {
        row[0] for row in hub.rows("select recoup.retry_wait('linear', 100, 1000, 50, 1) from generate_series(1, 200)")
    }
    assert all(100 * SECOND <= wait <= 150 * SECOND for wait in found)
    assert len(found) > 100


def test_where_nothing_may_be_parked_the_last_failure_leaves_it_to_the_archive(hub: Hub) -> None:
    error = hub.record(TRANSIENT, table=URLS, severity=Severity.HIGH)
    row = hub.row(error)
    while row["status"] == "RETRY_PENDING":
        row = hub.fail_when_due(error)
    assert (row["status"], row["disposition"], row["retry_count"]) == ("ACTIVE", "ARCHIVE", 5)
    assert row["park_reason"] == "MAX_RETRIES_EXCEEDED"
    assert row["parked_at"] is None


def test_a_structural_error_is_parked_at_once_and_has_one_retry_for_a_person(hub: Hub) -> None:
    row = hub.row(error := hub.record(STRUCTURAL))
    assert (row["status"], row["park_reason"], row["max_retries"]) == ("PARKED", "NON_RETRYABLE_ERROR", 1)
    hub.operate(
        "status = 'RETRY_PENDING', disposition = 'RETRY', next_retry_at = recoup.now(), retry_until = null,"
        " parked_at = null, parked_by = null, park_reason = null, updated_at = recoup.now(), " + REVIEWED,
        error,
    )
    row = hub.fail_when_due(error)
    assert (row["status"], row["park_reason"], row["retry_count"]) == ("PARKED", "MAX_RETRIES_EXCEEDED", 1)


def test_the_third_failed_lookup_of_a_domain_parks(hub: Hub) -> None:
    """Company target: a narrower cap than the category's five. The lookup that was recorded is the first of three."""
    error = hub.record(TRANSIENT, table=TARGET, code="DOMAIN_LOOKUP_FAILED")
    for _ in range(2):
        assert hub.row(error)["status"] == "RETRY_PENDING"
        hub.fail_when_due(error)
    assert hub.row(error)["park_reason"] == "MAX_RETRIES_EXCEEDED"


def test_a_retry_that_would_come_after_its_window_is_not_waited_for(hub: Hub) -> None:
    """The window closes a week after the error; the next wait would end behind it."""
    error = hub.record(OPERATIONAL, table=TARGET)
    hub.advance(7 * DAY - 8 * MINUTE)
    row = hub.fail_when_due(error)
    assert (row["status"], row["park_reason"], row["retry_count"]) == ("PARKED", "RETRY_WINDOW_CLOSED", 1)


def test_what_nobody_retried_within_its_window_is_parked_and_not_claimed(hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    hub.advance(DAY + SECOND)
    assert error not in [claimed.error_id for claimed in hub.claim()]
    assert hub.close_windows() >= 1
    row = hub.row(error)
    assert (row["status"], row["park_reason"], row["retry_count"]) == ("PARKED", "RETRY_WINDOW_CLOSED", 0)
    assert hub.events(error) == ["RECORDED", "WINDOW_CLOSED"]


def test_a_result_counts_to_the_end_of_its_lease_whether_a_sweep_came_by_or_not(hub: Hub) -> None:
    """Late is a matter of the lease, not of who comes first."""
    in_time, late = hub.record(TRANSIENT), hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    claimed = {one.error_id: one for one in hub.claim(lease=5 * MINUTE)}
    hub.advance(5 * MINUTE)
    assert hub.succeed(claimed[in_time]) == "RESOLVED"
    hub.advance(timedelta(microseconds=1))
    assert hub.succeed(claimed[late]) == "late"
    assert (hub.row(late)["status"], hub.row(late)["held"]) == ("RETRY_PENDING", claimed[late].token)
    assert hub.rows("select result ->> 'outcome' from recoup.late_result where unit_id = %s", f"{DOL}/{late}") == [
        ("SUCCEEDED",)
    ]
    assert hub.lapse() >= 1
    assert hub.row(late)["last_outcome"] == "LAPSED"
    assert hub.broken() == []


def test_a_result_that_comes_before_its_claim_is_committed_waits_for_it_and_counts(hub: Hub) -> None:
    """Handed on within the transaction that claimed it: it is not late, its token is right."""
    done, other = hub.record(TRANSIENT), hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    became: list[list[Ended]] = []
    with hub.db.transaction(Authority.HUB) as tx:
        claimed = [one for one in retrying.claim(tx, limit=1000, worker="hub") if one.error_id in (done, other)]
        outcomes = [succeeded(one) if one.error_id == done else failed(one) for one in claimed]
        reporting = threading.Thread(target=lambda: became.append(hub.finish(outcomes)))
        reporting.start()
        wait_for_waiting(hub)
    reporting.join()
    assert {one.error_id: one.status for one in became[0]} == {done: "RESOLVED", other: "RETRY_PENDING"}
    assert hub.rows(
        "select count(*) from recoup.late_result where unit_id = any(%s)", [f"{DOL}/{done}", f"{DOL}/{other}"]
    ) == [(0,)]


def wait_for_waiting(hub: Hub) -> None:
    """Until somebody waits for somebody else's lock."""
    until = time.monotonic() + 20
    while hub.rows("select count(*) from pg_locks where not granted") == [(0,)]:
        assert time.monotonic() < until, "nobody waits"
        time.sleep(0.01)


def test_mixed_outcomes_are_written_in_one_call(hub: Hub) -> None:
    errors = [hub.record(TRANSIENT) for _ in range(20)]
    hub.advance(2 * SECOND)
    claimed = {one.error_id: one for one in hub.claim()}
    assert set(errors) <= set(claimed)
    ended = dict(hub.finish([succeeded(claimed[e]) if e % 2 else failed(claimed[e]) for e in errors]))
    for error in errors:
        row = hub.row(error)
        assert row["status"] == ended[error] == ("RESOLVED" if error % 2 else "RETRY_PENDING")
        assert row["retry_count"] == 1
        assert (row["archived_at"] is not None) is (error % 2 == 1)
        assert (row["held"], row["lease_until"], row["worker"]) == (None, None, None)


def test_a_claim_leases_and_nobody_else_gets_it(hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    claimed = hub.claim_one(error)
    assert claimed.lease_until == hub.now() + timedelta(seconds=300)
    assert error not in [one.error_id for one in hub.claim()]
    assert hub.row(error)["last_retry_at"] is None, "none has ended"
    begun = hub.now()
    hub.advance(SECOND)
    hub.fail(claimed)
    assert hub.row(error)["last_retry_at"] == begun
    assert claimed.key == f"{DOL}/{error}/1"


def test_a_lapsed_lease_counts_as_a_failed_retry_and_a_late_result_is_stored_and_not_applied(hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    claimed = hub.claim_one(error)
    hub.advance(300 * SECOND)
    assert hub.row(error)["held"] == claimed.token
    hub.lapse()
    assert hub.row(error)["held"] == claimed.token, "it has not lapsed yet: the lease ends now"
    hub.advance(SECOND)
    hub.lapse()
    row = hub.row(error)
    assert (row["retry_count"], row["last_outcome"], row["status"]) == (1, "LAPSED", "RETRY_PENDING")
    assert hub.succeed(claimed) == "late"
    assert hub.row(error)["status"] == "RETRY_PENDING"
    stored = hub.rows("select token, result from recoup.late_result where unit_id = %s", f"{DOL}/{error}")
    assert stored == [(claimed.token, {"outcome": "SUCCEEDED", "failure": None})]


def test_a_late_result_of_an_archived_error_is_stored_too(new_hub: NewHub) -> None:
    hub = new_hub()
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    claimed = hub.claim_one(error)
    hub.succeed(claimed)
    assert hub.sweep_all() == 1
    assert hub.fail(claimed) == "late"


def test_an_outcome_that_is_reported_again_is_recognised(new_hub: NewHub) -> None:
    """Its answer was lost. It became what it became, also when its error has moved on since, or is archived."""
    hub = new_hub()
    saved, again = hub.record(TRANSIENT), hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    claimed = {one.error_id: one for one in hub.claim()}
    reports: list[Succeeded | Failed] = [succeeded(claimed[saved]), failed(claimed[again])]
    for _ in range(2):
        assert dict(hub.finish(reports)) == {saved: "RESOLVED", again: "RETRY_PENDING"}
    hub.advance(DAY)
    hub.close_windows()
    hub.sweep_all()
    before = hub.row(again)
    assert dict(hub.finish(reports)) == {saved: "RESOLVED", again: "RETRY_PENDING"}
    assert hub.row(again) == before
    assert hub.rows("select count(*) from recoup.late_result") == [(0,)]
    assert dict(hub.finish([failed(claimed[saved]), succeeded(claimed[again])])) == {saved: "late", again: "late"}
    assert hub.rows("select count(*) from recoup.late_result") == [(2,)]


def test_reports_that_make_no_sense_are_refused_and_change_nothing(hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    claimed = hub.claim_one(error)
    with pytest.raises(InputRefused, match="reported twice"):
        hub.finish([succeeded(claimed), failed(claimed)])
    unknown = Failed(error_table=DOL, error_id=2**62, token=uuid.uuid4())
    with pytest.raises(LawRefused, match=f"no error {2**62}."):
        hub.finish([succeeded(claimed), unknown])
    elsewhere = Failed(error_table=TARGET, error_id=error, token=claimed.token)
    with pytest.raises(LawRefused, match=f"no error {error} .nor 1 others"):
        hub.finish([elsewhere, unknown])
    # By the database itself: nothing was written, also where a statement is its own transaction.
    with pytest.raises(LawRefused) as caught, hub.db.one_statement(Authority.HUB) as tx:
        retrying.turn(tx, [succeeded(claimed), unknown], limit=10, worker="hub")
    assert (caught.value.code, caught.value.facts["missing"]) == ("outcome_unknown", [str(2**62)])
    assert hub.row(error)["held"] == claimed.token


def test_a_turn_ends_what_was_claimed_and_claims_what_is_due(new_hub: NewHub) -> None:
    """In one statement, the outcomes first: as they have ended, they are not claimed again before their time."""
    hub = new_hub()
    errors = [hub.record(TRANSIENT) for _ in range(6)]
    hub.advance(2 * SECOND)
    claimed: list[Claimed] = []
    seen, statuses = [], dict[int, str]()
    for _ in range(4):
        with hub.db.one_statement(Authority.HUB) as tx:
            outcomes = [succeeded(one) if one.error_id % 2 else failed(one) for one in claimed]
            ended, claimed = retrying.turn(tx, outcomes, limit=2, worker="hub")
        statuses |= dict(ended)
        seen += [one.error_id for one in claimed]
    assert sorted(seen) == errors
    assert statuses == {error: "RESOLVED" if error % 2 else "RETRY_PENDING" for error in errors}


def test_a_claim_of_an_unknown_table_or_an_endless_lease_is_refused(hub: Hub) -> None:
    with pytest.raises(InputRefused, match="not an error table"):
        hub.claim(tables=["outreach.nothing"])
    with pytest.raises(InputRefused, match="DEAD"):
        hub.claim(tables=["outreach.bit_errors"])
    with pytest.raises(InputRefused, match="lease"):
        hub.claim(lease=timedelta(0))
    assert hub.claim(tables=[LOG]) == [], "a table that allows no retry has none"


def test_a_claim_takes_its_tables_alone_longest_due_first(new_hub: NewHub) -> None:
    hub = new_hub()
    late, early, other = hub.record(OPERATIONAL), hub.record(TRANSIENT), hub.record(TRANSIENT, table=TARGET)
    hub.advance(HOUR)
    assert [one.error_id for one in hub.claim(tables=[DOL])] == [early, late]
    assert [one.error_id for one in hub.claim()] == [other]


def test_a_paused_table_gives_no_claims_and_others_do(new_hub: NewHub) -> None:
    hub = new_hub()
    held, free = hub.record(TRANSIENT), hub.record(TRANSIENT, table=TARGET)
    hub.advance(2 * SECOND)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        pause(tx, "table", DOL, reason="vendor is down")
    assert [one.error_id for one in hub.claim()] == [free]
    with hub.db.transaction(Authority.OPERATOR) as tx:
        resume(tx, "table", DOL, reason="vendor is back")
    assert [one.error_id for one in hub.claim()] == [held]


def test_what_is_not_due_cannot_be_claimed_by_hand_either(hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    with pytest.raises(LawRefused, match="due at"), hub.db.transaction(Authority.HUB) as tx:
        tx.execute(
            "update recoup.error_queue set token = gen_random_uuid(), worker = 'x', claimed_at = recoup.now(),"
            " wake_at = recoup.now() + interval '1 h' where unit = %s",
            (error,),
        )


@pytest.mark.parametrize("want", [Want.RETRY, Want.PARK, Want.ARCHIVE])
def test_a_persons_word_comes_first(hub: Hub, want: Want) -> None:
    (recorded,) = hub.record_all(
        [NewError(table=DOL, message=STRUCTURAL, outreach_id=uuid.uuid4(), severity=Severity.LOW, want=want)]
    )
    row = hub.row(recorded.error_id)
    assert (row["disposition"], row["decided_by"]) == ("PARKED" if want is Want.PARK else want.value, "person")


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"worker": "a\0"}, "worker_name"), ({"worker": " "}, "worker_name"), ({"worker": "\ud800"}, "worker_name"),
        ({"limit": 10**12}, "claim_limit"), ({"limit": -1}, "claim_limit"),
    ],
)  # fmt: skip
def test_a_claim_that_makes_no_sense_is_refused_in_words(hub: Hub, more: dict[str, Any], code: str) -> None:
    with pytest.raises(InputRefused) as refused:
        hub.claim(**more)
    assert refused.value.code == code
