"""Ninety days of a busy outreach system in simulated time: seven error tables, their hubs, and two people.

Every day hubs fail, retry what is due, and mostly succeed in the end. A vendor is down for nine days: its hub is
paused, retry windows close, and when it is back everything is unparked at once. A worker dies during its retries.
People park, resolve, assign, escalate and archive. A large import fails: alerts fire, and end the day after. Errors are
unparked a few at first, fail again, and the rest stays parked. At the end there are errors in every status and
disposition, archives for every reason, and a park queue with every tier.
"""

import random
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID

from recoup import clock, pauses
from recoup.database.connection import Actor, Database
from recoup.database.queries import load
from recoup.errors import archive, escalation, parking, retrying
from recoup.errors.listing import Filter, Listed, list_errors
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError, record
from recoup.errors.subject import SUBJECT
from recoup.errors.vocabulary import ErrorStatus, Severity
from recoup.lifecycles.declaration import Authority
from recoup.operations import begin, carry_on
from recoup_demo import watch

Q = load("recoup_demo", "errors.sql")
DAYS = 90
SPAN = timedelta(days=DAYS)
SEED = 7
WORKER = Actor("system", "demo-worker")
ON_CALL, LEAD = Actor("human", "demo-on-call"), Actor("human", "demo-lead")
DOL, TARGET, PEOPLE = "outreach.dol_errors", "outreach.company_target_errors", "people.people_errors"
OUTAGE = range(40, 49)  # days without the vendor that finds domains
IMPORT = 60  # the day on which a large import fails
WATCHED = range(58, 64)  # days on which alerts are judged
NOT_FIXED = 70  # the day on which errors are unparked whose cause is still there
PROCESSED = 400  # units of work a day, of each table
RETRY_ROUNDS = (
    timedelta(seconds=40),
    timedelta(minutes=6),
    timedelta(minutes=11),
    timedelta(minutes=16),
    timedelta(hours=1),
)
IN_FLIGHT_LEASE = timedelta(days=1)  # so that retries are in progress at the end


class Trouble(NamedTuple):
    """A way in which a hub fails."""

    table: str
    code: str
    message: str  # with {n}, {id}, {company} and {host} in it
    a_day: int
    succeeds: float = 0.6  # how often a retry does
    severity: Severity | None = None
    has_entity: bool = True


URLS, LOG, MASTER, ORPHANS = (
    "company.url_discovery_failures", "public.shq_error_log", "public.shq_master_error_log", "public.shq_orphan_errors",
)  # fmt: skip
HIGH, MEDIUM, LOW = Severity.HIGH, Severity.MEDIUM, Severity.LOW
TROUBLES: tuple[Trouble, ...] = (
    Trouble(DOL, "EIN_TIMEOUT", "request {id} to {host} timed out after {n} ms", 8, succeeds=0.7),
    Trouble(DOL, "EIN_NO_MATCH", "no filing matches EIN 12-{n} of company {company}", 6, succeeds=0.4),
    Trouble(DOL, "SCHEMA_DRIFT", "no such column: sponsor_{n} in filing {id}", 1),
    Trouble(TARGET, "DOMAIN_LOOKUP_FAILED", "lookup of {host} failed: server unavailable, try again", 6, succeeds=0.5),
    Trouble(TARGET, "PATTERN_MISSING", "no address pattern for {host} among {n} candidates", 4, 0.5, MEDIUM),
    Trouble(TARGET, "DUPLICATE_COMPANY", "company {company} looks like company {n}", 1),
    Trouble(PEOPLE, "RATE_LIMITED", "429 too many requests: retry after {n} s", 7, 0.8, HIGH),
    Trouble(PEOPLE, "MISSING_NAME", "person {id} has no name in row {n}", 2),
    Trouble(PEOPLE, "TITLE_UNKNOWN", "title number {n} is in no list", 3, severity=LOW),
    Trouble(URLS, "NO_URL", "no page found for company {company} after {n} queries", 5),
    Trouble(URLS, "SEARCH_TIMEOUT", "search timed out after {n} ms", 3, severity=HIGH),
    Trouble(LOG, "JOB_SLOW", "job {id} took {n} s", 4, has_entity=False),
    Trouble(MASTER, "DEPLOYED_OVER", "batch {id} was cut off by a deployment", 1, has_entity=False),
    Trouble(ORPHANS, "NO_PARENT", "record {n} of batch {id} has no parent", 1, has_entity=False),
    Trouble(ORPHANS, "FORGOTTEN", "record {n} has no parent, and is not needed", 1, severity=LOW, has_entity=False),
)


class Play:
    """The demo: the database, and its simulated time."""

    def __init__(self, database: Database, say: Callable[[str], None]) -> None:
        self.database = database
        self.say = say
        self._chance = random.Random(SEED)  # the same in every demo
        self._companies = [self._new_id() for _ in range(900)]
        with database.transaction(Authority.READER) as tx:
            self.begun = clock.read(tx).now

    def play(self, meanwhile: Callable[[], None] | None = None, *, meanwhile_days: int = 0) -> None:
        """From the first failure to the present. ``meanwhile`` runs in the days before the last one."""
        for day in range(DAYS - 1 - meanwhile_days):
            self._one_day(day)
        if meanwhile is not None:
            meanwhile()
            self._catch_up()
        self._one_day(DAYS - 1)  # yesterday: what the daily report tells
        self._at(DAYS - 1, hours=21)
        self._last_day()

    # Scenes ---------------------------------------------------------------------------------------------------------

    def _one_day(self, day: int) -> None:
        self._at(day)
        if day == OUTAGE.start:
            self._pause(TARGET, "the vendor of domain data is down")
        if day == OUTAGE.stop:
            self._vendor_is_back()
        self._fail(3.0 if day == IMPORT else 1.0)
        watch.report(self.database, WORKER, dict.fromkeys((DOL, TARGET, PEOPLE), PROCESSED))
        self._retry(watched=day in WATCHED)
        if day == IMPORT:
            self._silence()
        if day == 25:
            self._a_worker_dies(8)
        if day % 7 == 3:
            self._triage()
        if day == NOT_FIXED:
            why = watch.let_a_few_go(self.database, ON_CALL, WORKER, DOL, "EIN_NO_MATCH")
            self._tell(f"errors unparked, {watch.CANARY} at first: {why}")
        if day % 30 == 29:
            self._tell(f"{self._count():,} errors so far")
        self._sweep()

    def _last_day(self) -> None:
        self._fail(1.5)
        watch.report(self.database, WORKER, dict.fromkeys((DOL, TARGET, PEOPLE), PROCESSED))
        self._retry(rounds=3, watched=True)
        self._triage()
        self._sweep()
        # After the last sweep, so that some closed errors are not archived yet.
        self._resolve(3, "fixed today")
        self._pass(timedelta(minutes=20))
        with self.database.transaction(Authority.HUB, actor=WORKER) as tx:
            claimed = retrying.claim(tx, limit=5, worker=WORKER.id, lease=IN_FLIGHT_LEASE)
        self._tell(f"{len(claimed)} retries are in progress; {self._count():,} errors were recorded in {DAYS} days")

    def _fail(self, much: float) -> None:
        with self.database.transaction(Authority.HUB, actor=WORKER) as tx:
            record(tx, [self._new(trouble) for trouble in TROUBLES for _ in range(round(trouble.a_day * much))])

    def _new(self, trouble: Trouble) -> NewError:
        host = f"www.company-{self._chance.randrange(10**6)}.example.com"
        # Some companies fail again and again: the open error of the same failure is superseded.
        among = self._companies[: self._chance.choice((40, len(self._companies)))]
        values = {"n": self._chance.randrange(1000, 10_000), "id": self._new_id(), "host": host}
        company = self._chance.choice(among) if trouble.has_entity else None
        return NewError(
            table=trouble.table,
            message=trouble.message.format(**values, company=company),
            outreach_id=company,
            code=trouble.code,
            severity=trouble.severity or (Severity.CRITICAL if self._chance.random() < 0.01 else None),
            payload={"job": "demo", "api_key": "never stored"} if self._chance.random() < 0.3 else None,
        )

    def _retry(self, *, rounds: int = len(RETRY_ROUNDS), watched: bool = False) -> None:
        """Retry what is due: some at once, the rest within the hour."""
        succeeds = {trouble.code: trouble.succeeds for trouble in TROUBLES}
        for wait in RETRY_ROUNDS[:rounds]:
            self._pass(wait)
            if watched:
                watch.judge(self.database, WORKER)
            with self.database.transaction(Authority.HUB, actor=WORKER) as tx:
                claimed = retrying.claim(tx, limit=1000, worker=WORKER.id)
            if not claimed:
                continue
            with self.database.transaction(Authority.HUB, actor=WORKER) as tx:
                outcomes = [self._outcome(error, succeeds.get(error.error_code or "", 0.5)) for error in claimed]
                retrying.finish(tx, outcomes)

    def _outcome(self, error: retrying.Claimed, succeeds: float) -> retrying.Succeeded | retrying.Failed:
        if self._chance.random() < succeeds:
            return retrying.Succeeded(error_table=error.error_table, error_id=error.error_id, token=error.token)
        failure = f"still: {error.error_message}"
        return retrying.Failed(
            error_table=error.error_table, error_id=error.error_id, token=error.token, failure=failure
        )

    def _a_worker_dies(self, count: int) -> None:
        """It claims errors and reports nothing. Its retries count as failed when their lease expires."""
        with self.database.transaction(Authority.HUB, actor=WORKER) as tx:
            record(tx, [self._new(TROUBLES[0]) for _ in range(count)])
        self._pass(timedelta(seconds=3))
        with self.database.transaction(Authority.HUB, actor=Actor("system", "demo-worker-that-dies")) as tx:
            retrying.claim(tx, limit=count, worker="demo-worker-that-dies")
        self._pass(timedelta(minutes=10))
        with self.database.transaction(Authority.ERROR_WORKER, actor=WORKER) as tx:
            lapsed = retrying.lapse(tx)
        self._tell(f"a worker died: the leases of its {lapsed} retries expired")

    def _pause(self, table: str, reason: str) -> None:
        with self.database.transaction(Authority.OPERATOR, actor=ON_CALL, reason=reason) as tx:
            pauses.pause(tx, pauses.TABLE, table, reason=reason)
        self._tell(f"{table} is paused: {reason}")

    def _vendor_is_back(self) -> None:
        with self.database.transaction(Authority.OPERATOR, actor=ON_CALL, reason="the vendor is back") as tx:
            pauses.resume(tx, pauses.TABLE, TARGET, reason="the vendor is back")
        wanted = Filter(
            tables=(TARGET,), statuses=(ErrorStatus.PARKED,), codes=("DOMAIN_LOOKUP_FAILED", "PATTERN_MISSING")
        )
        with self.database.transaction(Authority.OPERATOR, actor=ON_CALL, reason="the vendor is back") as tx:
            operation = begin(tx, SUBJECT, SUBJECT.act("unpark", reason="the vendor is back"), wanted)
        done = carry_on(self.database, SUBJECT, operation, actor=ON_CALL)
        self._tell(f"the vendor is back: {done.done} errors unparked at once, {done.refused} refused")

    def _triage(self) -> None:
        """Once a week a person goes through the park queue."""
        parked = self._parked()
        self._chance.shuffle(parked)
        done = {
            "resolved": self._act(parked[:6], "fixed the source", parking.resolve),
            "unparked": self._act(parked[6:10], "worth another try", parking.unpark),
            "archived": self._act(parked[10:13], "not worth it", parking.archive),
            "assigned": self._act(parked[13:18], "", partial(parking.assign, to="maria")),
            "reviewed": self._act(parked[13:16], "waiting for the customer", parking.review),
            "escalated": self._act(parked[18:20], "", partial(parking.escalate, reason="complaints", to=LEAD.id)),
            "parked": self._act(self._pending()[:1], "", partial(parking.park, reason="needs a review first")),
        }
        told = ", ".join(f"{count} {what}" for what, count in done.items() if count)
        if told:
            self._tell(f"park queue: {told}")

    def _silence(self) -> None:
        fired = watch.firing(self.database)
        watch.silence(self.database, ON_CALL, "error-rate*")
        self._tell(f"a large import fails: {', '.join(fired)} fire; the error rates are silenced for 12 hours")

    def _resolve(self, count: int, reason: str) -> None:
        self._act(self._parked()[:count], reason, parking.resolve)

    def _act(self, keys: Sequence[ErrorKey], reason: str, verb: Callable[..., list[parking.Answer]]) -> int:
        if not keys:
            return 0
        with self.database.transaction(Authority.OPERATOR, actor=ON_CALL, reason=reason or None) as tx:
            return sum(answer.done for answer in verb(tx, keys))

    def _parked(self) -> list[ErrorKey]:
        return self._keys(Filter(tables=(DOL, TARGET, PEOPLE), statuses=(ErrorStatus.PARKED,)))

    def _pending(self) -> list[ErrorKey]:
        return self._keys(Filter(tables=(DOL, PEOPLE), statuses=(ErrorStatus.RETRY_PENDING,)))

    def _keys(self, asked: Filter) -> list[ErrorKey]:
        with self.database.transaction(Authority.READER) as tx:
            return [ErrorKey(error.error_table, error.error_id) for error in list_errors(tx, asked, limit=200)]

    def _sweep(self) -> None:
        """Run the background tasks."""
        with self.database.transaction(Authority.ERROR_WORKER, actor=WORKER) as tx:
            retrying.lapse(tx, limit=100_000)
            retrying.close_windows(tx, limit=100_000)
            escalation.raise_tiers(tx, limit=100_000)
        gone = 1
        while gone:
            with self.database.transaction(Authority.ARCHIVER, actor=WORKER) as tx:
                gone = archive.sweep(tx).gone

    def _catch_up(self) -> None:
        self._sweep()
        self._tell("no worker was running; retry windows closed")

    # Time -----------------------------------------------------------------------------------------------------------

    def _at(self, day: int, *, hours: int = 1) -> None:
        with self.database.transaction(Authority.OPERATOR, actor=ON_CALL) as tx:
            ahead = self.begun + timedelta(days=day, hours=hours) - clock.read(tx).now
            if ahead > timedelta(0):
                clock.advance(tx, ahead)

    def _pass(self, by: timedelta) -> None:
        with self.database.transaction(Authority.OPERATOR, actor=ON_CALL) as tx:
            clock.advance(tx, by)

    def _tell(self, line: str) -> None:
        with self.database.transaction(Authority.READER) as tx:
            now = clock.read(tx).now
        self.say(f"{now:%Y-%m-%d %H:%M}  {line}")

    def _count(self) -> int:
        with self.database.transaction(Authority.READER) as tx:
            (count,) = tx.execute(Q["recorded"]).fetchone() or (0,)
        return int(count)

    def _new_id(self) -> UUID:
        return uuid.UUID(int=self._chance.getrandbits(128), version=4)


def play(
    database: Database, say: Callable[[str], None], meanwhile: Callable[[], None] | None, meanwhile_span: timedelta
) -> None:
    """Build this part of the demo."""
    Play(database, say).play(meanwhile, meanwhile_days=meanwhile_span.days)


def an_eventful_error(database: Database) -> Listed | None:
    """The open error with the most kinds of events."""
    with database.transaction(Authority.READER) as tx:
        row = tx.execute(Q["most_eventful"]).fetchone()
        if row is None:
            return None
        (found,) = list_errors(tx, Filter(tables=(row[0],), entities=(row[1],), signatures=(row[2],)), limit=1)
    return found
