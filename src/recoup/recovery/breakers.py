"""Breakers: opened for a dependency that is down, so that what depends on it waits and one unit at a time tries it.

The action circuit_breaker opens one, or a person. Every claim reads it (routines/breakers.sql); how a probe
ended is read from the rows of the unit, by the next claim that comes by or by a duty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.operations.verbs import MAX_TEXT_BYTES
from recoup.recovery.vocabulary import BreakerStatus
from recoup.redaction import in_words
from recoup.refusals import InputRefused, LawRefused
from recoup.worker.duty import seconds

Q = load("recoup.recovery", "breakers.sql")
MAX_COUNTED = 10_000
MAX_NAME_BYTES = 500
GATE = ("table:cl.gate_zero_attempt", "table:cl.gate_zero_intake", "table:cl.gate_zero_recovery")


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """A breaker, and what waits behind it."""

    name: str
    status: BreakerStatus
    parts: list[str]  # table:NAME, run_kind:NAME, source:NAME
    opened_at: datetime
    opened_by: str
    reason: str
    candidate_id: UUID | None
    next_probe_at: datetime | None  # from when on one unit tries it
    wait_s: int
    max_wait_s: int
    probes: int  # since it was opened
    probe_subject: str | None
    probe_unit: str | None
    probe_until: datetime | None
    closed_at: datetime | None
    closed_by: str | None  # probe, or a person
    waiting: int | None  # counted up to MAX_COUNTED of each kind


class Place(NamedTuple):
    """A breaker by its place in the list of breakers, for the next page."""

    closed: bool
    opened_at: datetime
    name: str

    @classmethod
    def of(cls, one: Breaker) -> Place:
        return cls(one.status == "closed", one.opened_at, one.name)


def breakers(tx: Transaction, *, closed: bool = False, limit: int = 100, after: Place | None = None) -> list[Breaker]:
    """Breakers that are not closed, latest first; with ``closed``, all of them.

    ``after``, the place of the last one, gives the next page.
    """
    place = dict.fromkeys(Place._fields) if after is None else after._asdict()
    with tx.cursor(row_factory=class_row(Breaker)) as cursor:
        return cursor.execute(Q["list"], {"all": closed, "limit": limit, "most": MAX_COUNTED, **place}).fetchall()


def open_breaker(tx: Transaction, name: str, *, reason: str) -> bool:
    """Open a breaker, as an operator. False: it was open already, and stays as it is."""
    given = {"name": checked("name", name, MAX_NAME_BYTES), "reason": checked("reason", reason)}
    (opened,) = tx.execute(Q["open"], given).fetchone() or (0,)
    return bool(opened)


def close_breaker(tx: Transaction, name: str) -> None:
    """Close a breaker, as an operator: what depends on it is claimed again. The reason is the transaction's."""
    (closed,) = tx.execute(Q["close"], {"name": name}).fetchone() or (0,)
    if closed:
        return
    found = tx.execute(Q["one"], {"name": name}).fetchone()
    if found is None:
        raise InputRefused(
            "breaker_unknown", f"There is no breaker {name!r}.", "List them: recoup recovery breakers --all"
        )
    raise LawRefused("breaker_closed", f"Breaker {name} is closed.", "Nothing to do.", breaker=name)


def settle(tx: Transaction) -> int:
    """Close breakers whose probe ended well; open again those whose did not, or whose lease expired."""
    (count,) = tx.execute(Q["settle"]).fetchone() or (0,)
    return int(count)


def probe_lag(tx: Transaction) -> float | None:
    """Seconds since the lease of a probe expired that has not been settled; None: there is none."""
    return seconds(tx, Q["lag"])


def checked(what: str, text: str, most: int = MAX_TEXT_BYTES) -> str:
    """A name or a reason that can be stored; else it is refused."""
    if not text.strip() or "\0" in text or len(text.encode("utf-8", "replace")) > most:
        raise InputRefused(
            f"{what}_unusable",
            f"The {what} {text[:50]!r} is empty, too long, or holds a NUL.",
            f"Give a text of at most {most:,} bytes.",
        )
    return in_words(text) if what == "reason" else text


# Deadlines wait, too --------------------------------------------------------------------------------------------------


class Shut(NamedTuple):
    """When a breaker was not closed, last time, or when something was paused; until None: it still is."""

    parts: frozenset[str]
    since: datetime
    until: datetime | None


def shut_times(tx: Transaction) -> list[Shut]:
    """The last time that each breaker was not closed, of the last two months."""
    return [Shut(frozenset(parts), since, until) for parts, since, until in tx.execute(Q["times"])]


def earlier_times(tx: Transaction, since_seq: int) -> list[Shut]:
    """When each breaker was not closed, every time that ended after an event: the last time is among these."""
    found = tx.execute(Q["earlier_times"], {"since": since_seq})
    return [Shut(frozenset(parts), since, until) for parts, since, until in found]


def paused_times(tx: Transaction, since: datetime) -> list[Shut]:
    """When work that may be awaited was paused, as far as it was after a time."""
    return [Shut(frozenset({part}), begin, end) for part, begin, end in tx.execute(Q["paused_times"], {"since": since})]


def parts_of(awaits: Mapping[str, Any], source: str, run_kind: str | None, batch: str | None) -> frozenset[str]:
    """What an awaited unit depends on: its table; of a run also its kind and source, which are those of the failure;
    of an intake its batch."""
    key = str(awaits["key"])
    of = {
        "error": {"table:recoup.error", f"table:{key.partition('/')[0]}"},
        "intake": {*GATE, f"batch:{batch}"},
        "run": {"table:recovery.run", f"run_kind:{run_kind or source}", f"source:{source}"},
        "delivery": {"table:recoup.delivery"},
        "partition": {
            "table:partitions.partition_state", f"source:{source}", f"partition-source:{source}",
        },
    }  # fmt: skip
    return frozenset(of.get(str(awaits["kind"]), ())) | {"global:everything"}


def time_behind(shut: Sequence[Shut], parts: frozenset[str], since: datetime) -> tuple[timedelta, bool]:
    """How long an outcome that is awaited since a time was behind breakers or paused, and whether it is now."""
    ours = [one for one in shut if not one.parts.isdisjoint(parts)]
    spans = sorted((max(one.since, since), one.until) for one in ours if one.until is not None and one.until > since)
    total, last = timedelta(0), since
    for begin, end in spans:
        total += max(timedelta(0), end - max(begin, last))
        last = max(last, end)
    return total, any(one.until is None for one in ours)
