"""The demo: ninety days in which everything happens, all of it lawful."""

from __future__ import annotations

import uuid
from datetime import timedelta

from hub import DOL, LOG, STRUCTURAL, TABLES, NewHub
from product import chosen
from recoup.audit.examine import examine
from recoup.errors.report import report
from recoup.errors.vocabulary import Want
from recoup.lifecycles.declaration import Authority
from recoup_demo import errors as demo


def test_ninety_days_leave_every_status_disposition_and_reason(new_hub: NewHub) -> None:
    hub = new_hub()
    said: list[str] = []
    begun = hub.now()
    demo.Play(hub.db, said.append).play()
    assert demo.SPAN - timedelta(hours=4) < hub.now() - begun <= demo.SPAN
    live = set(hub.rows("select distinct status, disposition from recoup.error"))
    assert {
        ("ACTIVE", "IGNORE"),
        ("ACTIVE", "ARCHIVE"),
        ("RETRY_PENDING", "RETRY"),
        ("PARKED", "PARKED"),
        ("ESCALATED", "PARKED"),
    } <= live
    assert "RESOLVED" in {status for status, _ in live}
    archived = hub.rows("select distinct archive_reason from recoup.error_archive")
    assert {reason for (reason,) in archived} == {"TTL_EXPIRED", "MANUAL", "RESOLVED", "SUPERSEDED"}
    assert {table for (table,) in hub.rows("select distinct error_table from recoup.error")} == set(TABLES)
    assert {kind for (kind,) in hub.rows("select distinct event_type from recoup.error_story")} >= {
        "RECORDED", "CLAIMED", "SUCCEEDED", "FAILED", "LAPSED", "WINDOW_CLOSED", "PARKED", "UNPARKED", "RESOLVED",
        "ESCALATED", "ASSIGNED", "REVIEWED", "SLA_BREACHED", "SUPERSEDED", "RETIRED", "ARCHIVED",
    }  # fmt: skip
    tiers = "select distinct escalation_level from recoup.error where status in ('PARKED', 'ESCALATED')"
    assert {tier for (tier,) in hub.rows(tiers)} == {1, 2, 3}
    ((met, breached),) = hub.rows("select count(sla_met_at), count(sla_breached_at) from recoup.error")
    assert min(met, breached) > 0
    fired = {(rule, status) for rule, status in hub.rows("select distinct rule, status from recoup.alert")}
    assert {(rule, "recovered") for rule in ("error-rate", "error-rate-high", "expired-blocking")} <= fired
    assert {(rule, "firing") for rule in ("sla-breached", "escalated", "blocking-errors")} <= fired
    assert hub.rows("select distinct status from recoup.silence") == [("expired",)]
    ((*stopped, why),) = hub.rows("select status, step, why from recoup.operation where canary is not null")
    assert stopped == ["STOPPED", 1]
    assert why.startswith("5 of 5 of step 1 failed (100%; the policy allows 20%): stopped. ")
    with hub.db.transaction(Authority.READER) as tx:
        yesterday = report(tx).overall
    assert min(yesterday.recorded, yesterday.parked, yesterday.resolved, yesterday.processed or 0) > 0
    assert hub.broken() == []
    assert demo.an_eventful_error(hub.db) is not None
    # A message that names its company names the one that it blocks.
    wrong = (
        "select error_id from recoup.error where error_code = any(%s) and strpos(error_message, outreach_id::text) = 0"
    )
    assert hub.rows(wrong, ["EIN_NO_MATCH", "DUPLICATE_COMPANY", "NO_URL"]) == []
    assert any("vendor is back" in line for line in said)


def test_what_a_person_asks_for_is_no_breach(new_hub: NewHub) -> None:
    """A retry of what is not retried by itself; a parked failure after its table gave up parking; one clamped away."""
    hub, entity = new_hub(), uuid.uuid4()
    hub.record(STRUCTURAL, want=Want.RETRY)
    hub.claim()
    hub.record(STRUCTURAL, outreach_id=entity)
    hub.record(STRUCTURAL, table=LOG, want=Want.RETRY)
    hub.apply_policy(f'[errors.tables."{DOL}"]\nallowed = ["RETRY", "ARCHIVE"]')
    hub.record(STRUCTURAL, outreach_id=entity)
    hub.record(STRUCTURAL, want=Want.PARK)
    with hub.db.transaction(Authority.READER) as tx:
        verdicts = examine(tx, chosen(["errors"]))
    assert {verdict.id: verdict.rows for verdict in verdicts if not verdict.holds} == {}
