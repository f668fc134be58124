"""Recovery of every kind in one database, by the product's own verbs: matched, decided, executed, given up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from recoup import clock, policy
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.recovery import (
    breakers,
    confidence,
    config,
    evaluation,
    executing,
    execution,
    facts,
    following,
    review,
    scopes,
    undoing,
)
from recoup.recovery.executing import Executor, Failed, Outcome
from recoup.recovery.matches import NewFailure, ingest
from recoup.recovery.policy import RecoveryPolicy
from recoup.runs import Succeeded, running
from recoup.worker import register
from recoup.worker.standalone import Standalone

ADA, REX = Actor("human", "ada"), Actor("human", "rex")
RETRY, NOTIFY, TASK, SKIP = "retry_exponential", "notify_ops", "manual_intervention", "skip_step"
RECONFIGURE, ROLLBACK = "reconfigure", "rollback"
BREAK = "circuit_breaker"
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class RecoveryCast:
    """What became of what. One of each, for tests that break something of a kind."""

    match_new: UUID
    match_evaluated: UUID
    match_stuck: UUID
    match_recovered: UUID
    match_accepted: UUID
    match_unrecovered: UUID
    match_following: UUID  # follows one that ended
    match_error: UUID
    match_intake: UUID
    match_run: UUID
    candidate_pending: UUID  # without a scope
    candidate_proposed: UUID  # by ada
    candidate_ready: UUID  # would start by itself
    candidate_approved: UUID
    candidate_rejected: UUID
    candidate_claimed: UUID  # executing, without an effect
    candidate_awaiting: UUID  # executing, a retry of an error
    candidate_succeeded: UUID  # approved by rex
    candidate_automatic: UUID  # succeeded without a person
    candidate_failed: UUID
    candidate_crashed: UUID
    candidate_skipped: UUID
    candidate_overridden: UUID
    candidate_reconfigured: UUID  # succeeded, and was undone
    candidate_restoring: UUID  # the rollback that undid it
    candidate_rolled_back: UUID  # undid itself
    scope_active: UUID
    scope_exhausted: UUID
    scope_expired: UUID
    scope_revoked: UUID
    incident_open: UUID
    incident_closed: UUID
    task_open: UUID
    task_done: UUID
    task_cancelled: UUID


@dataclass(frozen=True)
class Board:
    """Those who recover. Every call commits, or is refused."""

    db: Database

    @property
    def policy(self) -> RecoveryPolicy:
        with self.db.transaction(Authority.READER) as tx:
            return policy.in_force(tx).policy[RecoveryPolicy]

    def advance(self, by: timedelta) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)
        with self.db.transaction(Authority.RUNNER) as tx:  # workers that are alive say so
            for (worker,) in tx.execute("select worker_id from recoup.worker where status = 'running'").fetchall():
                register.beat(tx, worker)

    def failed(self, key: str, source: str | None = None, **given: Any) -> UUID:
        """A failure from outside, with an incident of its own unless a source is given."""
        failure = NewFailure(source=source or f"vendor-{key}", message="connection refused", key=key, **given)
        with self.db.transaction(Authority.MATCHER) as tx:
            (made,) = ingest(tx, [failure])
        assert made.failure_match_id is not None
        return made.failure_match_id

    def match(self) -> None:
        """What was parked, exhausted or crashed becomes a match."""
        while True:
            with self.db.transaction(Authority.MATCHER) as tx:
                if not following.match_subjects(tx, self.policy):
                    return

    def settle(self) -> None:
        """Wake and evaluate until nothing is due."""
        while True:
            with self.db.transaction(Authority.EVALUATOR) as tx:
                read = confidence.learn(tx, self.policy) + following.wake_matches(tx)
            done = evaluation.evaluate_due(Standalone(self.db, Authority.EVALUATOR, name="evaluator"))
            if not read + done:
                return

    def execute(self, *outcomes: object) -> int:
        """Execute what may start; outside, what is given happens, in turn."""
        left = list(outcomes)

        def work(*_: object) -> object:
            return left.pop(0) if left else None

        made = execution.execute_due(
            Standalone(self.db, Authority.CLAIM_WORKER, name="hand"), {RETRY: Executor(work, database=True)}
        )
        self.settle()
        return made

    def claim(self) -> executing.Claimed:
        with self.db.transaction(Authority.CLAIM_WORKER) as tx:
            (claimed,) = executing.claim(tx, limit=1, worker="hand", actions=[RETRY])
        return claimed

    def scope(self, match: UUID, *actions: str, by: Actor = ADA, **given: Any) -> UUID:
        incident = self.one("select incident_id from recovery.failure_match where failure_match_id = %s", match)
        with self.db.transaction(Authority.SCOPED_EXECUTION, actor=by) as tx:
            scope = scopes.open_scope(tx, incident, self.policy, actions=actions or (RETRY,), reason="again", **given)
        self.settle()
        return scope

    def propose(self, match: UUID, action: str, *, by: Actor = ADA, **parameters: Any) -> UUID:
        with self.db.transaction(Authority.OPERATOR, actor=by) as tx:
            made = review.propose(tx, match, action, self.policy, parameters=parameters or None)
        self.settle()
        return made

    def approve(self, *candidates: UUID, by: Actor = REX) -> UUID:
        with self.db.transaction(Authority.REVIEWER, actor=by) as tx:
            answers = review.approve(tx, [str(one) for one in candidates], note="the vendor is back")
        assert all(answer.done for answer in answers), answers
        self.settle()
        return candidates[0]

    def reject(self, candidate: UUID, *, by: Actor = REX) -> UUID:
        with self.db.transaction(Authority.REVIEWER, actor=by) as tx:
            (answer,) = review.reject(tx, [str(candidate)], note="the data is wrong")
        assert answer.done, answer
        self.settle()
        return candidate

    def candidate(self, match: UUID) -> UUID:
        """Its newest one."""
        of = "select candidate_id from recovery.candidate where failure_match_id = %s order by 1 desc limit 1"
        return UUID(str(self.one(of, match)))

    def status(self, candidate: UUID) -> str:
        return str(self.one("select status from recovery.candidate where candidate_id = %s", candidate))

    def one(self, query: str, *given: object) -> Any:
        with self.db.transaction(Authority.READER) as tx:
            row = tx.execute(query.encode(), given).fetchone()
        assert row is not None, (query, given)
        return row[0]


def play_recovery(database: Database, *, error: str, run: UUID, intake: UUID) -> RecoveryCast:
    """A parked error (table/id), a crashed run and an exhausted intake are recovered; and much fails outside."""
    board = Board(database)
    past = _past(board)
    board.match()
    board.settle()
    subjects = _subjects(board, error=error, run=run, intake=intake)
    tasks = _tasks(board)
    learnt = _learnt(board)
    return RecoveryCast(**past, **subjects, **tasks, scope_active=learnt, **_undone(board), **_present(board))


def _ready(
    board: Board, key: str, *actions: str, by_itself: bool = True, **scope: Any
) -> tuple[UUID, UUID, UUID]:  # fmt: skip
    """A match, its scope and its pending candidate; another one, if it was chosen to wait for a person.

    Not ``by_itself``: a person decides, and the key is the one that is given.
    """
    for number in range(100):
        match = board.failed(f"{key}-{number}" if number else key)
        board.settle()
        made = board.candidate(match)
        held = board.one("select held_for_review from recovery.candidate where candidate_id = %s", made)
        if not (by_itself and held):
            break
    return match, board.scope(match, *actions, **scope), board.candidate(match)


def _past(board: Board) -> dict[str, UUID]:
    """What ended some days ago: crashed, expired, overdue, revoked, closed."""
    _, exhausted, first = _ready(board, "crashed", max_attempts=1)
    board.approve(first)
    late = board.claim()
    _, expired, unstarted = _ready(board, "expired", ttl_seconds=60)
    board.approve(unstarted)
    unrecovered = board.failed("undecided")
    board.settle()
    board.advance(HOUR)
    with board.db.transaction(Authority.EVALUATOR) as tx:
        assert executing.expire(tx) == 1
        (became,) = executing.finish(tx, [(late, Outcome(True))])
        assert became == "late"
    with board.db.transaction(Authority.SCOPED_EXECUTION) as tx:
        assert following.expire_scopes(tx) == 1
    board.settle()
    _, revoked, taken = _ready(board, "revoked")
    board.approve(taken)
    with board.db.transaction(Authority.SCOPED_EXECUTION, actor=ADA, reason="not today") as tx:
        scopes.revoke(tx, revoked)
    board.settle()
    closed = board.failed("closed")
    with board.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
        tx.execute(
            "update recovery.failure_match set reported_end = 'recovered', reported_by = 'ada',"
            " evaluate_at = recoup.now(), wakes = wakes + 1, updated_at = recoup.now() where failure_match_id = %s",
            (closed,),
        )
    board.settle()
    board.advance(73 * HOUR)
    board.settle()
    with board.db.transaction(Authority.EVALUATOR) as tx:
        assert following.close_incidents(tx, board.policy)
    assert [board.status(one) for one in (first, unstarted, taken)] == ["failed", "skipped", "skipped"]
    of = "select incident_id from recovery.failure_match where failure_match_id = %s"
    return {
        "candidate_crashed": first, "candidate_skipped": unstarted, "scope_exhausted": exhausted,
        "scope_expired": expired, "scope_revoked": revoked, "match_unrecovered": unrecovered,
        "incident_closed": board.one(of, closed),
    }  # fmt: skip


def _subjects(board: Board, *, error: str, run: UUID, intake: UUID) -> dict[str, UUID]:
    """A parked error and an exhausted intake are retried by approval, and a crashed run; its retry succeeds."""
    found = {}
    for kind, ref in (("error", error), ("intake", str(intake)), ("run", str(run))):
        match = board.one(
            "select failure_match_id from recovery.failure_match where subject_ref = %s and ended_at is null", ref
        )
        found[f"match_{kind}"] = match
        board.scope(match, RETRY)
        board.approve(board.candidate(match))
    assert board.execute() == 3
    with board.db.transaction(Authority.RUNNER) as tx:
        (claimed,) = running.claim(tx, kind="nobody", limit=1, owner="bob")
        running.finish(tx, [Succeeded(run_id=claimed.run_id, token=claimed.token)])
    board.settle()
    return {**found, "candidate_awaiting": board.candidate(found["match_error"])}


def _tasks(board: Board) -> dict[str, UUID]:
    """A person is asked, and another one told, in the incidents of three failures."""
    matches = {key: board.failed(key) for key in ("open", "done", "cancelled", "told")}
    board.settle()
    for key, match in matches.items():
        board.scope(match, TASK, NOTIFY)
        board.approve(board.propose(match, NOTIFY if key == "told" else TASK))
    assert board.execute() == 4
    tasks = {
        f"task_{key}": UUID(
            board.one("select awaits ->> 'key' from recovery.candidate where candidate_id = %s", board.candidate(match))
        )
        for key, match in matches.items()
        if key != "told"
    }
    with board.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
        for status in ("done", "cancelled"):
            tx.execute(
                "update recovery.task set status = %s, ended_at = recoup.now(), ended_by = 'ada', note = 'by phone'"
                " where task_id = %s",
                (status, tasks[f"task_{status}"]),
            )
    board.settle()
    return tasks


def _learnt(board: Board) -> UUID:
    """Retries outside that worked, so often that the next one starts by itself."""
    matches = [board.failed(f"learnt-{n}", "learnt") for n in range(40)]
    board.settle()
    scope = board.scope(matches[0], RETRY, max_attempts=100)
    board.approve(*(board.candidate(match) for match in matches))
    board.execute()
    return scope


def _undone(board: Board) -> dict[str, UUID]:
    """A key that a person set, an action changed and a rollback restored; one that was never set before, too."""
    made: list[tuple[UUID, UUID]] = []
    for key in ("vendor.batch", "vendor.region"):
        with board.db.transaction(Authority.OPERATOR, actor=ADA, reason="as agreed") as tx:
            if key == "vendor.batch":
                config.put(tx, key, 500)
        match, _, _ = _ready(board, key, RECONFIGURE)
        changed = board.approve(board.propose(match, RECONFIGURE, key=key, value=[5]))
        board.execute()
        with board.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
            back = undoing.rollback(tx, changed, board.policy, reason="too slow")
        if not made:
            board.scope(
                board.one("select failure_match_id from recovery.candidate where candidate_id = %s", back), ROLLBACK
            )
        board.settle()
        board.approve(back)
        board.execute()
        assert [board.status(one) for one in (changed, back)] == ["succeeded", "succeeded"]
        made.append((changed, back))
    _, _, itself = _ready(board, "rolled-back")
    board.approve(itself)
    claimed = board.claim()
    with board.db.transaction(Authority.EVALUATOR) as tx:
        executing.finish(tx, [(claimed, Outcome(False, "the disk was full", {"size": 1}, rolled_back=True))])
    board.settle()
    assert board.status(itself) == "rolled_back"
    return {
        "candidate_reconfigured": made[0][0], "candidate_restoring": made[0][1], "candidate_rolled_back": itself
    }  # fmt: skip


def _stuck(board: Board) -> UUID:
    """A match whose evaluation failed five times."""
    match = board.failed("stuck")
    for _ in range(board.policy.evaluation_failures_max):
        with board.db.transaction(Authority.EVALUATOR) as tx:
            (one,) = evaluation.EVALUATIONS.claim(tx, facts.Claimed, limit=1000, worker="evaluator")
            evaluation.fail(tx, one, "RuntimeError: no")
        board.advance(timedelta(minutes=2))
    return match


def _breakers(board: Board) -> None:
    """One that a candidate opened, one that is tried, one that a person closed."""
    broken, _, _ = _ready(board, "broken", BREAK, by_itself=False)
    board.approve(board.propose(broken, BREAK))
    board.execute()
    _, _, probing = _ready(board, "tried", by_itself=False)
    board.approve(probing)
    with board.db.transaction(Authority.OPERATOR, actor=ADA, reason="maintenance") as tx:
        for name in ("vendor-tried", "vendor-back"):
            breakers.open_breaker(tx, name, reason="maintenance")
        breakers.close_breaker(tx, "vendor-back")
    board.advance(timedelta(minutes=2))
    assert board.claim().candidate_id == probing


def _present(board: Board) -> dict[str, UUID]:
    stuck = _stuck(board)
    _breakers(board)
    _, _, started = _ready(board, "automatic")
    board.execute()
    assert board.status(started) == "succeeded"
    _, _, unlucky = _ready(board, "failed")
    board.execute(Failed("HTTP 500"))
    assert board.status(unlucky) == "failed"
    recovered, _, lucky = _ready(board, "recovered")
    board.approve(lucky)
    board.execute({"tries": 2})
    accepted, _, overridden = _ready(board, "accepted", SKIP)
    board.approve(board.propose(accepted, SKIP))
    board.execute()
    _, _, claimed = _ready(board, "claimed")
    board.claim()
    evaluated = board.failed("evaluated")
    board.settle()
    _, _, rejected = _ready(board, "rejected")
    board.reject(rejected)
    proposed = board.propose(board.failed("proposed"), NOTIFY)
    _, _, approved = _ready(board, "approved")
    board.approve(approved)
    _, _, ready = _ready(board, "ready")
    following_ = board.propose(recovered, RETRY)
    of = "select {} from recovery.candidate where candidate_id = %s"
    return {
        "match_evaluated": evaluated, "match_stuck": stuck, "match_recovered": recovered, "match_accepted": accepted,
        "match_following": board.one(of.format("failure_match_id"), following_),
        "candidate_pending": board.candidate(evaluated), "candidate_proposed": proposed, "candidate_ready": ready,
        "candidate_approved": approved, "candidate_rejected": rejected, "candidate_claimed": claimed,
        "candidate_succeeded": lucky, "candidate_automatic": started, "candidate_failed": unlucky,
        "candidate_overridden": overridden,
        "incident_open": board.one(of.format("incident_id"), approved),
        "match_new": board.failed("new"),
    }  # fmt: skip
