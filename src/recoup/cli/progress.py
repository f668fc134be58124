"""Progress of a command, and how it is stopped."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from recoup.cli.output import say

LINE_EVERY_S = 5.0
ONE_STOP_S = 0.25  # supervisors and timeout(1) send a signal to a process and to its group: that is one request
Tell = Callable[[str, float | None], None]  # a text, and the share that is done


def end_at_once() -> None:
    """Open transactions are rolled back; leases expire."""
    os._exit(130)


def stop_by_signal(stop: Callable[[], None], words: str, *, again: Callable[[], None] = end_at_once) -> None:
    """Ctrl-C or SIGTERM asks the command to finish; a second one ends it at once."""
    asked_at: float | None = None

    def ask(_number: int, _frame: object) -> None:
        nonlocal asked_at
        if asked_at is None:
            asked_at = time.monotonic()
            stop()
            say(words)
        elif time.monotonic() - asked_at > ONE_STOP_S:
            again()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Tell]:
    """On standard error: a bar on a terminal, a line every few seconds elsewhere."""
    if quiet:
        yield lambda words, share: None
    elif sys.stderr is not None and sys.stderr.isatty():
        with _bar() as tell:
            yield tell
    else:
        yield _lines()


def _lines() -> Tell:
    last = time.monotonic()

    def tell(words: str, share: float | None) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            say(words if share is None else f"{share:.0%}: {words}")

    return tell


@contextmanager
def _bar() -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda words, share: bar.update(
            task, description=words, completed=share or 0.0, total=None if share is None else 1.0
        )
