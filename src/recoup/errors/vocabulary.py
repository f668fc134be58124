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
    """What should happen to an error, in the words of the policy."""

    RETRY = "RETRY"
    PARK = "PARK"
    ARCHIVE = "ARCHIVE"
    IGNORE = "IGNORE"


class Disposition(StrEnum):
    """The same as stored: PARK is stored as PARKED, so that the printed promotion query is right."""

    RETRY = "RETRY"
    PARKED = "PARKED"
    ARCHIVE = "ARCHIVE"
    IGNORE = "IGNORE"


class ErrorStatus(StrEnum):
    ACTIVE = "ACTIVE"  # recorded and kept until it expires; nothing else to do
    RETRY_PENDING = "RETRY_PENDING"  # waiting for its next retry
    PARKED = "PARKED"  # waiting for a person
    ESCALATED = "ESCALATED"  # a person escalated it
    RESOLVED = "RESOLVED"  # closed; the archiver moves it


class Tier(StrEnum):
    """How long an error is kept before it is archived."""

    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"
    INFINITE = "INFINITE"


class ParkReason(StrEnum):
    """Why an error is parked."""

    MAX_RETRIES_EXCEEDED = "MAX_RETRIES_EXCEEDED"  # its retries are used up
    RETRY_WINDOW_CLOSED = "RETRY_WINDOW_CLOSED"  # its retry window closed, however many retries are left
    NON_RETRYABLE_ERROR = "NON_RETRYABLE_ERROR"  # no retry can help
    ESCALATION_REQUIRED = "ESCALATION_REQUIRED"  # a person has to decide
    EXTERNAL_DEPENDENCY = "EXTERNAL_DEPENDENCY"  # an outside party has to act
    DATA_QUALITY = "DATA_QUALITY"  # the input is malformed or missing
