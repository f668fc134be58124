"""The demo: ninety days in which everything happens, all of it lawful."""

from __future__ import annotations

from datetime import timedelta

from hub import TABLES, NewHub
from recoup.errors import demo


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
    assert {kind for (kind,) in hub.rows("select distinct event_type from recoup.error_event")} >= {
        "RECORDED", "CLAIMED", "SUCCEEDED", "FAILED", "LAPSED", "WINDOW_CLOSED", "PARKED", "UNPARKED", "RESOLVED",
        "ESCALATED", "ASSIGNED", "REVIEWED", "SUPERSEDED", "RETIRED", "ARCHIVED",
    }  # fmt: skip
    assert demo.an_eventful_error(hub.db) is not None
    assert any("vendor is back" in line for line in said)
