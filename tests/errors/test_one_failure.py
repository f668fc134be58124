"""What is one failure, and what a newer report of it may change: each piece of work by itself, nothing weakened."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from hub import DAY, DOL, HOUR, OPERATIONAL, PEOPLE, SECOND, STRUCTURAL, TRANSIENT, URLS, Hub
from recoup.database.connection import Database
from recoup.errors import failures, listing, parking
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

WEAKER: tuple[dict[str, Any], ...] = ({"severity": Severity.LOW}, {"want": Want.ARCHIVE}, {"want": Want.IGNORE})


def explained(hub: Hub, error_id: int) -> str:
    with hub.db.transaction(Authority.READER) as tx:
        return " ".join(listing.show(tx, str(error_id)).explanation)


def test_each_piece_of_an_entitys_work_fails_is_retried_and_blocks_by_itself(hub: Hub) -> None:
    """Five people of one company, one message: all are retried, and the company is free when the last is repaired."""
    entity = uuid.uuid4()
    people = [f"person {n}" for n in range(5)]
    recorded = hub.record_all(
        NewError(table=PEOPLE, message=f"no address found for {p}, timed out", outreach_id=entity, work_key=p)
        for p in people
    )
    assert len({hub.row(one.error_id)["error_signature"] for one in recorded}) == 1
    hub.advance(2 * SECOND)
    claimed = [one for one in hub.claim() if one.outreach_id == entity]
    assert sorted(one.work_key or "" for one in claimed) == people
    for one in claimed:
        assert hub.is_blocked(entity)
        hub.succeed(one)
    assert not hub.is_blocked(entity)


@pytest.mark.parametrize("key", [None, "ssn"])
def test_the_same_piece_supersedes_and_another_does_not(hub: Hub, key: str | None) -> None:
    entity = uuid.uuid4()
    older, other = (hub.record(outreach_id=entity, work_key=one) for one in (key, "dob"))
    newer = hub.record(outreach_id=entity, work_key=key)
    assert hub.row(older)["superseded_by"] == newer
    assert hub.row(other)["archived_at"] is None
    with hub.db.transaction(Authority.READER) as tx:
        listed = listing.list_errors(tx, listing.Filter(entities=(entity,)))
    assert {one.work_key for one in listed} == {key, "dob"}


@pytest.mark.parametrize("key", [7, uuid.UUID(int=7)])
def test_a_work_key_that_is_an_id_of_another_type_is_its_text(hub: Hub, key: Any) -> None:
    assert hub.row(hub.record(work_key=key))["work_key"] == str(key)


@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb", "nul\0", "\x9b", "\ud800"], ids=range(6))
def test_a_work_key_that_is_none_is_refused(hub: Hub, key: str) -> None:
    with pytest.raises(InputRefused) as refused:
        hub.record(work_key=key)
    assert refused.value.code == "work_key"


def test_failures_of_a_function_have_the_key_of_its_call_and_are_recorded_without_one(hub: Hub) -> None:
    """One that cannot be worked out loses nothing but itself."""
    database: Database = hub.db
    entity = uuid.uuid4()

    @failures(database, DOL, outreach_id=entity, work_key=lambda person: person["id"])
    def find(person: dict[str, Any]) -> None:
        raise ValueError("no address")

    for person in ({"id": "p-1"}, {"id": 7}, {}, {"id": "\n"}):
        with pytest.raises(ValueError, match="no address"):
            find(person)
    found = hub.rows(
        "select work_key, payload ?| '{no_work_key,work_key_given}', archived_at is null from recoup.error"
        " where outreach_id = %s order by error_id",
        entity,
    )
    assert found == [("p-1", False, True), ("7", False, True), (None, True, False), (None, True, True)]


@pytest.mark.parametrize("weaker", WEAKER, ids=["low", "archive", "ignore"])
@pytest.mark.parametrize("how", ["pending", "leased", "one_call"])
def test_what_is_to_be_retried_stays_so_whatever_a_newer_one_asks_for(
    hub: Hub, weaker: dict[str, Any], how: str
) -> None:
    entity = uuid.uuid4()
    first = NewError(table=DOL, message=TRANSIENT, outreach_id=entity)
    second = NewError(table=DOL, message=TRANSIENT, outreach_id=entity, **weaker)
    if how == "one_call":
        (older, newer) = (one.error_id for one in hub.record_all([first, second]))
    else:
        ((_, older),) = hub.record_all([first])
        hub.advance(2 * SECOND)
        if how == "leased":
            hub.claim_one(older)
        ((_, newer),) = hub.record_all([second])
    before, row = hub.row(older), hub.row(newer)
    assert (row["status"], row["disposition"], row["retry_until"]) == (
        "RETRY_PENDING", "RETRY", before["created_at"] + DAY,
    )  # fmt: skip
    assert row["retry_count"] == (how == "leased")
    assert row["overruled"] == "ARCHIVE", "as far as its table allows it"
    assert row["expires_at"] >= before["expires_at"]
    assert "never weakens" in explained(hub, newer)
    assert hub.is_blocked(entity)


@pytest.mark.parametrize("how", ["one_call", "two_calls"])
def test_what_is_parked_stays_so_and_what_is_worse_parks(hub: Hub, how: str) -> None:
    entity = uuid.uuid4()
    reports = [
        NewError(table=DOL, message=OPERATIONAL, outreach_id=entity, severity=severity)
        for severity in (Severity.HIGH, Severity.CRITICAL, Severity.HIGH, Severity.LOW)
    ]
    calls = [reports] if how == "one_call" else [[one] for one in reports]
    ids = [one.error_id for call in calls for one in hub.record_all(call)]
    rows = [hub.row(one) for one in ids]
    assert [row["disposition"] for row in rows] == ["RETRY", "PARKED", "PARKED", "PARKED"]
    assert [row["overruled"] for row in rows] == [None, None, "RETRY", "ARCHIVE"]
    assert {row["park_reason"] for row in rows[1:]} == {"ESCALATION_REQUIRED"}


def test_what_follows_one_that_was_never_to_be_retried_starts_its_own_window_age_and_tier(hub: Hub) -> None:
    entity = uuid.uuid4()
    hub.record(TRANSIENT, outreach_id=entity, severity=Severity.LOW)
    hub.advance(2 * DAY)
    now = hub.now()
    row = hub.row(hub.record(TRANSIENT, outreach_id=entity, severity=Severity.HIGH))
    assert (row["status"], row["retry_count"], row["max_retries"]) == ("RETRY_PENDING", 0, 5)
    assert (row["created_at"], row["retry_until"]) == (now, now + DAY)
    assert (row["ttl_tier"], row["expires_at"]) == ("SHORT", now + 7 * DAY)


def test_what_follows_one_that_was_never_to_be_retried_and_was_reviewed_long_ago_is_recorded(hub: Hub) -> None:
    """The review was of the older one, which passes no age on: it lies before the newer one first failed."""
    entity = uuid.uuid4()
    older = hub.record(outreach_id=entity, severity=Severity.LOW)
    with hub.db.transaction(Authority.OPERATOR, reason="seen") as tx:
        assert parking.review(tx, [ErrorKey(DOL, older)])[0].done
    hub.advance(2 * HOUR)
    newer = hub.record(outreach_id=entity)
    assert hub.row(older)["superseded_by"] == newer
    assert hub.row(newer)["last_reviewed_at"] is None


def test_what_was_retried_to_no_avail_passes_its_age_on_also_where_nothing_may_be_parked(hub: Hub) -> None:
    """Else a failure that is recorded again and again would be retried for ever."""
    entity = uuid.uuid4()
    older = hub.record(TRANSIENT, table=URLS, outreach_id=entity, severity=Severity.HIGH)
    while hub.row(older)["status"] == "RETRY_PENDING":
        hub.fail_when_due(older)
    hub.advance(HOUR)
    row = hub.row(hub.record(TRANSIENT, table=URLS, outreach_id=entity, severity=Severity.HIGH))
    assert (row["status"], row["retry_count"], row["created_at"]) == ("ACTIVE", 5, hub.row(older)["created_at"])


def test_a_table_that_no_longer_retries_keeps_what_was_to_be_retried_for_a_person(hub: Hub) -> None:
    entity = uuid.uuid4()
    hub.record(outreach_id=entity)
    hub.apply_policy(f'[errors.tables."{DOL}"]\ndefault = "PARK"\nallowed = ["PARK", "ARCHIVE"]')
    try:
        row = hub.row(hub.record(outreach_id=entity, severity=Severity.LOW))
    finally:
        hub.apply_policy(f'[errors.tables."{DOL}"]\ndefault = "RETRY"\nallowed = ["RETRY", "PARK", "ARCHIVE"]')
    assert (row["status"], row["overruled"]) == ("PARKED", "ARCHIVE")


def test_a_weaker_report_of_what_no_retry_helps_waits_for_a_person(hub: Hub) -> None:
    entity = uuid.uuid4()
    hub.record(STRUCTURAL, outreach_id=entity, want=Want.RETRY)
    row = hub.row(hub.record(STRUCTURAL, outreach_id=entity, severity=Severity.LOW))
    assert (row["status"], row["overruled"]) == ("PARKED", "ARCHIVE")


def test_the_audit_finds_nothing_after_all_that(hub: Hub) -> None:
    assert hub.broken() == []
