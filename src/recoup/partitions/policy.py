"""The policy's section on partitions: limits and waits, the registry of sources and queries, and data contracts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal
from zoneinfo import available_timezones

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from recoup.partitions.contracts.declaration import Contract
from recoup.partitions.identity import Partition
from recoup.partitions.sink.paths import folders
from recoup.policy.section import Part, Section, one_of, wrong_value
from recoup.refusals import InputRefused

Count = Annotated[int, Field(ge=1, le=1000)]
Hours = Annotated[int, Field(ge=1, le=87_600)]
Minutes = Annotated[int, Field(ge=0, le=525_600)]
Wait = Annotated[int, Field(ge=0, le=2_592_000)]
Steps = Annotated[list[Wait], Field(min_length=1, max_length=20)]
Share = Annotated[float, Field(ge=0, le=0.5, strict=False)]
Strategy = Literal["steps", "fixed", "none"]
Function = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z_][\w.-]*(:[A-Za-z_][\w.]*)?$",
        max_length=500,
        description="module:function, or the name of an entry point",
    ),
]
PartName = Annotated[
    str, Field(min_length=1, max_length=200, description="a name of 1 to 200 bytes that can be the name of a folder")
]
Zone = Annotated[str, Field(max_length=100, description="a time zone such as Europe/Berlin")]
ContractName = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$", description="a name of letters, digits, _, . and -")
]
FIRST_DAY = date(1970, 1, 1)


def _day(given: object) -> object:
    # TOML has dates, and JSON, in which a policy is stored, has not.
    if isinstance(given, str):
        try:
            return date.fromisoformat(given)
        except ValueError:
            return given
    return None if isinstance(given, datetime) else given


Day = Annotated[
    date,
    BeforeValidator(_day),
    WithJsonSchema({"type": "string", "description": "a day such as 2026-01-31"}),
]


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


class Values(Section):
    """Values that a source or a query may have instead of those of all."""

    max_attempts: Count | None = None
    max_age_hours: Hours | None = None
    dispatch_cap: Count | None = None
    backoff_strategy: Strategy | None = None
    backoff_s: Steps | None = None
    jitter: Share | None = None
    at_once: Count | None = None
    time_zone: Zone | None = None
    ready_after_minutes: Minutes | None = None


class Query(Values):
    """A query of a source: who extracts and who validates, and which partitions are expected."""

    extractor: Function
    extract_with: Annotated[dict[str, Any], Field(default_factory=dict)]
    validator: Function | None = None
    validate_with: Annotated[dict[str, Any], Field(default_factory=dict)]
    contract: str | None = None
    customers: Annotated[list[PartName], Field(default_factory=list, max_length=100_000)]
    start_date: Day | None = None  # the first day that is expected; None: only what is enqueued by hand

    @model_validator(mode="after")
    def _is_whole(self) -> Query:
        if (self.validator is None) == (self.contract is None):
            both = self.validator is not None
            raise wrong_value("validator" if both else "contract", self.validator, "either a validator or a contract")
        if self.start_date is not None and self.start_date < FIRST_DAY:
            raise wrong_value("start_date", self.start_date.isoformat(), f"a day from {FIRST_DAY} on")
        if self.start_date is not None and not self.customers:
            raise wrong_value("customers", [], "the customers whose partitions are expected, or no start_date")
        if len(set(self.customers)) < len(self.customers):
            twice = next(one for one in self.customers if self.customers.count(one) > 1)
            raise wrong_value("customers", twice, "each customer once")
        return self


class Source(Values):
    """A source: what its queries have in common, and the queries."""

    queries: Annotated[dict[PartName, Query], Field(default_factory=dict)]


class PartitionPolicy(Part):
    """Partitions."""

    section: ClassVar[str] = "partitions"
    package: ClassVar[str] = "recoup.partitions"
    decides: ClassVar[tuple[str, ...]] = (
        "max_attempts", "max_age_hours", "dispatch_cap", "at_once", "lease_s", "run_max_hours",
    )  # fmt: skip

    max_attempts: Count
    max_age_hours: Hours
    dispatch_cap: Count
    backoff_strategy: Strategy
    backoff_s: Steps
    jitter: Share
    at_once: Count
    lease_s: Annotated[int, Field(ge=10, le=86_400)]
    run_max_hours: Annotated[int, Field(ge=1, le=720)]
    confirm_above: Annotated[int, Field(ge=1, le=1_000_000)]
    min_free_mb: Annotated[int, Field(ge=0, le=100_000_000)]
    time_zone: Zone
    ready_after_minutes: Minutes
    sources: Annotated[dict[PartName, Source], Field(default_factory=dict)]
    contracts: Annotated[dict[ContractName, Contract], Field(default_factory=dict)]

    def query(self, source: str, name: str) -> Query | None:
        """A registered query, or None."""
        found = self.sources.get(source)
        return None if found is None else found.queries.get(name)

    def zone(self, source: str, name: str) -> str:
        """The time zone in which the days of a query begin and end."""
        query, of = self.query(source, name), self.sources.get(source)
        return (query and query.time_zone) or (of and of.time_zone) or self.time_zone

    def ready_after(self, source: str, name: str) -> int:
        """Minutes after the end of a day after which its partitions are enqueued."""
        for one in (self.query(source, name), self.sources.get(source)):
            if one is not None and one.ready_after_minutes is not None:
                return one.ready_after_minutes
        return self.ready_after_minutes

    @property
    def queries(self) -> Iterator[tuple[str, str, Query]]:
        """Every registered query, with the name of its source and its own."""
        for source, of in self.sources.items():
            for name, query in of.queries.items():
                yield source, name, query

    def check_with(self, whole: Section) -> None:
        """Zones, names and contracts are checked when a policy is new: what is stored is read by any machine."""
        del whole
        self._check_zone("", self.time_zone)
        for name, source in self.sources.items():
            self._check_zone(f"sources.{name}.", source.time_zone)
        for source_name, name, query in self.queries:
            at = f"sources.{source_name}.queries.{name}."
            self._check_zone(at, query.time_zone)
            for customer in query.customers or ("-",):
                self._check_path(at, Partition(source_name, customer, name, FIRST_DAY))
            if query.contract is not None and query.contract not in self.contracts:
                raise self._wrong(f"{at}contract", query.contract, one_of(query.contract, self.contracts))

    def _check_zone(self, at: str, zone: str | None) -> None:
        if zone is not None and zone not in _zones():
            raise self._wrong(f"{at}time_zone", zone, one_of_zones(zone))

    def _check_path(self, at: str, partition: Partition) -> None:
        try:
            folders(partition)
        except InputRefused as refusal:
            column = str(refusal.facts["column"])
            key = f"{at}customers" if column == "customer_id" else at.rstrip(".")
            value = getattr(partition, column)
            raise self._wrong(key, value, f"a name that can be a folder's. {refusal.happened}") from None

    def _wrong(self, key: str, value: object, allowed: str) -> Exception:
        return wrong_value(f"{self.section}.{key}", value, allowed)


def one_of_zones(given: str) -> str:
    """What is allowed where a zone is, without the six hundred names."""
    near = one_of(given, _zones()).partition("? ")
    return (f"{near[0]}? " if near[1] else "") + "a name of the IANA time zones, such as UTC or Europe/Berlin"
