"""Gate Zero's verbs, each in a transaction of its own and as the authority that owns it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from histories import lawful

from recoup import clock, gate
from recoup.database.connection import Actor, Database
from recoup.gate import Attempt, Evidence, Failed, Finished, Frozen, NewIntake, Passed
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode

WORKER = "desk"
FAILURE = ReasonCode.NO_LINKEDIN_COMPANY
DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
WINDOW = timedelta(days=14)
LEASE = timedelta(minutes=5)  # the shipped policy's


@dataclass(frozen=True)
class Desk:
    """A database and the people at it. Every call commits, or is refused."""

    db: Database

    def now(self) -> datetime:
        with self.db.transaction(Authority.READER) as tx:
            return clock.read(tx).now

    def advance(self, by: timedelta) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)

    def advance_to(self, at: datetime) -> None:
        if (by := at - self.now()) > timedelta(0):
            self.advance(by)

    def batch(self, *, completed: bool = False) -> str:
        name = f"batch-{uuid.uuid4().hex[:12]}"
        with self.db.transaction(Authority.HUB) as tx:
            gate.create_batch(tx, name)
            if completed:
                gate.complete_batch(tx, name)
        return name

    def intakes(self, count: int = 1, *, batch_id: str | None = None) -> list[UUID]:
        with self.db.transaction(Authority.HUB) as tx:
            return gate.add_intakes(tx, [NewIntake(company_name="Acme", state="TX")] * count, batch_id=batch_id)

    def intake(self, *, batch_id: str | None = None) -> UUID:
        (intake,) = self.intakes(batch_id=batch_id)
        return intake

    def open_all(self, intakes: Sequence[UUID], *, lease: timedelta = LEASE) -> list[Attempt]:
        with self.db.transaction(Authority.GATE) as tx:
            return gate.open_attempts(tx, intakes, worker=WORKER, lease=lease)

    def open(self, intake: UUID, *, lease: timedelta = LEASE) -> Attempt:
        (attempt,) = self.open_all([intake], lease=lease)
        return attempt

    def report(self, *outcomes: Passed | Failed) -> list[Finished]:
        with self.db.transaction(Authority.GATE) as tx:
            return gate.finish_attempts(tx, outcomes)

    def finish(self, attempt: Attempt, reason: ReasonCode | None = FAILURE) -> Finished:
        (finished,) = self.report(outcome(attempt, reason))
        return finished

    def failed(self, *, times: int = 1, batch_id: str | None = None) -> UUID:
        """An intake that failed so many times, each after its wait."""
        intake = self.intake(batch_id=batch_id)
        for number in range(times):
            if number:
                self.wait(intake)
            self.finish(self.open(intake))
        return intake

    def wait(self, intake: UUID) -> None:
        """Let time come to next_eligible_at."""
        with self.db.transaction(Authority.READER) as tx:
            (found,) = gate.find_intakes(tx, [intake])
        assert found.next_eligible_at is not None
        self.advance_to(found.next_eligible_at)

    def sweep(self, *, limit: int = 1000) -> list[UUID]:
        with self.db.transaction(Authority.GATE) as tx:
            return gate.sweep_crashed(tx, limit=limit)

    def freeze(self, *, limit: int = 1000) -> Frozen:
        with self.db.transaction(Authority.GATE) as tx:
            return gate.freeze(tx, limit=limit)

    def pause(self, batch_id: str, *, reason: str = "look into it", by: Actor | None = None) -> bool:
        with self.db.transaction(Authority.OPERATOR, actor=by) as tx:
            return gate.pause_batch(tx, batch_id, reason=reason)

    def resume(self, batch_id: str, *, reason: str | None = None, by: Actor | None = None) -> bool:
        with self.db.transaction(Authority.OPERATOR, actor=by, reason=reason) as tx:
            return gate.resume_batch(tx, batch_id)

    def complete(self, batch_id: str) -> datetime:
        with self.db.transaction(Authority.HUB) as tx:
            return gate.complete_batch(tx, batch_id)

    def rows(self, query: str, *parameters: Any) -> list[Any]:
        with self.db.transaction(Authority.READER) as tx:
            return tx.execute(query, parameters).fetchall()

    def lawful(self, *intakes: UUID) -> list[str]:
        """The histories as words, after they were held to the grammar."""
        with self.db.transaction(Authority.READER) as tx:
            return lawful(tx, *intakes)

    def word(self, intake: UUID) -> str:
        (word,) = self.lawful(intake)
        return word


def outcome(
    attempt: Attempt,
    reason: ReasonCode | None = FAILURE,
    *,
    payload_ref: str | None = None,
    evidence: Sequence[Evidence] = (),
) -> Passed | Failed:
    given: dict[str, Any] = {"payload_ref": payload_ref, "evidence": evidence}
    if reason is None:
        return Passed(attempt_id=attempt.attempt_id, token=attempt.token, **given)
    return Failed(attempt_id=attempt.attempt_id, token=attempt.token, reason_code=reason, **given)
