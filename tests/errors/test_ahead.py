"""One set ahead: made while the caller works on the one before, in order, and never more than one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from recoup.errors.prefetch import prefetched

WAIT_S = 20


def test_the_next_is_made_while_the_caller_works_on_this() -> None:
    """And not the one after it."""
    made: list[int] = []
    is_made = [threading.Event() for _ in range(4)]

    def items() -> Iterator[int]:
        for number in range(4):
            made.append(number)
            is_made[number].set()
            yield number

    taken: list[int] = []
    for item in prefetched(items()):
        taken.append(item)
        assert item == 3 or is_made[item + 1].wait(WAIT_S)
        assert made == list(range(min(item + 2, 4)))
    assert taken == made == [0, 1, 2, 3]


def test_what_is_raised_comes_in_its_place() -> None:
    """After all that was made before it."""

    def items() -> Iterator[int]:
        yield from (1, 2)
        raise ValueError("the third")

    taken: list[int] = []
    with pytest.raises(ValueError, match="the third"):
        taken.extend(prefetched(items()))
    assert taken == [1, 2]


def test_who_stops_waits_for_the_one_that_is_being_made() -> None:
    """So that what it is made from can be closed; no other is begun."""
    made: list[int] = []
    may_go_on, is_begun = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        yield 0
        is_begun.set()
        assert may_go_on.wait(WAIT_S)
        for number in (1, 2):
            made.append(number)
            yield number

    with closing(prefetched(items())) as coming:
        assert next(coming) == 0
        assert is_begun.wait(WAIT_S)
        threading.Timer(0.05, may_go_on.set).start()
    assert made == [1]
    assert not list(prefetched([]))
