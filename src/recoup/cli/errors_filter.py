"""The filter options of commands about errors."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from cyclopts import Parameter

from recoup.cli.completers import error_tables
from recoup.durations import duration
from recoup.errors.listing import Filter
from recoup.errors.vocabulary import Category, Severity


class Status(StrEnum):
    """ErrorStatus, and the status of errors in the archive."""

    ACTIVE = "ACTIVE"
    RETRY_PENDING = "RETRY_PENDING"
    PARKED = "PARKED"
    ESCALATED = "ESCALATED"
    RESOLVED = "RESOLVED"
    ARCHIVED = "ARCHIVED"


def _upper(word: str) -> str:
    return word.upper().replace("-", "_")


def word(option: str) -> Parameter:
    """An option whose values are the words of an enumeration, in any case."""
    return Parameter(name=f"--{option}", name_transform=_upper)


LONGEST = timedelta(days=36_500)
Archived = Annotated[bool, Parameter(negative="", show_default=False, help="Include closed errors and the archives.")]


def _many(description: str) -> Parameter:
    return Parameter(negative="", show_default=False, help=description)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """Which errors. Each may be given several times, except text and durations."""

    table: Annotated[
        tuple[str, ...], _many("Of this table, such as outreach.dol_errors."), Parameter(completer=error_tables)
    ] = ()
    status: Annotated[tuple[Status, ...], _many("In this status."), word("status")] = ()
    code: Annotated[tuple[str, ...], _many("With this code.")] = ()
    text: Annotated[str | None, _many("With this text in the message or the code, in any case.")] = None
    signature: Annotated[tuple[str, ...], _many("Of this signature: the same failure, whatever the values in it.")] = ()
    severity: Annotated[tuple[Severity, ...], _many("Of this severity."), word("severity")] = ()
    category: Annotated[tuple[Category, ...], _many("Of this category."), word("category")] = ()
    entity: Annotated[tuple[UUID, ...], _many("About this entity (outreach_id).")] = ()
    older_than: Annotated[str | None, _many("First failed longer ago, such as 3d.")] = None
    newer_than: Annotated[str | None, _many("First failed less long ago, such as 2h.")] = None
    parked_longer_than: Annotated[str | None, _many("Parked for longer, such as 48h.")] = None
    breached: Annotated[bool, _many("Parked, and not reviewed in time by the owner of their tier.")] = False

    def filter(self) -> Filter:
        return Filter(
            tables=self.table,
            statuses=self.status,
            codes=self.code,
            text=self.text,
            signatures=self.signature,
            severities=self.severity,
            categories=self.category,
            entities=self.entity,
            older_than=_length(self.older_than),
            newer_than=_length(self.newer_than),
            parked_longer_than=_length(self.parked_longer_than),
            breached=self.breached,
        )


ANY = FilterOptions()


def _length(text: str | None) -> timedelta | None:
    return None if text is None else min(duration(text), LONGEST)
