"""Lengths of time as people write them: a number and a unit. Pure."""

import re
from datetime import timedelta

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
