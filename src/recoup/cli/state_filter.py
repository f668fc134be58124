"""The options that choose partitions, the same for every command of ``recoup state``."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from cyclopts import Parameter

from recoup.categories import Category
from recoup.errors.inputs import moment
from recoup.partitions.selecting import Selection, days
from recoup.partitions.vocabulary import PartitionStatus, TerminalCause


def _many(description: str) -> Parameter:
    return Parameter(negative="", show_default=False, help=description)


def _upper(word: str) -> str:
    return word.upper()


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which partitions. Each may be given several times, except the time."""

    source: Annotated[tuple[str, ...], _many("Of this source.")] = ()
    customer_id: Annotated[tuple[str, ...], _many("Of this customer.")] = ()
    query_name: Annotated[tuple[str, ...], _many("Of this query.")] = ()
    logical_date: Annotated[
        tuple[str, ...], _many("Of this day, or of a range with both ends: 2026-01-01..2026-01-31.")
    ] = ()
    status: Annotated[tuple[PartitionStatus, ...], _many("In this status.")] = ()
    reason: Annotated[tuple[str, ...], _many("Rejected for this reason, such as CONTRACT_BROKEN.")] = ()
    rule: Annotated[tuple[str, ...], _many("Rejected by this rule of a contract.")] = ()
    signature: Annotated[tuple[str, ...], _many("Of this signature: the same failure, whatever the values in it.")] = ()
    category: Annotated[
        tuple[Category, ...], _many("Of this category."), Parameter(name="--category", name_transform=_upper)
    ] = ()
    validator_version: Annotated[tuple[str, ...], _many("Judged last by this version of their validator.")] = ()
    failed_since: Annotated[str | None, _many("Rejected at this time or later, such as 2026-01-31T09:00Z.")] = None
    backfill: Annotated[tuple[UUID, ...], _many("Of this backfill.")] = ()
    terminal_cause: Annotated[
        tuple[TerminalCause, ...],
        _many("Given up for this cause."),
        Parameter(name="--terminal-cause", name_transform=_upper),
    ] = ()

    def selection(self) -> Selection:
        return Selection(
            sources=self.source,
            customer_ids=self.customer_id,
            query_names=self.query_name,
            logical_dates=tuple(days(text) for text in self.logical_date),
            statuses=self.status,
            reasons=self.reason,
            rules=self.rule,
            signatures=self.signature,
            categories=self.category,
            validator_versions=self.validator_version,
            failed_since=None if self.failed_since is None else moment(self.failed_since),
            backfills=self.backfill,
            terminal_causes=self.terminal_cause,
        )


ANY = Which()
