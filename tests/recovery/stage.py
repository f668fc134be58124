"""A stage for recovery: a database of its own, the duties as functions, a clock, and people who act."""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

import product
from hub import DOL, TRANSIENT, Hub
from recoup.audit import audit
from recoup.database.connection import Actor, Database, Transaction, connect
from recoup.deliveries import delivering
from recoup.errors import parking
from recoup.errors.lookup import ErrorKey
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy, versions
from recoup.recovery import confidence, evaluation, executing, execution, following, review, scopes
from recoup.recovery.executing import Claimed, Executor
from recoup.recovery.matches import Ingested, NewFailure, ingest
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.scopes import Started
from recoup.settings import Settings

RETRY, NOTIFY, MANUAL, SKIP = "retry_exponential", "notify_ops", "manual_intervention", "skip_step"
ALL = (RETRY, NOTIFY, MANUAL, SKIP)
MANY_ROUNDS = 60
Row = dict[str, Any]


class Actors:
    """Somebody at a duty that opens its own transactions."""

    def __init__(self, stage: Stage, authority: Authority) -> None:
        self.name = f"{authority.value}-{uuid.uuid4()}"
        self._stage, self._authority = stage, authority
        self.told = 0

    @property
    def settings(self) -> Settings:
        return self._stage.db.settings

    @property
    def conninfo(self) -> str:
        return self._stage.db.conninfo

    @property
    def policy(self) -> Policy:
        return self._stage.whole_policy()

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self._stage.db.transaction(self._authority)

    def may_claim(self, tx: Transaction) -> bool:
        return True

    def tally(self, tx: Transaction, done: int) -> None:
        self.told += done


@dataclass
class Stage:
    """Every call commits, or is refused."""

    db: Database
    executors: dict[str, Executor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.hub = Hub(self.db)

    # Time, policy, rows

    def advance(self, **by: float) -> None:
        self.hub.advance(timedelta(**by))

    def whole_policy(self) -> Policy:
        with self.db.transaction(Authority.READER) as tx:
            return versions.active(tx).policy

    @property
    def policy(self) -> RecoveryPolicy:
        return self.whole_policy()[RecoveryPolicy]

    def apply(self, text: str) -> None:
        self.hub.apply_policy(text)

    def row(self, query: str, *given: Any) -> Row:
        (found,) = self.rows(query, *given)
        return found

    def rows(self, query: str, *given: Any) -> list[Row]:
        with self.db.transaction(Authority.READER) as tx, tx.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query.encode(), given).fetchall()

    def match(self, match: UUID) -> Row:
        return self.row("select * from recovery.failure_match where failure_match_id = %s", match)

    def match_of(self, ref: object) -> Row:
        """The newest match of a subject: an error of the usual table by its id, anything else by its ref."""
        name = f"{DOL}/{ref}" if isinstance(ref, int) else str(ref)
        return self.matches_of(name)[-1]

    def matches_of(self, ref: object) -> list[Row]:
        name = f"{DOL}/{ref}" if isinstance(ref, int) else str(ref)
        return self.rows("select * from recovery.failure_match where subject_ref = %s order by failure_match_id", name)

    def candidates(self, match: UUID) -> list[Row]:
        return self.rows("select * from recovery.candidate where failure_match_id = %s order by candidate_id", match)

    def status(self, match: UUID) -> tuple[str, str | None]:
        row = self.match(match)
        return row["status"], row["end_reason"]

    def candidate(self, match: UUID) -> Row:
        """The latest candidate of a match."""
        return self.candidates(match)[-1]

    def told(self, match: UUID) -> list[tuple[str, str, str | None]]:
        """How the candidates of a match ended, in order: action, status, and why."""
        return [(c["action_name"], c["status"], c["skip_reason"] or c["error"]) for c in self.candidates(match)]

    def events(self, match: UUID, *types: str) -> list[Row]:
        found = self.rows("select * from recovery.provenance where failure_match_id = %s order by seq", match)
        return [row for row in found if not types or row["event_type"] in types]

    def story(self, candidate: UUID) -> list[str]:
        found = self.rows("select event_type from recovery.provenance where candidate_id = %s order by seq", candidate)
        return [row["event_type"] for row in found]

    # Failures

    def park(self, *, table: str = DOL, **more: Any) -> int:
        """An error that is parked because its retries are used up; of an incident of its own."""
        given = {"code": f"E{uuid.uuid4().hex[:12]}"} | more
        error = self.hub.record(TRANSIENT, table=table, **given)
        self.fail(error)
        return error

    def fail(self, error: int) -> None:
        """Its retries fail until it is parked."""
        while self.hub.row(error)["status"] == "RETRY_PENDING":
            self.hub.fail_when_due(error)
        assert self.hub.row(error)["status"] == "PARKED"

    def retried(self, error: int) -> None:
        """Its next retry works."""
        self.hub.succeed(self.hub.claim_one(error))

    def outside(self, count: int = 1, **more: Any) -> list[UUID]:
        """Failures that were reported from outside, of one source and signature."""
        source = more.pop("source", f"job-{uuid.uuid4().hex[:8]}")
        given: dict[str, Any] = {"source": source, "message": "vendor is down", **more}
        prefix = given.pop("prefix", "")
        found = self.ingest([NewFailure(key=f"{prefix}{n}", **given) for n in range(count)])
        assert [one.answer for one in found] == ["created"] * count
        return [one.failure_match_id for one in found if one.failure_match_id is not None]

    def ingest(self, failures: Sequence[NewFailure]) -> list[Ingested]:
        with self.db.transaction(Authority.MATCHER) as tx:
            return ingest(tx, failures)

    # Duties

    def follow(self) -> int:
        """All subscriptions, one page each."""
        with self.db.transaction(Authority.MATCHER) as tx:
            done = following.match_subjects(tx, self.policy)
        with self.db.transaction(Authority.EVALUATOR) as tx:
            return done + confidence.learn(tx, self.policy) + following.wake_matches(tx)

    def evaluate(self) -> int:
        return evaluation.evaluate_due(Actors(self, Authority.EVALUATOR))

    def execute(self) -> int:
        return execution.execute_due(Actors(self, Authority.CLAIM_WORKER), self.executors)

    def expire(self) -> int:
        with self.db.transaction(Authority.EVALUATOR) as tx:
            done = executing.expire(tx) + evaluation.expire(tx)
        with self.db.transaction(Authority.SCOPED_EXECUTION) as tx:
            return done + following.expire_scopes(tx)

    def close(self) -> int:
        with self.db.transaction(Authority.EVALUATOR) as tx:
            return following.close_incidents(tx, self.policy)

    def deliver(self) -> int:
        return delivering.deliver_due(Actors(self, Authority.EXECUTOR))

    def settle(self, *, executing: bool = True) -> None:
        """All duties of recovery, until nothing happens."""
        for _ in range(MANY_ROUNDS):
            done = self.follow() + self.evaluate() + self.expire() + (self.execute() if executing else 0)
            if not done:
                return
        raise AssertionError(f"still something to do after {MANY_ROUNDS} rounds")

    # People

    @contextlib.contextmanager
    def person(self, name: str, authority: Authority, reason: str = "a test") -> Iterator[Transaction]:
        with self.db.transaction(authority, actor=Actor("human", name), reason=reason) as tx:
            yield tx

    def scope(self, match: UUID, *, actions: Sequence[str] = ALL, by: str = "olga", **more: Any) -> UUID:
        """A scope for the incident of a match."""
        incident = self.match(match)["incident_id"]
        with self.person(by, Authority.SCOPED_EXECUTION) as tx:
            return scopes.open_scope(tx, incident, self.policy, actions=actions, reason="a test", **more)

    def revoke(self, scope: UUID, *, by: str = "olga") -> list[Started]:
        with self.person(by, Authority.SCOPED_EXECUTION) as tx:
            return scopes.revoke(tx, scope)

    def approve(self, *candidates: UUID, by: str = "rita") -> list[str | None]:
        """Of each: None, or why it was refused."""
        with self.person(by, Authority.REVIEWER) as tx:
            return [answer.refused for answer in review.approve(tx, [str(one) for one in candidates], note="go on")]

    def reject(self, candidate: UUID, *, by: str = "rita") -> None:
        with self.person(by, Authority.REVIEWER) as tx:
            (answer,) = review.reject(tx, [str(candidate)], note="wrong action")
            assert answer.refused is None

    def propose(self, match: UUID, action: str, *, by: str = "paul", **parameters: Any) -> UUID:
        with self.person(by, Authority.OPERATOR) as tx:
            return review.propose(tx, match, action, self.policy, parameters=parameters or None)

    def act(self, verb: str, error: int, *, by: str = "grace") -> bool:
        """What a person does with an error. Returns whether it was done."""
        with self.person(by, Authority.OPERATOR) as tx:
            given = {"reason": "looked into it"} if verb == "park" else {}
            (answer,) = getattr(parking, verb)(tx, [ErrorKey(DOL, error)], **given)
        return bool(answer.done)

    # Brought there

    def pending(self, error: int) -> UUID:
        """The match of a parked error, with a pending candidate within a scope."""
        self.settle()
        match: UUID = self.match_of(error)["failure_match_id"]
        self.scope(match)
        self.settle()
        assert self.candidate(match)["status"] == "pending"
        return match

    def approved(self, error: int) -> UUID:
        match = self.pending(error)
        assert self.approve(self.candidate(match)["candidate_id"]) == [None]
        return match

    def awaiting(self, error: int) -> UUID:
        match = self.approved(error)
        self.settle()
        assert (self.candidate(match)["status"], self.hub.row(error)["status"]) == ("executing", "RETRY_PENDING")
        return match

    def claim(self, *, limit: int = 100, worker: str = "w", lease: timedelta | None = None) -> list[Claimed]:
        """Candidates that a worker started, which then says nothing."""
        with self.db.transaction(Authority.CLAIM_WORKER) as tx:
            return executing.claim(tx, limit=limit, worker=worker, lease=lease)

    def teach(self, action: str, outcomes: Mapping[bool, int], **failure: Any) -> None:
        """Outcomes of an action, of failures outside: so many good ones, so many bad ones."""
        wanted = [good for good, count in outcomes.items() for _ in range(count)]
        matches = self.outside(len(wanted), **failure)
        self.settle()
        made = [self.propose(match, action) for match in matches]
        self.scope(matches[0], actions=[action], max_attempts=len(wanted), cost_limit=1000)
        self.settle(executing=False)
        assert set(self.approve(*made)) == {None}
        told = dict(zip(made, wanted, strict=True))
        claimed = [one for one in self.claim(limit=1000) if one.candidate_id in told]
        with self.db.transaction(Authority.EVALUATOR) as tx:
            executing.finish(tx, [(one, executing.Outcome(told[one.candidate_id], "no")) for one in claimed])
        self.settle()

    # What must hold

    def broken(self) -> list[str]:
        """What the audit finds of recovery, and of what it starts."""
        ours = ("recovery", "errors/", "runs/")
        asked = [
            one for one in product.chosen(())
            if one.id.startswith(ours) or "/recovery." in one.id or "/recoup.error" in one.id
        ]  # fmt: skip
        with contextlib.closing(connect(self.db.conninfo, self.db.settings)) as connection:
            return [f"{v.id}: {v.rows[:2]}" for v in audit(connection, asked) if not v.holds]

    def whole(self) -> None:
        """Nothing is lost and nothing is twice: every row has its story, every effect was made once, scopes add up."""
        assert self.broken() == []
        for c in self.rows("select * from recovery.candidate"):
            told = Counter(self.story(c["candidate_id"]))
            assert told["created"] == 1
            assert told["executed"] == (c["executed_at"] is not None)
            assert told["effect_made"] <= 1
            ends = sum(told[end] for end in ("success", "failure", "rolled_back", "rejected", "skipped"))
            assert ends == (c["finished_at"] is not None)
        for s in self.rows(
            "select s.attempts_used, s.cost_used, count(c.candidate_id) as started, coalesce(sum(c.cost), 0) as cost"
            " from recovery.scope s left join recovery.candidate c"
            " on c.scope_id = s.scope_id and c.executed_at is not null group by s.scope_id"
        ):
            assert (s["attempts_used"], s["cost_used"]) == (s["started"], s["cost"])
        for m in self.rows("select * from recovery.failure_match"):
            open_ = [c for c in self.candidates(m["failure_match_id"]) if c["finished_at"] is None]
            assert len(open_) <= (m["ended_at"] is None)


NewStage = Callable[[], Stage]
