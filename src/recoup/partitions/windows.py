"""Which instants a day covers: a partition's date is a calendar day in the time zone of its source."""

from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo


class Window(NamedTuple):
    """From the start of a day, included, to the start of the next, both in UTC: 23 to 25 hours."""

    start: datetime
    end: datetime


def window(day: date, zone: str) -> Window:
    """The instants of a day in a time zone."""
    return Window(_midnight(day, zone), _midnight(day + timedelta(days=1), zone))


def _midnight(day: date, zone: str) -> datetime:
    # Where clocks are set forward at midnight it does not exist: the conversion then gives the instant of the change.
    return datetime.combine(day, time(), tzinfo=ZoneInfo(zone)).astimezone(UTC)
