"""The lifecycles of errors: the error itself, the months of its archive, and operations over many."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from recoup.errors.vocabulary import ErrorStatus
from recoup.lifecycles.declaration import Authority, Birth, Exit, Lifecycle, Move

HUB, WORKER, OPERATOR, ARCHIVER = Authority.HUB, Authority.ERROR_WORKER, Authority.OPERATOR, Authority.ARCHIVER
ACTIVE, RETRY_PENDING, PARKED, ESCALATED, RESOLVED = ErrorStatus
OPEN = (ACTIVE, RETRY_PENDING, PARKED, ESCALATED)


class MonthStatus(StrEnum):
    KEPT = "KEPT"  # its partition is there
    DROPPED = "DROPPED"  # its retention is over; count and digest remain


class OperationStatus(StrEnum):
    OPEN = "OPEN"  # some items have no result yet
    DONE = "DONE"  # each has one


class ItemStatus(StrEnum):
    PENDING = "PENDING"  # not looked at yet
    DONE = "DONE"  # its error was moved
    REFUSED = "REFUSED"  # its error was not in a position to be moved, or not there any more


def _retries() -> Iterator[Move]:
    """A hub retries what it claims, and so does the worker with a hub's handler."""
    for by in (WORKER, HUB):
        yield Move(RETRY_PENDING, RETRY_PENDING, by, "a retry begins, or failed with others left")
        yield Move(RETRY_PENDING, PARKED, by, "the last retry failed, or the window closed")
        yield Move(RETRY_PENDING, ACTIVE, by, "the same where nothing may be parked: it waits for the archive")
        yield Move(RETRY_PENDING, RESOLVED, by, "a retry succeeded")


ERROR = Lifecycle(
    table="recoup.error",
    says="A failure of a hub. Being resolved, superseded or archived by hand stamps archived_at: it blocks no longer,"
    " and the archiver comes for it.",
    key=("error_table", "error_id"),
    births=(
        Birth(ACTIVE, HUB, "nothing is to be done: IGNORE, or ARCHIVE"),
        Birth(RETRY_PENDING, HUB, "it is to be retried"),
        Birth(PARKED, HUB, "it waits for a person"),
    ),
    moves=(
        *_retries(),
        *(Move(status, status, HUB, "a newer one supersedes it") for status in (ACTIVE, PARKED, ESCALATED)),
        Move(ACTIVE, PARKED, OPERATOR, "a person parks it"),
        Move(ACTIVE, RETRY_PENDING, OPERATOR, "a person has it retried"),
        Move(ACTIVE, RESOLVED, OPERATOR, "a person resolved it"),
        Move(PARKED, RETRY_PENDING, OPERATOR, "unparked: one more retry than it has had"),
        Move(PARKED, RESOLVED, OPERATOR, "a person resolved it"),
        Move(PARKED, ESCALATED, OPERATOR, "a person passed it on"),
        Move(ESCALATED, RETRY_PENDING, OPERATOR, "unparked: one more retry than it has had"),
        Move(ESCALATED, RESOLVED, OPERATOR, "a person resolved it"),
        Move(RETRY_PENDING, PARKED, OPERATOR, "a person parks it"),
        Move(RETRY_PENDING, RESOLVED, OPERATOR, "a person resolved it"),
        *(Move(status, status, OPERATOR, "assigned, reviewed, or archived by hand") for status in OPEN),
    ),
    exits=tuple(Exit(status, ARCHIVER, "to the archive") for status in ErrorStatus),
    frozen=(
        "error_table", "error_id", "outreach_id", "error_code", "error_message", "error_signature", "severity",
        "category", "ttl_tier", "expires_at", "payload", "decided_by", "clamped_from", "policy_version", "created_at",
    ),
    once=("superseded_by", "archived_at", "archive_reason"),
    rising=("retry_count", "max_retries", "updated_at"),
)  # fmt: skip

ARCHIVE_MONTH = Lifecycle(
    table="recoup.error_archive_month",
    says="A month of an archive. Making the row makes its partition; dropping it drops the partition.",
    key=("error_table", "month"),
    births=(Birth(MonthStatus.KEPT, ARCHIVER, "its partition is made"),),
    moves=(Move(MonthStatus.KEPT, MonthStatus.DROPPED, ARCHIVER, "its retention is over"),),
    frozen=("error_table", "month", "made_at"),
    once=("dropped_at", "rows", "digest"),
)

OPERATION = Lifecycle(
    table="recoup.error_operation",
    says="One decision of an operator over many errors.",
    key=("operation_id",),
    births=(Birth(OperationStatus.OPEN, OPERATOR, "its set is frozen"),),
    moves=(Move(OperationStatus.OPEN, OperationStatus.DONE, OPERATOR, "each item has its result"),),
    frozen=("operation_id", "verb", "arguments", "filter", "items", "requested_at", "requested_by"),
    once=("done_at",),
)

OPERATION_ITEM = Lifecycle(
    table="recoup.error_operation_item",
    says="One error of a bulk operation.",
    key=("operation_id", "place"),
    births=(Birth(ItemStatus.PENDING, OPERATOR, "its operation was asked for"),),
    moves=(
        Move(ItemStatus.PENDING, ItemStatus.DONE, OPERATOR, "its error was moved"),
        Move(ItemStatus.PENDING, ItemStatus.REFUSED, OPERATOR, "its error could not be moved"),
    ),
    frozen=("operation_id", "place", "error_table", "error_id"),
    once=("refusal", "ended_at"),
)
