"""Errors in the console: from the button to the row, refusals where they happen, live lists."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from console.conftest import PATIENCE_MS
from hub import DOL, STRUCTURAL, TRANSIENT, Hub
from recoup.database.connection import Database
from recoup.service import Role

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def hub(db: Database) -> Hub:
    return Hub(db)


def test_an_error_is_parked_by_its_button(opened: Open, hub: Hub) -> None:
    error = hub.record("the request timed out")
    page = opened(f"/errors/{error}")
    page.get_by_role("link", name="Park …", exact=True).click()
    page.get_by_label("Reason").fill("the registry is down for the day")
    page.get_by_role("button", name="Park", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("PARKED")
    expect(page.get_by_role("status").first).to_contain_text("Done")
    assert hub.row(error)["status"] == "PARKED"


def test_a_refusal_is_shown_in_the_form(opened: Open, hub: Hub) -> None:
    error = hub.record("the request timed out")
    page = opened(f"/act/post_errors_error_id_unpark?path.error_id={error}&back=/errors/{error}")
    page.get_by_label("Reason").fill("it is not parked")
    page.get_by_role("button", name="Unpark").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Refused")
    expect(alert).to_contain_text("Next:")
    assert page.get_by_label("Reason").input_value() == "it is not parked"
    assert hub.row(error)["status"] == "RETRY_PENDING"


def test_many_are_previewed_and_then_worked_through(opened: Open, hub: Hub) -> None:
    code = f"CODE_{uuid4().hex[:8]}"
    errors = [hub.record("no filing matches EIN 12", code=code) for _ in range(7)]
    page = opened(f"/errors/list?table={DOL}&code={code}")
    page.get_by_role("link", name="Park …", exact=True).click()
    expect(page.locator("#preview")).to_contain_text("7 rows")
    page.get_by_label("Reason").fill("a known outage")
    page.get_by_role("button", name="Park", exact=True).click()
    expect(page.locator("#operation")).to_contain_text("7 done", timeout=15_000)
    assert {hub.row(error)["status"] for error in errors} == {"PARKED"}


def test_a_list_follows_what_happens(opened: Open, hub: Hub) -> None:
    code = f"CODE_{uuid4().hex[:8]}"
    hub.record("the request timed out", code=code)
    page = opened(f"/errors/list?code={code}")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("#live")).to_be_visible()
    hub.record("the request timed out", code=code)
    expect(page.locator("tbody tr")).to_have_count(2, timeout=2_000)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_who_may_not_sees_no_button_and_is_refused(opened: Open, hub: Hub, role: Role) -> None:
    error = hub.record("the request timed out")
    page = opened(f"/errors/{error}", role=role)
    expect(page.get_by_role("heading", level=1)).to_contain_text(str(error))
    expect(page.locator("[data-act]")).to_have_count(0)
    page.goto(f"{page.url.partition('/errors')[0]}/act/post_errors_error_id_park?path.error_id={error}")
    expect(page.get_by_role("alert")).to_contain_text("role_may_not")


# Every verb of an error: which button, what its form is given, and the status and event afterwards.
VERBS: tuple[tuple[str, bool, dict[str, str], str, str], ...] = (
    ("unpark", True, {}, "RETRY_PENDING", "UNPARKED"),
    ("escalate", True, {}, "ESCALATED", "ESCALATED"),
    ("assign", True, {"To": "ada"}, "PARKED", "ASSIGNED"),
    ("review", True, {}, "PARKED", "REVIEWED"),
    ("resolve", False, {}, "RESOLVED", "RESOLVED"),
)


@pytest.mark.parametrize(("verb", "is_parked", "given", "status", "event"), VERBS)
def test_each_verb_reaches_the_row(
    opened: Open, hub: Hub, verb: str, is_parked: bool, given: dict[str, str], status: str, event: str
) -> None:
    error = hub.record(STRUCTURAL if is_parked else TRANSIENT)
    page = opened(f"/errors/{error}")
    page.locator(f"[data-act=post_errors_error_id_{verb}]").click()
    for label, value in given.items():
        page.get_by_label(label).fill(value)
    page.get_by_label("Reason").fill("decided on the page")
    page.locator("main form button.main").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(status)
    assert (hub.row(error)["status"], hub.events(error)[-1]) == (status, event)


def test_a_status_has_only_the_buttons_that_it_allows(opened: Open, hub: Hub) -> None:
    waiting, parked = hub.record(TRANSIENT), hub.record(STRUCTURAL)
    shown = {}
    for error in (waiting, parked):
        page = opened(f"/errors/{error}")
        names = page.locator("[data-act]").evaluate_all("all => all.map(one => one.dataset.act)")
        shown[error] = {name.rpartition("_")[2] for name in names}
    assert "unpark" not in shown[waiting]
    assert "park" in shown[waiting]
    assert "unpark" in shown[parked]
    assert "park" not in shown[parked]


def test_a_redrive_with_a_canary_is_followed_and_stopped(opened: Open, hub: Hub) -> None:
    code = f"CODE_{uuid4().hex[:8]}"
    errors = [hub.record(STRUCTURAL, code=code) for _ in range(9)]
    page = opened(f"/errors/list?code={code}&status=PARKED")
    page.locator("[data-act=post_errors_unpark]").click()
    expect(page.locator("#preview")).to_contain_text("9 rows")
    page.get_by_label("Reason").fill("it may be fixed")
    page.get_by_label("Canary").fill("2")
    page.locator("main form button.main").click()
    expect(page.locator("#operation")).to_contain_text("Canary")
    expect(page.locator("#operation")).to_contain_text("2 done", timeout=PATIENCE_MS)
    expected = ["RETRY_PENDING"] * 2 + ["PARKED"] * 7  # the first step is let go with the operation
    assert sorted(hub.row(error)["status"] for error in errors) == sorted(expected)
    page.locator("[data-act=post_operations_operation_id_pause]").click()
    page.get_by_label("Reason").fill("wait for the vendor")
    page.locator("main form button.main").click()
    expect(page.locator("#operation")).to_contain_text("wait for the vendor")
    page.locator("[data-act=post_operations_operation_id_cancel]").click()
    page.get_by_label("Reason").fill("it is not fixed")
    page.locator("main form button.main").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("CANCELLED")
    assert sorted(hub.row(error)["status"] for error in errors) == sorted(expected)
