"""Errors in the console: from the button to the row, refusals where they happen, live lists."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from hub import DOL, Hub
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
