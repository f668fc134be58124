"""Recoup: the recovery plane for failed work, on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recoup.database.connection import Database
    from recoup.in_process import Worker as Worker

__version__ = "0.1.0"


def connect(dsn: str | None = None) -> Database:
    """The database that the settings mean, or ``dsn``; to be used as a context manager, and shared between threads."""
    from recoup.database import access
    from recoup.database.connection import Database
    from recoup.settings import load

    settings = load()
    return Database(dsn if dsn is not None else access.uri(settings), settings)


def __getattr__(name: str) -> object:
    if name == "Worker":  # late: it imports every domain
        from recoup.in_process import Worker

        return Worker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
