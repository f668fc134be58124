"""What becomes of an error whose retry failed: once more, later; a person; or the archive. Pure, like the decision."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from recoup.errors.decision import STORED, delay, held
from recoup.errors.vocabulary import Category, Disposition, ErrorStatus, ParkReason, Want
from recoup.policy.errors import Errors, ErrorTable


class AfterFailure(NamedTuple):
    """Where an error stands after one more failed retry."""

    disposition: Disposition
    status: ErrorStatus
    retry_count: int
    next_retry_at: datetime | None
    park_reason: ParkReason | None  # kept also where nothing may be parked: why it is not retried any more


def after_failure(
    policy: Errors,
    table: ErrorTable,
    *,
    category: Category,
    retry_count: int,
    max_retries: int,
    created_at: datetime,
    now: datetime,
) -> AfterFailure:
    """After one more failed retry than ``retry_count``. The next comes within its window, or not at all."""
    failed = retry_count + 1
    wait = delay(policy, category, failed + 1)
    window = timedelta(hours=policy.retry[category.value].window_hours)
    if failed < max_retries and wait is not None and now + wait <= created_at + window:
        return AfterFailure(Disposition.RETRY, ErrorStatus.RETRY_PENDING, failed, now + wait, None)
    # Where PARK is not allowed it ends as ARCHIVE, which such a table allows.
    ends = Want.PARK if Want.PARK in table.allowed else held(table, Want.ARCHIVE)
    return AfterFailure(
        disposition=STORED[ends],
        status=ErrorStatus.PARKED if ends is Want.PARK else ErrorStatus.ACTIVE,
        retry_count=failed,
        next_retry_at=None,
        park_reason=ParkReason.MAX_RETRIES_EXCEEDED,
    )
