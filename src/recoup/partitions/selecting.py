"""Which partitions: one filter for every verb, list and report, and one SQL for it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from psycopg.sql import SQL, Composed

from recoup.categories import Category
from recoup.database.queries import load
from recoup.partitions.identity import Partition
from recoup.partitions.vocabulary import PartitionStatus, TerminalCause
from recoup.refusals import InputRefused

Q = load("recoup.partitions", "selecting.sql")
BETWEEN = ".."
MAX_DAYS = 36_600  # of one range


class Days(NamedTuple):
    """A range of days, both ends included. None: open at this end."""

    first: date | None
    last: date | None

    def __str__(self) -> str:
        if self.first == self.last:
            return str(self.first)
        return f"{self.first or ''}{BETWEEN}{self.last or ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which partitions. One of each list has to match; an empty list matches everything.

    Reason, rule, signature, category and validator version are those of the last verdict.
    """

    sources: tuple[str, ...] = ()
    customer_ids: tuple[str, ...] = ()
    query_names: tuple[str, ...] = ()
    logical_dates: tuple[Days, ...] = ()
    statuses: tuple[PartitionStatus, ...] = ()
    reasons: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    categories: tuple[Category, ...] = ()
    validator_versions: tuple[str, ...] = ()
    failed_since: datetime | None = None  # the last verdict is a rejection, at this time or later
    backfills: tuple[UUID, ...] = ()
    terminal_causes: tuple[TerminalCause, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.conditions

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions, as an operation keeps them."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value.isoformat() if isinstance(value, datetime) else [*map(str, value)]
            for name, value in given.items()
            if value
        }

    def __str__(self) -> str:
        """The selection as options of the command line, as logs keep it."""
        options = []
        for name, value in self.conditions.items():
            option = "--" + OPTIONS.get(name, name).replace("_", "-")
            options += [f"{option} {one}" for one in ([value] if isinstance(value, str) else value)]
        return " ".join(options)

    @property
    def given(self) -> dict[str, Any]:
        """The parameters of its SQL."""
        others = ("logical_dates", "failed_since")
        lists = {name: [*map(str, getattr(self, name))] or None for name in OPTIONS if name not in others}
        days = self.logical_dates
        return {
            **lists,
            "firsts": [one.first for one in days] or None,
            "lasts": [one.last for one in days] or None,
            "first_day": None if not days or any(one.first is None for one in days) else min(_days(days, 0)),
            "last_day": None if not days or any(one.last is None for one in days) else max(_days(days, 1)),
            "failed_since": self.failed_since,
        }


OPTIONS = {
    "sources": "source", "customer_ids": "customer_id", "query_names": "query_name", "logical_dates": "logical_date",
    "statuses": "status", "reasons": "reason", "rules": "rule", "signatures": "signature", "categories": "category",
    "validator_versions": "validator_version", "failed_since": "failed_since", "backfills": "backfill",
    "terminal_causes": "terminal_cause",
}  # fmt: skip
EVERYTHING = Selection()
Day: TypeAlias = str | date | Days
Word = TypeVar("Word", bound=StrEnum)


def _days(days: Iterable[Days], end: int) -> list[date]:
    return [day for one in days if (day := one[end]) is not None]


def matching(query: str, queries: Mapping[str, SQL]) -> Composed:
    """A query over partitions (p), schedules (s) and last verdicts (a), with the conditions of a selection."""
    return queries[query].format(matching=Q["matching"])


def of(partitions: Sequence[Partition] | Partition) -> Selection:
    """The selection of one partition. Of several, one that contains them."""
    given = [partitions] if isinstance(partitions, Partition) else partitions
    return Selection(
        sources=tuple(dict.fromkeys(one.source for one in given)),
        customer_ids=tuple(dict.fromkeys(one.customer_id for one in given)),
        query_names=tuple(dict.fromkeys(one.query_name for one in given)),
        logical_dates=tuple(Days(day, day) for day in dict.fromkeys(one.logical_date for one in given)),
    )


def days(text: Day) -> Days:
    """A day, or a range with both ends included: 2026-01-31, 2026-01-01..2026-01-31, 2026-01-01.. or ..2026-01-31."""
    if isinstance(text, datetime):
        text = text.date()
    if isinstance(text, date):
        return Days(text, text)
    if isinstance(text, Days):
        found = text
    else:
        first, between, last = text.strip().partition(BETWEEN)
        found = Days(_day(first, text), _day(last, text)) if between else Days(_day(text, text), _day(text, text))
        if found == (None, None):
            raise _unreadable(text)
    if found.first is not None and found.last is not None and found.first > found.last:
        raise InputRefused(
            "range_empty",
            f"{found} ends before it begins.",
            f"Write the earlier day first: {found.last}{BETWEEN}{found.first}.",
        )
    return found


def select(
    *,
    source: str | Iterable[str] = (),
    customer_id: str | Iterable[str] = (),
    query_name: str | Iterable[str] = (),
    logical_date: Day | Iterable[Day] = (),
    status: str | Iterable[str] = (),
    reason: str | Iterable[str] = (),
    rule: str | Iterable[str] = (),
    signature: str | Iterable[str] = (),
    category: str | Iterable[str] = (),
    validator_version: str | Iterable[str] = (),
    failed_since: datetime | None = None,
    backfill: UUID | Iterable[UUID] = (),
    terminal_cause: str | Iterable[str] = (),
) -> Selection:
    """Which partitions. Each condition is one value or several; of days also ranges, as "2026-01-01..2026-01-31"."""
    return Selection(
        sources=_texts(source),
        customer_ids=_texts(customer_id),
        query_names=_texts(query_name),
        logical_dates=_ranges(logical_date),
        statuses=tuple(_word(PartitionStatus, one) for one in _texts(status)),
        reasons=_texts(reason),
        rules=_texts(rule),
        signatures=_texts(signature),
        categories=tuple(_word(Category, one) for one in _texts(category)),
        validator_versions=_texts(validator_version),
        failed_since=failed_since,
        backfills=(backfill,) if isinstance(backfill, UUID) else tuple(backfill),
        terminal_causes=tuple(_word(TerminalCause, one) for one in _texts(terminal_cause)),
    )


def _texts(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _word(words: type[Word], given: str) -> Word:
    try:
        return words(given)
    except ValueError:
        allowed = ", ".join(words)
        raise InputRefused("word_unknown", f"{given!r} selects nothing.", f"Use one of: {allowed}.") from None


def _ranges(given: Day | Iterable[Day]) -> tuple[Days, ...]:
    if isinstance(given, str | date | Days):
        return (days(given),)
    return tuple(days(one) for one in given)


def each_day(ranges: Sequence[Days], *, until: date | None = None) -> list[date]:
    """Every day of ranges that have both ends, in order and once. ``until``: the end of a range that has none."""
    found: dict[date, None] = {}
    for one in ranges:
        first, last = one.first, one.last or until
        if first is None or last is None:
            raise InputRefused(
                "range_open", f"The range {one} has no {'beginning' if first is None else 'end'}.", "Give both days."
            )
        if (last - first).days > MAX_DAYS:
            raise InputRefused("range_too_long", f"{one} is longer than a hundred years.", "Give a shorter range.")
        found |= dict.fromkeys(date.fromordinal(day) for day in range(first.toordinal(), last.toordinal() + 1))
    return sorted(found)


def _day(text: str, whole: str) -> date | None:
    if not text.strip():
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise _unreadable(whole) from None


def _unreadable(text: str) -> InputRefused:
    return InputRefused(
        "day_unreadable",
        f"{text[:50]!r} is no day, and no range of days.",
        "Write 2026-01-31, or with both ends included 2026-01-01..2026-01-31.",
    )
