"""Five days of recovery in simulated time: a failure storm, its scopes, two people, and what becomes of each failure.

A sync to a CRM fails forty times within an hour. People approve the first retries; when enough of these have worked,
the rest start by themselves, until their scope is exhausted. An export is stopped: its scope is revoked. Agent runs
crash with their machine, and are retried as new runs. A worker dies in the middle of an action. People reject, propose,
accept a loss, end tasks. Then every other action (:mod:`recoup_demo.repairs`). At the end there are rows in every
status.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from recoup import clock
from recoup.database.connection import Actor, Database, Transaction
from recoup.database.queries import load
from recoup.deliveries import delivering, sending
from recoup.lifecycles.declaration import Authority
from recoup.recovery import confidence, evaluation, executing, execution, facts, following, review, scopes
from recoup.recovery.executing import Claimed, Executor, Failed, Subject
from recoup.recovery.matches import NewFailure, ingest
from recoup.recovery.policy import RecoveryPolicy
from recoup.runs import orphans, running
from recoup.worker.standalone import Standalone
from recoup_demo import repairs

Q = load("recoup_demo", "recovery.sql")
LAST_HOURS = timedelta(hours=3)
WORKER = "demo-recovery"
REVIEWER, LEAD = Actor("human", "demo-reviewer"), Actor("human", "demo-lead")
CRM, EXPORT, FEED, BATCH = "crm-sync", "billing-export", "price-feed", "nightly-report"
NEWS, RELAY = "newsletter", "webhook-relay"
AGENT = "agent-run"
RETRY, NOTIFY, MANUAL, SKIP = "retry_exponential", "notify_ops", "manual_intervention", "skip_step"
EVERY = (RETRY, NOTIFY, MANUAL, SKIP)


def sync_again(one: Claimed, subject: Subject) -> Any:
    """What executes retries outside: a call that mostly works."""
    number = int(subject.subject_ref.rsplit("-", 1)[-1])
    if subject.source == CRM and number % 30 == 5:
        return Failed("the CRM answered 503 again")
    return {"synced": number, "key": one.idempotency_key}


EXECUTORS = {RETRY: Executor(sync_again), repairs.FALLBACK: Executor(repairs.other_model)}


class Play:
    """The demo: the database, and its simulated time."""

    LEAD = LEAD

    def __init__(self, database: Database, say: Callable[[str], None]) -> None:
        self.database = database
        self.say = say
        worker = Standalone(database, Authority.READER, name=WORKER)
        self.policy: RecoveryPolicy = worker.policy[RecoveryPolicy]
        self.all_values = worker.policy

    def play(self) -> None:
        """From the first failure to the last hours."""
        self._storm()
        self._stopped_export()
        self._crashed_runs()
        self._a_worker_dies()
        self._people()
        repairs.play(self)
        self._pass(timedelta(hours=80))  # what nobody decided is skipped
        self.duties()

    def ending(self) -> None:
        """What is open now."""
        self._catch_up()
        self._last_day()
        repairs.last_day(self)
        # The last that comes: no worker has evaluated it yet.
        self.ingest(CRM, "POST /contacts timed out after {} ms", 2, first=40)
        self.tell("recovery: what is open now waits for people, for runs, or for a worker")

    # Scenes ---------------------------------------------------------------------------------------------------------

    def _storm(self) -> None:
        """Forty failures of one kind: approved first, automatic then, until the scope is exhausted."""
        self.ingest(CRM, "POST /contacts timed out after {} ms", 22)
        self.duties()
        scope = self.open_scope(CRM, EVERY, max_attempts=30, reason="the CRM is back")
        self.decide(review.approve, self.pending(CRM)[:20], note="the CRM is back")
        self.decide(review.reject, self.pending(CRM)[:1], note="this contact was deleted")
        self.duties()
        self.ingest(CRM, "POST /contacts timed out after {} ms", 18, first=22)
        self.duties()
        self.ingest(RELAY, "message {} was not relayed: connection reset by peer", 1)
        self.duties()
        self.open_scope(RELAY, (RETRY,), max_attempts=3, reason="a restart helps")
        self.duties()
        self.tell(f"{CRM}: 40 failures; {self._used(scope)} of 30 attempts used, the later ones without a person")

    def _stopped_export(self) -> None:
        self.ingest(EXPORT, "invoice {} could not be exported: disk quota exceeded", 6)
        self.duties()
        scope = self.open_scope(EXPORT, (RETRY, NOTIFY), max_attempts=5, reason="quota was raised")
        self.decide(review.approve, self.pending(EXPORT)[:2], note=None)
        with self.acting(Authority.SCOPED_EXECUTION, LEAD, "the export writes duplicates") as tx:
            going_on = scopes.revoke(tx, scope)
        self.duties()
        self.tell(f"{EXPORT}: scope revoked, {len(going_on)} started before")

    def _crashed_runs(self) -> None:
        """Runs fall silent with their machine; each is a match, and its retry a new run."""
        with self.acting(Authority.RUNNER) as tx:
            running.start(tx, [running.NewRun(kind=AGENT, input={"task": n}) for n in range(4)], owner="demo-host")
        self._pass(timedelta(minutes=45))
        with self.acting(Authority.ORPHAN_RECOVERY) as tx:
            crashed = orphans.sweep(tx, self.all_values)
        self.duties()
        self.open_scope(AGENT, EVERY, max_attempts=10, reason="the host is up again")
        self.decide(review.approve, self.pending(AGENT), note=None)
        self.duties()
        self._run_queued(fails_first=True)
        self.duties()
        self.tell(f"{AGENT}: {len(crashed)} runs crashed with their machine, and were retried as new runs")

    def _run_queued(self, *, fails_first: bool = False) -> None:
        with self.acting(Authority.RUNNER) as tx:
            claimed = running.claim(tx, kind=AGENT, limit=10, owner="demo-host")
            running.finish(
                tx,
                [
                    running.Failed(run_id=one.run_id, token=one.token, message="the model refused")
                    if fails_first and number == 0
                    else running.Succeeded(run_id=one.run_id, token=one.token, result={"done": True})
                    for number, one in enumerate(claimed)
                ],
            )

    def _a_worker_dies(self) -> None:
        """A worker claims, and dies: its lease expires, and the action counts as failed."""
        self.ingest(FEED, "quote {} rejected: upstream closed the connection", 2)
        self.duties()
        self.open_scope(FEED, EVERY, max_attempts=10, reason="upstream restarted")
        self.decide(review.approve, self.pending(FEED)[:1], note=None)
        with self.acting(Authority.CLAIM_WORKER) as tx:
            executing.claim(tx, limit=1, worker="demo-worker-that-died", actions=[RETRY])
        self._pass(timedelta(minutes=10))
        with self.acting(Authority.EVALUATOR) as tx:
            executing.expire(tx)
        self.duties()
        self.tell(f"{FEED}: a worker died in the middle of an action; the next candidate follows")

    def _people(self) -> None:
        """A proposal that another person approves, a loss that is accepted, an end that is reported, a stuck match."""
        ids = self.ingest(BATCH, "report {} has no rows", 5)
        self.duties()
        self.open_scope(BATCH, (MANUAL, SKIP), max_attempts=20, reason="month end")
        with self.acting(Authority.OPERATOR, LEAD) as tx:
            skipped = review.propose(tx, ids[0], SKIP, self.policy)
            manual = review.propose(tx, ids[1], MANUAL, self.policy)
        self.decide(review.approve, [str(skipped), str(manual)], note="nobody reads this report")
        self.duties()
        with self.acting(Authority.OPERATOR, LEAD, "rows were loaded by hand") as tx:
            tx.execute(Q["recovered"], {"match": ids[2]})
            tx.execute(Q["task_done"])
        self.duties()

    def _stick(self, match: UUID) -> None:
        """Its evaluation fails five times, as a defect of a rule would make it."""
        for _ in range(5):
            with self.acting(Authority.OPERATOR, LEAD) as tx:
                tx.execute(Q["due_now"], {"match": match})
            with self.acting(Authority.EVALUATOR) as tx:
                for one in evaluation.EVALUATIONS.claim(tx, facts.Claimed, limit=100, worker=WORKER):
                    evaluation.fail(tx, one, "TypeError: unorderable facts")
            self._pass(timedelta(minutes=2))

    def _last_day(self) -> None:
        """What is open at the end: candidates that wait, one that is approved, one whose run is awaited."""
        self.ingest(EXPORT, "invoice {} could not be exported: disk quota exceeded", 3, first=6)
        self.ingest(FEED, "quote {} rejected: upstream closed the connection", 2, first=2)
        with self.acting(Authority.RUNNER) as tx:
            running.start(tx, [running.NewRun(kind=AGENT, input={"task": n}) for n in range(4, 6)], owner="demo-host")
        self._pass(timedelta(minutes=45))
        with self.acting(Authority.ORPHAN_RECOVERY) as tx:
            orphans.sweep(tx, self.all_values)
        self.duties()
        self.open_scope(AGENT, EVERY, max_attempts=10, reason="the host is up again")
        self.decide(review.approve, self.pending(AGENT)[:1], note=None)
        self.duties()
        self._notices_and_tasks()
        self.open_scope(FEED, (RETRY,), max_attempts=3, reason="for the night")
        self.decide(review.approve, self.pending(FEED)[:1], note=None)  # no worker has taken it yet
        (stuck,) = self.ingest(BATCH, "report {} has no rows", 1, first=5)
        self._stick(stuck)
        with self.acting(Authority.RUNNER) as tx:
            running.start(tx, [running.NewRun(kind=AGENT, input={"task": 6})], owner="demo-host")

    def _notices_and_tasks(self) -> None:
        """One notice is delivered, one is cancelled, one waits; one task is open and one is cancelled."""
        ids = self.ingest(NEWS, "digest {} was not sent: template missing", 5)
        self.duties()
        self.open_scope(NEWS, (NOTIFY, MANUAL), max_attempts=5, reason="one notice at a time is enough")
        self._proposed(ids[0], NOTIFY)
        self._proposed(ids[1], MANUAL)
        delivering.deliver_due(Standalone(self.database, Authority.EXECUTOR, name=WORKER))
        self.duties()
        self._proposed(ids[3], NOTIFY)
        with self.acting(Authority.OPERATOR, LEAD, "the template is back") as tx:
            tx.execute(Q["task_cancelled"])
            (notice,) = tx.execute(Q["queued_notice"]).fetchone() or (None,)
            assert isinstance(notice, UUID)
            sending.cancel(tx, notice)
        self.duties()
        self._proposed(ids[2], MANUAL)
        self._proposed(ids[4], NOTIFY)

    def _proposed(self, match: UUID, action: str) -> None:
        """Proposed by one person, approved by another, executed."""
        with self.acting(Authority.OPERATOR, LEAD) as tx:
            proposed = review.propose(tx, match, action, self.policy)
        self.decide(review.approve, [str(proposed)], note=None)
        self.duties()

    # What it is made of -----------------------------------------------------------------------------------------------

    def ingest(self, source: str, message: str, count: int, *, first: int = 0) -> list[UUID]:
        failures = [
            NewFailure(
                source=source, message=message.format(100 + n), key=f"{source}-{n}", code="DEMO",
                ref=f"{source}-{n}", context={"attempt": 1},
            )
            for n in range(first, first + count)
        ]  # fmt: skip
        with self.acting(Authority.MATCHER) as tx:
            return [one.failure_match_id for one in ingest(tx, failures) if one.failure_match_id is not None]

    def duties(self) -> None:
        """What workers do, until there is nothing left to do."""
        evaluator = Standalone(self.database, Authority.EVALUATOR, name=WORKER)
        starter = Standalone(self.database, Authority.CLAIM_WORKER, name=WORKER)
        done = 1
        while done:
            with self.acting(Authority.SCOPED_EXECUTION) as tx:
                done = following.expire_scopes(tx)
            with self.acting(Authority.MATCHER) as tx:
                done += following.match_subjects(tx, self.policy)
            with self.acting(Authority.EVALUATOR) as tx:
                done += confidence.learn(tx, self.policy)
                done += following.wake_matches(tx) + following.close_incidents(tx, self.policy)
            done += evaluation.evaluate_due(evaluator)
            done += execution.execute_due(starter, EXECUTORS)

    def open_scope(self, source: str, actions: Sequence[str], *, max_attempts: int, reason: str) -> UUID:
        with self.acting(Authority.SCOPED_EXECUTION, LEAD) as tx:
            (incident,) = tx.execute(Q["incident"], {"source": source}).fetchone() or (None,)
            assert isinstance(incident, UUID)
            return scopes.open_scope(
                tx, incident, self.policy, actions=actions, max_attempts=max_attempts, reason=reason
            )

    def pending(self, source: str) -> list[str]:
        with self.database.transaction(Authority.READER) as tx:
            return [str(row[0]) for row in tx.execute(Q["pending"], {"source": source})]

    def decide(self, verb: Callable[..., Any], ids: Sequence[str], *, note: str | None) -> None:
        with self.acting(Authority.REVIEWER, REVIEWER) as tx:
            verb(tx, ids, note=note)

    def _used(self, scope: UUID) -> int:
        with self.database.transaction(Authority.READER) as tx:
            return scopes.show(tx, scope).attempts_used

    def acting(self, authority: Authority, actor: Actor | None = None, reason: str | None = None) -> Any:
        return self.database.transaction(authority, actor=actor or Actor("system", WORKER), reason=reason)

    def _catch_up(self) -> None:
        """To the last hours, so that what is open at the end is open now."""
        with self.database.transaction(Authority.OPERATOR, actor=LEAD) as tx:
            ahead = datetime.now(UTC) - LAST_HOURS - clock.read(tx).now
            if ahead > timedelta(0):
                clock.advance(tx, ahead)

    def pass_seconds(self, seconds: int) -> None:
        self._pass(timedelta(seconds=seconds))

    def _pass(self, by: timedelta) -> None:
        with self.database.transaction(Authority.OPERATOR, actor=LEAD) as tx:
            clock.advance(tx, by)

    def tell(self, line: str) -> None:
        with self.database.transaction(Authority.READER) as tx:
            now = clock.read(tx).now
        self.say(f"{now:%Y-%m-%d %H:%M}  {line}")


def play(database: Database, say: Callable[[str], None], *_meanwhile: object) -> None:
    """Build this part of the demo. It runs nothing meanwhile."""
    Play(database, say).play()


def ending(database: Database, say: Callable[[str], None]) -> None:
    """What is open at the end of the whole demo."""
    Play(database, say).ending()


def an_eventful_match(tx: Transaction) -> UUID | None:
    """The match with the most candidates and events."""
    row = tx.execute(Q["eventful"]).fetchone()
    return None if row is None else row[0]
