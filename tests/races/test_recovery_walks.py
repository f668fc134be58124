"""Nothing waits for ever, by search on the database: anything happens in any order, time passes, and all has ended.

As in tests/recovery/test_converges.py, but with real rows, duties, people, workers and units. `make soak` walks more
often (--times).
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from random import Random
from uuid import UUID

import psycopg

from hub import DOL, TRANSIENT
from product import pause, resume
from recoup.database.connection import Database
from recoup.errors import parking
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.lifecycles.declaration import Authority
from recoup.recovery import executing, people, review
from recoup.recovery.executing import Claimed, Executor, Outcome
from recoup.refusals import Refusal
from recoup.runs import running
from recovery.stage import ALL, MANUAL, NOTIFY, RETRY, SKIP, Row, Stage
from recovery.subjects import crash, crashed_run

STEPS = 80
MOST_ROUNDS = 60  # of three days and more
ERROR_PLAN = '"retry_exponential", "retry_exponential", "notify_ops"'
PLAN = f"""
[recovery]
held_share = 0.0
[recovery.plan]
error = [{ERROR_PLAN}]
run = ["retry_exponential", "retry_exponential", "manual_intervention"]
outside = ["retry_exponential", "notify_ops"]
"""
POLICIES = (
    PLAN,
    PLAN + "[recovery.scope]\nopens_by_itself = true\n",
    PLAN.replace(ERROR_PLAN, '"manual_intervention"')
    + "[recovery.actions.retry_exponential]\ncost = 3\nrequires_approval = true\n",
)
PAUSABLE = (
    ("action", RETRY), ("action", NOTIFY), ("table", "recoup.error"), ("table", "recovery.candidate"),
    ("table", "recovery.run"),
)  # fmt: skip
TIMES: tuple[dict[str, float], ...] = (
    {"seconds": 1}, {"minutes": 6}, {"hours": 1}, {"hours": 25}, {"days": 3}, {"days": 12},
)  # fmt: skip
PENDING_RETRIES = "select error_id from recoup.error where status = 'RETRY_PENDING' and archived_at is null"


class Walk:
    """What may happen. Refusals are answers; anything else that is raised is a defect."""

    def __init__(self, stage: Stage, chance: Random) -> None:
        self.stage, self.chance = stage, chance
        self.errors: list[tuple[int, UUID, str]] = []
        self.claimed: list[Claimed] = []
        self.paused: set[tuple[str, str]] = set()
        stage.apply(PLAN)
        stage.executors[RETRY] = Executor(self._works_or_not)

    def _works_or_not(self, *_: object) -> None:
        if self.chance.random() < 0.4:
            raise ValueError("no")

    def any_of(self, query: str, *given: object) -> Row | None:
        found = self.stage.rows(query, *given)
        return self.chance.choice(found) if found else None

    def open_match(self) -> UUID | None:
        found = self.any_of("select failure_match_id from recovery.failure_match where ended_at is null")
        return None if found is None else found["failure_match_id"]

    # Failures

    def park(self) -> None:
        if ("table", "recoup.error") not in self.paused:
            entity, code = uuid.uuid4(), f"W{self.chance.randrange(3)}"
            self.errors.append((self.stage.park(outreach_id=entity, code=code), entity, code))

    def again(self) -> None:
        if self.errors:
            _, entity, code = self.chance.choice(self.errors)
            failure = NewError(table=DOL, message=TRANSIENT, outreach_id=entity, code=code)
            (made,) = self.stage.hub.record_all([failure])
            self.errors.append((made.error_id, entity, code))

    def run_crashes(self) -> None:
        crashed_run(self.stage)

    def outside(self) -> None:
        self.stage.outside(self.chance.randrange(1, 4), source=f"o{self.chance.randrange(2)}", prefix=f"{uuid.uuid4()}")

    # People

    def scope(self) -> None:
        if match := self.open_match():
            actions = self.chance.sample(ALL, self.chance.randrange(1, 5))
            attempts, cost = self.chance.randrange(1, 6), self.chance.randrange(3, 12)
            self.stage.scope(match, actions=actions, max_attempts=attempts, cost_limit=cost)

    def revoke(self) -> None:
        if found := self.any_of("select scope_id from recovery.scope where status = 'active'"):
            self.stage.revoke(found["scope_id"])

    def approve(self) -> None:
        pending = self.stage.rows("select candidate_id from recovery.candidate where status = 'pending'")
        if pending:
            some = self.chance.sample(pending, min(len(pending), self.chance.randrange(1, 4)))
            self.stage.approve(*(one["candidate_id"] for one in some))

    def reject(self) -> None:
        if found := self.any_of("select candidate_id from recovery.candidate where status = 'pending'"):
            with self.stage.person("rita", Authority.REVIEWER) as tx:
                review.reject(tx, [str(found["candidate_id"])], note="wrong")

    def propose(self) -> None:
        if found := self.any_of("select failure_match_id from recovery.failure_match"):
            action, by = self.chance.choice([RETRY, NOTIFY, MANUAL, SKIP]), self.chance.choice(["paul", "rita"])
            self.stage.propose(found["failure_match_id"], action, by=by)

    def act(self) -> None:
        if self.errors:
            verb = self.chance.choice(["unpark", "resolve", "archive", "park", "escalate", "review"])
            given = {"reason": "looked into it"} if verb in ("park", "escalate") else {}
            with self.stage.person("grace", Authority.OPERATOR) as tx:
                getattr(parking, verb)(tx, [ErrorKey(DOL, self.chance.choice(self.errors)[0])], **given)

    def report_recovered(self) -> None:
        if match := self.open_match():
            with self.stage.person("ada", Authority.OPERATOR) as tx:
                people.recovered(tx, match)

    def ask_for_evaluation(self) -> None:
        if match := self.open_match():
            with self.stage.person("ada", Authority.OPERATOR) as tx:
                people.evaluate(tx, match)

    def change_policy(self) -> None:
        self.stage.apply(self.chance.choice(POLICIES))

    def pause_or_resume(self) -> None:
        what = self.chance.choice(PAUSABLE)
        with self.stage.person("olga", Authority.OPERATOR) as tx:
            (resume if what in self.paused else pause)(tx, *what, reason="a test")
        self.paused ^= {what}

    # Workers and units

    def claim(self) -> None:
        self.claimed += self.stage.claim(limit=self.chance.randrange(1, 5), worker="slow")

    def make_effects(self) -> None:
        if self.claimed:
            with self.stage.db.transaction(Authority.CLAIM_WORKER) as tx:
                executing.make_effects(tx, self.claimed)

    def finish(self) -> None:
        if self.claimed:
            with self.stage.db.transaction(Authority.EVALUATOR) as tx:
                outcome = Outcome(self.chance.random() < 0.5, "no")
                executing.finish(tx, [(self.chance.choice(self.claimed), outcome)])

    def retries_end(self) -> None:
        if (found := self.any_of(PENDING_RETRIES)) and ("table", "recoup.error") not in self.paused:
            for one in self.stage.hub.claim():
                works = one.error_id == found["error_id"] and self.chance.random() < 0.5
                (self.stage.hub.succeed if works else self.stage.hub.fail)(one)

    def runs_end(self) -> None:
        for row in self.stage.rows("select run_id, kind, status from recovery.run where finished_at is null"):
            if row["status"] == "running":
                crash(self.stage, row["run_id"])
                continue
            with self.stage.db.transaction(Authority.RUNNER) as tx:
                for one in running.claim(tx, kind=row["kind"], limit=1):
                    if self.chance.random() < 0.4:
                        running.finish(tx, [running.Succeeded(run_id=one.run_id, token=one.token)])

    def tasks_end(self) -> None:
        if found := self.any_of("select task_id from recovery.task where status = 'open'"):
            with self.stage.person("ada", Authority.OPERATOR) as tx:
                self.chance.choice([people.done, people.cancel])(tx, found["task_id"], note="a test")

    # Time

    def time_passes(self) -> None:
        self.stage.advance(**self.chance.choice(TIMES))

    def archiver(self) -> None:
        self.stage.hub.raise_tiers()
        self.stage.hub.sweep_all()

    def steps(self) -> list[Callable[[], object]]:
        often: list[Callable[[], object]] = [self.scope, self.approve, self.act, self.retries_end, self.time_passes]
        once: list[Callable[[], object]] = [
            self.park, self.again, self.run_crashes, self.outside, self.revoke, self.reject, self.propose,
            self.report_recovered, self.ask_for_evaluation, self.change_policy, self.pause_or_resume, self.claim,
            self.make_effects, self.finish, self.runs_end, self.tasks_end, self.archiver,
        ]  # fmt: skip
        duties: list[Callable[[], object]] = [
            self.stage.settle, self.stage.follow, self.stage.evaluate, self.stage.execute, self.stage.expire,
            self.stage.close, self.stage.deliver,
        ]  # fmt: skip
        return [*often, *often, *once, *duties, *duties]

    def end(self) -> None:
        """What is paused is resumed, units end, time passes."""
        while self.paused:
            with self.stage.person("olga", Authority.OPERATOR) as tx:
                resume(tx, *self.paused.pop(), reason="a test")
        for turn in range(MOST_ROUNDS):
            self.stage.settle()
            if self.open_match() is None:
                return
            for one in (self.stage.close, self.stage.deliver, self.retries_end, self.runs_end, self.tasks_end):
                one()
            self.stage.hub.lapse()
            self.stage.advance(days=3 + turn / 7)


def test_whatever_happens_everything_ends(fresh: Callable[..., Database], seed: int, again: int) -> None:
    """And nothing is lost on the way: the audit, every story, every scope."""
    stage, chance = Stage(fresh()), Random(f"walk {seed} {again}")
    walk = Walk(stage, chance)
    steps = walk.steps()
    for one in (walk.park, walk.run_crashes, walk.outside, *chance.choices(steps, k=STEPS)):
        with contextlib.suppress(Refusal, psycopg.errors.CheckViolation):  # what is not allowed at that moment
            one()
    walk.end()
    assert stage.rows("select * from recovery.failure_match where ended_at is null") == []
    assert stage.rows("select * from recovery.candidate where finished_at is null") == []
    stage.whole()
