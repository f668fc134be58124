"""Errors: every failure of a hub, recorded once, and what becomes of it by policy."""

from recoup.errors.decision import Decision, decide, delay
from recoup.errors.vocabulary import Category, Disposition, ErrorStatus, ParkReason, Severity, Tier, Want

__all__ = [
    "Category",
    "Decision",
    "Disposition",
    "ErrorStatus",
    "ParkReason",
    "Severity",
    "Tier",
    "Want",
    "decide",
    "delay",
]
