"""What the checks of an attempt found is recorded, one row per check, and the outcome points at it."""

from __future__ import annotations

import sys
from pathlib import Path

import psycopg
import pytest

from recoup import gate
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode

sys.path.insert(0, str(Path(__file__).parent))
from desk import LEASE, Desk, outcome

FOUND = (
    gate.Evidence("dns", "passed", "acme.example is at 203.0.113.7", 12),
    gate.Evidence("directory", "no-entry", "the directory has no entry for acme.example", 340),
)


@pytest.fixture
def desk(db: Database) -> Desk:
    return Desk(db)


def pointers(desk: Desk, intake: object) -> list[tuple[str, str | None]]:
    return desk.rows(
        "select event_type, payload_ref from cl.gate_zero_air where entity_id = %s order by event_timestamp", intake
    )


def test_each_check_is_a_row_and_the_outcome_points_at_them(desk: Desk) -> None:
    failed, passed = desk.open(desk.intake()), desk.open(desk.intake())
    desk.report(outcome(failed, evidence=FOUND), outcome(passed, None, evidence=FOUND[:1]))
    with desk.db.transaction(Authority.READER) as tx:
        found = gate.evidence(tx, [failed.intake_id])
        told = gate.history(tx, [failed.intake_id])
    assert [
        (one.check_number, one.check_name, one.status, one.finding, one.message, one.duration_ms) for one in found
    ] == [
        (1, "dns", "PASSED", "passed", "acme.example is at 203.0.113.7", 12),
        (2, "directory", "FAILED", "no-entry", "the directory has no entry for acme.example", 340),
    ]
    assert pointers(desk, failed.intake_id) == [("ATTEMPT", None), ("FAIL", f"evidence:{failed.attempt_id}")]
    at_passed = f"evidence:{passed.attempt_id}"
    assert pointers(desk, passed.intake_id) == [("ATTEMPT", None), ("PASS", at_passed), ("AUTH", at_passed)]
    assert [event.evidence for event in told] == [None, "directory: the directory has no entry for acme.example"]


def test_without_evidence_the_outcome_points_where_the_caller_says(desk: Desk) -> None:
    attempt = desk.open(desk.intake())
    desk.report(outcome(attempt, payload_ref="s3://elsewhere"))
    assert pointers(desk, attempt.intake_id)[-1] == ("FAIL", "s3://elsewhere")
    assert desk.rows("select from cl.gate_zero_evidence where attempt_id = %s", attempt.attempt_id) == []


def test_a_late_result_keeps_what_was_found_and_records_no_evidence(desk: Desk) -> None:
    attempt, other = desk.open(desk.intake()), desk.open(desk.intake())
    desk.advance(2 * LEASE)
    desk.sweep()
    fresh = desk.open(desk.intake())
    became = desk.report(outcome(attempt, evidence=FOUND), outcome(fresh, None, evidence=FOUND[:1]))
    assert {one.attempt_id: one.status for one in became} == {attempt.attempt_id: "late", fresh.attempt_id: "passed"}
    ((result,),) = desk.rows("select result from recoup.late_result where unit_id = %s", str(attempt.attempt_id))
    assert result["payload_ref"].endswith("directory: the directory has no entry for acme.example")
    recorded = {row[0] for row in desk.rows("select attempt_id from cl.gate_zero_evidence")}
    assert fresh.attempt_id in recorded
    assert not recorded & {attempt.attempt_id, other.attempt_id}


def test_a_wrong_token_records_nothing(desk: Desk) -> None:
    attempt, other = desk.open(desk.intake()), desk.open(desk.intake())
    stolen = outcome(attempt._replace(token=other.token), evidence=FOUND)
    assert [one.status for one in desk.report(stolen)] == ["late"]
    assert desk.rows("select from cl.gate_zero_evidence where attempt_id = %s", attempt.attempt_id) == []


def test_an_answer_that_was_lost_can_be_asked_for_again(desk: Desk) -> None:
    attempt = desk.open(desk.intake())
    first, again = (desk.report(outcome(attempt, ReasonCode.TIMEOUT, evidence=FOUND)) for _ in range(2))
    assert first == again
    assert len(desk.rows("select from cl.gate_zero_evidence where attempt_id = %s", attempt.attempt_id)) == 2


@pytest.mark.parametrize(
    "change", ["update cl.gate_zero_evidence set message = 'x'", "delete from cl.gate_zero_evidence"]
)
def test_evidence_is_never_changed(desk: Desk, admin: psycopg.Connection, change: str) -> None:
    desk.report(outcome(desk.open(desk.intake()), evidence=FOUND))
    with pytest.raises(psycopg.Error, match="evidence"):
        admin.execute(change.encode())
