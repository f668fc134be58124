"""Lengths of time as people write them: a number and a unit. Pure."""

import re
from datetime import UTC, datetime, timedelta

from recoup.refusals import InputRefused

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
PATTERN = r"\d+(?:\.\d+)?\s*[smhdwSMHDW]"


def duration(text: str) -> timedelta:
    """A number and a unit, as a person writes it."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip().lower(), re.ASCII)
    if match is None:
        raise InputRefused(
            "bad_duration",
            f"{text[:100]!r} is not a duration.",
            "Write a number and a unit: 90s, 30m, 24h, 3d or 2w.",
            given=text[:100],
        )
    try:
        return timedelta(**{UNITS[match[2]]: float(match[1])})
    except (OverflowError, ValueError):
        raise InputRefused(
            "bad_duration", f"{text[:100]!r} is too long.", "Give a smaller number.", given=text[:100]
        ) from None


def instant(given: datetime | timedelta | str, now: datetime) -> datetime:
    """A time: as it is, from its text as in ISO 8601 (in UTC unless it names a zone), or a length of time ago."""
    try:
        if isinstance(given, str) and re.fullmatch(PATTERN, given.strip(), re.ASCII):
            given = duration(given)
        if isinstance(given, timedelta):
            return now - given
        found = given if isinstance(given, datetime) else datetime.fromisoformat(given.strip())
        found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InputRefused(
            "time_unreadable",
            f"{str(given)[:50]!r} is no time.",
            "Write it as 2026-11-15T22:57:01Z, or as a length of time ago: 90s, 30m, 24h, 3d or 2w.",
        ) from None
