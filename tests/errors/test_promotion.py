"""The promotion gate: which entities are blocked, by which errors, who owns them; and that the lock holds."""

from __future__ import annotations

import threading
import uuid

import psycopg
import pytest
from psycopg import IsolationLevel

from hub import DOL, LOG, ORPHANS, PEOPLE, STRUCTURAL, TRANSIENT, URLS, Hub
from recoup.errors import parking, promotion
from recoup.errors.lookup import ErrorKey
from recoup.errors.promotion import Blocking
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import ErrorStatus, Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused, from_database


def blocking(hub: Hub, *entities: uuid.UUID) -> list[Blocking]:
    with hub.db.transaction(Authority.READER) as tx:
        found = promotion.blocking(tx, entities)
        blocked = {entity for entity in entities if promotion.is_blocked(tx, entity)}
    assert blocked == {one.outreach_id for one in found}, "a look and its reasons say the same"
    return found


def test_blocking_errors_are_listed_with_their_details(hub: Hub) -> None:
    """Table, id, code, status, since when, park reason, next retry and owner; other entities are not affected."""
    entity, other = uuid.uuid4(), uuid.uuid4()
    first = hub.record(TRANSIENT, outreach_id=entity, code="TIMEOUT")
    second = hub.record(STRUCTURAL, outreach_id=entity, table=PEOPLE)
    now = hub.now()
    found = {one.error_id: one for one in blocking(hub, entity, other)}
    assert set(found) == {first, second}
    assert found[first]._replace(error_message="") == Blocking(
        entity, DOL, first, "TIMEOUT", "", ErrorStatus.RETRY_PENDING, now, None, hub.row(first)["next_retry_at"],
        "dol-hub",
    )  # fmt: skip
    assert found[second].status is ErrorStatus.PARKED
    assert (found[second].park_reason, found[second].owner) == ("NON_RETRYABLE_ERROR", "people-hub")
    assert found[second].next_retry_at is None


def test_the_owner_is_the_assignee_then_the_escalation_then_the_table(hub: Hub) -> None:
    """Escalated, then assigned: the assignment counts."""
    entity = uuid.uuid4()
    key = ErrorKey(DOL, hub.record(STRUCTURAL, outreach_id=entity))
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.escalate(tx, [key], reason="no answer", to="bob")
    assert [(one.status, one.owner) for one in blocking(hub, entity)] == [(ErrorStatus.ESCALATED, "bob")]
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.assign(tx, [key], to="eve")
    assert [one.owner for one in blocking(hub, entity)] == ["eve"]


@pytest.mark.parametrize("table", [URLS, LOG, ORPHANS])
def test_tables_that_do_not_block(hub: Hub, table: str) -> None:
    """Whatever the severity."""
    entity = uuid.uuid4()
    hub.record(outreach_id=entity, table=table, severity=Severity.CRITICAL)
    assert blocking(hub, entity) == []


@pytest.mark.parametrize("how", ["resolve", "archive"])
def test_a_closed_error_does_not_block(hub: Hub, how: str) -> None:
    """At once, before it is archived."""
    entity = uuid.uuid4()
    key = ErrorKey(DOL, hub.record(outreach_id=entity))
    assert len(blocking(hub, entity)) == 1
    with hub.db.transaction(Authority.OPERATOR) as tx:
        getattr(parking, how)(tx, [key])
    assert blocking(hub, entity) == []


def test_an_error_to_archive_does_not_block(hub: Hub) -> None:
    """Its disposition is ARCHIVE."""
    entity = uuid.uuid4()
    hub.record(outreach_id=entity, want=Want.ARCHIVE)
    assert blocking(hub, entity) == []


@pytest.mark.parametrize("begins", ["recorded", "parked by hand"])
def test_an_error_waits_for_a_promotion_that_locked(hub: Hub, begins: str) -> None:
    """After the locking question no error is recorded until the promotion has committed; the next question sees it."""
    entity, blocked_one = uuid.uuid4(), uuid.uuid4()
    hub.record(outreach_id=blocked_one)
    kept = ErrorKey(DOL, hub.record(outreach_id=entity, want=Want.ARCHIVE))
    began = threading.Event()

    def begin() -> None:
        if begins == "recorded":
            hub.record_all([NewError(table=PEOPLE, message=TRANSIENT, outreach_id=entity)])
        else:
            with hub.db.transaction(Authority.OPERATOR) as tx:
                parking.park(tx, [kept], reason="stop")
        began.set()

    thread = threading.Thread(target=begin)
    with hub.db.transaction(Authority.READER) as tx:
        assert promotion.blocked_locking(tx, [entity, blocked_one]) == {blocked_one}
        thread.start()
        waits = "select count(*) from pg_locks where locktype = 'advisory' and classid = 7701 and not granted"
        while hub.rows(waits) == [(0,)] and not began.is_set():
            pass
        assert not began.is_set(), "it did not wait"
        assert not promotion.is_blocked(tx, entity)
    thread.join(30)
    assert began.is_set()
    with hub.db.transaction(Authority.READER) as tx:
        assert promotion.blocked_locking(tx, [entity]) == {entity}


def test_the_lock_needs_read_committed(hub: Hub) -> None:
    """An older snapshot would not see what was recorded while it waited."""
    with psycopg.connect(hub.db.conninfo) as tx:
        tx.isolation_level = IsolationLevel.REPEATABLE_READ
        tx.execute("set role recoup_reader")
        with pytest.raises(psycopg.Error) as refused:
            promotion.blocked_locking(tx, [uuid.uuid4()])
    refusal = from_database(refused.value)
    assert refusal is not None
    assert refusal.code == "isolation_level"


def test_an_empty_list_is_answered(hub: Hub) -> None:
    """And not refused."""
    with hub.db.transaction(Authority.READER) as tx:
        assert promotion.blocking(tx, []) == []
        assert promotion.blocked_locking(tx, []) == set()


@pytest.mark.parametrize(
    "asked",
    [
        "recoup.is_blocked(null)", "recoup.is_blocked_locking(null)", "recoup.blocked_locking(null)",
        "recoup.blocked_locking(array[gen_random_uuid(), null])", "recoup.blocking_errors(array[null]::uuid[])",
    ],
)  # fmt: skip
def test_a_missing_id_is_refused(hub: Hub, asked: str) -> None:
    """Null comes from a join that found nothing: it is no free entity."""
    with pytest.raises(LawRefused) as refused:
        hub.rows(f"select {asked}")
    assert refused.value.code == "entity_null"
