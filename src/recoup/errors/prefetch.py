"""Prefetching: the next set is prepared while the server processes this one."""

from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def prefetched(items: Iterable[Item]) -> Generator[Item]:
    """The same items, in the same order; the next is made in a thread while the caller works on this one.

    An exception while preparing is raised at its place in the sequence. A caller that stops early closes the
    generator: it waits for the set in preparation, and prepares no other.
    """
    making = iter(items)
    with ThreadPoolExecutor(1) as thread:
        coming: Future[Item] = thread.submit(next, making)
        while True:
            try:
                item = coming.result()
            except StopIteration:
                return
            coming = thread.submit(next, making)
            yield item
