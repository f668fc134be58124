"""Recoup: the recovery plane for failed work, on PostgreSQL.

    import recoup

    db = recoup.connect()
    with recoup.failures(db, "outreach.dol_errors", outreach_id=company):
        match_ein(company)

Names are loaded when they are first used: ``import recoup`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recoup.client import Client
    from recoup.database.connection import Actor
    from recoup.errors import (
        Category,
        Claimed,
        Cleared,
        ErrorStatus,
        Failed,
        NewError,
        ParkReason,
        Recorded,
        Severity,
        Succeeded,
        Want,
        failures,
    )
    from recoup.in_process import Worker
    from recoup.lifecycles.declaration import Authority
    from recoup.refusals import Refusal
    from recoup.runs.block import run

__version__ = "0.1.0"

_HOMES = {
    "Actor": "recoup.database.connection",
    "Authority": "recoup.lifecycles.declaration",
    "Client": "recoup.client",
    "Refusal": "recoup.refusals",
    "Worker": "recoup.in_process",
    "run": "recoup.runs.block",
    **dict.fromkeys(
        (
            "Category", "Claimed", "Cleared", "ErrorStatus", "Failed", "NewError", "ParkReason", "Recorded", "Severity",
            "Succeeded", "Want", "failures",
        ),
        "recoup.errors",
    ),
}  # fmt: skip

__all__ = [
    "Actor",
    "Authority",
    "Category",
    "Claimed",
    "Cleared",
    "Client",
    "ErrorStatus",
    "Failed",
    "NewError",
    "ParkReason",
    "Recorded",
    "Refusal",
    "Severity",
    "Succeeded",
    "Want",
    "Worker",
    "connect",
    "failures",
    "run",
]


def connect(dsn: str | None = None) -> Client:
    """Connect to the database that the settings mean, or to ``dsn``. Nothing is sent before it is used.

    Share the client between threads. Close it, or use it as a context manager.
    """
    from recoup.client import open_client

    return open_client(dsn)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'recoup' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
