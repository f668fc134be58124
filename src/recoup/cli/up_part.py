"""A part of ``recoup up``, as a process of its own: the worker, or the API on the port that ``up`` holds."""

import signal
import socket
import sys

from recoup.cli.main import answered, interrupt
from recoup.settings import OPTIONS
from recoup.up.parts import instructions


def main() -> None:
    """Do what the process that started this one says, until it asks for a stop, or ends."""
    signal.signal(signal.SIGTERM, interrupt)
    known = instructions()
    given = known["options"]
    assert isinstance(given, dict)
    OPTIONS.update(given)
    demo = bool(known["demo"])
    if known["part"] == "worker":
        from recoup.cli.worker import worker

        sys.exit(answered(lambda: worker(demo=demo)))
    from recoup.cli.api import serve_on

    descriptor = known["socket"]
    assert isinstance(descriptor, int)
    sys.exit(answered(lambda: serve_on(socket.socket(fileno=descriptor), demo=demo, ready=lambda _: None)))


if __name__ == "__main__":
    main()
