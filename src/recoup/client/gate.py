"""``db.gate``: batches and intakes of Gate Zero, and the attempts that verify them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from recoup import gate
from recoup.client.calls import Tx, Verbs, Who
from recoup.database.connection import Transaction
from recoup.gate import (
    AirEvent,
    Attempt,
    Batch,
    Eligible,
    Exhausted,
    Failed,
    Finished,
    Funnel,
    Intake,
    NewIntake,
    Passed,
)
from recoup.lifecycles.declaration import Authority

GATE, HUB, OPERATOR, READER = Authority.GATE, Authority.HUB, Authority.OPERATOR, Authority.READER


class Gate(Verbs):
    """Gate Zero: candidates come in by batches, and are verified at most three times."""

    def create_batch(self, batch_id: str, *, tx: Tx = None, actor: Who = None) -> None:
        """Create a batch. Refused when there is one of that name."""
        self._call(OPERATOR, lambda on: gate.create_batch(on, batch_id), tx=tx, actor=actor)

    def complete_batch(self, batch_id: str, *, tx: Tx = None, actor: Who = None) -> datetime:
        """Declare a batch complete. Returns when its retry window closes."""
        return self._call(OPERATOR, lambda on: gate.complete_batch(on, batch_id), tx=tx, actor=actor)

    def pause_batch(self, batch_id: str, *, reason: str, tx: Tx = None, actor: Who = None) -> bool:
        """Pause a batch: none of its intakes is claimed. False when it was paused already."""
        return self._call(
            OPERATOR, lambda on: gate.pause_batch(on, batch_id, reason=reason), tx=tx, actor=actor, reason=reason
        )

    def resume_batch(self, batch_id: str, *, reason: str | None = None, tx: Tx = None, actor: Who = None) -> bool:
        """Resume a paused batch. False when it was not paused."""
        return self._call(OPERATOR, lambda on: gate.resume_batch(on, batch_id), tx=tx, actor=actor, reason=reason)

    def find_batch(self, batch_id: str, *, tx: Tx = None) -> Batch:
        """One batch, by its name."""
        return self._call(READER, lambda on: gate.find_batch(on, batch_id), tx=tx)

    def list_batches(self, *, limit: int = 100, tx: Tx = None) -> list[Batch]:
        """Batches, newest first."""
        return self._call(READER, lambda on: gate.list_batches(on, limit=limit), tx=tx)

    def add_intakes(
        self, intakes: Sequence[NewIntake], *, batch_id: str | None = None, tx: Tx = None, actor: Who = None
    ) -> list[UUID]:
        """Add company candidates, all or none. Returns their ids in the order given."""
        return self._call(HUB, lambda on: gate.add_intakes(on, intakes, batch_id=batch_id), tx=tx, actor=actor)

    def find_intakes(self, intakes: Sequence[UUID], *, tx: Tx = None) -> list[Intake]:
        """Intakes by id, in the order given."""
        return self._call(READER, lambda on: gate.find_intakes(on, intakes), tx=tx)

    def intakes_of_batch(self, batch_id: str, *, limit: int = 1000, tx: Tx = None) -> list[UUID]:
        """The intakes that came in with a batch."""
        return self._call(READER, lambda on: gate.intakes_of_batch(on, batch_id, limit=limit), tx=tx)

    def eligible(self, *, limit: int = 100, tx: Tx = None) -> list[Eligible]:
        """Failed intakes that may be tried again now, longest due first."""
        return self._call(READER, lambda on: gate.eligible(on, limit=limit), tx=tx)

    def exhausted(self, *, batch_id: str | None = None, limit: int = 100, tx: Tx = None) -> list[Exhausted]:
        """Intakes that are not tried any more."""
        return self._call(READER, lambda on: gate.exhausted(on, batch_id=batch_id, limit=limit), tx=tx)

    def history(self, intakes: Sequence[UUID], *, tx: Tx = None) -> list[AirEvent]:
        """Every event of these intakes, in order."""
        return self._call(READER, lambda on: gate.history(on, intakes), tx=tx)

    def funnel(self, *, batch_id: str | None = None, tx: Tx = None) -> Funnel:
        """How many intakes came in, passed, failed and wait."""
        return self._call(READER, lambda on: gate.funnel(on, batch_id=batch_id), tx=tx)

    def claim_attempts(
        self,
        *,
        limit: int,
        worker: str,
        retries: bool = False,
        lease: timedelta | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> list[Attempt]:
        """Open the next attempt of up to ``limit`` intakes: first attempts, or with ``retries`` those that are due."""

        def claim(on: Transaction) -> list[Attempt]:
            return gate.claim_attempts(on, limit=limit, worker=worker, retries=retries, lease=lease)

        return self._call(GATE, claim, tx=tx, actor=actor)

    def open_attempts(
        self,
        intakes: Sequence[UUID],
        *,
        worker: str,
        lease: timedelta | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> list[Attempt]:
        """Open the next attempt of these intakes, all or none."""
        return self._call(
            GATE, lambda on: gate.open_attempts(on, intakes, worker=worker, lease=lease), tx=tx, actor=actor
        )

    def finish_attempts(
        self, outcomes: Sequence[Passed | Failed], *, tx: Tx = None, actor: Who = None
    ) -> list[Finished]:
        """Report what attempts came to. Reports after the lease are kept, not applied."""
        return self._call(GATE, lambda on: gate.finish_attempts(on, outcomes), tx=tx, actor=actor)

    def restart(
        self,
        intake_id: UUID,
        *,
        company_name: str | None = None,
        company_domain: str | None = None,
        linkedin_url: str | None = None,
        state: str | None = None,
        batch_id: str | None = None,
        reason: str | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> UUID:
        """Restart an exhausted intake: a new intake that names it, with the data given then or corrected now."""

        def restart(on: Transaction) -> UUID:
            return gate.restart(
                on, intake_id, company_name=company_name, company_domain=company_domain, linkedin_url=linkedin_url,
                state=state, batch_id=batch_id,
            )  # fmt: skip

        return self._call(OPERATOR, restart, tx=tx, actor=actor, reason=reason)
