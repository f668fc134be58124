"""Work that is done ahead: the next set is made while the server works on this one."""

from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def prefetched(items: Iterable[Item]) -> Generator[Item]:
    """The same items, in the same order; the next is made in a thread while the caller works on this one.

    What making it raises is raised where it would come. Whoever stops in between closes this: it waits for the one that
    is being made, and makes no other.
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
