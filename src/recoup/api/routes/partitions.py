"""Partitions and backfills over HTTP."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Query
from pydantic import Field

from recoup.api import cursors
from recoup.api.answers import Listing, Page, page
from recoup.api.declare import MAX_PAGE, MAX_VALUES, Area, Because, BigInt, Given, Name, Paged, Perhaps
from recoup.api.verbs import VerbRoutes
from recoup.categories import Category
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.partitions import backfilling, gaps, listing, registry
from recoup.partitions.backfilling import Backfill
from recoup.partitions.backfilling import Found as FoundOfBackfill
from recoup.partitions.control_plane import Enqueued
from recoup.partitions.gaps import Gap, Kind
from recoup.partitions.identity import Partition
from recoup.partitions.listing import Happened, Inspected, Listed, Override
from recoup.partitions.requesting import SUBJECT
from recoup.partitions.selecting import Selection, days
from recoup.partitions.vocabulary import Lane, PartitionStatus, TerminalCause

CONTROL_PLANE, CONSUMER, READER = Authority.CONTROL_PLANE, Authority.CONSUMER, Authority.READER
PARTITIONS = Area(name="partitions", about="Days of data, extracted and validated as a whole: status, gaps, retries.")
BACKFILLS = Area(name="backfills", about="Ranges of partitions in a lane of their own.")
MAX_ENQUEUED = 1000
MAX_INSPECTED = 100
Names = Annotated[tuple[Name, ...], Field(max_length=MAX_VALUES)]


class PartitionFilter(Given):
    """Which partitions. One of each list has to match; an empty list matches everything."""

    source: Annotated[Names, Field(examples=[["shop"]])] = ()
    customer_id: Names = ()
    query_name: Names = ()
    logical_date: Annotated[
        Names, Field(description="A day, or a range with both ends.", examples=[["2026-01-01..2026-01-31"]])
    ] = ()
    status: Annotated[tuple[PartitionStatus, ...], Field(max_length=MAX_VALUES)] = ()
    rejected_for: Annotated[Names, Field(description="The reason of the last verdict.")] = ()
    rule: Names = ()
    signature: Names = ()
    category: Annotated[tuple[Category, ...], Field(max_length=MAX_VALUES)] = ()
    validator_version: Names = ()
    failed_since: datetime | None = None
    backfill: Annotated[tuple[UUID, ...], Field(max_length=MAX_VALUES)] = ()
    terminal_cause: Annotated[tuple[TerminalCause, ...], Field(max_length=MAX_VALUES)] = ()

    def filter(self) -> Selection:
        return Selection(
            sources=self.source, customer_ids=self.customer_id, query_names=self.query_name,
            logical_dates=tuple(days(text) for text in self.logical_date), statuses=self.status,
            reasons=self.rejected_for, rules=self.rule, signatures=self.signature, categories=self.category,
            validator_versions=self.validator_version, failed_since=self.failed_since, backfills=self.backfill,
            terminal_causes=self.terminal_cause,
        )  # fmt: skip


class PartitionsAsked(PartitionFilter, Paged):
    """Which partitions, and which page of them."""


class InspectedAsked(PartitionFilter):
    """Which partitions are shown in full."""

    limit: Annotated[int, Query(ge=1, le=MAX_INSPECTED)] = 20


class HistoryAsked(PartitionFilter):
    """Whose events."""

    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100


class GapsAsked(PartitionFilter):
    """Which gaps."""

    kind: Annotated[tuple[Kind, ...], Field(max_length=10)] = ()
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100


class PartitionKey(Given):
    """The key of a partition."""

    source: Annotated[Name, Field(examples=["shop"])]
    customer_id: Annotated[Name, Field(examples=["acme"])]
    query_name: Annotated[Name, Field(examples=["orders"])]
    logical_date: date


class Enqueue(Perhaps):
    """Partitions of registered queries that are due now."""

    partitions: Annotated[list[PartitionKey], Field(min_length=1, max_length=MAX_ENQUEUED)]
    lane: Lane = Lane.FRESH
    priority: Annotated[int | None, Field(ge=0, le=9, description="0 goes first, 9 last.")] = None


class Range(Given):
    """Days of customers of queries of one source; both ends are included."""

    source: Annotated[Name, Field(examples=["shop"])]
    first: date
    last: date
    customer_id: Annotated[tuple[Name, ...], Field(max_length=MAX_PAGE, description="Default: all.")] = ()
    query_name: Annotated[tuple[Name, ...], Field(max_length=MAX_PAGE, description="Default: all.")] = ()


class BackfillsAsked(Paged):
    """Which backfills."""

    open: bool = False


class NewBackfill(Range, Because):
    """A backfill to be started."""

    reprocess: Annotated[bool, Field(description="Also what succeeded.")] = False
    include_terminal: Annotated[bool, Field(description="Also what was given up: a logged override.")] = False
    only_failed: Annotated[bool, Field(description="Enqueue nothing that is new.")] = False
    priority: Annotated[int, Field(ge=0, le=9)] = backfilling.DEFAULT_PRIORITY


@PARTITIONS.get("/v1/partitions", CONSUMER)
def list_partitions(tx: Transaction, *, asked: Annotated[PartitionsAsked, Query()]) -> Page[Listed]:
    """List partitions, by source, query, customer and day."""
    after = cursors.read("partitions", asked.after, tuple[str, str, str, date])
    found = listing.list_partitions(
        tx, asked.filter(), limit=asked.limit, after=None if after is None else Partition(*after)
    )
    return page(found, asked.limit, "partitions", lambda one: tuple(one.partition))


@PARTITIONS.post("/v1/partitions", CONTROL_PLANE, status=201)
def enqueue(tx: Transaction, *, body: Annotated[Enqueue, Body()]) -> Listing[Enqueued]:
    """Enqueue partitions of registered queries, due now. Those that are known are left as they are."""
    given = [Partition(one.source, one.customer_id, one.query_name, one.logical_date) for one in body.partitions]
    policy = registry.active(tx)
    return Listing(items=registry.enqueue(tx, policy, given, lane=body.lane, priority=body.priority))


@PARTITIONS.get("/v1/partitions/inspect")
def inspect(tx: Transaction, *, asked: Annotated[InspectedAsked, Query()]) -> Listing[Inspected]:
    """Show partitions in full: attempts, messages, times and the next retry."""
    return Listing(items=listing.inspect(tx, asked.filter(), limit=asked.limit))


@PARTITIONS.get("/v1/partitions/history")
def history(tx: Transaction, *, asked: Annotated[HistoryAsked, Query()]) -> Listing[Happened]:
    """List what happened to partitions, in order."""
    return Listing(items=listing.history(tx, asked.filter(), limit=asked.limit))


@PARTITIONS.get("/v1/partitions/gaps", CONSUMER)
def list_gaps(tx: Transaction, *, asked: Annotated[GapsAsked, Query()]) -> Listing[Gap]:
    """List partitions that cannot be read: never enqueued, pending, failed or terminal."""
    return Listing(items=gaps.gaps(tx, asked.filter(), kinds=asked.kind or tuple(Kind), limit=asked.limit))


@PARTITIONS.get("/v1/partitions/overrides")
def list_overrides(tx: Transaction, *, asked: Annotated[Paged, Query()]) -> Page[Override]:
    """List what people and recovery asked for, the latest first."""
    after = cursors.read_number("overrides", asked.after)
    found = listing.overrides(tx, limit=asked.limit, after=after)
    return page(found, asked.limit, "overrides", lambda one: one.seq)


@BACKFILLS.get("/v1/backfills")
def list_backfills(tx: Transaction, *, asked: Annotated[BackfillsAsked, Query()]) -> Page[Backfill]:
    """List backfills with their progress, newest first; with open only those that have not ended."""
    after = cursors.read_id("backfills", asked.after)
    found = backfilling.backfills(tx, open_only=asked.open, limit=asked.limit, after=after)
    return page(found, asked.limit, "backfills", lambda one: one.backfill_id)


@BACKFILLS.post("/v1/backfills/preview", CONTROL_PLANE, reads=True)
def preview(tx: Transaction, *, body: Annotated[Range, Body()]) -> Listing[FoundOfBackfill]:
    """Show what a backfill would find: new, failed, terminal, success, open."""
    return Listing(items=backfilling.preview(tx, _selection(tx, body)))


@BACKFILLS.post("/v1/backfills", CONTROL_PLANE, status=202)
def start(tx: Transaction, *, body: Annotated[NewBackfill, Body()]) -> Backfill:
    """Start a backfill. A worker plans it, and enqueues its partitions."""
    made = backfilling.start(
        tx, _selection(tx, body), reason=body.reason, priority=body.priority, reprocess=body.reprocess,
        with_terminal=body.include_terminal, only_failed=body.only_failed,
    )  # fmt: skip
    return backfilling.show(tx, made)


@BACKFILLS.get("/v1/backfills/{backfill_id}")
def show(tx: Transaction, *, backfill_id: UUID) -> Backfill:
    """Show a backfill and its progress."""
    return backfilling.show(tx, backfill_id)


@BACKFILLS.post("/v1/backfills/{backfill_id}/pause", CONTROL_PLANE)
def pause(tx: Transaction, *, backfill_id: UUID, body: Annotated[Because, Body()]) -> Backfill:
    """Pause a backfill: none of its partitions is dispatched. Runs that are open finish."""
    backfilling.pause(tx, backfill_id)
    return backfilling.show(tx, backfill_id)


@BACKFILLS.post("/v1/backfills/{backfill_id}/resume", CONTROL_PLANE)
def resume(tx: Transaction, *, backfill_id: UUID, body: Annotated[Because, Body()]) -> Backfill:
    """Resume a paused backfill."""
    backfilling.resume(tx, backfill_id)
    return backfilling.show(tx, backfill_id)


@BACKFILLS.post("/v1/backfills/{backfill_id}/cancel", CONTROL_PLANE)
def cancel(tx: Transaction, *, backfill_id: UUID, body: Annotated[Because, Body()]) -> Backfill:
    """Cancel a backfill: open runs finish, the rest stays pending and held until somebody asks for it again."""
    backfilling.cancel(tx, backfill_id)
    return backfilling.show(tx, backfill_id)


def _selection(tx: Transaction, given: Range) -> backfilling.Selection:
    return backfilling.selected(
        tx, given.source, given.first, given.last, customers=given.customer_id, queries=given.query_name
    )


def _noted(path: str, asked: Any) -> Mapping[str, Any]:
    return {"command": path, "selection": "" if not isinstance(asked, Selection) else str(asked)}


PARTITIONS.add(
    VerbRoutes(
        subject=SUBJECT,
        area=PARTITIONS.name,
        path="/v1/partitions",
        which=PartitionFilter,
        unit="partition_id",
        unit_type=BigInt,
        noted=_noted,
    ).routes()
)
