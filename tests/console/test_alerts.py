"""Alerts in the console: each verb from its button to the row, filters that stay, lists that follow."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from alarms import ALERT_ROW, GAUGE
from console.test_pages import check
from recoup import alerts, deliveries
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.service import Role

Open = Callable[..., Page]
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e" + "x" * 3000


def fire(db: Database) -> tuple[UUID, str]:
    """An alert that fires, and its key."""
    of = f"key-{uuid.uuid4()}"
    with db.transaction(Authority.ERROR_WORKER) as tx:
        tx.execute(GAUGE, (of,))
        row = tx.execute(f"insert into recoup.alert {ALERT_ROW} returning alert_id".encode(), {"of": of}).fetchone()
    (made,) = row or (None,)
    assert isinstance(made, UUID)
    return made, of


def sent(db: Database, subject: str = "a notice", *, dead: bool = False, body: object = None) -> UUID:
    with db.transaction(Authority.OPERATOR, reason="a test") as tx:
        made = deliveries.send(tx, "log", subject, {"said": body})
        if dead:
            deliveries.cancel(tx, made)
    return made


def act(page: Page, link: str, submit: str, **fields: str) -> None:
    """Press a button, fill in its form, and send it."""
    page.get_by_role("link", name=link).first.click()
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " ").capitalize(), exact=False).first.fill(value)
    page.locator("form.sheet").get_by_role("button", name=submit, exact=True).click()


def test_an_alert_is_silenced_by_its_button_and_the_silence_ended(opened: Open, db: Database) -> None:
    alert, of = fire(db)
    page = opened(f"/alerts/{alert}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("firing")
    expect(page.get_by_role("main")).to_contain_text(of)
    check(page)
    act(page, "Silence …", "Notify", Reason="the vendor is down", Lasts="2h")
    expect(page.get_by_role("status").first).to_contain_text("Done")
    with db.transaction(Authority.READER) as tx:
        (made,) = [one for one in alerts.silences(tx) if one.key == of]
    assert (made.rule, made.reason, made.status) == ("parked-errors", "the vendor is down", "active")
    page.goto(page.url.partition("/alerts")[0] + "/alerts/silences")
    row = page.locator("tr", has_text=of)
    expect(row).to_contain_text("the vendor is down")
    row.get_by_role("link", name="End …").click()
    page.locator("form.sheet").get_by_role("button", name="End", exact=True).click()
    expect(page.locator("tr", has_text=of)).to_have_count(0)
    with db.transaction(Authority.READER) as tx:
        assert [one.status for one in alerts.silences(tx, ended=True) if one.key == of] == ["ended"]


def test_a_refusal_of_a_silence_is_shown_in_its_form(opened: Open, db: Database) -> None:
    page = opened("/act/post_alerts_silences?body.rule=no-such-rule&back=/alerts/silences")
    page.get_by_label("Reason").fill("x")
    page.get_by_label("Lasts").fill("2h")
    page.get_by_role("button", name="Notify").click()
    expect(page.get_by_role("alert")).to_contain_text("rule_unknown")
    assert page.get_by_label("Lasts").input_value() == "2h"


def test_a_route_is_tested_and_its_delivery_cancelled_and_sent_again(opened: Open, db: Database) -> None:
    page = opened("/alerts/routes")
    act(page, "Test …", "Send")
    expect(page.get_by_role("status").first).to_contain_text("Done")
    with db.transaction(Authority.READER) as tx:
        (found,) = [one for one in deliveries.deliveries(tx, statuses=["queued"]) if "test of the route" in one.subject]
    page.goto(page.url.partition("/alerts")[0] + f"/alerts/deliveries/{found.delivery_id}")
    check(page)
    act(page, "Cancel …", "Cancel", Reason="enough")
    expect(page.get_by_role("heading", level=1)).to_contain_text("dead")
    act(page, "Retry …", "Send")
    expect(page.get_by_role("status").first).to_contain_text("Done")
    with db.transaction(Authority.READER) as tx:
        assert deliveries.show(tx, found.delivery_id).delivery.status == "dead"
        again = [one for one in deliveries.deliveries(tx) if one.subject == found.subject]
    assert [one.status for one in again] == ["queued", "dead"]


def test_filters_stay_through_reload_and_back(opened: Open, db: Database) -> None:
    one, other = sent(db, "this one died", dead=True), sent(db, "this one waits")
    page = opened("/alerts/deliveries")
    page.get_by_label("Status").select_option("dead")
    expect(page).to_have_url(re.compile("status=dead"))
    expect(page.locator(f"a[href='/alerts/deliveries/{other}']")).to_have_count(0)
    page.reload()
    assert page.get_by_label("Status").input_value() == "dead"
    page.locator(f"a[href='/alerts/deliveries/{one}']").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("this one died")
    page.go_back()
    expect(page).to_have_url(re.compile("status=dead"))
    expect(page.locator(f"a[href='/alerts/deliveries/{other}']")).to_have_count(0)


def test_an_alert_appears_while_somebody_looks(opened: Open, db: Database) -> None:
    fire(db)
    page = opened("/alerts")
    before = page.locator("#list tbody tr").count()
    expect(page.locator("#live")).to_be_visible()
    fire(db)
    expect(page.locator("#list tbody tr")).to_have_count(before + 1, timeout=2_000)


def test_what_a_notice_says_is_text(opened: Open, db: Database) -> None:
    hostile = sent(db, "<img src=x><script>alert(1)</script>", body=HOSTILE)
    page = opened(f"/alerts/deliveries/{hostile}", width=360)
    expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x><script>")
    assert page.locator("main img, main script").count() == 0
    assert "\u202e" not in page.content()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    check(page)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_who_may_not_act_sees_everything_and_no_button(opened: Open, db: Database, role: Role) -> None:
    alert, _ = fire(db)
    waiting = sent(db)
    page = opened(f"/alerts/{alert}", role=role)
    for path in (f"/alerts/{alert}", "/alerts", "/alerts/rules", "/alerts/silences", "/alerts/routes",
                 "/alerts/deliveries", f"/alerts/deliveries/{waiting}"):  # fmt: skip
        page.goto(page.url.partition("/alerts")[0] + path)
        assert page.get_by_role("alert").count() == 0, path
        assert page.locator("[data-act]").count() == 0, path


def test_addresses_that_name_nothing_are_refused_in_words(opened: Open) -> None:
    page = opened("/alerts/not-an-id")
    expect(page.get_by_role("alert")).to_contain_text("alert_unknown")
    page.goto(page.url.replace("not-an-id", str(uuid.uuid4())))
    expect(page.get_by_role("alert")).to_contain_text("alert_unknown")
