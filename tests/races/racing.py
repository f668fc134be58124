"""Several people act at one moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from recoup.refusals import LawRefused

PATIENCE_S = 20


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Run all of them from one moment on. What each returned, or the refusal it got; anything else is raised."""
    line = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        line.wait(PATIENCE_S)
        try:
            return act()
        except LawRefused as refusal:
            return refusal

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result(PATIENCE_S) for future in [pool.submit(run, act) for act in acts]]


def kinds(results: list[Any]) -> tuple[list[Any], list[str]]:
    """Results, and the codes of refusals."""
    return (
        [result for result in results if not isinstance(result, LawRefused)],
        [result.code for result in results if isinstance(result, LawRefused)],
    )
