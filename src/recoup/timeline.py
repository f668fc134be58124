"""How rows of a domain are shown on a time line: their status at an instant, why they had it, and what happened.

Each domain declares it for its own kinds of rows (``Domain.timelines``) and reads them from its logs, in sets. Rows
lead to rows of other domains by kind and id alone, so that the core knows no domain by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from recoup.database.connection import Transaction
from recoup.find import Found

MAX_TEXT = 500  # characters of a message, a reason, a title
MAX_ROWS = 500  # of an answer
MOST = MAX_ROWS + 1  # rows that one look-up of connected rows returns: whether there are more is seen
ALWAYS = datetime.max.replace(tzinfo=UTC)


class Row(NamedTuple):
    """A row of a domain: what it is, and its id in the form that its domain uses."""

    kind: str  # error, entity, company, run, partition, match, …
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """The time that is asked about. The present has no bound: an event may be microseconds ahead of the clock."""

    now: datetime
    past: datetime | None = None  # None: the present

    @property
    def at(self) -> datetime:
        return self.now if self.past is None else self.past

    @property
    def bound(self) -> datetime:
        """Events after it do not count."""
        return ALWAYS if self.past is None else self.past


class Position(NamedTuple):
    """A place on a time line: of events at one time, that of the lower number in the logs is first.

    One entry of a log may be about several rows, as a claim is.
    """

    at: datetime
    seq: int
    kind: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which events: the newest ``limit`` of those up to an instant, and up to a position."""

    until: datetime
    before: Position | None
    limit: int

    @property
    def given(self) -> dict[str, Any]:
        """The parameters of queries. What one entry of a log says of several rows is read as a whole."""
        at, seq, *_ = self.before or (ALWAYS, 0)
        return {"until": self.until, "before_at": at, "before_seq": seq, "limit": self.limit + MAX_ROWS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A row at an instant: its status, the rule that held, and whether it might move on."""

    kind: str
    id: str
    name: str  # as people write it
    title: str | None
    status: str
    since: datetime | None
    rule: str  # why it had this status
    policy_version: int | None  # of the policy by which that was decided, as its row or log has it
    may_move_on: bool | None  # None: that is not asked of such a row
    because: str
    next_at: datetime | None  # when something was due by itself
    next_step: str | None  # what to do; of the present only

    @property
    def row(self) -> Row:
        return Row(self.kind, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event on a time line."""

    at: datetime
    seq: int  # in the log; 0: the row itself says it
    kind: str
    id: str
    event: str
    text: str
    actor: str | None
    actor_id: str | None
    authority: str | None
    policy_version: int | None  # as the log has it; else the one that was active

    @property
    def position(self) -> Position:
        return Position(self.at, self.seq, self.kind, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """How a domain shows its rows on a time line. Every function takes a set of rows of its own kinds."""

    domain: str
    kinds: Mapping[str, str]  # each with what it is
    statuses: Callable[[Transaction, Sequence[Row], Instant], Sequence[Status]]  # of those that existed then
    events: Callable[[Transaction, Sequence[Row], Page], Sequence[Event]]
    # Rows of its own that belong to these rows, and rows of others that its own name. It gets each row once.
    connected: Callable[[Transaction, Sequence[Row]], Sequence[Row]]
    follows: tuple[str, ...]  # kinds of rows that it is asked about there, its own or those of others
    row: Callable[[Transaction, Found], Row | None] | None = None  # of a thing that was found; default: by its id
    always: tuple[str, ...] = ()  # kinds of which any uuid may be asked about: it is known to others, if not to us


def ids(rows: Sequence[Row], *kinds: str) -> list[str]:
    """The ids of the rows of these kinds."""
    return [row.id for row in rows if row.kind in kinds]


def cut(text: str | None, most: int = MAX_TEXT) -> str:
    """A text of limited length."""
    text = text or ""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def joined(*parts: str | None, by: str = ": ") -> str:
    """The parts that say something."""
    return by.join(part for part in parts if part)
