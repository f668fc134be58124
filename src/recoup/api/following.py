"""Positions in logs, as callers keep them: opaque, and valid in every process that serves the database."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recoup.api import cursors
from recoup.database.connection import Transaction
from recoup.domain import logs
from recoup.domains import DOMAINS
from recoup.ledger import subscriptions
from recoup.ledger.subscriptions import FIRST, Cursor, Followed, Log
from recoup.refusals import InputRefused


def _log(table: str, columns: Sequence[str]) -> Log:
    return Log(table=table, columns=tuple(columns), event="event_type" if "event_type" in columns else "to_status")


# Logs of events: those that count transactions, so that their readers miss nothing.
LOGS: Mapping[str, Log] = {
    one.table: _log(one.table, one.columns[-1])
    for one in logs(DOMAINS)
    if one.columns and {"seq", "xid", "incarnation"} <= set(one.columns[-1])
    if "event_type" in one.columns[-1] or "to_status" in one.columns[-1]
}


SNAPSHOT = re.compile(r"[0-9]{1,19}:[0-9]{1,19}:(?:[0-9]{1,19}(?:,[0-9]{1,19})*+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Events from a position on, each with the position behind it."""

    events: Sequence[tuple[str, dict[str, Any]]]
    then: Cursor
    caught_up: bool


def log_of(name: str) -> Log:
    """A log by its name."""
    if name not in LOGS:
        raise InputRefused("log_unknown", f"There is no log {name[:100]!r}.", f"Use one of: {', '.join(LOGS)}.")
    return LOGS[name]


def position(tx: Transaction, log: Log, text: str | None, *, start: str) -> Cursor:
    """A position as a caller keeps it; without one the first event, or the end."""
    if text is None:
        return FIRST if start == "beginning" else subscriptions.end(tx)
    found = cursors.read(log.table, text, tuple[int, str, str | None, int])
    assert found is not None
    incarnation, since, until, after_seq = found
    at = Cursor(incarnation=incarnation, since=since, until=until, after_seq=after_seq)
    # One that is ahead of everything would read the whole log and find nothing.
    if not 0 <= after_seq < 2**63 or not _is_past(at, subscriptions.present_incarnation(tx), tx):
        raise cursors.unusable(text)
    return at


def _is_past(at: Cursor, present: int, tx: Transaction) -> bool:
    """Whether a position can have been given out: in this incarnation, by a snapshot of before."""
    snapshots = [one for one in (at.since, at.until) if one is not None]
    if not 0 < at.incarnation <= present or not all(map(SNAPSHOT.fullmatch, snapshots)):
        return False
    known = int(subscriptions.present_snapshot(tx).split(":")[1])
    return at.incarnation < present or all(int(one.split(":")[1]) <= known for one in snapshots)


def written(log: Log, at: Cursor) -> str:
    """A position as a caller keeps it."""
    return cursors.written(log.table, [at.incarnation, at.since, at.until, at.after_seq])


def snapshot_for(tx: Transaction, at: Cursor, present: int, snapshot: str) -> str | None:
    """Up to where a position is read: what is settled now; of an earlier incarnation, everything."""
    return snapshot if at.incarnation >= present else None


def read(tx: Transaction, log: Log, at: Cursor, *, limit: int, event_types: Sequence[str] | None = None) -> Read:
    """The next events from a position on."""
    present, snapshot = subscriptions.present_incarnation(tx), subscriptions.present_snapshot(tx)
    up_to = snapshot_for(tx, at, present, snapshot)
    return placed(log, at, subscriptions.follow(tx, log, at, up_to, limit=limit, event_types=event_types))


def placed(log: Log, at: Cursor, found: Followed) -> Read:
    """What was read, with the position behind each event."""
    return Read(events=list(_placed(log, at, found)), then=found.then, caught_up=found.caught_up)


def _placed(log: Log, at: Cursor, found: Followed) -> Iterator[tuple[str, dict[str, Any]]]:
    for event in found.events:
        behind = dataclasses.replace(at, until=found.until, after_seq=event["seq"])
        yield written(log, behind), {name: _plain(value) for name, value in event.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, list):  # content_log has digests of many rows in one event
        return [_plain(one) for one in value]
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else value
