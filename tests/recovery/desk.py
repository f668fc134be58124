"""A desk at which people recover from failures: a client, the worker's duties as functions, and a clock."""

from __future__ import annotations

import uuid
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any
from uuid import UUID

from company import advance
from recoup.client import Client
from recoup.client.recovery import Recovery
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy, versions
from recoup.recovery import evaluation, execution, facts, following
from recoup.recovery.executing import Executors

RETRY, NOTIFY, MANUAL = "retry_exponential", "notify_ops", "manual_intervention"


class At:
    """A duty's context."""

    name = "worker"

    def __init__(self, desk: Desk, authority: Authority) -> None:
        self.desk, self.authority = desk, authority
        self.settings = desk.client.settings
        self.conninfo = desk.client.conninfo

    @property
    def policy(self) -> Policy:
        return self.desk.active

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self.desk.client.transaction(self.authority)

    def may_claim(self, tx: Transaction) -> bool:
        return True

    def tally(self, tx: Transaction, done: int) -> None: ...


class Desk:
    """Every call commits, or is refused."""

    def __init__(self, client: Client) -> None:
        self.client = client

    @property
    def recovery(self) -> Recovery:
        return self.client.recovery

    @property
    def active(self) -> Policy:
        with self.client.transaction(Authority.READER) as tx:
            return versions.active(tx).policy

    def new(self, source: str | None = None, message: str = "the vendor timed out", **more: Any) -> UUID:
        """A match, evaluated: it has a pending candidate."""
        made = self.recovery.ingest(
            source=source or f"s-{uuid.uuid4().hex[:8]}", key=uuid.uuid4().hex, message=message, **more
        )
        assert made.failure_match_id is not None
        self.evaluate()
        return made.failure_match_id

    def evaluate(self) -> None:
        """What workers do but for executing: follow the logs, evaluate what is due."""
        with self.client.transaction(Authority.EVALUATOR) as tx:
            following.wake_matches(tx)
        evaluation.evaluate_due(At(self, Authority.EVALUATOR))

    def execute(self, executors: Executors | None = None) -> int:
        return execution.execute_due(At(self, Authority.CLAIM_WORKER), executors or {})

    def advance(self, **by: float) -> None:
        with self.client.transaction(Authority.OPERATOR) as tx:
            advance(tx, timedelta(**by))

    def open_scope(self, match: UUID, *actions: str, **more: Any) -> UUID:
        incident = self.recovery.show(match).incident.incident_id
        return self.recovery.open_scope(incident, actions=actions or (RETRY,), reason="vendor is back", **more)

    def candidate(self, match: UUID) -> Any:
        """The latest candidate of a match."""
        return self.recovery.show(match).candidates[-1]

    def scoped(self, **more: Any) -> Any:
        """A pending candidate with a scope."""
        match = self.new(**more)
        self.open_scope(match)
        return self.candidate(match)

    def make_stuck(self, match: UUID) -> None:
        """Its evaluations fail until it is stuck."""
        for _ in range(5):
            self.recovery.evaluate(match)
            with self.client.transaction(Authority.EVALUATOR) as tx:
                (one,) = [
                    claimed
                    for claimed in evaluation.EVALUATIONS.claim(tx, facts.Claimed, limit=1000, worker="w")
                    if claimed.failure_match_id == match
                ]
                evaluation.fail(tx, one, "boom")
            self.advance(hours=2)
