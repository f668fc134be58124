"""A ward where failures are recovered from: each verb in a transaction of its own, as the authority that owns it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import product
from recoup import clock, policy
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.recovery import confidence, evaluation, executing, execution, following, review, scopes
from recoup.recovery.executing import Executors
from recoup.recovery.matches import NewFailure, ingest
from recoup.recovery.policy import RecoveryPolicy
from recoup.worker.standalone import Standalone

RETRY = "retry_exponential"
AT_ONCE = 1000
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@dataclass
class Ward:
    """A database of its own, with failures of systems outside, and the people and workers at it."""

    db: Database
    person: Actor = field(default_factory=lambda: Actor("human", "ada"))

    def rows(self, query: str, *parameters: Any) -> list[Any]:
        with self.db.transaction(Authority.READER) as tx:
            return tx.execute(query, parameters).fetchall()

    def advance(self, by: timedelta) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)

    def apply_policy(self, text: str) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            product.apply_policy(tx, text, reason="a test")

    @property
    def policy(self) -> RecoveryPolicy:
        with self.db.transaction(Authority.READER) as tx:
            return policy.in_force(tx).policy[RecoveryPolicy]

    # Failures, and what may be done about them --------------------------------------------------------------------

    def ingest(self, number: int, *, incidents: int = 1, of: str = "system") -> list[UUID]:
        """Failures outside, spread evenly over incidents. Returns their matches."""
        failures = [
            NewFailure(source=f"{of} {place % incidents}", key=f"{of} {place}", message="it failed", signature="failed")
            for place in range(number)
        ]
        with self.db.transaction(Authority.MATCHER) as tx:
            done = ingest(tx, failures)
        assert {one.answer for one in done} == {"created"}
        return [one.failure_match_id for one in done if one.failure_match_id is not None]

    def open_scopes(self, *, of: str = "system", **limits: Any) -> list[UUID]:
        """A scope for retries, for each of these incidents that is open and has no active one."""
        lacking = self.rows(
            "select i.incident_id from recovery.incident i where i.status = 'open' and starts_with(i.source, %s)"
            " and not exists (select from recovery.scope s"
            "   where s.incident_id = i.incident_id and s.status = 'active')",
            of,
        )
        rules = self.policy
        with self.db.transaction(Authority.SCOPED_EXECUTION, actor=self.person) as tx:
            return [
                scopes.open_scope(tx, incident, rules, actions=[RETRY], reason="a test", **limits)
                for (incident,) in lacking
            ]

    def approve(self) -> int:
        """Every pending retry that has a scope."""
        pending = self.rows(
            "select candidate_id::text from recovery.candidate where status = 'pending' and scope_id is not null"
            " and action_name = %s order by 1",
            RETRY,
        )
        for start in range(0, len(pending), AT_ONCE):
            some = [unit for (unit,) in pending[start : start + AT_ONCE]]
            with self.db.transaction(Authority.REVIEWER, actor=self.person) as tx:
                answers = review.approve(tx, some, note="a test")
            assert all(answer.done for answer in answers), [answer for answer in answers if not answer.done][:3]
        return len(pending)

    # Workers --------------------------------------------------------------------------------------------------------

    def match(self) -> int:
        with self.db.transaction(Authority.MATCHER) as tx:
            return following.match_subjects(tx, self.policy)

    def wake(self) -> int:
        with self.db.transaction(Authority.EVALUATOR) as tx:
            return following.wake_matches(tx)

    def learn(self) -> int:
        with self.db.transaction(Authority.EVALUATOR) as tx:
            return confidence.learn(tx, self.policy)

    def evaluate(self) -> int:
        return evaluation.evaluate_due(Standalone(self.db, Authority.EVALUATOR, name="evaluator"))

    def execute(self, executors: Executors) -> int:
        hands = Standalone(self.db, Authority.CLAIM_WORKER, name="executor")
        return execution.execute_due(hands, executors)

    def expire(self) -> int:
        with self.db.transaction(Authority.EVALUATOR) as tx:
            return executing.expire(tx)

    def settle(self) -> None:
        """Until nothing more follows from what has happened."""
        while self.expire() + self.learn() + self.wake() + self.evaluate():
            """Each may lead to the others."""

    # What there is --------------------------------------------------------------------------------------------------

    def counts(self, table: str) -> dict[str, int]:
        return dict(self.rows(f"select status, count(*) from {table} group by 1"))

    def stories(self) -> dict[tuple[str, ...], int]:
        """How many candidates have each story, as the provenance tells it."""
        found = self.rows(
            "select s.told, count(*) from (select array_agg(p.event_type order by p.seq) as told"
            " from recovery.provenance p where p.candidate_id is not null group by p.candidate_id) s group by 1"
        )
        return {tuple(told): number for told, number in found}

    def accounted(self) -> None:
        """What each scope has spent is what its candidates cost that were started, each once, and never too much."""
        wrong = self.rows(
            "select s.scope_id, s.attempts_used, s.max_attempts, s.cost_used, s.cost_limit, s.status, c.*, p.events"
            "  from recovery.scope s"
            " cross join lateral (select count(*) as started, coalesce(sum(c.cost), 0) as cost"
            "   from recovery.candidate c where c.scope_id = s.scope_id and c.executed_at is not null) c"
            " cross join lateral (select count(*) as events, count(distinct p.candidate_id) as candidates"
            "   from recovery.provenance p where p.scope_id = s.scope_id and p.event_type = 'executed') p"
            " where not (s.attempts_used = c.started and s.cost_used = c.cost and p.events = c.started"
            "   and p.candidates = c.started and s.attempts_used <= s.max_attempts and s.cost_used <= s.cost_limit)"
        )
        assert wrong == []
