"""What an invariant is: an id, a description, and a way to find the rows that break it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from psycopg.sql import SQL

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.settings import Settings

Offending = Mapping[str, object]
Check = Callable[[Transaction], Iterable[Offending]]
Outside = Callable[[Transaction, Settings], Iterable[Offending]]


class NotChecked(Exception):  # noqa: N818 - an answer, not an error
    """Raised by a check, after the rows it found: what it cannot see from here, and why."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query by name. Its first column, breaks, is the id of an invariant, so that one pass may serve several."""

    package: str
    file: str
    name: str

    @property
    def sql(self) -> SQL:
        return load(self.package, self.file)[self.name]


@dataclass(frozen=True, slots=True)
class Built:
    """A query generated from a declaration. Its first column is the same."""

    text: str

    @property
    def sql(self) -> SQL:
        return SQL(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """One rule. Broken by each row that its query returns under its id, or that its check yields.

    It has a query, a check, or a check of what lies outside of the database, where the settings say.
    """

    id: str  # document/section/name
    description: str
    query: Query | Built | None = None
    check: Check | None = None
    outside: Outside | None = None
    also: tuple[str, ...] = ()  # further rules of the documents that it checks, by id

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.id, *self.also)

    def matches(self, prefix: str) -> bool:
        """Whether a prefix names it: whole parts of one of its ids, so that L1 is not L10."""
        return any(f"{id_}/".startswith(f"{prefix.rstrip('/')}/") for id_ in self.ids)


@dataclass(frozen=True, slots=True)
class InFile:
    """The queries of one file, to make invariants from."""

    package: str
    file: str = "invariants.sql"

    def __call__(self, id_: str, query: str, description: str, *also: str) -> Invariant:
        return Invariant(id=id_, description=description, query=Query(self.package, self.file, query), also=also)
