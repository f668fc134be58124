"""Why an error is parked, and who asked for it: kept from the report on, also where its table allows no parking."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from hub import DOL, ORPHANS, PEOPLE, STRUCTURAL, TRANSIENT, URLS, Hub, NewHub
from recoup.database.connection import Actor
from recoup.errors import recording
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Severity, Want
from recoup.lifecycles.declaration import Authority

RETRIED = """
[errors.tables."company.url_discovery_failures"]
default = "RETRY"
"""


def recorded_by(hub: Hub, who: Actor, message: str = TRANSIENT, *, table: str = DOL, **more: Any) -> dict[str, Any]:
    given = {"outreach_id": uuid.uuid4()} | more
    with hub.db.transaction(Authority.HUB, actor=who) as tx:
        (recorded,) = recording.record(tx, [NewError(table=table, message=message, **given)])
    return hub.row(recorded.error_id)


@pytest.mark.parametrize(
    ("message", "given", "reason"),
    [
        (TRANSIENT, {"code": "MISSING_REQUIRED_FIELD"}, "DATA_QUALITY"),
        (TRANSIENT, {"severity": Severity.CRITICAL}, "ESCALATION_REQUIRED"),
        (TRANSIENT, {"want": Want.PARK}, "ESCALATION_REQUIRED"),
        (STRUCTURAL, {"severity": Severity.HIGH}, "NON_RETRYABLE_ERROR"),
    ],
)
def test_the_reason_is_kept_where_parking_is_not_allowed(
    hub: Hub, message: str, given: dict[str, Any], reason: str
) -> None:
    error = hub.record(message, table=URLS, **given)
    row = hub.row(error)
    assert (row["status"], row["clamped_from"], row["park_reason"]) == ("ACTIVE", "PARK", reason)
    assert (row["parked_at"], row["parked_by"]) == (None, None)
    assert hub.rows("select reason from recoup.error_event where error_id = %s", error) == [(reason,)]


def test_the_reason_is_kept_while_it_is_retried_and_gives_way_to_the_last_failure(new_hub: NewHub) -> None:
    hub = new_hub()
    hub.apply_policy(RETRIED)
    error = hub.record(TRANSIENT, table=URLS, code="VALIDATION_FAILED")
    row = hub.row(error)
    assert (row["status"], row["clamped_from"], row["park_reason"]) == ("RETRY_PENDING", "PARK", "NON_RETRYABLE_ERROR")
    assert hub.fail_when_due(error)["park_reason"] == "NON_RETRYABLE_ERROR"
    for _ in range(4):
        row = hub.fail_when_due(error)
    assert (row["status"], row["park_reason"]) == ("ACTIVE", "MAX_RETRIES_EXCEEDED")
    entity = uuid.uuid4()
    hub.record(TRANSIENT, table=URLS, code="VALIDATION_FAILED", outreach_id=entity)
    hub.record(TRANSIENT, table=URLS, code="VALIDATION_FAILED", want=Want.ARCHIVE, outreach_id=entity)
    row = hub.row_of(entity)
    assert (row["status"], row["park_reason"], row["overruled"]) == ("RETRY_PENDING", None, "ARCHIVE")
    assert hub.broken() == []


def test_parked_by_is_the_person_who_asked(hub: Hub) -> None:
    ann = Actor("human", "ann")
    assert recorded_by(hub, ann, want=Want.PARK)["parked_by"] == "ann"
    assert recorded_by(hub, ann, severity=Severity.CRITICAL)["parked_by"] == "system"
    assert recorded_by(hub, ann, table=PEOPLE, code="MISSING_NAME")["parked_by"] == "system"
    # She asked for a retry; parking is all that its table offers.
    assert recorded_by(hub, ann, table=ORPHANS, want=Want.RETRY)["parked_by"] == "system"


def test_whoever_parked_it_first_stays_who_parked_it(hub: Hub) -> None:
    entity = uuid.uuid4()
    recorded_by(hub, Actor("human", "ann"), want=Want.PARK, outreach_id=entity)
    row = recorded_by(hub, Actor("human", "bob"), want=Want.PARK, outreach_id=entity)
    assert (row["parked_by"], row["overruled"]) == ("ann", None)


def test_a_low_error_that_inherits_parking_says_what_it_asked_for(hub: Hub) -> None:
    """It never begins to block, but does not unpark what is parked; which one that was can be queried."""
    entity = uuid.uuid4()
    parked = recorded_by(hub, Actor("human", "ann"), severity=Severity.CRITICAL, outreach_id=entity)
    low = hub.record(TRANSIENT, severity=Severity.LOW, outreach_id=entity)
    row = hub.row(low)
    assert (row["status"], row["decided_by"], row["clamped_from"], row["overruled"]) == (
        "PARKED", "severity", "IGNORE", "ARCHIVE",
    )  # fmt: skip
    assert hub.row(parked["error_id"])["superseded_by"] == low
    ((facts,),) = hub.rows("select facts from recoup.error_event where error_id = %s", low)
    assert facts == {"decided_by": "severity", "clamped_from": "IGNORE", "overruled": "ARCHIVE"}
    alone = hub.row(hub.record(TRANSIENT, severity=Severity.LOW))
    assert (alone["status"], alone["overruled"]) == ("ACTIVE", None)
