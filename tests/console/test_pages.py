"""Every page: it opens for each role that may see it, axe-core finds nothing, nothing in it is inline or foreign."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from console.axe import violations
from hub import Hub
from recoup.console.pages import SECTIONS
from recoup.database.connection import Database

Open = Callable[..., Page]
# Pages of which each is one place. Those with a row in their path are opened in the tests of their subjects.
PLAIN = [page.path for section in SECTIONS for page in section.pages if "{" not in page.path]


@pytest.fixture(scope="module", autouse=True)
def rows(db: Database) -> None:
    """Something to show."""
    hub = Hub(db)
    hub.record("the request timed out")
    hub.record("no such column: ein")


@pytest.mark.parametrize("path", PLAIN)
def test_a_page_is_whole_and_readable_for_everybody(opened: Open, path: str) -> None:
    page = opened(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.locator("[role=alert]").count() == 0
    check(page)
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []


# Of the page as it was sent: scripts and styles in it, attributes that are one, and addresses of other hosts.
INLINE = """async () => {
  const sent = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const found = [...sent.querySelectorAll("style, script:not([src])")].map((one) => one.outerHTML);
  for (const one of sent.querySelectorAll("*"))
    for (const { name, value } of one.attributes)
      if (name.startsWith("on") || name === "style"
          || (["src", "href", "action"].includes(name) && !/^[/#]/.test(value)) || /^\\/\\//.test(value))
        found.push(`${one.tagName} ${name}=${value}`);
  return found;
}"""


def check(page: Page) -> None:
    """What holds for every page."""
    assert violations(page) == []
    assert page.evaluate(INLINE) == []


def fits(page: Page) -> None:
    """Nothing but tables is wider than a small screen."""
    before = page.viewport_size
    page.set_viewport_size({"width": 360, "height": 900})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    if before is not None:
        page.set_viewport_size(before)


@pytest.mark.parametrize("path", PLAIN)
def test_a_page_fits_a_small_screen(opened: Open, path: str) -> None:
    page = opened(path, width=360)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
