"""Pauses: what an operator has stopped, read in every claim."""

from recoup.pauses.register import EVERYTHING, Pause, PauseEvent, Scope, log, pause, paused, pauses, resume

__all__ = ["EVERYTHING", "Pause", "PauseEvent", "Scope", "log", "pause", "paused", "pauses", "resume"]
