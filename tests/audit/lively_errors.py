"""Errors of every kind in one database, by the product's own verbs: recorded, retried, parked, archived, forgotten."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from product import apply_policy
from recoup import clock
from recoup.database.connection import Actor, Database
from recoup.errors import Category, Severity, Want, archive, clearing, erasing, escalation, metrics, parking, retrying
from recoup.errors.listing import Filter
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError, Recorded, record
from recoup.errors.subject import SUBJECT
from recoup.errors.verbs import Verb
from recoup.lifecycles.declaration import Authority
from recoup.operations import begin, carry_on, steps, taking_up
from recoup.operations.verbs import Act

DOL, TARGET, PEOPLE = "outreach.dol_errors", "outreach.company_target_errors", "people.people_errors"
URLS = "company.url_discovery_failures"  # allows no PARK
LOG, MASTER, ORPHANS = "public.shq_error_log", "public.shq_master_error_log", "public.shq_orphan_errors"
DAY = timedelta(days=1)
LAST_REVIEW = timedelta(hours=4, seconds=1)
ANOTHER_POLICY = """
[gate]
wait_hours = [12, 36]
recovery_window_days = 10
[errors.retry.TRANSIENT]
jitter_percent = 20
window_hours = 12
[errors.tables."public.shq_orphan_errors"]
allowed = ["RETRY", "PARK", "ARCHIVE"]
"""


@dataclass(frozen=True)
class ErrorCast:
    """Errors that became something, by their ids. One of each, for tests that break something of a kind."""

    entity: UUID  # of waiting
    waiting: int  # RETRY_PENDING, of DOL, after one failed retry
    fresh: int  # RETRY_PENDING, of DOL, not retried yet
    leased: int
    parked: int  # of DOL, after its last retry
    coded: int  # of PEOPLE, parked for its code
    structural: int
    critical: int
    escalated: int
    late: int  # of DOL, escalated by a person, and not reviewed in time after that
    raised: int  # of DOL, not reviewed in time in the first tier, and in the second since
    again: int  # of DOL, parked again in the second tier after a retry
    unparked: int
    ignored: int
    low: int  # of DOL, clamped to ARCHIVE
    high: int
    spent: int  # of URLS: ACTIVE after its last retry, because nothing is parked there
    withheld: int  # of URLS: parking was asked for, and is not allowed there
    asked: int  # of PEOPLE: parked because its reporter asked for it
    for_ever: int
    resolved: int  # waits for the archiver
    cleared: int  # waits for the archiver; by a later success, while it was retried
    superseded: int  # waits for the archiver; RETRY_PENDING
    superseding: int
    inheriting: int  # superseded one that was parked
    archived: int  # was resolved
    expired: int  # of DOL, and still blocked its entity
    retired: int
    replaced: int  # archived as SUPERSEDED
    dropped: int  # of a month that is no more
    operation: UUID
    canary: UUID  # stopped in its first step


@dataclass(frozen=True)
class Hubs:
    """Those who have errors and those who look after them. Every call commits, or is refused."""

    db: Database

    def now(self) -> datetime:
        with self.db.transaction(Authority.READER) as tx:
            return clock.read(tx).now

    def advance(self, by: timedelta) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)

    def record(self, *errors: NewError) -> list[Recorded]:
        with self.db.transaction(Authority.HUB) as tx:
            return record(tx, errors)

    def error(self, table: str, message: str = "timed out", **given: Any) -> int:
        return self.record(failure(table, message, **given))[0].error_id

    def due(self, error: int) -> None:
        """Let time come to its next retry."""
        with self.db.transaction(Authority.READER) as tx:
            ((due,),) = tx.execute("select next_retry_at from recoup.error where error_id = %s", (error,)).fetchall()
        if (wait := due - self.now()) > timedelta(0):
            self.advance(wait)

    def claim(self, error: int, table: str, *, by: Authority = Authority.ERROR_WORKER) -> retrying.Claimed:
        """Claim it when it is due. What else is due then fails."""
        self.due(error)
        with self.db.transaction(by) as tx:
            claims = retrying.claim(tx, limit=1000, worker="bob", tables=[table])
            others = [claim for claim in claims if claim.error_id != error]
            retrying.finish(tx, [failed(claim) for claim in others])
        (mine,) = (claim for claim in claims if claim.error_id == error)
        return mine

    def end(self, *outcomes: retrying.Succeeded | retrying.Failed, by: Authority = Authority.HUB) -> list[str]:
        with self.db.transaction(by) as tx:
            return [ended.status for ended in retrying.finish(tx, outcomes)]

    def fail(self, error: int, table: str, *, times: int = 1) -> str:
        status = "none"
        for _ in range(times):
            (status,) = self.end(failed(self.claim(error, table)))
        return status

    def tend(self) -> None:
        """What the worker does by itself."""
        with self.db.transaction(Authority.ERROR_WORKER) as tx:
            retrying.lapse(tx)
        with self.db.transaction(Authority.ERROR_WORKER) as tx:
            retrying.close_windows(tx)
        with self.db.transaction(Authority.ERROR_WORKER) as tx:
            escalation.raise_tiers(tx)
        with self.db.transaction(Authority.ERROR_WORKER) as tx:
            metrics.tally(tx)

    def pass_(self, by: timedelta) -> None:
        """Let time pass, and with it the review of the last tier of whatever was parked that long."""
        self.advance(by - LAST_REVIEW)
        self.tend()
        self.advance(LAST_REVIEW)

    def clear(self, table: str, of: UUID | None) -> None:
        """A later run of the work succeeded."""
        assert of is not None
        with self.db.transaction(Authority.HUB) as tx:
            assert clearing.clear(tx, table, [of]).resolved

    def sweep(self) -> archive.Swept:
        with self.db.transaction(Authority.ARCHIVER) as tx:
            return archive.sweep(tx)

    def act(self, verb: Callable[..., list[parking.Answer]], table: str, error: int, **given: Any) -> None:
        with self.db.transaction(Authority.OPERATOR, actor=Actor("human", "ada"), reason="looked into it") as tx:
            (answer,) = verb(tx, [ErrorKey(table, error)], **given)
        assert answer.done, answer


def failure(table: str, message: str = "timed out", *, of: UUID | None = None, **given: Any) -> NewError:
    given.setdefault("category", Category.TRANSIENT)
    return NewError(table=table, message=message, outreach_id=of or uuid.uuid4(), **given)


def failed(claim: retrying.Claimed) -> retrying.Failed:
    return retrying.Failed(
        error_table=claim.error_table, error_id=claim.error_id, token=claim.token, failure="still out",
        traceback="Traceback (most recent call last):\nConnectionError: still out",
    )  # fmt: skip


def succeeded(claim: retrying.Claimed) -> retrying.Succeeded:
    return retrying.Succeeded(error_table=claim.error_table, error_id=claim.error_id, token=claim.token)


def play_errors(database: Database) -> ErrorCast:
    hubs = Hubs(database)
    dropped = _long_ago(hubs)
    with database.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, ANOTHER_POLICY, reason="orphans may be retried")
    archived, replaced = _over(hubs), _replaced(hubs)
    expired, retired = hubs.error(DOL, severity=Severity.CRITICAL), hubs.error(TARGET)
    hubs.act(parking.archive, TARGET, retired)
    _expire(hubs)
    hubs.sweep()
    cast = _present(hubs, dropped=dropped, archived=archived, replaced=replaced, expired=expired, retired=retired)
    with database.transaction(Authority.OPERATOR, reason="it was a password") as tx:
        erased = erasing.erase(tx, [ErrorKey(DOL, cast.parked), ErrorKey(DOL, cast.archived)], "still out")
    assert [one.erased for one in erased] == [("last_failure", "traceback")] * 2
    return cast


def _long_ago(hubs: Hubs) -> int:
    """Everything once, in months that have been dropped since."""
    entity = uuid.uuid4()
    hubs.error(LOG)
    hubs.record(NewError(table=LOG, message="nobody's", category=Category.OPERATIONAL))
    hubs.error(MASTER)
    hubs.error(MASTER, of=entity)
    hubs.error(MASTER, of=entity)
    hubs.error(ORPHANS)
    hubs.error(ORPHANS, severity=Severity.HIGH)  # may not be retried there
    hubs.error(URLS)
    hubs.error(URLS, want=Want.PARK)
    hubs.error(DOL, want=Want.IGNORE)
    hubs.error(DOL, severity=Severity.MEDIUM, category=Category.OPERATIONAL)
    hubs.error(DOL, "bad schema", want=Want.RETRY, category=Category.STRUCTURAL)  # a person cannot have it retried so
    hubs.error(PEOPLE, "no name", code="VALIDATION_FAILED")
    closing = hubs.error(TARGET, code="DOMAIN_LOOKUP_FAILED", category=Category.OPERATIONAL)
    once, twice = hubs.error(DOL), hubs.error(URLS, severity=Severity.HIGH)
    hubs.end(succeeded(hubs.claim(once, DOL)))
    hubs.error(LOG, of=entity)
    hubs.clear(LOG, entity)
    assert hubs.fail(twice, URLS, times=5) == "ACTIVE"
    late = hubs.claim(lapsing := hubs.error(PEOPLE), PEOPLE, by=Authority.HUB)
    hubs.advance(timedelta(hours=1))
    hubs.tend()
    assert hubs.end(succeeded(late)) == ["late"]
    hubs.claim(lapsing, PEOPLE)
    hubs.error(PEOPLE, of=late.outreach_id)  # superseded while it was retried
    hubs.advance(8 * DAY)
    hubs.tend()  # closes the window of what nobody retried
    hubs.act(parking.unpark, TARGET, closing)
    hubs.sweep()
    held = hubs.error(DOL, of=entity, severity=Severity.CRITICAL)
    hubs.pass_(31 * DAY)
    hubs.error(DOL, of=entity)  # the same failure once more, after the first one expired
    hubs.sweep()
    hubs.pass_(60 * DAY)
    hubs.tend()
    hubs.sweep()
    hubs.pass_(450 * DAY)
    hubs.sweep()
    with hubs.db.transaction(Authority.ARCHIVER) as tx:
        while archive.drop_month(tx):
            pass
    return held


def _over(hubs: Hubs) -> int:
    hubs.end(succeeded(hubs.claim(hubs.error(TARGET), TARGET)))
    resolved = hubs.error(DOL)
    hubs.fail(resolved, DOL)
    hubs.end(succeeded(hubs.claim(resolved, DOL)))
    return resolved


def _replaced(hubs: Hubs) -> int:
    """Superseded in the call that recorded it, by one that superseded another."""
    entity = uuid.uuid4()
    hubs.fail(hubs.error(TARGET, of=entity), TARGET)
    first, _ = hubs.record(failure(TARGET, of=entity), failure(TARGET, of=entity))
    return first.error_id


def _expire(hubs: Hubs) -> None:
    hubs.sweep()
    for _ in range(2):  # what is expired while it is parked leaves when everybody had the time to review it
        hubs.pass_(20 * DAY)
        hubs.tend()
        hubs.sweep()


def _present(hubs: Hubs, **past: int) -> ErrorCast:
    entity = uuid.uuid4()
    late, raised, again = (hubs.error(DOL, severity=Severity.CRITICAL) for _ in range(3))
    hubs.advance(timedelta(hours=25))
    hubs.tend()
    hubs.act(parking.unpark, DOL, again)
    hubs.advance(timedelta(hours=24))
    hubs.act(parking.escalate, DOL, late, reason="nobody answers", to="lead")
    assert hubs.fail(again, DOL, times=5) == "PARKED"
    hubs.advance(timedelta(hours=9))
    hubs.tend()
    parked, spent = hubs.error(DOL, severity=Severity.MEDIUM), hubs.error(URLS, severity=Severity.HIGH)
    assert hubs.fail(parked, DOL, times=5) == "PARKED"
    assert hubs.fail(spent, URLS, times=5) == "ACTIVE"
    structural, critical = (
        hubs.error(PEOPLE, "no such column", category=Category.STRUCTURAL),
        hubs.error(DOL, severity=Severity.CRITICAL),
    )
    coded = hubs.error(PEOPLE, "no name", code="MISSING_NAME", category=Category.OPERATIONAL)
    escalated, unparked = hubs.error(DOL, severity=Severity.CRITICAL), hubs.error(TARGET, want=Want.PARK)
    hubs.act(parking.escalate, DOL, escalated, reason="nobody answers", to="lead")
    hubs.act(parking.assign, DOL, escalated, to="eve")
    hubs.act(parking.review, DOL, critical)
    hubs.act(parking.unpark, TARGET, unparked)
    hubs.fail(unparked, TARGET)
    hubs.act(parking.park, TARGET, unparked, reason="the vendor is asked")
    hubs.act(parking.unpark, TARGET, unparked)
    ignored, for_ever = hubs.error(LOG), hubs.error(MASTER)
    withheld, asked = hubs.error(URLS, want=Want.PARK), hubs.error(PEOPLE, want=Want.PARK)
    low, high = hubs.error(DOL, severity=Severity.LOW), hubs.error(TARGET, severity=Severity.HIGH)
    cut = hubs.error(PEOPLE)
    hubs.claim(cut, PEOPLE)
    hubs.act(parking.park, PEOPLE, cut, reason="it makes things worse")
    resolved = hubs.error(PEOPLE)
    hubs.act(parking.resolve, PEOPLE, resolved)
    running = hubs.claim(hubs.error(PEOPLE), PEOPLE)
    hubs.clear(PEOPLE, running.outreach_id)
    first = failure(TARGET, "out of order", category=Category.OPERATIONAL)
    superseded = hubs.error(TARGET, "out of order", category=Category.OPERATIONAL, of=first.outreach_id)
    hubs.fail(superseded, TARGET)
    (superseding,) = hubs.record(first)
    known = hubs.error(DOL, severity=Severity.CRITICAL, of=entity)
    hubs.act(parking.escalate, DOL, known, reason="urgent")
    inheriting = hubs.error(DOL, of=entity)
    waiting = hubs.error(DOL, "slow", of=entity)
    hubs.fail(waiting, DOL)
    operation, canary = _operation(hubs), _canary(hubs)
    leased = hubs.claim(hubs.error(PEOPLE), PEOPLE).error_id
    fresh = hubs.error(DOL)
    return ErrorCast(
        entity=entity, waiting=waiting, fresh=fresh, leased=leased, parked=parked, coded=coded, structural=structural,
        critical=critical, escalated=escalated, unparked=unparked, ignored=ignored, low=low, high=high, spent=spent,
        withheld=withheld, asked=asked, for_ever=for_ever, resolved=resolved, cleared=running.error_id,
        superseded=superseded,
        late=late, raised=raised, again=again,
        superseding=superseding.error_id, inheriting=inheriting, operation=operation, canary=canary,
        **past,
    )  # fmt: skip


def _operation(hubs: Hubs) -> UUID:
    """Many at once: some are done, and some refused."""
    entity = uuid.uuid4()
    for table, want in ((DOL, Want.PARK), (TARGET, Want.PARK), (LOG, Want.IGNORE)):
        hubs.error(table, "all of these", want=want, of=entity)
    with hubs.db.transaction(Authority.OPERATOR) as tx:
        operation = begin(
            tx, SUBJECT, Act(verb=Verb.ESCALATE, given={"reason": "all of these"}), Filter(entities=(entity,)),
            unattended=True,
        )  # fmt: skip
        tx.execute(taking_up.Q["take_up"], {"operation": operation})
    carry_on(hubs.db, SUBJECT, operation)
    with hubs.db.transaction(Authority.OPERATOR) as tx:
        begin(tx, SUBJECT, Act(verb=Verb.REVIEW), Filter(entities=(entity,)))  # not carried out yet
    return operation


def _canary(hubs: Hubs) -> UUID:
    """Many in steps: one that stopped, and one that a person cancelled."""
    entity, act = uuid.uuid4(), Act(verb=Verb.UNPARK, given={"reason": "some of these"})
    for number in range(4):
        hubs.error(DOL, "some of these", want=Want.PARK, of=entity, code=f"E{number}")
    begun = []
    for _ in range(2):
        with hubs.db.transaction(Authority.OPERATOR) as tx:
            begun.append(begin(tx, SUBJECT, act, Filter(entities=(entity,)), canary=2, rate=1000))
    stopped, cancelled = begun
    with hubs.db.transaction(Authority.OPERATOR) as tx:
        steps.cancel(tx, cancelled, reason="one is enough")
    for _ in range(2):
        hubs.advance(timedelta(seconds=1))
        carry_on(hubs.db, SUBJECT, stopped)
    with hubs.db.transaction(Authority.OPERATOR) as tx:
        units = tx.execute("select unit from recoup.operation_item where operation_id = %s order by place", (stopped,))
        keys = [ErrorKey(DOL, int(unit.rpartition("/")[2])) for (unit,) in units.fetchall()]
        parking.park(tx, keys[:2], reason="not yet")
    carry_on(hubs.db, SUBJECT, stopped)
    return stopped
