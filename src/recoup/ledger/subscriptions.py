"""The settled read of a log, and named subscriptions to it.

A cursor on a timestamp or on ``seq`` loses events: a transaction that began early may commit late, behind the cursor.
So a subscription stores a snapshot. It reads what became visible since, in the order of ``seq``; nothing is missed,
repeated, or out of order within an entity, and a long transaction elsewhere delays no reader.

Exactly once: read, work and acknowledge in one transaction. At least once: acknowledge in a later one.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL, Composed, Identifier

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.refusals import InputRefused, LawRefused

Q = load("recoup.ledger", "subscriptions.sql")
BEGINNING = "1:1:"  # the snapshot in which nothing is visible
MAX_PAGE = 10_000
SHORT_WINDOW_ROWS = 20_000  # up to this many are read and sorted at once; a longer range is read along seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """An event log: its table, and the columns a subscriber gets."""

    table: str
    columns: tuple[str, ...]
    event: str = "event_type"  # the column by which events are chosen

    def query(self, name: str) -> Composed:
        return Q[name].format(
            log=Identifier(*self.table.split(".")),
            columns=SQL(", ").join(SQL("l.") + Identifier(column) for column in self.columns),
            names=SQL(", ").join(Identifier(column) for column in self.columns),
            event=Identifier(self.event),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """The position of a subscription. Snapshots are PostgreSQL's, as text."""

    incarnation: int
    since: str
    until: str | None
    after_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some events, in order, and the position of the subscription once they are acknowledged."""

    log: str
    name: str
    events: tuple[dict[str, Any], ...] = ()
    position: int = -1
    then: Cursor | None = field(default=None, repr=False)
    busy: bool = False  # another reader has the subscription: nothing was read
    caught_up: bool = False  # nothing settled is left after this page
    passed: int = 0  # transactions since the last acknowledgement: an empty page is worth one when these are many


def subscribe(tx: Transaction, log: Log, name: str) -> None:
    """Begin a subscription at the first event of the log. Does nothing when it exists."""
    if not name.strip():
        raise InputRefused("subscription_unnamed", "A subscription needs a name.", "Name it after its reader.")
    tx.execute(Q["subscribe"], {"log": log.table, "name": name})


def unsubscribe(tx: Transaction, log: Log, name: str) -> bool:
    """Forget a subscription. A later one of that name begins at the first event again."""
    return tx.execute(Q["unsubscribe"], {"log": log.table, "name": name}).rowcount > 0


def read(tx: Transaction, log: Log, name: str, *, limit: int = 500, event_types: Sequence[str] | None = None) -> Page:
    """The next page of settled events. Until it is acknowledged, the next read gives it again."""
    if not 1 <= limit <= MAX_PAGE:
        raise InputRefused("page_size", f"A page of {limit} events.", f"Ask for 1 to {MAX_PAGE}.", limit=limit)
    named = {"log": log.table, "name": name}
    row = tx.execute(Q["take_subscription"], named).fetchone()
    if row is None:
        if tx.execute(Q["subscription_exists"], named).rowcount:
            return Page(log=log.table, name=name, busy=True)
        raise InputRefused(
            "subscription_unknown",
            f"There is no subscription {name!r} to {log.table}.",
            "Subscribe first.",
            **named,
        )
    position, incarnation, since, until, after_seq, present = row
    at = Cursor(incarnation=incarnation, since=since, until=until, after_seq=after_seq)
    # Compared before anything is read: after a restore the cursor's ids are another cluster's.
    snapshot = present_snapshot(tx) if until is None and incarnation >= present else until
    read_ = follow(tx, log, at, snapshot, limit=limit, event_types=event_types)
    return Page(
        log=log.table,
        name=name,
        events=read_.events,
        position=position,
        then=read_.then,
        caught_up=read_.caught_up,
        passed=_end(snapshot) - _end(since) if snapshot is not None else 0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What was read from a position on, and the positions behind it."""

    events: tuple[dict[str, Any], ...]
    until: str | None  # the snapshot up to which was read
    then: Cursor  # behind all of it
    caught_up: bool  # nothing settled is left


def present_snapshot(tx: Transaction) -> str:
    """What is settled now."""
    (snapshot,) = tx.execute(Q["present_snapshot"]).fetchone() or ("",)
    return str(snapshot)


FIRST = Cursor(incarnation=1, since=BEGINNING, until=None, after_seq=0)  # before the first event of a log


def end(tx: Transaction) -> Cursor:
    """The position behind all that is settled now."""
    return Cursor(incarnation=present_incarnation(tx), since=present_snapshot(tx), until=None, after_seq=0)


def present_incarnation(tx: Transaction) -> int:
    """That of events that are written now."""
    (present,) = tx.execute(Q["present_incarnation"]).fetchone() or (1,)
    return int(present)


def follow(
    tx: Transaction,
    log: Log,
    at: Cursor,
    snapshot: str | None,
    *,
    limit: int,
    event_types: Sequence[str] | None = None,
) -> Followed:
    """The next settled events from a position on, that a reader keeps. Stores nothing.

    ``snapshot``: up to where, for a position that has none; None if the position is of an earlier incarnation.
    """
    begun = at.until is not None
    way, at = _way(tx, log, at if begun else dataclasses.replace(at, until=snapshot), begun=begun)
    parameters = {
        **dataclasses.asdict(at), "limit": limit,
        "event_types": list(event_types) if event_types is not None else None,
    }  # fmt: skip
    with tx.cursor(row_factory=dict_row) as cursor:
        events = cursor.execute(log.query(way), parameters).fetchall()
    short = len(events) < limit
    return Followed(
        events=tuple(events),
        until=at.until,
        then=_after(at, events[-1]["seq"] if events else 0, short=short),
        # The last page of an older snapshot is not the end: more may have settled since that was taken.
        caught_up=short and at.until is not None and not begun,
    )


def _end(snapshot: str) -> int:
    """The first transaction id that a snapshot does not know."""
    return int(snapshot.split(":")[1])


def _way(tx: Transaction, log: Log, at: Cursor, *, begun: bool) -> tuple[str, Cursor]:
    """Which query reads this range, and from where.

    A short range is read by its transactions and sorted. A long one is read page by page along ``seq``, for which its
    first seq is looked up once.
    """
    if at.until is None:
        return "read_earlier_incarnation", at
    if begun or at.since == BEGINNING:
        return "read_long_window", at
    window = {"incarnation": at.incarnation, "since": at.since, "until": at.until, "most": SHORT_WINDOW_ROWS}
    (rows,) = tx.execute(log.query("window_rows"), window).fetchone() or (0,)
    if rows < SHORT_WINDOW_ROWS:
        return "read_short_window", at
    (before,) = tx.execute(log.query("before_window"), window).fetchone() or (0,)
    return "read_long_window", dataclasses.replace(at, after_seq=before)


def acknowledge(tx: Transaction, page: Page) -> None:
    """Mark a page as processed. Refused when it was already acknowledged."""
    if page.then is None:
        return
    done = tx.execute(
        Q["acknowledge"],
        {
            "log": page.log, "name": page.name, "position": page.position, "incarnation": page.then.incarnation,
            "since": page.then.since, "until": page.then.until, "after_seq": page.then.after_seq,
        },
    )  # fmt: skip
    if done.rowcount == 0:
        raise LawRefused(
            "page_acknowledged",
            f"{page.name} has moved on in {page.log}: this page was already acknowledged.",
            "Do not apply its events twice; read the next page.",
            log=page.log, name=page.name, position=page.position,
        )  # fmt: skip


def _after(at: Cursor, last_seq: int, *, short: bool) -> Cursor:
    """The position of a subscription after a page."""
    if not short:
        return dataclasses.replace(at, after_seq=last_seq)
    if at.until is None:  # the last page of an earlier incarnation
        return Cursor(incarnation=at.incarnation + 1, since=BEGINNING, until=None, after_seq=0)
    return Cursor(incarnation=at.incarnation, since=at.until, until=None, after_seq=0)
