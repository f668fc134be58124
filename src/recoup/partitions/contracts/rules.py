"""The rules of a contract over the columns that are there, as terms of one query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from recoup.formatting import timestamp
from recoup.partitions.contracts.declaration import Column, ColumnType, Contract, bound
from recoup.partitions.contracts.engine import quoted
from recoup.partitions.contracts.reading import JSON_TYPE, TABLE
from recoup.partitions.contracts.types import FLOATS, Typed

BROKEN, DRIFT, EMPTY, ROW_COUNT = "CONTRACT_BROKEN", "SCHEMA_DRIFT", "EMPTY", "ROW_COUNT"
STALE, UNREADABLE = "STALE", "UNREADABLE"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_SAMPLE = 5
MAX_COLUMNS_SHOWN = 12
MAX_ALLOWED_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What must hold, and the rows for which it does not."""

    name: str  # as the key of the policy
    says: str  # for people
    reason: str
    count: str  # SQL of an aggregate: how many rows break it
    sample: str  # SQL: a few of them
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Rules:
    """Collects rules; each value becomes a parameter of its own."""

    def __init__(self, columns: Mapping[str, Typed]) -> None:
        self.columns = columns
        self.found: list[Rule] = []
        self._parameters = 0

    def given(self, value: Any) -> tuple[str, dict[str, Any]]:
        """A value as a parameter: its SQL, and the parameter."""
        self._parameters += 1
        return f"$p{self._parameters}", {f"p{self._parameters}": value}

    def add(
        self, name: str, says: str, broken: str, column: str,
        parameters: Mapping[str, Any] | None = None, reason: str = BROKEN,
    ) -> None:  # fmt: skip
        """A rule over each row. ``broken``: SQL that is true where it does not hold."""
        shown = [column, *(one for one in self.columns if one != column)][:MAX_COLUMNS_SHOWN]
        sample = f"select {', '.join(map(quoted, shown))} from {TABLE} where {broken} limit {MAX_SAMPLE}"
        self.found.append(
            Rule(
                name=name, says=says, reason=reason, count=f"count(*) filter (where {broken})", sample=sample,
                parameters=parameters or {},
            )
        )  # fmt: skip


def row_rules(contract: Contract, columns: Mapping[str, Typed], window: tuple[datetime, datetime] | None) -> list[Rule]:
    """The rules over rows, in the order in which the data has its columns: types first, as others depend on them."""
    rules = Rules(columns)
    declared = [(name, contract.columns[name], found) for name, found in columns.items()]
    for name, column, found in declared:
        if found.unfit is not None:
            stored = "" if found.physical == JSON_TYPE else f" (it is stored as {found.physical})"
            says = f"{name} is {_article(column.type)}{stored}"
            rules.add(f"columns.{name}.type", says, found.unfit, name, reason=DRIFT)
    for name, column, found in declared:
        _column(rules, name, column, found)
    for names in contract.unique:
        if all(name in columns for name in names):
            rules.found.append(_unique(names, columns))
    timed = contract.freshness.column
    if contract.freshness.in_window and timed is not None and timed in columns and window is not None:
        _in_window(rules, timed, columns[timed], contract.columns[timed].type, window)
    return rules.found


def _article(type_: ColumnType) -> str:
    return f"{'an' if type_ == ColumnType.INTEGER else 'a'} {type_}"


def _column(rules: Rules, name: str, column: Column, found: Typed) -> None:
    key, value = f"columns.{name}", found.value
    if not column.nullable:
        rules.add(f"{key}.nullable", f"{name} is not null", f"{quoted(name)} is null", name)
    for word, sign, opposite in (("min", ">=", "<"), ("max", "<=", ">")):
        limit = getattr(column, word)
        if limit is None:
            continue
        sql, parameters = rules.given(bound(column.type, limit))
        # NaN is greater than every number here, and within no bounds.
        nan = f"isnan({value}) or " if _may_be_nan(column.type, found) else ""
        rules.add(f"{key}.{word}", f"{name} {sign} {limit}", f"({nan}{value} {opposite} {sql})", name, parameters)
    if column.allowed is not None:
        sql, parameters = rules.given(column.allowed)
        shown = ", ".join(map(str, column.allowed[:MAX_ALLOWED_SHOWN]))
        more = ", …" if len(column.allowed) > MAX_ALLOWED_SHOWN else ""
        rules.add(
            f"{key}.allowed", f"{name} is one of {shown}{more}", f"not list_contains({sql}, {value})", name, parameters
        )
    if column.pattern is not None:
        sql, parameters = rules.given(column.pattern)
        rules.add(
            f"{key}.pattern",
            f"{name} matches {column.pattern}",
            f"not regexp_full_match({value}, {sql})",
            name,
            parameters,
        )
    if column.max_length is not None:
        says = f"{name} has at most {column.max_length:,} characters"
        rules.add(f"{key}.max_length", says, f"length({value}) > {column.max_length}", name)


def _may_be_nan(declared: ColumnType, found: Typed) -> bool:
    return declared == ColumnType.NUMBER and (found.unfit is not None or found.physical in FLOATS)


def _unique(names: Sequence[str], columns: Mapping[str, Typed]) -> Rule:
    """Rows beyond the first of their key. As in SQL, a key with a null equals no other."""
    values = [columns[name].value for name in names]
    given = " and ".join(f"({value}) is not null" for value in values)
    key = values[0] if len(values) == 1 else f"row({', '.join(values)})"
    keys = ", ".join(f"{value} as {quoted(name)}" for name, value in zip(names, values, strict=True))
    grouped = ", ".join(str(place) for place in range(1, len(names) + 1))
    return Rule(
        name=f"unique.{','.join(names)}", says=f"{', '.join(names)} is unique", reason=BROKEN,
        count=f"count(*) filter (where {given}) - count(distinct {key}) filter (where {given})",
        sample=f'select {keys}, count(*) as "rows with this key" from {TABLE} where {given} '
        f"group by {grouped} having count(*) > 1 order by {grouped} limit {MAX_SAMPLE}",
    )  # fmt: skip


def _in_window(
    rules: Rules, name: str, found: Typed, type_: ColumnType, window: tuple[datetime, datetime]
) -> None:  # fmt: skip
    start, parameters = rules.given(instant(window[0], type_))
    end, more = rules.given(instant(window[1], type_))
    says = f"{name} is from {timestamp(window[0])} until before {timestamp(window[1])}"
    outside = f"({found.value} < {start} or {found.value} >= {end})"
    rules.add("freshness.in_window", says, outside, name, parameters | more, reason=STALE)


def instant(time: datetime, type_: ColumnType) -> datetime:
    """An instant to compare a column with: one without a time zone is taken as UTC."""
    return time.astimezone(UTC) if type_ == ColumnType.TIMESTAMP else time.astimezone(UTC).replace(tzinfo=None)


def latest(found: Typed) -> str:
    """SQL of the latest time of a column, in microseconds since 1970."""
    return f"epoch_us(max({found.value}) filter (where isfinite({found.value})))"


def too_old(contract: Contract, latest_us: int | None, window_end: datetime) -> str | None:
    """Why the latest time of the data is too old, in words; None: it is not."""
    age, name = contract.freshness.max_age_hours, contract.freshness.column
    if age is None:
        return None
    at_least = window_end - timedelta(hours=age)
    says = f"the latest {name} is at most {age} h before {timestamp(window_end)}"
    if latest_us is None:
        return f"{says}: it has no values"
    if latest_us >= round(at_least.timestamp() * 1e6):
        return None
    return f"{says}: it is {timestamp(EPOCH + timedelta(microseconds=max(latest_us, 0)))}"


def row_counts(contract: Contract, rows: int, previous: int | None) -> Iterator[tuple[str, str, str]]:
    """The rules about the number of rows that are broken: name, reason, and what is wrong, in words."""
    least, most, within = contract.rows.min, contract.rows.max, contract.rows.within
    if rows < least:
        says = "there are no rows" if rows == 0 else f"at least {least:,} rows: there are {rows:,}"
        yield "rows.min", EMPTY if rows == 0 else ROW_COUNT, says
    if most is not None and rows > most:
        yield "rows.max", ROW_COUNT, f"at most {most:,} rows: there are {rows:,}"
    if within is not None and previous and abs(rows - previous) > within * previous:
        change = f"{(rows - previous) / previous:+.0%}"
        says = f"rows within {within:.0%} of the previous run: {rows:,} after {previous:,}, {change}"
        yield "rows.within", ROW_COUNT, says
