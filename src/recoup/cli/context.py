"""How a command opens the database that the settings name, as the person at the keyboard."""

from collections.abc import Iterator
from contextlib import contextmanager

from recoup.database import access
from recoup.database.connection import Actor, Database, Transaction
from recoup.domain import releases
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings, load


@contextmanager
def opened(*, demo: bool, settings: Settings | None = None) -> Iterator[Database]:
    """The main database or the demo's, with a schema that this program can use."""
    with access.opened(settings or load(), releases(DOMAINS), demo=demo) as database:
        yield database


def person(database: Database) -> Actor:
    """The person who runs the command."""
    return Actor("human", database.settings.actor)


@contextmanager
def acting(authority: Authority, *, demo: bool, reason: str | None = None) -> Iterator[Transaction]:
    """One transaction under one authority."""
    with (
        opened(demo=demo) as database,
        database.transaction(authority, actor=person(database), reason=reason) as tx,
    ):
        yield tx
