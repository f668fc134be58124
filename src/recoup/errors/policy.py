"""The policy's section on errors: tables, tiers, severities, retries, codes.

The shipped values are those of the requirement documents, its seven error tables included (profile ``documents``). With
the profile ``none`` a database has only the tables that its policy lists, and one for what belongs to none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.vocabulary import Category, ParkReason, Severity, Tier, Want
from recoup.policy.section import Part, Section, section_values, shipped_values, wrong_value
from recoup.refusals import InputRefused, LawRefused

Q = load("recoup.errors", "tables.sql")
# A document has words, and not members of an enumeration.
WORD = Field(strict=False)
WantWord = Annotated[Want, WORD]
TierWord = Annotated[Tier, WORD]
SeverityWord = Annotated[Severity, WORD]
CategoryWord = Annotated[Category, WORD]
ParkWord = Annotated[ParkReason, WORD]
FiniteTierWord = Literal["SHORT", "MEDIUM", "LONG"]  # only a table can be INFINITE: it is a log then
Code = Annotated[str, Field(min_length=1, max_length=200, description="an error code")]
TableName = Annotated[
    str,
    Field(
        pattern=r"^[a-z_][a-z0-9_]{0,40}\.[a-z_][a-z0-9_]{0,40}$",
        description="schema and name of a table, in lower case",
    ),
]
Retries = Annotated[int, Field(ge=0, le=100)]
Owner = Annotated[str, Field(min_length=1, max_length=100, description="a team or a person")]
CodeOrBeginning = Annotated[
    str,
    Field(
        # Nothing that cannot be seen, and no space around it: no code would ever be the same.
        pattern=r"^[^*\s\pC]([^*\pC]*[^*\s\pC])?\*?$",
        max_length=200,
        description="an error code of up to 200 characters, or how codes begin and then *",
    ),
]
Phrase = Annotated[str, Field(max_length=200, description="words, of up to 200 characters in all")]
_WORD = re.compile(r"'*[^\W_](?:[^\W_]|')*\*?")
# Tables that the documents call dead, each with what to do instead. Refused in the profile of the documents.
DEAD: dict[str, str] = {
    "outreach.bit_errors": "Create table or remove from ERD",
    "outreach.blog_errors": "Create table or remove from ERD",
    "outreach.people_errors": "Create table or remove from ERD",
    "outreach.outreach_errors": "Create table or remove from ERD",
    "cl.cl_errors_archive": "Archive table, no active policy",
    "company.pipeline_errors": "Create table or remove from ERD",
}
MAX_TIER = 3  # of escalation
DOCUMENTS, NONE = "documents", "none"  # profiles
GLOBAL_SCHEMA = "public"  # an error in one of its tables needs no entity
RESERVED = ("pg_", "information_schema.", "recoup.", "recovery.", "partitions.")
_MADE_ALONG = re.compile(r"(_archive(_\d{6})?|_open)$")  # what recoup.make_error_table makes along with a table


@cache
def _declared() -> frozenset[str]:
    """Recoup's own tables, except for the error tables of the shipped policy."""
    schema = files("recoup.schema").joinpath("schema.sql").read_text(encoding="utf-8")
    found = re.findall(r"^create (?:table|view) (\S+)", schema, re.MULTILINE)
    return frozenset(found).difference(shipped_values(ErrorPolicy)["tables"])


class SeverityRule(Section):
    """What a severity asks for."""

    disposition: WantWord
    ttl: FiniteTierWord | None = None


class RetryRule(Section):
    """How a category is retried. Exponential: base to the power of the retry's number; linear: base times it."""

    max_retries: Retries
    backoff: Literal["exponential", "linear", "none"]
    base_s: Annotated[int, Field(ge=1, le=86_400)]
    cap_s: Annotated[int, Field(ge=1, le=604_800)]
    jitter_percent: Annotated[int, Field(ge=0, le=100)]
    window_hours: Annotated[int, Field(ge=1, le=8_760)]


class CategoryRule(Section):
    """Which category an error has by its code, by words in its message, or by both."""

    category: CategoryWord
    code: CodeOrBeginning | None = None
    words: Phrase | None = None

    @field_validator("words")
    @classmethod
    def _words_are_words(cls, words: str | None) -> str | None:
        parts = words.split() if words is not None else ["none"]
        for part in parts:
            if part != "…" and not _WORD.fullmatch(part):
                allowed = "words of letters, digits and ', with * after one for any ending, and … between two"
                raise wrong_value("", words, f"{allowed} for up to four words; {part} is not a word")
        if not parts:
            raise wrong_value("", words, "at least one word")
        if "…" in (parts[0], parts[-1]) or ("…", "…") in pairwise(parts):
            raise wrong_value("", words, "a word before and after each …, which matches up to four words")
        return words

    @model_validator(mode="after")
    def _asks_for_something(self) -> CategoryRule:
        if self.code is None and self.words is None:
            raise wrong_value("", {"category": self.category.value}, "code, words or both")
        return self


class EscalationTier(Section):
    """When a parked error reaches a tier, and within which time it has to be reviewed there."""

    after_hours: Annotated[int, Field(ge=0, le=8_760)]
    sla_hours: Annotated[int, Field(ge=1, le=8_760)]


class Escalation(Section):
    """The tiers of parked errors."""

    platform: Owner
    tier_1: EscalationTier
    tier_2: EscalationTier
    tier_3: EscalationTier

    @model_validator(mode="after")
    def _tiers_follow_each_other(self) -> Escalation:
        hours = [tier.after_hours for tier in self.tiers]
        if hours[0] != 0:
            raise wrong_value("tier_1.after_hours", hours[0], "0: an error that is parked is in the first tier")
        for number, (before, after) in enumerate(pairwise(hours), 2):
            if after <= before:
                raise wrong_value(f"tier_{number}.after_hours", after, f"more than those of the tier before, {before}")
        return self

    @property
    def tiers(self) -> tuple[EscalationTier, ...]:
        """The tiers, from the first on."""
        return self.tier_1, self.tier_2, self.tier_3


class ErrorTable(Section):
    """One error table and its rules."""

    ttl: TierWord
    default: WantWord
    allowed: Annotated[list[WantWord], Field(min_length=1, max_length=4)]
    blocks: bool
    owner: Owner
    lead: Owner | None = None
    platform: Owner | None = None
    archive_years: Annotated[int, Field(ge=1, le=100)]
    hold_blocking_past_ttl: bool = False
    hub_ttl: FiniteTierWord | None = None
    operational_max_retries: Retries | None = None
    max_retries_by_code: Annotated[dict[Code, Retries], Field(default_factory=dict)]
    park_codes: Annotated[dict[Code, ParkWord], Field(default_factory=dict)]

    @property
    def insert_only(self) -> bool:
        """An INFINITE table is a log: rows in it never change."""
        return self.ttl is Tier.INFINITE

    @model_validator(mode="after")
    def _default_is_allowed(self) -> ErrorTable:
        if self.default not in self.allowed:
            raise wrong_value("default", self.default, f"one of those allowed: {', '.join(self.allowed)}")
        if "RETRY" in self.allowed and not {"PARK", "ARCHIVE"}.intersection(self.allowed):
            raise wrong_value("allowed", ", ".join(self.allowed), "PARK or ARCHIVE in addition to RETRY: retries end")
        if self.blocks and not {"IGNORE", "ARCHIVE"}.intersection(self.allowed):
            raise wrong_value("allowed", ", ".join(self.allowed), "also ARCHIVE or IGNORE: LOW errors never block")
        return self


class ErrorPolicy(Part):
    """Errors."""

    section: ClassVar[str] = "errors"
    package: ClassVar[str] = "recoup.errors"
    decides: ClassVar[tuple[str, ...]] = (
        "retry_lease_s", "keep_parked_days",
        *(f"escalation.tier_{tier}.{key}" for tier in (1, 2, 3) for key in ("after_hours", "sla_hours")),
    )  # fmt: skip
    kept: ClassVar[tuple[str, ...]] = ("profile",)

    profile: Literal["documents", "none"]
    orphan_table: TableName
    fallback_table: TableName
    retry_lease_s: Annotated[int, Field(ge=1, le=86_400)]
    retries_at_once: Annotated[int, Field(ge=1, le=1_000)]
    keep_parked_days: Annotated[int, Field(ge=1, le=3_650)]
    untaken_after_s: Annotated[int, Field(ge=1, le=604_800)]
    tier_days: dict[Literal["SHORT", "MEDIUM", "LONG"], Annotated[int, Field(ge=1, le=3_650)]]
    severity: dict[SeverityWord, SeverityRule]
    retry: dict[CategoryWord, RetryRule]
    park_codes: dict[Code, ParkWord]
    redact_keys: list[Annotated[str, Field(min_length=1, max_length=100, description="a part of a key's name")]]
    category_rules: Annotated[list[CategoryRule], Field(max_length=200)]
    escalation: Escalation
    tables: dict[TableName, ErrorTable]

    @classmethod
    def base(cls, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """The shipped values; without the tables of the documents if the profile is ``none``."""
        shipped = shipped_values(cls)
        return {**shipped, **section_values(cls, "profile_none.toml")} if cls.is_empty(document) else shipped

    @classmethod
    def is_empty(cls, document: Mapping[str, Any]) -> bool:
        """Whether a document chooses the profile without the tables of the documents."""
        given = document.get(cls.section)
        return isinstance(given, Mapping) and given.get("profile") == NONE

    @model_validator(mode="after")
    def _has_a_table_for_the_rest(self) -> ErrorPolicy:
        for key in ("orphan_table", "fallback_table"):
            name = getattr(self, key)
            if name not in self.tables or not is_global(name):
                mine = ", ".join(table for table in self.tables if is_global(table))
                raise wrong_value(key, name, f"a table in the schema {GLOBAL_SCHEMA} that tables lists: {mine}")
        return self

    @field_validator("tables")
    @classmethod
    def _names_are_free(cls, tables: dict[str, ErrorTable], info: ValidationInfo) -> dict[str, ErrorTable]:
        for name in tables:
            if name in DEAD and info.data.get("profile") != NONE:
                raise wrong_value(name, name, f"it is DEAD, and nothing is written there: {DEAD[name]}")
            if name.startswith(RESERVED):
                raise wrong_value(name, name, "a schema that is neither PostgreSQL's nor Recoup's own")
            if (other := _MADE_ALONG.sub("", name)) != name and other in tables:
                raise wrong_value(name, name, f"another name: the archive of {other}, or its index, has it")
            if name in _declared():
                raise wrong_value(name, name, "another name: it is one of Recoup's own tables")
        return tables

    def ttl(self, tier: str) -> timedelta | None:
        """How long a tier keeps an error; None: forever."""
        days = next((days for name, days in self.tier_days.items() if name == tier), None)
        return None if days is None else timedelta(days=days)

    def owner(self, name: str, tier: int) -> str:
        """Who owns a tier of a table: the hub team, its lead, or the platform team."""
        table = self.tables.get(name)
        if table is None or tier >= MAX_TIER:
            return (table and table.platform) or self.escalation.platform
        return (table.lead or table.owner) if tier > 1 else table.owner

    def table(self, name: str) -> ErrorTable:
        """A table's rules, or a refusal."""
        found = self.tables.get(name)
        if found is not None:
            return found
        if name in DEAD and self.profile == DOCUMENTS:
            raise InputRefused("table_dead", f"{name} is DEAD: nothing is written there.", f"{DEAD[name]}.", table=name)
        raise InputRefused(
            "table_unknown",
            f"{name} is not an error table.",
            f"Error tables: {', '.join(self.tables)}. To add one: docs/howto/add-an-error-table.md",
            table=name,
        )

    def check_in(self, tx: Transaction) -> None:
        """A policy cannot remove an error table, make it a log, or make a log forget."""
        for name, is_log in made(tx).items():
            listed = self.tables.get(name)
            if listed is not None and listed.insert_only == is_log:
                continue
            kept = "INFINITE" if is_log else "not INFINITE"
            raise LawRefused(
                "error_table_fixed",
                f"The error table {name} exists, and this policy does not list it."
                if listed is None
                else f"{name} was created {kept}, and this policy makes it {listed.ttl}.",
                "Keep it listed, and INFINITE or not as it was created. What it allows, blocks and keeps may change.",
                table=name,
            )

    def effects(self, tx: Transaction, before: ErrorPolicy) -> Iterator[str]:
        """Which entities are blocked is computed on each request: a change of ``blocks`` applies at once."""
        old, new = before.blocking(), self.blocking()
        if old == new:
            return
        freed, blocked = tx.execute(Q["freed_and_blocked"], {"before": old, "after": new}).fetchone() or (0, 0)
        if freed:
            yield f"{_entities(freed)} blocked now would be unblocked."
        if blocked:
            yield f"{_entities(blocked)} not blocked now would be blocked."

    def blocking(self) -> list[str]:
        """The tables whose open errors block their entity."""
        return sorted(name for name, table in self.tables.items() if table.blocks)

    def next_steps(self, tx: Transaction) -> Iterator[str]:
        """Tables that the policy lists are created by a migration."""
        if wanted := missing(tx, self):
            yield f"recoup migrate creates {', '.join(wanted)}"


def _entities(number: int) -> str:
    return f"{number:,} {'entity' if number == 1 else 'entities'}"


def is_global(name: str) -> bool:
    """Whether an error in this table needs no entity."""
    return name.startswith(f"{GLOBAL_SCHEMA}.")


def made(tx: Transaction) -> dict[str, bool]:
    """The error tables that exist, and whether each is insert-only."""
    return {str(name): bool(is_log) for name, is_log in tx.execute(Q["made"])}


def missing(tx: Transaction, policy: ErrorPolicy) -> list[str]:
    """Tables that the policy lists and that a migration has yet to create."""
    there = made(tx)
    return [name for name in policy.tables if name not in there]
