"""What axe-core finds wrong with a page, and what may never be in one."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]


@cache
def script() -> str:
    """axe-core from its npm package."""
    sys.path.insert(0, str(ROOT))
    try:
        import hatch_build
    finally:
        sys.path.remove(str(ROOT))
    (path,) = hatch_build.fetch_all("test", ROOT / ".venv/axe")
    return path.read_text(encoding="utf-8")


def violations(page: Page) -> list[str]:
    """What a reader with a screen reader, a keyboard or weak eyes would trip over."""
    page.evaluate(script())  # by the debugger's protocol, which the page's own policy does not hold
    found: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes'][:3]]}"
        for one in found["violations"]
    ]
