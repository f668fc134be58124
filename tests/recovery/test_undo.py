"""Keys that recovery changes, and undoing what was changed: exactly, or not at all."""

from __future__ import annotations

import pytest

from recovery.stage import NewStage, Stage

RECONFIGURE, ROLLBACK = "reconfigure", "rollback"


def test_smoke(stage: Stage) -> None:
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    stage.scope(match, actions=[RECONFIGURE, ROLLBACK])
    made = stage.propose(match, RECONFIGURE, key="vendor.batch", value=5)
    assert stage.approve(made) == [None]
    stage.settle()
    row = stage.candidate(match)
    assert (row["status"], row["awaits"]["kind"]) == ("executing", "error")
    assert row["result"] is None
