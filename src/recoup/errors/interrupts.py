"""Ctrl-C and requests to end, put off for a moment."""

import contextlib
import signal
import threading
from collections.abc import Iterator

ENDS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait for the end of the block: what is committed in it is counted in it, too.

    In another thread than the main one nothing is interrupted anyway.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if came:
            signal.raise_signal(came[0])
