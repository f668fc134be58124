"""Gate Zero over HTTP, the kill switch at the path of its document included."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Body, Query
from pydantic import Field

from recoup import gate, mint
from recoup.api import cursors
from recoup.api.answers import Listing, Page, page
from recoup.api.declare import MAX_PAGE, MAX_VALUES, Area, Because, Given, Name, Paged, Perhaps, Why
from recoup.database.connection import Transaction
from recoup.gate import AirEvent, Batch, Eligible, Exhausted, Funnel, Intake, NewIntake
from recoup.gate.importing.checks import domain_reader
from recoup.gate.lifecycle import IntakeStatus
from recoup.lifecycles.declaration import Authority
from recoup.mint.identities import Identity
from recoup.refusals import InputRefused

OPERATOR, HUB, READER = Authority.OPERATOR, Authority.HUB, Authority.READER
GATE = Area(name="gate", about="Gate Zero: batches, companies that wait to be verified, and the kill switch.")
MAX_INTAKES = 1000
BatchId = Annotated[str, Query(min_length=1, max_length=500, description="The name of a batch.")]


class NewBatch(Given):
    """A batch to be created."""

    batch_id: Annotated[str, Field(min_length=1, max_length=500, examples=["2026-11 import"])]


class BatchNamed(Given):
    """A batch."""

    batch_id: Annotated[str, Field(min_length=1, max_length=500)]


class IntakeToAdd(Given):
    """A company to be verified."""

    company_name: Annotated[str, Field(min_length=1, max_length=500, examples=["Acme Freight"])]
    company_domain: Annotated[str | None, Field(max_length=500, examples=["acme.example"])] = None
    linkedin_url: Annotated[str | None, Field(max_length=500)] = None
    state: Annotated[str | None, Field(max_length=500, examples=["TX"])] = None


class IntakesToAdd(Given):
    """Companies that are added together: all or none."""

    intakes: Annotated[list[IntakeToAdd], Field(min_length=1, max_length=MAX_INTAKES)]
    batch_id: Annotated[str | None, Field(min_length=1, max_length=500)] = None


class Corrected(Perhaps):
    """What was corrected of an exhausted intake; the rest is as before."""

    company_name: Annotated[str | None, Field(min_length=1, max_length=500)] = None
    company_domain: Annotated[str | None, Field(max_length=500)] = None
    linkedin_url: Annotated[str | None, Field(max_length=500)] = None
    state: Annotated[str | None, Field(max_length=500)] = None
    batch_id: Annotated[str | None, Field(min_length=1, max_length=500)] = None


class IntakesAsked(Paged):
    """Which companies."""

    batch_id: Name | None = None
    status: Annotated[tuple[IntakeStatus, ...], Field(max_length=MAX_VALUES)] = ()
    name: Annotated[Name | None, Field(description="Name or domain begins with it, in any case.")] = None


@GATE.get("/v1/gate/batches")
def list_batches(tx: Transaction, *, asked: Annotated[Paged, Query()]) -> Page[Batch]:
    """List batches, newest first."""
    after = cursors.read("batches", asked.after, tuple[datetime, str])
    found = gate.list_batches(tx, limit=asked.limit, after=after)
    return page(found, asked.limit, "batches", lambda one: (one.imported_at, one.batch_id))


@GATE.post("/v1/gate/batches", OPERATOR, status=201)
def create_batch(tx: Transaction, *, body: Annotated[NewBatch, Body()]) -> Batch:
    """Create a batch. Its retry window opens when it is completed."""
    gate.create_batch(tx, body.batch_id)
    return gate.find_batch(tx, body.batch_id)


@GATE.get("/v1/gate/batch")
def show_batch(tx: Transaction, *, batch_id: BatchId) -> Batch:
    """Show one batch."""
    return gate.find_batch(tx, batch_id)


@GATE.post("/v1/gate/batch/complete", OPERATOR)
def complete_batch(tx: Transaction, *, body: Annotated[BatchNamed, Body()]) -> Batch:
    """Declare a batch complete: its retry window begins. A second call changes nothing."""
    gate.complete_batch(tx, body.batch_id)
    return gate.find_batch(tx, body.batch_id)


@GATE.post("/cl/gate-zero/kill-switch", OPERATOR)
def pause(tx: Transaction, *, batch_id: BatchId, body: Annotated[Because, Body()]) -> Batch:
    """Pause all recovery of a batch at once. An attempt that is in flight may finish; paused is not exhausted."""
    gate.pause_batch(tx, batch_id, reason=body.reason)
    return gate.find_batch(tx, batch_id)


@GATE.delete("/cl/gate-zero/kill-switch", OPERATOR)
def resume(tx: Transaction, *, batch_id: BatchId, reason: Why = None) -> Batch:
    """Resume recovery of a batch."""
    gate.resume_batch(tx, batch_id)
    return gate.find_batch(tx, batch_id)


@GATE.get("/cl/gate-zero/kill-switch")
def is_paused(tx: Transaction, *, batch_id: BatchId) -> Batch:
    """Show whether a batch is paused, by whom and why."""
    return gate.find_batch(tx, batch_id)


@GATE.get("/v1/gate/intakes")
def list_intakes(tx: Transaction, *, asked: Annotated[IntakesAsked, Query()]) -> Page[Intake]:
    """List companies, newest first."""
    found = gate.list_intakes(
        tx, batch_id=asked.batch_id, statuses=asked.status, name=asked.name, limit=asked.limit,
        after=cursors.read_id("intakes", asked.after),
    )  # fmt: skip
    return page(found, asked.limit, "intakes", lambda one: one.intake_id)


@GATE.post("/v1/gate/intakes", HUB, status=201)
def add_intakes(tx: Transaction, *, body: Annotated[IntakesToAdd, Body()]) -> Listing[UUID]:
    """Add companies to be verified, all or none. Their ids are in the order given."""
    given = [NewIntake(**one.__dict__) for one in body.intakes]
    _check_domains(given)
    if body.batch_id is not None:
        gate.refuse_completed(gate.find_batch(tx, body.batch_id))
    return Listing(items=gate.add_intakes(tx, given, batch_id=body.batch_id))


@GATE.get("/v1/gate/intakes/eligible")
def eligible(tx: Transaction, *, limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100) -> Listing[Eligible]:
    """List failed companies that may be tried again now, longest due first."""
    return Listing(items=gate.eligible(tx, limit=limit))


@GATE.get("/v1/gate/intakes/exhausted")
def exhausted(
    tx: Transaction, *, batch_id: BatchId | None = None, limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100
) -> Listing[Exhausted]:
    """List companies that are not tried any more, and why."""
    if batch_id is not None:
        gate.find_batch(tx, batch_id)
    return Listing(items=gate.exhausted(tx, batch_id=batch_id, limit=limit))


@GATE.get("/v1/gate/intakes/{intake_id}")
def show_intake(tx: Transaction, *, intake_id: UUID) -> Intake:
    """Show one company."""
    return gate.find_intakes(tx, [intake_id])[0]


@GATE.get("/v1/gate/intakes/{intake_id}/history")
def history(tx: Transaction, *, intake_id: UUID) -> Listing[AirEvent]:
    """List every event of a company, in order."""
    gate.find_intakes(tx, [intake_id])
    return Listing(items=gate.history(tx, [intake_id]))


@GATE.post("/v1/gate/intakes/{intake_id}/restart", OPERATOR, status=201)
def restart(tx: Transaction, *, intake_id: UUID, body: Annotated[Corrected | None, Body()] = None) -> Intake:
    """Restart an exhausted company: a new intake that names it, with the same data or with corrections."""
    given = {} if body is None else {name: value for name, value in body if name != "reason"}
    if given.get("company_domain") is not None:
        _check_domains([NewIntake(company_name="-", company_domain=given["company_domain"])])
    new = gate.restart(tx, intake_id, **given)
    return gate.find_intakes(tx, [new])[0]


@GATE.get("/v1/gate/funnel")
def funnel(tx: Transaction, *, batch_id: BatchId | None = None) -> Funnel:
    """Count the companies that came in, passed, failed and wait: of a batch, or of all."""
    if batch_id is not None:
        gate.find_batch(tx, batch_id)
    return gate.funnel(tx, batch_id=batch_id)


@GATE.get("/v1/gate/identities")
def identities(tx: Transaction, *, asked: Annotated[Paged, Query()]) -> Page[Identity]:
    """List minted company identities, newest first."""
    found = mint.identities(tx, limit=asked.limit, after=cursors.read_id("identities", asked.after))
    return page(found, asked.limit, "identities", lambda one: one.sovereign_company_id)


def _check_domains(given: list[NewIntake]) -> None:
    """Refuse a domain with a typo now, rather than after three attempts over four days."""
    read = domain_reader()
    for place, one in enumerate(given, start=1):
        if one.company_domain is not None and read(one.company_domain) is None:
            raise InputRefused(
                "domain_unreadable",
                f"Company {place}: {one.company_domain[:200]!r} is not a domain name.",
                "Give it as acme.example, or leave it out.",
                row=place,
            )
