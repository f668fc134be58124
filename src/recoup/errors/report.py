"""The daily report: what happened to errors on a day in UTC, and what waits now. Changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier, Literal

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy, grouping, lookup, metrics
from recoup.errors.grouping import Group
from recoup.errors.listing import Filter
from recoup.refusals import InputRefused
from recoup.signals import OVERALL

Q = load("recoup.errors", "report.sql")
TOP = 5  # groups, and errors that have been parked longest
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDay:
    """What happened to the errors of a table on a day."""

    error_table: str
    owner: str | None
    recorded: int = 0
    ignored: int = 0  # of those, with the disposition IGNORE
    processed: int | None = None  # units of work; None: nothing was reported
    error_rate: float | None = None  # None: nothing was processed
    parked: int = 0
    unparked: int = 0
    escalated: int = 0
    sla_breached: int = 0
    resolved: int = 0
    archived: int = 0
    expired_blocking: int = 0  # of those, expired while they blocked their entity
    parked_now: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OldestParked:
    """An error that has been parked for long."""

    error_table: str
    error_id: int
    parked_at: datetime
    parked_for_s: int
    owner: str | None
    park_reason: str
    escalation_level: int
    error_code: str | None
    error_message: str  # shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A day of errors."""

    day: date
    is_over: bool  # False: the day has not ended, and its counts grow
    overall: TableDay
    tables: Sequence[TableDay]
    oldest_parked: Sequence[OldestParked]  # now
    groups: Sequence[Group]  # the largest of failures that began on that day


def report(tx: Transaction, day: date | None = None) -> Report:
    """The report of a day; by default of the last one that has ended."""
    (now, _) = tx.execute(metrics.Q["now"]).fetchone() or (None, None)
    today = now.astimezone(UTC).date()
    day = today - DAY if day is None else day
    if day > today or day < date(2000, 1, 1):
        raise InputRefused(
            "day_unusable", f"There is no report of {day}.", f"Give a day until {today}.", today=str(today)
        )
    since = datetime(day.year, day.month, day.day, tzinfo=UTC)
    tables = _tables(tx, since, since + DAY)
    return Report(
        day=day,
        is_over=day < today,
        overall=_overall(tables),
        tables=tables,
        oldest_parked=_oldest(tx),
        groups=_groups(tx, now, since),
    )


def _tables(tx: Transaction, since: datetime, until: datetime) -> list[TableDay]:
    names = lookup.visible_tables(tx)
    policy = active_policy.cached(tx).errors
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    parked = SQL(" union all ").join(
        Q["parked"].format(name=Literal(name), table=Identifier(*name.split("."))) for name in names
    )
    with tx.cursor(row_factory=dict_row) as cursor:
        for query in (Q["day"], Q["processed"], *([parked] if names else ())):
            for row in cursor.execute(query, {"since": since, "until": until}, prepare=False):
                found.get(row.pop("error_table"), {}).update(row)
    return [_day(name, policy.tables[name].owner if name in policy.tables else None, found[name]) for name in names]


def _day(name: str, owner: str | None, found: dict[str, Any]) -> TableDay:
    processed = found.pop("processed", None)
    return TableDay(
        error_table=name,
        owner=owner,
        processed=None if processed is None else round(processed),
        error_rate=found.get("recorded", 0) / processed if processed else None,
        **found,
    )


def _overall(tables: Sequence[TableDay]) -> TableDay:
    """All tables together. The error rate is that of tables whose hubs reported what they processed."""
    counted = [one for one in tables if one.processed is not None]
    processed = sum(one.processed or 0 for one in counted)
    names = ("recorded", "ignored", "parked", "unparked", "escalated", "sla_breached", "resolved", "archived",
             "expired_blocking", "parked_now")  # fmt: skip
    return TableDay(
        error_table=OVERALL,
        owner=None,
        processed=processed if counted else None,
        error_rate=sum(one.recorded for one in counted) / processed if processed else None,
        **{name: sum(getattr(one, name) for one in tables) for name in names},
    )


def _oldest(tx: Transaction) -> list[OldestParked]:
    policy = active_policy.cached(tx).errors
    with tx.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(Q["oldest"], {"limit": TOP}).fetchall()
    for row in rows:
        table = policy.tables.get(row["error_table"])
        assigned, escalated = row.pop("assigned_to"), row.pop("escalated_to")
        row["owner"] = assigned or escalated or (None if table is None else table.owner)
        row["error_message"] = row["error_message"][: grouping.MAX_MESSAGE]
    return [OldestParked(**row) for row in rows]


def _groups(tx: Transaction, now: datetime, since: datetime) -> Sequence[Group]:
    """The largest groups of failures that began on this day, whatever became of them."""
    over = now - (since + DAY)
    begun = now - since + timedelta(microseconds=1)  # the first moment of the day belongs to it
    asked = Filter(newer_than=begun, older_than=over if over >= timedelta(0) else None)
    return grouping.largest(tx, asked, limit=TOP, archived=True).groups
