"""Runs over HTTP: started, kept alive and ended with the token that their start gave."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Query
from pydantic import Field

from recoup.api import cursors
from recoup.api.answers import Listing, Page, page
from recoup.api.declare import MAX_PAGE, Area, Given, Name, Paged
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.runs import listing, orphans, running
from recoup.runs.listing import Listed, Shown
from recoup.runs.orphans import Orphan
from recoup.runs.running import Claimed, Ended, Failed, NewRun, Started, Succeeded
from recoup.runs.vocabulary import RunStatus

RUNNER = Authority.RUNNER
RUNS = Area(name="runs", about="Executions of work with a heartbeat: one that falls silent is marked crashed.")
MAX_CLAIM = 1000
Kind = Annotated[Name, Field(examples=["nightly-sync"])]


class RunToStart(Given):
    """A run."""

    kind: Kind
    input: Annotated[dict[str, Any] | None, Field(description="A retry gets it too. Secrets are redacted.")] = None
    source: Annotated[Name | None, Field(description="What its failures are counted under. Default: kind.")] = None
    owner: Annotated[Name | None, Field(description="Who runs it. Default: the caller.")] = None


class ClaimRuns(Given):
    """Which queued runs to claim."""

    kind: Kind
    limit: Annotated[int, Field(ge=1, le=MAX_CLAIM)] = 1
    owner: Name | None = None


class Token(Given):
    """The token that the start of a run gave."""

    token: UUID


class Note(Token):
    """A note to the trace of a run."""

    note: Annotated[str, Field(min_length=1, max_length=100_000)]


class RunOutcome(Token):
    """How a run ended."""

    succeeded: bool
    message: Annotated[str | None, Field(max_length=100_000)] = None
    result: Any = None


class RunsAsked(Paged):
    """Which runs."""

    kind: Name | None = None
    status: RunStatus | None = None
    source: Name | None = None


class Queued(Given):
    """A run that was queued."""

    run_id: UUID


class Noted(Given):
    """A note that was written."""

    number: int


@RUNS.get("/v1/runs")
def list_runs(tx: Transaction, *, asked: Annotated[RunsAsked, Query()]) -> Page[Listed]:
    """List runs, newest first."""
    after = cursors.read("runs", asked.after, tuple[datetime, UUID])
    found = listing.list_runs(
        tx, kind=asked.kind, status=asked.status, source=asked.source, limit=asked.limit, after=after
    )
    return page(found, asked.limit, "runs", lambda one: (one.created_at, one.run_id))


@RUNS.post("/v1/runs", RUNNER, status=201)
def start(tx: Transaction, *, body: Annotated[RunToStart, Body()]) -> Started:
    """Start a run. Send heartbeats with its token: one that falls silent is marked crashed."""
    new = NewRun(kind=body.kind, input=body.input, source=body.source)
    return running.start(tx, [new], owner=body.owner)[0]


@RUNS.post("/v1/runs/queue", RUNNER, status=201)
def queue(tx: Transaction, *, body: Annotated[RunToStart, Body()]) -> Queued:
    """Queue a run, to be claimed by its kind."""
    new = NewRun(kind=body.kind, input=body.input, source=body.source)
    return Queued(run_id=running.queue(tx, [new], owner=body.owner)[0])


@RUNS.post("/v1/runs/claim", RUNNER)
def claim(tx: Transaction, *, body: Annotated[ClaimRuns, Body()]) -> Listing[Claimed]:
    """Claim queued runs of a kind, oldest first. They are yours as long as they send heartbeats."""
    return Listing(items=running.claim(tx, kind=body.kind, limit=body.limit, owner=body.owner))


@RUNS.get("/v1/runs/orphans")
def list_orphans(tx: Transaction, *, limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100) -> Listing[Orphan]:
    """List runs that the next sweep would mark crashed, and why."""
    return Listing(items=orphans.orphans(tx, limit=limit))


@RUNS.get("/v1/runs/{run_id}")
def show(tx: Transaction, *, run_id: UUID) -> Shown:
    """Show a run, with its trace."""
    return listing.show(tx, run_id)


@RUNS.post("/v1/runs/{run_id}/heartbeat", RUNNER, status=204)
def heartbeat(tx: Transaction, *, run_id: UUID, body: Annotated[Token, Body()]) -> None:
    """Keep a run alive. Refused if it has ended, or was marked crashed."""
    running.heartbeat(tx, run_id, body.token)


@RUNS.post("/v1/runs/{run_id}/notes", RUNNER, status=201)
def note(tx: Transaction, *, run_id: UUID, body: Annotated[Note, Body()]) -> Noted:
    """Write a note to the trace of a run, and keep it alive."""
    return Noted(number=running.note(tx, run_id, body.token, body.note))


@RUNS.post("/v1/runs/{run_id}/finish", RUNNER)
def finish(tx: Transaction, *, run_id: UUID, body: Annotated[RunOutcome, Body()]) -> Ended:
    """Report how a run ended. Late, if it was marked crashed: stored, and not applied."""
    outcome: Succeeded | Failed
    if body.succeeded:
        outcome = Succeeded(run_id=run_id, token=body.token, result=body.result, message=body.message)
    else:
        outcome = Failed(run_id=run_id, token=body.token, message=body.message or "", result=body.result)
    return running.finish(tx, [outcome])[0]
