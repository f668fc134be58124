"""Which errors a command is about: names and filters as a person gives them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

from cyclopts import Parameter

if TYPE_CHECKING:
    from recoup.errors.looking import Filter

Status = Literal["ACTIVE", "RETRY_PENDING", "PARKED", "ESCALATED", "RESOLVED", "ARCHIVED"]
SeverityWord = Literal["CRITICAL", "HIGH", "MEDIUM", "LOW"]
CategoryWord = Literal["TRANSIENT", "OPERATIONAL", "STRUCTURAL"]
LONGEST = timedelta(days=36_500)


def _many(says: str) -> Parameter:
    return Parameter(negative="", show_default=False, help=says)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which errors. Each of these may be given several times, but for the lengths of time."""

    table: Annotated[tuple[str, ...], _many("Of this table, such as outreach.dol_errors.")] = ()
    status: Annotated[tuple[Status, ...], _many("In this status.")] = ()
    code: Annotated[tuple[str, ...], _many("With this code.")] = ()
    signature: Annotated[tuple[str, ...], _many("Of this signature: the same failure, whatever its values.")] = ()
    severity: Annotated[tuple[SeverityWord, ...], _many("Of this severity.")] = ()
    category: Annotated[tuple[CategoryWord, ...], _many("Of this category.")] = ()
    entity: Annotated[tuple[UUID, ...], _many("About this entity (outreach_id).")] = ()
    older_than: Annotated[str | None, _many("First failed longer ago, such as 3d.")] = None
    newer_than: Annotated[str | None, _many("First failed more lately, such as 2h.")] = None
    parked_longer_than: Annotated[str | None, _many("Waiting for a person for longer, such as 48h.")] = None

    def filter(self) -> Filter:
        from recoup.errors.looking import Filter
        from recoup.errors.vocabulary import Category, Severity

        return Filter(
            tables=self.table,
            statuses=self.status,
            codes=self.code,
            signatures=self.signature,
            severities=tuple(Severity(one) for one in self.severity),
            categories=tuple(Category(one) for one in self.category),
            entities=self.entity,
            older_than=_length(self.older_than),
            newer_than=_length(self.newer_than),
            parked_longer_than=_length(self.parked_longer_than),
        )


ANY = Which()


def _length(text: str | None) -> timedelta | None:
    from recoup.cli.clock import duration

    return None if text is None else min(duration(text), LONGEST)
