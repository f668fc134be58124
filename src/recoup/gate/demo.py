"""Three companies taken through Gate Zero by hand: one passes, one recovers, one is exhausted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from recoup import clock
from recoup.database.connection import Database
from recoup.gate.attempts import Failed, Passed, finish_attempts, open_attempts
from recoup.gate.batches import complete_batch, create_batch
from recoup.gate.intake import NewIntake, add_intakes
from recoup.gate.lifecycle import ReasonCode
from recoup.lifecycles.declaration import Authority

BATCH = "by-hand"
WORKER = "demo-worker"
# From the first event to the present: both waits, and a day to look back on.
SPAN = timedelta(hours=24 + 72 + 24)


@dataclass(frozen=True, slots=True)
class Story:
    """A company, and what each of its attempts comes to; None is a pass."""

    title: str
    company: NewIntake
    outcomes: tuple[ReasonCode | None, ...]


STORIES = (
    Story(
        "passes at the first attempt",
        NewIntake(company_name="Alder Freight", company_domain="alderfreight.example", state="TX"),
        (None,),
    ),
    Story(
        "fails, and recovers after 24 hours",
        NewIntake(company_name="Birch Dental", company_domain="birchdental.example", state="Ohio"),
        (ReasonCode.STATE_MISMATCH, None),
    ),
    Story(
        "fails three times and is exhausted",
        NewIntake(company_name="Cedar Tooling", company_domain="cedartooling.example", state="ME"),
        (ReasonCode.NO_LINKEDIN_COMPANY,) * 3,
    ),
)
WAITS = (timedelta(0), timedelta(hours=24), timedelta(hours=72))


def play(database: Database, say: Callable[[str], None]) -> list[UUID]:
    """Play the three stories in a simulated database, and leave it at its last event. Returns the intakes in order."""
    with database.transaction(Authority.HUB) as tx:
        create_batch(tx, BATCH)
        intakes = add_intakes(tx, [story.company for story in STORIES], batch_id=BATCH)
        complete_batch(tx, BATCH)
    for number, wait in enumerate(WAITS):
        if wait:
            with database.transaction(Authority.OPERATOR) as tx:
                say(f"{wait.total_seconds() / 3600:.0f} hours later: {clock.advance(tx, wait).now:%Y-%m-%d %H:%M}")
        trying = {
            intake: story.outcomes[number]
            for intake, story in zip(intakes, STORIES, strict=True)
            if number < len(story.outcomes)
        }
        with database.transaction(Authority.GATE) as tx:
            attempts = open_attempts(tx, list(trying), worker=WORKER)
        with database.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, timedelta(seconds=40))  # the checks take a while
        with database.transaction(Authority.GATE) as tx:
            outcomes: list[Passed | Failed] = []
            for attempt in attempts:
                reason = trying[attempt.intake_id]
                if reason is None:
                    outcomes.append(Passed(attempt_id=attempt.attempt_id, token=attempt.token))
                else:
                    outcomes.append(Failed(attempt_id=attempt.attempt_id, token=attempt.token, reason_code=reason))
            finished = finish_attempts(tx, outcomes)
        ended = [f.status for f in finished]
        say(f"attempt {number + 1}: {ended.count('passed')} passed, {ended.count('failed')} failed")
    return intakes
