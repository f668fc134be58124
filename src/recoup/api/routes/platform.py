"""What belongs to no domain, over HTTP: pauses, the policy, background tasks, finding."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import Body, Query
from pydantic import Field

from recoup import find as finding
from recoup import pauses, policy
from recoup import why as explaining
from recoup.api import cursors
from recoup.api.answers import Listing, Page, page
from recoup.api.declare import MAX_PAGE, Area, Because, Given, Name, Paged
from recoup.database.connection import Transaction
from recoup.domain import duties as every_duty
from recoup.domain import explained, finders, pausables
from recoup.domains import DOMAINS
from recoup.find import Result
from recoup.lifecycles.declaration import Authority
from recoup.pauses import PausableName, Pause, PauseEvent
from recoup.pauses.register import Place
from recoup.why import EVENTS, Answer
from recoup.worker import register
from recoup.worker.register import DutyStatus, RegisteredWorker

OPERATOR = Authority.OPERATOR
PAUSES = Area(name="pauses", about="Stop and resume everything that claims work.")
SYSTEM = Area(name="system", about="The policy, background tasks and workers, and finding things by what is at hand.")
SOURCES = explained(DOMAINS)
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]


class ToPause(Because):
    """What to pause or to resume."""

    scope: Annotated[str, Field(min_length=1, max_length=100, examples=["table"], description="global: everything.")]
    name: Annotated[str | None, Field(min_length=1, max_length=500, examples=["outreach.dol_errors"])] = None


class Changed(Given):
    """Whether something changed: false, if it was so already."""

    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """A version of the policy."""

    version: int
    applied_at: datetime
    actor: str
    actor_id: str
    reason: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """When a version of the policy was applied, by whom and why."""

    version: int
    applied_at: datetime
    actor: str
    actor_id: str
    reason: str


class WhyAsked(Given):
    """What is asked about, and when."""

    subject: Annotated[Name, Field(description="An id or a name, as in `/v1/find`; `kind:id` if ambiguous.")]
    at: Annotated[
        str | None,
        Query(min_length=1, max_length=100, description="A time (ISO 8601), or how long ago: 3d. Default: now."),
    ] = None
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of events.")] = EVENTS
    after: Annotated[
        str | None, Query(max_length=1000, description="The `next` of the page before; none for the newest events.")
    ] = None


@PAUSES.get("/v1/pauses")
def list_pauses(tx: Transaction, *, asked: Annotated[Paged, Query()]) -> Page[Pause]:
    """List what is paused now, by whom and why, the latest first.

    For a key of a hub: everything, background tasks, and its own tables and sources.
    """
    after = cursors.read("pauses", asked.after, tuple[datetime, str, str])
    found = pauses.pauses(tx, limit=asked.limit, after=None if after is None else Place(*after))
    return page(found, asked.limit, "pauses", Place.of)


@PAUSES.get("/v1/pauses/log")
def log(tx: Transaction, *, asked: Annotated[Paged, Query()]) -> Page[PauseEvent]:
    """List who paused and resumed what, latest first."""
    found = pauses.log(tx, limit=asked.limit, after=cursors.read_number("pause log", asked.after))
    return page(found, asked.limit, "pause log", lambda one: one.seq)


@PAUSES.get("/v1/pauses/names")
def pausable(
    tx: Transaction,
    *,
    scope: Annotated[Name | None, Query(description="global, duty, table, operation, …; none: all of them.")] = None,
    text: Annotated[Name | None, Query(description="A part of the name.")] = None,
    limit: Limit = 100,
) -> Listing[PausableName]:
    """List what can be paused, by scope and name, and whether it is."""
    return Listing(items=pauses.names(tx, scope=scope, text=text, limit=limit))


@PAUSES.post("/v1/pauses", OPERATOR, whole=True)
def pause(tx: Transaction, *, body: Annotated[ToPause, Body()]) -> Changed:
    """Pause all claims within a scope at once. Work that was claimed before may finish."""
    kinds = tuple(pausables(DOMAINS))
    return Changed(changed=pauses.pause(tx, body.scope, body.name, reason=body.reason, kinds=kinds))


@PAUSES.post("/v1/pauses/resume", OPERATOR, whole=True)
def resume(tx: Transaction, *, body: Annotated[ToPause, Body()]) -> Changed:
    """Resume what was paused."""
    kinds = tuple(pausables(DOMAINS))
    return Changed(changed=pauses.resume(tx, body.scope, body.name, reason=body.reason, kinds=kinds))


@SYSTEM.get("/v1/policy")
def show_policy(tx: Transaction, *, version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None) -> PolicyVersion:
    """Show the values of the active policy, or of a version of it."""
    found = policy.in_force(tx) if version is None else policy.find(tx, version)
    return PolicyVersion(
        version=found.version, applied_at=found.applied_at, actor=found.actor, actor_id=found.actor_id,
        reason=found.reason, values=found.figures,
    )  # fmt: skip


@SYSTEM.get("/v1/policy/history")
def policy_history(tx: Transaction, *, limit: Limit = 20) -> Listing[PolicyChange]:
    """List the versions of the policy, newest first."""
    return Listing(
        items=[
            PolicyChange(
                version=one.version, applied_at=one.applied_at, actor=one.actor, actor_id=one.actor_id,
                reason=one.reason,
            )
            for one in policy.history(tx, limit=limit)
        ]
    )  # fmt: skip


@SYSTEM.get("/v1/duties")
def duties(tx: Transaction) -> Listing[DutyStatus]:
    """List background tasks: their last run, lag, units done and failures."""
    return Listing(items=register.standings(tx, every_duty(DOMAINS)))


@SYSTEM.get("/v1/workers")
def workers(tx: Transaction) -> Listing[RegisteredWorker]:
    """List running, stopped and lost workers."""
    return Listing(items=register.workers(tx))


@SYSTEM.get("/v1/find")
def find(tx: Transaction, *, text: Annotated[Name, Query()], limit: Annotated[int, Query(ge=1, le=100)] = 20) -> Result:
    """Find errors, companies, runs, candidates, … by an id or its beginning, a name, a domain, a signature."""
    return finding.find(tx, text, finders(DOMAINS), limit=limit)


@SYSTEM.get("/v1/why", refusals=("why_unknown", "why_ambiguous"))
def why(tx: Transaction, *, asked: Annotated[WhyAsked, Query()]) -> Answer:
    """Show why something has its status: what belongs to it, the rule that held, and all events on one time line.

    At a past time: the statuses, the policy and the rule of that time. A page has the newest events, oldest first; its
    `next` leads to the events before them. A key of a hub sees the hub's rows; of what other hubs block, it learns
    whether an entity is blocked, and the owners.
    """
    return explaining.why(tx, asked.subject, SOURCES, at=asked.at, limit=asked.limit, after=asked.after)
