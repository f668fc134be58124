"""A client, and a program of somebody else's in the same database: a login, a schema and a table of its own."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from recoup.client import Client
from recoup.database import embedded
from recoup.settings import Settings

ROLES = ("recoup_hub", "recoup_reader", "recoup_gate", "recoup_operator", "recoup_consumer")
TABLES = "create table app.promoted (outreach_id uuid primary key, note text); create table app.filings (ein text)"


@dataclass(frozen=True)
class Program:
    """Somebody's own program: its login has no rights on Recoup but for roles that it may take."""

    login: str
    uri: str
    admin_uri: str

    def connect(self, **given: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.uri, **given)

    def promoted(self) -> set[uuid.UUID]:
        with self.connect() as connection:
            return {row[0] for row in connection.execute("select outreach_id from app.promoted")}

    def stranger(self) -> str:
        """Another login, which may take no role of Recoup's."""
        name = f"stranger_{uuid.uuid4().hex[:8]}"
        with psycopg.connect(self.admin_uri, autocommit=True) as admin:
            admin.execute(SQL("create role {} login password 'x' noinherit").format(Identifier(name)))
        return make_conninfo(self.uri, user=name, password="x")


@pytest.fixture(scope="session")
def library_database(new_database: Callable[..., str]) -> str:
    return new_database(keep=True)


@pytest.fixture(scope="session")
def client(server: embedded.Server, settings: Settings, library_database: str) -> Iterator[Client]:
    with Client(server.uri(library_database), settings) as client:
        yield client


@pytest.fixture(scope="session")
def program(server: embedded.Server, library_database: str) -> Program:
    login = f"program_{uuid.uuid4().hex[:8]}"
    admin_uri = server.uri(library_database, admin=True)
    with contextlib.closing(psycopg.connect(admin_uri, autocommit=True)) as admin:
        name = Identifier(login)
        admin.execute(SQL("create role {} login password {} noinherit").format(name, Literal("secret")))
        for role in ROLES:
            how = SQL(" with inherit false, set true" if admin.info.server_version >= 160000 else "")
            admin.execute(SQL("grant {} to {}{}").format(Identifier(role), name, how))
        admin.execute(SQL("create schema app authorization {}").format(name))
    uri = make_conninfo(server.uri(library_database), user=login, password="secret")
    with psycopg.connect(uri) as own:
        own.execute(TABLES)
    return Program(login, uri, admin_uri)
