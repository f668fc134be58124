"""Killed at every statement boundary: whatever was left, somebody else goes on, and nothing is done twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1] / "crash"))
from killing import KILLED, Ground, Worker

Left = TypeVar("Left")


def struck_everywhere(
    ground: Ground, task: str, prepare: Callable[[], tuple[str, ...]], what_is_left: Callable[[], Left]
) -> list[Left]:
    """Kill at every boundary, each time over something new. What was left; the last one was not killed."""
    left: list[Left] = []
    for boundary in count():
        given = prepare()
        ended = ground.struck(task, boundary, Worker.kill, given=given)
        left.append(what_is_left())
        if ended == 0:
            break
        assert ended == KILLED
    assert len(left) - 1 == len(ground.wire.passed) + 1  # killed before the first, and after each
    ground.wire.leave_be()  # nobody else is struck
    return left
