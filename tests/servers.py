"""Servers for tests."""

from __future__ import annotations

import psycopg

from recoup.database import embedded
from recoup.settings import Settings


def started(settings: Settings) -> embedded.Server:
    """It does not wait for the disk: nobody pulls its plug. Tests of what survives that start servers of their own."""
    server = embedded.start(settings)
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        admin.execute("alter system set fsync = off")
        admin.execute("alter system set full_page_writes = off")
        admin.execute("select pg_reload_conf()")
    return server
