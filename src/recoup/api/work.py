"""What continues after an answer: operations over many rows, batch by batch, in a few threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from recoup import observe
from recoup.refusals import Refusal

AT_ONCE = 2


class Stopped(Exception):  # noqa: N818 - no error: the rest waits until somebody resumes it
    """The process ends; what was done is committed."""


class Background:
    """Runs a few things at once. What is not done when the process ends stays as it is, and can be resumed."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="api background")
        self.stopping = threading.Event()

    def run(self, what: str, act: Callable[[], object]) -> None:
        """Run something later, in order."""
        self._threads.submit(self._ran, what, act)

    def check(self, _done: int = 0, _of: int = 0) -> None:
        """Stop here if the process ends."""
        if self.stopping.is_set():
            raise Stopped

    def close(self) -> None:
        """Wait for the batches that are under way, and begin no others."""
        self.stopping.set()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _ran(self, what: str, act: Callable[[], object]) -> None:
        try:
            self.check()
            act()
        except Stopped:
            observe.logger().info("left for later", what=what)
        except Refusal as refusal:
            observe.logger().warning("not continued", what=what, code=refusal.code)
        except Exception:  # noqa: BLE001 - it is logged; the thread is needed for the next
            observe.logger().exception("not continued", what=what)
