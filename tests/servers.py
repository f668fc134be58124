"""Servers for tests."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg.sql import SQL

from recoup.database import embedded
from recoup.settings import Settings

# Test workers share a server, and a race of one takes thirty connections while a crowd of another is replaced.
CONNECTIONS = 300


def shared(settings: Settings) -> embedded.Server:
    """The server of all test workers. Whoever comes first makes it; nobody is connected when it restarts."""
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (settings.home / "made").open("a") as made:
        fcntl.flock(made, fcntl.LOCK_EX)
        # Its size now: whoever opened it before the first had written stands at its beginning.
        if os.fstat(made.fileno()).st_size == 0:
            _widened(settings, CONNECTIONS)
            made.write("made")
            made.flush()
        return embedded.start(settings)


def _widened(settings: Settings, connections: int) -> None:
    with psycopg.connect(started(settings).uri("postgres", admin=True), autocommit=True) as admin:
        admin.execute(SQL("alter system set max_connections = {}").format(connections))
    embedded.stop(settings)


def started(settings: Settings) -> embedded.Server:
    """It does not wait for the disk: nobody pulls its plug. Tests of what survives that start servers of their own."""
    server = embedded.start(settings)
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        admin.execute("alter system set fsync = off")
        admin.execute("alter system set full_page_writes = off")
        admin.execute("select pg_reload_conf()")
    return server


def removed(settings: Settings) -> None:
    """Stop the server and remove all that it had. What root's server has may lie elsewhere: another account runs it."""
    embedded.stop(settings)
    for folder in {(settings.home / "data").resolve().parent, settings.home}:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def roomy(settings: Settings, *, connections: int) -> Iterator[embedded.Server]:
    """A server of the test's own, for more connections than the shared one has."""
    with tempfile.TemporaryDirectory(prefix="recoup-roomy-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        own = dataclasses.replace(settings, home=Path(folder) / "home")
        try:
            _widened(own, connections)
            yield embedded.start(own)
        finally:
            embedded.stop(own)
