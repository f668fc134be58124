"""The three categories of failures. A closed list."""

from enum import StrEnum


class Category(StrEnum):
    """What kind of failure it is, which decides whether and how it is retried."""

    TRANSIENT = "TRANSIENT"  # passes by itself: rate limits, timeouts
    OPERATIONAL = "OPERATIONAL"  # may pass when something else is done: validation, missing data
    STRUCTURAL = "STRUCTURAL"  # passes by no retry: bad data, schema
