"""How a command gets at the database: the one that the settings mean, and the person at the keyboard."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from recoup.database import access
from recoup.database.connection import Actor, Database, Transaction
from recoup.domain import releases
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.refusals import Refusal
from recoup.settings import Settings, load


@contextmanager
def opened(*, demo: bool, settings: Settings | None = None) -> Iterator[Database]:
    """The main database or the demo's, at a schema that this program can work with."""
    with ExitStack() as stack:
        try:
            database = stack.enter_context(access.opened(settings or load(), releases(DOMAINS), demo=demo))
        except Refusal as refusal:
            if demo and refusal.code in ("database_missing", "not_migrated"):
                refusal.next_step = "Run: recoup demo"
            raise
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
