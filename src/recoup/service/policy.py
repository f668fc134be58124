"""The policy's section on the service: rates, sessions, and hubs, which are what keys can be limited to."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from recoup.errors.policy import ErrorPolicy
from recoup.policy.section import Part, Section, one_of, wrong_value

HubName = Annotated[
    str,
    Field(pattern=r"^[a-z][a-z0-9_-]{0,59}$", description="a name of lower-case letters, digits, - and _"),
]
TableName = Annotated[str, Field(min_length=1, max_length=130, description="the name of an error table")]
SourceName = Annotated[str, Field(min_length=1, max_length=200, description="the name of a source of partitions")]


class Hub(Section):
    """What a key for this hub sees and changes."""

    tables: Annotated[list[TableName], Field(default_factory=list, max_length=1000)]
    sources: Annotated[list[SourceName], Field(default_factory=list, max_length=1000)]


class ServicePolicy(Part):
    """The service: its API and console."""

    section: ClassVar[str] = "service"
    package: ClassVar[str] = "recoup.service"

    rate_per_s: Annotated[int, Field(ge=1, le=1_000_000)]
    burst: Annotated[int, Field(ge=1, le=1_000_000)]
    session_hours: Annotated[int, Field(ge=1, le=168)]
    link_minutes: Annotated[int, Field(ge=1, le=60)]
    overlap_hours: Annotated[int, Field(ge=0, le=720)]
    denied_rows_per_minute: Annotated[int, Field(ge=10, le=10_000)]
    denied_days: Annotated[int, Field(ge=1, le=365)]
    hubs: Annotated[dict[HubName, Hub], Field(default_factory=dict, max_length=1000)]

    def check_with(self, whole: Section) -> None:
        """Tables are those of the section on errors."""
        errors = getattr(whole, ErrorPolicy.section, None)
        if not isinstance(errors, ErrorPolicy):
            return
        for name, hub in self.hubs.items():
            for table in hub.tables:
                if table not in errors.tables:
                    raise wrong_value(f"{self.section}.hubs.{name}.tables", table, one_of(table, errors.tables))
