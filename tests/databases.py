"""Databases for tests: copies of a migrated one, dropped when the tests of their module are done."""

from __future__ import annotations

import contextlib
import fcntl
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

import psycopg
from psycopg.sql import SQL, Identifier

from recoup.database import embedded
from recoup.database.connection import connect
from recoup.domain import Domain
from recoup.domains import DOMAINS
from recoup.schema.migrate import migrate
from recoup.settings import Settings

START = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)


class Databases:
    """Makes a migrated database and returns its name: a copy of one, which takes a thirtieth of the time.

    What all test workers copy is migrated by the first of them.
    """

    def __init__(self, server: embedded.Server, settings: Settings) -> None:
        self._server, self._settings = server, settings
        self._templates: dict[tuple[object, ...], str] = {}
        self._made: list[str] = []

    def __call__(
        self,
        *,
        simulated_from: datetime | None = START,
        migrated: bool = True,
        domains: Sequence[Domain] = DOMAINS,
        keep: bool = False,
    ) -> str:
        """One that is kept is for all modules."""
        if migrated:
            key = (simulated_from, *(domain.at for domain in domains))
            if key not in self._templates:
                self._templates[key] = (
                    self._shared_by_all(simulated_from)
                    if domains is DOMAINS
                    else self._migrated(self._created("template1"), domains, simulated_from)
                )
            name = self._created(self._templates[key])
        else:
            name = self._created("template1")
        if not keep:
            self._made.append(name)
        return name

    def drop(self) -> None:
        """Drop those that are not kept: hundreds of them would be a million files at the end of the run."""
        if not self._made:
            return
        with psycopg.connect(self._server.uri("postgres", admin=True), autocommit=True) as admin:
            while self._made:
                admin.execute(SQL("drop database if exists {} with (force)").format(Identifier(self._made.pop())))

    def _created(self, template: str) -> str:
        name = f"test_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self._server.uri("postgres", admin=True), autocommit=True) as admin:
            admin.execute(SQL("create database {} template {}").format(Identifier(name), Identifier(template)))
        return name

    def _migrated(self, name: str, domains: Sequence[Domain], simulated_from: datetime | None) -> str:
        with contextlib.closing(connect(self._server.uri(name, admin=True), self._settings)) as connection:
            migrate(connection, domains, login=self._server.app, simulated_from=simulated_from)
        return name

    def _shared_by_all(self, simulated_from: datetime | None) -> str:
        """The copy of the product's own domains, by the time at which its clock begins."""
        note = self._settings.home / f"template {simulated_from and simulated_from.isoformat()}"
        with note.open("a+") as made:
            fcntl.flock(made, fcntl.LOCK_EX)
            made.seek(0)
            name = made.read()
            if not name:
                name = self._migrated(self._created("template1"), DOMAINS, simulated_from)
                made.write(name)
        return name
