"""Which errors a command is about: a filter, as a person gives it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal
from uuid import UUID

from cyclopts import Parameter

from recoup.cli.clock import duration
from recoup.errors.listing import Filter
from recoup.errors.vocabulary import Category, Severity

# ErrorStatus and the archive's own, written out: of a union, cyclopts shows and refuses the choices less clearly.
Status = Literal["ACTIVE", "RETRY_PENDING", "PARKED", "ESCALATED", "RESOLVED", "ARCHIVED"]
AS_STORED = Parameter(name_transform=str)  # the words of an enumeration; else cyclopts has them in lower case
LONGEST = timedelta(days=36_500)


def _many(description: str) -> Parameter:
    return Parameter(negative="", show_default=False, help=description)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """Which errors. Each of these may be given several times, but for the lengths of time."""

    table: Annotated[tuple[str, ...], _many("Of this table, such as outreach.dol_errors.")] = ()
    status: Annotated[tuple[Status, ...], _many("In this status.")] = ()
    code: Annotated[tuple[str, ...], _many("With this code.")] = ()
    signature: Annotated[tuple[str, ...], _many("Of this signature: the same failure, whatever its values.")] = ()
    severity: Annotated[tuple[Severity, ...], _many("Of this severity."), AS_STORED] = ()
    category: Annotated[tuple[Category, ...], _many("Of this category."), AS_STORED] = ()
    entity: Annotated[tuple[UUID, ...], _many("About this entity (outreach_id).")] = ()
    older_than: Annotated[str | None, _many("First failed longer ago, such as 3d.")] = None
    newer_than: Annotated[str | None, _many("First failed more lately, such as 2h.")] = None
    parked_longer_than: Annotated[str | None, _many("Waiting for a person for longer, such as 48h.")] = None

    def filter(self) -> Filter:
        return Filter(
            tables=self.table,
            statuses=self.status,
            codes=self.code,
            signatures=self.signature,
            severities=self.severity,
            categories=self.category,
            entities=self.entity,
            older_than=_length(self.older_than),
            newer_than=_length(self.newer_than),
            parked_longer_than=_length(self.parked_longer_than),
        )


ANY = FilterOptions()


def _length(text: str | None) -> timedelta | None:
    return None if text is None else min(duration(text), LONGEST)
