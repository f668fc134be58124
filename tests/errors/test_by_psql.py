"""What a hub, a worker, an operator or an archiver may write by hand, past the library: what a decision could give."""

from __future__ import annotations

from datetime import timedelta
from importlib.resources import files

import psycopg
import pytest

from company import error_in
from hub import DAY, DOL, SECOND, STRUCTURAL, TRANSIENT, Hub, NewHub
from recoup.database.connection import Transaction
from recoup.errors import parking
from recoup.errors.lookup import ErrorKey
from recoup.errors.vocabulary import Severity
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from tiers import BORN_PARKED, REVIEWED, WHEN_PARKED, escalated

HUB, OPERATOR, ARCHIVER = Authority.HUB, Authority.OPERATOR, Authority.ARCHIVER
NOW, AHEAD = "recoup.now()", "timestamptz '2099-01-01'"
PENDING = {"disposition": "'RETRY'", "status": "'RETRY_PENDING'", "next_retry_at": NOW}
PARKED = {
    "disposition": "'PARKED'", "status": "'PARKED'", "parked_at": NOW, "parked_by": "'system'",
    "park_reason": "'DATA_QUALITY'", **BORN_PARKED,
}  # fmt: skip
ROW = {
    "error_table": f"'{DOL}'", "outreach_id": "gen_random_uuid()", "error_message": "'m'",
    "error_signature": "'s2-' || repeat('0', 24)", "category": "'TRANSIENT'", "ttl_tier": "'SHORT'",
    "expires_at": f"{NOW} + interval '7 days'", "max_retries": "5", "decided_by": "'table'",
    "policy_version": "recoup.policy_version()", "created_at": NOW, "updated_at": NOW,
}  # fmt: skip


def born(hub: Hub, row: dict[str, str]) -> None:
    with hub.db.transaction(HUB) as tx:
        tx.execute(f"insert into recoup.error ({', '.join(row)}) select {', '.join(row.values())}")


@pytest.mark.parametrize("row", [PENDING, PARKED], ids=["to be retried", "parked"])
def test_what_a_decision_gives_is_born(hub: Hub, row: dict[str, str]) -> None:
    born(hub, ROW | row)


@pytest.mark.parametrize(
    "row",
    [
        PENDING | {"parked_at": NOW},
        PENDING | {"parked_by": "'eve'", "park_reason": "'x'"},
        PENDING | {"escalation_level": "3"},
        PENDING | {"escalated_to": "'eve'"},
        PENDING | {"last_outcome": "'SUCCEEDED'"},
        PENDING | {"last_retry_at": AHEAD, "retry_count": "1"},
        PENDING | {"last_retry_at": NOW},
        PENDING | {"last_reviewed_at": AHEAD},
        PENDING | {"retry_until": AHEAD},
        PENDING | {"next_retry_at": AHEAD},
        PENDING | {"error_signature": "'none'"},
        PARKED | {"parked_at": AHEAD},
        PARKED | {"parked_at": "timestamptz '2020-01-01'"},
        PARKED | {"escalation_level": "1", "escalated_to": "'eve'", "escalated_at": AHEAD},
        PARKED | {"sla_due_at": "null"},
        PARKED | {"sla_due_at": AHEAD},
        PARKED | {"sla_due_at": "null", "parked_since": "null"},
        PARKED | {"parked_since": "timestamptz '2020-01-01'"},
        PARKED | {"sla_met_at": AHEAD},
        PARKED | {"sla_breached_at": AHEAD},
        {name: value for name, value in PARKED.items() if name not in BORN_PARKED},
    ],
    ids=lambda row: "-".join(f"{name}={value}" for name, value in row.items() if name not in ROW)[-60:],
)
def test_what_no_decision_gives_is_not_born(hub: Hub, row: dict[str, str]) -> None:
    with pytest.raises((LawRefused, psycopg.errors.CheckViolation)):
        born(hub, ROW | row)


UNPARK = "status = 'RETRY_PENDING', disposition = 'RETRY'"
CLEAN = "parked_at = null, parked_by = null, park_reason = null"


@pytest.mark.parametrize(
    "changes",
    [
        "parked_by = 'somebody else'",
        "park_reason = 'another'",
        f"parked_at = {NOW}",
        f"{escalated(3, 'eve')}, last_reviewed_at = {NOW}",
        f"last_reviewed_at = {AHEAD}",
        "last_reviewed_at = null, assigned_to = 'eve'",
        f"retry_until = {AHEAD}",
        "max_retries = 1 + retry_count",
        "assigned_to = 'eve'",
        f"assigned_to = 'eve', last_reviewed_at = {NOW}, {escalated(2, 'eve')}",
        f"last_reviewed_at = {NOW}, sla_met_at = null",
        f"{REVIEWED}, sla_due_at = sla_due_at + interval '1 hour'",
        f"{REVIEWED}, parked_since = {NOW}",
        f"last_reviewed_at = {NOW}, sla_breached_at = {NOW}",
        f"{UNPARK}, retry_until = null, next_retry_at = {NOW}",
        f"{UNPARK}, {CLEAN}, {REVIEWED}, retry_until = null, next_retry_at = {AHEAD}",
        f"{UNPARK}, {CLEAN}, {REVIEWED}, next_retry_at = {NOW}, retry_until = {AHEAD}",
        f"{UNPARK}, {CLEAN}, retry_until = null, next_retry_at = {NOW}",
        f"status = 'ESCALATED', {escalated(2, 'eve')}, last_reviewed_at = {NOW}, escalated_at = {AHEAD}".replace(
            f"escalated_at = {NOW}, ", ""
        ),
        f"status = 'ESCALATED', {escalated(2, 'eve')}",
        f"status = 'ESCALATED', escalation_level = 2, escalated_to = 'eve', {REVIEWED}",
        "updated_at = recoup.now()",
    ],
)
def test_nothing_is_logged_as_a_review_that_is_none(hub: Hub, changes: str) -> None:
    """An operator's change of a parked error: who parked it, when and why stay, and each event is one thing."""
    error = hub.record(severity=Severity.CRITICAL)
    hub.advance(SECOND)
    hub.operate(f"{REVIEWED}, updated_at = recoup.now()", error)
    hub.advance(2 * timedelta(minutes=1))
    before, events = hub.row(error), hub.events(error)
    with pytest.raises((LawRefused, psycopg.errors.CheckViolation)):
        hub.operate(changes, error)
    assert (hub.row(error), hub.events(error)) == (before, events)


def test_an_escalation_does_not_fall(hub: Hub) -> None:
    error = hub.record(severity=Severity.CRITICAL)
    with hub.db.transaction(OPERATOR) as tx:
        parking.escalate(tx, [ErrorKey(DOL, error)], reason="no answer", level=3)
    for changes in ("escalated_to = 'another'", "escalation_reason = 'another'"):
        with pytest.raises(LawRefused, match="an escalation rises"):
            hub.operate(f"{changes}, {REVIEWED}", error)
    with pytest.raises(LawRefused, match="escalation_level"):
        hub.operate(f"escalation_level = 1, {REVIEWED}", error)


def test_whoever_parks_is_who_parked(hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    parked = f"status = 'PARKED', disposition = 'PARKED', next_retry_at = null, parked_at = {NOW}, park_reason = 'x'"
    parked = f"{parked}, {WHEN_PARKED}"
    with pytest.raises(LawRefused, match="not the person who parks it"):
        hub.operate(f"{parked}, parked_by = 'somebody else'", error)
    hub.operate(f"{parked}, parked_by = recoup.acting_id()", error)


def test_a_hub_that_supersedes_changes_nothing_else(hub: Hub) -> None:
    error = hub.record(STRUCTURAL)
    over = f"archived_at = {NOW}, archive_reason = 'SUPERSEDED', superseded_by = error_id + 1000000"
    for changes in ("parked_by = 'eve'", "park_reason = 'x'", "last_outcome = 'FAILED', last_failure = 'x'"):
        with pytest.raises((LawRefused, psycopg.errors.CheckViolation)), hub.db.transaction(HUB) as tx:
            tx.execute(f"update recoup.error set {over}, {changes} where error_id = %s", (error,))


def test_a_lease_ends_by_its_token_alone(hub: Hub) -> None:
    """A plain UPDATE as any hub, without the token of whoever holds it."""
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    claimed = hub.claim_one(error)
    resolved = f"status = 'RESOLVED', next_retry_at = null, archived_at = {NOW}, archive_reason = 'RESOLVED'"
    for changes in (resolved, f"{resolved}, last_outcome = 'SUCCEEDED', retry_count = retry_count + 1"):
        with pytest.raises((LawRefused, psycopg.errors.CheckViolation)), hub.db.transaction(HUB) as tx:
            tx.execute(f"update recoup.error set {changes} where error_id = %s", (error,))
    assert hub.succeed(claimed) == "RESOLVED"


@pytest.mark.parametrize("lease", ["-1 day", "-30 seconds", "0"])
def test_a_lease_that_is_over_is_not_claimed(hub: Hub, lease: str) -> None:
    hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    with pytest.raises(LawRefused, match="ends after it began"), hub.db.transaction(HUB) as tx:
        tx.execute("select recoup.claim_errors(null, 10, 'w', %s::interval)", (lease,))


def test_a_month_is_not_dropped_with_an_invented_digest(new_hub: NewHub) -> None:
    hub = new_hub()
    hub.record(STRUCTURAL)
    hub.age(40 * DAY)
    hub.sweep_all()
    hub.advance(500 * DAY)
    drop = "update recoup.error_archive_month set status = 'DROPPED', dropped_at = recoup.now(), rows = 1, digest = %s"
    with pytest.raises(LawRefused, match="digest"), hub.db.transaction(ARCHIVER) as tx:
        tx.execute(drop, (b"\0",))
    assert hub.rows("select count(*) from recoup.error_archive") == [(1,)]


BEFORE = """
alter table recoup.error disable trigger all,
  drop constraint error_parked, drop constraint error_escalated, drop constraint error_outcome,
  drop constraint error_sla,
  add constraint error_parked check (true), add constraint error_escalated check (true)
"""
MIGRATION = files("recoup.errors").joinpath("migrations/0016_whole_facts.sql").read_text("utf-8")


def test_what_was_written_by_hand_before_is_made_whole_by_the_migration(scratch: Transaction) -> None:
    """Rows that the constraints would refuse would else never move again; the others stay as they are."""
    parked, waiting, whole = (
        error_in(scratch, "PARKED"),
        error_in(scratch, "RETRY_PENDING"),
        error_in(scratch, "ESCALATED"),
    )
    scratch.execute(BEFORE)
    columns = "parked_at, parked_by, park_reason, escalation_level, escalated_to, last_outcome"
    query = f"select {columns} from recoup.error where error_id = %s".encode()
    before = [scratch.execute(query, (error,)).fetchone() for error in (parked, whole)]
    assert before[0] is not None
    before[0] = (*before[0][:3], 0, None, None)  # of an escalation that names nobody nothing is left
    scratch.execute("update recoup.error set escalated_to = null where error_id = %s", (parked,))
    scratch.execute(
        "update recoup.error set parked_at = recoup.now(), escalated_to = 'eve', last_outcome = 'SUCCEEDED'"
        " where error_id = %s",
        (waiting,),
    )
    scratch.execute(MIGRATION.encode())
    assert [scratch.execute(query, (error,)).fetchone() for error in (parked, whole)] == before
    assert scratch.execute(query, (waiting,)).fetchone() == (None, None, None, 0, None, None)
