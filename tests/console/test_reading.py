"""Reading pages: hostile texts, without scripts, with the keyboard, filters that stay, and how much is transferred."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

import httpx2
import pytest
from playwright.sync_api import Page, expect

from console.test_pages import check
from hub import Hub
from recoup.console import files, rendering
from recoup.console.sessions import COOKIE
from recoup.database.connection import Database
from recoup.service import local, sessions

Open = Callable[..., Page]
HOSTILE = (
    "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 bell",
    "\u202egnp.exe\u202c and \u2066isolated\u2069",
    "{{ 7 * 7 }} {% for x in y %} ${jndi:ldap://x} \" ' onmouseover=alert(1) javascript:alert(1)",
)


@pytest.fixture(scope="module")
def hub(db: Database) -> Hub:
    return Hub(db)


@pytest.mark.parametrize("message", HOSTILE)
def test_a_hostile_message_is_a_text(opened: Open, hub: Hub, message: str) -> None:
    code = f"CODE_{uuid4().hex[:8]}"
    error = hub.record(message, code=code, payload={"<b>": [message]})
    for path in (f"/errors/{error}", f"/errors/list?code={code}", f"/errors?code={code}", f"/find?text={error}"):
        page = opened(path)
        check(page)
        assert "taken" not in page.title()
        shown = page.locator("main").inner_text()
        assert not any(char in shown for char in "\x1b\x07\u202e\u2066")


def test_a_message_of_a_megabyte_is_cut(opened: Open, hub: Hub) -> None:
    error = hub.record("x" * 999_000)
    page = opened(f"/errors/{error}")
    assert len(page.content()) < 100_000
    expect(page.get_by_role("heading", level=1)).to_contain_text(str(error))


def test_what_a_reader_cannot_see_is_shown_as_its_code() -> None:
    assert rendering.line("a\x1b[0m\u202eb\n c") == "a‹U+001B›[0m‹U+202E›b c"
    assert rendering.text("a\n\tb\0", 3) == "a\n\t… (5 characters)"
    assert rendering.line(None) == rendering.line("") == "–"


def test_without_scripts_everything_but_live_updates_works(opened: Open, hub: Hub) -> None:
    code = f"CODE_{uuid4().hex[:8]}"
    error = hub.record("the request timed out", code=code)
    page = opened("/errors/list", scripts=False)
    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_label(f"Select error {error}").check()
    page.get_by_role("button", name="Resolve …").click()
    page.get_by_label("Reason").fill("fixed by hand")
    page.get_by_role("button", name="Resolve", exact=True).click()
    for _ in range(50):
        if page.get_by_text("1 done").count():
            break
        page.reload()
    assert hub.row(error, archived=False)["status"] == "RESOLVED"


def test_filters_stay_in_the_address(opened: Open, hub: Hub) -> None:
    code = f"CODE_{uuid4().hex[:8]}"
    error = hub.record("the request timed out", code=code)
    hub.record("the request timed out", code="CODE_OTHER")
    page = opened("/errors/list")
    page.get_by_label("Code").fill(code)
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(f"code={code}"))
    page.reload()
    expect(page.get_by_label("Code")).to_have_value(code)
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name=str(error), exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(str(error))
    page.go_back()
    expect(page.get_by_label("Code")).to_have_value(code)
    expect(page.locator("tbody tr")).to_have_count(1)


def test_the_keyboard(opened: Open, hub: Hub) -> None:
    code = f"CODE_{uuid4().hex[:8]}"
    older, newer = (hub.record("the request timed out", code=code) for _ in range(2))
    page = opened(f"/errors/list?code={code}")
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.name") == "text"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    for key in ("j", "j", "k", "j", "x"):
        page.keyboard.press(key)
    assert page.get_by_label(f"Select error {older}").is_checked()
    assert not page.get_by_label(f"Select error {newer}").is_checked()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Error {older}")


def test_an_unusable_filter_is_left_out_and_said(opened: Open) -> None:
    page = opened("/errors/list?severity=LOUD&newer_than=yesterday&limit=none")
    expect(page.get_by_role("alert")).to_contain_text("It was left out")
    expect(page.get_by_role("heading", level=1)).to_contain_text("All errors")


def test_the_overview_is_light(db: Database, at: str, opened: Open) -> None:
    """Under 200 kB for who opens it for the first time, all files included."""
    sizes: list[int] = []
    page = opened("/sign-in")
    page.on("response", lambda response: sizes.append(len(response.body())) if "/live" not in response.url else None)
    page.goto(f"{at}/")
    page.wait_for_selector(".plot canvas")
    assert 0 < sum(sizes) < 200_000
    token = sessions.open_session(db, local("tester")).token
    with httpx2.Client(base_url=at, cookies={COOKIE: token}) as plain:
        assert len(plain.get("/").content) < 60_000


def test_every_file_of_a_page_is_there_and_kept_by_browsers(db: Database, at: str) -> None:
    """Also those that the installation fetched from npm."""
    assert files.all_files().keys() == {*files.OWN, *files.VENDORED}
    with httpx2.Client(base_url=at) as plain:
        for name, file in files.all_files().items():
            answer = plain.get(file.path)
            assert (answer.status_code, answer.content) == (200, file.body), name
            assert "immutable" in answer.headers["cache-control"]
            assert plain.get(f"/static/0123456789abcdef/{name}").headers["cache-control"] == "no-store"
        assert plain.get("/static/0123456789abcdef/none.js").status_code == 404
