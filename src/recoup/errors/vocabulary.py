"""The words of the errors domain. Each list is closed."""

from enum import StrEnum

from recoup.categories import Category

__all__ = ["Category", "Disposition", "ErrorStatus", "ParkReason", "Severity", "Tier", "Want"]


class Severity(StrEnum):
    """How bad the reporter says it is. May be left out."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Want(StrEnum):
    """What is to become of an error, in the policy's words."""

    RETRY = "RETRY"
    PARK = "PARK"
    ARCHIVE = "ARCHIVE"
    IGNORE = "IGNORE"


class Disposition(StrEnum):
    """The same as a row has it: PARK is stored as PARKED, so that the printed promotion query is right."""

    RETRY = "RETRY"
    PARKED = "PARKED"
    ARCHIVE = "ARCHIVE"
    IGNORE = "IGNORE"


class ErrorStatus(StrEnum):
    ACTIVE = "ACTIVE"  # recorded; nothing is to be done but to keep it until its time is over
    RETRY_PENDING = "RETRY_PENDING"  # waits for its next retry
    PARKED = "PARKED"  # waits for a person
    ESCALATED = "ESCALATED"  # a person passed it on
    RESOLVED = "RESOLVED"  # over; the archiver comes for it


class Tier(StrEnum):
    """How long an error is kept before it is archived."""

    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"
    INFINITE = "INFINITE"


class ParkReason(StrEnum):
    """Why an error waits for a person."""

    MAX_RETRIES_EXCEEDED = "MAX_RETRIES_EXCEEDED"  # its retries are used up
    RETRY_WINDOW_CLOSED = "RETRY_WINDOW_CLOSED"  # the time for its retries is over, however many are left
    NON_RETRYABLE_ERROR = "NON_RETRYABLE_ERROR"  # no retry can help
    ESCALATION_REQUIRED = "ESCALATION_REQUIRED"  # a person has to decide
    EXTERNAL_DEPENDENCY = "EXTERNAL_DEPENDENCY"  # somebody outside has to act
    DATA_QUALITY = "DATA_QUALITY"  # what came in is malformed or missing
