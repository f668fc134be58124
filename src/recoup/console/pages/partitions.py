"""Partitions: the grid of days and customers, lists, gaps, one partition, and what people asked for."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any
from urllib.parse import quote, unquote

from pydantic import Field

from recoup.api import cursors
from recoup.api.answers import Page, page
from recoup.api.declare import Given, Name, Paged
from recoup.api.routes import partitions as routes
from recoup.categories import Category
from recoup.console.declare import Context, Section, Seen
from recoup.partitions import gaps, listing, pages, requesting
from recoup.partitions.gaps import Kind
from recoup.partitions.identity import Partition
from recoup.partitions.listing import Inspected
from recoup.partitions.marks import Mark
from recoup.partitions.requesting import Ask, Request
from recoup.partitions.selecting import Days, Selection, of
from recoup.partitions.vocabulary import PartitionStatus, TerminalCause
from recoup.refusals import InputRefused, Refusal

PARTITIONS = Section(
    name="partitions",
    title="Partitions",
    links=(("Grid", "/partitions"), ("List", "/partitions/list"), ("Gaps", "/partitions/gaps"),
           ("Terminal", "/partitions/terminal"), ("Requests", "/partitions/overrides"), ("Backfills", "/backfills")),
)  # fmt: skip
MAX_GAPS = 500  # rows of one page
# What a reader should do about a mark; the character and its name say the same.
TONES = {
    Mark.SUCCESS: "good", Mark.PENDING: "wait", Mark.RUNNING: "wait", Mark.HELD: "wait", Mark.FAILED: "bad",
    Mark.TERMINAL: "bad", Mark.NONE: "plain",
}  # fmt: skip
# Refusals that an option of the form lifts.
LIFTED = ("partition_terminal", "never_extracted")


class GridAsked(Given):
    """Which days and customers of which query."""

    of: Annotated[str | None, Field(max_length=1500)] = None  # source/query, each quoted
    first: date | None = None
    last: date | None = None
    after: Annotated[str | None, Field(max_length=1000)] = None
    kind: Kind | None = None


class TerminalAsked(Paged):
    """Which terminal partitions."""

    source: Name | None = None
    terminal_cause: TerminalCause | None = None


@PARTITIONS.page("/partitions", "partitions/grid.html")
def grid(seen: Seen) -> Context:
    """Days by customers of a query, a character for each partition."""
    asked = seen.asked(GridAsked)
    shown = _window(seen, asked)
    if shown is None:
        return {"queries": [], "of": None}
    found = pages.cells(seen.tx, shown["source"], shown["query"], shown["customers"], shown["first"], shown["last"])
    months: list[tuple[str, int]] = []
    for day in shown["days"]:
        month = f"{day:%B %Y}"
        if months and months[-1][0] == month:
            months[-1] = (month, months[-1][1] + 1)
        else:
            months.append((month, 1))
    return {**shown, "cells": found, "months": months, "marks": Mark, "tones": TONES}


@PARTITIONS.page("/partitions/gaps", "partitions/gaps.html")
def all_gaps(seen: Seen) -> Context:
    """Partitions of some days and customers that consumers cannot read: never enqueued, pending, failed, terminal."""
    asked = seen.asked(GridAsked)
    shown = _window(seen, asked)
    if shown is None:
        return {"queries": [], "of": None}
    found = []
    if shown["customers"]:
        selection = Selection(
            sources=(shown["source"],), query_names=(shown["query"],), customer_ids=tuple(shown["customers"]),
            logical_dates=(Days(shown["first"], shown["last"]),),
        )  # fmt: skip
        found = gaps.gaps(seen.tx, selection, limit=pages.MAX_CUSTOMERS * pages.MAX_DAYS)
    chosen = [one for one in found if asked.kind in (None, one.kind)]
    return {
        **shown, "gaps": chosen[:MAX_GAPS], "all_gaps": len(chosen), "counts": gaps.counted(found),
        "kinds": [kind.value for kind in Kind], "kind": asked.kind,
    }  # fmt: skip


@PARTITIONS.page("/partitions/list", "partitions/list.html")
def all_partitions(seen: Seen) -> Context:
    """Partitions that match, by source, customer, query and day."""
    asked = seen.asked(routes.PartitionsAsked)
    after = cursors.read("partitions", asked.after, tuple[str, str, str, date])
    try:
        selection = asked.filter()
    except Refusal as refusal:  # a day that cannot be read
        return {**_choices(seen), "page": Page(items=[]), "is_cut": False, "filter": {}, "problem": refusal}
    found = pages.scan(seen.tx, selection, limit=asked.limit, after=None if after is None else Partition(*after))
    next_ = None if found.next is None else cursors.written("partitions", tuple(found.next))
    return {
        **_choices(seen), "page": Page(items=found.partitions, next=next_), "is_cut": found.is_cut,
        "filter": _filter(asked),
    }  # fmt: skip


@PARTITIONS.page("/partitions/terminal", "partitions/terminal.html")
def terminal(seen: Seen) -> Context:
    """Partitions that are given up, the latest first, with their causes."""
    asked = seen.asked(TerminalAsked)
    after = cursors.read("terminal", asked.after, tuple[datetime, int])
    selection = Selection(
        sources=() if asked.source is None else (asked.source,),
        terminal_causes=() if asked.terminal_cause is None else (asked.terminal_cause,),
    )
    found = listing.terminal(seen.tx, selection, limit=asked.limit, after=after)
    return {
        "page": page(found, asked.limit, "terminal", lambda one: (one.terminal_at, one.partition_id)),
        "causes": [cause.value for cause in TerminalCause],
        "sources": _sources(seen),
    }


@PARTITIONS.page("/partitions/overrides", "partitions/overrides.html")
def overrides(seen: Seen) -> Context:
    """What people and recovery asked for, the latest first."""
    return {"page": routes.list_overrides(seen.tx, asked=seen.asked(Paged))}


@PARTITIONS.page("/partitions/one", "partitions/by_key.html")
def by_key(seen: Seen) -> Context:
    """One partition, by its key: source/customer/query/day, or each by its name. Without one, a form for it."""
    text = seen.value("key") or ""
    if text.isascii() and text.isdigit() and len(text) < 19:  # its number, as failures and time lines name it
        return _one(seen, pages.key(seen.tx, int(text)))
    parts = text.split("/")
    if len(parts) != len(Partition._fields):
        parts = [seen.value(name) or "" for name in Partition._fields]
    if not any(parts):
        return {"one": None}
    try:
        key = Partition(parts[0], parts[1], parts[2], date.fromisoformat(parts[3]))
    except ValueError:
        problem = InputRefused(
            "partition_unknown", "This is not the key of a partition.", "Give all of its four parts."
        )
        return {"one": None, "problem": problem}
    return _one(seen, key)


@PARTITIONS.page("/partitions/{partition_id}", "partitions/one.html")
def one(seen: Seen) -> Context:
    """One partition: attempts, runs, what happened, what was asked for, what to do."""
    text = seen.params["partition_id"]
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 19):
        raise InputRefused("partition_unknown", f"There is no partition {text[:60]!r}.", "Open it from a list.")
    return _one(seen, pages.key(seen.tx, int(text)))


def _one(seen: Seen, key: Partition) -> Context:
    (found,) = listing.inspect(seen.tx, of(key), limit=1)
    return {
        "one": found,
        "next_run": _next_run(found),
        "verbs": _allowed(seen, key),
        "events": listing.history(seen.tx, of(key)),
        "overrides": pages.overrides_of(seen.tx, found.partition_id),
        "grid_path": f"/partitions?of={quote(_of(key.source, key.query_name), safe='')}&last={key.logical_date}",
    }


def _allowed(seen: Seen, key: Partition) -> list[Ask]:
    """The verbs that its status allows, also those that need an option of the form."""
    allowed = []
    for ask in Ask:
        found = requesting.look(seen.tx, Request(ask=ask), of(key))
        if found.rows or any(why.startswith(LIFTED) for why in found.refused):
            allowed.append(ask)
    return allowed


def _next_run(one: Inspected) -> str:
    """Why it has no next run; empty: it has one, at its time."""
    match one.schedule:
        case "waiting":
            return ""
        case "open":
            return "a run is under way"
        case "held":
            why = {"OPERATOR": "a structural failure waits for a person", "PAUSED": "its backfill is paused"}
            return f"held: {why.get(one.hold or '', 'its backfill was cancelled')}"
        case "terminal":
            return f"none: terminal ({', '.join(one.terminal_causes or ())})"
        case _:
            return "none: it succeeded"


def _window(seen: Seen, asked: GridAsked) -> Mapping[str, Any] | None:
    """The days and customers that a page shows; None: there is no query."""
    known = pages.queries(seen.tx)
    choices = [(_of(*one), " / ".join(one)) for one in known]
    if not known:
        return None
    source, query = known[0] if asked.of is None else _read_of(asked.of)
    if (source, query) not in known:
        raise InputRefused("query_unknown", f"There is no query {f'{source}/{query}'[:200]!r}.", "Choose one.")
    try:
        first, last = pages.days(seen.tx, source, query, asked.first, asked.last)
    except Refusal as refusal:
        seen.problem = refusal
        first, last = pages.days(seen.tx, source, query)
    some = pages.customers(seen.tx, source, query, after=asked.after or "")
    days = [date.fromordinal(day) for day in range(first.toordinal(), last.toordinal() + 1)]
    return {
        "queries": choices, "of": _of(source, query), "source": source, "query": query, "first": first, "last": last,
        "days": days, "customers": some.names, "next": some.next, "earlier": pages.shifted(first, last, -1),
        "later": pages.shifted(first, last, 1),
    }  # fmt: skip


def _of(source: str, query: str) -> str:
    return f"{quote(source, safe='')}/{quote(query, safe='')}"


def _read_of(text: str) -> tuple[str, str]:
    source, _, query = text.partition("/")
    return unquote(source), unquote(query)


def _sources(seen: Seen) -> list[str]:
    return sorted({source for source, _ in pages.queries(seen.tx)})


def _choices(seen: Seen) -> Context:
    return {
        "sources": _sources(seen),
        "statuses": [one.value for one in PartitionStatus],
        "categories": [one.value for one in Category],
        "causes": [one.value for one in TerminalCause],
    }


def _filter(asked: routes.PartitionFilter) -> dict[str, object]:
    """The filter as a verb over many takes it; empty: none is set."""
    given = routes.PartitionFilter(**{name: getattr(asked, name) for name in routes.PartitionFilter.model_fields})
    return given.model_dump(mode="json", exclude_defaults=True)
