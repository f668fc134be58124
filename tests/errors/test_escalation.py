"""Escalation: every line of section 10 at its minute, and what stops it, delays it, or begins it again."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import psycopg
import pytest

import product
from hub import (
    DAY,
    DOL,
    HOUR,
    LOG,
    MASTER,
    MINUTE,
    OPERATIONAL,
    ORPHANS,
    PEOPLE,
    SECOND,
    STRUCTURAL,
    TARGET,
    TRANSIENT,
    Hub,
    NewHub,
)  # fmt: skip
from recoup import pauses
from recoup.database import embedded
from recoup.database.connection import connect
from recoup.errors import escalation, parking
from recoup.errors.escalation import Raised
from recoup.errors.escalation_signals import ESCALATED, ESCALATION
from recoup.errors.listing import Filter, list_errors, park_queue
from recoup.errors.lookup import ErrorKey
from recoup.errors.policy import ErrorPolicy
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.refusals import InputRefused, LawRefused
from recoup.worker.loop import WorkerLoop

WORKER, OPERATOR = Authority.ERROR_WORKER, Authority.OPERATOR
TOLD = """
select v.event_type, v.logged_at, coalesce((v.facts ->> 'level')::integer, 0), v.facts ->> 'to',
       (v.facts ->> 'due_at')::timestamptz, v.facts -> 'skipped', v.authority
  from recoup.error_event v where v.error_id = %s and v.event_type in ('ESCALATED', 'SLA_BREACHED') order by v.seq
"""


class Told(NamedTuple):
    """An event of an escalation."""

    event_type: str
    logged_at: datetime
    level: int
    owner: str | None
    due_at: datetime | None
    skipped: list[int] | None
    authority: str


def told(hub: Hub, error: int) -> list[Told]:
    return [Told(*row) for row in hub.rows(TOLD, error)]


def after(hub: Hub, error: int, begun: datetime) -> list[tuple[str, timedelta, int, str | None]]:
    """The events of an escalation, by how long after the beginning each was."""
    return [(one.event_type, one.logged_at - begun, one.level, one.owner) for one in told(hub, error)]


def place(hub: Hub, error: int) -> tuple[int, str, timedelta]:
    """The tier of an error, its owner, and how long after that its review is due."""
    row = hub.row(error)
    return row["escalation_level"], row["escalated_to"], row["sla_due_at"] - row["escalated_at"]


def act(hub: Hub, verb: str, error: int, table: str = DOL, **more: Any) -> None:
    with hub.db.transaction(OPERATOR, reason="a test") as tx:
        (answer,) = getattr(parking, verb)(tx, [ErrorKey(table, error)], **more)
    assert answer.done, answer


def to(hub: Hub, begun: datetime, hours: timedelta) -> None:
    hub.advance(begun + hours - hub.now())


# Section 10.1, line by line ---------------------------------------------------------------------------------------

OWNERS = {
    DOL: ("dol-hub", "dol-lead", "platform"),
    TARGET: ("company-target-hub", "company-target-lead", "platform"),
    PEOPLE: ("people-hub", "people-lead", "platform"),
    ORPHANS: ("platform", "platform", "platform"),
}
# What happens in thirty days to an error that nobody looks at: when, what, the tier.
RUN = (
    (24 * HOUR, "SLA_BREACHED", 1),
    (48 * HOUR, "ESCALATED", 2),
    (56 * HOUR + MINUTE, "SLA_BREACHED", 2),
    (7 * DAY, "ESCALATED", 3),
    (7 * DAY + 4 * HOUR + MINUTE, "SLA_BREACHED", 3),
)


@pytest.mark.parametrize("table", OWNERS)
def test_thirty_days_give_tier_owner_sla_and_breach_at_the_minute(new_hub: NewHub, table: str) -> None:
    """A minute before its time, at its time and a minute after it, for every line; and between them nothing."""
    hub = new_hub()
    error = hub.record(STRUCTURAL, table=table, want=Want.PARK)
    begun, owners = hub.now(), OWNERS[table]
    assert place(hub, error) == (1, owners[0], 24 * HOUR)
    expected: list[tuple[str, timedelta, int, str]] = []
    for due, event, level in RUN:
        for moment in (due - MINUTE, due, due + MINUTE):
            to(hub, begun, moment)
            raised = hub.raise_tiers()
            if moment > due:
                expected.append((event, moment, level, owners[level - 1]))
                assert raised == ((1, 0) if event == "SLA_BREACHED" else (0, 1))
                sla = (24 * HOUR, 8 * HOUR, 4 * HOUR)[level - 1]
                assert place(hub, error) == (level, owners[level - 1], sla)
            assert after(hub, error, begun) == expected, moment
            assert hub.raise_tiers() == (0, 0), "once"
            assert hub.sweep().gone == 0
    for day in range(8, 31):
        to(hub, begun, day * DAY)
        assert (hub.raise_tiers(), hub.sweep().gone) == ((0, 0), 0), day
    to(hub, begun, 30 * DAY + MINUTE)
    assert hub.sweep().gone == 1
    assert after(hub, error, begun) == expected
    assert hub.archived(error)["escalation_level"] == 3
    assert hub.broken() == []


PARKED_BY: dict[str, Callable[[Hub], int]] = {}


def parked_by(name: str) -> Callable[[Callable[[Hub], int]], Callable[[Hub], int]]:
    def listed(way: Callable[[Hub], int]) -> Callable[[Hub], int]:
        PARKED_BY[name] = way
        return way

    return listed


@parked_by("severity")
def _critical(hub: Hub) -> int:
    return hub.record(severity=Severity.CRITICAL)


@parked_by("category")
def _structural(hub: Hub) -> int:
    return hub.record(STRUCTURAL)


@parked_by("code")
def _coded(hub: Hub) -> int:
    return hub.record(code="VALIDATION_FAILED")


@parked_by("request")
def _wanted(hub: Hub) -> int:
    return hub.record(want=Want.PARK)


@parked_by("last retry")
def _exhausted(hub: Hub) -> int:
    error = hub.record(TRANSIENT)
    while hub.fail_when_due(error)["status"] == "RETRY_PENDING":
        pass
    return error


@parked_by("lease")
def _lapsed(hub: Hub) -> int:
    error = hub.record(TRANSIENT)
    while hub.row(error)["retry_count"] < 4:
        hub.fail_when_due(error)
    hub.advance(32 * SECOND)
    hub.claim_one(error)
    hub.advance(HOUR)
    hub.lapse()
    return error


@parked_by("window")
def _closed(hub: Hub) -> int:
    error = hub.record(TRANSIENT)
    hub.advance(DAY + SECOND)
    hub.close_windows()
    return error


@parked_by("person")
def _by_hand(hub: Hub) -> int:
    error = hub.record(TRANSIENT)
    act(hub, "park", error, reason="EXTERNAL_DEPENDENCY")
    return error


@pytest.mark.parametrize("way", PARKED_BY)
def test_the_first_tier_is_set_by_the_statement_that_parks(hub: Hub, way: str) -> None:
    """Whatever the reason: no event of its own, and not a moment without an owner."""
    error = PARKED_BY[way](hub)
    row = hub.row(error)
    assert (row["status"], row["escalation_level"], row["escalated_to"]) == ("PARKED", 1, "dol-hub")
    assert row["parked_at"] == row["parked_since"] == row["escalated_at"] == hub.now()
    assert row["escalation_reason"] == row["park_reason"]
    assert row["sla_due_at"] == hub.now() + 24 * HOUR
    assert (row["sla_met_at"], row["sla_breached_at"], told(hub, error)) == (None, None, [])


def test_every_table_that_parks_has_an_owner_for_each_tier() -> None:
    policy = ErrorPolicy.shipped()
    for table, owners in OWNERS.items():
        assert tuple(policy.owner(table, tier) for tier in (1, 2, 3)) == owners
    assert {policy.owner(LOG, tier) for tier in (1, 2, 3)} == {policy.owner(MASTER, 1)} == {"platform"}


def test_owners_times_and_slas_are_policy(new_hub: NewHub) -> None:
    """A table without a lead is its own; another platform team may be named; a change applies to new steps."""
    hub = new_hub()
    first = hub.record(STRUCTURAL)
    hub.apply_policy(
        '[errors.escalation]\nplatform = "core"\n[errors.escalation.tier_2]\nafter_hours = 2\nsla_hours = 1\n'
        '[errors.escalation.tier_3]\nafter_hours = 3\nsla_hours = 2\n[errors.tables."outreach.dol_errors"]\n'
        'owner = "dol"\nlead = "boss"\n[errors.tables."people.people_errors"]\nplatform = "people-platform"\n'
    )
    second, third = hub.record(STRUCTURAL), hub.record(STRUCTURAL, table=PEOPLE)
    assert [hub.row(one)["escalated_to"] for one in (first, second, third)] == ["dol-hub", "dol", "people-hub"]
    hub.advance(2 * HOUR + SECOND)
    hub.raise_tiers()
    assert place(hub, first) == place(hub, second) == (2, "boss", HOUR)
    hub.advance(HOUR)
    hub.raise_tiers()
    assert place(hub, second) == (3, "core", 2 * HOUR)
    assert place(hub, third) == (3, "people-platform", 2 * HOUR)
    assert hub.broken() == []


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[errors.escalation.tier_1]\nafter_hours = 1", "tier_1.after_hours"),
        ("[errors.escalation.tier_2]\nafter_hours = 168", "tier_3.after_hours"),
        ("[errors.escalation.tier_3]\nsla_hours = 0", "tier_3.sla_hours"),
        ("[errors.escalation.tier_4]\nsla_hours = 1", "tier_4"),
        ('[errors.escalation]\nplatform = ""', "platform"),
    ],
)
def test_a_policy_whose_tiers_do_not_follow_each_other_is_refused(hub: Hub, text: str, key: str) -> None:
    with pytest.raises(InputRefused, match=key):
        hub.apply_policy(text + "\n")


# Late, and never back -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("down", "level", "owner", "due", "skipped"),
    [
        (3 * DAY, 2, "dol-lead", 48 * HOUR, None),
        (8 * DAY, 3, "platform", 7 * DAY, [2]),
    ],
    ids=["3 days", "8 days"],
)
def test_a_worker_that_was_down_makes_one_step_and_dates_nothing_back(
    new_hub: NewHub, down: timedelta, level: int, owner: str, due: timedelta, skipped: list[int] | None
) -> None:
    hub = new_hub()
    error, begun = hub.record(STRUCTURAL, severity=Severity.HIGH), hub.now()
    hub.advance(down)
    # Its tier SHORT ended within 8 days. The archiver comes first, and waits all the same.
    assert hub.sweep().gone == 0
    assert hub.raise_tiers() == (1, 1)
    breach, step = told(hub, error)
    assert breach == Told("SLA_BREACHED", begun + down, 1, "dol-hub", begun + 24 * HOUR, None, WORKER.role)
    assert step == Told("ESCALATED", begun + down, level, owner, begun + due, skipped, WORKER.role)
    row = hub.row(error)
    assert (row["escalated_at"], row["parked_since"]) == (begun + down, begun)
    assert place(hub, error) == (level, owner, (8 * HOUR, 4 * HOUR)[level - 2])
    assert (hub.raise_tiers(), hub.sweep().gone) == ((0, 0), 0)
    hub.advance(place(hub, error)[2])
    assert hub.sweep().gone == 0, "to the last second a person can act"
    act(hub, "review", error)
    assert hub.row(error)["sla_met_at"] == hub.now()
    hub.advance(10 * DAY)
    hub.raise_tiers()
    hub.advance(5 * HOUR)
    hub.raise_tiers()
    assert hub.sweep().gone == 1
    assert hub.broken() == []


@pytest.mark.parametrize(("days", "tier"), [(3, 2), (8, 3)])
def test_a_worker_that_comes_back_tells_people_before_it_archives(new_hub: NewHub, days: int, tier: int) -> None:
    """Every background task of a real worker, in its own order: what was parked or waited for a retry is still there,
    and each owner is notified once, of all of it. What nobody acts on then leaves after the last clock, not before."""
    hub = new_hub()
    parked = hub.record_all(many(20, severity=Severity.HIGH))
    waiting = hub.record_all(NewError(table=TARGET, message=OPERATIONAL, outreach_id=uuid.uuid4(),
                                      severity=Severity.HIGH) for _ in range(20))  # fmt: skip
    work(hub)
    hub.advance(days * DAY)
    back = hub.now()
    for _ in range(4):
        work(hub)
        hub.advance(30 * SECOND)
    gone = "select error_table, count(*) from recoup.error_archive group by 1"
    assert hub.rows(gone) == []
    for one in parked:
        assert [(e.event_type, e.logged_at) for e in told(hub, one.error_id)] == [
            ("SLA_BREACHED", back), ("ESCALATED", back),
        ]  # fmt: skip
        assert place(hub, one.error_id)[:2] == (tier, OWNERS[DOL][tier - 1])
    statuses = {hub.row(one.error_id)["status"] for one in waiting}
    assert statuses == ({"RETRY_PENDING"} if days == 3 else {"PARKED"}), "a window of seven days"
    notices = hub.rows(
        "select a.rule, a.key, a.value, a.fired_at - %s, a.notices from recoup.alert a"
        " where a.rule in ('escalated', 'sla-breached') order by 1", back,
    )  # fmt: skip
    assert [(rule, key, int(value), after, told_) for rule, key, value, after, told_ in notices] == [
        ("escalated", OWNERS[DOL][tier - 1], 20, 0 * SECOND, 1), ("sla-breached", DOL, 20, MINUTE, 1),
    ]  # fmt: skip
    seen = "select value from recoup.alert_gauge where rule = 'sla-breached' and key = %s"
    to(hub, back, 4 * HOUR)
    work(hub)
    assert (hub.rows(gone), hub.rows(seen, DOL)) == ([], [(0,)])
    if tier == 3:
        hub.advance(15 * SECOND)
        work(hub)
        hub.advance(15 * SECOND)
        work(hub)
        assert hub.rows(gone) == [(DOL, 20)]
        assert hub.rows(seen, DOL) == [(20,)], "archived in the same minute, and told all the same"
    assert hub.broken() == []


def test_nothing_is_archived_before_the_last_review_was_due_whoever_deletes(new_hub: NewHub) -> None:
    hub = new_hub()
    error = hub.record(STRUCTURAL, severity=Severity.HIGH)
    remove = "delete from recoup.error where error_id = %s"

    def kept() -> bool:
        assert hub.sweep().gone == 0
        with (
            pytest.raises(LawRefused, match="last tier has not ended"),
            hub.db.transaction(Authority.ARCHIVER) as tx,
        ):
            tx.execute(remove, (error,))
        return True

    hub.advance(20 * DAY)
    assert kept(), "nobody raised it"
    hub.raise_tiers()
    hub.advance(4 * HOUR)
    assert kept()
    hub.advance(SECOND)
    assert kept(), "nobody marked that its review is overdue"
    assert hub.raise_tiers() == (1, 0)
    assert hub.sweep().gone == 1


def test_a_breach_of_the_last_tier_is_logged_also_where_the_archiver_comes_first(new_hub: NewHub) -> None:
    """It comes every 5 seconds, the task on tiers every 15: of two errors at their end none leaves without it."""
    hub = new_hub()
    missed, reviewed = (hub.record(STRUCTURAL, severity=Severity.HIGH) for _ in range(2))
    hub.advance(8 * DAY)
    hub.raise_tiers()
    act(hub, "review", reviewed)
    hub.advance(4 * HOUR + SECOND)
    assert hub.sweep_all() == 1, "the one whose clock a review ended"
    assert hub.raise_tiers() == (1, 0)
    assert hub.sweep_all() == 1
    assert [one.event_type for one in told(hub, missed)] == ["SLA_BREACHED", "ESCALATED", "SLA_BREACHED"]
    assert [one.event_type for one in told(hub, reviewed)] == ["SLA_BREACHED", "ESCALATED"]
    assert hub.broken() == []


def test_hours_are_elapsed_hours_whatever_the_zone(new_hub: NewHub) -> None:
    """In a zone whose clocks are set forward in between, two days are 47 hours."""
    hub = new_hub()
    hub.advance(datetime.fromisoformat("2026-03-07T12:00:00-05:00") - hub.now())
    error, begun = hub.record(STRUCTURAL), hub.now()

    def raised() -> Raised:
        with hub.db.transaction(WORKER) as tx:
            tx.execute("set local timezone = 'America/New_York'")
            return escalation.raise_tiers(tx)

    to(hub, begun, 24 * HOUR)
    assert raised() == (0, 0)
    to(hub, begun, 48 * HOUR)
    assert raised() == (1, 0)
    to(hub, begun, 48 * HOUR + SECOND)
    assert raised() == (0, 1)
    assert told(hub, error)[-1].due_at == begun + 48 * HOUR
    assert hub.row(error)["sla_due_at"] == begun + 56 * HOUR + SECOND


def test_pauses_stop_claims_and_not_clocks(new_hub: NewHub) -> None:
    hub = new_hub()
    error = hub.record(STRUCTURAL)
    with hub.db.transaction(OPERATOR, reason="a test") as tx:
        product.pause(tx, pauses.TABLE, DOL, reason="a test")
    hub.advance(3 * DAY)
    assert hub.raise_tiers() == (1, 1)
    assert hub.row(error)["escalation_level"] == 2


# What stops the clock, and what stops the tiers ---------------------------------------------------------------------

REVIEWS = {
    "review": ({}, "REVIEWED"),
    "assign": ({"to": "ada"}, "ASSIGNED"),
    "resolve": ({}, "RESOLVED"),
    "unpark": ({}, "UNPARKED"),
    "archive": ({}, "RETIRED"),
}


@pytest.mark.parametrize("verb", REVIEWS)
def test_whatever_a_person_does_in_time_stops_the_clock(new_hub: NewHub, verb: str) -> None:
    hub = new_hub()
    error, (more, event) = hub.record(STRUCTURAL), REVIEWS[verb]
    hub.advance(24 * HOUR)
    act(hub, verb, error, **more)
    row = hub.row(error)
    assert (row["last_reviewed_at"], row["sla_met_at"]) == (hub.now(), hub.now())
    hub.advance(HOUR)
    assert hub.raise_tiers() == (0, 0)
    assert hub.events(error)[-1] == event
    if event in ("RESOLVED", "UNPARKED", "RETIRED"):
        ((sla,),) = hub.rows("select facts ->> 'sla' from recoup.error_event where error_id = %s and event_type = %s",
                             error, event)  # fmt: skip
        assert sla == "met"
    assert hub.broken() == []


def test_an_escalation_by_a_person_ends_one_clock_and_begins_the_next(new_hub: NewHub) -> None:
    """Whoever escalates has looked at it; whom it goes to has not."""
    hub = new_hub()
    error, begun = hub.record(STRUCTURAL), hub.now()
    hub.advance(HOUR)
    act(hub, "escalate", error, reason="urgent")
    assert place(hub, error) == (2, "dol-lead", 8 * HOUR)
    row = hub.row(error)
    assert (row["status"], row["last_reviewed_at"], row["sla_met_at"]) == ("ESCALATED", hub.now(), None)
    hub.advance(8 * HOUR + SECOND)
    assert hub.raise_tiers() == (1, 0), "ESCALATED, too"
    assert [one.event_type for one in told(hub, error)] == ["ESCALATED", "SLA_BREACHED"]
    to(hub, begun, 48 * HOUR + SECOND)
    assert hub.raise_tiers() == (0, 0), "it is in that tier already"
    to(hub, begun, 7 * DAY + SECOND)
    assert hub.raise_tiers() == (0, 1)
    assert (hub.row(error)["status"], place(hub, error)) == ("ESCALATED", (3, "platform", 4 * HOUR))
    assert hub.broken() == []


@pytest.mark.parametrize("duty_first", [True, False])
def test_a_review_that_comes_too_late_does_not_meet_it(new_hub: NewHub, duty_first: bool) -> None:
    """Whether the breach was logged by then or not; it is logged once."""
    hub = new_hub()
    error = hub.record(STRUCTURAL)
    hub.advance(24 * HOUR + SECOND)
    if duty_first:
        assert hub.raise_tiers() == (1, 0)
    act(hub, "review", error)
    assert hub.raise_tiers() == ((0, 0) if duty_first else (1, 0))
    row = hub.row(error)
    assert (row["sla_met_at"], row["sla_breached_at"]) == (None, hub.now())
    act(hub, "review", error)
    assert hub.raise_tiers() == (0, 0)
    assert hub.broken() == []


@pytest.mark.parametrize("verb", ["resolve", "unpark", "archive"])
def test_who_acts_too_late_on_it_is_told_in_the_log(new_hub: NewHub, verb: str) -> None:
    hub = new_hub()
    error = hub.record(STRUCTURAL)
    hub.advance(24 * HOUR + SECOND)
    act(hub, verb, error)
    ((sla,),) = hub.rows("select facts ->> 'sla' from recoup.error_event where error_id = %s order by seq desc limit 1",
                         error)  # fmt: skip
    assert (sla, hub.row(error)["sla_met_at"], hub.raise_tiers()) == ("breached", None, (0, 0))


def test_a_review_meets_its_own_tier_and_not_the_next(new_hub: NewHub) -> None:
    """It stamps the review; only an exit stops the tiers."""
    hub = new_hub()
    error, begun = hub.record(STRUCTURAL), hub.now()
    hub.advance(HOUR)
    act(hub, "review", error)
    to(hub, begun, 47 * HOUR)
    act(hub, "review", error)
    assert hub.row(error)["sla_met_at"] == begun + HOUR, "the first"
    to(hub, begun, 49 * HOUR)
    assert hub.raise_tiers() == (0, 1)
    assert hub.row(error)["sla_met_at"] is None
    hub.advance(8 * HOUR + SECOND)
    assert hub.raise_tiers() == (1, 0)
    assert hub.broken() == []


# Parked again, superseded -------------------------------------------------------------------------------------------


def test_what_is_parked_again_keeps_its_place(new_hub: NewHub) -> None:
    """While it is retried the tiers stand still; then they go on as if it had been parked all along."""
    hub = new_hub()
    error, begun = hub.record(STRUCTURAL), hub.now()
    hub.advance(47 * HOUR)
    hub.raise_tiers()
    act(hub, "unpark", error)
    hub.advance(3 * DAY)
    assert hub.raise_tiers() == (0, 0)
    assert hub.fail(hub.claim_one(error)) == "PARKED"
    assert hub.row(error)["parked_since"] == begun
    assert place(hub, error) == (2, "dol-lead", 8 * HOUR), "its clock begins now"
    assert hub.row(error)["escalated_at"] == hub.row(error)["parked_at"] == hub.now()
    to(hub, begun, 7 * DAY + SECOND)
    assert hub.raise_tiers() == (1, 1)
    act(hub, "unpark", error)
    act(hub, "park", error, reason="not yet")
    assert place(hub, error) == (3, "platform", 4 * HOUR)
    assert hub.row(error)["parked_since"] == begun
    assert hub.broken() == []


def test_level_and_owner_of_a_persons_escalation_are_kept(new_hub: NewHub) -> None:
    hub = new_hub()
    error = hub.record(STRUCTURAL)
    act(hub, "escalate", error, reason="urgent", to="bob", level=3)
    act(hub, "unpark", error)
    hub.advance(HOUR)
    assert hub.fail(hub.claim_one(error)) == "PARKED"
    assert place(hub, error) == (3, "bob", 4 * HOUR)
    assert hub.row(error)["status"] == "PARKED"
    assert hub.broken() == []


def test_a_newer_error_of_the_same_failure_inherits_the_place(new_hub: NewHub) -> None:
    hub, entity = new_hub(), uuid.uuid4()
    older, begun = hub.record(STRUCTURAL, outreach_id=entity), hub.now()
    hub.advance(HOUR)
    act(hub, "review", older)
    hub.advance(DAY)
    newer = hub.record(STRUCTURAL, outreach_id=entity)
    kept = ("parked_since", "escalated_at", "escalated_to", "sla_due_at", "sla_met_at", "escalation_level")
    assert {name: hub.row(newer)[name] for name in kept} == {name: hub.row(older)[name] for name in kept}
    to(hub, begun, 48 * HOUR + SECOND)
    assert hub.raise_tiers() == (0, 1)
    assert told(hub, older) == []
    act(hub, "unpark", newer)
    hub.advance(HOUR)
    newest = hub.record(STRUCTURAL, outreach_id=entity, want=Want.PARK)  # it was being retried
    assert (hub.row(newest)["parked_since"], place(hub, newest)) == (begun, (2, "dol-lead", 8 * HOUR))
    assert hub.row(newest)["escalated_at"] == hub.now()
    assert hub.broken() == []


def test_what_was_resolved_and_fails_again_begins_anew(new_hub: NewHub) -> None:
    hub, entity = new_hub(), uuid.uuid4()
    older = hub.record(STRUCTURAL, outreach_id=entity)
    hub.advance(3 * DAY)
    hub.raise_tiers()
    act(hub, "resolve", older)
    newer = hub.record(STRUCTURAL, outreach_id=entity)
    assert (place(hub, newer), hub.row(newer)["parked_since"]) == ((1, "dol-hub", 24 * HOUR), hub.now())


# Rows of an older release -------------------------------------------------------------------------------------------

OLDER = """
update recoup.error set parked_since = null, escalation_level = 0, escalated_at = null, escalated_to = null,
  escalation_reason = null, sla_due_at = null where error_id = any(%s)
"""
TRIGGERS = """
select format('alter table %s enable %s trigger %I', t.tgrelid::regclass,
              case t.tgenabled when 'A' then 'always' when 'R' then 'replica' else '' end, t.tgname)
  from pg_trigger t join pg_partition_tree('recoup.error') p on p.relid = t.tgrelid where not t.tgisinternal
"""


def of_an_older_release(hub: Hub, server: embedded.Server, errors: list[int]) -> None:
    ((name,),) = hub.rows("select current_database()")
    with contextlib.closing(connect(server.uri(name, admin=True), hub.db.settings)) as connection:
        triggers = [row[0] for row in connection.execute(TRIGGERS)]
        connection.execute("alter table recoup.error disable trigger user")
        connection.execute(OLDER, (errors,))
        for as_it_was in triggers:
            connection.execute(as_it_was.encode())
        connection.commit()


def test_what_was_parked_without_a_tier_is_raised_by_the_duty(new_hub: NewHub, server: embedded.Server) -> None:
    """To the tier that is due, from when it was parked. Until then people act on it as they did."""
    hub = new_hub()
    long_ago = hub.record(STRUCTURAL)
    hub.advance(6 * DAY)
    days_ago = hub.record(STRUCTURAL)
    hub.advance(3 * DAY)
    today, unparked, reviewed = (hub.record(STRUCTURAL) for _ in range(3))
    of_an_older_release(hub, server, [long_ago, days_ago, today, unparked, reviewed])
    act(hub, "unpark", unparked)
    act(hub, "review", reviewed)
    assert hub.broken() == []
    assert hub.raise_tiers() == (0, 4)
    assert [place(hub, one)[:2] for one in (long_ago, days_ago, today, reviewed)] == [
        (3, "platform"), (2, "dol-lead"), (1, "dol-hub"), (1, "dol-hub"),
    ]  # fmt: skip
    ((_, _, _, _, due_at, skipped, _),) = told(hub, long_ago)
    assert (due_at, skipped) == (hub.row(long_ago)["parked_at"] + 7 * DAY, [1, 2])
    assert hub.fail(hub.claim_one(unparked)) == "PARKED"
    assert place(hub, unparked)[:2] == (1, "dol-hub")
    assert hub.broken() == []


# Several at once ----------------------------------------------------------------------------------------------------


def test_two_duties_at_once_make_each_step_once(new_hub: NewHub) -> None:
    hub, count = new_hub(), 300
    for _ in range(3):
        hub.record_all(many(count // 3))
    hub.advance(8 * DAY)
    done: list[Raised] = []

    def run() -> None:
        while sum(found := raise_some(hub)):
            done.append(found)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while sum(found := raise_some(hub)):
        done.append(found)
    assert (sum(one.breached for one in done), sum(one.raised for one in done)) == (count, count)
    assert hub.rows("select event_type, count(*) from recoup.error_event group by 1 order by 1") == [
        ("ESCALATED", count), ("RECORDED", count), ("SLA_BREACHED", count),
    ]  # fmt: skip
    assert hub.broken() == []


def many(count: int, **more: Any) -> list[NewError]:
    return [NewError(table=DOL, message=STRUCTURAL, outreach_id=uuid.uuid4(), **more) for _ in range(count)]


def work(hub: Hub) -> None:
    """One turn of a real worker that has every background task."""
    loop = WorkerLoop(hub.db, product.DUTIES, name="w-1")
    loop.run_once()
    assert loop.failed == []


def raise_some(hub: Hub) -> Raised:
    with hub.db.transaction(WORKER) as tx:
        return escalation.raise_tiers(tx, limit=7)


def test_who_holds_an_error_is_not_waited_for(new_hub: NewHub) -> None:
    """It is raised in the next round, from what it is by then."""
    hub = new_hub()
    held, other = hub.record(STRUCTURAL), hub.record(STRUCTURAL)
    hub.advance(3 * DAY)
    with hub.db.transaction(OPERATOR) as tx:
        parking.review(tx, [ErrorKey(DOL, held)])
        assert hub.raise_tiers() == (1, 1)
        assert hub.row(other)["escalation_level"] == 2
    assert hub.raise_tiers() == (1, 1), "too late for the first tier"
    assert place(hub, held)[:2] == (2, "dol-lead")


def test_one_alone_is_raised_where_a_batch_was_refused(new_hub: NewHub) -> None:
    hub = new_hub()
    one, two = hub.record(STRUCTURAL), hub.record(STRUCTURAL)
    hub.advance(3 * DAY)
    with hub.db.transaction(WORKER) as tx:
        assert set(escalation.due(tx)) == {one, two}
        assert escalation.lag(tx) == (2 * DAY).total_seconds()
        assert escalation.raise_tiers(tx, only=two) == (1, 1)
        assert set(escalation.due(tx)) == {one}
    assert [hub.row(e)["escalation_level"] for e in (one, two)] == [1, 2]


# By hand ------------------------------------------------------------------------------------------------------------

RAISE = (
    "escalation_level = 2, escalated_at = recoup.now(), escalated_to = 'dol-lead', escalation_reason = 'x',"
    " sla_due_at = recoup.now() + interval '8 hours', sla_met_at = null, sla_breached_at = null"
)


@pytest.mark.parametrize(
    ("hours", "changes"),
    [
        (47, RAISE),
        (49, RAISE.replace("dol-lead", "eve")),
        (49, RAISE.replace("8 hours", "9 hours")),
        (49, RAISE.replace("'8 hours'", "'8 hours', parked_since = recoup.now()")),
        (49, RAISE.replace("escalation_level = 2", "escalation_level = 3")),
        (49, RAISE.replace("escalated_at = recoup.now()", "escalated_at = recoup.now() - interval '1 hour'")),
        (49, f"{RAISE}, park_reason = 'y'"),
        (49, f"{RAISE}, status = 'ESCALATED'"),
        (49, "updated_at = recoup.now()"),
        (20, "sla_breached_at = recoup.now()"),
        (20, "sla_met_at = recoup.now()"),
        (49, "sla_due_at = sla_due_at + interval '1 hour'"),
        (49, "sla_breached_at = recoup.now() - interval '2 hours'"),
    ],
)
def test_a_worker_by_hand_does_what_time_did_and_nothing_else(hub: Hub, hours: int, changes: str) -> None:
    error = hub.record(STRUCTURAL)
    hub.advance(hours * HOUR)
    before = hub.row(error)
    with pytest.raises((LawRefused, psycopg.errors.CheckViolation)), hub.db.transaction(WORKER) as tx:
        tx.execute(f"update recoup.error set {changes} where error_id = %s", (error,))
    assert hub.row(error) == before


# What people see, and what alerts are raised on ----------------------------------------------------------------------


def test_the_park_queue_is_by_what_is_due_first(new_hub: NewHub) -> None:
    hub = new_hub()
    late = hub.record(STRUCTURAL)
    hub.advance(20 * HOUR)
    seen, due, urgent = (hub.record(STRUCTURAL) for _ in range(3))
    act(hub, "review", seen)
    act(hub, "escalate", urgent, reason="now", level=3)
    hub.record(TRANSIENT)
    hub.advance(5 * HOUR)
    hub.raise_tiers()
    with hub.db.transaction(Authority.READER) as tx:
        found = park_queue(tx, Filter())
        breached = list_errors(tx, Filter(breached=True))
        (one,) = park_queue(tx, Filter(), limit=1)
        (reviewed,) = [each for each in list_errors(tx, Filter()) if each.error_id == seen]
    assert [(each.error_id, each.review) for each in found] == [
        (late, "breached by 1h 00m"), (urgent, "breached by 1h 00m"), (due, "due in 19h 00m"),
    ]  # fmt: skip
    assert {each.error_id for each in breached} == {late, urgent}
    assert (one.error_id, reviewed.review) == (late, "met")
    act(hub, "review", late)
    with hub.db.transaction(Authority.READER) as tx:
        assert [each.error_id for each in park_queue(tx, Filter())] == [urgent, due], "too late, but it was one"
        (told_late,) = [each for each in list_errors(tx, Filter(breached=True)) if each.error_id == late]
    assert told_late.review == "breached, reviewed since"


def signals(hub: Hub) -> dict[tuple[str, str], float | None]:
    with hub.db.transaction(Authority.READER) as tx:
        readings = list(ESCALATION.measure(tx, versions.active(tx).policy))
    assert {reading.signal for reading in readings} == {signal.name for signal in ESCALATION.signals}
    return {(reading.signal, reading.key): reading.value for reading in readings}


def test_who_owns_a_tier_above_the_first_is_counted_until_a_review(new_hub: NewHub) -> None:
    """By owner, over all tables; a person whom an error was escalated to is one. What nobody can print is left out."""
    hub = new_hub()
    errors = [hub.record(STRUCTURAL, table=table) for table in (DOL, DOL, TARGET, PEOPLE)]
    hub.advance(48 * HOUR)
    hub.raise_tiers()
    assert {key: value for (signal, key), value in signals(hub).items() if signal == ESCALATED.name} == {
        "dol-lead": 0, "company-target-lead": 0, "people-lead": 0, "company-lead": 0, "platform": 0,
    }  # fmt: skip
    hub.advance(SECOND)
    hub.raise_tiers()
    assert signals(hub)[ESCALATED.name, "dol-lead"] == 2
    act(hub, "review", errors[0])
    assert signals(hub)[ESCALATED.name, "dol-lead"] == 2, "at the same moment"
    hub.advance(SECOND)
    act(hub, "review", errors[0])
    act(hub, "escalate", errors[1], reason="urgent", to="bob", level=3)
    act(hub, "escalate", errors[2], table=TARGET, reason="urgent", to="eve\u202e", level=3)
    found = signals(hub)
    assert (found[ESCALATED.name, "dol-lead"], found[ESCALATED.name, "bob"]) == (0, 1)
    assert found[ESCALATED.name, "people-lead"] == 1
    assert not any("eve" in key for _, key in found)
    hub.advance(7 * DAY)
    hub.raise_tiers()
    assert signals(hub)[ESCALATED.name, "platform"] == 2, "two tables, one owner"


def test_the_signals_count_by_table_what_is_overdue_untaken_or_expired(new_hub: NewHub) -> None:
    hub = new_hub()
    first = signals(hub)
    assert set(first.values()) == {0}
    assert ("sla_breached", MASTER) not in first
    late = hub.record(STRUCTURAL)
    hub.record(OPERATIONAL, table=TARGET)
    expiring = hub.record(STRUCTURAL, severity=Severity.HIGH)
    hub.advance(5 * MINUTE + 15 * MINUTE)
    assert signals(hub)["retries_not_taken", TARGET] == 0
    hub.advance(SECOND)
    assert signals(hub)["retries_not_taken", TARGET] == 1
    with hub.db.transaction(OPERATOR, reason="a test") as tx:
        product.pause(tx, pauses.TABLE, TARGET, reason="a test")
    assert signals(hub)["retries_not_taken", TARGET] == 0
    hub.advance(DAY)
    assert signals(hub)["sla_breached", DOL] == 2, "whether the duty has run or not"
    hub.raise_tiers()
    assert signals(hub)["sla_breached", DOL] == 2
    act(hub, "review", late)
    assert signals(hub)["sla_breached", DOL] == 1, "late, but somebody looked"
    hub.age(8 * DAY)
    assert signals(hub)["expired_blocking", DOL] == 0
    hub.sweep_all()
    assert hub.archived(expiring)["was_blocking"]
    assert signals(hub)["expired_blocking", DOL] == 1
    hub.advance(DAY + SECOND)
    assert signals(hub)["expired_blocking", DOL] == 0
