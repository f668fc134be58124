"""A failed retry: once more within its budget and its window; else a person, or the archive where nobody parks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recoup import policy
from recoup.errors import Category, Disposition, ErrorStatus, ParkReason
from recoup.errors.retrying import AfterFailure, after_failure

ERRORS = policy.default().errors
MADE = datetime(2026, 1, 1, tzinfo=UTC)


def failed(
    table: str, category: Category, *, before: int, budget: int, after: timedelta = timedelta(0)
) -> AfterFailure:
    return after_failure(
        ERRORS, ERRORS.table(table), category=category, retry_count=before, max_retries=budget, created_at=MADE,
        now=MADE + after,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("category", "budget", "waits"),
    [
        (Category.TRANSIENT, 5, [4, 8, 16, 32]),
        (Category.OPERATIONAL, 3, [600, 900]),
        (Category.OPERATIONAL, 5, [600, 900, 1200, 1500]),
    ],
)
def test_every_retry_waits_as_printed_and_the_last_one_parks(category: Category, budget: int, waits: list[int]) -> None:
    """The wait before retry n + 1 follows its failure; after the last, MAX_RETRIES_EXCEEDED."""
    for before, wait in enumerate(waits):
        stands = failed("outreach.dol_errors", category, before=before, budget=budget)
        assert stands == AfterFailure(
            Disposition.RETRY, ErrorStatus.RETRY_PENDING, before + 1, MADE + timedelta(seconds=wait), None
        )
    last = failed("outreach.dol_errors", category, before=budget - 1, budget=budget)
    assert last == AfterFailure(Disposition.PARKED, ErrorStatus.PARKED, budget, None, ParkReason.MAX_RETRIES_EXCEEDED)


def test_a_window_that_closes_parks() -> None:
    """A retry that would come after the window does not come; at its very end it still does."""
    day = timedelta(hours=24)
    just = failed("outreach.dol_errors", Category.TRANSIENT, before=0, budget=5, after=day - timedelta(seconds=4))
    assert just.next_retry_at == MADE + day
    late = failed("outreach.dol_errors", Category.TRANSIENT, before=0, budget=5, after=day - timedelta(seconds=3))
    assert (late.status, late.park_reason) == (ErrorStatus.PARKED, ParkReason.MAX_RETRIES_EXCEEDED)


def test_where_nothing_is_parked_it_is_archived_in_its_time() -> None:
    """And the reason is kept."""
    stands = failed("company.url_discovery_failures", Category.TRANSIENT, before=4, budget=5)
    assert stands == AfterFailure(Disposition.ARCHIVE, ErrorStatus.ACTIVE, 5, None, ParkReason.MAX_RETRIES_EXCEEDED)


def test_the_one_retry_of_a_structural_error_is_the_last() -> None:
    """A person started it; nothing starts another."""
    stands = failed("people.people_errors", Category.STRUCTURAL, before=0, budget=1)
    assert (stands.status, stands.retry_count) == (ErrorStatus.PARKED, 1)
