"""Backfills: their progress, a plan and its start, one with its members. They belong to the section of partitions."""

from datetime import date
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from recoup.api import cursors
from recoup.api.answers import Page
from recoup.api.declare import Given, Paged
from recoup.console.declare import Context, Seen
from recoup.console.pages.operations import as_id
from recoup.console.pages.partitions import PARTITIONS
from recoup.partitions import backfilling, pages
from recoup.partitions.backfill_lifecycle import ItemStatus
from recoup.refusals import InputRefused, Refusal

BACKFILLS = 25
MAX_PREVIEW = 100_000  # partitions that a page counts
NAMES = 100
# What becomes of a member, by how it is found.
BECOMES = {
    "new": "enqueued", "failed": "asked for again", "pending": "waits already, and becomes a member",
    "held": "released", "success": "left as it is; reprocessed if you ask for it",
    "terminal": "left as it is; asked for again if you ask for it", "open": "left: a run is under way",
    "other": "left: a member of another backfill",
}  # fmt: skip


class BackfillsAsked(Given):
    """Which backfills."""

    open: bool = False


class PlanAsked(Given):
    """The range of a plan."""

    source: Annotated[str | None, Field(max_length=500)] = None
    first: date | None = None
    last: date | None = None
    customer_id: Annotated[str | None, Field(max_length=4000)] = None  # one a line
    query_name: Annotated[str | None, Field(max_length=4000)] = None


class MembersAsked(Paged):
    """Which members of a backfill."""

    status: ItemStatus | None = None


@PARTITIONS.page("/backfills", "backfills/list.html")
def all_backfills(seen: Seen) -> Context:
    """Backfills with their progress, newest first."""
    asked = seen.asked(BackfillsAsked)
    found = backfilling.progress(seen.tx, open_only=asked.open, limit=BACKFILLS, sample=backfilling.SAMPLE)
    return {"backfills": found, "open": asked.open, "limit": BACKFILLS, "sample": backfilling.SAMPLE}


@PARTITIONS.page("/backfills/new", "backfills/new.html")
def plan(seen: Seen) -> Context:
    """What a backfill would find, and its start."""
    asked = seen.asked(PlanAsked)
    sources = sorted({source for source, _ in pages.queries(seen.tx)})
    context: dict[str, Any] = {"sources": sources, "asked": asked, "selection": None, "found": None, "becomes": BECOMES}
    if asked.source is None or asked.first is None or asked.last is None:
        return context
    names = {"customer_id": _lines(asked.customer_id), "query_name": _lines(asked.query_name)}
    try:
        selection = backfilling.selected(
            seen.tx, asked.source, asked.first, asked.last, customers=names["customer_id"], queries=names["query_name"]
        )
        if selection.size <= MAX_PREVIEW:
            context["found"] = backfilling.preview(seen.tx, selection)
    except Refusal as refusal:
        return {**context, "problem": refusal}
    given = {"source": asked.source, "first": asked.first, "last": asked.last, **names}
    return {**context, "selection": selection, "given": given}


@PARTITIONS.page("/backfills/{backfill_id}", "backfills/one.html")
def one(seen: Seen) -> Context:
    """One backfill: progress, members by status."""
    backfill_id: UUID = as_id(seen.params["backfill_id"], "backfill")
    asked = seen.asked(MembersAsked)
    after = cursors.read_number("members", asked.after) or 0
    found = backfilling.show_progress(seen.tx, backfill_id)
    members = backfilling.members(seen.tx, backfill_id, status=asked.status, limit=asked.limit, after=after)
    searched = after + backfilling.WINDOW
    is_cut = len(members) < asked.limit and found.planned > searched
    last = members[-1].place if len(members) >= asked.limit else searched if is_cut else None
    return {
        "one": found, "statuses": [status.value for status in ItemStatus], "is_cut": is_cut,
        "page": Page(items=members, next=None if last is None else cursors.written("members", last)),
        "is_estimate": found.planned > backfilling.SAMPLE,
    }  # fmt: skip


def _lines(text: str | None) -> list[str]:
    found = list(dict.fromkeys(line.strip() for line in (text or "").splitlines() if line.strip()))
    if len(found) > NAMES:
        raise InputRefused(
            "names_too_many", f"{len(found)} names are given.", f"Name at most {NAMES}, or none for all."
        )
    return found


__all__ = ["PARTITIONS"]
