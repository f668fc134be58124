"""Killed at every statement boundary: whatever was left, somebody else goes on, and nothing is done twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count, pairwise
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


def struck_in_strides(
    ground: Ground, task: str, prepare: Callable[[], tuple[str, ...]], what_is_left: Callable[[], Left], stride: int
) -> list[Left]:
    """The same, at every ``stride``-th boundary, and at each between two that left something different."""
    left: dict[int, Left] = {}

    def strike(boundary: int) -> bool:
        ended = ground.struck(task, boundary, Worker.kill, given=prepare())
        left[boundary] = what_is_left()
        assert ended in (0, KILLED)
        return ended == KILLED

    ends = next(boundary for boundary in count(step=stride) if not strike(boundary))
    last = len(ground.wire.passed)  # the boundary behind its last statement
    ground.wire.leave_be()
    assert ends - stride <= last < ends
    for before, after in pairwise(sorted(left)):
        if left[before] != left[after]:
            for boundary in range(before + 1, min(after, last + 1)):
                assert strike(boundary)
    ground.wire.leave_be()
    return [left[boundary] for boundary in sorted(left)]
