"""Pauses: what an operator has stopped. Every claim checks them."""

from recoup.pauses.register import (
    PausableName,
    Pause,
    PauseEvent,
    log,
    names,
    pausable_scopes,
    pause,
    paused,
    paused_at,
    pauses,
    resume,
)
from recoup.pauses.scopes import DUTY, EVERYTHING, GLOBAL, OPERATION, TABLE, Pausable

__all__ = [
    "DUTY", "EVERYTHING", "GLOBAL", "OPERATION", "TABLE", "Pausable", "PausableName", "Pause", "PauseEvent", "log",
    "names", "pausable_scopes", "pause", "paused", "paused_at", "pauses", "resume",
]  # fmt: skip
