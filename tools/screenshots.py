"""Takes a picture of every page of the console on the demo, in both themes and at two widths.

`make screenshots` writes them to build/screenshots. A page with a row in its path is opened from the first list that
links to one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from recoup.console.pages import SECTIONS

ROOT = Path(__file__).parents[1]
WIDTHS = {"wide": 1280, "narrow": 360}
THEMES = ("light", "dark")
PATIENCE_MS = 60_000
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def served() -> Iterator[str]:
    """The demo, which is built if it does not exist. Yields an address that signs in."""
    program = [sys.executable, "-c", "from recoup.cli.main import main; main()"]
    subprocess.run([*program, "demo"], check=True, stdout=subprocess.DEVNULL)
    with subprocess.Popen([*program, "api", "--demo", "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            found = re.search(r" at (http://\S+)/v1/", process.stderr.readline())
            assert found is not None, "the API did not start"
            link = subprocess.run([*program, "console", "link", "--demo"], check=True, capture_output=True, text=True)
            yield f"{found[1]}/link/{link.stdout.split()[0].rpartition('/')[2]}"
        finally:
            process.terminate()


def pages(page: Page, at: str) -> Iterator[str]:
    """Every page without a row in its path; and the first row's page of each list."""
    rows = set()
    for section in SECTIONS:
        for one in section.pages:
            if "{" in one.path:
                continue
            yield one.path
            page.goto(f"{at}{one.path}")
            for link in page.locator("tr[data-row] a, li[data-row] a").all()[:40]:
                path = link.get_attribute("href") or ""
                kind = re.sub(r"[^/]*$", "", path.partition("?")[0]) + ("?" if "?" in path else "")
                if path.startswith("/") and kind not in rows and not path.startswith("/act"):
                    rows.add(kind)
                    yield path
                    page.goto(f"{at}{one.path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build/screenshots")
    folder: Path = parser.parse_args().folder
    if CHROMIUM is None:
        sys.exit("Chromium is not installed (Debian: apt-get install chromium)")
    folder.mkdir(parents=True, exist_ok=True)
    more = ["--no-sandbox"] if os.geteuid() == 0 else []
    with served() as link, sync_playwright() as playwright:
        context = playwright.chromium.launch(executable_path=CHROMIUM, args=more).new_context()
        context.set_default_timeout(PATIENCE_MS)
        page, walker = context.new_page(), context.new_page()
        page.goto(link)
        at = link.partition("/link/")[0]
        for path in pages(walker, at):
            name = re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-")[:60] or "overview"
            for theme in THEMES:
                page.emulate_media(color_scheme="light" if theme == "light" else "dark")
                for width, pixels in WIDTHS.items():
                    page.set_viewport_size({"width": pixels, "height": 900})
                    page.goto(f"{at}{path}")
                    page.wait_for_timeout(300)
                    page.screenshot(path=folder / f"{name}-{theme}-{width}.png")
            print(path, flush=True)


if __name__ == "__main__":
    main()
