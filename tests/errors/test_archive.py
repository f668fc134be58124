"""The archive: what leaves and when, in what batches, into which month; and what leaves the archive."""

from __future__ import annotations

import threading
import uuid
from datetime import UTC, date, datetime
from typing import Any

import psycopg
import pytest

from hub import DAY, DOL, HOUR, LOG, MASTER, SECOND, STRUCTURAL, TABLES, TRANSIENT, Hub, NewHub
from recoup.database.connection import Actor, Transaction
from recoup.errors import archive, parking
from recoup.errors.lookup import ErrorKey
from recoup.errors.vocabulary import Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused


@pytest.mark.parametrize(
    ("more", "days"),
    [
        ({"severity": Severity.HIGH, "want": Want.ARCHIVE}, 7),
        ({"want": Want.ARCHIVE}, 30),
        ({"severity": Severity.LOW}, 90),
    ],
    ids=["short", "medium", "long"],
)
def test_an_error_is_archived_when_more_than_its_ttl_has_passed(
    new_hub: NewHub, more: dict[str, Any], days: int
) -> None:
    """now - created_at > TTL: at the very instant it is still live."""
    hub = new_hub()
    error = hub.record(**more)
    hub.advance(days * DAY)
    assert hub.sweep_all() == 0
    hub.advance(SECOND)
    assert hub.sweep_all() == 1
    row = hub.archived(error)
    assert (row["status"], row["archive_reason"], row["archived_at"]) == ("ARCHIVED", "TTL_EXPIRED", hub.now())
    assert (row["archived_by"], row["final_disposition"], row["was_blocking"]) == ("tester", "ARCHIVE", False)
    assert hub.rows("select from recoup.error where error_id = %s", error) == []
    assert hub.events(error) == ["RECORDED", "ARCHIVED"]


def test_every_original_field_is_kept(new_hub: NewHub) -> None:
    hub = new_hub()
    error = hub.record(TRANSIENT, code="C", severity=Severity.HIGH, payload={"a": 1})
    hub.fail_when_due(error)
    live = hub.row(error)
    hub.advance(8 * DAY)
    hub.close_windows()
    hub.age(8 * DAY)
    hub.sweep_all()
    kept = hub.archived(error)
    moved = {
        "parked_since",
        "escalation_level",
        "escalated_at",
        "escalated_to",
        "escalation_reason",
        "sla_due_at",
        "sla_breached_at",
        "status",
        "disposition",
        "next_retry_at",
        "parked_at",
        "parked_by",
        "park_reason",
        "updated_at",
        "archived_at",
        "archive_reason",
    }
    assert {k: v for k, v in kept.items() if k in live and k not in moved} == {
        k: v for k, v in live.items() if k not in moved
    }
    assert set(kept) - set(live) == {"archived_by", "final_disposition", "was_blocking"}


def test_what_is_kept_for_ever_never_leaves(new_hub: NewHub) -> None:
    hub = new_hub()
    error = hub.record(table=MASTER)
    hub.advance(10_000 * DAY)
    assert hub.sweep_all() == 0
    assert hub.row(error)["status"] == "ACTIVE"


def test_what_was_resolved_leaves_at_the_next_sweep_and_blocks_no_longer_at_once(new_hub: NewHub) -> None:
    hub, entity = new_hub(), uuid.uuid4()
    error = hub.record(TRANSIENT, outreach_id=entity)
    hub.advance(2 * SECOND)
    hub.succeed(hub.claim_one(error))
    assert not hub.is_blocked(entity)
    resolved_at = hub.now()
    hub.advance(DAY)
    hub.sweep_all()
    row = hub.archived(error)
    assert (row["archive_reason"], row["archived_at"], row["final_disposition"]) == ("RESOLVED", resolved_at, "RETRY")


def test_the_archive_names_who_ended_it_and_not_who_swept(new_hub: NewHub) -> None:
    hub = new_hub()
    given_up, resolved, expired = (hub.record(STRUCTURAL) for _ in range(3))
    for error, actor, act in ((given_up, "maria", parking.archive), (resolved, "otto", parking.resolve)):
        with hub.db.transaction(Authority.OPERATOR, actor=Actor("human", actor)) as tx:
            assert act(tx, [ErrorKey(DOL, error)])[0].done
    hub.age(31 * DAY)
    hub.sweep_all()
    assert [hub.archived(error)["archived_by"] for error in (given_up, resolved, expired)] == [
        "maria",
        "otto",
        "tester",
    ]


def test_a_blocking_error_that_expires_unrepaired_is_told_of(new_hub: NewHub) -> None:
    hub, entity = new_hub(), uuid.uuid4()
    error = hub.record(STRUCTURAL, outreach_id=entity)
    hub.age(31 * DAY)
    assert hub.is_blocked(entity)
    assert hub.sweep() == (1, 1)
    assert not hub.is_blocked(entity)
    ((facts,),) = hub.rows(
        "select facts from recoup.error_event where error_id = %s and event_type = 'ARCHIVED'", error
    )
    assert facts.keys() == {"was_blocking", "digest", "level"}
    assert (facts["was_blocking"], facts["level"]) == (True, 3)


def test_a_table_may_hold_its_blocking_errors_past_their_ttl(new_hub: NewHub) -> None:
    hub = new_hub()
    hub.apply_policy(f'[errors.tables."{DOL}"]\nhold_blocking_past_ttl = true')
    held, free = hub.record(STRUCTURAL), hub.record(want=Want.ARCHIVE)
    hub.advance(400 * DAY)
    assert hub.sweep_all() == 1
    assert hub.row(held)["status"] == "PARKED"
    assert hub.archived(free)["archive_reason"] == "TTL_EXPIRED"


def test_a_parked_error_is_not_archived_before_all_who_are_called_had_their_turn(new_hub: NewHub) -> None:
    """A HIGH one lives seven days; parked on the sixth it stays seven more, and four hours for the last of them."""
    hub = new_hub()
    error = hub.record(TRANSIENT, severity=Severity.HIGH)
    hub.advance(6 * DAY)
    hub.close_windows()
    assert hub.row(error)["status"] == "PARKED"
    hub.advance(7 * DAY + SECOND)
    assert hub.sweep_all() == 0, "nobody raised it to the last tier"
    hub.raise_tiers()
    hub.advance(4 * HOUR)
    assert hub.sweep_all() == 0
    hub.advance(SECOND)
    hub.raise_tiers()
    assert hub.sweep_all() == 1


def test_what_is_being_retried_is_not_archived_under_the_retry(new_hub: NewHub) -> None:
    hub = new_hub()
    error = hub.record(severity=Severity.HIGH)
    hub.advance(6 * DAY + 20 * 3600 * SECOND)
    claimed = hub.claim(lease=DAY)
    hub.advance(5 * 3600 * SECOND)
    assert hub.row(error)["expires_at"] < hub.now()
    assert hub.sweep_all() == 0
    with pytest.raises(LawRefused, match="being retried"), hub.db.transaction(Authority.ARCHIVER) as tx:
        tx.execute("delete from recoup.error where error_id = %s", (error,))
    hub.succeed(claimed[0])
    assert hub.sweep_all() == 1


def test_a_sweep_touches_no_more_than_its_batch(new_hub: NewHub) -> None:
    hub = new_hub()
    for table in TABLES:
        if table != MASTER:
            for _ in range(3):
                hub.record(table=table, want=Want.ARCHIVE)
    hub.advance(100 * DAY)
    assert [hub.sweep(limit=5).gone for _ in range(5)] == [5, 5, 5, 3, 0]


def test_months_lie_where_they_belong_and_are_made_when_they_are_needed(new_hub: NewHub) -> None:
    """Each lies in the month in which it was over; nothing depends on anybody making months ahead."""
    hub = new_hub()  # at 1 January
    errors = []
    for _ in range(3):
        errors.append(hub.record(want=Want.ARCHIVE))
        hub.advance(31 * DAY)
        hub.sweep_all()
    found = hub.rows("select error_id, tableoid::regclass::text from recoup.error_archive order by error_id")
    assert found == list(zip(errors, [f"outreach.dol_errors_archive_2026{m:02}" for m in (2, 3, 4)], strict=True))
    assert hub.rows("select month, status from recoup.error_archive_month order by 1") == [
        (date(2026, m, 1), "KEPT") for m in (2, 3, 4)
    ]


def test_two_sweeps_at_once_make_one_month_and_archive_everything_once(new_hub: NewHub) -> None:
    hub = new_hub()
    for _ in range(60):
        hub.record(want=Want.ARCHIVE)
    hub.advance(31 * DAY)
    gone = []
    threads = [
        threading.Thread(target=lambda: gone.append(sum(hub.sweep(limit=10).gone for _ in range(6)))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hub.sweep_all()
    assert hub.rows("select count(*), count(distinct error_id) from recoup.error_archive") == [(60, 60)]


def test_a_month_is_dropped_when_its_retention_is_over_with_count_and_digest(new_hub: NewHub) -> None:
    hub = new_hub()
    for table in (DOL, LOG):
        for _ in range(3):
            hub.record(table=table, want=Want.ARCHIVE)
    hub.advance(100 * DAY)  # 11 April
    hub.sweep_all()
    hub.advance(365 * DAY)  # all of April is not yet a year old
    assert _drop(hub) is None
    hub.advance(20 * DAY)
    dropped = _drop(hub)
    assert dropped is not None
    assert (dropped.error_table, dropped.month, dropped.rows) == (DOL, date(2026, 4, 1), 3)
    assert len(dropped.digest) == 32
    assert hub.rows("select to_regclass('outreach.dol_errors_archive_202604')") == [(None,)]
    assert hub.rows("select count(*) from recoup.error_archive") == [(3,)], "LOG is kept for two years"
    ((facts, actor),) = hub.rows(
        "select facts, actor_id from recoup.control_log"
        " where subject = 'recoup.error_archive_month' and to_status = 'DROPPED'"
    )
    assert (facts["rows"], facts["digest"], actor) == (3, "\\x" + dropped.digest.hex(), "tester")
    assert _drop(hub) is None


def test_retention_lags_by_how_long_a_month_is_kept_too_long(new_hub: NewHub) -> None:
    """Of all of them the longest, which need not be the oldest month: LOG is kept for two years, DOL for one."""
    hub = new_hub()
    for table, days in ((LOG, 100), (DOL, 31)):  # archived in April and in May
        hub.record(table=table, want=Want.ARCHIVE)
        hub.advance(days * DAY)
        hub.sweep_all()
    over = datetime(2027, 6, 1, tzinfo=UTC)
    hub.advance(over - SECOND - hub.now())
    assert _retention_lag(hub) is None
    hub.advance(SECOND)
    assert _retention_lag(hub) == 0
    hub.advance(10 * SECOND)
    assert _retention_lag(hub) == 10
    hub.advance(datetime(2028, 5, 1, tzinfo=UTC) + SECOND - hub.now())
    for table, after in ((LOG, (hub.now() - over).total_seconds()), (DOL, None)):
        dropped = _drop(hub)
        assert dropped is not None
        assert dropped.error_table == table
        assert _retention_lag(hub) == after


def test_the_digest_of_a_month_is_the_same_whatever_the_session(new_hub: NewHub) -> None:
    """Told over pages; neither the session's time zone nor its way to write dates counts."""
    hub = new_hub()
    for n in range(25):
        hub.record(f"number {n} of a kind {uuid.uuid4()}", want=Want.ARCHIVE)
    hub.advance(31 * DAY)
    hub.sweep_all()
    told = set()
    for zone, style in (("UTC", "ISO"), ("America/New_York", "ISO"), ("UTC", "German")):
        with hub.db.transaction(Authority.ARCHIVER) as tx:
            tx.execute("select set_config('timezone', %s, true), set_config('datestyle', %s, true)", (zone, style))
            told |= set(tx.execute("select * from recoup.archive_month_digest(%s, '2026-02-01', 10)", (DOL,)))
    ((rows, digest),) = told
    assert (rows, len(digest)) == (25, 32)


def test_no_month_is_dropped_before_its_time_by_anybody(new_hub: NewHub) -> None:
    hub = new_hub()
    hub.record(want=Want.ARCHIVE)
    hub.advance(31 * DAY)
    hub.sweep_all()
    with pytest.raises(LawRefused, match="is kept for"), hub.db.transaction(Authority.ARCHIVER) as tx:
        tx.execute(
            "update recoup.error_archive_month set status = 'DROPPED', dropped_at = recoup.now(), rows = 0, digest = ''"
        )
    assert hub.rows("select count(*) from recoup.error_archive") == [(1,)]


def test_nothing_leaves_but_what_is_over_and_by_the_archiver_alone(new_hub: NewHub) -> None:
    hub = new_hub()
    error = hub.record(STRUCTURAL)
    with pytest.raises(LawRefused, match="expires at"), hub.db.transaction(Authority.ARCHIVER) as tx:
        tx.execute("delete from recoup.error where error_id = %s", (error,))
    for authority in (Authority.HUB, Authority.OPERATOR, Authority.ERROR_WORKER):
        with pytest.raises(LawRefused), hub.db.transaction(authority) as tx:
            tx.execute("delete from recoup.error where error_id = %s", (error,))
    assert hub.row(error)["status"] == "PARKED"


def test_a_sweep_waits_for_nobody_and_holds_nobody_up(new_hub: NewHub) -> None:
    """A row that somebody holds is passed over; whoever writes other rows of the table meets no lock of the sweep."""
    hub = new_hub()
    held, free = hub.record(want=Want.ARCHIVE), hub.record(want=Want.ARCHIVE)
    hub.advance(31 * DAY)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        tx.execute("select from recoup.error where error_id = %s for update", (held,))
        assert hub.sweep().gone == 1
    assert hub.archived(free)
    with hub.db.transaction(Authority.ARCHIVER) as sweeping:
        assert archive.sweep(sweeping).gone == 1
        assert _locks_at_most_rows(sweeping)
        hub.record()  # while the sweep has not committed
    assert hub.archived(held)


def _locks_at_most_rows(tx: Transaction) -> bool:
    """No lock on a live table that would keep a writer out."""
    found = tx.execute(
        "select distinct l.mode from pg_locks l join pg_partition_tree('recoup.error') t on t.relid = l.relation"
        " where l.pid = pg_backend_pid()"
    ).fetchall()
    return {mode for (mode,) in found} <= {"AccessShareLock", "RowShareLock", "RowExclusiveLock"}


def _retention_lag(hub: Hub) -> float | None:
    with hub.db.transaction(Authority.READER) as tx:
        return archive.retention_lag(tx)


def _drop(hub: Hub) -> archive.Dropped | None:
    with hub.db.transaction(Authority.ARCHIVER) as tx:
        return archive.drop_month(tx)


def test_dropping_a_month_gives_up_where_somebody_reads_it(new_hub: NewHub) -> None:
    """It waits for its lock no longer than it may, and is tried again."""
    hub = new_hub()
    hub.record(want=Want.ARCHIVE)
    hub.advance(31 * DAY)
    hub.sweep_all()
    hub.advance(400 * DAY)
    with hub.db.transaction(Authority.READER) as reading:
        reading.execute("select from outreach.dol_errors_archive")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            _drop(hub)
    assert _drop(hub) is not None
