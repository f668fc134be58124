"""The console as people use it: a real service on loopback, and headless Chromium where there is one."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from recoup.database import embedded
from recoup.database.connection import Database
from recoup.service import Principal, Role, local, sessions
from recoup.settings import Settings
from serving import served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE_MS = 15_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a worker."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        # Chromium's sandbox does not work as root, nor in most containers.
        more = ["--no-sandbox"] if os.geteuid() == 0 else []
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=[*more, "--disable-dev-shm-usage"])


@pytest.fixture(scope="session")
def database_name(new_database: Callable[..., str]) -> str:
    return new_database(keep=True)


@pytest.fixture(scope="session")
def db(server: embedded.Server, settings: Settings, database_name: str) -> Iterator[Database]:
    with Database(server.uri(database_name), settings) as database:
        yield database


@pytest.fixture(scope="module")
def at(db: Database) -> Iterator[str]:
    """The address of the console, without keys."""
    with served(db) as address:
        yield address


@pytest.fixture
def opened(browser: Browser, db: Database, at: str) -> Iterator[Callable[..., Page]]:
    """Opens a page of the console in a browser of its own, signed in as this role."""
    with contextlib.ExitStack() as stack:

        def open_(
            path: str = "/",
            *,
            role: Role = Role.LOCAL,
            scripts: bool = True,
            width: int = 1280,
            address: str | None = None,
        ) -> Page:
            context = browser.new_context(java_script_enabled=scripts, viewport={"width": width, "height": 900})
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE_MS)
            principal = local(db.settings.actor)
            if role is not Role.LOCAL:
                principal = with_key(db, role)
            token = sessions.open_session(db, principal).token
            place = address or at
            context.add_cookies(
                [{"name": "recoup_session", "value": token, "url": place, "httpOnly": True, "sameSite": "Strict"}]
            )
            page = context.new_page()
            page.goto(f"{place}{path}")
            return page

        yield open_


def with_key(db: Database, role: Role, *, hub: str | None = None) -> Principal:
    """A caller with a key of its own."""
    from uuid import uuid4

    from recoup.lifecycles.declaration import Authority
    from recoup.service import keys

    with db.transaction(Authority.KEY_MANAGER) as tx:
        made = keys.add(tx, f"{role} {uuid4()}", role, hub=hub)
    return Principal(key_id=made.key_id, name=made.name, role=role, hub=hub)
