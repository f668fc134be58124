"""Errors: record failures, retry them, ask whether they block their entity. The policy decides what becomes of them.

These functions take a transaction as their first argument. ``recoup.connect().errors`` has the same verbs, each under
its own authority. What people do with errors is in ``parking``; with many at once, in ``recoup.operations``.
"""

from recoup.errors.capture import failures
from recoup.errors.clearing import Cleared, clear
from recoup.errors.decision import Decision, decide, delay
from recoup.errors.promotion import Blocking, blocked_locking, blocking, is_blocked
from recoup.errors.recording import NewError, Recorded, record
from recoup.errors.retrying import Claimed, Ended, Failed, Succeeded, claim, finish, turn
from recoup.errors.vocabulary import Category, Disposition, ErrorStatus, ParkReason, Severity, Tier, Want

__all__ = [
    "Blocking",
    "Category",
    "Claimed",
    "Cleared",
    "Decision",
    "Disposition",
    "Ended",
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
    "clear",
    "decide",
    "delay",
    "failures",
    "finish",
    "is_blocked",
    "record",
    "turn",
]
