"""Many failures at once: what is still awaited keeps an action from starting by itself, and has none skipped."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from hub import PEOPLE, Hub, succeeded
from recoup.database.connection import Database
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Want
from recovery_ward import RETRY, Ward

POLICY = """
[recovery.subjects.park_reasons]
"*" = ["ESCALATION_REQUIRED"]
[recovery.scope]
max_attempts = 1000
cost_limit = 1000
opens_by_itself = true
"""


def park(ward: Ward, number: int) -> None:
    """Errors that are parked, with their candidates."""
    Hub(ward.db).record_all(
        NewError(table=PEOPLE, message="the EIN did not match", outreach_id=uuid.uuid4(), want=Want.PARK)
        for _ in range(number)
    )
    ward.match()
    ward.settle()


def test_a_storm_does_not_have_good_actions_skipped(fresh: Callable[..., Database]) -> None:
    """Five retries succeeded, sixty are awaited: the next one waits for a person, as the others did."""
    ward = Ward(fresh())
    hub = Hub(ward.db)
    ward.apply_policy(POLICY)
    park(ward, 5)
    assert ward.approve() == ward.execute({}) == 5
    hub.finish([succeeded(one) for one in hub.claim()])
    ward.settle()
    park(ward, 60)
    assert ward.approve() == ward.execute({}) == 60
    park(ward, 1)
    assert ward.counts("recovery.candidate") == {"succeeded": 5, "executing": 60, "pending": 1}
    ((action, confidence, evidence),) = ward.rows(
        "select action_name, confidence, evidence from recovery.candidate where status = 'pending'"
    )
    assert (action, evidence) == (RETRY, 5)
    assert ward.policy.skip_below <= confidence < 0.2
