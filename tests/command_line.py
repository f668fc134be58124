"""The command line as its user meets it: a real process each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import forking

PATIENCE_S = 60
# As at a terminal, however the tests were started: in the background of a script Ctrl-C is ignored, for children too.
INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
MAIN = INTERRUPTIBLE + "from recoup.cli.main import main; main()"
RECOUP = [sys.executable, "-c", MAIN]
Run = Callable[..., subprocess.CompletedProcess[str]]


def run_in(environment: dict[str, str], *command: str) -> Run:
    """Runs recoup, or one of its commands, in an environment that has nothing of ours but this."""
    clean = clean_environment()

    def run(
        *arguments: object, fails: bool = False, ends: int | None = None, given: str | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        asked = [*command, *map(str, arguments)]
        done = forking.run(asked, env={**clean, **environment, **more}, given=given, timeout=600)
        said = f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, said
        assert ((done.returncode != 0) is fails) if ends is None else done.returncode == ends, said
        return done

    return run


@contextmanager
def started(environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Starts recoup and goes on. It is ended with the block, however that ends, and when patience does."""
    with subprocess.Popen(
        [*RECOUP, *arguments],
        env={**clean_environment(), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        late = threading.Timer(PATIENCE_S, process.kill)
        late.start()
        try:
            yield process
        finally:
            late.cancel()
            process.kill()


def clean_environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("RECOUP_", "TEST_RECOUP_", "PG"))}


def refusal(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """The refusal that a command with --json printed. It always has the four parts."""
    said: dict[str, object] = json.loads(done.stderr)
    assert set(said) == {"refused", "happened", "next_step", "facts"}
    assert said["happened"]
    assert said["next_step"]
    return said
