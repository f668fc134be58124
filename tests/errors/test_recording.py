"""Recording: the documents' tables as stored rows, superseding, and odd input from failing programs."""

from __future__ import annotations

import itertools
import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from hub import (
    DAY,
    DOL,
    LOG,
    MASTER,
    MINUTE,
    OPERATIONAL,
    ORPHANS,
    PEOPLE,
    SECOND,
    STRUCTURAL,
    TABLES,
    TARGET,
    TRANSIENT,
    URLS,
    Hub,
    NewHub,
)
from recoup.errors import decide, parking
from recoup.errors.capture import failures
from recoup.errors.lookup import ErrorKey
from recoup.errors.policy import ErrorPolicy
from recoup.errors.recording import MAX_AT_ONCE, NewError, record
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused
from tiers import REVIEWED, WHEN_PARKED, escalated

MESSAGES = {Category.TRANSIENT: TRANSIENT, Category.OPERATIONAL: OPERATIONAL, Category.STRUCTURAL: STRUCTURAL}
CODES = (None, "DOMAIN_LOOKUP_FAILED", "MISSING_NAME", "VENDOR_API_CHANGED")


def test_every_table_severity_category_and_rule_is_stored_as_decided(hub: Hub) -> None:
    """7 tables, 5 severities, 3 categories, 4 codes, 5 decisions of a person, in one call."""
    policy = ErrorPolicy.shipped()
    cases = list(itertools.product(TABLES, (None, *Severity), Category, CODES, (None, *Want)))
    recorded = hub.record_all(
        NewError(
            table=table,
            message=MESSAGES[category],
            outreach_id=uuid.uuid4(),
            severity=severity,
            code=code,
            category=category,
            want=want,
        )
        for table, severity, category, code, want in cases
    )
    now = hub.now()
    found = hub.rows(
        "select error_id, error_table, disposition, status, ttl_tier, expires_at, max_retries, next_retry_at,"
        " park_reason, decided_by, clamped_from, created_at, retry_count, recoup.is_blocked(outreach_id)"
        " from recoup.error where error_id = any(%s)",
        [one.error_id for one in recorded],
    )
    rows = {row[0]: row[1:] for row in found}
    assert len(rows) == len(cases) == 2100
    for (table, severity, category, code, want), one in zip(cases, recorded, strict=True):
        said = decide(policy, table, severity=severity, category=category, code=code, person=want)
        waits = said.retry_after or timedelta(0)  # none: a person starts it, now
        retried = said.disposition == "RETRY"
        assert rows[one.error_id] == (
            table, said.disposition, said.status, said.ttl_tier, None if said.ttl is None else now + said.ttl,
            said.max_retries, now + waits if retried else None, said.park_reason, said.decided_by, said.clamped_from,
            now, 0, said.blocks,
        ), (table, severity, category, code, want)  # fmt: skip


def test_a_clamp_is_recorded_with_the_birth(hub: Hub) -> None:
    error = hub.record(severity=Severity.LOW)
    assert (hub.row(error)["disposition"], hub.row(error)["clamped_from"]) == ("ARCHIVE", "IGNORE")
    ((facts,),) = hub.rows("select facts from recoup.error_event where error_id = %s", error)
    assert facts == {"decided_by": "severity", "clamped_from": "IGNORE"}


def test_the_category_is_worked_out_unless_it_is_given(hub: Hub) -> None:
    assert hub.row(hub.record(TRANSIENT))["category"] == "TRANSIENT"
    assert hub.row(hub.record("nobody knows why"))["category"] == "OPERATIONAL"
    assert hub.row(hub.record(TRANSIENT, category=Category.STRUCTURAL))["category"] == "STRUCTURAL"


# Superseding ----------------------------------------------------------------------------------------------------------


def test_a_newer_error_of_the_same_failure_supersedes_and_inherits(hub: Hub) -> None:
    """Retry count, age and budget pass on; the older one blocks no longer and waits for the archiver."""
    entity = uuid.uuid4()
    older = hub.record("EIN 12-345 did not match", outreach_id=entity)
    hub.fail_when_due(older)
    before = hub.row(older)
    hub.advance(MINUTE)
    newer = hub.record("EIN 98-765 did not match", outreach_id=entity)
    gone, row = hub.row(older), hub.row(newer)
    assert (gone["archive_reason"], gone["superseded_by"], gone["archived_at"]) == ("SUPERSEDED", newer, hub.now())
    assert (row["retry_count"], row["created_at"], row["last_failure"]) == (1, before["created_at"], "failed again")
    assert row["next_retry_at"] == hub.now() + 10 * MINUTE, "its second retry, not its first"
    assert row["expires_at"] == before["expires_at"]
    assert hub.events(older)[-1] == "SUPERSEDED"
    assert hub.is_blocked(entity)


@pytest.mark.parametrize(
    "differs", ["table", "entity", "signature", "no entity"], ids=lambda what: what.replace(" ", "_")
)
def test_what_differs_does_not_supersede(hub: Hub, differs: str) -> None:
    entity = uuid.uuid4()
    if differs == "no entity":
        older, newer = hub.record(table=LOG, outreach_id=None), hub.record(table=LOG, outreach_id=None)
    else:
        older = hub.record(outreach_id=entity)
        newer = hub.record(
            "something else failed" if differs == "signature" else OPERATIONAL,
            table=TARGET if differs == "table" else DOL,
            outreach_id=uuid.uuid4() if differs == "entity" else entity,
        )
    assert hub.row(older)["archived_at"] is None
    assert hub.row(newer)["archived_at"] is None


def test_parking_owner_and_escalation_are_inherited(hub: Hub) -> None:
    entity = uuid.uuid4()
    older = hub.record(severity=Severity.CRITICAL, outreach_id=entity)
    hub.operate(f"assigned_to = 'maria', {REVIEWED}, updated_at = recoup.now()", older)
    hub.operate(f"{REVIEWED}, updated_at = recoup.now()", older)
    hub.operate(
        f"status = 'ESCALATED', {escalated(2, 'lead')}, escalation_reason = 'stuck', last_reviewed_at = recoup.now(),"
        " updated_at = recoup.now()",
        older,
    )
    before = hub.row(older)
    hub.advance(DAY)
    row = hub.row(hub.record(severity=Severity.LOW, outreach_id=entity))  # a LOW one does not release it
    for column in (
        "parked_at", "parked_by", "park_reason", "assigned_to", "last_reviewed_at", "escalation_level", "escalated_at",
        "escalated_to", "escalation_reason", "created_at", "parked_since", "sla_due_at",
    ):  # fmt: skip
        assert row[column] == before[column], column
    assert (row["status"], row["disposition"], row["overruled"]) == ("ESCALATED", "PARKED", "ARCHIVE")
    assert hub.is_blocked(entity)


def test_recording_again_grants_no_more_retries(hub: Hub) -> None:
    """An error recorded again and again is parked after its retries, as if it had been reported as failed."""
    entity, counts = uuid.uuid4(), []
    error = hub.record(TRANSIENT, outreach_id=entity)
    for _ in range(20):
        row = hub.row(error)
        counts.append(row["retry_count"])
        if row["status"] != "RETRY_PENDING":
            break
        hub.advance(row["next_retry_at"] - hub.now())
        hub.claim_one(error)
        error = hub.record(TRANSIENT, outreach_id=entity)  # the retry fails, and says so by recording it once more
    assert counts == [0, 1, 2, 3, 4, 5]
    assert (row["status"], row["park_reason"]) == ("PARKED", "MAX_RETRIES_EXCEEDED")


def test_superseding_a_claimed_error_fences_its_worker(hub: Hub) -> None:
    entity = uuid.uuid4()
    older = hub.record(TRANSIENT, outreach_id=entity)
    hub.advance(2 * SECOND)
    claimed = hub.claim_one(older)
    newer = hub.record(TRANSIENT, outreach_id=entity)
    assert hub.succeed(claimed) == "late"
    assert hub.row(newer)["status"] == "RETRY_PENDING"
    assert hub.row(newer)["retry_count"] == 1


def test_nothing_is_inherited_from_an_expired_error(new_hub: NewHub) -> None:
    """It is archived as expired, with a warning if it blocked, and the newer one starts from zero."""
    hub, entity = new_hub(), uuid.uuid4()
    older = hub.record(STRUCTURAL, outreach_id=entity)
    hub.age(31 * DAY)
    row = hub.row(hub.record(STRUCTURAL, outreach_id=entity))
    assert (row["created_at"], row["parked_at"]) == (hub.now(), hub.now())
    assert hub.row(older)["archive_reason"] == "TTL_EXPIRED"
    hub.sweep_all()
    assert hub.archived(older)["was_blocking"]


def test_an_expired_error_that_is_held_is_still_inherited_from(new_hub: NewHub) -> None:
    """It was parked a day ago, so it is not archived yet; recording again does not release it either."""
    hub, entity = new_hub(), uuid.uuid4()
    older = hub.record(TRANSIENT, outreach_id=entity, severity=Severity.HIGH)
    hub.advance(6 * DAY)
    hub.close_windows()
    hub.advance(2 * DAY)
    assert hub.row(older)["expires_at"] < hub.now()
    row = hub.row(hub.record(TRANSIENT, outreach_id=entity, severity=Severity.HIGH))
    assert (row["status"], row["park_reason"]) == ("PARKED", "RETRY_WINDOW_CLOSED")
    assert hub.row(older)["archive_reason"] == "SUPERSEDED"


def test_a_policy_that_no_longer_parks_does_not_stop_a_parked_failure_from_being_recorded_again(
    new_hub: NewHub,
) -> None:
    hub, entity = new_hub(), uuid.uuid4()
    hub.record(STRUCTURAL, outreach_id=entity)
    hub.apply_policy(f'[errors.tables."{DOL}"]\nallowed = ["RETRY", "ARCHIVE"]')
    row = hub.row(hub.record(STRUCTURAL, outreach_id=entity))
    assert (row["status"], row["disposition"]) != ("PARKED", "PARKED")


def test_a_retry_that_a_person_started_is_inherited(hub: Hub) -> None:
    """It has no window any more; that is no reason to park what has a retry left."""
    entity = uuid.uuid4()
    older = ErrorKey(DOL, hub.record(outreach_id=entity))
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.park(tx, [older], reason="wait")
        parking.unpark(tx, [older])
    assert hub.row(hub.record(outreach_id=entity))["status"] == "RETRY_PENDING"


def test_days_have_24_hours_whatever_the_session_calls_a_day(new_hub: NewHub) -> None:
    """Across the end of daylight saving in New York a calendar's thirty days are an hour longer."""
    hub = new_hub()
    hub.advance(290 * DAY)  # 18 October
    with hub.db.transaction(Authority.HUB) as tx:
        tx.execute("select set_config('timezone', 'America/New_York', true)")
        (recorded,) = record(tx, [NewError(table=DOL, message=OPERATIONAL, outreach_id=uuid.uuid4())])
    row = hub.row(recorded.error_id)
    assert row["expires_at"] - row["created_at"] == 30 * DAY


def test_a_session_that_began_with_empty_tables_keeps_no_bad_plan(new_hub: NewHub) -> None:
    """A plan that was made for an empty table, and kept, must not read all of a full one for each row.

    Told by what was read along each index, not by the clock.
    """
    hub = new_hub()
    hub.record()
    hub.is_blocked(uuid.uuid4())
    for _ in range(3):
        hub.record_all([NewError(table=DOL, message=OPERATIONAL, outreach_id=uuid.uuid4()) for _ in range(2000)])
    for _ in range(20):
        hub.is_blocked(uuid.uuid4())
    hub.db.close()  # what a session read is told when it ends
    read = hub.rows(
        "select indexrelname, idx_tup_read from pg_stat_user_indexes"
        " where relname = 'dol_errors' and idx_tup_read > 1000"
    )
    assert read == []


def test_a_shorter_tier_does_not_shorten_what_is_left(hub: Hub) -> None:
    entity = uuid.uuid4()
    older = hub.record(outreach_id=entity)
    hub.advance(20 * DAY)
    newer = hub.row(hub.record(outreach_id=entity, severity=Severity.HIGH))
    assert newer["ttl_tier"] == "MEDIUM", "as its expiry says"
    assert newer["expires_at"] == hub.row(older)["expires_at"] > hub.now()


def test_the_same_failure_twice_in_one_call_is_recorded_twice_and_open_once(hub: Hub) -> None:
    entity = uuid.uuid4()
    before = hub.record(outreach_id=entity)
    ids = [one.error_id for one in hub.record_all([NewError(table=DOL, message=OPERATIONAL, outreach_id=entity)] * 3)]
    assert [hub.row(one)["superseded_by"] for one in (before, *ids)] == [ids[2], ids[1], ids[2], None]
    assert hub.rows(
        "select count(*) from outreach.dol_errors where outreach_id = %s and archived_at is null", entity
    ) == [(1,)]


def test_a_table_that_is_kept_forever_supersedes_nothing(hub: Hub) -> None:
    entity = uuid.uuid4()
    ids = [hub.record(table=MASTER, outreach_id=entity) for _ in range(2)]
    ids += [
        one.error_id for one in hub.record_all([NewError(table=MASTER, message=OPERATIONAL, outreach_id=entity)] * 2)
    ]
    assert all(hub.row(one)["archived_at"] is None and hub.row(one)["expires_at"] is None for one in ids)


def test_two_concurrent_recordings_of_one_failure_leave_one_open(hub: Hub) -> None:
    entity = uuid.uuid4()
    barrier = threading.Barrier(4)

    def record() -> None:
        barrier.wait()
        hub.record(outreach_id=entity)

    threads = [threading.Thread(target=record) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = hub.rows(
        "select archived_at is null, count(*) from recoup.error where outreach_id = %s group by 1 order by 1", entity
    )
    assert found == [(False, 3), (True, 1)]


# Whatever a failing program sends -------------------------------------------------------------------------------------


def test_secrets_in_a_payload_are_not_stored(hub: Hub) -> None:
    payload = {
        "url": "x",
        "headers": {"Authorization": "Bearer abc"},
        "rows": [{"db-password": "hunter2"}],
        "apiKey": "k",
    }
    stored = hub.row(hub.record(payload=payload))["payload"]
    assert stored == {
        "url": "x",
        "headers": {"Authorization": "[redacted]"},
        "rows": [{"db-password": "[redacted]"}],
        "apiKey": "[redacted]",
    }


def test_a_password_in_a_url_is_not_stored(hub: Hub) -> None:
    row = hub.row(hub.record("cannot reach postgresql://hub:hunter2@db.example:5432/hub?x=1 for https://a.example/@b"))
    assert (
        row["error_message"]
        == "cannot reach postgresql://hub:[redacted]@db.example:5432/hub?x=1 for https://a.example/@b"
    )


@pytest.mark.parametrize(
    "message",
    [
        "", "\0", "nul\0in the middle", "\ud800 half a character", "ünïcödé 🜁", "x" * 1_000_000, "\n\t\r",
        "'; drop table x; --", "%s %(a)s {}", "\\x00 \\",
    ],
    ids=["empty", "nul", "nul within", "surrogate", "unicode", "huge", "white", "sql", "format", "backslash"],
)  # fmt: skip
def test_any_message_is_recorded(hub: Hub, message: str) -> None:
    row = hub.row(hub.record(message, code="ANY"))
    assert len(row["error_message"]) <= 100_100
    if message.isprintable() and len(message) < 1000:
        assert row["error_message"] == message


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"not a number": float("nan"), "endless": float("inf"), "in": [float("-inf")]},
        {"nul": "a\0b", "\0": 1},
        {"half": "\ud800"},
        {"object": object(), "bytes": b"\xff", "set": {1}, "uuid": uuid.uuid4()},
        {"big": 10**400, "deep": json.loads("[" * 200 + "]" * 200)},
        {"huge": "x" * 2_000_000},
        {1: "a key that is a number", None: 2, (1, 2): 3},
    ],
    ids=["empty", "not finite", "nul", "surrogate", "objects", "big and deep", "huge", "keys"],
)
def test_any_payload_is_recorded_or_says_that_it_was_left_out(hub: Hub, payload: dict[object, object]) -> None:
    row = hub.row(hub.record(payload=payload))
    assert isinstance(row["payload"], dict)


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("not today")


def within_itself() -> dict[str, Any]:
    """Twice at every level: without a bound the walk through it has 2 to the power of its depth steps."""
    payload: dict[str, Any] = {}
    payload["left"] = payload["right"] = payload
    return payload


@pytest.mark.parametrize(
    "payload",
    [
        {"raised": ValueError("bad\0byte")},
        {"raised": Unprintable(), Unprintable(): 1},
        {"number": 10**5000, "less": -(10**5000)},
        within_itself(),
        {"wide": list(range(300_000))},
    ],
    ids=["nul in an exception", "unprintable", "long number", "within itself", "wide"],
)
def test_a_hostile_payload_is_recorded_too(hub: Hub, payload: dict[Any, Any]) -> None:
    assert isinstance(hub.row(hub.record(payload=payload))["payload"], dict)


def test_enumerations_may_be_given_as_text(hub: Hub) -> None:
    words: dict[str, Any] = {"severity": "HIGH", "category": "TRANSIENT", "want": "PARK"}
    error = NewError(table=DOL, message="x", outreach_id=uuid.uuid4(), **words)
    (recorded,) = hub.record_all([error])
    row = hub.row(recorded.error_id)
    assert (row["severity"], row["category"], row["disposition"]) == ("HIGH", "TRANSIENT", "PARKED")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("postgres://bob:p@ss@h/x failed", "postgres://bob:[redacted]@h/x failed"),
        ("amqp://bob:pa/ss@h:5672", "amqp://bob:[redacted]@h:5672"),
        (f"ftp://u:{'p' * 500}@h", "ftp://u:[redacted]@h"),
        ("https://example.com/a@b and me@example.com", "https://example.com/a@b and me@example.com"),
    ],
)
def test_passwords_in_urls_are_stored_nowhere(hub: Hub, text: str, kept: str) -> None:
    """Not in the message, not in the payload, not in what a failed retry said."""
    error = hub.record(text, payload={"dsn": text, "in": [text]}, category=Category.TRANSIENT)
    hub.advance(2 * SECOND)
    hub.fail(hub.claim_one(error), text)
    row = hub.row(error)
    assert (row["error_message"], row["payload"], row["last_failure"]) == (kept, {"dsn": kept, "in": [kept]}, kept)


def test_invalid_errors_are_refused_and_nothing_is_recorded(hub: Hub) -> None:
    good = NewError(table=DOL, message="x", outreach_id=uuid.uuid4())
    for bad, words in [
        (NewError(table="outreach.nothing", message="x", outreach_id=uuid.uuid4()), "not an error table"),
        (NewError(table="outreach.bit_errors", message="x", outreach_id=uuid.uuid4()), "DEAD"),
        (NewError(table=DOL, message="x"), "needs an entity"),
        (NewError(table=DOL, message="x", outreach_id=uuid.uuid4(), code=""), "code"),
        (NewError(table=DOL, message="x", outreach_id=uuid.uuid4(), code="é" * 101), "code"),
        (NewError(table=DOL, message="x", outreach_id=uuid.uuid4(), code="a\0b"), "code"),
    ]:
        with pytest.raises(InputRefused, match=words):
            hub.record_all([good, bad])
    assert hub.rows("select from recoup.error where outreach_id = %s", good.outreach_id) == []


@pytest.mark.parametrize(
    ("table", "advice"),
    [
        ("outreach.bit_errors", "Create table or remove from ERD"),
        ("outreach.blog_errors", "Create table or remove from ERD"),
        ("outreach.people_errors", "Create table or remove from ERD"),
        ("outreach.outreach_errors", "Create table or remove from ERD"),
        ("company.pipeline_errors", "Create table or remove from ERD"),
        ("cl.cl_errors_archive", "Archive table, no active policy"),
    ],
)
def test_a_dead_table_is_refused_with_the_advice(hub: Hub, table: str, advice: str) -> None:
    with pytest.raises(InputRefused) as refused:
        hub.record(table=table)
    assert refused.value.code == "table_dead"
    assert advice in refused.value.next_step


def test_global_tables_do_without_an_entity(hub: Hub) -> None:
    for table in (LOG, MASTER, ORPHANS):
        assert hub.row(hub.record(table=table, outreach_id=None))["outreach_id"] is None


def test_many_are_recorded_in_the_order_given(hub: Hub) -> None:
    errors = [
        NewError(table=URLS, message=f"page {n} not found", outreach_id=uuid.uuid4(), code=f"C{n % 7}")
        for n in range(MAX_AT_ONCE + 500)
    ]
    recorded = hub.record_all(errors)
    assert hub.rows(
        "select count(*) from unnest(%s::bigint[], %s::uuid[]) g (id, entity)"
        " join recoup.error e on e.error_id = g.id and e.outreach_id = g.entity",
        [one.error_id for one in recorded], [one.outreach_id for one in errors],
    ) == [(len(errors),)]  # fmt: skip
    assert hub.record_all([]) == []


def test_a_policy_that_became_active_meanwhile_decides(new_hub: NewHub) -> None:
    """Its values are cached for a connection; the database notices that they are old."""
    hub = new_hub()
    assert hub.row(hub.record(code="LATE"))["disposition"] == "RETRY"
    hub.apply_policy('[errors.park_codes]\nLATE = "EXTERNAL_DEPENDENCY"')
    row = hub.row(hub.record(code="LATE"))
    assert (row["park_reason"], row["policy_version"]) == ("EXTERNAL_DEPENDENCY", 2)


def test_a_table_of_the_policy_that_is_not_migrated_is_refused(new_hub: NewHub) -> None:
    hub = new_hub()
    hub.record()  # the figures are kept from here on
    table = "billing.invoice_errors"
    hub.apply_policy(
        f'[errors.tables."{table}"]\nttl = "MEDIUM"\ndefault = "RETRY"\nallowed = ["RETRY", "ARCHIVE"]\nblocks = true\n'
        'owner = "billing"\narchive_years = 1'
    )
    with pytest.raises(LawRefused) as refused:
        hub.record(table=table)
    assert (refused.value.code, refused.value.next_step) == ("table_not_made", "Run: recoup migrate")
    assert hub.claim(tables=[table]) == []


def test_people_park_without_a_name_and_low_never_blocks(hub: Hub) -> None:
    row = hub.row(hub.record(table=PEOPLE, code="MISSING_NAME"))
    assert (row["disposition"], row["park_reason"], row["decided_by"]) == ("PARKED", "DATA_QUALITY", "hub rule")
    for table in TABLES:
        entity = uuid.uuid4()
        hub.record(table=table, severity=Severity.LOW, outreach_id=entity)
        assert not hub.is_blocked(entity)


def test_the_printed_promotion_query_runs_on_every_table(hub: Hub) -> None:
    for table in TABLES:
        entity = uuid.uuid4()
        hub.record(table=table, severity=Severity.HIGH, outreach_id=entity)
        ((blocked,),) = hub.rows(
            f"select count(*) > 0 as is_blocked from {table}"
            " where outreach_id = %s and disposition in ('RETRY', 'PARKED') and archived_at is null",
            entity,
        )
        assert blocked is (hub.row_of(entity)["disposition"] in ("RETRY", "PARKED"))
        assert hub.is_blocked(entity) is (table in (DOL, TARGET, PEOPLE))


def test_a_disposition_that_its_table_does_not_allow_is_refused_to_any_writer(hub: Hub) -> None:
    error = hub.record(table=LOG)
    with pytest.raises(LawRefused) as refused:
        hub.operate(
            "status = 'PARKED', disposition = 'PARKED', parked_at = recoup.now(), parked_by = recoup.acting_id(),"
            f" park_reason = 'x', {WHEN_PARKED}, updated_at = recoup.now()",
            error,
        )
    assert refused.value.code == "disposition_not_allowed"


# What callers give --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["{}", "{{{}}}", "urn:uuid:{}"])
def test_an_entity_may_be_given_as_text(hub: Hub, form: str) -> None:
    """In every form; it is one entity, and its failure supersedes the one before."""
    entity = uuid.uuid4()
    given = (form.format(entity), str(entity).upper(), entity.hex, entity)
    hub.record_all([NewError(table=DOL, message=OPERATIONAL, outreach_id=one) for one in given])
    assert hub.row_of(entity)["outreach_id"] == entity


@pytest.mark.parametrize("count", [2, 5_001])
@pytest.mark.parametrize("given", ["{0},{1}", "NULL", "nope", '{0}"', ""])
def test_an_id_that_is_no_uuid_does_not_shift_the_others(hub: Hub, given: str, count: int) -> None:
    """The call is refused, by name, before anything is sent."""
    a, b, c = (uuid.uuid4() for _ in range(3))
    of: list[UUID | str] = [given.format(a, b), *[c] * (count - 1)]
    new = [NewError(table=DOL, message=OPERATIONAL, outreach_id=one) for one in of]
    with pytest.raises(InputRefused) as refused:
        hub.record_all(new)
    assert refused.value.code == "entity_unreadable"
    assert not any(hub.is_blocked(one) for one in (a, b, c))


@pytest.mark.parametrize(
    ("more", "code", "description"),
    [
        ({"severity": "awful"}, "severity_unknown", "CRITICAL"),
        ({"category": 7}, "category_unknown", "TRANSIENT"),
        ({"want": "go"}, "want_unknown", "ARCHIVE"),
        ({"code": 5}, "error_code", "bytes"),
        ({"outreach_id": "nope"}, "entity_unreadable", "outreach_id"),
    ],
)
def test_misuse_is_refused_in_words(hub: Hub, more: dict[str, Any], code: str, description: str) -> None:
    with pytest.raises(InputRefused) as refused:
        hub.record(**more)
    assert refused.value.code == code
    assert description in refused.value.next_step


def test_text_is_accepted_in_any_case(hub: Hub) -> None:
    row = hub.row(hub.record(severity="high", category="Transient", want="park"))
    assert (row["severity"], row["category"], row["disposition"]) == ("HIGH", "TRANSIENT", "PARKED")


class Raises:
    """An object whose methods raise."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"{name}: the session is closed")

    def __str__(self) -> str:
        raise RuntimeError("the session is closed")


class Detached(Mapping[str, Any]):
    """A row of an ORM whose session is closed."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("the session is closed")

    def __iter__(self) -> Iterator[str]:
        return iter(["a", "b"])

    def __len__(self) -> int:
        return 2


class Text(str):
    """A str whose methods are overridden."""

    __slots__ = ()

    def __contains__(self, other: object) -> bool:
        raise RuntimeError("no")

    def encode(self, *_: Any) -> bytes:
        raise RuntimeError("no")

    def isascii(self) -> bool:
        raise RuntimeError("no")


class Items(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("no")


class Pairs(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no")


class Number(int):
    def bit_length(self) -> int:
        raise RuntimeError("no")


ODD = [Raises(), Detached(), Text("kept"), Items([1, 2]), Pairs(a=1), Number(7), {Raises(): 1}, [Detached(), 3]]


@pytest.mark.parametrize("odd", ODD, ids=[type(one).__name__ for one in ODD])
@pytest.mark.parametrize("inside", [True, False])
def test_an_unreadable_payload_loses_no_failure(hub: Hub, odd: Any, inside: bool) -> None:
    """What can be read of it is kept, and secrets are not."""
    payload = {"row": odd, "password": "hush", "kept": 1} if inside else odd
    row = hub.row(hub.record(payload=payload))["payload"]
    if inside:
        assert (row["kept"], row["password"]) == (1, "[redacted]")
    watching = failures(hub.db, DOL, outreach_id=uuid.uuid4(), payload=payload)
    with pytest.raises(ValueError, match="no match"), watching:
        raise ValueError("no match")
    assert watching.recorded is not None


def test_readable_parts_of_an_odd_payload_are_kept(hub: Hub) -> None:
    odd = {"text": Text("kept"), "items": Items([1, Text("two")]), "pairs": Pairs(a=1), "row": Detached()}
    assert hub.row(hub.record(Text("the request timed out"), payload=odd))["payload"] == {
        "text": "kept", "items": [1, "two"], "pairs": {"a": 1}, "row": "[Detached that cannot be read]"
    }  # fmt: skip
