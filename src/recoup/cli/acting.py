"""How a command gets at the database: one transaction of the person at the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recoup.lifecycles.declaration import Authority

if TYPE_CHECKING:
    from recoup.database.connection import Transaction


@contextmanager
def acting(authority: Authority, *, demo: bool, reason: str | None = None) -> Iterator[Transaction]:
    """One transaction under one authority, in the main database or the demo's."""
    from recoup.database import access
    from recoup.database.connection import Actor
    from recoup.settings import load

    settings = load()
    actor = Actor("human", settings.actor)
    with (
        access.opened(settings, demo=demo) as database,
        database.transaction(authority, actor=actor, reason=reason) as tx,
    ):
        yield tx
