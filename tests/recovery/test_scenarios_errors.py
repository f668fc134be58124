"""Parked errors: what recovery does with them."""

from __future__ import annotations

from recovery.stage import MANUAL, RETRY, Stage


def test_parked_approved_retried_and_well(stage: Stage) -> None:
    error = stage.park()
    match = stage.awaiting(error)
    stage.retried(error)
    stage.settle()
    assert stage.told(match) == [(RETRY, "succeeded", None)]
    assert stage.match(match)["status"] == "recovered"
    stage.whole()


def test_parked_approved_retried_and_failed_again(stage: Stage) -> None:
    error = stage.park()
    match = stage.awaiting(error)
    stage.fail(error)
    stage.settle()
    assert stage.told(match) == [(RETRY, "failed", "UNIT_FAILED"), (MANUAL, "pending", None)]
    assert len(stage.matches_of(error)) == 1
    stage.whole()
