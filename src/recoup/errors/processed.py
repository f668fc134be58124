"""Processed counts: how many units of work a hub has processed. Error rates are shares of them.

A report is stored once: the same key with the same content is the report that is there, with another content it is
refused. Several programs may report for one table and time; their counts add up. Reports are kept: one for each table
and hour is nine thousand rows a year.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy
from recoup.errors.inputs import shown
from recoup.formatting import timestamp
from recoup.refusals import InputRefused

Q = load("recoup.errors", "processed.sql")
MAX_REPORTS = 10_000  # of one call
MAX_COUNT = 10**12
MAX_KEY_BYTES = 200
MAX_PERIOD_HOURS = 744  # 31 days


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProcessed:
    """What a hub reports: units of work that were processed, those that failed included."""

    table: str
    count: int
    period_from: datetime | None = None  # default: the end of the period
    period_to: datetime | None = None  # default: now
    key: str | None = None  # default: a new one, so that the report counts whenever it is sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Processed:
    """A report as it is stored."""

    error_table: str
    count: int
    period_from: datetime
    period_to: datetime
    idempotency_key: str
    is_new: bool  # False: it was reported before, and counts once


def report(tx: Transaction, reports: Sequence[NewProcessed]) -> list[Processed]:
    """Store processed counts, all or none, in one statement. What was stored before comes back as it is."""
    if len(reports) > MAX_REPORTS:
        raise InputRefused(
            "too_many_reports", f"{len(reports):,} reports in one call.", f"Send at most {MAX_REPORTS:,} at once."
        )
    policy = active_policy.cached(tx).errors
    for one in reports:
        policy.table(one.table)
        _check(one)
    if not reports:
        return []
    given = {
        "tables": [one.table for one in reports],
        "froms": [one.period_from for one in reports],
        "tos": [one.period_to for one in reports],
        "counts": [one.count for one in reports],
        "keys": [one.key for one in reports],
    }
    with tx.cursor(row_factory=dict_row) as cursor:
        # Two at once with the same key: the second waits for the first, and then finds its row.
        stored = {row["place"]: row for row in cursor.execute(Q["report"], given)}
        before = [place for place in range(1, len(reports) + 1) if place not in stored]
        if before:
            named = [reports[place - 1] for place in before]
            theirs = {"places": before, "tables": [one.table for one in named], "keys": [one.key for one in named]}
            found = {row["place"]: row for row in cursor.execute(Q["reported"], theirs)}
            for place, one in zip(before, named, strict=True):
                _check_same(one, _stored(found[place], is_new=False))
            stored |= found
    return [_stored(stored[place], is_new=place not in before) for place in range(1, len(reports) + 1)]


def _stored(row: dict[str, Any], *, is_new: bool) -> Processed:
    return Processed(**{name: value for name, value in row.items() if name != "place"}, is_new=is_new)


def _check(one: NewProcessed) -> None:
    """What the database would refuse too; here the refusal names the value."""
    if isinstance(one.count, bool) or not isinstance(one.count, int) or not 0 <= one.count <= MAX_COUNT:
        raise InputRefused("count_unusable", f"{shown(one.count)} is no count.", f"Give 0 to {MAX_COUNT:,}.")
    if one.key is not None and (
        not isinstance(one.key, str)
        or not 1 <= len(one.key.encode(errors="replace")) <= MAX_KEY_BYTES
        or not one.key.isprintable()
    ):
        raise InputRefused(
            "key_unusable", f"{shown(one.key)} is no key of a report.", f"Give up to {MAX_KEY_BYTES} characters."
        )
    times = [time for time in (one.period_from, one.period_to) if time is not None]
    if any(not isinstance(time, datetime) or time.tzinfo is None for time in times):
        raise InputRefused(
            "period_unusable", "A period has a time without a zone.", "Give times with a zone, such as UTC."
        )
    if len(times) == 2 and not 0 <= (times[1] - times[0]).total_seconds() <= MAX_PERIOD_HOURS * 3600:
        raise InputRefused(
            "period_unusable",
            f"A period from {timestamp(times[0])} to {timestamp(times[1])} ends before it begins, or is too long.",
            "Give its beginning first; report at most 31 days at once.",
        )


def _check_same(given: NewProcessed, stored: Processed) -> None:
    """Refuse a key that names another report. What was not given, the first report decided."""
    same = (
        given.count == stored.count
        and given.period_from in (None, stored.period_from)
        and given.period_to in (None, stored.period_to)
    )
    if not same:
        raise InputRefused(
            "key_taken",
            f"The key {given.key} names another report of {given.table}: {stored.count:,} from"
            f" {timestamp(stored.period_from)} to {timestamp(stored.period_to)}.",
            "Nothing was stored. Send the report as it was, or with a key of its own.",
            table=given.table,
            key=given.key,
            count=stored.count,
        )
