"""The command line as its user meets it: a real process each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

RECOUP = [sys.executable, "-c", "from recoup.cli.main import main; main()"]
Run = Callable[..., subprocess.CompletedProcess[str]]


def run_in(environment: dict[str, str]) -> Run:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("RECOUP_", "TEST_RECOUP_", "PG"))}

    def run(*arguments: str, fails: bool = False, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*RECOUP, *arguments],
            env={**clean, **environment, **more},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert (done.returncode != 0) is fails, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


def refusal(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """The refusal that a command with --json printed. It always has the four parts."""
    said: dict[str, object] = json.loads(done.stderr)
    assert set(said) == {"refused", "happened", "next_step", "facts"}
    assert said["happened"]
    assert said["next_step"]
    return said
