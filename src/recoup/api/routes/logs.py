"""Logs over HTTP: pages of settled events, and a stream of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Header, Path, Query
from pydantic import Field

from recoup.api import following
from recoup.api.answers import Listing
from recoup.api.declare import MAX_VALUES, Area, Given, Name
from recoup.api.streams import Position
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority

CONSUMER = Authority.CONSUMER
LOGS = Area(name="logs", about="Events, each once and in order, from a position that the caller keeps.")
MAX_EVENTS = 1000
LogName = Annotated[str, Path(max_length=100, examples=["recoup.error_event"], description="GET /v1/logs lists them.")]


class FollowAsked(Given):
    """From where on, and which events."""

    after: Annotated[str | None, Field(max_length=5000, description="The position to continue from.")] = None
    start: Annotated[Literal["beginning", "now"], Field(description="Where to begin without a position.")] = "beginning"
    event_type: Annotated[tuple[Name, ...], Field(max_length=MAX_VALUES, description="Only these.")] = ()


class EventsAsked(FollowAsked):
    """From where on, which events, and how many."""

    limit: Annotated[int, Query(ge=1, le=MAX_EVENTS)] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LogColumns:
    """A log, and the fields of its events."""

    log: str
    fields: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Events, and the position behind them."""

    items: Sequence[Mapping[str, Any]]
    next: str
    caught_up: bool  # nothing settled is left


@LOGS.get("/v1/logs", CONSUMER)
def list_logs(tx: Transaction) -> Listing[LogColumns]:
    """List the logs that can be followed."""
    return Listing(items=[LogColumns(log=log.table, fields=log.columns) for log in following.LOGS.values()])


@LOGS.get("/v1/logs/{log}/events", CONSUMER)
def events(tx: Transaction, *, log: LogName, asked: Annotated[EventsAsked, Query()]) -> Events:
    """Read the next events of a log. Pass `next` as `after` to continue: nothing is missed or repeated.

    An event is in a page once every transaction before it has ended, so that none can come later with a lower number.
    """
    of = following.log_of(log)
    at = following.position(tx, of, asked.after, start=asked.start)
    found = following.read(tx, of, at, limit=asked.limit, event_types=asked.event_type or None)
    return Events(
        items=[event for _, event in found.events], next=following.written(of, found.then), caught_up=found.caught_up
    )


@LOGS.get("/v1/logs/{log}/stream", CONSUMER, streams=True)
def stream(
    tx: Transaction,
    *,
    log: LogName,
    asked: Annotated[FollowAsked, Query()],
    last_event_id: Annotated[str | None, Header(max_length=5000)] = None,
) -> Position:
    """Follow the events of a log as they settle, as server-sent events.

    The `id` of an event is the position behind it: a client that connects again sends it as `Last-Event-ID`, and gets
    what comes after. A comment is sent every 15 seconds. The stream ends when its key does.
    """
    of = following.log_of(log)
    at = following.position(tx, of, last_event_id or asked.after, start=asked.start)
    following.read(tx, of, at, limit=1)  # refused now if there is no such position
    return Position(log=of, event_types=asked.event_type or None, at=at)
