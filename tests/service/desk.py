"""People and callers of the service, each in a transaction of their own."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from recoup import clock
from recoup.database.connection import Actor, Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.refusals import Refusal
from recoup.service import keys
from recoup.service.keys import NewKey
from recoup.service.principal import Principal
from recoup.service.roles import Role

PATIENCE_S = 60
ADA = Actor("human", "ada")


def new_name() -> str:
    return f"caller-{uuid.uuid4().hex[:12]}"


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Run all of them from one moment on. What each returned, or the refusal it got; anything else is raised."""
    line = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        line.wait(PATIENCE_S)
        try:
            return act()
        except Refusal as refusal:
            return refusal

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result(PATIENCE_S) for future in [pool.submit(run, act) for act in acts]]


@dataclass(frozen=True)
class Desk:
    """A database of the service, and the people at it."""

    db: Database

    def managing(self) -> AbstractContextManager[Transaction]:
        return self.db.transaction(Authority.KEY_MANAGER, actor=ADA)

    def key(self, role: Role | str = Role.VIEWER, *, name: str | None = None, hub: str | None = None,
            lasts: timedelta | None = None) -> NewKey:  # fmt: skip
        with self.managing() as tx:
            return keys.add(tx, name or new_name(), role, hub=hub, expires=lasts)

    def caller(self, role: Role | str = Role.VIEWER, *, hub: str | None = None) -> Principal:
        return self.who(self.key(role, hub=hub))

    def who(self, key: NewKey) -> Principal:
        return keys.authenticate(self.db, key.secret)

    def who_now(self, key: NewKey) -> Principal:
        """As a process that has not seen the key a moment ago."""
        keys.forget(self.db)
        return self.who(key)

    def advance(self, by: timedelta) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)
