"""Of two duties that may act on an error at one instant the order is declared: windows close before the archive."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from hub import DAY, SECOND, URLS, Hub, NewHub
from recoup.errors.vocabulary import Severity

ERRORS = 20


def at_once(*duties: Callable[[], object]) -> None:
    threads = [threading.Thread(target=duty) for duty in duties]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def one_after_the_other(*duties: Callable[[], object]) -> None:
    for duty in duties:
        duty()


@pytest.mark.parametrize("together", [one_after_the_other, at_once])
@pytest.mark.parametrize("windows_first", [False, True], ids=["archive_first", "windows_first"])
def test_what_expires_when_its_window_closes_is_parked_whoever_comes_first(
    new_hub: NewHub, together: Callable[..., None], windows_first: bool
) -> None:
    """A HIGH error is kept for 7 days, and retried within 7: both are over at one instant."""
    hub = new_hub()
    errors = [hub.record(severity=Severity.HIGH) for _ in range(ERRORS)]
    hub.advance(7 * DAY + SECOND)
    duties = (hub.sweep_all, hub.close_windows)
    together(*(reversed(duties) if windows_first else duties))
    hub.close_windows()
    hub.sweep_all()
    assert {hub.row(error)["status"] for error in errors} == {"PARKED"}
    assert {hub.row(error)["park_reason"] for error in errors} == {"RETRY_WINDOW_CLOSED"}
    assert hub.broken() == []


def test_where_nothing_may_be_parked_it_is_archived_after_its_window_closed(new_hub: NewHub) -> None:
    hub: Hub = new_hub()
    error = hub.record(table=URLS, severity=Severity.HIGH)
    hub.advance(7 * DAY + SECOND)
    assert hub.sweep_all() == 0
    assert hub.close_windows() == 1
    assert hub.sweep_all() == 1
    assert (hub.archived(error)["final_disposition"], hub.events(error)[-2:]) == (
        "ARCHIVE", ["WINDOW_CLOSED", "ARCHIVED"],
    )  # fmt: skip
