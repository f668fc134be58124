"""Rules of errors that hold against any writer with the right authority: what a lifecycle alone cannot say."""

from __future__ import annotations

import psycopg
import pytest

from hub import DAY, DOL, OPERATIONAL, SECOND, STRUCTURAL, TARGET, TRANSIENT, Hub, NewHub
from recoup.database.connection import Transaction
from recoup.errors.vocabulary import Severity
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from tiers import REVIEWED, WHEN_PARKED

HUB, WORKER, OPERATOR, ARCHIVER = Authority.HUB, Authority.ERROR_WORKER, Authority.OPERATOR, Authority.ARCHIVER
LATER = "updated_at = greatest(updated_at, recoup.now())"
PARKED = (
    "status = 'PARKED', disposition = 'PARKED', next_retry_at = null, parked_at = recoup.now(), parked_by = 'system'"
)
LEASE = "token = gen_random_uuid(), worker = 'x', claimed_at = recoup.now(), wake_at = recoup.now()"


def change(hub: Hub, authority: Authority, changes: str, error: int) -> None:
    with hub.db.transaction(authority) as tx:
        done = tx.execute(f"update recoup.error set {changes}, {LATER} where error_id = %s", (error,))
        assert done.rowcount == 1


def queue(hub: Hub, authority: Authority, changes: str, error: int) -> None:
    with hub.db.transaction(authority) as tx:
        done = tx.execute(f"update recoup.error_queue set {changes} where unit = %s", (error,))
        assert done.rowcount == 1


@pytest.mark.parametrize("authority", [HUB, WORKER])
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ("next_retry_at = recoup.now()", "error_move"),
        ("last_retry_at = recoup.now()", "error_move"),
        ("status = 'ACTIVE', disposition = 'ARCHIVE', next_retry_at = null", "error_move"),
        (f"{PARKED}, park_reason = 'MAX_RETRIES_EXCEEDED'", "error_move"),
        (f"{PARKED}, park_reason = 'because'", "error_move"),
        ("retry_count = retry_count + 1", "error_move"),
        ("retry_count = retry_count + 1, token = gen_random_uuid(), next_retry_at = recoup.now()", "retry_under_way"),
    ],
    ids=[
        "sooner", "words", "left alone", "parked", "parked for another reason", "counted",
        "counted with a token",
    ],
)  # fmt: skip
def test_an_error_that_waits_for_its_retry_is_not_moved_by_those_who_retry(
    hub: Hub, authority: Authority, changes: str, code: str
) -> None:
    """Without a lease that ends or a window that closed nothing happens to it; so nothing frees its entity."""
    error = hub.record(OPERATIONAL)
    before = hub.row(error)
    with pytest.raises(LawRefused) as refused:
        change(hub, authority, changes, error)
    assert refused.value.code == code
    assert hub.row(error) == before


def test_a_worker_resolves_what_it_claimed_and_nothing_else(hub: Hub) -> None:
    """A hub may: a later run of its work succeeded (tests/errors/test_clearing.py)."""
    error = hub.record(OPERATIONAL)
    before = hub.row(error)
    resolved = "status = 'RESOLVED', next_retry_at = null, archived_at = recoup.now(), archive_reason = 'RESOLVED'"
    with pytest.raises(LawRefused) as refused:
        change(hub, WORKER, resolved, error)
    assert refused.value.code == "error_move"
    assert hub.row(error) == before


def test_a_lease_is_a_day_at_most_and_is_not_prolonged(hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    with pytest.raises(LawRefused, match="24 hours at most"):
        queue(hub, HUB, f"{LEASE} + interval '25 hours'", error)
    hub.claim_one(error)
    for changes in (
        "wake_at = wake_at + interval '1 hour'",
        "worker = 'another'",
        "token = null, worker = null, claimed_at = null, wake_at = recoup.now()",
        f"{LEASE} + interval '1 hour'",
    ):
        with pytest.raises(LawRefused, match="not claimed again, nor prolonged, nor given back"):
            queue(hub, HUB, changes, error)


@pytest.mark.parametrize("authority", [HUB, WORKER, OPERATOR, ARCHIVER])
def test_nobody_queues_by_hand_or_takes_out_of_the_queue(hub: Hub, admin: Transaction, authority: Authority) -> None:
    """Not even the owner of the table."""
    error = hub.record(TRANSIENT)
    for query in (
        "delete from recoup.error_queue where unit = %s",
        "update recoup.error_queue set round = 7 where unit = %s",
    ):
        with pytest.raises(LawRefused, match="no right"), hub.db.transaction(authority) as tx:
            tx.execute(query, (error,))
    for query in ("delete from recoup.error_queue where unit = %s", "truncate recoup.error_queue -- %s"):
        with pytest.raises(psycopg.Error, match="not by hand"), admin.transaction():
            admin.execute(query, (error,) if "where" in query else None)


@pytest.mark.parametrize("authority", [HUB, WORKER])
def test_a_retry_that_is_under_way_is_ended_with_its_token_alone(hub: Hub, authority: Authority) -> None:
    """Whoever writes: a success, a failure, or leaving it to a person."""
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    claimed = hub.claim_one(error)
    for changes in (
        "status = 'RESOLVED', next_retry_at = null, archived_at = recoup.now(), archive_reason = 'RESOLVED',"
        " last_outcome = 'SUCCEEDED', retry_count = retry_count + 1, token = gen_random_uuid()",
        "next_retry_at = recoup.now() + interval '1 h', last_outcome = 'FAILED', retry_count = retry_count + 1,"
        " token = gen_random_uuid()",
    ):
        with pytest.raises(LawRefused) as refused:
            change(hub, authority, changes, error)
        assert refused.value.code == "retry_under_way"
    assert hub.succeed(claimed) == "RESOLVED"


def test_an_operator_who_parks_what_is_being_retried_counts_the_retry(hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    hub.claim_one(error)
    person = PARKED.replace("'system'", "recoup.acting_id(), park_reason = 'because'")
    with pytest.raises(LawRefused) as refused:
        change(hub, OPERATOR, f"{person}, {WHEN_PARKED}", error)
    assert refused.value.code == "retry_under_way"


def test_a_retry_that_ends_leaves_it_to_a_person_wherever_that_is_allowed(hub: Hub) -> None:
    error = hub.record(TRANSIENT, table=TARGET, code="DOMAIN_LOOKUP_FAILED")  # it has two
    hub.fail_when_due(error)
    hub.advance(hub.row(error)["next_retry_at"] - hub.now())
    claimed = hub.claim_one(error)
    with pytest.raises(LawRefused) as refused:
        change(
            hub, HUB,
            "status = 'ACTIVE', disposition = 'ARCHIVE', next_retry_at = null, retry_count = retry_count + 1,"
            f" last_outcome = 'FAILED', token = '{claimed.token}'",
            error,
        )  # fmt: skip
    assert refused.value.code == "disposition_not_allowed"


def test_an_operator_claims_nothing_and_cuts_no_retry_off_in_passing(hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    with pytest.raises(LawRefused, match="no right"):
        queue(hub, OPERATOR, f"{LEASE} + interval '1 hour'", error)
    with pytest.raises(LawRefused, match="operator claims nothing"):
        queue(hub, OPERATOR, "wake_at = recoup.now()", error)
    with pytest.raises(LawRefused, match="neither the number nor the time"):
        change(hub, OPERATOR, "next_retry_at = recoup.now() - interval '1 hour'", error)
    claimed = hub.claim_one(error)
    with pytest.raises(LawRefused, match="neither the number nor the time"):
        change(hub, OPERATOR, f"token = '{claimed.token}', retry_count = retry_count + 1", error)


def test_an_unparking_grants_one_retry(hub: Hub) -> None:
    error = hub.record(STRUCTURAL)
    unparked = (
        "status = 'RETRY_PENDING', disposition = 'RETRY', next_retry_at = recoup.now(), retry_until = null,"
        " parked_at = null, parked_by = null, park_reason = null"
    )
    with pytest.raises(LawRefused, match="grants one retry"):
        change(hub, OPERATOR, f"{unparked}, max_retries = 5", error)


@pytest.mark.parametrize("authority", [HUB, WORKER])
def test_only_an_operator_archives_by_hand_and_nothing_expires_early(hub: Hub, authority: Authority) -> None:
    error = hub.record(STRUCTURAL)
    with pytest.raises(LawRefused):
        change(hub, authority, "archived_at = recoup.now(), archive_reason = 'MANUAL'", error)
    with pytest.raises(LawRefused, match="expires at"):
        change(hub, OPERATOR, "archived_at = recoup.now(), archive_reason = 'TTL_EXPIRED'", error)


def test_what_is_over_does_not_move(hub: Hub) -> None:
    error = hub.record(STRUCTURAL)
    archived = f"archived_at = recoup.now(), archive_reason = 'MANUAL', next_retry_at = null, {REVIEWED}"
    change(hub, OPERATOR, archived, error)
    with pytest.raises(LawRefused) as refused:
        change(hub, OPERATOR, "assigned_to = 'maria'", error)
    assert refused.value.code == "error_over"


def test_what_is_held_back_from_the_archive_does_not_leave_by_hand_either(new_hub: NewHub) -> None:
    """Parked a day ago; or in a table that holds what blocks."""
    hub = new_hub()
    hub.apply_policy(f'[errors.tables."{DOL}"]\nhold_blocking_past_ttl = true')
    error = hub.record(STRUCTURAL)
    hub.advance(40 * DAY)
    with pytest.raises(LawRefused, match="it has expired, but is kept"), hub.db.transaction(ARCHIVER) as tx:
        tx.execute("delete from recoup.error where error_id = %s", (error,))


def test_a_month_is_not_dropped_with_an_invented_count(new_hub: NewHub) -> None:
    hub = new_hub()
    hub.record(STRUCTURAL)
    hub.age(40 * DAY)
    hub.sweep_all()
    hub.advance(500 * DAY)
    with pytest.raises(LawRefused, match="holds 1 errors"), hub.db.transaction(ARCHIVER) as tx:
        tx.execute(
            "update recoup.error_archive_month set status = 'DROPPED', dropped_at = recoup.now(), rows = 7, digest = ''"
        )
    assert hub.rows("select count(*) from recoup.error_archive") == [(1,)]


FAILED = "retry_count = retry_count + 1, last_outcome = 'FAILED', token = '{token}'"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (f"{PARKED}, park_reason = 'MAX_RETRIES_EXCEEDED', {FAILED}", "retries left"),
        (f"next_retry_at = '9990-01-01', {FAILED}", "more than 30 days away"),
    ],
    ids=["parked with retries left", "put off for ever"],
)
def test_a_worker_does_not_make_up_what_follows_its_retry(hub: Hub, changes: str, words: str) -> None:
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    claimed = hub.claim_one(error)
    with pytest.raises(LawRefused, match=words):
        change(hub, WORKER, changes.format(token=claimed.token), error)


def test_nothing_is_dated_back_or_ahead(hub: Hub) -> None:
    """Back, it would lie in a month that is dropped at once; ahead, every later event would be told too late."""
    error = hub.record(STRUCTURAL)
    resolved = "status = 'RESOLVED', archive_reason = 'RESOLVED'"
    for changes in (f"{resolved}, archived_at = '2001-05-05'", "assigned_to = 'x', parked_at = '2001-05-05'"):
        with pytest.raises(LawRefused, match="not now"):
            change(hub, OPERATOR, changes, error)
    with pytest.raises(LawRefused, match="not now"), hub.db.transaction(OPERATOR) as tx:
        tx.execute("update recoup.error set assigned_to = 'x', updated_at = '9999-01-01' where error_id = %s", (error,))


def test_what_is_held_does_not_expire_by_a_hubs_word(new_hub: NewHub) -> None:
    """Its time is over, but it was parked a day ago: stamped as expired it would stop blocking."""
    hub = new_hub()
    error = hub.record(TRANSIENT, severity=Severity.HIGH)
    hub.advance(6 * DAY)
    hub.close_windows()
    hub.advance(2 * DAY)
    with pytest.raises(LawRefused, match="it has expired, but is kept"):
        change(hub, HUB, "archived_at = recoup.now(), archive_reason = 'TTL_EXPIRED'", error)
