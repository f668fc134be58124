"""Recovery over HTTP: failures, candidates and their review, scopes, tasks, breakers, calibration."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Query
from pydantic import Field, StringConstraints

from recoup.api import cursors
from recoup.api.answers import Listing, Page, page
from recoup.api.declare import MAX_VALUES, Area, Because, Given, Name, Paged, Perhaps
from recoup.api.verbs import VerbRoutes
from recoup.categories import Category
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.recovery import breakers, listing, people, review, rule_testing, scopes, story, undoing
from recoup.recovery.breakers import Breaker
from recoup.recovery.calibration import Calibration
from recoup.recovery.calibration import calibration as calibrated
from recoup.recovery.listing import Candidate, Cursor, Incident, ListedAction, Match, Task
from recoup.recovery.matches import MAX_AT_ONCE, Ingested, NewFailure
from recoup.recovery.matches import ingest as ingest_failures
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.rule_testing import ListedRule
from recoup.recovery.scopes import Scope, Started
from recoup.recovery.story import Shown
from recoup.recovery.vocabulary import CandidateStatus, MatchStatus, SubjectKind

MATCHER, OPERATOR, EVALUATOR = Authority.MATCHER, Authority.OPERATOR, Authority.EVALUATOR
SCOPED = Authority.SCOPED_EXECUTION
RECOVERY = Area(name="recovery", about="Failures that need more than a retry: what recovers them, and who decides.")
MAX_TOGETHER = 500
# A candidate's id, or id:digest as the field unit of a list has it: then a later change of it refuses the decision.
Unit = Annotated[
    str,
    StringConstraints(
        pattern=r"^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}(:[0-9a-f]{1,64})?$",
        max_length=110,
    ),
]


class FailureToIngest(Given):
    """A failure to recover from."""

    source: Annotated[Name, Field(examples=["crm-sync"])]
    key: Annotated[Name, Field(description="What makes it one failure within its source.", examples=["order-17"])]
    message: Annotated[str, Field(min_length=1, max_length=1_000_000, examples=["the CRM timed out"])]
    code: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    category: Category | None = None
    signature: Name | None = None
    ref: Annotated[Name | None, Field(description="What failed. Default: the key.")] = None
    context: Annotated[dict[str, Any] | None, Field(description="Details. Known secrets are redacted.")] = None
    follows: Annotated[UUID | None, Field(description="The match before it, which has ended.")] = None
    incident: UUID | None = None


class FailuresToIngest(Given):
    """Failures that are reported together."""

    failures: Annotated[list[FailureToIngest], Field(min_length=1, max_length=MAX_AT_ONCE)]


class CandidateFilter(Given):
    """Which candidates."""

    action: Name | None = None
    source: Name | None = None
    signature: Name | None = None
    incident: UUID | None = None

    def filter(self) -> review.Filter:
        incident = None if self.incident is None else str(self.incident)
        return review.Filter(action=self.action, source=self.source, signature=self.signature, incident=incident)


class CandidatesAsked(CandidateFilter, Paged):
    """Which candidates, and which page of them."""

    status: Annotated[tuple[CandidateStatus, ...], Field(max_length=MAX_VALUES)] = ()


class MatchesAsked(Paged):
    """Which matches."""

    status: Annotated[tuple[MatchStatus, ...], Field(max_length=MAX_VALUES)] = ()
    source: Name | None = None
    kind: SubjectKind | None = None
    signature: Name | None = None
    incident: UUID | None = None


class IncidentsAsked(Paged):
    """Which incidents."""

    source: Name | None = None
    closed: bool = False


class TasksAsked(Paged):
    """Which tasks."""

    owner: Name | None = None
    ended: bool = False


class BreakersAsked(Paged):
    """Which breakers."""

    closed: bool = False


class ScopesAsked(Paged):
    """Which scopes."""

    incident: UUID | None = None
    active: bool = False


class Proposal(Perhaps):
    """An action that is proposed for a match. Another person approves it."""

    action: Annotated[Name, Field(examples=["retry_exponential"])]
    parameters: dict[str, Any] | None = None


class Undo(Because):
    """What a candidate did is to be undone. Another person approves it."""

    action: Name | None = None


class NewScope(Because):
    """What may be executed for an incident. What is not given is as the policy has it."""

    incident: UUID
    actions: Annotated[list[Name], Field(min_length=1, max_length=MAX_VALUES)]
    max_attempts: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None
    cost_limit: Annotated[int | None, Field(ge=0, le=2**31 - 1)] = None
    ttl_seconds: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None


class TaskNote(Given):
    """What a person did."""

    note: Annotated[str | None, Field(min_length=1, max_length=2000)] = None


class TaskCancelled(Given):
    """Why a task is not done."""

    note: Annotated[str, Field(min_length=1, max_length=2000)]


class NamedBreaker(Because):
    """A breaker."""

    name: Annotated[str, Field(min_length=1, max_length=500, examples=["crm"])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A candidate that was proposed."""

    candidate_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchNow:
    """A match, and its status now."""

    failure_match_id: UUID
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """A scope that was revoked, and what was started within it before and continues."""

    scope_id: UUID
    started: Sequence[Started]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerOpened:
    """False: it was open already."""

    changed: bool


@RECOVERY.post("/v1/recovery/failures", MATCHER, status=201)
def ingest(tx: Transaction, *, body: Annotated[FailureToIngest, Body()]) -> Ingested:
    """Report a failure from outside: it becomes one match, however often it is reported."""
    return ingest_failures(tx, [NewFailure(**body.__dict__)])[0]


@RECOVERY.post("/v1/recovery/failures/bulk", MATCHER, status=201)
def ingest_many(tx: Transaction, *, body: Annotated[FailuresToIngest, Body()]) -> Listing[Ingested]:
    """Report many failures. One with another content under a known key differs, and is not stored; the rest is."""
    return Listing(items=ingest_failures(tx, [NewFailure(**one.__dict__) for one in body.failures]))


@RECOVERY.get("/v1/recovery/matches")
def list_matches(tx: Transaction, *, asked: Annotated[MatchesAsked, Query()]) -> Page[Match]:
    """List matches, newest first."""
    found = listing.matches(
        tx, statuses=asked.status, source=asked.source, kind=asked.kind, signature=asked.signature,
        incident=asked.incident, limit=asked.limit, after=cursors.read_id("matches", asked.after),
    )  # fmt: skip
    return page(found, asked.limit, "matches", lambda one: one.failure_match_id)


@RECOVERY.get("/v1/recovery/matches/{match_id}")
def show(tx: Transaction, *, match_id: UUID) -> Shown:
    """Show a match in full, by its id or by that of one of its candidates."""
    return story.show(tx, match_id)


@RECOVERY.post("/v1/recovery/matches/{match_id}/propose", OPERATOR, status=201, also=(MATCHER, EVALUATOR))
def propose(tx: Transaction, *, match_id: UUID, body: Annotated[Proposal, Body()]) -> Proposed:
    """Propose an action for a match under your name. Another person approves it."""
    made = review.propose(tx, match_id, body.action, _policy(tx), parameters=body.parameters)
    return Proposed(candidate_id=made)


@RECOVERY.post("/v1/recovery/matches/{match_id}/evaluate", OPERATOR)
def evaluate(tx: Transaction, *, match_id: UUID, body: Annotated[Perhaps | None, Body()] = None) -> MatchNow:
    """Evaluate an open match now; a stuck one is new again."""
    return MatchNow(failure_match_id=match_id, status=people.evaluate(tx, match_id))


@RECOVERY.post("/v1/recovery/matches/{match_id}/recovered", OPERATOR)
def recovered(tx: Transaction, *, match_id: UUID, body: Annotated[Because, Body()]) -> MatchNow:
    """Report that the failure of a match is gone. Its next evaluation, which is now, ends it."""
    return MatchNow(failure_match_id=match_id, status=people.recovered(tx, match_id))


@RECOVERY.get("/v1/recovery/candidates")
def list_candidates(tx: Transaction, *, asked: Annotated[CandidatesAsked, Query()]) -> Page[Candidate]:
    """List candidates: what waits for a decision, then what waits for its start; or those in a status, newest first."""
    which = asked.filter()
    if asked.status:
        found = listing.candidates(
            tx, which, statuses=asked.status, limit=asked.limit, after=cursors.read_id("candidates", asked.after)
        )
        return page(found, asked.limit, "candidates", lambda one: one.candidate_id)
    after = cursors.read("waiting", asked.after, str)
    found = listing.candidates(tx, which, limit=asked.limit, after=None if after is None else Cursor.read(after))
    return page(found, asked.limit, "waiting", lambda one: str(Cursor.of(one)))


@RECOVERY.post("/v1/recovery/candidates/{candidate_id}/rollback", OPERATOR, status=201, also=(MATCHER, EVALUATOR))
def rollback(tx: Transaction, *, candidate_id: UUID, body: Annotated[Undo, Body()]) -> Proposed:
    """Propose to undo what a candidate did. Another person approves it."""
    made = undoing.rollback(tx, candidate_id, _policy(tx), reason=body.reason, action=body.action)
    return Proposed(candidate_id=made)


@RECOVERY.get("/v1/recovery/incidents")
def list_incidents(tx: Transaction, *, asked: Annotated[IncidentsAsked, Query()]) -> Page[Incident]:
    """List open incidents by source and signature; with closed all of them, newest first."""
    found = listing.incidents(
        tx, source=asked.source, closed=asked.closed, limit=asked.limit,
        after=cursors.read_id("incidents", asked.after),
    )  # fmt: skip
    return page(found, asked.limit, "incidents", lambda one: one.incident_id)


@RECOVERY.get("/v1/recovery/scopes")
def list_scopes(tx: Transaction, *, asked: Annotated[ScopesAsked, Query()]) -> Page[Scope]:
    """List scopes, newest first."""
    found = scopes.scopes(
        tx, incident=asked.incident, active=asked.active, limit=asked.limit,
        after=cursors.read_id("scopes", asked.after),
    )  # fmt: skip
    return page(found, asked.limit, "scopes", lambda one: one.scope_id)


@RECOVERY.post("/v1/recovery/scopes", SCOPED, status=201)
def open_scope(tx: Transaction, *, body: Annotated[NewScope, Body()]) -> Scope:
    """Open a scope for an incident: these actions may be executed for it, so often, at this cost, for this time."""
    made = scopes.open_scope(
        tx, body.incident, _policy(tx), actions=body.actions, reason=body.reason, max_attempts=body.max_attempts,
        cost_limit=body.cost_limit, ttl_seconds=body.ttl_seconds,
    )  # fmt: skip
    return scopes.show(tx, made)


@RECOVERY.post("/v1/recovery/scopes/{scope_id}/revoke", SCOPED)
def revoke_scope(tx: Transaction, *, scope_id: UUID, body: Annotated[Because, Body()]) -> Revoked:
    """Revoke a scope: nothing more is started within it."""
    return Revoked(scope_id=scope_id, started=scopes.revoke(tx, scope_id))


@RECOVERY.get("/v1/recovery/tasks")
def list_tasks(tx: Transaction, *, asked: Annotated[TasksAsked, Query()]) -> Page[Task]:
    """List open tasks, those that are due first; with ended all of them, newest first."""
    found = listing.tasks(
        tx, owner=asked.owner, ended=asked.ended, limit=asked.limit, after=cursors.read_id("tasks", asked.after)
    )
    return page(found, asked.limit, "tasks", lambda one: one.task_id)


@RECOVERY.post("/v1/recovery/tasks/{task_id}/done", OPERATOR)
def task_done(tx: Transaction, *, task_id: UUID, body: Annotated[TaskNote | None, Body()] = None) -> Task:
    """Report that a task is done: what awaits it succeeds."""
    people.done(tx, task_id, note=None if body is None else body.note)
    return listing.task(tx, task_id)


@RECOVERY.post("/v1/recovery/tasks/{task_id}/cancel", OPERATOR)
def task_cancel(tx: Transaction, *, task_id: UUID, body: Annotated[TaskCancelled, Body()]) -> Task:
    """Cancel a task: what awaits it fails."""
    people.cancel(tx, task_id, note=body.note)
    return listing.task(tx, task_id)


@RECOVERY.get("/v1/recovery/actions")
def list_actions(tx: Transaction) -> Listing[ListedAction]:
    """List the actions of the active policy: gates, cost, what they apply to, and their outcomes."""
    return Listing(items=listing.actions(tx, _policy(tx)))


@RECOVERY.get("/v1/recovery/rules")
def list_rules(tx: Transaction) -> Listing[ListedRule]:
    """List the rules of the active policy, and how often each was true."""
    return Listing(items=rule_testing.rules(tx))


@RECOVERY.get("/v1/recovery/breakers")
def list_breakers(tx: Transaction, *, asked: Annotated[BreakersAsked, Query()]) -> Page[Breaker]:
    """List breakers that are not closed, with what waits behind them; with closed all of them."""
    after = cursors.read("breakers", asked.after, tuple[bool, datetime, str])
    place = None if after is None else breakers.Place(*after)
    found = breakers.breakers(tx, closed=asked.closed, limit=asked.limit, after=place)
    return page(found, asked.limit, "breakers", breakers.Place.of)


@RECOVERY.post("/v1/recovery/breakers/open", OPERATOR, whole=True)
def open_breaker(tx: Transaction, *, body: Annotated[NamedBreaker, Body()]) -> BreakerOpened:
    """Open a breaker: what depends on it waits, and one unit at a time tries it."""
    return BreakerOpened(changed=breakers.open_breaker(tx, body.name, reason=body.reason))


@RECOVERY.post("/v1/recovery/breakers/close", OPERATOR, whole=True, status=204)
def close_breaker(tx: Transaction, *, body: Annotated[NamedBreaker, Body()]) -> None:
    """Close a breaker, without a probe: what depends on it is claimed again."""
    breakers.close_breaker(tx, body.name)


@RECOVERY.get("/v1/recovery/calibration")
def calibration(
    tx: Transaction,
    *,
    action: Annotated[Name | None, Query()] = None,
    source: Annotated[Name | None, Query()] = None,
    days: Annotated[int, Query(ge=1, le=3650)] = 90,
) -> Calibration:
    """Compare confidence with what happened, for candidates that ended within the last days."""
    return calibrated(tx, action=action, source=source, days=days)


def _policy(tx: Transaction) -> RecoveryPolicy:
    return versions.active(tx).policy[RecoveryPolicy]


RECOVERY.add(
    VerbRoutes(
        subject=review.SUBJECT,
        area=RECOVERY.name,
        path="/v1/recovery/candidates",
        which=CandidateFilter,
        unit="candidate_id",
        unit_type=Unit,
        units=lambda _tx, names: list(dict.fromkeys(names)),
        at_once=MAX_TOGETHER,
    ).routes()
)
