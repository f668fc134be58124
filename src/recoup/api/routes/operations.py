"""Operations over many rows, whatever they are about, over HTTP."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Body, Query
from pydantic import Field

from recoup import operations, pauses
from recoup.api import cursors
from recoup.api.answers import Page, page
from recoup.api.declare import Area, Because, Name, Paged
from recoup.api.endpoints import Call
from recoup.api.operating import Progress, Story, continue_after, progress, story, subject_of
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.operations import steps
from recoup.operations.lifecycle import OperationStatus
from recoup.pauses import OPERATION

OPERATIONS = Area(name="operations", about="Follow, pause, resume and cancel what was asked for many rows.")
OPERATOR = Authority.OPERATOR


class OperationsAsked(Paged):
    """Which operations."""

    subject: Annotated[Name | None, Field(examples=["recoup.error"])] = None


@OPERATIONS.get("/v1/operations")
def list_operations(
    tx: Transaction,
    *,
    asked: Annotated[OperationsAsked, Query()],
) -> Page[Progress]:
    """List operations over many rows, newest first."""
    after = cursors.read("operations", asked.after, tuple[datetime, UUID])
    found = operations.operations(tx, subject=asked.subject, limit=asked.limit, after=after)
    return page(
        [progress(one) for one in found], asked.limit, "operations", lambda one: (one.requested_at, one.operation_id)
    )


@OPERATIONS.get("/v1/operations/{operation_id}")
def show(tx: Transaction, *, operation_id: UUID) -> Story:
    """Show one operation: its progress, what was refused, and its steps."""
    return story(tx, operations.find(tx, operation_id))


@OPERATIONS.post("/v1/operations/{operation_id}/pause", OPERATOR)
def pause(tx: Transaction, *, operation_id: UUID, body: Annotated[Because, Body()]) -> Story:
    """Pause an operation between two batches."""
    operations.find(tx, operation_id)
    pauses.pause(tx, OPERATION, str(operation_id), reason=body.reason)
    return story(tx, operations.find(tx, operation_id))


@OPERATIONS.post("/v1/operations/{operation_id}/resume", OPERATOR)
def resume(tx: Transaction, *, operation_id: UUID, body: Annotated[Because, Body()], call: Call) -> Story:
    """Resume an operation that was paused, or that stopped or was interrupted. This process works through the rest."""
    operations.find(tx, operation_id)
    steps.resume(tx, str(operation_id), body.reason)
    found = operations.find(tx, operation_id)
    if found.status == OperationStatus.OPEN:
        continue_after(call, subject_of(found), operation_id)
    return story(tx, found)


@OPERATIONS.post("/v1/operations/{operation_id}/cancel", OPERATOR)
def cancel(tx: Transaction, *, operation_id: UUID, body: Annotated[Because, Body()]) -> Story:
    """Cancel the rest of an operation. What was done stays done."""
    steps.cancel(tx, operation_id, reason=body.reason)
    return story(tx, operations.find(tx, operation_id))
