"""Errors over HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Path, Query
from pydantic import Field

from recoup.api import cursors
from recoup.api.answers import Listing, Page, page
from recoup.api.declare import MAX_PAGE, MAX_VALUES, Area, BigInt, Given, Length, Name, Paged, Perhaps
from recoup.api.verbs import VerbRoutes
from recoup.database.connection import Transaction
from recoup.errors import (
    clearing,
    grouping,
    listing,
    lookup,
    metrics,
    processed,
    promotion,
    recording,
    report,
    retrying,
)
from recoup.errors.clearing import Cleared
from recoup.errors.grouping import Groups
from recoup.errors.listing import Filter, Listed, Shown
from recoup.errors.metrics import Metrics
from recoup.errors.processed import NewProcessed, Processed
from recoup.errors.promotion import Blocking
from recoup.errors.recording import MAX_AT_ONCE, MAX_MESSAGE, NewError, Recorded
from recoup.errors.report import Report
from recoup.errors.retrying import Claimed, Ended, Failed, Succeeded
from recoup.errors.subject import SUBJECT
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.lifecycles.declaration import Authority

HUB, OPERATOR, READER = Authority.HUB, Authority.OPERATOR, Authority.READER
ERRORS = Area(name="errors", about="Record failures, see what blocks, retry, park and resolve.")
ENTITY = "5e6f0000-0000-4000-8000-000000000001"
MAX_CLAIM = 1000
Names = Annotated[tuple[Name, ...], Field(max_length=MAX_VALUES)]
Entities = Annotated[tuple[UUID, ...], Field(min_length=1, max_length=MAX_VALUES)]


class ErrorFilter(Given):
    """Which errors. One of each list has to match; an empty list matches everything."""

    table: Annotated[Names, Field(examples=[["outreach.dol_errors"]])] = ()
    status: Annotated[Names, Field(examples=[["PARKED"]])] = ()
    code: Names = ()
    text: Annotated[Name | None, Field(description="In the message or the code, in any case.")] = None
    signature: Names = ()
    severity: Annotated[tuple[Severity, ...], Field(max_length=MAX_VALUES)] = ()
    category: Annotated[tuple[Category, ...], Field(max_length=MAX_VALUES)] = ()
    entity: Annotated[tuple[UUID, ...], Field(max_length=MAX_VALUES)] = ()
    older_than: Annotated[Length | None, Field(description="First failed longer ago.")] = None
    newer_than: Annotated[Length | None, Field(description="First failed less long ago.")] = None
    parked_longer_than: Length | None = None
    breached: Annotated[bool, Field(description="Parked, and not reviewed in time by the owner of their tier.")] = False

    def filter(self) -> Filter:
        return Filter(
            tables=self.table, statuses=self.status, codes=self.code, text=self.text,
            signatures=self.signature, severities=self.severity, categories=self.category,
            entities=self.entity, older_than=self.older_than, newer_than=self.newer_than,
            parked_longer_than=self.parked_longer_than, breached=self.breached,
        )  # fmt: skip


class ErrorsAsked(ErrorFilter, Paged):
    """Which errors, and which page of them."""

    archived: Annotated[bool, Field(description="Include closed errors and the archives.")] = False


class GroupsAsked(ErrorFilter):
    """Which errors are grouped."""

    archived: bool = False
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 20


class QueueAsked(ErrorFilter):
    """Which parked errors."""

    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50


class ErrorToRecord(Given):
    """A failure. Only table and message are required; the rest is worked out."""

    table: Annotated[Name, Field(examples=["outreach.dol_errors"])]
    message: Annotated[str, Field(min_length=1, max_length=10 * MAX_MESSAGE, examples=["no filing matches EIN 12"])]
    outreach_id: Annotated[
        UUID | None, Field(description="The entity; optional in global tables only.", examples=[ENTITY])
    ] = None
    work_key: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    code: Annotated[str | None, Field(min_length=1, max_length=200, examples=["DOL_NO_MATCH"])] = None
    severity: Severity | None = None
    category: Category | None = None
    payload: Annotated[dict[str, Any] | None, Field(description="Details. Known secrets are redacted.")] = None
    want: Annotated[Want | None, Field(description="A person's decision, which comes before every rule.")] = None
    failed_at: Annotated[datetime | None, Field(description="When it first failed, if before now.")] = None


class ErrorsToRecord(Given):
    """Failures that are recorded together: all or none."""

    errors: Annotated[list[ErrorToRecord], Field(min_length=1, max_length=MAX_AT_ONCE)]


class WorkSucceeded(Perhaps):
    """Work that succeeded: what is open for it is resolved."""

    table: Annotated[Name, Field(examples=["outreach.dol_errors"])]
    outreach_id: Annotated[Entities, Field(examples=[[ENTITY]])]
    code: Name | None = None
    work_key: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    ran_for: Annotated[Length | None, Field(description="How long the successful run took.")] = None


class ProcessedCount(Given):
    """How many units of work were processed, those that failed included."""

    table: Annotated[Name, Field(examples=["outreach.dol_errors"])]
    count: Annotated[int, Field(ge=0, le=2**31 - 1)]
    period_from: datetime | None = None
    period_to: datetime | None = None
    key: Annotated[str | None, Field(min_length=1, max_length=200)] = None


class ProcessedCounts(Given):
    """Counts that are reported together."""

    reports: Annotated[list[ProcessedCount], Field(min_length=1, max_length=MAX_PAGE)]


class ClaimRetries(Given):
    """How many due retries to claim, and under which name."""

    worker: Annotated[Name, Field(examples=["host-1"])]
    limit: Annotated[int, Field(ge=1, le=MAX_CLAIM, description="No more than you start at once.")] = 1
    tables: Names | None = None
    lease: Annotated[Length | None, Field(description="Default: as in the policy.")] = None


class RetryOutcome(Given):
    """How a claimed retry ended: failed if it has a failure."""

    error_table: Name
    error_id: Annotated[int, Field(ge=1, le=2**63 - 1)]
    token: UUID
    failure: Annotated[str | None, Field(min_length=1, max_length=10 * MAX_MESSAGE)] = None
    traceback: Annotated[str | None, Field(max_length=10 * MAX_MESSAGE)] = None

    def outcome(self) -> Succeeded | Failed:
        key = {"error_table": self.error_table, "error_id": self.error_id, "token": self.token}
        if self.failure is None:
            return Succeeded(**key)  # type: ignore[arg-type]
        return Failed(**key, failure=self.failure, traceback=self.traceback)  # type: ignore[arg-type]


class RetryOutcomes(Given):
    """How claimed retries ended."""

    outcomes: Annotated[list[RetryOutcome], Field(min_length=1, max_length=MAX_CLAIM)]


@ERRORS.get("/v1/errors")
def list_errors(tx: Transaction, *, asked: Annotated[ErrorsAsked, Query()]) -> Page[Listed]:
    """List errors, newest first."""
    after = cursors.read_number("errors", asked.after)
    found = listing.list_errors(tx, asked.filter(), limit=asked.limit, archived=asked.archived, after=after)
    return page(found, asked.limit, "errors", lambda one: one.error_id)


@ERRORS.post("/v1/errors", HUB, status=201)
def record(tx: Transaction, *, body: Annotated[ErrorToRecord, Body()]) -> Recorded:
    """Record one failure. The policy decides what becomes of it.

    An open error of the same failure is superseded by the new one.
    """
    return recording.record(tx, [NewError(**body.__dict__)])[0]


@ERRORS.post("/v1/errors/bulk", HUB, status=201)
def record_many(tx: Transaction, *, body: Annotated[ErrorsToRecord, Body()]) -> Listing[Recorded]:
    """Record many failures, all or none. Their ids are in the order given."""
    return Listing(items=recording.record(tx, [NewError(**one.__dict__) for one in body.errors]))


@ERRORS.get("/v1/errors/queue")
def park_queue(tx: Transaction, *, asked: Annotated[QueueAsked, Query()]) -> Listing[Listed]:
    """List parked errors that wait for a review, those that are due first."""
    return Listing(items=listing.park_queue(tx, asked.filter(), limit=asked.limit))


@ERRORS.get("/v1/errors/groups")
def groups(tx: Transaction, *, asked: Annotated[GroupsAsked, Query()]) -> Groups:
    """List the largest groups of errors with the same cause."""
    return grouping.largest(tx, asked.filter(), limit=asked.limit, archived=asked.archived)


@ERRORS.get("/v1/errors/metrics")
def error_metrics(tx: Transaction, *, table: Annotated[Names, Query()] = ()) -> Metrics:
    """Show the metrics of the last 24 hours, by table and overall."""
    return metrics.metrics(tx, tables=table or None)


@ERRORS.get("/v1/errors/report")
def daily_report(tx: Transaction, *, day: Annotated[date | None, Query()] = None) -> Report:
    """Show the report of a day in UTC, by default of yesterday."""
    return report.report(tx, day)


@ERRORS.post("/v1/errors/cleared", HUB)
def cleared(tx: Transaction, *, body: Annotated[WorkSucceeded, Body()]) -> Cleared:
    """Report that work succeeded: what is open for it is resolved.

    Parked and escalated errors stay open: they need a person. So do errors that were recorded or changed since the
    successful run began.
    """
    return clearing.clear(
        tx, body.table, body.outreach_id, code=body.code, work_key=body.work_key, ran_for=body.ran_for or timedelta(0)
    )


@ERRORS.post("/v1/errors/processed", HUB)
def report_processed(tx: Transaction, *, body: Annotated[ProcessedCounts, Body()]) -> Listing[Processed]:
    """Report how many units of work were processed. A report that is sent again with the same key counts once."""
    return Listing(items=processed.report(tx, [NewProcessed(**one.__dict__) for one in body.reports]))


@ERRORS.post("/v1/errors/claim", HUB)
def claim(tx: Transaction, *, body: Annotated[ClaimRetries, Body()]) -> Listing[Claimed]:
    """Claim errors whose retry is due, longest due first. They are yours until the lease ends."""
    return Listing(items=retrying.claim(tx, limit=body.limit, worker=body.worker, tables=body.tables, lease=body.lease))


@ERRORS.post("/v1/errors/finish", HUB)
def finish(tx: Transaction, *, body: Annotated[RetryOutcomes, Body()]) -> Listing[Ended]:
    """Report how claimed retries ended. A report after the lease is stored, and not applied."""
    return Listing(items=retrying.finish(tx, [one.outcome() for one in body.outcomes]))


@ERRORS.get("/v1/errors/{error_id}")
def show(tx: Transaction, *, error_id: Annotated[int, Path(ge=1, le=2**63 - 1)]) -> Shown:
    """Show one error, open or archived: its row, why it is in this status, and its history."""
    return listing.show(tx, str(error_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Whether an entity is blocked, and by what."""

    outreach_id: UUID
    blocked: bool
    owners: Sequence[str]  # of the tables that block it
    errors: Sequence[Blocking]  # that the caller may see


@ERRORS.get("/v1/blocked")
def blocked(
    tx: Transaction,
    *,
    entity: Annotated[list[UUID], Query(min_length=1, max_length=MAX_VALUES, examples=[[ENTITY]])],
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100,
) -> Listing[Asked]:
    """Ask whether entities may be promoted, and list the errors that block them.

    For a key of a hub the answer is that an entity is blocked, and by whose table, also where it may not see the error.

    A program that promotes asks `recoup.is_blocked_locking(outreach_id)` in its own transaction instead: then no error
    can be recorded in between.
    """
    owners, found = promotion.blocking_owners(tx, entity), promotion.blocking(tx, entity, limit=limit)
    return Listing(
        items=[
            Asked(
                outreach_id=one,
                blocked=one in owners,
                owners=owners.get(one, ()),
                errors=[error for error in found if error.outreach_id == one],
            )
            for one in dict.fromkeys(entity)
        ]
    )


def _units(tx: Transaction, names: Sequence[str]) -> list[str]:
    return [f"{key.error_table}/{key.error_id}" for key in lookup.keys(tx, names)]


ERRORS.add(
    VerbRoutes(
        subject=SUBJECT,
        area=ERRORS.name,
        path="/v1/errors",
        which=ErrorFilter,
        unit="error_id",
        unit_type=BigInt,
        units=_units,
    ).routes()
)
