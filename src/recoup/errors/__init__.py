"""Errors: every failure of a hub, recorded once, and what becomes of it by policy.

What a hub uses is named here, and imported when it is used: the words of this domain are needed where its database is
not. What people do with errors is in ``parking``, and over many in ``bulk``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recoup.errors.decision import Decision, decide, delay
    from recoup.errors.promotion import blocked_locking, blocking, is_blocked
    from recoup.errors.recording import NewError, Recorded, record
    from recoup.errors.retrying import Claimed, Failed, Succeeded, claim, finish
    from recoup.errors.vocabulary import Category, Disposition, ErrorStatus, ParkReason, Severity, Tier, Want
    from recoup.errors.watching import failures

__all__ = [
    "Category",
    "Claimed",
    "Decision",
    "Disposition",
    "ErrorStatus",
    "Failed",
    "NewError",
    "ParkReason",
    "Recorded",
    "Severity",
    "Succeeded",
    "Tier",
    "Want",
    "blocked_locking",
    "blocking",
    "claim",
    "decide",
    "delay",
    "failures",
    "finish",
    "is_blocked",
    "record",
]
_MODULES = ("vocabulary", "decision", "recording", "retrying", "promotion", "watching")


def __getattr__(name: str) -> object:
    if name in __all__:
        for module in _MODULES:
            found = getattr(importlib.import_module(f"{__name__}.{module}"), name, None)
            if found is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
